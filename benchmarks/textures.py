"""Random textures, and pasting one into a picture exactly: what synthetic sequences are drawn with."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Box

Image = NDArray[np.uint8]


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
    cover = coverage(box, size_wh)[..., None]
    return np.rint(drawn * cover + background * (1 - cover)).astype(np.uint8)


def coverage(box: Box, size_wh: tuple[int, int]) -> NDArray[np.float64]:
    """How much of each pixel the box covers."""
    columns, rows = np.arange(size_wh[0]), np.arange(size_wh[1])
    across = np.clip(np.minimum(columns + 1, box.x + box.w) - np.maximum(columns, box.x), 0, 1)
    down = np.clip(np.minimum(rows + 1, box.y + box.h) - np.maximum(rows, box.y), 0, 1)
    return np.outer(down, across)
