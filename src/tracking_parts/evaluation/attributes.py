"""Figures per visual attribute (occlusion, camera motion …) of the reset-based experiment.

VOT labels each frame with the attributes that it shows; the paper's supplement compares trackers by them. The figures
are those of ``measures`` seen through the labels, and equal to them for an attribute that every frame shows:

* a failure belongs to the attributes of the frame in which it happened;
* A weighs a run's mean overlap on the frames that show the attribute by the number of such frames;
* EAO asks about whole stretches of tracking, not frames: each segment weighs by the share of its frames, from its start
  to the next, that show the attribute (much as in VOT's MATLAB toolkit). Rare attributes rest on few segments.

Runs of one sequence are pooled, as in ``measures``. A sequence without any label says nothing, not that its frames show
nothing: it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError
from tracking_parts.evaluation import measures
from tracking_parts.evaluation.measures import SequenceScore

EMPTY = "empty"  # VOT's name for frames that show none of the attributes

Labels = Mapping[str, tuple[bool, ...]]
LabelledRun = tuple[SequenceScore, NDArray[np.bool_]]  # a run, and whether each frame shows the attribute


@dataclass(frozen=True, slots=True)
class AttributeFigures:
    """One tracker's figures on what shows one attribute; ``nan`` where nothing can be said."""

    name: str
    frames: int  # frames that show it, over all runs
    failures: int  # failures in such frames, over all runs
    failures_per_hundred_frames: float
    accuracy: float
    eao: float


def attribute_figures(
    runs: Sequence[tuple[SequenceScore, Labels]], eao_interval: tuple[int, int], burn_in: int
) -> list[AttributeFigures]:
    """The figures of each attribute that is labelled anywhere, by name, and of ``empty`` at the end.

    An attribute without a file in one of the labelled sequences is taken as not shown there.
    """
    labelled = [(score, labels) for score, labels in runs if labels]
    names = sorted({name for _, labels in labelled for name in labels} - {EMPTY})
    if not names:
        return []
    shown = {name: [(score, _shown(score, labels, name)) for score, labels in labelled] for name in names}
    shown[EMPTY] = [
        (score, ~np.any([shown[name][index][1] for name in names], axis=0)) for index, (score, _) in enumerate(labelled)
    ]
    return [_figures(name, of_runs, eao_interval, burn_in) for name, of_runs in shown.items()]


def _shown(score: SequenceScore, labels: Labels, name: str) -> NDArray[np.bool_]:
    values = labels.get(name)
    if values is None:
        return np.zeros(score.length, dtype=np.bool_)
    if len(values) != score.length:
        raise FormatError(f"attribute {name} is given for {len(values)} frames of a sequence of {score.length}")
    return np.array(values, dtype=np.bool_)


def _figures(name: str, runs: Sequence[LabelledRun], eao_interval: tuple[int, int], burn_in: int) -> AttributeFigures:
    frames = sum(int(shown.sum()) for _, shown in runs)
    failures = sum(int(shown[list(score.failures)].sum()) for score, shown in runs)
    scores = [score for score, _ in runs]
    return AttributeFigures(
        name=name,
        frames=frames,
        failures=failures,
        failures_per_hundred_frames=100 * failures / frames if frames else math.nan,
        accuracy=_accuracy(runs, burn_in),
        eao=measures.expected_average_overlap(scores, eao_interval, [segment_shares(*run) for run in runs]),
    )


def _accuracy(runs: Sequence[LabelledRun], burn_in: int) -> float:
    weighted, weights = 0.0, 0
    for score, shown in runs:
        seen = SequenceScore(np.where(shown, score.overlaps, np.nan), score.starts, score.failures)
        counted = measures.overlaps_after_burn_in(seen, burn_in)
        if len(counted):
            frames = int(shown.sum())
            weighted += float(counted.mean()) * frames
            weights += frames
    return weighted / weights if weights else math.nan


def segment_shares(score: SequenceScore, shown: NDArray[np.bool_]) -> list[float]:
    """For each segment of a run the share of its frames that show the attribute."""
    return [float(shown[segment.start : segment.end].mean()) for segment in measures.segments(score)]
