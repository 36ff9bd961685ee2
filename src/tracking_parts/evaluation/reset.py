"""The reset-based experiment: one tracker, one sequence, started again after each failure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError, SourceError
from tracking_parts.evaluation.measures import SequenceScore, clip_polygon, polygon_area, polygon_overlap
from tracking_parts.evaluation.protocol import InitBox, ResetProtocol
from tracking_parts.evaluation.trajectory import Code, Region, Trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence

Frame = NDArray[Any]


class EvaluatedTracker(Protocol):
    """What the protocol asks of a tracker, ours or a peer's."""

    def init(self, frame: Frame, box: Box) -> None: ...

    def update(self, frame: Frame) -> Polygon: ...


# Called for the start and every restart with the sequence and the index of the frame of the start.
TrackerFactory = Callable[[Sequence, int], EvaluatedTracker]


def run_reset(factory: TrackerFactory, sequence: Sequence, protocol: ResetProtocol) -> Trajectory:
    """Track from the first frame with ground truth; after a failure start afresh ``protocol.skip`` frames later.

    A frame without ground truth is tracked but not judged, and never started on.
    """
    if not any(sequence.ground_truth):
        raise FormatError(f"{sequence.name}: no ground truth to start from and to judge by")
    regions: list[Region] = []
    seconds: list[float] = []
    tracker: EvaluatedTracker | None = None
    restart_at = 0
    for index, truth in enumerate(sequence.ground_truth):
        if tracker is None and (index < restart_at or truth is None):
            regions.append(Code.SKIPPED)
            seconds.append(0.0)
            continue
        frame = read_frame(sequence, index)
        started_at = time.perf_counter()
        if tracker is None:
            assert truth is not None
            tracker = factory(sequence, index)
            tracker.init(frame, start_box(truth, protocol.init_box))
            region: Region = Code.STARTED
        else:
            region = tracker.update(frame)
        seconds.append(time.perf_counter() - started_at)
        if not isinstance(region, Code) and has_failed(region, truth, size_of(frame), protocol):
            region, tracker, restart_at = Code.FAILED, None, index + protocol.skip
        regions.append(region)
    return Trajectory(tuple(regions), tuple(seconds))


def has_failed(
    region: Polygon, truth: Polygon | None, bounds_wh: tuple[int, int] | None, protocol: ResetProtocol
) -> bool:
    overlap = frame_overlap(region, truth, bounds_wh)
    return not math.isnan(overlap) and overlap <= protocol.failure_overlap


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
    """The upright box given to a tracker for a ground-truth polygon; see :class:`ResetProtocol`."""
    enclosing = Box.around(truth)
    if init_box == "enclosing" or enclosing.area <= 0:
        return enclosing
    shrink = math.sqrt(abs(polygon_area(truth)) / enclosing.area)
    centre_x, centre_y = np.mean(truth, axis=0)
    return Box.from_centre((float(centre_x), float(centre_y)), enclosing.w * shrink, enclosing.h * shrink)


def score_trajectory(
    trajectory: Trajectory, sequence: Sequence, bounds_wh: tuple[int, int] | None = None
) -> SequenceScore:
    """Compare a trajectory with the sequence's ground truth; without ``bounds_wh`` nothing is clipped to the image."""
    truths = sequence.ground_truth
    if len(trajectory) != len(truths):
        raise FormatError(f"{sequence.name}: the result has {len(trajectory)} frames, the ground truth {len(truths)}")
    overlaps = [
        math.nan if isinstance(region, Code) else frame_overlap(region, truth, bounds_wh)
        for region, truth in zip(trajectory.regions, truths, strict=True)
    ]
    return SequenceScore(np.array(overlaps), trajectory.starts, trajectory.failures)


def read_frame(sequence: Sequence, index: int) -> Frame:
    """One frame as BGR, as every tracker of a run gets it."""
    frame = cv2.imread(str(sequence.frames[index]), cv2.IMREAD_COLOR)
    if frame is None:
        raise SourceError(f"{sequence.name}: frame {index} cannot be read: {sequence.frames[index]}")
    return frame


def size_of(frame: Frame) -> tuple[int, int]:
    """Width and height."""
    return (frame.shape[1], frame.shape[0])
