"""What odd inputs are made of: a small scene with a known truth, and what any tracker is asked through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
XYWH = tuple[float, float, float, float]

WIDTH, HEIGHT = 320, 240


@dataclass(frozen=True)
class Answer:
    """What a tracker says of one frame: whether it sees the object, and where; ``state`` in its words."""

    found: bool
    box: XYWH
    state: str = ""
    confidence: float | None = None


class Player(Protocol):
    """Any tracker, given exactly what the user gives: nothing is rounded, cut or checked on the way."""

    def init(self, frame: Any, box: Any) -> None: ...

    def update(self, frame: Any) -> Answer: ...


@dataclass(frozen=True)
class Seen:
    """The last answer of a case, and where the object really was; None if it was nowhere to be seen."""

    answer: Answer
    truth: XYWH | None
    size_wh: tuple[int, int] = (WIDTH, HEIGHT)


@dataclass(frozen=True)
class Scene:
    """Frames as BGR, and the object's box in each."""

    frames: list[Image]
    boxes: list[XYWH]

    def seen(self, answer: Answer, index: int) -> Seen:
        height, width = self.frames[index].shape[:2]
        return Seen(answer, self.boxes[index], (width, height))


def texture(seed: int, width: int, height: int) -> Image:
    """Smooth coloured noise: edges everywhere, no two places alike. A huge one is a smaller one enlarged."""
    if width * height > 1_000_000:
        return np.asarray(cv2.resize(texture(seed, width // 8, height // 8), (width, height)), np.uint8)
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    smooth = np.asarray(cv2.GaussianBlur(noise, (0, 0), 2.5), np.float32)
    spread = float(smooth.std())
    return np.clip(128 + 55 * smooth / spread, 0, 255).astype(np.uint8)


@lru_cache(maxsize=8)
def moving_scene(
    size_wh: tuple[int, int] = (WIDTH, HEIGHT),
    first_xywh: tuple[int, int, int, int] = (120, 90, 48, 40),
    step: tuple[int, int] = (2, 1),
    count: int = 6,
) -> Scene:
    """A textured object that moves by whole pixels over a textured background."""
    background = texture(1, *size_wh) // 2 + 40
    x, y, w, h = first_xywh
    thing = texture(2, w, h)
    frames, boxes = [], []
    for index in range(count):
        left, top = x + step[0] * index, y + step[1] * index
        frame = background.copy()
        frame[top : top + h, left : left + w] = thing
        frame.flags.writeable = False
        frames.append(frame)
        boxes.append((float(left), float(top), float(w), float(h)))
    return Scene(frames, boxes)


def overlap(one: XYWH, other: XYWH) -> float:
    """Intersection over union."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    shared = max(width, 0.0) * max(height, 0.0)
    union = one[2] * one[3] + other[2] * other[3] - shared
    return shared / union if union > 0 else 0.0
