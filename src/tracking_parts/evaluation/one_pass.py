"""The one-pass experiment: one tracker, one sequence, started once and never helped again."""

from __future__ import annotations

import numpy as np

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.experiment import TrackerFactory, follow, frame_overlap, start_box
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.protocol import OnePassProtocol
from tracking_parts.evaluation.trajectory import Code, Region, Trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence


def run_one_pass(factory: TrackerFactory, sequence: Sequence, protocol: OnePassProtocol) -> Trajectory:
    """Track from the first frame with ground truth to the end, whatever happens."""
    return follow(factory, sequence, protocol.init_box)


def score_one_pass(
    trajectory: Trajectory, sequence: Sequence, protocol: OnePassProtocol, bounds_wh: tuple[int, int]
) -> SequenceScore:
    """Overlaps of a trajectory by the protocol's kind of overlap.

    The frame of the start counts as answered with the given box, as OTB's result files hold it; such a file may also
    begin with that box instead of VOT's code.
    """
    truths = sequence.ground_truth
    if len(trajectory) != len(truths):
        raise FormatError(f"{sequence.name}: the result has {len(trajectory)} frames, the ground truth {len(truths)}")
    if trajectory.failures or len(trajectory.starts) > 1:
        raise FormatError(f"{sequence.name}: the result has failures and restarts: a reset-based protocol scores it")
    regions = answered_regions(trajectory, sequence, protocol)
    overlaps = np.full(len(truths), np.nan)
    for index, (region, truth) in enumerate(zip(regions, truths, strict=True)):
        if region is None or truth is None:
            continue
        if protocol.overlap == "polygon":
            overlaps[index] = frame_overlap(region, truth, bounds_wh)
        else:
            overlaps[index] = frame_overlap(upright(region), upright(truth), None)
    return SequenceScore(overlaps, trajectory.starts, trajectory.failures)


def answered_regions(trajectory: Trajectory, sequence: Sequence, protocol: OnePassProtocol) -> list[Polygon | None]:
    """What stands for each frame: the answer, or the given box at the start, or None where nobody was asked."""

    def answered(region: Region, truth: Polygon | None) -> Polygon | None:
        if not isinstance(region, Code):
            return region
        return start_box(truth, protocol.init_box).polygon if region is Code.STARTED and truth is not None else None

    return [answered(*pair) for pair in zip(trajectory.regions, sequence.ground_truth, strict=True)]


def upright(polygon: Polygon) -> Polygon:
    """The upright rectangle around a polygon, as corners; not finite where the polygon is not."""
    return Box.around(polygon).polygon if np.isfinite(polygon).all() else polygon
