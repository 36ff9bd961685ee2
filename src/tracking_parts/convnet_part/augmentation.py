"""Pictures of the first frame as it might look later: flipped, turned, blurred, nearer and farther."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.frames import Frame
from tracking_parts.geometry import Point

ROTATIONS_DEGREES = (-20.0, -8.0, 8.0, 20.0)
ZOOMS = (0.87, 1.15)


def augment(crop: Frame, centre_in_crop: Point) -> list[Frame]:
    """Variants of a crop in which the object's centre stays where it is."""
    variants = [_warp(crop, _mirror(centre_in_crop))]
    variants += [_warp(crop, cv2.getRotationMatrix2D(centre_in_crop, angle, 1.0)) for angle in ROTATIONS_DEGREES]
    variants += [_warp(crop, cv2.getRotationMatrix2D(centre_in_crop, 0.0, zoom)) for zoom in ZOOMS]
    size = crop.shape[0]
    radius = max(size // 64, 1)
    variants.append(np.asarray(cv2.GaussianBlur(crop, (0, 0), radius), dtype=np.uint8))
    length = 4 * radius + 1
    for shape in ((1, length), (length, 1)):  # motion blur along each axis
        variants.append(np.asarray(cv2.filter2D(crop, -1, np.full(shape, 1.0 / length)), dtype=np.uint8))
    return variants


def _mirror(centre: Point) -> NDArray[np.float64]:
    return np.array([[-1.0, 0.0, 2 * centre[0]], [0.0, 1.0, 0.0]])


def _warp(crop: Frame, matrix: NDArray[Any]) -> Frame:
    # Continuous coordinates put a pixel's centre at +0.5, OpenCV at 0: conjugate by that shift.
    linear, shift = matrix[:, :2], matrix[:, 2]
    half = np.array([0.5, 0.5])
    moved = np.column_stack([linear, linear @ half + shift - half])
    warped = cv2.warpAffine(crop, moved, crop.shape[1::-1], flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, dtype=np.uint8)
