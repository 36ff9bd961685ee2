"""``python -m torture.fuzz TARGET --seconds N``: fuzz some targets, or all; exits with 1 after a finding."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from torture.fuzz.registry import NAMES, find_target, runnable
from torture.fuzz.running import ENGINES, run_slice


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torture.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=f"all, or some of: {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--engine", choices=ENGINES, default="auto", help="auto: atheris where it is installed")
    parser.add_argument("--number", type=int, default=0, help="the same number gives the plain engine the same inputs")
    parser.add_argument("--findings", type=Path, help="folder for inputs that broke something")
    parser.add_argument("--input", type=Path, help="run this one input, here, and show what it raises")
    given = parser.parse_args()
    wanted = runnable() if given.targets == ["all"] else tuple(given.targets)
    if unknown := [name for name in wanted if name not in NAMES]:
        parser.error(f"unknown target {', '.join(unknown)}: there are {', '.join(NAMES)}")
    if given.input is not None:
        find_target(wanted[0])(given.input.read_bytes())
        return 0
    folder = given.findings or Path(tempfile.mkdtemp(prefix="stp-fuzz-findings-"))
    found = 0
    for name in wanted:
        done = run_slice(name, given.seconds, folder, given.engine, given.number)
        found += len(done.findings)
        print(f"{name:16} {done.engine:8} {done.executions:9} inputs, {len(done.findings)} findings", flush=True)
        for finding in done.findings:
            print(f"    {finding.what}: {finding.path}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
