"""All parts one after the other, each in a process of its own and with its share of the time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import python_environment
from benchmarks.videos import ROOT
from torture.trials import Trial

LEAST_GRACE, MOST_GRACE = 20.0, 120.0  # seconds that a part may take longer than its share before it is killed
GRACE = 0.25  # … as a share of the time that the others have
TOO_LITTLE = 1.0  # seconds of all that are left, with which no part is begun
TOLD = 2000  # characters of what a part that died last said


@dataclass(frozen=True)
class Registered:
    """Where a part's function is (``module:function``), and how much time it gets beside the others."""

    address: str
    weight: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What came of one part."""

    part: str
    trials: tuple[Trial, ...]
    seconds: float
    skipped: str = ""  # why nothing was tried, where that is no fault

    @property
    def lost(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if not trial.survived)

    @property
    def survived(self) -> int:
        return len(self.trials) - len(self.lost)

    def as_json(self) -> dict[str, Any]:
        tried, lost = Counter(trial.what for trial in self.trials), self.lost
        return {
            "part": self.part,
            "tried": len(self.trials),
            "survived": self.survived,
            "lost": [{"what": trial.what, "detail": trial.detail} for trial in lost],
            "seconds": round(self.seconds, 1),
            "skipped": self.skipped,
            "trials": dict(tried),
            "told": [f"{trial.what}: {trial.detail}" for trial in self.trials if trial.survived and trial.detail][:100],
        }


def share_of_time(left: float, weight: float, weights_left: float) -> tuple[float, float]:
    """Seconds in which a part may begin trials, and after which it is killed; what it leaves is shared out anew.

    >>> share_of_time(1000.0, 1.0, 10.0)
    (80.0, 200.0)
    >>> share_of_time(30.0, 1.0, 1.0)
    (24.0, 30.0)
    """
    share = left * weight / weights_left
    soft = 0.8 * share
    is_last = weight >= weights_left
    grace = MOST_GRACE if is_last else min(max(GRACE * (left - soft), LEAST_GRACE), MOST_GRACE)
    return soft, min(soft + grace, (share + left) / 2)  # half of what the others have stays theirs


def run_all(
    parts: Mapping[str, Registered], seconds: float, seed: int = 0, clock: Callable[[], float] = time.monotonic
) -> Iterator[Outcome]:
    """Every part in turn, all of them within ``seconds``."""
    end = clock() + seconds
    weights_left = sum(part.weight for part in parts.values())
    for name, part in parts.items():
        left = end - clock()
        if left < TOO_LITTLE:
            yield Outcome(name, (Trial("be begun", False, "the other parts left no time"),), 0.0)
            continue
        soft, hard = share_of_time(left, part.weight, weights_left)
        weights_left -= part.weight
        yield run_part(name, part.address, soft, hard, seed)


def run_part(name: str, address: str, soft: float, hard: float, seed: int = 0) -> Outcome:
    """One part; that it raised, died or had to be killed is one more trial, lost."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stp-torture-") as folder:
        trials_file, said_file = Path(folder) / "trials.jsonl", Path(folder) / "stderr.txt"
        command = [sys.executable, "-m", "torture.worker", address, f"--seconds={soft}", f"--seed={seed}"]
        with said_file.open("wb") as said:
            process = subprocess.Popen(
                [*command, f"--out={trials_file}"],
                cwd=ROOT,
                env=python_environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                fault = _wait(process, hard)
            finally:
                _end_group(process)
        seconds = time.monotonic() - begun
        trials, ended, why = _read_trials(trials_file)
        last_words = said_file.read_text(encoding="utf-8", errors="replace")[-TOLD:]
    if fault or not ended:
        trials.append(Trial(fault or "died", False, last_words))
    elif not trials and why:
        return Outcome(name, (), seconds, skipped=why)
    elif not trials:
        trials.append(Trial("try anything", False, f"it tried nothing and did not say why\n{last_words}"))
    return Outcome(name, tuple(trials), seconds)


def _wait(process: subprocess.Popen[bytes], hard: float) -> str:
    """How it went wrong; empty if it ended by itself, in order and in time."""
    try:
        code = process.wait(hard)
    except subprocess.TimeoutExpired:
        return f"end in time (killed after {hard:.0f} s)"
    if code < 0:
        return f"stay alive (ended by {signal.Signals(-code).name})"
    return f"stay alive (ended with exit code {code})" if code else ""


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what it started and left running, and itself if need be."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_trials(path: Path) -> tuple[list[Trial], bool, str]:
    """The trials, whether the part ended in order, and what it said last. A line cut off by its death is left out."""
    trials, ended, said = [], False, ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            values = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "ended" in values:
            ended, said = True, values["said"]
        else:
            trials.append(Trial(**values))
    return trials, ended, said
