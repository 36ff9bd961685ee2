"""A workspace of VOT's toolkit that runs offline: ``stp vot init``.

Made for vot-toolkit 0.7.4: later ones (0.8.1, 0.9.0) cannot run the reset-based experiment.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tracking_parts.errors import ConfigError, OutputError
from tracking_parts.evaluation.protocol import ResetProtocol, load_protocol
from tracking_parts.io.files import write_atomically

TRACKERS, CONFIG, STACK = "trackers.ini", "config.yaml", "stack.yaml"


@dataclass(frozen=True, slots=True)
class WorkspaceReport:
    """What was written, what was there already and kept, and what is still missing."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    missing: tuple[str, ...]


def init_workspace(
    folder: Path,
    *,
    label: str = "stp",
    arguments: Iterable[str] = (),
    data: Path | None = None,
    protocol: str = "vot2016",
    repetitions: int = 1,
    force: bool = False,
) -> WorkspaceReport:
    """Write what the toolkit needs to run this tracker; nothing that is there is replaced without ``force``.

    ``arguments`` are those of ``stp vot serve``. The stack names no address, so that the toolkit has nothing to fetch.
    A ``trackers.ini`` with other trackers gets one more; a tracker of the same label is replaced by ``force`` only.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", label):
        raise ConfigError(f"the label {label!r} may hold only letters, digits, _ and -: the toolkit takes no others")
    rules = load_protocol(protocol)
    if not isinstance(rules, ResetProtocol):
        raise ConfigError(f"protocol {protocol!r} has no resets: the workspace is for the reset-based experiment")
    sequences = (data or folder / "sequences").absolute()
    registry = folder / TRACKERS
    texts = {
        registry: with_section(_read(registry), label, tracker_section(label, arguments), force),
        folder / STACK: stack_text(rules, repetitions),
        folder / CONFIG: config_text(str(sequences) if data else "sequences"),
    }
    kept = tuple(path for path in texts if path.exists() and path != registry and not force)
    written = tuple(path for path in texts if path not in kept)
    for path in written:
        write_atomically(path, texts[path].encode())
    if data is None:  # a folder that was named and is not there is a mistake to be told, not one to be made
        sequences.mkdir(parents=True, exist_ok=True)
    (folder / "results").mkdir(exist_ok=True)
    return WorkspaceReport(written, kept, tuple(missing_data(sequences)))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def tracker_section(label: str, arguments: Iterable[str]) -> str:
    """The entry of ``trackers.ini``: this very Python, whatever environment the toolkit itself runs in."""
    command = [sys.executable, "-m", "tracking_parts.cli_vot", "serve", "--label", label, *arguments]
    # The toolkit splits the command as a shell does, on Windows as Windows does; "%" is the INI file's own sign.
    text = subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)
    return f"[{label}]\nlabel = {label}\nprotocol = trax\ncommand = {text.replace('%', '%%')}\n"


def with_section(ini: str, label: str, section: str, force: bool) -> str:
    """The INI file with the section added or, by force, replaced; all others as they were."""
    sections = re.split(r"(?m)^(?=\[)", ini)
    others = [text for text in sections if not text.startswith(f"[{label}]")]
    if len(others) < len(sections) and not force:
        raise OutputError(
            f"{TRACKERS} has a tracker {label!r} already: choose another --label, or --force to replace it"
        )
    before = "".join(others).rstrip()
    return f"{before}\n\n{section}" if before else section


def stack_text(rules: ResetProtocol, repetitions: int) -> str:
    """The reset-based experiment with its analyses, in the toolkit's words."""
    low, high = rules.eao_interval
    burn_in = {"burnin": rules.burn_in}
    experiment = {
        "type": "supervised",
        "repetitions": repetitions,
        "skip_initialize": rules.skip,
        "failure_overlap": rules.failure_overlap,
        "analyses": [
            {"type": "supervised_ar", **burn_in},
            {"type": "supervised_average_ar", **burn_in},
            {"type": "supervised_eao_score", "low": low, "high": high},
        ],
    }
    stack = {"title": f"Reset-based experiment of {rules.name}", "experiments": {"baseline": experiment}}
    return yaml.safe_dump(stack, sort_keys=False)


def config_text(sequences: str) -> str:
    return yaml.safe_dump({"registry": [f"./{TRACKERS}"], "stack": STACK, "sequences": sequences}, sort_keys=False)


def missing_data(sequences: Path) -> Iterable[str]:
    """What keeps the toolkit from reading the data: it needs a list, and a file ``sequence`` in each folder on it."""
    listing = sequences / "list.txt"
    if not listing.is_file():
        yield f"{listing}: the names of the sequences, one per line, each a folder beside it"
        return
    for name in listing.read_text(encoding="utf-8").split():
        if not (sequences / name / "sequence").is_file():
            yield f"{sequences / name / 'sequence'}: a line such as channels.color=color/%08d.jpg"
