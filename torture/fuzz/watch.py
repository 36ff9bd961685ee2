"""One input at a time, watched: what it raised, how long it took and how much memory it wanted."""

from __future__ import annotations

import hashlib
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from torture.fuzz.target import Target

MOST_SECONDS = 1.0  # of the processor, for one input
MOST_BYTES = 500 << 20  # of memory, for one input
HANG_SECONDS = 20.0  # of the processor, after which an input is broken off
SPARE_BYTES = 3 << 30  # beyond which this process gets no memory at all, so that the machine survives
LAST_INPUT = "last-input"


class HangError(BaseException):
    """Raised into whatever takes too long; no ``except Exception`` may swallow it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that did what no input may do."""

    target: str
    what: str  # one line
    path: Path  # the input
    report: str


class Watch:
    """Runs inputs of one target and keeps what they did wrong, each kind of wrong once."""

    def __init__(self, target: Target, folder: Path, slack: float = 1.0) -> None:
        self.target = target
        self.executions = 0
        self._folder = folder
        self._most_seconds = MOST_SECONDS * slack
        self._known: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, content: bytes) -> None:
        """Run one input. It is on disk while it runs: should the process die of it, it can be found there."""
        (self._folder / LAST_INPUT).write_bytes(content)
        self.executions += 1
        problem = self._problem(content)
        if problem is not None and "too slow" in problem[0]:
            problem = self._problem(content)  # the first input of a kind also pays for imports and caches
        if problem is not None:
            self._keep(content, *problem)

    def _problem(self, content: bytes) -> tuple[str, str] | None:
        before = memory_now()
        begun = time.process_time()
        try:
            with broken_off(HANG_SECONDS):
                self.target(content)
        except (Exception, HangError) as error:
            return f"{type(error).__name__} at {_place_of(error)}", "".join(traceback.format_exception(error))
        except BaseException as error:  # a panic of a library in Rust, say
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            return f"{type(error).__name__} at {_place_of(error)}", "".join(traceback.format_exception(error))
        spent = time.process_time() - begun
        if spent > self._most_seconds:
            return "too slow", f"{spent:.2f} seconds for {len(content)} bytes"
        grown = memory_peak() - before
        if grown > MOST_BYTES:
            return "too much memory", f"{grown >> 20} MB for {len(content)} bytes"
        return None

    def _keep(self, content: bytes, what: str, report: str) -> None:
        if what in self._known:
            return
        self._known.add(what)
        name = f"{self.target.name}-{hashlib.sha256(content).hexdigest()[:12]}"
        (self._folder / f"{name}.input").write_bytes(content)
        (self._folder / f"{name}.txt").write_text(f"{what}\n{report}\n", encoding="utf-8", errors="replace")


def findings(target: str, folder: Path) -> list[Finding]:
    """What was kept in a folder."""
    found = []
    for path in sorted(folder.glob(f"{target}-*.txt")):
        what, _, report = path.read_text(encoding="utf-8").partition("\n")
        found.append(Finding(target, what, path.with_suffix(".input"), report))
    return found


@contextmanager
def broken_off(seconds: float) -> Iterator[None]:
    """Raise :class:`HangError` after so many seconds of the processor: a paused process is not a slow one."""

    def end(signal_number: int, frame: FrameType | None) -> None:
        raise HangError(f"not done after {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def bound_memory(spare: int = SPARE_BYTES) -> None:
    """Let this process have so much more memory and no further: a bomb is then a MemoryError, not a dead machine."""
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    limit = pages * resource.getpagesize() + spare
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _place_of(error: BaseException) -> str:
    """The innermost line of ours: two inputs that fail there fail alike."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "tracking_parts" in frame.filename] or list(frames)
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "nowhere"


def memory_now() -> int:
    """Resident now; also lets the peak begin anew where the system can."""
    if sys.platform != "linux":
        return memory_peak()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return memory_peak()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def memory_peak() -> int:
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
