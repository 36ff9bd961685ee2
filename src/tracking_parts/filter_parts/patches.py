"""Where patches lie (paper, section 3.1): positives on a dense grid in the box, hard negatives where edges are dense.

A patch is given by the row and column of its top-left cell and by its size (rows, columns), all in whole cells of the
map.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.frames import Frame
from tracking_parts.geometry import Box

Size = tuple[int, int]  # rows, columns; also of a whole map
Tops = NDArray[np.int64]  # [n, 2] row and column of the top-left cell


def part_sizes_in_cells(sizes: tuple[int, ...], box_in_map: Box, map_size: Size) -> tuple[Size, ...]:
    """Sizes of the parts, smallest first; 0 stands for the size of the box. Sizes that coincide are given once."""
    high, wide = (length - 2 for length in map_size)  # leaves the patch room to move
    box_size = (_between(round(box_in_map.h), 1, high), _between(round(box_in_map.w), 1, wide))
    wanted = [box_size if size == 0 else (min(size, high), min(size, wide)) for size in sizes]
    return tuple(sorted(set(wanted), key=lambda size: size[0] * size[1]))


def positive_tops(
    box_in_map: Box,
    size: Size,
    stride: int,
    map_size: Size,
    min_inside: float,
    picture_in_map: Box | None = None,
) -> Tops:
    """Patches centred on the grid points of the box (as nearly as whole cells allow) that lie inside it at least by
    ``min_inside``.

    The grid contains the cell nearest to the box's centre; where no patch lies inside far enough, the central one is
    given, so that every size has at least one part. If the picture's edges are told, patches beyond them do not count
    as long as there are others.
    """
    rows, columns = size
    centre_x, centre_y = box_in_map.centre
    middle_row = round(centre_y - (rows - 1) / 2)
    middle_column = round(centre_x - (columns - 1) / 2)
    reach_rows, reach_columns = int(box_in_map.h / 2 // stride), int(box_in_map.w / 2 // stride)
    grid_rows = middle_row + stride * np.arange(-reach_rows, reach_rows + 1)
    grid_columns = middle_column + stride * np.arange(-reach_columns, reach_columns + 1)
    tops: Tops = np.stack(np.meshgrid(grid_rows, grid_columns, indexing="ij"), axis=-1).reshape(-1, 2)
    tops = tops[_fits(tops, size, map_size)]
    if picture_in_map is not None:
        seen = tops[inside_fraction(tops, size, picture_in_map) >= MIN_SEEN]
        tops = seen if len(seen) else tops
    shares = inside_fraction(tops, size, box_in_map)
    if (shares >= min_inside).any():
        return tops[shares >= min_inside].astype(np.int64)
    if picture_in_map is not None and len(tops):
        return tops[[int(shares.argmax())]].astype(np.int64)  # of what was seen the one that shows most of the object
    central = (_between(middle_row, 0, map_size[0] - rows), _between(middle_column, 0, map_size[1] - columns))
    return np.array([central], dtype=np.int64)


MIN_SEEN = 0.75  # of a patch's area that must lie in the picture


def negative_tops(
    box_in_map: Box, size: Size, stride: int, edges: NDArray[np.float32], count: int, max_inside: float
) -> Tops:
    """The ``count`` patches of highest edge density among those that hardly touch the box (hard negatives)."""
    last = [length - part for length, part in zip(edges.shape, size, strict=True)]
    grid = np.meshgrid(np.arange(0, last[0] + 1, stride), np.arange(0, last[1] + 1, stride), indexing="ij")
    tops: Tops = np.stack(grid, axis=-1).reshape(-1, 2)
    tops = tops[inside_fraction(tops, size, box_in_map) <= max_inside]
    density = _window_sums(edges, size)[tops[:, 0], tops[:, 1]]
    densest = np.argsort(-density, kind="stable")[:count]
    return tops[densest].astype(np.int64)


def edge_density(crop: Frame, map_size: Size) -> NDArray[np.float32]:
    """Mean gradient magnitude of the crop in each cell of the map."""
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    gradient_x = cv2.Sobel(grey, cv2.CV_32F, 1, 0, ksize=3)
    gradient_y = cv2.Sobel(grey, cv2.CV_32F, 0, 1, ksize=3)
    magnitude = cv2.magnitude(gradient_x, gradient_y)
    return np.asarray(cv2.resize(magnitude, map_size[::-1], interpolation=cv2.INTER_AREA), dtype=np.float32)


def inside_fraction(tops: NDArray[np.int64], size: Size, box_in_map: Box) -> NDArray[np.float64]:
    """Share of each patch's area that lies inside the box: [n]. A cell k covers [k − 0.5, k + 0.5]."""
    rows, columns = size
    high = np.minimum(tops[:, 0] - 0.5 + rows, box_in_map.y + box_in_map.h) - np.maximum(tops[:, 0] - 0.5, box_in_map.y)
    wide = np.minimum(tops[:, 1] - 0.5 + columns, box_in_map.x + box_in_map.w) - np.maximum(
        tops[:, 1] - 0.5, box_in_map.x
    )
    return np.asarray(np.clip(high, 0, None) * np.clip(wide, 0, None) / (rows * columns))


def covered_cells(tops: NDArray[np.int64], size: Size, map_size: Size) -> NDArray[np.bool_]:
    """Which cells each patch covers: [n, *map_size]."""
    rows, columns = (np.arange(length) for length in map_size)
    in_rows = (rows >= tops[:, :1]) & (rows < tops[:, :1] + size[0])
    in_columns = (columns >= tops[:, 1:]) & (columns < tops[:, 1:] + size[1])
    return in_rows[:, :, None] & in_columns[:, None, :]


def _fits(tops: NDArray[np.int64], size: Size, map_size: Size) -> NDArray[np.bool_]:
    return np.asarray((tops >= 0).all(axis=1) & (tops + np.array(size) <= np.array(map_size)).all(axis=1))


def _window_sums(values: NDArray[np.float32], size: Size) -> NDArray[np.float64]:
    """Sum over each window of the given size, by its top-left cell."""
    rows, columns = size
    total = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    total[1:, 1:] = values.cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    return total[rows:, columns:] - total[:-rows, columns:] - total[rows:, :-columns] + total[:-rows, :-columns]


def _between(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
