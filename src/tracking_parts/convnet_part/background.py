"""Training in a thread of its own, on a copy that is swapped in whole; tracking never waits for it (docs/decisions.md).

A training that raises or ends in numbers that are not finite is thrown away. One that hangs cannot be ended from
outside: tracking goes on without it, nothing new is begun meanwhile, and nobody waits for it at the end.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.pathway import CentrePathway, Progress
from tracking_parts.convnet_part.updating import sound_loss
from tracking_parts.errors import LearningError
from tracking_parts.learning_faults import Fault, fault_of

HANGING_SECONDS = 120.0  # a training that takes longer is reported; the longest of ours takes a few seconds
FAREWELL_SECONDS = 10.0  # for the piece under way when the tracker is closed


class _Job:
    """One training: on a copy, until it is done or stopped."""

    def __init__(
        self, copy: CentrePathway, first: tuple[TrainingFrame, ...], recent: tuple[TrainingFrame, ...]
    ) -> None:
        self.copy = copy
        self.loss = 0.0
        self.error: Exception | None = None
        self.done = threading.Event()
        self.begun = time.monotonic()
        self.reported = False
        self._lessons = (first, recent)

    def run(self, stop: threading.Event) -> None:
        try:
            last: Progress | None = None
            for progress in self.copy.training(*self._lessons, is_first=False):
                last = progress
                if stop.is_set():
                    return
            if last is None:
                raise LearningError("it ended before it was done")
            self.loss = sound_loss(self.copy, last.loss)
        except Exception as error:
            self.error = error
        finally:
            self.done.set()


class BackgroundUpdates:
    """Training on a copy, swapped in whole when done, while tracking goes on; a fault never stops tracking."""

    def __init__(self, hanging_seconds: float = HANGING_SECONDS, farewell_seconds: float = FAREWELL_SECONDS) -> None:
        self._hanging_seconds, self._farewell_seconds = hanging_seconds, farewell_seconds
        self._begin()

    def _begin(self) -> None:
        self._job: _Job | None = None
        self._end: Callable[[], object] | None = None  # ends the worker, if there is one
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._process = os.getpid()

    def _after_fork(self) -> None:
        """A forked child has neither the worker nor what it was doing: it begins anew."""
        if self._process != os.getpid():
            self._begin()

    def train(self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]) -> str:
        self._after_fork()
        if self._job is not None:
            return "skipped a training: the last one is still running"
        self._job = _Job(pathway.clone(), tuple(first), tuple(recent))
        if self._end is None:
            self._start_worker()
        self._jobs.put(self._job)
        return f"started training on {len(first) + len(recent)} frames in the background"

    def _start_worker(self) -> None:
        stop = threading.Event()
        # A daemon: a training that hangs must not keep the process from ending.
        worker = threading.Thread(target=_work, args=(self._jobs, stop), name="stp-training", daemon=True)
        worker.start()
        # Also at the end of the process, and if the tracker is forgotten without having been closed.
        self._end = weakref.finalize(self, _end_worker, worker, self._jobs, stop, self._farewell_seconds)

    def collect(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """The newest trained pathway, and what happened, if a training ended since the last call."""
        self._after_fork()
        job = self._job
        if job is None:
            return pathway, None
        if not job.done.is_set():
            if job.reported or time.monotonic() - job.begun < self._hanging_seconds:
                return pathway, None
            job.reported = True
            return pathway, Fault(f"training in the background has not ended for {self._hanging_seconds:.0f} s")
        self._job = None
        if job.error is not None:  # whatever went wrong, tracking goes on with the last good net
            return pathway, fault_of("training in the background", job.error)
        return job.copy, f"swapped in the ConvNetPart trained in the background, loss {job.loss:.4f}"

    def train_whole(
        self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]
    ) -> tuple[CentrePathway, str]:
        """A training that is waited for, after the one under way, if there is one."""
        pathway, _ = self.wait(pathway)
        self.train(pathway, first, recent)
        pathway, news = self.wait(pathway)
        return pathway, news or ""

    @property
    def unfinished(self) -> None:
        """What is to be saved is waited for."""
        return None

    def wait(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """Like :meth:`collect`, but a running training is waited for first, unless it hangs."""
        self._after_fork()
        if self._job is not None:
            self._job.done.wait(max(0.0, self._hanging_seconds - (time.monotonic() - self._job.begun)))
        return self.collect(pathway)

    def close(self) -> None:
        """Stop a running training after the piece under way, and end the worker."""
        self._after_fork()
        if self._end is not None:
            self._end()
        self._begin()


def _work(jobs: queue.SimpleQueue[_Job | None], stop: threading.Event) -> None:
    while (job := jobs.get()) is not None:
        job.run(stop)


def _end_worker(
    worker: threading.Thread, jobs: queue.SimpleQueue[_Job | None], stop: threading.Event, patience: float
) -> None:
    stop.set()
    jobs.put(None)
    worker.join(patience)
