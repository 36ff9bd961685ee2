"""How many threads compute, and how they wait for each other.

The frozen trunk takes a few milliseconds per layer and ends each with a meeting of its threads. Threads that go to
sleep there lose a third of the time to being woken; threads that spin until the other comes take the processor from
whoever else uses the machine, often from the very thread they wait for. So they spin for some microseconds, then sleep.
"""

from __future__ import annotations

import os
import threading

from tracking_parts.errors import BusyError

MOST_THREADS = 4  # a crop of some hundred pixels feeds no more; the rest of the machine belongs to others
SPINS = 5000  # some ten microseconds
IMPORTED_BY = os.getpid()


def wait_briefly() -> None:
    """Tell OpenMP how to wait. It listens only once, when torch is first imported: call this before.

    Whoever has set one of its variables keeps what he has set.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)  # GNU's refines the policy by this


def default_threads() -> int:
    """As many as this process may use at once, but no more than serve one crop."""
    return max(1, min(MOST_THREADS, available_processors()))


def available_processors() -> int:
    """Those that the system lets this process run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_threads(count: int | None = None) -> None:
    """Give torch, OpenCV and the engines that follow torch so many threads; None: :func:`default_threads`."""
    import cv2
    import torch

    count = default_threads() if count is None else count
    torch.set_num_threads(count)
    cv2.setNumThreads(count)


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
