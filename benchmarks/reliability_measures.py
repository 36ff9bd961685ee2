"""How true a confidence is: calibration, Brier score, ranking; each with a bootstrap interval over sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.confidence import calibration_error
from benchmarks.reliability_frames import Floats, Frames, Watched
from tracking_parts.evaluation.statistics import Interval, bootstrap_interval

BINS = 10
UNKNOWN = Interval(math.nan, math.nan, math.nan)


def calibration_error_by_count(said: Floats, good: Floats, bins: int = BINS) -> float:
    """As :func:`calibration_error`, over bins that hold equally many frames; equal confidences stay together."""
    edges = np.unique(np.quantile(said, np.arange(1, bins) / bins))
    which = np.searchsorted(edges, said, side="right")
    used = [which == number for number in np.unique(which)]
    return float(sum(abs(said[one].mean() - good[one].mean()) * one.mean() for one in used))


def brier(said: Floats, good: Floats) -> float:
    """Mean square of what is said less what is so."""
    return float(np.mean((said - good) ** 2))


def brier_skill(said: Floats, good: Floats) -> float:
    """By which share the Brier score is below that of always saying how often it is so; below 0: worse than that."""
    rate = float(good.mean())
    return 1 - brier(said, good) / (rate * (1 - rate)) if 0 < rate < 1 else math.nan


def roc_area(score: Floats, event: Floats) -> float:
    """How often an event has a higher score than what is none, ties by half; nan where there is only one kind.

    >>> roc_area(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.875
    """
    levels, which = np.unique(score, return_inverse=True)
    events = np.bincount(which, event, len(levels))
    others = np.bincount(which, 1 - event, len(levels))
    pairs = events.sum() * others.sum()
    below = np.cumsum(others) - others
    return float(np.sum(events * (below + others / 2)) / pairs) if pairs else math.nan


@dataclass(frozen=True)
class Reliability:
    """The figures of one tracker; those of a probability are unknown where its score is none."""

    name: str
    frames: int
    silent: int  # frames that could be judged but have no score
    good_rate: float
    mean_said: float
    by_width: Interval  # expected calibration error, bins of equal width
    by_count: Interval  # the same, bins of equally many frames
    brier: Interval
    skill: Interval
    tells_bad: Interval  # area under the ROC: overlap at most a half
    lost_rate: float
    tells_lost: Interval  # area under the ROC: a failure soon
    at_failures: float  # median of what was said in the frame of a failure

    @property
    def constant_brier(self) -> float:
        """Of always saying the rate."""
        return self.good_rate * (1 - self.good_rate)


def judge(watched: Watched, samples: int = 1000, seed: int = 0) -> Reliability:
    """All figures of what a tracker said."""
    frames, known = watched.frames, watched.frames.known

    def interval(statistic: Callable[[Frames], float], sensible: bool = True) -> Interval:
        if not sensible or not len(frames):
            return UNKNOWN
        return bootstrap_interval(
            watched.sequences, lambda drawn: statistic(Frames.together(drawn)), samples, seed=seed
        )

    chance = watched.is_probability
    return Reliability(
        watched.name,
        len(frames),
        watched.judged - len(frames),
        _mean(frames.good),
        _mean(frames.said),
        interval(lambda drawn: calibration_error(drawn.said, drawn.good, BINS), chance),
        interval(lambda drawn: calibration_error_by_count(drawn.said, drawn.good), chance),
        interval(lambda drawn: brier(drawn.said, drawn.good), chance),
        interval(lambda drawn: brier_skill(drawn.said, drawn.good), chance),
        interval(lambda drawn: roc_area(-drawn.said, 1 - drawn.good)),
        _mean(known.lost_soon),
        interval(lambda drawn: roc_area(-drawn.known.said, drawn.known.lost_soon), len(known) > 0),
        float(np.median(watched.at_failures)) if len(watched.at_failures) else math.nan,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


@dataclass(frozen=True)
class Bin:
    """Frames of like confidence: how many, what they said, and in what share of them something was so."""

    frames: int
    said: float
    share: Interval


def reliability_bins(sequences: Sequence[tuple[Floats, Floats]], samples: int = 1000, seed: int = 0) -> list[Bin]:
    """Ten bins of equal width that are not empty, of what was said and whether it was so by sequence."""
    every = [number for number in range(BINS) if any((_bin_of(said) == number).any() for said, _ in sequences)]
    return [_bin(sequences, number, samples, seed) for number in every]


def _bin(sequences: Sequence[tuple[Floats, Floats]], number: int, samples: int, seed: int) -> Bin:
    chosen = [(said[which], true[which]) for said, true in sequences for which in [_bin_of(said) == number]]
    share = bootstrap_interval(
        [(true.sum(), len(true)) for _, true in chosen],
        lambda drawn: sum(true for true, _ in drawn) / count if (count := sum(n for _, n in drawn)) else math.nan,
        samples,
        seed=seed,
    )
    said = np.concatenate([said for said, _ in chosen])
    return Bin(len(said), float(said.mean()), share)


def _bin_of(said: Floats) -> Floats:
    return np.clip(np.floor(said * BINS), 0, BINS - 1)
