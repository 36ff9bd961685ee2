"""How far a run is, tracker by tracker, and how long it will take; nothing of it is drawn here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from tracking_parts.evaluation.runner import Plan
from tracking_parts.evaluation.tasks import Outcome


@dataclass
class TrackerProgress:
    """What is known of one tracker so far."""

    tracker: str
    total: int = 0
    done: int = 0  # all that need not be waited for, those that raised included
    raised: int = 0
    frames_left: int = 0
    failures: int | None = None  # None where the protocol knows none
    frames: int = 0  # of the finished sequences
    tracking_seconds: float = 0.0  # of the tracker alone, for these frames
    task_seconds: float = 0.0  # reading and writing included

    def add(self, outcome: Outcome, frames: int) -> None:
        """Count a task of so many frames as finished."""
        self.done += 1
        self.frames_left -= frames
        if outcome.status == "raised":
            self.raised += 1
            return
        if outcome.failures is not None:
            self.failures = (self.failures or 0) + outcome.failures
        if outcome.frames_per_second > 0:  # not where no time is known
            self.frames += outcome.frames
            self.tracking_seconds += outcome.frames / outcome.frames_per_second
            self.task_seconds += outcome.seconds

    @property
    def frames_per_second(self) -> float:
        return self.frames / self.tracking_seconds if self.tracking_seconds > 0 else math.nan

    @property
    def work_left(self) -> float:
        """Seconds of one worker; nan where no sequence is finished from which to tell."""
        if self.frames_left == 0:
            return 0.0
        return self.frames_left * self.task_seconds / self.frames if self.frames else math.nan


class RunProgress:
    """A run's trackers in their order, and the clock."""

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self.trackers: dict[str, TrackerProgress] = {}
        self._frames: dict[tuple[str, str], int] = {}
        self._workers = plan.workers
        self._clock = clock
        self._last_news = clock()
        for task in plan.tasks:
            row = self.trackers.setdefault(task.tracker, TrackerProgress(task.tracker))
            row.total += 1
            row.frames_left += len(task.sequence)
            self._frames[task.tracker, task.sequence.name] = len(task.sequence)

    def add(self, outcome: Outcome) -> None:
        self.trackers[outcome.tracker].add(outcome, self._frames[outcome.tracker, outcome.sequence])
        self._last_news = self._clock()

    def total(self) -> TrackerProgress:
        """All trackers together."""
        rows = list(self.trackers.values())
        known = [row.failures for row in rows if row.failures is not None]
        return TrackerProgress(
            tracker="all",
            total=sum(row.total for row in rows),
            done=sum(row.done for row in rows),
            raised=sum(row.raised for row in rows),
            frames_left=sum(row.frames_left for row in rows),
            failures=sum(known) if known else None,
            frames=sum(row.frames for row in rows),
            tracking_seconds=sum(row.tracking_seconds for row in rows),
            task_seconds=sum(row.task_seconds for row in rows),
        )

    def seconds_left(self, row: TrackerProgress) -> float:
        """Time until a tracker is through if all workers were its own, counted down since the last news."""
        return self._on_the_clock(row.work_left, row.total - row.done)

    def total_seconds_left(self) -> float:
        """Each tracker at its own speed; nan until each is known."""
        rows = list(self.trackers.values())
        return self._on_the_clock(sum(row.work_left for row in rows), sum(row.total - row.done for row in rows))

    def _on_the_clock(self, work_left: float, tasks_left: int) -> float:
        at_once = max(1, min(self._workers, tasks_left))
        left = work_left / at_once - (self._clock() - self._last_news)
        return left if math.isnan(left) else max(0.0, left)
