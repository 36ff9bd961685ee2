"""Run a target in a process of its own for a while, and say what came of it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from torture.fuzz.watch import LAST_INPUT, Finding, findings

ROOT = Path(__file__).resolve().parents[2]
SPARE_SECONDS = 600.0  # for imports, a last input and a machine that has other things to do
ENGINES = ("auto", "atheris", "plain")


@dataclass(frozen=True, slots=True)
class Slice:
    """One target for some seconds."""

    target: str
    engine: str
    executions: int
    findings: list[Finding]


def has_atheris() -> bool:
    """Whether the engine led by coverage is installed: ``pip install "tracking-parts[fuzz]"``; Linux has wheels."""
    return importlib.util.find_spec("atheris") is not None


def run_slice(target: str, seconds: float, folder: Path, engine: str = "auto", number: int = 0) -> Slice:
    """Fuzz one target; ``folder`` is where inputs that broke something are kept."""
    chosen = ("atheris" if has_atheris() else "plain") if engine == "auto" else engine
    own = folder / target
    own.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "torture.fuzz.worker", target, "--engine", chosen]
    command += ["--seconds", str(seconds), "--folder", str(own.resolve()), "--number", str(number)]
    path = os.pathsep.join((str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    # The processor's time is what is bounded: a second thread that waits for the first would be counted too.
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    log = own / "log"
    with log.open("wb") as said:
        worker = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
        try:
            code = worker.wait(seconds + SPARE_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
            code = None
    text = log.read_text(encoding="utf-8", errors="replace")
    if code != 0:
        _keep_death(target, own, f"ended by {code}" if code is not None else "hung", text[-4000:])
    return Slice(target, chosen, _executions(text), findings(target, own))


def _keep_death(target: str, folder: Path, what: str, report: str) -> None:
    """The process died: the input that it was at is the finding."""
    last = folder / LAST_INPUT
    name = f"{target}-died-{abs(hash(what)) % 10**6}"
    if last.exists():
        shutil.copy(last, folder / f"{name}.input")
    (folder / f"{name}.txt").write_text(f"the process {what}\n{report}\n", encoding="utf-8")


def _executions(text: str) -> int:
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if counted:
        return int(counted[1])
    for line in reversed(text.splitlines()):
        if line.startswith('{"executions"'):
            return int(json.loads(line)["executions"])
    return 0
