"""Small frames that need no file: a textured square that wanders over a texture, for ever."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 96, 72
SQUARE_WH = (24, 20)
Frame = NDArray[np.uint8]


def square_at(index: int, number: int = 0) -> tuple[int, int, int, int]:
    """The box of a square in a frame: x, y, width, height. Squares of other numbers wander elsewhere."""
    x = 34 + 20 * math.sin(index / 9 + number) + 4 * (number % 4)
    y = 26 + 14 * math.sin(index / 13 + 2 * number)
    return (round(x), round(y), *SQUARE_WH)


def frame_at(index: int) -> Frame:
    """One frame; it depends on nothing but its index."""
    frame = _texture(0, (WIDTH, HEIGHT), 8) // 2
    x, y, w, h = square_at(index)
    frame[y : y + h, x : x + w] = _texture(1, SQUARE_WH, 4)
    return np.asarray(frame, dtype=np.uint8)


def _texture(seed: int, size_wh: tuple[int, int], coarseness: int) -> Frame:
    shape = (size_wh[1] // coarseness, size_wh[0] // coarseness, 3)
    noise = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return np.asarray(cv2.resize(noise, size_wh, interpolation=cv2.INTER_CUBIC), dtype=np.uint8)
