"""The colour part: one more voting part of the society, which knows the object by its colours alone.

It is not in the paper (docs/decisions.md). Filter parts and ConvNetPart know shapes, and lose what turns, bends or
blurs; its colours stay. Two histograms are kept, of the object and of what surrounds it; a pixel speaks for the object
as far as its colour is more frequent in the first. A place's vote H_t is the mean of this over the object's box put
there. Like every part it is believed as far as its votes have agreed with the decisions. Where object and ground have
the same colours it has no say: its votes are even, agree with any decision, and would only hold the object where the
mask M_c is highest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.frames import Frame
from tracking_parts.geometry import Box, Point
from tracking_parts.voting import VoteMap

BITS = 4  # of a channel's eight: 16 bins per channel
COLOURS = 2 ** (3 * BITS)
INNER, OUTER = 0.8, 1.15  # sides of the box: within the first is the object, beyond the second what surrounds it
FEWEST_PIXELS = 9  # of each, to learn from
UNSEEN = 1e-4  # share of every colour, on both sides: one that was never seen says nothing

LEAST_SEEN = 0.1  # of a box: where less of it is in the picture its colours say less

AGREEMENT_RATE = 0.1  # remembers some ten frames
NO_TRUST, FULL_TRUST = 0.7, 0.95  # agreement below which it is not believed at all, above which wholly
DISTINCT = 0.05  # contrast from which on colours tell the object from its ground
LEANS = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)  # logarithms of width by height at which a box's colours are compared
CONFIRMED_RATE = 0.5  # weight of a frame that a person confirmed: as much as of all before it

Histogram = NDArray[np.float32]  # [COLOURS], sums to 1
Pixels = NDArray[np.bool_]  # [h, w]


@dataclass(frozen=True)
class ColourPart:
    """How frequent each colour is on the object and around it; learning gives another one."""

    inside: Histogram
    outside: Histogram
    agreement: float = 1.0  # running mean of H_t at the decision, as a share of its maximum

    @classmethod
    def first(cls, crop: Frame, box_in_crop: Box, picture_in_crop: Box) -> ColourPart | None:
        """Of the first frame that shows enough of the object and of what surrounds it; None of any other."""
        seen = _seen_colours(crop, box_in_crop, picture_in_crop)
        return None if seen is None else cls(*seen)

    def learned(self, crop: Frame, box_in_crop: Box, picture_in_crop: Box, rate: float) -> ColourPart:
        """After one more frame, whose weight is ``rate``; as before where that one shows too little."""
        seen = _seen_colours(crop, box_in_crop, picture_in_crop)
        if seen is None:
            return self
        inside, outside = seen
        return ColourPart(
            (self.inside + rate * (inside - self.inside)).astype(np.float32),
            (self.outside + rate * (outside - self.outside)).astype(np.float32),
            self.agreement,
        )

    def observed(self, votes: VoteMap, decision_in_map: Point) -> ColourPart:
        """After a decision: how far its votes H_t agreed with it."""
        column, row = (round(place) for place in decision_in_map)
        rows, columns = votes.shape
        there = float(votes[min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)])
        share = there / max(float(votes.max()), UNSEEN)
        return replace(self, agreement=self.agreement + AGREEMENT_RATE * (share - self.agreement))

    @property
    def trust(self) -> float:
        """How far it is believed, 0 to 1."""
        by_agreement = min(max((self.agreement - NO_TRUST) / (FULL_TRUST - NO_TRUST), 0.0), 1.0)
        return by_agreement * min(max(self.contrast / DISTINCT, 0.0), 1.0)

    @cached_property
    def contrast(self) -> float:
        """How much more the object's own colours speak for it than those around it; 0 where they are the same."""
        return float(np.sum((self.inside - self.outside) * self._odds))

    @cached_property
    def _odds(self) -> Histogram:
        """How far each colour speaks for the object, 0 to 1."""
        odds = (self.inside + UNSEEN) / (self.inside + self.outside + 2 * UNSEEN)
        return odds.astype(np.float32)

    def odds(self, picture: Frame) -> VoteMap:
        """How far each pixel's colour speaks for the object, 0 to 1: [h, w]."""
        return self._odds[colour_numbers(picture)]

    def vote(
        self, crop: Frame, cells: tuple[int, int], object_in_map: tuple[float, float], picture_in_map: Box
    ) -> VoteMap:
        """H_t: for each cell, how much the colours of a box there are the object's, 0 to 1: [h, w].

        Of a box that reaches out of the picture, what lies in it counts: beyond, the crop only repeats the border.
        """
        in_cells = cv2.resize(self.odds(crop), cells[::-1], interpolation=cv2.INTER_AREA)
        seen = seen_share(cells, picture_in_map)
        width, height = object_in_map
        down, across = _box_sums(cells[0], round(height, 2)), _box_sums(cells[1], round(width, 2))
        area, unseen = width * height, down @ (1 - seen) @ across
        means = down @ (seen * in_cells) @ across / np.maximum(area - unseen, LEAST_SEEN * area)
        return np.asarray(np.minimum(means, 1), np.float32)  # rounded sides may be a little too long

    def lean(self, crop: Frame, box_in_crop: Box, picture_in_crop: Box) -> float:
        """How much more of its colours would be the object's, were the box wider and lower, by how far.

        The slope of H_t at one place over boxes of the same area, whose logarithm of width by height varies; below 0
        narrower and higher ones are better. What lies outside the picture is nobody's colour.
        """
        height, width = crop.shape[:2]
        seen = (max(picture_in_crop.x, 0), max(picture_in_crop.y, 0))
        left, top, right, bottom = *seen, *map(min, (width, height), picture_in_crop.xyxy[2:])
        sums = cv2.integral(self.odds(crop))
        means = []
        for box in (_leaning(box_in_crop, lean) for lean in LEANS):
            x0, x1 = round(max(box.x, left)), round(min(box.x + box.w, right))
            y0, y1 = round(max(box.y, top)), round(min(box.y + box.h, bottom))
            if x1 <= x0 or y1 <= y0:
                return 0.0
            total = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
            means.append(total / ((x1 - x0) * (y1 - y0)))
        return float(np.dot(LEANS, means) / np.dot(LEANS, LEANS))


def _leaning(box: Box, lean: float) -> Box:
    """Of the same centre and area, but wider and lower."""
    wider = math.exp(lean / 2)
    return Box.from_centre(box.centre, box.w * wider, box.h / wider)


def colour_numbers(crop: Frame) -> NDArray[np.int32]:
    """Which bin each pixel's colour falls into: [h, w], below COLOURS."""
    blue, green, red = (channel.astype(np.int32) for channel in cv2.split(crop >> (8 - BITS)))
    return (blue << 2 * BITS) + (green << BITS) + red


def _seen_colours(crop: Frame, box_in_crop: Box, picture_in_crop: Box) -> tuple[Histogram, Histogram] | None:
    """Those of the object and those around it, None if that is too little; outside the picture is nobody's colour."""
    shape, colours = crop.shape[:2], colour_numbers(crop)
    picture = _pixels_in(picture_in_crop, shape)
    on_object = picture & _pixels_in(_resized(box_in_crop, INNER), shape)
    around = picture & ~_pixels_in(_resized(box_in_crop, OUTER), shape)
    if min(np.count_nonzero(on_object), np.count_nonzero(around)) < FEWEST_PIXELS:
        return None
    return _histogram(colours[on_object]), _histogram(colours[around])


def _histogram(colours: NDArray[np.int32]) -> Histogram:
    counts = np.bincount(colours, minlength=COLOURS).astype(np.float32)
    return counts / np.float32(len(colours))


def _resized(box: Box, times: float) -> Box:
    return Box.from_centre(box.centre, box.w * times, box.h * times)


def _pixels_in(box: Box, shape: tuple[int, ...]) -> Pixels:
    x0, y0, x1, y1 = (max(0, round(edge)) for edge in box.xyxy)
    inside = np.zeros(shape, bool)
    inside[y0:y1, x0:x1] = True
    return inside


def seen_share(cells: tuple[int, int], picture_in_map: Box) -> VoteMap:
    """How much of each cell lies in the picture: [h, w]."""
    left, top, right, bottom = picture_in_map.xyxy
    rows, columns = (np.arange(count, dtype=np.float32) for count in cells)
    down = np.clip(np.minimum(rows + 0.5, bottom) - np.maximum(rows - 0.5, top), 0, 1)
    across = np.clip(np.minimum(columns + 0.5, right) - np.maximum(columns - 0.5, left), 0, 1)
    return np.asarray(down[:, None] * across[None, :], np.float32)


@lru_cache(maxsize=16)  # sides vary from frame to frame, and maps may be large
def _box_sums(cells: int, length: float) -> NDArray[np.float32]:
    """Sums over a box around each cell, along one axis, as a symmetric matrix; nothing is added beyond the map."""
    apart = np.abs(np.arange(cells)[:, None] - np.arange(cells))
    return np.clip(length / 2 - apart + 0.5, 0, min(length, 1.0)).astype(np.float32)
