"""Boxes, overlap, and the maps between image, crop and feature-map coordinates.

Conventions, used everywhere in the core and converted only in ``io`` and ``integrations``:

* *Image* and *crop* coordinates are continuous: pixel ``j`` covers ``[j, j + 1)``, its centre lies at ``j + 0.5``.
* *Map* coordinates count cells: the centre of cell ``k`` lies at ``k``, so that the peak of a vote map is its index.
* Points are ``(x, y)``. Arrays are indexed ``[row, column]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Polygon = tuple[Point, Point, Point, Point]


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned rectangle in image pixels: left, top, width, height.

    >>> Box(10, 20, 30, 40).centre
    (25.0, 40.0)
    """

    x: float
    y: float
    w: float
    h: float

    @property
    def xywh(self) -> tuple[float, float, float, float]:
        return (float(self.x), float(self.y), float(self.w), float(self.h))

    @property
    def xyxy(self) -> tuple[float, float, float, float]:
        return (float(self.x), float(self.y), float(self.x + self.w), float(self.y + self.h))

    @property
    def centre(self) -> Point:
        return (self.x + self.w / 2, self.y + self.h / 2)

    @property
    def area(self) -> float:
        return self.w * self.h

    @property
    def is_finite(self) -> bool:
        return all(math.isfinite(value) for value in (self.x, self.y, self.w, self.h))

    @property
    def polygon(self) -> Polygon:
        """The four corners, clockwise from the top left."""
        left, top, right, bottom = self.xyxy
        return ((left, top), (right, top), (right, bottom), (left, bottom))

    @classmethod
    def from_centre(cls, centre: Point, width: float, height: float) -> Box:
        return cls(centre[0] - width / 2, centre[1] - height / 2, width, height)

    @classmethod
    def around(cls, polygon: Polygon | NDArray[np.floating]) -> Box:
        """The smallest axis-aligned box that holds the polygon."""
        points = np.asarray(polygon, dtype=float)
        left, top = points.min(axis=0)
        right, bottom = points.max(axis=0)
        return cls(float(left), float(top), float(right - left), float(bottom - top))

    def intersection(self, other: Box) -> float:
        """Area shared with another box."""
        width = min(self.x + self.w, other.x + other.w) - max(self.x, other.x)
        height = min(self.y + self.h, other.y + other.h) - max(self.y, other.y)
        return max(width, 0.0) * max(height, 0.0)

    def overlap(self, other: Box) -> float:
        """Intersection over union, in [0, 1].

        >>> Box(0, 0, 2, 2).overlap(Box(1, 0, 2, 2))
        0.3333333333333333
        """
        shared = self.intersection(other)
        union = self.area + other.area - shared
        return shared / union if union > 0 else 0.0


@dataclass(frozen=True, slots=True)
class CropWindow:
    """A square of the image, resized to ``size`` pixels, and the feature map of stride ``stride`` on it.

    The window is snapped to whole image pixels, so that cutting it needs no resampling, and the coordinate maps below
    are exact: the object's centre is then known to a fraction of a cell although it need not lie on one.
    """

    left: int
    top: int
    side: int
    size: int
    stride: int

    @classmethod
    def around(cls, centre_in_image: Point, side: float, size: int, stride: int) -> CropWindow:
        """The window of about the given side with a point of the image nearest to the centre of its middle cell."""
        whole_side = max(2, round(side))
        middle_in_image = (size // stride // 2 + 0.5) * stride * whole_side / size
        left = round(centre_in_image[0] - middle_in_image)
        top = round(centre_in_image[1] - middle_in_image)
        return cls(left, top, whole_side, size, stride)

    @property
    def crop_pixels_per_image_pixel(self) -> float:
        return self.size / self.side

    @property
    def cells_per_image_pixel(self) -> float:
        return self.size / self.side / self.stride

    @property
    def cells(self) -> int:
        """Rows, and columns, of the feature map."""
        return self.size // self.stride

    def crop_from_image(self, point: Point) -> Point:
        zoom = self.crop_pixels_per_image_pixel
        return ((point[0] - self.left) * zoom, (point[1] - self.top) * zoom)

    def image_from_crop(self, point: Point) -> Point:
        zoom = self.crop_pixels_per_image_pixel
        return (point[0] / zoom + self.left, point[1] / zoom + self.top)

    def map_from_crop(self, point: Point) -> Point:
        return (point[0] / self.stride - 0.5, point[1] / self.stride - 0.5)

    def crop_from_map(self, point: Point) -> Point:
        return ((point[0] + 0.5) * self.stride, (point[1] + 0.5) * self.stride)

    def map_from_image(self, point: Point) -> Point:
        return self.map_from_crop(self.crop_from_image(point))

    def image_from_map(self, point: Point) -> Point:
        return self.image_from_crop(self.crop_from_map(point))

    def box_in_crop(self, box: Box) -> Box:
        zoom = self.crop_pixels_per_image_pixel
        left, top = self.crop_from_image((box.x, box.y))
        return Box(left, top, box.w * zoom, box.h * zoom)

    def box_in_map(self, box: Box) -> Box:
        """The box in cells: its edges are in map coordinates, so a box over cells 2..4 runs from 1.5 to 4.5."""
        scale = self.cells_per_image_pixel
        left, top = self.map_from_image((box.x, box.y))
        return Box(left, top, box.w * scale, box.h * scale)

    def with_stride(self, stride: int) -> CropWindow:
        """The same window seen by a layer of another stride."""
        return CropWindow(self.left, self.top, self.side, self.size, stride)
