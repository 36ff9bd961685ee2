"""Reliability diagrams side by side: one column for each tracker whose score is a probability.

Above: in what share of frames the overlap was above 0.5, by what was said; a true confidence lies on the diagonal.
Below: after what share of frames a failure followed soon. Bars along the bottom say where the frames are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from benchmarks.reliability_frames import SOON, Frames, Watched
from benchmarks.reliability_measures import BINS, Bin, Reliability, reliability_bins
from tracking_parts.errors import FormatError
from tracking_parts.evaluation.report.svg import Axis, shorten
from tracking_parts.evaluation.scoring import figure
from tracking_parts.viewers.drawing import Image, put_text, text_size, tint
from tracking_parts.viewers.palette import BACKGROUND, GREEN, MUTED, ORANGE, PANEL, TEXT, Colour

SIDE, GAP, MARGIN = 420, 84, 76  # of a diagram, between diagrams, around them
TOP, BETWEEN = 280, 190  # above the first row of diagrams, and between the rows
NAME, LETTERS, SMALL = 21.0, 17.0, 14.0  # heights of capitals
FEW = 30  # frames: a point of fewer is drawn as a ring
GRID: Colour = (74, 64, 56)
BARS = 0.22  # of a diagram's height that the fullest bar takes
LOWEST_TOP = 0.1  # of the lower diagrams' axis
MOST_LETTERS = 24  # of a name
NARROWEST = 1250  # pixels, so that the words have room
WORDS = (
    "Above: share of frames with an overlap above 0.5, by what the tracker said. What is true lies on the line.",
    f"Below: share of frames with a failure within the next {SOON}; the line is that of all frames.",
    f"Bars: how many frames said so. Strokes: 95 % over sequences. Rings: fewer than {FEW} frames.",
)


@dataclass(frozen=True)
class Column:
    """What is drawn of one tracker."""

    judged: Reliability
    good: list[Bin]
    lost: list[Bin]


@dataclass(frozen=True)
class Diagram:
    """Where a diagram is on the canvas."""

    canvas: Image
    x: Axis
    y: Axis

    @classmethod
    def at(cls, canvas: Image, left: float, top: float, highest: float) -> Diagram:
        tint(canvas, left, top, left + SIDE, top + SIDE, PANEL, 1.0)
        return cls(canvas, Axis((0.0, 1.0), (left, left + SIDE)), Axis((0.0, highest), (top + SIDE, top)))

    def place(self, x: float, y: float) -> tuple[int, int]:
        return round(self.x(x)), round(self.y(min(y, self.y.values[1])))


def draw(watched: Sequence[Watched], judged: Sequence[Reliability]) -> Image:
    """The whole picture; :class:`FormatError` where no tracker has a score that can be drawn."""
    columns = [_column(said, one) for said, one in zip(watched, judged, strict=True) if said.is_probability]
    if not columns:
        raise FormatError("no tracker has a score between 0 and 1: nothing to draw")
    width = 2 * MARGIN + len(columns) * SIDE + (len(columns) - 1) * GAP
    second = TOP + SIDE + BETWEEN
    canvas = np.full((second + SIDE + 130, max(width, NARROWEST), 3), BACKGROUND, np.uint8)
    put_text(canvas, "Is the confidence true?", (MARGIN, 56), 30, TEXT, bold=True)
    for line, words in enumerate(WORDS):
        put_text(canvas, words, (MARGIN, 108 + 30 * line), LETTERS, MUTED)
    highest = _highest([one for column in columns for one in column.lost])
    for number, column in enumerate(columns):
        left = MARGIN + number * (SIDE + GAP)
        _overlap_diagram(canvas, column, left)
        _failure_diagram(canvas, column, left, second, highest)
    return canvas


def _column(watched: Watched, judged: Reliability) -> Column:
    known: list[Frames] = [one.known for one in watched.sequences]
    return Column(
        judged,
        reliability_bins([(one.said, one.good) for one in watched.sequences]),
        reliability_bins([(one.said, one.lost_soon) for one in known]),
    )


def _highest(bins: Sequence[Bin]) -> float:
    """Top of the lower diagrams: above every point that rests on enough frames, in steps of a tenth."""
    shares = [one.share.value for one in bins if one.frames >= FEW]
    return min(1.0, math.ceil(10 * max([LOWEST_TOP, *shares]) * 1.15 + 1e-9) / 10)


def _overlap_diagram(canvas: Image, column: Column, left: float) -> None:
    judged = column.judged
    put_text(canvas, shorten(judged.name, MOST_LETTERS), (left, TOP - 60), NAME, TEXT)
    words = f"ECE {figure(judged.by_width.value, 3)}   ROC area {figure(judged.tells_bad.value, 2)}"
    put_text(canvas, words, (left, TOP - 28), SMALL, MUTED)
    diagram = Diagram.at(canvas, left, TOP, 1.0)
    _grid(diagram)
    _bars(diagram, column.good)
    _dashes(diagram, (0.0, 0.0), (1.0, 1.0))
    _points(diagram, column.good, GREEN)


def _failure_diagram(canvas: Image, column: Column, left: float, top: float, highest: float) -> None:
    judged = column.judged
    put_text(canvas, f"failure within {SOON} frames", (left, top - 60), NAME, TEXT)
    words = f"of all frames {figure(judged.lost_rate, 3)}   ROC area {figure(judged.tells_lost.value, 2)}"
    put_text(canvas, words, (left, top - 28), SMALL, MUTED)
    diagram = Diagram.at(canvas, left, top, highest)
    _grid(diagram)
    _bars(diagram, column.lost)
    if column.lost:
        _dashes(diagram, (0.0, judged.lost_rate), (1.0, judged.lost_rate))
    _points(diagram, column.lost, ORANGE)
    words = "confidence"
    put_text(canvas, words, (left + (SIDE - text_size(words, SMALL)[0]) / 2, top + SIDE + 48), SMALL, MUTED)


# --------------------------------------------------------------------------- strokes
def _grid(diagram: Diagram) -> None:
    for tick in diagram.x.ticks(5):
        cv2.line(diagram.canvas, diagram.place(tick, 0), diagram.place(tick, diagram.y.values[1]), GRID, 1)
        words = f"{tick:g}"
        x, y = diagram.place(tick, 0)
        put_text(diagram.canvas, words, (x - text_size(words, SMALL)[0] / 2, y + 14), SMALL, MUTED)
    for tick in diagram.y.ticks(5):
        cv2.line(diagram.canvas, diagram.place(0, tick), diagram.place(1, tick), GRID, 1)
        words = f"{tick:g}"
        width, height = text_size(words, SMALL)
        x, y = diagram.place(0, tick)
        put_text(diagram.canvas, words, (x - width - 12, y - height / 2), SMALL, MUTED)


def _bars(diagram: Diagram, bins: Sequence[Bin]) -> None:
    fullest = max([one.frames for one in bins], default=1)
    bottom = diagram.y.pixels[0]
    for one in bins:
        number = min(int(one.said * BINS), BINS - 1)
        ends = (diagram.x(number / BINS) + 3, diagram.x((number + 1) / BINS) - 3)
        tint(diagram.canvas, ends[0], bottom - BARS * SIDE * one.frames / fullest, ends[1], bottom, MUTED, 0.28)


def _dashes(diagram: Diagram, start: tuple[float, float], end: tuple[float, float]) -> None:
    steps = np.linspace(0, 1, 41)
    for begin, stop in zip(steps[:-1:2], steps[1::2], strict=True):
        ends = [tuple(a + (b - a) * at for a, b in zip(start, end, strict=True)) for at in (begin, stop)]
        cv2.line(diagram.canvas, diagram.place(*ends[0]), diagram.place(*ends[1]), TEXT, 2, cv2.LINE_AA)


def _points(diagram: Diagram, bins: Sequence[Bin], colour: Colour) -> None:
    many = [diagram.place(one.said, one.share.value) for one in bins if one.frames >= FEW]
    for start, end in pairwise(many):
        cv2.line(diagram.canvas, start, end, colour, 2, cv2.LINE_AA)
    for one in bins:
        if one.frames >= FEW and not math.isnan(one.share.low):
            ends = (diagram.place(one.said, one.share.low), diagram.place(one.said, one.share.high))
            cv2.line(diagram.canvas, *ends, colour, 2, cv2.LINE_AA)
        at = diagram.place(one.said, one.share.value)
        cv2.circle(diagram.canvas, at, 9, colour if one.frames >= FEW else PANEL, -1, cv2.LINE_AA)
        cv2.circle(diagram.canvas, at, 9, colour, 2, cv2.LINE_AA)
