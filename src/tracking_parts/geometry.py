"""Boxes, overlap, and the maps between image, crop and feature-map coordinates.

Conventions, used everywhere in the core and converted only in ``io`` and ``integrations``:

* *Image* and *crop* coordinates are continuous: pixel ``j`` covers ``[j, j + 1)``, its centre lies at ``j + 0.5``.
* *Map* coordinates count cells: the centre of cell ``k`` lies at ``k``, so that the peak of a vote map is its index.
* Points are ``(x, y)``. Arrays are indexed ``[row, column]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
        return self.within(other).area

    def within(self, other: Box) -> Box:
        """The part that lies in another box; without width or height where they do not meet."""
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.x + self.w, other.x + other.w), min(self.y + self.h, other.y + other.h)
        return Box(left, top, max(right - left, 0.0), max(bottom - top, 0.0))

    def holds(self, points: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which points [n, 2] (x, y) lie inside."""
        x, y = points[:, 0], points[:, 1]
        return np.asarray((x >= self.x) & (x <= self.x + self.w) & (y >= self.y) & (y <= self.y + self.h))

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
    """A rectangle of the image, resized to a crop, and the feature map of stride ``stride`` on it.

    The window is snapped to whole image pixels, so that cutting it needs no resampling, and the coordinate maps below
    are exact: the object's centre is then known to a fraction of a cell although it need not lie on one. Both axes are
    enlarged alike, but for that snapping.
    """

    left: int
    top: int
    width: int  # in image pixels
    height: int
    crop_width: int  # in crop pixels
    crop_height: int
    stride: int

    @classmethod
    def around(cls, centre_in_image: Point, extent: Point, crop_size: tuple[int, int], stride: int) -> CropWindow:
        """The window of about the given width and height with a point nearest to the centre of its middle cell."""
        width, height = (max(2, round(length)) for length in extent)
        columns, rows = (length // stride for length in crop_size)
        left = round(centre_in_image[0] - (columns // 2 + 0.5) * stride * width / crop_size[0])
        top = round(centre_in_image[1] - (rows // 2 + 0.5) * stride * height / crop_size[1])
        return cls(left, top, width, height, crop_size[0], crop_size[1], stride)

    @property
    def zoom(self) -> Point:
        """Crop pixels per image pixel, along x and y."""
        return (self.crop_width / self.width, self.crop_height / self.height)

    @property
    def cells_per_image_pixel(self) -> float:
        """Of both axes together: they differ by less than a pixel over the window."""
        return math.sqrt(math.prod(self.zoom)) / self.stride

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the feature map."""
        return (self.crop_height // self.stride, self.crop_width // self.stride)

    def crop_from_image(self, point: Point) -> Point:
        zoom = self.zoom
        return ((point[0] - self.left) * zoom[0], (point[1] - self.top) * zoom[1])

    def image_from_crop(self, point: Point) -> Point:
        zoom = self.zoom
        return (point[0] / zoom[0] + self.left, point[1] / zoom[1] + self.top)

    def map_from_crop(self, point: Point) -> Point:
        return (point[0] / self.stride - 0.5, point[1] / self.stride - 0.5)

    def crop_from_map(self, point: Point) -> Point:
        return ((point[0] + 0.5) * self.stride, (point[1] + 0.5) * self.stride)

    def map_from_image(self, point: Point) -> Point:
        return self.map_from_crop(self.crop_from_image(point))

    def image_from_map(self, point: Point) -> Point:
        return self.image_from_crop(self.crop_from_map(point))

    def size_in_map(self, size_in_image: Point) -> Point:
        """A width and height in cells."""
        zoom = self.zoom
        return (size_in_image[0] * zoom[0] / self.stride, size_in_image[1] * zoom[1] / self.stride)

    def box_in_crop(self, box: Box) -> Box:
        zoom = self.zoom
        left, top = self.crop_from_image((box.x, box.y))
        return Box(left, top, box.w * zoom[0], box.h * zoom[1])

    def box_in_map(self, box: Box) -> Box:
        """The box in cells: its edges are in map coordinates, so a box over cells 2..4 runs from 1.5 to 4.5."""
        left, top = self.map_from_image((box.x, box.y))
        return Box(left, top, *self.size_in_map((box.w, box.h)))

    def with_stride(self, stride: int) -> CropWindow:
        """The same window seen by a layer of another stride."""
        return replace(self, stride=stride)
