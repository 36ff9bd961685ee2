"""Tiny sequences with exact truth: a textured object moves and grows over a textured background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Box

Image = NDArray[np.uint8]


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


def random_texture(rng: np.random.Generator, width: int, height: int, coarseness: float = 2.0) -> Image:
    """Smooth coloured noise over the full range: edges everywhere, no two places alike."""
    noise = rng.normal(size=(height, width, 3)).astype(np.float32)
    smooth: NDArray[np.float32] = np.asarray(cv2.GaussianBlur(noise, (0, 0), coarseness), np.float32)
    low, high = np.percentile(smooth, [2, 98])
    stretched: NDArray[np.float32] = (smooth - low) / (high - low) * 255
    return stretched.clip(0, 255).astype(np.uint8)


def paste(background: Image, texture: Image, box: Box) -> Image:
    """Draw a texture so that it fills the box exactly, to a fraction of a pixel."""
    height, width = texture.shape[:2]
    zoom_x, zoom_y = box.w / width, box.h / height
    # OpenCV counts pixel centres, we count pixel edges: ours = OpenCV's + 0.5.
    to_image = np.array([[zoom_x, 0, box.x + 0.5 * zoom_x - 0.5], [0, zoom_y, box.y + 0.5 * zoom_y - 0.5]])
    size_wh = (background.shape[1], background.shape[0])
    drawn = cv2.warpAffine(texture, to_image, size_wh, borderMode=cv2.BORDER_REPLICATE)
    cover = _coverage(box, size_wh)[..., None]
    return np.rint(drawn * cover + background * (1 - cover)).astype(np.uint8)


def _coverage(box: Box, size_wh: tuple[int, int]) -> NDArray[np.float64]:
    """How much of each pixel the box covers."""
    columns, rows = np.arange(size_wh[0]), np.arange(size_wh[1])
    across = np.clip(np.minimum(columns + 1, box.x + box.w) - np.maximum(columns, box.x), 0, 1)
    down = np.clip(np.minimum(rows + 1, box.y + box.h) - np.maximum(rows, box.y), 0, 1)
    return np.outer(down, across)


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
