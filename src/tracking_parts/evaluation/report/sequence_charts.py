"""Charts with one line per sequence or attribute: differences of two trackers, dots side by side, lost stretches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracking_parts.evaluation.report.charts import WIDE, Frame, twice
from tracking_parts.evaluation.report.content import Chart, Key
from tracking_parts.evaluation.report.svg import Axis, Drawing, axis_range, colour_class, number

ROW = 19
DODGE = 6.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One sequence: by how much the first tracker is better (positive) or worse, in each of the panels' figures."""

    name: str
    better_by: tuple[float, ...]
    words: tuple[str, ...]  # the figures themselves, one text per panel


@dataclass(frozen=True, slots=True)
class Dots:
    """One line of dots: a value per tracker, ``nan`` where there is none."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """One run over one sequence: how long it is and which stretches ``(first, end)`` are marked."""

    sequence: str
    slot: int
    length: int
    stretches: tuple[tuple[int, int], ...]
    hint: str


def difference_chart(frame: Frame, panels: Sequence[str], sides: tuple[Key, Key], rows: Sequence[Difference]) -> Chart:
    """Bars to the right where the first tracker is better, to the left where the second is, each in its colour."""

    def draw(width: float) -> Drawing:
        wide = width == WIDE
        names, top = 130.0 if wide else 98.0, 44.0
        drawing = Drawing(width, top + ROW * len(rows) + 10, frame.title, _difference_words(rows, panels, sides))
        room = (width - names) / len(panels)
        for index, row in enumerate(rows):
            y = top + ROW * index
            drawing.label((names - 8, y + 13), row.name, names - 8, "tick", "end")
            drawing.line((0, y + ROW), (width, y + ROW), "grid")
        for column, title in enumerate(panels):
            _bars(
                drawing, rows, column, title, (names + room * column + 8, names + room * (column + 1) - 8), top, sides
            )
        return drawing

    better, worse = (Key(f"{side.label} better", side.slot) for side in sides)
    return twice(frame, draw, [better, worse])


def _bars(
    drawing: Drawing,
    rows: Sequence[Difference],
    column: int,
    title: str,
    pixels: tuple[float, float],
    top: float,
    sides: tuple[Key, Key],
) -> None:
    most = max((abs(row.better_by[column]) for row in rows if math.isfinite(row.better_by[column])), default=0) or 1.0
    # Room at both ends for the numbers beside the longest bars.
    axis = Axis((-most, most), (pixels[0] + 36, pixels[1] - 36))
    middle = axis(0)
    drawing.text((middle, 14), title, "name", "middle")
    drawing.text((middle - 8, 32), "◀ worse", "tick", "end")
    drawing.text((middle + 8, 32), "better ▶", "tick")
    for index, row in enumerate(rows):
        value, y = row.better_by[column], top + ROW * index
        if not math.isfinite(value):
            drawing.text((middle, y + 13), "–", "tick", "middle")
            continue
        hint = f"{row.name}: {row.words[column]}"
        if value:
            slot = sides[0].slot if value > 0 else sides[1].slot
            left, right = sorted((middle, axis(value)))
            drawing.rect(left, y + 3, max(right - left, 1), ROW - 6, f"bar {colour_class(slot)}", hint)
        place, anchor = (axis(value) + 5, "start") if value >= 0 else (axis(value) - 5, "end")
        drawing.text((place, y + 13), _signed(value), "tick", anchor, hint=hint)
    drawing.line((middle, top - 4), (middle, top + ROW * len(rows)), "base")


def _signed(value: float) -> str:
    if value == int(value):
        return f"{int(value):+d}".replace("-", "−") if value else "0"
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def dot_chart(frame: Frame, keys: Sequence[Key], rows: Sequence[Dots]) -> Chart:
    """One line per name, one sign per tracker: near signs mean that the trackers do not differ there."""

    def draw(width: float) -> Drawing:
        names, top, step = 150.0 if width == WIDE else 104.0, 8.0, 22.0 + DODGE * len(keys)
        drawing = Drawing(width, top + step * len(rows) + 46, frame.title, _dot_words(rows, keys))
        _, high = axis_range([value for row in rows for value in row.values])
        axis = Axis((0.0, high), (names + 12, width - 16))  # shares and rates: from nothing on
        bottom = top + step * len(rows)
        for value in axis.ticks(6 if width == WIDE else 4):
            drawing.line((axis(value), top), (axis(value), bottom), "grid")
            drawing.text((axis(value), bottom + 17), number(value), "tick", "middle")
        drawing.text(((axis.pixels[0] + axis.pixels[1]) / 2, bottom + 37), frame.x_label, "axis", "middle")
        for index, row in enumerate(rows):
            _dots(drawing, row, axis, top + step * (index + 0.5), keys, names)
        return drawing

    return twice(frame, draw, keys)


def _dots(drawing: Drawing, row: Dots, axis: Axis, y: float, keys: Sequence[Key], names: float) -> None:
    drawing.label((names - 4, y + 4), row.name, names - 4, "name", "end")
    known = [value for value in row.values if math.isfinite(value)]
    if not known:
        drawing.text((axis.pixels[0], y + 4), "no frames", "tick")
        return
    drawing.line((axis(min(known)), y), (axis(max(known)), y), "whisker")
    for place, (key, value) in enumerate(zip(keys, row.values, strict=True)):
        if math.isfinite(value):
            # Each tracker a little lower than the one before: equal values must not hide each other.
            height = y + DODGE * (place - (len(keys) - 1) / 2)
            drawing.sign((axis(value), height), key.slot, f"{row.name}, {key.label}: {value:.3f}", 4.5)


def strip_chart(frame: Frame, keys: Sequence[Key], strips: Sequence[Strip]) -> Chart:
    """Every sequence as a strip per tracker, from its first frame to its last, with the marked stretches filled."""
    sequences = list(dict.fromkeys(strip.sequence for strip in strips))
    by_sequence = {name: [strip for strip in strips if strip.sequence == name] for name in sequences}
    heights = {name: 10 * len(found) + 12 for name, found in by_sequence.items()}

    def draw(width: float) -> Drawing:
        names = 130.0 if width == WIDE else 92.0
        drawing = Drawing(width, sum(heights.values()) + 40, frame.title, "; ".join(one.hint for one in strips))
        longest = max((strip.length for strip in strips), default=1)
        axis = Axis((0, longest), (names, width - 14))
        y = 6.0
        for name in sequences:
            drawing.label((names - 8, y + heights[name] / 2), name, names - 8, "tick", "end")
            for strip in by_sequence[name]:
                _strip(drawing, strip, axis, y)
                y += 10
            y += 12
        for value in axis.ticks(8 if width == WIDE else 4):
            drawing.line((axis(value), y - 6), (axis(value), y - 1), "base")
            drawing.text((axis(value), y + 12), number(value), "tick", "middle")
        drawing.text(((axis.pixels[0] + axis.pixels[1]) / 2, y + 29), frame.x_label, "axis", "middle")
        return drawing

    return twice(frame, draw, keys)


def _strip(drawing: Drawing, strip: Strip, axis: Axis, y: float) -> None:
    drawing.rect(axis(0), y + 1, axis(strip.length) - axis(0), 7, f"faint {colour_class(strip.slot)}", strip.hint)
    for first, end in strip.stretches:
        width = max(axis(end) - axis(first), 1.5)
        drawing.rect(axis(first), y + 1, width, 7, f"bar {colour_class(strip.slot)}", strip.hint)


def _difference_words(rows: Sequence[Difference], panels: Sequence[str], sides: tuple[Key, Key]) -> str:
    counts = []
    for column, panel in enumerate(panels):
        values = [row.better_by[column] for row in rows]
        better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
        counts.append(f"{panel}: {sides[0].label} is better on {better} sequences and worse on {worse}")
    return "; ".join(counts)


def _dot_words(rows: Sequence[Dots], keys: Sequence[Key]) -> str:
    return "; ".join(
        f"{row.name}: "
        + ", ".join(f"{key.label} {value:.2f}" for key, value in zip(keys, row.values, strict=True) if value == value)
        for row in rows
    )
