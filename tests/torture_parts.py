"""Parts of a torture, for the tests of what runs them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from torture.trials import Trial

log = logging.getLogger(__name__)


def survives(seconds: float) -> Iterator[Trial]:
    yield Trial("breathe", True)
    yield Trial("breathe", True, "twice")


def loses(seconds: float, seed: int = 0) -> Iterator[Trial]:
    yield Trial("breathe", True)
    yield Trial("swim", False, f"it sank [in water] with seed {seed}")


def raises(seconds: float) -> Iterator[Trial]:
    yield Trial("breathe", True)
    raise ValueError("a part with a fault")


def aborts(seconds: float) -> Iterator[Trial]:
    yield Trial("breathe", True)
    os.abort()


def leaves(seconds: float) -> Iterator[Trial]:
    yield Trial("breathe", True)
    os._exit(0)


def hangs(seconds: float) -> Iterator[Trial]:
    """It also starts a process that would outlive it, and tells its number by a file."""
    yield Trial("breathe", True)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["STP_TEST_CHILD"]).write_text(str(child.pid), encoding="ascii")
    time.sleep(600)


def skips(seconds: float) -> Iterator[Trial]:
    log.warning('needs water: pip install "tracking-parts[water]"')
    yield from ()


def idles(seconds: float) -> Iterator[Trial]:
    yield from ()


def tells_its_time(seconds: float) -> Iterator[Trial]:
    yield Trial("take its time", True, f"{seconds}")
