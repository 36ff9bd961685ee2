"""How many threads compute, and how they wait for each other.

The frozen trunk takes a few milliseconds per layer and ends each with a meeting of its threads. Threads that go to
sleep there lose a third of the time to being woken; threads that spin until the other comes take the processor from
whoever else uses the machine, often from the very thread they wait for. So they spin for some microseconds, then sleep.

Sums over small maps are not worth several threads. But the two pathways, and parts of different sizes, are computed
side by side, each by one thread, in the same order whatever the number of threads: that does not change a single bit of
the answer (with ncnn; torch's own convolutions may differ).

A thread that has to share its processor keeps all others waiting: two are then slower than one. So only processors that
others leave free are used. How many these are shows while torch is being imported, which takes two seconds anyway.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tracking_parts.errors import BusyError

T = TypeVar("T")

MOST_THREADS = 4  # a crop of some hundred pixels feeds no more; the rest of the machine belongs to others
SPINS = 5000  # some ten microseconds
SHORTEST_WATCH = 0.5  # seconds: the system counts in hundredths
SYSTEM_TIMES = Path("/proc/stat")  # of Linux
IMPORTED_BY = os.getpid()


@dataclass(frozen=True)
class Watch:
    """Since when the machine is watched, and how much processor time was spent by then: all in seconds."""

    clock: float
    by_all: float  # but for what others do with low priority: that gives way
    by_this: float

    @classmethod
    def begin(cls) -> Watch | None:
        """None where the system does not tell."""
        try:
            user, _, system, _, _, *interrupts = map(int, SYSTEM_TIMES.read_text(encoding="ascii").split()[1:9])
            by_all = (user + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):
            return None
        return cls(time.monotonic(), by_all, sum(os.times()[:4]))

    def processors_taken(self) -> float:
        """By others, on average since then; 0 if that was too short ago to say."""
        now = Watch.begin()
        seconds = 0.0 if now is None else now.clock - self.clock
        if now is None or seconds < SHORTEST_WATCH:
            return 0.0
        return max(0.0, (now.by_all - self.by_all - (now.by_this - self.by_this)) / seconds)


_watch: Watch | None = None


def wait_briefly() -> None:
    """Tell OpenMP how to wait. It listens only once, when torch is first imported: call this before.

    Whoever has set one of its variables keeps what he has set. From now on it is seen how busy the machine is.
    """
    global _watch
    _watch = _watch or Watch.begin()
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)  # GNU's refines the policy by this


def default_threads(watch: Watch | None = None) -> int:
    """As many as there are processors that others leave free, but no more than serve one crop.

    Seen since ``watch``, or since :func:`wait_briefly`.
    """
    since = watch or _watch
    taken = 0.0 if since is None else since.processors_taken()
    elsewhere = max(0, (os.cpu_count() or 1) - available_processors())  # others may be on those, where this one may not
    return max(1, min(MOST_THREADS, available_processors() - round(max(0.0, taken - elsewhere))))


def available_processors() -> int:
    """Those that the system lets this process run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_trunk_threads: int | None = None


def use_threads(count: int | None = None) -> None:
    """Give the trunk and OpenCV so many threads, and torch one for the rest; None: :func:`default_threads`."""
    global _trunk_threads
    import cv2
    import torch

    _trunk_threads = default_threads() if count is None else count
    torch.set_num_threads(1)
    cv2.setNumThreads(_trunk_threads)


def trunk_threads() -> int:
    """As :func:`use_threads` was told; in a program that never calls it as many as torch has; in a forked child one."""
    import torch

    if in_forked_child():
        return 1
    return torch.get_num_threads() if _trunk_threads is None else _trunk_threads


def in_forked_child() -> bool:
    """Whether this process was forked from one that had this library: the threads of that one are not here."""
    return os.getpid() != IMPORTED_BY


def threads_after_fork() -> None:
    """In a forked child, compute with one thread: torch and OpenCV would wait for ever for those that stayed behind."""
    if in_forked_child():
        import cv2
        import torch

        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)
        if cv2.getNumThreads() > 1:
            cv2.setNumThreads(0)  # without any; to change to 1 would wait for the lost ones to end


# ---------------------------------------------------------------------- side by side
class _Team:
    """Threads that share the processors: whoever has nothing left to do lends a hand to the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.idle = 0

    def lend(self) -> None:
        with self._lock:
            self.idle += 1

    def borrow(self, most: int) -> int:
        """How many hands are lent, at most so many; each is to be given back by :meth:`lend`."""
        with self._lock:
            borrowed = max(0, min(most, self.idle))
            self.idle -= borrowed
            return borrowed


class _Alone(threading.local):
    """Whether this thread is one of several at work already, and so leaves them the other processors."""

    yes = False
    team: _Team | None = None  # those others, where they lend hands


_alone = _Alone()
_helpers: ThreadPoolExecutor | None = None


def work_alone() -> None:
    """From now on this thread does one thing after the other; for threads that run beside others."""
    import torch

    _alone.yes = True
    torch.set_num_threads(torch.get_num_threads())  # what OpenMP was told elsewhere it was not told of this thread


@contextmanager
def one_after_another(team: _Team | None = None) -> Iterator[None]:
    """While it lasts this thread does alone what it would have shared: for whoever takes the time of each step.

    As one of a team it shares with those of it that are idle.
    """
    before, _alone.yes, _alone.team = (_alone.yes, _alone.team), True, team
    try:
        yield
    finally:
        _alone.yes, _alone.team = before


def free_hands() -> int:
    """How many threads may compute at once, this one included: one, unless torch has a single one for each."""
    import torch

    if torch.get_num_threads() > 1:
        return 1
    if _alone.yes:
        return 1 + (_alone.team.idle if _alone.team is not None else 0)
    return min(MOST_THREADS, trunk_threads())


def side_by_side(tasks: Sequence[Callable[[], T]], hands: int | None = None) -> list[T]:
    """What independent tasks answer, in their order. The first ones begin first: name the longest ones first.

    As many run at once as the trunk has threads, if torch has one for each, or as many as ``hands``; if one raises, so
    does this, in the end. Tasks may have tasks of their own: hands that find none of the first ones left help there.
    Each computes with as many of torch's threads as whoever asks.
    """
    global _helpers
    import torch

    wanted = min(len(tasks), free_hands() if hands is None else hands) - 1
    team = _alone.team or _Team()
    helpers = wanted if _alone.team is None else team.borrow(wanted)
    if helpers < 1:
        return [task() for task in tasks]
    if _helpers is None:
        most = max(MOST_THREADS, available_processors())  # they begin as they are needed
        _helpers = ThreadPoolExecutor(most - 1, "stp", initializer=work_alone)
    waiting, found = deque(enumerate(tasks)), dict[int, T]()
    # Every thread has to be told these by itself, and keeps what it was told.
    inferring, torch_threads = torch.is_inference_mode_enabled(), torch.get_num_threads()

    def work() -> None:
        with torch.inference_mode(inferring), one_after_another(team):
            while waiting:
                try:
                    index, task = waiting.popleft()
                except IndexError:  # another was faster
                    return
                found[index] = task()

    def help_out() -> None:
        try:
            if torch.get_num_threads() != torch_threads:
                torch.set_num_threads(torch_threads)
            work()
        finally:
            team.lend()

    is_first_of_team = _alone.team is None
    helping = [_helpers.submit(help_out) for _ in range(helpers)]
    try:
        work()
        if is_first_of_team:
            team.lend()  # this thread only waits from here on
    finally:
        waiting.clear()
        problems = [_outcome(helper, team) for helper in helping]
    for problem in problems:
        if problem is not None:
            raise problem
    return [found[index] for index in range(len(tasks))]


def others_are_idle() -> bool:
    """Whether this thread, one of no team, may share its work out to others."""
    return _alone.team is None and free_hands() > 1


def with_idle_hands(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What tasks answer that would share their own work out: one after the other, but where a team's hands are idle."""
    return [task() for task in tasks] if _alone.team is None else side_by_side(tasks)


def _outcome(helper: Future[None], team: _Team) -> BaseException | None:
    """What a helper raised, once it is done; one that has not begun need not, and its hand is given back."""
    if helper.cancel():
        team.lend()
        return None
    return helper.exception()


class OneAtATime:
    """Refuses a second caller while the first is at work: side by side they would spoil each other's state."""

    def __init__(self) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()

    def __enter__(self) -> None:
        threads_after_fork()
        if self._process != os.getpid():  # whoever held it then is not in this process
            self._lock, self._process = threading.Lock(), os.getpid()
        if not self._lock.acquire(blocking=False):
            raise BusyError("the tracker is at work in another thread: call it from one thread at a time")

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OneAtATime], tuple[()]]:
        """A copy begins free."""
        return (OneAtATime, ())
