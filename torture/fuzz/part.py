"""Fuzzing as a part of the torture: every target gets an equal share of the time, by the best engine there is."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from torture.fuzz.registry import runnable
from torture.fuzz.running import has_atheris, run_slice
from torture.trials import Trial

logger = logging.getLogger(__name__)

START_SECONDS = 25.0  # of a worker: its imports, and with atheris their instrumentation


def fuzz(seconds: float) -> Iterator[Trial]:
    """One trial per target; it survives where no input of its share was a finding."""
    if not has_atheris():
        logger.warning('atheris is not installed (pip install "tracking-parts[fuzz]"): the plain engine it is')
    end = time.monotonic() + seconds
    names = runnable()
    folder = Path(tempfile.mkdtemp(prefix="stp-fuzz-findings-"))
    for number, name in enumerate(names):
        left = end - time.monotonic()
        if left <= 0:
            return
        share = max(1.0, left / (len(names) - number) - START_SECONDS)
        done = run_slice(name, share, folder, number=int(time.time()))
        told = "; ".join(f"{finding.what} ({finding.path})" for finding in done.findings)
        survived = not done.findings and done.executions > 0
        yield Trial(f"fuzz {name}", survived, told or f"{done.executions} inputs by {done.engine}")
