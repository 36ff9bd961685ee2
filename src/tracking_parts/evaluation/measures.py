"""The measures of the VOT reset-based experiment, as small pure functions on lists of overlaps.

Per-frame overlaps are arrays with ``nan`` where there is nothing to compare: the frame of a (re)start, the frame of a
failure, the frames skipped after it, and frames without ground truth. Failures are given by their frame index.

Conventions, because toolkits differ and figures are only comparable within one:

* overlap is exact area in continuous coordinates (VOT's toolkits count whole pixels, which matters on small objects);
* EAO averages the lengths ``low <= n <= high`` where a length counts the frame of the start; vot-toolkit averages one
  frame later;
* accuracy weighs each sequence's mean by the sequence's full length, skipped frames included; pooling the frames that
  count instead gives about 0.002 more.

Repetitions: a list of scores may hold several runs of one sequence. A, EAO, R and R* then pool all runs, each as if it
were a sequence of its own, so that a sequence with more runs weighs more; :func:`failure_count` counts over all runs.
:func:`mean_failures` is the number to compare between experiments with different numbers of repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Point, Polygon

Overlaps = NDArray[np.float64]


def polygon_area(points: Sequence[Point]) -> float:
    """Signed area by the shoelace formula: positive where the corners run clockwise on the screen (y down)."""
    if len(points) < 3:
        return 0.0
    # Relative to the first corner: far from the origin the products would lose the digits that a small area needs.
    origin_x, origin_y = points[0]
    total = 0.0
    for (x1, y1), (x2, y2) in pairwise(points[1:]):
        total += (x1 - origin_x) * (y2 - origin_y) - (x2 - origin_x) * (y1 - origin_y)
    return total / 2


def clip_polygon(subject: Sequence[Point], convex: Sequence[Point]) -> list[Point]:
    """The part of ``subject`` inside a convex polygon (Sutherland-Hodgman); empty where they do not meet.

    Not OpenCV's ``intersectConvexConvex``: that can be wrong by half where two edges lie on one line.
    """
    orientation = math.copysign(1.0, polygon_area(convex))
    clipped = list(subject)
    for index, corner in enumerate(convex):
        if not clipped:
            break
        clipped = _clip_by_edge(clipped, convex[index - 1], corner, orientation)
    return clipped


def _clip_by_edge(points: list[Point], start: Point, end: Point, orientation: float) -> list[Point]:
    """Keep what lies on the inner side of the line through one edge."""
    edge_x, edge_y = end[0] - start[0], end[1] - start[1]
    inside = [orientation * (edge_x * (y - start[1]) - edge_y * (x - start[0])) for x, y in points]
    kept: list[Point] = []
    for index, point in enumerate(points):
        before, depth_before, depth = points[index - 1], inside[index - 1], inside[index]
        if (depth < 0) != (depth_before < 0):
            share = depth_before / (depth_before - depth)
            kept.append((before[0] + share * (point[0] - before[0]), before[1] + share * (point[1] - before[1])))
        if depth >= 0:
            kept.append(point)
    return kept


def polygon_overlap(a: Polygon, b: Polygon, bounds_wh: tuple[float, float] | None = None) -> float:
    """Intersection over union of two convex polygons, in [0, 1]; with ``bounds_wh``, only of what lies in the image.

    An object that leaves the image is judged by its visible part, as VOT does: nobody can see the rest.
    """
    first: Sequence[Point] = a
    second: Sequence[Point] = b
    if bounds_wh is not None:
        width, height = bounds_wh
        image = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
        first, second = clip_polygon(a, image), clip_polygon(b, image)
    area_first, area_second = abs(polygon_area(first)), abs(polygon_area(second))
    if area_first <= 0 or area_second <= 0:
        return 0.0
    shared = abs(polygon_area(clip_polygon(first, second)))
    union = area_first + area_second - shared
    return min(1.0, shared / union)


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """What the measures need to know of one run over one sequence."""

    overlaps: Overlaps  # [frames], nan where there is nothing to compare
    starts: tuple[int, ...]  # frames of the start and of every restart
    failures: tuple[int, ...]  # frames of the failures

    @property
    def length(self) -> int:
        return len(self.overlaps)


def overlaps_after_burn_in(score: SequenceScore, burn_in: int) -> Overlaps:
    """The frames that count for accuracy: the first frames after a start flatter every tracker and are left out."""
    counts = ~np.isnan(score.overlaps)
    for start in score.starts:
        counts[start : start + burn_in] = False
    return np.asarray(score.overlaps[counts])


def accuracy_sums(scores: Sequence[SequenceScore], burn_in: int) -> tuple[float, int]:
    """What accuracy divides: the mean overlaps times lengths, and the lengths; additive over scores."""
    weighted, weights = 0.0, 0
    for score in scores:
        counted = overlaps_after_burn_in(score, burn_in)
        if len(counted):
            weighted += float(counted.mean()) * score.length
            weights += score.length
    return weighted, weights


def accuracy(scores: Sequence[SequenceScore], burn_in: int = 10) -> float:
    """A: the sequences' mean overlaps while tracking, weighted by their lengths; ``nan`` where no frame counts."""
    weighted, weights = accuracy_sums(scores, burn_in)
    return weighted / weights if weights else math.nan


def failure_count(scores: Sequence[SequenceScore]) -> int:
    """Failures over all runs: with three repetitions about three times as many as with one."""
    return sum(len(score.failures) for score in scores)


def mean_failures(groups: Sequence[Sequence[SequenceScore]]) -> float:
    """Failures in one pass through the data set: per sequence the mean over its runs, summed over the sequences.

    One group holds the runs of one sequence; a group without a run says nothing and is left out.
    """
    return math.fsum(failure_count(runs) / len(runs) for runs in groups if runs)


def robustness(scores: Sequence[SequenceScore]) -> float:
    """R: mean number of failures per sequence (per run where there are repetitions)."""
    return failure_count(scores) / len(scores) if scores else math.nan


def failures_per_hundred_frames(scores: Sequence[SequenceScore]) -> float:
    """R*: 100 x failures / frames."""
    frames = sum(score.length for score in scores)
    return 100 * failure_count(scores) / frames if frames else math.nan


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of tracking from a start to a failure or to the end of the sequence."""

    overlaps: Overlaps  # without the frame of the start; nan counted as 0
    failed: bool
    start: int  # frame of the (re)start
    end: int  # frame of the next restart, or the length of the sequence


def segments(score: SequenceScore) -> list[Segment]:
    """Cut one run at its restarts.

    A tracker that failed would have stayed lost: its segment goes on for ever with overlap 0. One that reached the end
    might have gone on either way: its segment says nothing about longer sequences.
    """
    ends = [*score.starts[1:], score.length]
    cut = []
    for start, end in zip(score.starts, ends, strict=True):
        overlaps = np.nan_to_num(score.overlaps[start + 1 : end], nan=0.0)
        failed = any(start <= failure < end for failure in score.failures)
        cut.append(Segment(overlaps, failed, start, end))
    return cut


# One number per segment of each score: how much the segment counts.
SegmentWeights = Sequence[Sequence[float]]


def expected_overlap_sums(
    scores: Sequence[SequenceScore], longest: int, weights: SegmentWeights | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums behind the curve, per length: weighted mean overlaps of the segments that reach it, and their weights.

    Both are additive over scores: whoever resamples sequences needs to cut them only once.
    """
    total = np.zeros(longest + 1)
    known = np.zeros(longest + 1)
    if weights is None:
        weights = [[1.0] * len(score.starts) for score in scores]
    tracked_frames = np.arange(1, max(longest, 1))
    for score, of_segments in zip(scores, weights, strict=True):
        for segment, weight in zip(segments(score), of_segments, strict=True):
            tracked = np.zeros(len(tracked_frames))
            shared = min(len(tracked), len(segment.overlaps))
            tracked[:shared] = segment.overlaps[:shared]
            reach = longest if segment.failed else min(longest, len(segment.overlaps) + 1)
            averages = np.cumsum(tracked) / tracked_frames
            total[2 : reach + 1] += weight * averages[: max(reach - 1, 0)]
            known[2 : reach + 1] += weight
    return total, known


def expected_overlap_curve(
    scores: Sequence[SequenceScore], longest: int, weights: SegmentWeights | None = None
) -> NDArray[np.float64]:
    """Expected average overlap of a sequence of each length: entry ``n`` for ``n`` frames, the start included.

    Entry ``n`` is the mean over all segments that can say something about ``n`` frames (see :func:`segments`) of their
    mean overlap in frames 2 ... n, weighted where weights are given. Entries 0 and 1 hold no tracked frame and are
    ``nan``, as are lengths that no segment of positive weight reaches.
    """
    total, known = expected_overlap_sums(scores, longest, weights)
    curve = np.full(longest + 1, np.nan)
    np.divide(total, known, out=curve, where=known > 0)
    return curve


def expected_average_overlap(
    scores: Sequence[SequenceScore], interval: tuple[int, int], weights: SegmentWeights | None = None
) -> float:
    """EAO: the curve averaged over the lengths of the interval, both ends included.

    Lengths that no segment reaches are left out, and where none is reached the answer is ``nan``: neither happens
    with a whole VOT data set, both do with a few short sequences, whose EAO means little anyway.
    """
    low, high = interval
    values = expected_overlap_curve(scores, high, weights)[low : high + 1]
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
