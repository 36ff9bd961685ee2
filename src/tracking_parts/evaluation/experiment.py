"""What every experiment shares: the tracker it asks, the frames it shows, the overlap it judges by, its record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError, SourceError
from tracking_parts.evaluation.measures import clip_polygon, polygon_area, polygon_overlap
from tracking_parts.evaluation.protocol import InitBox
from tracking_parts.evaluation.trajectory import Code, Region, Trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence

Frame = NDArray[Any]


class EvaluatedTracker(Protocol):
    """What an experiment asks of a tracker, ours or a peer's."""

    def init(self, frame: Frame, box: Box) -> None: ...

    def update(self, frame: Frame) -> Polygon: ...


@runtime_checkable
class TellsMore(Protocol):
    """A tracker that says more about its last answer than a region: numbers by name, kept beside the result."""

    def values(self) -> Mapping[str, float]: ...


# Called for the start and every restart with the sequence and the index of the frame of the start.
TrackerFactory = Callable[[Sequence, int], EvaluatedTracker]
# Called with the answer, the ground truth and the size of the image.
FailureRule = Callable[[Polygon, Polygon | None, tuple[int, int]], bool]


@dataclass
class Record:
    """Answers as they come, one per frame."""

    regions: list[Region] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    values: list[Mapping[str, float]] = field(default_factory=list)

    def add(self, region: Region, seconds: float = 0.0, values: Mapping[str, float] | None = None) -> None:
        self.regions.append(region)
        self.seconds.append(seconds)
        self.values.append(values or {})

    def trajectory(self) -> Trajectory:
        names = sorted({name for values in self.values for name in values})
        columns = {name: tuple(values.get(name, math.nan) for values in self.values) for name in names}
        return Trajectory(tuple(self.regions), tuple(self.seconds), columns)


def follow(
    factory: TrackerFactory, sequence: Sequence, init_box: InitBox, has_failed: FailureRule | None = None, skip: int = 1
) -> Trajectory:
    """Track from the first frame with ground truth; after a failure start afresh ``skip`` frames later.

    A frame without ground truth is tracked but not judged, and never started on. Without a rule for failures nobody is
    ever restarted.
    """
    if not any(sequence.ground_truth):
        raise FormatError(f"{sequence.name}: no ground truth to start from and to judge by")
    record = Record()
    tracker: EvaluatedTracker | None = None
    restart_at = 0
    for index, truth in enumerate(sequence.ground_truth):
        if tracker is None and (index < restart_at or truth is None):
            record.add(Code.SKIPPED)
            continue
        frame = read_frame(sequence, index)
        if tracker is None:
            assert truth is not None
            tracker, seconds = _start_timed(factory, sequence, index, frame, start_box(truth, init_box))
            record.add(Code.STARTED, seconds)
            continue
        region, seconds, values = _update_timed(tracker, frame)
        if has_failed is not None and has_failed(region, truth, size_of(frame)):
            tracker, restart_at = None, index + skip
            record.add(Code.FAILED, seconds, values)
        else:
            record.add(region, seconds, values)
    return record.trajectory()


def _start_timed(
    factory: TrackerFactory, sequence: Sequence, index: int, frame: Frame, box: Box
) -> tuple[EvaluatedTracker, float]:
    """A tracker started on a frame, and the seconds that took."""
    began = time.perf_counter()
    tracker = factory(sequence, index)
    tracker.init(frame, box)
    return tracker, time.perf_counter() - began


def _update_timed(tracker: EvaluatedTracker, frame: Frame) -> tuple[Polygon, float, Mapping[str, float]]:
    """The answer, the seconds it took, and what else the tracker tells."""
    began = time.perf_counter()
    region = tracker.update(frame)
    seconds = time.perf_counter() - began
    return region, seconds, tracker.values() if isinstance(tracker, TellsMore) else {}


def frame_overlap(region: Polygon, truth: Polygon | None, bounds_wh: tuple[int, int] | None) -> float:
    """Overlap with the ground truth; ``nan`` where there is none, or none of it in the image: nothing to compare.

    A region that is not finite overlaps nothing.
    """
    if truth is None or (bounds_wh is not None and not visible_area(truth, bounds_wh) > 0):
        return math.nan
    if not np.isfinite(region).all():
        return 0.0
    return polygon_overlap(region, truth, bounds_wh)


def visible_area(polygon: Polygon, bounds_wh: tuple[int, int]) -> float:
    width, height = bounds_wh
    return abs(polygon_area(clip_polygon(polygon, Box(0, 0, width, height).polygon)))


def start_box(truth: Polygon, init_box: InitBox) -> Box:
    """The upright box given to a tracker for a ground-truth polygon; see :mod:`tracking_parts.evaluation.protocol`."""
    enclosing = Box.around(truth)
    if init_box == "enclosing" or enclosing.area <= 0:
        return enclosing
    shrink = math.sqrt(abs(polygon_area(truth)) / enclosing.area)
    centre_x, centre_y = np.mean(truth, axis=0)
    return Box.from_centre((float(centre_x), float(centre_y)), enclosing.w * shrink, enclosing.h * shrink)


def read_frame(sequence: Sequence, index: int) -> Frame:
    """One frame as BGR, as every tracker of a run gets it."""
    frame = cv2.imread(str(sequence.frames[index]), cv2.IMREAD_COLOR)
    if frame is None:
        raise SourceError(f"{sequence.name}: frame {index} cannot be read: {sequence.frames[index]}")
    return frame


def size_of(frame: Frame) -> tuple[int, int]:
    """Width and height."""
    return (frame.shape[1], frame.shape[0])
