"""Are all dependencies pinned, and is anything known against them? ``python -m tools.audit`` (``make audit``).

Advisories are asked for with pip-audit, from an environment of its own. Where no advisory database can be reached it
answers "nothing known" just the same; so a version that is known to be vulnerable is asked about too, and only if that
one is named is the answer believed. Otherwise it is said that advisories could not be checked. Exit code 1: something
is not pinned, or an advisory names a version in use.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from tools.dependencies import Dependency, installed_dependencies, read_pins, unpinned

CANARY = ("pyyaml", "5.1")  # CVE-2020-1747 and others, for ever
TIMEOUT = 600  # seconds


@dataclass(frozen=True)
class Advisories:
    """What is known against which version; ``why_not`` where nobody could be asked, of some or of all."""

    known: tuple[str, ...] = ()
    asked: int = 0
    why_not: str = ""


def ask(pip_audit: str, dependencies: Mapping[str, Dependency], canary: tuple[str, str] = CANARY) -> Advisories:
    """Ask pip-audit about every dependency and about the canary, each in a list of its own."""
    versions = [(name, Version(dependency.version).public) for name, dependency in dependencies.items()]
    if not _run(pip_audit, [canary]).known:
        return Advisories(why_not="the advisory database cannot be reached: it knows nothing of a known case")
    return _run(pip_audit, versions)


def _run(pip_audit: str, versions: Sequence[tuple[str, str]]) -> Advisories:
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text("".join(f"{name}=={version}\n" for name, version in versions), encoding="utf-8")
        command = [pip_audit, "--no-deps", "--disable-pip", "--progress-spinner=off", "-f=json", "-r", str(pins)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            return read_answer(json.loads(done.stdout))
        except OSError as error:
            return Advisories(why_not=f"pip-audit cannot be run: {error}")
        except subprocess.TimeoutExpired:
            return Advisories(why_not=f"pip-audit did not answer within {TIMEOUT} s")
        except (json.JSONDecodeError, KeyError, TypeError):
            last = done.stderr.strip().splitlines()[-1:]
            return Advisories(why_not=f"pip-audit gave no answer: {' '.join(last)}")


def read_answer(answer: Mapping[str, Any]) -> Advisories:
    """pip-audit's JSON."""
    known, skipped, asked = [], [], 0
    for entry in answer["dependencies"]:
        if "skip_reason" in entry:
            skipped.append(entry["name"])
            continue
        asked += 1
        for fault in entry["vulns"]:
            names = ", ".join([fault["id"], *fault.get("aliases", ())])
            fixed = ", ".join(fault.get("fix_versions", ())) or "no version yet"
            known.append(f"{entry['name']} {entry['version']}: {names}; mended in {fixed}")
    return Advisories(tuple(known), asked, f"not known to the database: {', '.join(skipped)}" if skipped else "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--pip-audit", default="pip-audit", help="the program")
    options = parser.parse_args(arguments)
    dependencies = installed_dependencies()
    faults = unpinned(dependencies, read_pins())
    print(f"pins: {len(dependencies)} dependencies installed, {len(faults)} of them not as constraints.txt says")
    advisories = ask(options.pip_audit, dependencies)
    if advisories.asked:
        print(f"advisories: {advisories.asked} versions checked, {len(advisories.known)} advisories")
    if advisories.why_not:
        print(f"advisories: NOT CHECKED{' for some' if advisories.asked else ''} ({advisories.why_not})")
    for line in (*faults, *advisories.known):
        print(line, file=sys.stderr)
    return 1 if faults or advisories.known else 0


if __name__ == "__main__":
    raise SystemExit(main())
