"""While the object is missing: where else in the whole picture it may be, one place per frame (docs/decisions.md).

What has left the crop is not found by wider looks around its last place. A missing object is therefore also looked for
elsewhere: where its colours are first, and where these say nothing at the nearest places not yet seen. It is believed
to be there only if that look is sure by itself.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.frames import Frame
from tracking_parts.geometry import Box, Point
from tracking_parts.target import Target
from tracking_parts.voting import VoteMap

CELLS = 6  # along an object's side: as finely as the picture is searched
MOST_CELLS = 256  # along the picture's longer side
SEEN_AROUND = 0.8  # object sizes around the last place that the other looks see well
APART = 0.6  # object sizes between two places that are worth a look each
MOST_PLACES = 8  # in turns, where colours tell where to look
MOST_NEAR_PLACES = 64  # where they do not
COLOURS_TELL = 0.5  # trust in the colour part from which on they do
NEARNESS = 1e-3  # what a place loses per object size of distance: of places that look alike the nearest comes first


def place_to_search(target: Target, frame: Frame) -> Point | None:
    """Where to look in this frame, in the image; another place in the next one. None where there is no other."""
    height, width = frame.shape[:2]
    size = math.sqrt(math.prod(target.shape.size))
    cell = max(size / CELLS, max(width, height) / MOST_CELLS)
    cells = (max(1, round(height / cell)), max(1, round(width / cell)))
    pixels = (height / cells[0], width / cells[1])  # per cell
    last = (target.centre[0] / pixels[1] - 0.5, target.centre[1] / pixels[0] - 0.5)
    votes = _colour_votes(target, frame, cells, pixels)
    most = MOST_NEAR_PLACES if votes is None else MOST_PLACES
    places = _places(cells, votes, last, size / cell, most)
    if not places:
        return None
    column, row = places[target.monitor.missing_for % len(places)]
    return ((column + 0.5) * pixels[1], (row + 0.5) * pixels[0])


def _colour_votes(target: Target, frame: Frame, cells: tuple[int, int], pixels: tuple[float, float]) -> VoteMap | None:
    """H_t of the whole picture; None where colours do not tell the object."""
    if target.colour is None or target.colour.trust < COLOURS_TELL:
        return None
    small = np.asarray(cv2.resize(frame, cells[::-1], interpolation=cv2.INTER_AREA), np.uint8)
    width, height = target.shape.size
    picture = Box(-0.5, -0.5, cells[1], cells[0])
    return target.colour.vote(small, cells, (width / pixels[1], height / pixels[0]), picture)


def _places(
    cells: tuple[int, int], votes: VoteMap | None, last: Point, size: float, most: int
) -> list[tuple[int, int]]:
    """At most so many cells (column, row), the best first, apart from each other and from the last place."""
    rows, columns = (np.arange(count, dtype=np.float32) for count in cells)
    away = np.hypot(rows[:, None] - np.float32(last[1]), columns - np.float32(last[0])) / np.float32(size)
    score: NDArray[np.float32] = -np.float32(NEARNESS) * away
    if votes is not None:
        score = score + votes
    score[away < SEEN_AROUND] = -math.inf
    places: list[tuple[int, int]] = []
    while len(places) < most:
        row, column = divmod(int(score.argmax()), cells[1])
        if score[row, column] == -math.inf:
            break
        places.append((column, row))
        reach = math.ceil(APART * size)
        nearby = score[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
        nearby[:] = -math.inf
    return places
