"""Draw a tracker's answer on its frame."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tracking_parts.geometry import Box
from tracking_parts.result import Result
from tracking_parts.viewers.drawing import Image, put_polygon, put_text, text_size, tint
from tracking_parts.viewers.palette import BLACK, STATE_COLOURS, WHITE, Colour, readable_on


def annotate(frame: Image, result: Result, name: str = "", labels: list[Box] | None = None) -> Image:
    """A copy of a BGR frame with the polygon, its label and a confidence bar, coloured by state.

    Sizes follow the frame, so that the drawing looks alike on a thumbnail and on a 4K picture. ``labels`` are the
    places of those drawn before, which are avoided where there is room; this one's is added.
    """
    picture = np.ascontiguousarray(frame).copy()
    colour = STATE_COLOURS[result.state]
    put_polygon(picture, result.polygon, colour, _line_thickness(picture))
    _put_label(picture, result, name, colour, [] if labels is None else labels)
    return picture


def annotate_all(frame: Image, results: Mapping[str, Result]) -> Image:
    """:meth:`annotate` for every target, by name."""
    picture = frame
    labels: list[Box] = []
    for name, result in results.items():
        picture = annotate(picture, result, name, labels)
    return picture


def _line_thickness(picture: Image) -> int:
    return max(2, round(min(picture.shape[:2]) / 270))


def _put_label(picture: Image, result: Result, name: str, colour: Colour, labels: list[Box]) -> None:
    rows, columns = picture.shape[:2]
    capital = max(7.0, min(rows, columns) / 48)
    words = " ".join(part for part in (name, str(result.state), f"{result.confidence:.2f}") if part)
    text_width, text_height = text_size(words, capital)
    pad = capital * 0.55
    bar = max(3.0, capital * 0.35)
    width = text_width + 2 * pad
    height = text_height + 2 * pad + bar
    left, top = _label_place(result.box, width, height, columns, rows, labels)
    labels.append(Box(left, top, width, height))
    tint(picture, left, top, left + width, top + height - bar, colour, 0.88)
    put_text(picture, words, (left + pad, top + pad), capital, readable_on(colour))
    _put_bar(picture, (left, top + height - bar), width, bar, result.confidence)


def _label_place(
    box: Box, width: float, height: float, columns: int, rows: int, labels: list[Box]
) -> tuple[float, float]:
    """Above the box where there is room, else below it or inside the frame as near as can be, on no other label."""
    if not box.is_finite:
        return 0.0, 0.0
    left = min(max(box.x, 0.0), max(columns - width, 0.0))
    above, below = box.y - height - 4, box.y + box.h + 4
    tops = [top for top in (above, below, above - height - 2, below + height + 2) if 0 <= top <= rows - height]
    nearest = min(max(below if above < 0 else above, 0.0), max(rows - height, 0.0))
    free = (top for top in tops if not any(Box(left, top, width, height).intersection(other) for other in labels))
    return left, next(free, nearest)


def _put_bar(picture: Image, left_top: tuple[float, float], width: float, height: float, share: float) -> None:
    left, top = left_top
    filled = width * min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.0
    tint(picture, left, top, left + width, top + height, BLACK, 0.85)
    tint(picture, left, top, left + filled, top + height, WHITE, 1.0)
