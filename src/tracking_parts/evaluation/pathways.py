"""Does the distance between the two pathways tell how far the tracker is from the truth? (figure 3 of the paper)

The paper trains on the frames where both pathways vote for nearly the same centre, and defends that by the correlation
of two distances: between the pathways' centres, and between the tracker and the ground truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracking_parts.evaluation.measures import polygon_area
from tracking_parts.evaluation.scoring import SequenceRun
from tracking_parts.evaluation.trajectory import Code
from tracking_parts.geometry import Polygon

Column = NDArray[np.float64]
VALUE = "pathway_distance"


@dataclass(frozen=True, slots=True)
class Agreement:
    """One entry per frame that has both distances, each in object sizes (square root of the true area)."""

    between_pathways: Column
    to_truth: Column

    def __len__(self) -> int:
        return len(self.to_truth)

    @property
    def correlation(self) -> float:
        """Pearson's: dominated by the few frames far off."""
        return _correlation(self.between_pathways, self.to_truth)

    @property
    def rank_correlation(self) -> float:
        """Spearman's: whether one order follows the other, whatever the scale."""
        return _correlation(_ranks(self.between_pathways), _ranks(self.to_truth))


def pathway_agreement(runs: Iterable[SequenceRun]) -> Agreement:
    """Both distances of every frame that was tracked and has ground truth. The frame of a failure has no region."""
    pairs = [pair for run in runs for pair in _pairs(run)]
    columns = np.array(pairs, dtype=float).reshape(-1, 2)
    return Agreement(columns[:, 0], columns[:, 1])


def _pairs(run: SequenceRun) -> Iterable[tuple[float, float]]:
    distances = run.trajectory.values.get(VALUE, ())
    rows = zip(run.trajectory.regions, run.sequence.ground_truth, distances, strict=False)
    for region, truth, between in rows:
        if isinstance(region, Code) or truth is None or math.isnan(between):
            continue
        size = math.sqrt(abs(polygon_area(truth)))
        if size > 0:
            yield between / size, math.dist(_centre(region), _centre(truth)) / size


def _centre(polygon: Polygon) -> tuple[float, float]:
    x, y = np.mean(polygon, axis=0)
    return float(x), float(y)


@dataclass(frozen=True, slots=True)
class Bin:
    """Frames whose pathways are about equally far apart."""

    between_pathways: float  # median
    to_truth: float  # mean
    quartiles: tuple[float, float]  # of the distance to the truth
    frames: int


def binned(agreement: Agreement, bins: int = 12) -> list[Bin]:
    """The frames in bins of equal number, from the best agreement to the worst."""
    order = np.argsort(agreement.between_pathways, kind="stable")
    return [_bin(agreement, part) for part in np.array_split(order, bins) if len(part)]


def _bin(agreement: Agreement, part: NDArray[np.intp]) -> Bin:
    to_truth = agreement.to_truth[part]
    low, high = np.percentile(to_truth, [25, 75])
    middle = float(np.median(agreement.between_pathways[part]))
    return Bin(middle, float(to_truth.mean()), (float(low), float(high)), len(part))


def _correlation(first: Column, second: Column) -> float:
    if len(first) < 2 or first.std() == 0 or second.std() == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Column) -> Column:
    """Ranks from 0; equal values share their mean rank."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[where], dtype=float)


def nearest_against_others(agreement: Agreement, share: float) -> tuple[float, float]:
    """Mean distance to the truth of the share of frames where the pathways are nearest, and of the others."""
    count = round(share * len(agreement))
    order = np.argsort(agreement.between_pathways, kind="stable")
    return _mean(agreement.to_truth[order[:count]]), _mean(agreement.to_truth[order[count:]])


def _mean(values: Column) -> float:
    return float(values.mean()) if len(values) else math.nan
