"""Tiny sequences with exact truth: a textured object moves and grows over a textured background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.textures import Image as Image
from benchmarks.textures import paste as paste
from benchmarks.textures import random_texture as random_texture
from tracking_parts.geometry import Box


@dataclass(frozen=True)
class SyntheticSequence:
    """Frames as BGR, and the object's box in each."""

    frames: list[Image]
    boxes: list[Box]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def size_wh(self) -> tuple[int, int]:
        return (self.frames[0].shape[1], self.frames[0].shape[0])


def render_sequence(
    boxes: Sequence[Box], size_wh: tuple[int, int] = (128, 96), seed: int = 0, coarseness: float = 2.0
) -> SyntheticSequence:
    """One random object along the given boxes, over one random background."""
    rng = np.random.default_rng(seed)
    background = random_texture(rng, *size_wh, coarseness)
    texture = random_texture(rng, max(8, round(boxes[0].w)), max(8, round(boxes[0].h)), coarseness)
    return SyntheticSequence([paste(background, texture, box) for box in boxes], list(boxes))


def moving_boxes(
    count: int,
    start: Box = Box(20, 25, 32, 28),  # noqa: B008 - a frozen value
    step: tuple[float, float] = (1.5, 0.5),
    growth: float = 1.0,
) -> list[Box]:
    """Boxes whose centre moves by ``step`` and whose size grows by the factor ``growth`` from frame to frame."""
    centre_x, centre_y = start.centre
    return [
        Box.from_centre(
            (centre_x + step[0] * index, centre_y + step[1] * index), start.w * growth**index, start.h * growth**index
        )
        for index in range(count)
    ]


def write_vot_folder(folder: Path, sequence: SyntheticSequence, truth_lines: Sequence[str] | None = None) -> Path:
    """Write a sequence in VOT's layout; ``truth_lines`` replaces the ground truth, e.g. to leave some out."""
    (folder / "color").mkdir(parents=True)
    for number, frame in enumerate(sequence.frames, start=1):
        cv2.imwrite(str(folder / "color" / f"{number:08d}.png"), frame)
    lines = truth_lines or [",".join(f"{value:.4f}" for value in box.xywh) for box in sequence.boxes]
    (folder / "groundtruth.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
