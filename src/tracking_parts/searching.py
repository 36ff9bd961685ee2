"""While the object is missing: where else in the whole picture it may be, place after place (docs/decisions.md).

What has left the crop is not found by wider looks around its last place. A missing object is therefore also looked for
elsewhere: at the places with most of its colours and, in every fourth turn, or where colours do not tell it, at the
next place of a sweep from near to far. It is believed to be there only if that look is sure by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.colour_part import ColourPart
from tracking_parts.frames import Frame
from tracking_parts.geometry import Point
from tracking_parts.target import Target
from tracking_parts.voting import VoteMap

CELLS = 6  # along an object's side: as finely as colours are looked for
MOST_CELLS = 256  # along the picture's longer side
COARSEST = 2  # cells of an object's side below which colours are not looked for
SEEN_AROUND = 0.8  # object sizes around the last place that the other looks see well
APART = 0.6  # object sizes between two places of its colours that are worth a look each
MOST_PLACES = 8  # of its colours
COLOURS_TELL = 0.5  # trust in the colour part from which on they do
NEARNESS = 0.01  # what a place loses per diagonal of the picture: of those that look alike the nearest comes first
SWEEP_EVERY = 4  # turns
SWEEP_STEP = 1.3  # object sizes: a look sees as far to all sides
MOST_STEPS = 64  # of the sweep along the picture's longer side


def places_to_search(target: Target, frame: Frame, turns: Iterable[int]) -> list[Point]:
    """Where to look in these turns, in the image; none of a turn that has no other place than the last one."""
    size = math.sqrt(math.prod(target.shape.size))
    swept, coloured = swept_places(frame.shape[1::-1], target.centre, size), None
    if target.colour is not None and target.colour.trust >= COLOURS_TELL and size >= COARSEST * _cell(size, frame):
        coloured = coloured_places(target.colour, frame, target.centre, target.shape.size)
    found = []
    for turn in turns:
        sweeps = turn if coloured is None else turn // SWEEP_EVERY
        its_turn = turn % SWEEP_EVERY == SWEEP_EVERY - 1
        places, index = (swept, sweeps) if coloured is None or its_turn else (coloured, turn - sweeps)
        found += [places[index % len(places)]] if places else []
    return found


def _cell(size: float, frame: Frame) -> float:
    """Side of the cells in which colours are counted, in pixels."""
    return max(size / CELLS, max(frame.shape[:2]) / MOST_CELLS)


def swept_places(picture_wh: tuple[int, ...], last: Point, size: float) -> list[Point]:
    """A grid over the whole picture around the last place, from near to far."""
    step = max(SWEEP_STEP * size, max(picture_wh) / MOST_STEPS)
    across, down = (
        place + step * np.arange(math.ceil(-place / step), math.floor((length - place) / step) + 1)
        for place, length in zip(last, picture_wh, strict=True)
    )
    x, y = (values.ravel() for values in np.meshgrid(across, down))
    away = np.hypot(x - last[0], y - last[1])
    order = np.argsort(away, kind="stable")
    return [(float(x[index]), float(y[index])) for index in order if away[index] > step / 2]


def coloured_places(colour: ColourPart, frame: Frame, last: Point, size_wh: tuple[float, float]) -> list[Point]:
    """Those of the whole picture with most of the object's colours: the best first, apart from each other."""
    height, width = frame.shape[:2]
    size = math.sqrt(math.prod(size_wh))
    cell = _cell(size, frame)
    rows, columns = max(1, round(height / cell)), max(1, round(width / cell))
    pixels = (width / columns, height / rows)  # per cell
    votes = _box_means(_odds_in_cells(colour, frame, rows, columns), size_wh[0] / pixels[0], size_wh[1] / pixels[1])
    x, y = ((np.arange(count) + 0.5) * step for count, step in zip((columns, rows), pixels, strict=True))
    away = np.hypot(x - last[0], y[:, None] - last[1])
    score = votes - NEARNESS * away / math.hypot(width, height)
    score[away < SEEN_AROUND * size] = -math.inf
    places: list[Point] = []
    reach = math.ceil(APART * size / cell)
    while len(places) < MOST_PLACES:
        row, column = divmod(int(score.argmax()), columns)
        if score[row, column] == -math.inf:
            break
        places.append((float(x[column]), float(y[row])))
        score[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1] = -math.inf
    return places


def _odds_in_cells(colour: ColourPart, frame: Frame, rows: int, columns: int) -> VoteMap:
    """How far the mean colour of each cell speaks for the object; of large cells four pixels along a side are read."""
    step = max(1, min(frame.shape[0] // rows, frame.shape[1] // columns) // 4)
    thinned = np.ascontiguousarray(frame[::step, ::step])
    return colour.odds(np.asarray(cv2.resize(thinned, (columns, rows), interpolation=cv2.INTER_AREA), np.uint8))


def _box_means(odds: VoteMap, width: float, height: float) -> NDArray[np.float64]:
    """Means over boxes of so many cells around each one, of what lies in the picture."""
    rows, columns = odds.shape
    box = (min(max(1, round(width)), 2 * columns), min(max(1, round(height)), 2 * rows))
    sums, counts = (
        cv2.boxFilter(one, cv2.CV_64F, box, normalize=False, borderType=cv2.BORDER_CONSTANT)
        for one in (odds, np.ones_like(odds))
    )
    return np.asarray(sums / counts, np.float64)
