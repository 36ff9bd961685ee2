"""The measures of the one-pass evaluation (OTB's OPE), as small pure functions on overlaps and centre distances.

Per-frame values are arrays with ``nan`` where there is no ground truth: such frames are left out of every figure. A
frame with ground truth but without an answer is wrong at every threshold: overlap 0, distance infinite.

Conventions, because toolkits differ and figures are only comparable within one:

* the first frame counts, with the box that the tracker was given, as in OTB's result files (GOT-10k leaves it out);
  who wants it left out passes ``nan`` there;
* success is overlap *above* a threshold, so that even perfect answers have none at threshold 1 and an AUC of 20/21;
  precision is a distance of *at most* a threshold;
* a data set's figure is the mean of its sequences' figures: a long sequence weighs no more than a short one;
* coordinates are continuous: overlap and distance count no extra pixel at the right and lower edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError
from tracking_parts.geometry import Box

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OnePassScore:
    """What the measures need to know of one run over one sequence; all [frames], ``nan`` without ground truth."""

    overlaps: Values
    distances: Values  # between the centres, in pixels
    normalised_distances: Values  # the same in widths and heights of the true box


@dataclass(frozen=True, slots=True)
class LostStretch:
    """Frames ``start`` … ``end - 1``, in which the object was lost; ``end`` is the frame that found it again."""

    start: int
    end: int
    came_back: bool  # False: lost until the end of the sequence


def score_boxes(
    answers: Sequence[Box | None], truths: Sequence[Box | None], overlaps: Values | None = None
) -> OnePassScore:
    """Compare boxes frame by frame; ``overlaps`` where they were measured otherwise, such as between polygons."""
    return OnePassScore(
        overlaps=box_overlaps(answers, truths) if overlaps is None else overlaps,
        distances=centre_distances(answers, truths),
        normalised_distances=normalised_centre_distances(answers, truths),
    )


def box_overlaps(answers: Sequence[Box | None], truths: Sequence[Box | None]) -> Values:
    """Intersection over union in each frame."""
    return np.array([_overlap(*pair) for pair in zip(answers, truths, strict=True)], dtype=np.float64)


def centre_distances(answers: Sequence[Box | None], truths: Sequence[Box | None]) -> Values:
    """Distance in pixels between the centres in each frame."""
    return np.array([math.hypot(*_offset(*pair)) for pair in zip(answers, truths, strict=True)], dtype=np.float64)


def normalised_centre_distances(answers: Sequence[Box | None], truths: Sequence[Box | None]) -> Values:
    """The distance with x measured in widths and y in heights of the true box, as TrackingNet and LaSOT define it.

    It makes small and large objects, and images of all sizes, comparable.
    """
    distances = np.full(len(truths), np.nan)
    for index, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        if _has_area(truth):
            x, y = _offset(answer, truth)
            distances[index] = math.hypot(x / truth.w, y / truth.h)
    return distances


def _overlap(answer: Box | None, truth: Box | None) -> float:
    if not _has_area(truth):
        return math.nan
    return answer.overlap(truth) if _has_area(answer) else 0.0


def _offset(answer: Box | None, truth: Box | None) -> tuple[float, float]:
    """From the true centre to the answered one; infinite without an answer, ``nan`` without ground truth."""
    if not _has_area(truth):
        return (math.nan, math.nan)
    if answer is None or not answer.is_finite:
        return (math.inf, math.inf)
    return (answer.centre[0] - truth.centre[0], answer.centre[1] - truth.centre[1])


def _has_area(box: Box | None) -> TypeGuard[Box]:
    return box is not None and box.is_finite and box.w > 0 and box.h > 0


def success_thresholds() -> Values:
    """Overlaps 0, 0.05 … 1."""
    return np.linspace(0.0, 1.0, 21, dtype=np.float64)


def precision_thresholds() -> Values:
    """Distances 0, 1 … 50 pixels."""
    return np.arange(51, dtype=np.float64)


def normalised_precision_thresholds() -> Values:
    """Distances 0, 0.01 … 0.5 object sizes."""
    return np.arange(51, dtype=np.float64) / 100


def success_curve(overlaps: Values) -> Values:
    """Share of frames with an overlap above each of :func:`success_thresholds`; ``nan`` where no frame is judged."""
    return _shares(overlaps[~np.isnan(overlaps), None] > success_thresholds())


def success_auc(overlaps: Values) -> float:
    """Area under the success curve, OTB's main figure: the mean of the curve."""
    return float(success_curve(overlaps).mean())


def precision_curve(distances: Values) -> Values:
    """Share of frames with the centres within each of :func:`precision_thresholds`."""
    return _shares(_within(distances, precision_thresholds()))


def precision_at(distances: Values, pixels: float = 20.0) -> float:
    """Share of frames with the centres at most ``pixels`` apart."""
    return float(_shares(_within(distances, np.array([pixels])))[0])


def normalised_precision_curve(normalised_distances: Values) -> Values:
    """Share of frames with the centres within each of :func:`normalised_precision_thresholds`."""
    return _shares(_within(normalised_distances, normalised_precision_thresholds()))


def normalised_precision(normalised_distances: Values) -> float:
    """Area under that curve, up to 0.5 object sizes: the mean of the curve, 1 where every centre is exact."""
    return float(normalised_precision_curve(normalised_distances).mean())


def mean_curve(groups: Sequence[Sequence[Values]]) -> Values:
    """A data set's curve from its runs' curves, one group per sequence: every sequence weighs the same.

    Curves of runs without a judged frame (``nan``) are left out. The mean of it is the data set's area under the curve.
    """
    known = [[curve for curve in curves if not np.isnan(curve).any()] for curves in groups]
    means = [np.mean(curves, axis=0) for curves in known if curves]
    if not means:
        raise FormatError("no run has a frame with ground truth to draw a curve from")
    return np.asarray(np.mean(means, axis=0))


def _within(distances: Values, thresholds: Values) -> NDArray[np.bool_]:
    return np.asarray(distances[~np.isnan(distances), None] <= thresholds)


def _shares(passed: NDArray[np.bool_]) -> Values:
    """Column means of [frames, thresholds], without numpy's warning where there is no frame."""
    return np.asarray(passed.mean(axis=0)) if len(passed) else np.full(passed.shape[1], np.nan)


def lost_stretches(overlaps: Values, lost_overlap: float = 0.0, lost_for: int = 10) -> list[LostStretch]:
    """All stretches of at least ``lost_for`` judged frames with an overlap of at most ``lost_overlap``.

    One that lasts to the last judged frame counts however short it is: nobody saw the tracker come back. Frames without
    ground truth neither end a stretch nor make it longer.
    """
    judged = np.flatnonzero(~np.isnan(overlaps))
    lost = np.concatenate(([False], overlaps[judged] <= lost_overlap, [False]))
    edges = np.flatnonzero(lost[1:] != lost[:-1])  # first lost, first back, first lost, … as places in judged
    stretches = []
    for first, back in zip(edges[::2], edges[1::2], strict=True):
        came_back = bool(back < len(judged))
        if came_back and back - first < lost_for:
            continue
        end = int(judged[back]) if came_back else len(overlaps)
        stretches.append(LostStretch(int(judged[first]), end, came_back))
    return stretches
