"""What an answer need not wait for: learning from a frame is done while the network looks at the next one.

Who votes next waits until it is done, so that the order of events, and every box, is the same as if all were done at
once. On two cores this hides most of the time that learning takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


class Afterwards:
    """One piece of work at a time, done at the latest when its outcome is needed.

    ``may_wait`` is false for what must be done before the caller goes on.
    """

    def __init__(self, may_wait: bool) -> None:
        self._may_wait = may_wait
        self._work: Callable[[], None] | None = None
        self._worker: ThreadPoolExecutor | None = None

    def add(self, work: Callable[[], None]) -> None:
        """To be done later, or at once if it may not wait; what was added before is done first."""
        self.finish()
        self._work = work
        if not self._may_wait:
            self.finish()

    def finish(self) -> None:
        """Do now what is still to be done. What goes wrong is raised here, once."""
        work, self._work = self._work, None
        if work is not None:
            work()

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Do it in a thread of its own while the block runs; what goes wrong is raised at the end of the block."""
        if self._work is None:
            yield
            return
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "stp-learning")
        done = self._worker.submit(self.finish)
        try:
            yield
        finally:
            done.result()

    def drop(self) -> None:
        """Nobody needs the outcome any more."""
        self._work = None
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None
