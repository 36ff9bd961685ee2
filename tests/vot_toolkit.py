"""VOT's own toolkit, run from an environment of its own: the oracle for the reset-based experiment and its measures.

``make vot`` puts it into ``.venv-vot``; STP_VOT_PYTHON names another Python that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from synthetic import SyntheticSequence, write_vot_folder
from tracking_parts.geometry import Polygon

ROOT = Path(__file__).resolve().parents[1]
TOOLKIT_VERSION = "0.7.4"

# Run by the toolkit's Python: its own overlap in every frame of every sequence of a workspace.
OVERLAPS_SCRIPT = """
import json, sys
from vot.region import calculate_overlaps
from vot.workspace import Workspace
workspace = Workspace.load(sys.argv[1])
tracker, = workspace.registry.resolve(sys.argv[2], storage=workspace.storage.substorage("results"), skip_unknown=False)
told = {}
for sequence in workspace.dataset:
    trajectory, = workspace.stack["baseline"].gather(tracker, sequence)
    overlaps = calculate_overlaps(trajectory.regions(), sequence.groundtruth(), sequence.size)
    told[sequence.name] = [float(overlap) for overlap in overlaps]
print(json.dumps(told))
"""


@dataclass(frozen=True)
class ToolkitFigures:
    """What the toolkit's analysis says of one tracker."""

    sequence_accuracy: list[float]
    sequence_failures: list[float]
    accuracy: float
    robustness: float  # failures per sequence, weighted by the sequences' lengths
    eao: float


def toolkit_python() -> Path:
    """The Python that has the toolkit; the test is skipped where there is none."""
    named = os.environ.get("STP_VOT_PYTHON")
    python = Path(named) if named else ROOT / ".venv-vot" / "bin" / "python"
    if not python.is_file():
        pytest.skip(f"VOT's toolkit is not installed: no {python} (make vot, or set STP_VOT_PYTHON)")
    return python


def run_toolkit(*arguments: str, seconds: float = 110) -> str:
    """Run the toolkit's Python with arguments, offline, and give what it printed, errors included."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "VOT_RESULTS_BINARY": "false",  # results as text, which is what we read
        "MPLBACKEND": "Agg",
        # The toolkit asks a server for news of itself at every start: nobody listens here.
        "HTTPS_PROXY": "127.0.0.1:9",
        "https_proxy": "127.0.0.1:9",
    }
    done = subprocess.run(
        [str(toolkit_python()), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def run_vot(*arguments: str) -> str:
    """The toolkit's command ``vot``. It ends well even where its tracker failed: read what it says."""
    return run_toolkit("-m", "vot", *arguments)


def analyse(workspace: Path, tracker: str) -> ToolkitFigures:
    """The toolkit's own analysis of the results in a workspace that ``stp vot init`` wrote."""
    run_vot("analysis", "--workspace", str(workspace), "--name", "report", tracker)
    report = json.loads((workspace / "analysis" / "report.json").read_text(encoding="utf-8"))
    assert report["toolkit"] == TOOLKIT_VERSION
    by_sequence, average, eao = report["results"]["baseline"]["results"]
    return ToolkitFigures(
        [row[0] for row in by_sequence], [row[1] for row in by_sequence], average[0][0], average[0][1], eao[0][0]
    )


def toolkit_overlaps(workspace: Path, tracker: str) -> dict[str, list[float]]:
    """The toolkit's overlap in every frame, by sequence."""
    printed = run_toolkit("-c", OVERLAPS_SCRIPT, str(workspace), tracker)
    told: dict[str, list[float]] = json.loads(printed.strip().splitlines()[-1])
    return told


def write_toolkit_sequence(
    folder: Path, sequence: SyntheticSequence, polygons: Sequence[Polygon] | None = None
) -> None:
    """A synthetic sequence as the toolkit reads it; ``polygons`` replaces the upright ground truth."""
    lines = [",".join(f"{value:.4f}" for corner in polygon for value in corner) for polygon in polygons or ()]
    write_vot_folder(folder, sequence, lines or None)
    (folder / "sequence").write_text("channels.color=color/%08d.png\nfps=30\nformat=default\n", encoding="utf-8")
