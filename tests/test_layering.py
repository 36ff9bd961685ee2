"""The core stands alone: nothing in it may import what is built on top of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "tracking_parts"
ABOVE_THE_CORE = (
    *("evaluation", "integrations", "studio", "viewers", "cli", "tracking", "output_files", "profiling"),
    *("checkpoints", "__main__"),
)
SHARED_BY_ALL = {"errors", "geometry", "result", "trace", "config", "frames"}


def is_above(module: str) -> bool:
    """Whether a module, named within the package, belongs to a layer above the core."""
    top = module.split(".")[0]
    return top in ABOVE_THE_CORE or top.startswith("cli_")


def layer_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports_of(path: Path) -> set[str]:
    """What a file imports of the package, anywhere in it, relative imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = ("tracking_parts", *path.relative_to(PACKAGE).parts[: -node.level])
            found |= {".".join((*base, *filter(None, [node.module]), alias.name)) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("tracking_parts.") for name in found if name.startswith("tracking_parts.")}


ALL_FILES = sorted(PACKAGE.rglob("*.py"))
CORE_FILES = [path for path in ALL_FILES if not is_above(layer_of(path))]


def test_the_core_is_found() -> None:
    names = {layer_of(path) for path in CORE_FILES}
    assert {"tracker", "voting", "roles", "io.sequences", "filter_parts.__init__"} <= names
    assert "cli_bench" not in names and "evaluation.measures" not in names


@pytest.mark.parametrize("path", CORE_FILES, ids=layer_of)
def test_core_imports_nothing_above_it(path: Path) -> None:
    assert {name for name in imports_of(path) if is_above(name)} == set()


@pytest.mark.parametrize("path", [path for path in ALL_FILES if layer_of(path).startswith("io.")], ids=layer_of)
def test_files_know_nothing_of_the_method(path: Path) -> None:
    tops = {name.split(".")[0] for name in imports_of(path)}
    assert tops <= SHARED_BY_ALL | {"io", "vgg"}


STUDIO_FILES = [path for path in ALL_FILES if layer_of(path).startswith("studio.")]
OF_THE_TRACKER = {"Tracker", "MultiTracker", "TrackerConfig"}
SEEN_BY_THE_STUDIO = SHARED_BY_ALL | {"io", "studio", "viewers", "output_files", "__version__"} | OF_THE_TRACKER


@pytest.mark.parametrize("path", STUDIO_FILES, ids=layer_of)
def test_the_studio_never_reaches_into_the_tracker(path: Path) -> None:
    """It uses the tracker by its public names and reads results and traces; nothing of the method is imported."""
    tops = {name.split(".")[0] for name in imports_of(path)}
    assert tops <= SEEN_BY_THE_STUDIO


@pytest.mark.parametrize("path", [PACKAGE / "evaluation" / "measures.py"], ids=layer_of)
def test_measures_are_pure(path: Path) -> None:
    assert {name.split(".")[0] for name in imports_of(path)} == {"geometry"}


def test_an_import_from_above_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    sample = tmp_path / "io" / "sample.py"
    sample.parent.mkdir()
    sample.write_text(
        "from ..evaluation import measures\nimport tracking_parts.cli\nfrom tracking_parts import viewers\n"
    )
    assert imports_of(sample) == {"evaluation.measures", "cli", "viewers"}
