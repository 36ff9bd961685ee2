"""A few strokes that OpenCV lacks: text placed by its box, peaks told apart by shape, shapes that shine through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Point
from tracking_parts.viewers.palette import BLACK, Colour

Image = NDArray[np.uint8]

FONT = cv2.FONT_HERSHEY_SIMPLEX
_FRACTION_BITS = 4  # OpenCV draws lines to a sixteenth of a pixel


def ascii_only(words: str) -> str:
    """OpenCV's font has no other letters and draws question marks for them; one mark per letter, not per byte."""
    return words.encode("ascii", "replace").decode("ascii")


def stroke_for(height: float) -> int:
    """The pen's thickness that keeps letters of this height legible."""
    return max(1, round(height / 12))


def text_size(words: str, height: float) -> tuple[int, int]:
    """Width and height in pixels of one line of text whose capitals are ``height`` pixels tall."""
    stroke = stroke_for(height)
    scale = cv2.getFontScaleFromHeight(FONT, max(1, round(height)), stroke)
    (width, text_height), _ = cv2.getTextSize(ascii_only(words), FONT, scale, stroke)
    return int(width), int(text_height)


def put_text(image: Image, words: str, left_top: Point, height: float, colour: Colour, bold: bool = False) -> int:
    """Write one line whose capitals' top left corner is given; return where it ends, in pixels from the left."""
    stroke = stroke_for(height)
    scale = cv2.getFontScaleFromHeight(FONT, max(1, round(height)), stroke)
    width, text_height = text_size(words, height)
    origin = (round(left_top[0]), round(left_top[1]) + text_height)
    thickness = stroke + max(1, stroke // 2) if bold else stroke
    cv2.putText(image, ascii_only(words), origin, FONT, scale, colour, thickness, cv2.LINE_AA)
    return origin[0] + width


def wrap(words: str, height: float, width: float) -> list[str]:
    """The text broken between words into lines that fit a width; a single word that is too long is cut."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_size(longer, height)[0] <= width:
            lines[-1] = longer
            continue
        while len(word) > 1 and text_size(word, height)[0] > width:
            word = word[:-1]
        lines.append(word)
    return [line for line in lines if line]


def put_polygon(image: Image, corners: Iterable[Point], colour: Colour, thickness: int) -> None:
    """A closed outline with a dark rim, so that it shows on any background. Points that are not finite draw nothing."""
    points = list(corners)
    if not np.isfinite(points).all():
        return
    fixed = np.array([_fixed(point) for point in points], np.int32).reshape(-1, 1, 2)
    cv2.polylines(image, [fixed], True, BLACK, thickness + max(2, thickness), cv2.LINE_AA, _FRACTION_BITS)
    cv2.polylines(image, [fixed], True, colour, thickness, cv2.LINE_AA, _FRACTION_BITS)


def put_peak(image: Image, shape: str, at: Point, radius: float, colour: Colour) -> None:
    """Mark a point by an upright cross ``+``, a lying cross ``x`` or a ring ``o``, rimmed in black."""
    if not np.isfinite(at).all():
        return
    for pen, thickness in ((BLACK, radius * 0.62), (colour, radius * 0.28)):
        for start, end in _strokes(shape, at, radius):
            cv2.line(image, start, end, pen, max(1, round(thickness)), cv2.LINE_AA, _FRACTION_BITS)
        if shape == "o":
            reach = round(radius * 1.5 * (1 << _FRACTION_BITS))  # wide enough to hold a cross
            cv2.circle(image, _fixed(at), reach, pen, max(1, round(thickness)), cv2.LINE_AA, _FRACTION_BITS)


def _fixed(point: Point) -> tuple[int, int]:
    """A continuous point in OpenCV's units: its whole numbers are the middles of pixels, ours are their edges."""
    # Far outside the picture OpenCV's integers overflow; such points are as good as at the limit.
    x, y = (round((min(max(value, -1e5), 1e5) - 0.5) * (1 << _FRACTION_BITS)) for value in point)
    return x, y


def _strokes(shape: str, at: Point, radius: float) -> Sequence[tuple[tuple[int, int], tuple[int, int]]]:
    x, y = at
    if shape == "+":
        reach = radius * 1.15
        ends = (((x - reach, y), (x + reach, y)), ((x, y - reach), (x, y + reach)))
    elif shape == "x":
        reach = radius * 0.85
        ends = (((x - reach, y - reach), (x + reach, y + reach)), ((x - reach, y + reach), (x + reach, y - reach)))
    else:
        return ()
    return [(_fixed(start), _fixed(end)) for start, end in ends]


def tint(image: Image, left: float, top: float, right: float, bottom: float, colour: Colour, opacity: float) -> None:
    """Lay a see-through rectangle over part of a canvas, cut at its edges."""
    rows, columns = image.shape[:2]
    x0, x1 = (min(max(round(value), 0), columns) for value in (left, right))
    y0, y1 = (min(max(round(value), 0), rows) for value in (top, bottom))
    if x1 <= x0 or y1 <= y0:
        return
    patch = image[y0:y1, x0:x1].astype(np.float32)
    image[y0:y1, x0:x1] = np.round(patch * (1 - opacity) + np.asarray(colour, np.float32) * opacity).astype(np.uint8)
