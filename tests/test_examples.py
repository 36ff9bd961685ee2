"""The notebooks in ``examples/`` run from top to bottom, and are committed without their outputs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


@pytest.fixture
def kernel_of_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel ``python3`` that is the interpreter of the tests, whatever others the user has."""
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    folder.joinpath("kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}), encoding="utf-8"
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.network
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("kernel_of_this_python")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path: Path) -> None:
    formats: Any = pytest.importorskip("nbformat")
    client: Any = pytest.importorskip("nbclient")
    notebook = formats.read(path, as_version=4)
    client.NotebookClient(notebook, timeout=500, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 4
    assert not [output for output in outputs if output.output_type in ("error", "stream")], outputs
