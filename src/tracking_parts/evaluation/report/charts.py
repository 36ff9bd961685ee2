"""Charts of whole trackers: curves with their intervals, VOT's ranking, and points with intervals in both directions.

Every chart is drawn twice (:class:`~tracking_parts.evaluation.report.content.Chart`): with names beside the curves on
a desk, with a legend under the picture on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracking_parts.evaluation.report.content import Chart, Key
from tracking_parts.evaluation.report.svg import (
    LETTER,
    Axis,
    Drawing,
    axis_range,
    colour_class,
    dash_of,
    number,
    spread,
)
from tracking_parts.evaluation.statistics import Interval

WIDE, NARROW = 800, 350
BOTTOM, LEFT = 46, 54
ROOM_FOR_NAME = 110
MOST_NAMES = 6
MOST_BANDS = 5  # more shades over each other cannot be told apart


UNKNOWN = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Curve:
    """One tracker's curve; ``low`` and ``high`` bound the shaded band and may be empty."""

    label: str
    slot: int
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """One tracker's point: ``x`` is not used where a chart has one figure only."""

    label: str
    slot: int
    y: Interval
    x: Interval = UNKNOWN


@dataclass(frozen=True, slots=True)
class Frame:
    """What a chart says of itself."""

    title: str
    caption: str
    x_label: str = ""
    y_label: str = ""


def twice(frame: Frame, draw: Callable[[float], Drawing], keys: Sequence[Key], names_in_wide: bool = False) -> Chart:
    """The chart at both widths."""
    return Chart(draw(WIDE).svg(), draw(NARROW).svg(), frame.caption, tuple(keys), names_in_wide)


def curve_chart(
    frame: Frame, curves: Sequence[Curve], y_top: float | None = None, marked: tuple[float, float] | None = None
) -> Chart:
    """Curves over a common axis; ``marked`` shades the part of it that a headline figure is the mean of."""

    def draw(width: float) -> Drawing:
        wide = width == WIDE
        drawing = Drawing(width, 380 if wide else 280, frame.title, _curve_words(curves))
        right = width - (190 if wide else 10)
        highest = max((y for curve in curves for y in (*curve.y, *curve.high) if math.isfinite(y)), default=1.0)
        across = Axis(_ends([x for curve in curves for x in curve.x]), (LEFT, right))
        up = Axis((0.0, y_top or max(highest * 1.05, 0.1)), (drawing.height - BOTTOM, 14))
        _marked_range(drawing, across, up, marked)
        _axes(drawing, across, up, frame, 8 if wide else 4)
        for curve in curves if len(curves) <= MOST_BANDS else ():
            _band(drawing, curve, across, up)
        for curve in curves:
            _line(drawing, curve, across, up)
        if wide:
            _names_at_ends(drawing, curves, up, right)
        return drawing

    return twice(frame, draw, [Key(curve.label, curve.slot) for curve in curves], names_in_wide=True)


def shading_words(curves: int) -> str:
    """What a caption says of the bands of so many curves."""
    if curves > MOST_BANDS:
        return "With so many curves their intervals are not drawn."
    return "Shaded: 95 % bootstrap interval over sequences."


def ranking_chart(frame: Frame, marks: Sequence[Mark]) -> Chart:
    """Trackers in the order of one figure, the best on the right, as VOT draws it."""
    known = [mark for mark in marks if math.isfinite(mark.y.value)]
    ranked = sorted(known, key=lambda mark: mark.y.value)

    def draw(width: float) -> Drawing:
        drawing = Drawing(width, 320 if width == WIDE else 260, frame.title, _mark_words(ranked))
        right = width - 16
        highest = axis_range([one for mark in ranked for one in _numbers(mark.y)])[1]
        column = (right - LEFT) / max(len(ranked), 1)
        below = 60 if column >= ROOM_FOR_NAME else 44
        up = Axis((0.0, highest), (drawing.height - below, 14))
        _axes(drawing, None, up, frame, 0, right)
        for index, mark in enumerate(ranked):
            x = LEFT + column * (index + 0.5)
            _interval(drawing, mark.slot, "y", x, mark.y, up)
            drawing.sign((x, up(mark.y.value)), mark.slot, f"{mark.label}: {mark.y.value:.3f}", 6)
            drawing.text((x, drawing.height - below + 18), str(len(ranked) - index), "tick", "middle")
            if column >= ROOM_FOR_NAME:
                drawing.label((x, drawing.height - 24), mark.label, column - 10, "name", "middle")
        drawing.text(((LEFT + right) / 2, drawing.height - 6), frame.x_label, "axis", "middle")
        return drawing

    keys = [Key(f"{rank}  {mark.label}", mark.slot) for rank, mark in enumerate(reversed(ranked), start=1)]
    fits = (WIDE - LEFT - 16) / max(len(ranked), 1) >= ROOM_FOR_NAME
    return twice(frame, draw, keys, names_in_wide=fits)


def point_chart(frame: Frame, marks: Sequence[Mark]) -> Chart:
    """Two figures per tracker, with intervals as crosses; the best stands at the top right."""
    known = [mark for mark in marks if math.isfinite(mark.y.value) and math.isfinite(mark.x.value)]
    few = len(known) <= MOST_NAMES  # more names would cover each other's points

    def draw(width: float) -> Drawing:
        wide = width == WIDE
        drawing = Drawing(width, 380 if wide else 300, frame.title, _mark_words(known))
        across = Axis(axis_range([one for mark in known for one in _numbers(mark.x)]), (LEFT, width - 16))
        up = Axis(axis_range([one for mark in known for one in _numbers(mark.y)]), (drawing.height - BOTTOM, 14))
        _axes(drawing, across, up, frame, 6 if wide else 4)
        for mark in known:
            _interval(drawing, mark.slot, "y", across(mark.x.value), mark.y, up)
            _interval(drawing, mark.slot, "x", up(mark.y.value), mark.x, across)
        for mark in known:
            drawing.sign((across(mark.x.value), up(mark.y.value)), mark.slot, _point_words(mark), 6)
        if wide and few:
            _names_at_points(drawing, known, across, up)
        return drawing

    return twice(frame, draw, [Key(mark.label, mark.slot) for mark in known], names_in_wide=few)


def _axes(
    drawing: Drawing, across: Axis | None, up: Axis, frame: Frame, x_ticks: int, right: float | None = None
) -> None:
    right = across.pixels[1] if across else right or drawing.width
    bottom = up.pixels[0]
    for value in up.ticks():
        drawing.line((LEFT, up(value)), (right, up(value)), "grid")
        drawing.text((LEFT - 7, up(value) + 4), number(value), "tick", "end")
    drawing.line((LEFT, bottom), (right, bottom), "base")
    drawing.text((14, (up.pixels[0] + up.pixels[1]) / 2), frame.y_label, "axis", "middle", turn=-90)
    if across:
        for value in across.ticks(x_ticks):
            drawing.line((across(value), bottom), (across(value), bottom + 4), "base")
            drawing.text((across(value), bottom + 18), number(value), "tick", "middle")
        drawing.text(((LEFT + right) / 2, drawing.height - 8), frame.x_label, "axis", "middle")


def _marked_range(drawing: Drawing, across: Axis, up: Axis, marked: tuple[float, float] | None) -> None:
    if marked is None:
        return
    left, right = across(marked[0]), across(min(marked[1], across.values[1]))
    drawing.rect(left, up.pixels[1], right - left, up.pixels[0] - up.pixels[1], "range")
    drawing.text((left + 5, up.pixels[1] + 13), f"mean over {marked[0]:g}–{marked[1]:g}", "tick")


def _band(drawing: Drawing, curve: Curve, across: Axis, up: Axis) -> None:
    if not curve.low:
        return
    known = [
        (x, low, high)
        for x, low, high in zip(curve.x, curve.low, curve.high, strict=True)
        if math.isfinite(low) and math.isfinite(high)
    ]
    upper = [(across(x), up(high)) for x, _, high in known]
    lower = [(across(x), up(low)) for x, low, _ in reversed(known)]
    drawing.path(upper + lower, f"band {colour_class(curve.slot)}")


def _line(drawing: Drawing, curve: Curve, across: Axis, up: Axis) -> None:
    points = [(across(x), up(y)) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)]
    drawing.path(points, f"curve {colour_class(curve.slot)}", dash_of(curve.slot), curve.label)


def _names_at_ends(drawing: Drawing, curves: Sequence[Curve], up: Axis, right: float) -> None:
    """Names beside the ends of their curves, moved apart where curves end close together."""
    named = [(curve, next((y for y in reversed(curve.y) if math.isfinite(y)), 0.0)) for curve in curves]
    heights = spread([up(y) for _, y in named], 18, up.pixels[1] + 6, up.pixels[0] - 4)
    for (curve, y), height in zip(named, heights, strict=True):
        drawing.path([(right + 2, up(y)), (right + 12, height)], f"leader {colour_class(curve.slot)}")
        drawing.sign((right + 18, height), curve.slot, radius=4)
        drawing.label((right + 27, height + 4), curve.label, drawing.width - right - 29, "name")


def _names_at_points(drawing: Drawing, marks: Sequence[Mark], across: Axis, up: Axis) -> None:
    """Names to the right of their points, or to the left of points near the edge; moved apart vertically."""
    heights = spread([up(mark.y.value) - 10 for mark in marks], 17, up.pixels[1] + 8, up.pixels[0] - 8)
    for mark, height in zip(marks, heights, strict=True):
        x = across(mark.x.value)
        to_left = x + 14 + min(len(mark.label), 30) * LETTER > drawing.width - 8
        place = (x - 12, height) if to_left else (x + 12, height)
        drawing.label(place, mark.label, 30 * LETTER, "name", "end" if to_left else "start")


def _interval(drawing: Drawing, slot: int, direction: str, at: float, interval: Interval, axis: Axis) -> None:
    """The line of an interval along one axis, with caps, at a place on the other; none where there is none."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return
    cls = f"whisker {colour_class(slot)}"
    low, high = axis(interval.low), axis(interval.high)

    def stroke(first: tuple[float, float], second: tuple[float, float]) -> None:
        """Given along and across the interval."""
        if direction == "y":
            first, second = first[::-1], second[::-1]
        drawing.line(first, second, cls)

    stroke((low, at), (high, at))
    for end in (low, high):
        stroke((end, at - 5), (end, at + 5))


def _numbers(interval: Interval) -> tuple[float, float, float]:
    return (interval.value, interval.low, interval.high)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low, low + 1)


def _curve_words(curves: Sequence[Curve]) -> str:
    """For those who cannot see the picture: where each curve begins and ends."""
    words = []
    for curve in curves:
        known = [y for y in curve.y if math.isfinite(y)]
        if known:
            words.append(f"{curve.label}: from {known[0]:.3f} to {known[-1]:.3f}")
    return "; ".join(words)


def _point_words(mark: Mark) -> str:
    return f"{mark.label}: {mark.x.value:.3f}, {mark.y.value:.3f}"


def _mark_words(marks: Sequence[Mark]) -> str:
    with_x = any(math.isfinite(mark.x.value) for mark in marks)
    return "; ".join(_point_words(mark) if with_x else f"{mark.label}: {mark.y.value:.3f}" for mark in marks)
