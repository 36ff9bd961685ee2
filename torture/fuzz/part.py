"""Fuzzing as a part of the torture: every target gets an equal share of the time, by the best engine there is."""

from __future__ import annotations

import logging
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from torture.fuzz.registry import runnable
from torture.fuzz.running import has_atheris, run_slice
from torture.trials import Trial

logger = logging.getLogger(__name__)

START_SECONDS = 5.0  # of a worker: its imports
INSTRUMENTING_SECONDS = 25.0  # with atheris; where a share is not many times that, the plain engine does more


def fuzz_all(seconds: float) -> Iterator[Trial]:
    """One trial per target; it survives where no input of its share was a finding."""
    end = time.monotonic() + seconds
    names = list(runnable())
    random.Random(time.time_ns()).shuffle(names)  # where time is short, others get their turn the next time
    engine = "auto" if seconds / len(names) > 3 * INSTRUMENTING_SECONDS else "plain"
    if engine == "auto" and not has_atheris():
        logger.warning('atheris is not installed (pip install "tracking-parts[fuzz]"): the plain engine it is')
    folder = Path(tempfile.mkdtemp(prefix="stp-fuzz-findings-"))
    for number, name in enumerate(names):
        left = end - time.monotonic()
        if left <= 0:
            return
        share = max(1.0, left / (len(names) - number) - START_SECONDS)
        done = run_slice(name, share, folder, engine, number=int(time.time()))
        told = "; ".join(f"{finding.what} ({finding.path})" for finding in done.findings)
        survived = not done.findings and done.executions > 0
        yield Trial(f"fuzz {name}", survived, told or f"{done.executions} inputs by {done.engine}")
