"""Benchmarks in processes of their own, to be killed by tests, and what their trackers leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PATIENCE_SECONDS = 90.0  # generous: these tests judge what happens, not how fast

SCRIPT = """
import signal
import sys
from tracking_parts.evaluation.runner import run

if __name__ == "__main__":
    # Whoever starts the tests in the background leaves them deaf to Ctrl-C, and their children too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tracker, data, out, processes = sys.argv[1:]
    outcomes = run([tracker], data, out, processes=int(processes), threads=1)
    print(",".join(sorted(f"{one.sequence}={one.status}" for one in outcomes)))
"""


@contextmanager
def bench_process(tracker: str, data: Path, out: Path, processes: int) -> Iterator[subprocess.Popen[str]]:
    """A run in a process group of its own, of which nothing is left at the end."""
    script = out.with_name("bench_script.py")
    script.write_text(SCRIPT, encoding="utf-8")
    folders = [str(TESTS), str(TESTS.parent / "src")]
    process = subprocess.Popen(
        [sys.executable, str(script), tracker, str(data), str(out), str(processes)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)


def signs(folder: Path) -> list[int]:
    """The processes in which a tracker was started, once for each start."""
    return [int(path.name.partition("-")[0]) for path in folder.glob("*.pid")]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet buried by its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    try:
        return not status.exists() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
