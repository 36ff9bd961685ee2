"""The run loop: frames from a source, through a tracker, into a sink. It prints nothing and knows no file format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from numpy.typing import ArrayLike

from tracking_parts.errors import SourceError, TrackingPartsError
from tracking_parts.frames import Frame, as_bgr
from tracking_parts.geometry import Box
from tracking_parts.io.video import BrokenSourceError
from tracking_parts.result import Result, State
from tracking_parts.stopping import Stopped
from tracking_parts.trace import FrameTrace


class TrackerLike(Protocol):
    """What the loop asks of a tracker."""

    @property
    def trace(self) -> FrameTrace: ...

    def init(self, frame: Frame, box: Box) -> Result: ...

    def update(self, frame: Frame) -> Result: ...

    def save(self, path: Path) -> None: ...

    def close(self) -> None: ...


class MultiTrackerLike(Protocol):
    """What the loop asks of a tracker of several targets."""

    def add(self, frame: Frame, box: Box, name: str) -> str | int: ...

    def update(self, frame: Frame) -> Mapping[str | int, Result]: ...

    def trace(self, name: str) -> FrameTrace: ...

    def close(self) -> None: ...


class Follower(Protocol):
    """One or several targets, by their names."""

    def begin(self, frame: Frame) -> Mapping[str, Result]: ...

    def update(self, frame: Frame) -> Mapping[str, Result]: ...

    def trace(self, name: str) -> FrameTrace: ...


class OneTarget:
    """A tracker, and the box that it starts from."""

    def __init__(self, tracker: TrackerLike, box: Box, name: str = "object") -> None:
        self._tracker, self._box, self._name = tracker, box, name

    def begin(self, frame: Frame) -> Mapping[str, Result]:
        return {self._name: self._tracker.init(frame, self._box)}

    def update(self, frame: Frame) -> Mapping[str, Result]:
        return {self._name: self._tracker.update(frame)}

    def trace(self, name: str) -> FrameTrace:
        return self._tracker.trace


class SeveralTargets:
    """A tracker of several targets, and the boxes that they start from."""

    def __init__(self, tracker: MultiTrackerLike, boxes: Mapping[str, Box]) -> None:
        self._tracker, self._boxes = tracker, dict(boxes)

    def begin(self, frame: Frame) -> Mapping[str, Result]:
        for name, box in self._boxes.items():
            self._tracker.add(frame, box, name)
        return {name: self._tracker.trace(name).result for name in self._boxes}

    def update(self, frame: Frame) -> Mapping[str, Result]:
        return {str(name): result for name, result in self._tracker.update(frame).items()}

    def trace(self, name: str) -> FrameTrace:
        return self._tracker.trace(name)


@dataclass(frozen=True, slots=True)
class Step:
    """One tracked frame, as sinks and watchers see it."""

    index: int  # the frame's number in the source
    frame: Frame  # BGR, 8 bits
    results: Mapping[str, Result]  # by the targets' names
    trace: Callable[[str], FrameTrace]  # built only if somebody asks

    @property
    def result(self) -> Result:
        """The answer; of several the least sure one."""
        return min(self.results.values(), key=lambda result: result.confidence)


class Sink(Protocol):
    """Takes tracked frames; what it has written is whole after each of them."""

    def write(self, step: Step) -> None: ...

    def close(self) -> None: ...


class Ending(str, Enum):
    """Why a run ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    BROKEN = "broken"


@dataclass(slots=True)
class RunReport:
    """What a run did. ``problem`` is one line that says what broke, if something did; where, ``next_index`` says."""

    first_index: int
    ending: Ending = Ending.COMPLETED
    problem: str = ""
    frames: int = 0
    seconds: float = 0.0  # everything: reading, tracking, drawing, writing
    start_seconds: float = 0.0  # the tracker's init
    tracker_seconds: float = 0.0  # all its updates
    states: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))  # of all targets

    @property
    def next_index(self) -> int:
        """The number of the frame after the last one tracked."""
        return self.first_index + self.frames

    @property
    def fps(self) -> float:
        return self.frames / self.seconds if self.seconds > 0 else 0.0

    @property
    def tracker_fps(self) -> float:
        """Updates per second: the speed of the tracker alone, once it has started."""
        return (self.frames - 1) / self.tracker_seconds if self.tracker_seconds > 0 else 0.0


def run_tracking(
    frames: Iterable[ArrayLike],
    targets: Follower,
    open_sink: Callable[[tuple[int, int]], Sink],
    *,
    first_index: int = 0,
    on_step: Callable[[Step], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RunReport:
    """Follow the targets through all frames and hand each frame's answers on.

    The sink is opened with the frames' (width, height) once the tracker has started, so that a bad box leaves no files.
    What fails before the first answer raises; what fails later (a broken video, a full disk, an interruption) ends the
    run, and the report says so. The sink is closed in any case.
    """
    report = RunReport(first_index)
    steps = _steps(frames, targets, report)
    begun = time.perf_counter()
    try:
        first = next(steps, None)
        if first is None:
            raise SourceError(f"the source has no frame from number {first_index} on")
        height, width = first.frame.shape[:2]
        with closing(open_sink((width, height))) as sink:
            _pump(first, steps, sink, report, on_step, should_stop)
    except (KeyboardInterrupt, Stopped):
        if not report.frames:
            raise
        report.ending = Ending.INTERRUPTED
    except (TrackingPartsError, OSError) as error:
        if not report.frames:
            raise
        report.ending = Ending.BROKEN
        report.problem = error.problem if isinstance(error, BrokenSourceError) else str(error)
    report.seconds = time.perf_counter() - begun
    return report


def _steps(frames: Iterable[ArrayLike], targets: Follower, report: RunReport) -> Iterator[Step]:
    for index, raw in enumerate(frames, start=report.first_index):
        frame = as_bgr(raw)
        begun = time.perf_counter()
        if index == report.first_index:
            results = targets.begin(frame)
            report.start_seconds = time.perf_counter() - begun
        else:
            results = targets.update(frame)
            report.tracker_seconds += time.perf_counter() - begun
        yield Step(index, frame, results, targets.trace)


def _pump(
    first: Step,
    steps: Iterator[Step],
    sink: Sink,
    report: RunReport,
    on_step: Callable[[Step], None] | None,
    should_stop: Callable[[], bool] | None,
) -> None:
    step: Step | None = first
    while step is not None:
        sink.write(step)
        report.frames += 1
        for result in step.results.values():
            report.states[result.state] += 1
        if on_step is not None:
            on_step(step)
        if should_stop is not None and should_stop():
            report.ending = Ending.INTERRUPTED
            return
        step = next(steps, None)
