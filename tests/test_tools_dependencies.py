"""Pins are complete and exact, and the audit says so, or says that it could not ask."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from tools import audit
from tools.dependencies import Dependency, installed_dependencies, read_pins, resolve, unpinned

ROOT = Path(__file__).resolve().parents[1]


def dependency(name: str, version: str, exact: bool = False) -> Dependency:
    return Dependency(name, version, True, (), exact, metadata.distribution("packaging"))


def test_every_required_dependency_is_pinned() -> None:
    required = {name: found for name, found in installed_dependencies().items() if found.required}
    assert {"torch", "numpy", "typer", "click", "rich"} <= set(required)  # click is typer's
    faults = unpinned(required, read_pins())
    assert [fault for fault in faults if "is not pinned" in fault] == []


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-vot.txt", "constraints-audit.txt"])
def test_every_pin_is_exact(name: str) -> None:
    assert len(read_pins(ROOT / name)) > 20


@pytest.mark.parametrize("line", ["torch>=2.4", "torch", "torch==2.*", "torch==2.4,!=2.5"])
def test_a_loose_pin_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text(f"# a comment\nnumpy==2.2.6\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no exact version"):
        read_pins(path)


def test_two_pins_of_one_package_are_refused_unless_they_are_for_different_pythons(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text('a==1; python_version < "3.0"\nA==2\n', encoding="utf-8")
    assert read_pins(path) == {"a": "2"}
    path.write_text("a_b==1\na-b==2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="twice"):
        read_pins(path)


def test_what_is_missing_or_otherwise_is_said() -> None:
    found = {"a": dependency("a", "1.0+cpu"), "b": dependency("b", "2.0"), "c": dependency("c", "3.1")}
    found["nvidia-x"] = dependency("nvidia-x", "1", exact=True)
    faults = unpinned(found, {"a": "1.0", "c": "3.0"})
    assert faults == ["b 2.0 is not pinned", "c is pinned to 3.0, but 3.1 is installed"]


def test_dependencies_of_dependencies_are_found_and_missing_ones_refused() -> None:
    found = resolve(["typer>=0.1", 'rich; extra == "pretty"', 'nowhere-to-be-had; extra == "pretty"'], ["pretty"])
    assert "click" in found and "click" in found["typer"].needs
    assert resolve(['packaging; extra == "pretty"'], []) == {}
    assert not resolve(['packaging; extra == "pretty"'], ["pretty"])["packaging"].required
    with pytest.raises(metadata.PackageNotFoundError):
        resolve(["nowhere-to-be-had"], [])


# --------------------------------------------------------------------------- advisories
FAKE = """#!{python}
import json, sys
knows = {knows!r}
lines = open(sys.argv[sys.argv.index("-r") + 1]).read().split()
rows = []
for line in lines:
    name, version = line.split("==")
    if name not in knows:
        rows.append(dict(name=name, skip_reason="not found"))
    else:
        rows.append(dict(name=name, version=version, vulns=[dict(id=i, fix_versions=["9"]) for i in knows[name]]))
print(json.dumps(dict(dependencies=rows)))
"""


def fake_pip_audit(folder: Path, knows: dict[str, list[str]]) -> str:
    path = folder / "pip-audit"
    path.write_text(FAKE.format(python=sys.executable, knows=knows), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


IN_USE = {"a": dependency("a", "1.0")}


def test_an_advisory_is_told(tmp_path: Path) -> None:
    told = audit.ask(fake_pip_audit(tmp_path, {"pyyaml": ["OLD"], "a": ["CVE-1"]}), IN_USE)
    assert told == audit.Advisories(("a 1.0: CVE-1; mended in 9",), 1)


def test_nothing_known_is_believed_only_of_a_database_that_knows_the_canary(tmp_path: Path) -> None:
    assert audit.ask(fake_pip_audit(tmp_path, {"pyyaml": ["OLD"], "a": []}), IN_USE) == audit.Advisories((), 1)
    silent: list[dict[str, list[str]]] = [{"a": []}, {"pyyaml": [], "a": []}]
    for knows in silent:
        told = audit.ask(fake_pip_audit(tmp_path, knows), IN_USE)
        assert told.asked == 0 and "cannot be reached" in told.why_not


def test_what_the_database_does_not_know_is_named(tmp_path: Path) -> None:
    told = audit.ask(fake_pip_audit(tmp_path, {"pyyaml": ["OLD"]}), IN_USE)
    assert (told.asked, told.why_not) == (0, "not known to the database: a")


def test_a_pip_audit_that_is_not_there_or_says_nonsense_is_no_answer(tmp_path: Path) -> None:
    assert "cannot be reached" in audit.ask(str(tmp_path / "none"), IN_USE).why_not
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho nonsense\n", encoding="utf-8")
    broken.chmod(0o755)
    assert "gave no answer" in audit._run(str(broken), [("a", "1")]).why_not


@pytest.mark.parametrize(("knows", "code", "words"), [({}, 0, "NOT CHECKED"), ({"pyyaml": ["OLD"]}, 1, "CVE-7")])
def test_the_command(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    knows: dict[str, list[str]],
    code: int,
    words: str,
) -> None:
    version = metadata.version("packaging")
    monkeypatch.setattr(audit, "installed_dependencies", lambda: {"packaging": dependency("packaging", version)})
    monkeypatch.setattr(audit, "read_pins", lambda: {"packaging": version})
    program = fake_pip_audit(tmp_path, {**knows, "packaging": ["CVE-7"]})
    assert audit.main([f"--pip-audit={program}"]) == code
    told = capsys.readouterr()
    assert words in told.out + told.err
    assert "1 dependencies installed, 0 of them not" in told.out
