"""The order in which trackers are shown: the best first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracking_parts.evaluation.measures import expected_average_overlap
from tracking_parts.evaluation.protocol import Protocol, ResetProtocol
from tracking_parts.evaluation.scoring import TrackerRuns


def ranked(trackers: Sequence[TrackerRuns], protocol: Protocol) -> list[TrackerRuns]:
    """By EAO, or by the mean overlap where nobody is restarted; those without a figure come last."""

    def merit(tracker: TrackerRuns) -> float:
        if isinstance(protocol, ResetProtocol):
            return expected_average_overlap(tracker.scores, protocol.eao_interval)
        return _mean_overlap(tracker)

    return sorted(trackers, key=lambda tracker: -np.nan_to_num(merit(tracker), nan=-math.inf))


def _mean_overlap(tracker: TrackerRuns) -> float:
    known = [score.overlaps[~np.isnan(score.overlaps)] for score in tracker.scores]
    means = [float(overlaps.mean()) for overlaps in known if len(overlaps)]
    return float(np.mean(means)) if means else math.nan
