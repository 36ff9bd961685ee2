"""The reset-based experiment: one tracker, one sequence, started again after each failure."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.experiment import TrackerFactory, follow, frame_overlap
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.protocol import ResetProtocol
from tracking_parts.evaluation.trajectory import Code, Trajectory
from tracking_parts.geometry import Polygon
from tracking_parts.io.sequences import Sequence


def run_reset(factory: TrackerFactory, sequence: Sequence, protocol: ResetProtocol) -> Trajectory:
    """Track from the first frame with ground truth; after a failure start afresh ``protocol.skip`` frames later."""
    return follow(factory, sequence, protocol.init_box, partial(has_failed, protocol=protocol), protocol.skip)


def has_failed(
    region: Polygon, truth: Polygon | None, bounds_wh: tuple[int, int] | None, protocol: ResetProtocol
) -> bool:
    overlap = frame_overlap(region, truth, bounds_wh)
    return not math.isnan(overlap) and overlap <= protocol.failure_overlap


def score_trajectory(
    trajectory: Trajectory, sequence: Sequence, bounds_wh: tuple[int, int] | None = None
) -> SequenceScore:
    """Compare a trajectory with the sequence's ground truth; without ``bounds_wh`` nothing is clipped to the image."""
    truths = sequence.ground_truth
    if len(trajectory) != len(truths):
        raise FormatError(f"{sequence.name}: the result has {len(trajectory)} frames, the ground truth {len(truths)}")
    if not trajectory.starts:
        raise FormatError(f"{sequence.name}: the result says nowhere that the tracker was started (a line with 1)")
    overlaps = [
        math.nan if isinstance(region, Code) else frame_overlap(region, truth, bounds_wh)
        for region, truth in zip(trajectory.regions, truths, strict=True)
    ]
    return SequenceScore(np.array(overlaps), trajectory.starts, trajectory.failures)
