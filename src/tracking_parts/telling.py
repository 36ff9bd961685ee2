"""Which box is told: of all boxes the one that overlaps the object most, in expectation (docs/decisions.md).

The peak of P_t is the likeliest place, and what the tracker goes on from. But where P_t has a broad peak, or several
near each other, a box at another place may share more with all of them, while one at the peak may not touch the object
at all. And the less is known of the place, the larger is the box that can be expected to overlap most. This is not in
the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracking_parts.config import TrackerConfig
from tracking_parts.geometry import Point, Polygon
from tracking_parts.step import Reading
from tracking_parts.target import Target
from tracking_parts.voting import VoteMap, refine_peaks


def told_polygon(target: Target, reading: Reading, config: TrackerConfig) -> Polygon:
    """The object's outline at the place to be told, with a margin for what is not known; none of what was given."""
    times = 1 + config.tell_margin * (1 - reading.certainty)
    return target.shape.polygon(told_centre(target, reading, config), times)


def told_centre(target: Target, reading: Reading, config: TrackerConfig) -> Point:
    """Where the target is, or, in doubt, from where a box overlaps it most; where it was held nothing was seen."""
    in_doubt = config.hold_below <= reading.certainty < config.tell_below
    if not in_doubt or not reading.prospect.max() > 0:
        return target.centre
    window = reading.view.window
    box = target.shape.box(target.centre)
    place = most_overlap(reading.prospect, window.size_in_map((box.w, box.h)), config.tell_sharpness)
    return target.in_picture(window.image_from_map(place))


def most_overlap(votes: VoteMap, object_in_map: tuple[float, float], sharpness: float) -> Point:
    """The place from which a box of the object's size shares most with one at each place, by the chance of each.

    A place's chance goes with the power ``sharpness`` of its votes, of which there must be some.
    """
    chances = (votes / votes.max()) ** sharpness
    across, down = (_shared(cells, side) for cells, side in zip(votes.shape[::-1], object_in_map, strict=True))
    shared = np.asarray(down @ chances @ across, np.float32)
    ((x, y),), _ = refine_peaks(shared[None])
    return (float(x), float(y))


def _shared(cells: int, side: float) -> NDArray[np.float64]:
    """Which share of a side two boxes have in common, one at each cell, along one axis: symmetric, [cells, cells]."""
    apart = np.abs(np.arange(cells)[:, None] - np.arange(cells))
    return np.asarray(np.maximum(1 - apart / max(side, 1e-6), 0))
