"""Where the parts' own votes are read: a window of cells for the centre, and what of the map it takes to fill it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.filter_parts.patches import Size
from tracking_parts.geometry import Point


@dataclass(frozen=True)
class VoteWindow:
    """The cells that a part may vote for."""

    top: int
    left: int
    rows: int
    columns: int

    @classmethod
    def around(cls, centre_in_map: Point, reach: int, shape: tuple[int, int]) -> VoteWindow:
        """``reach`` cells to every side of a centre, inside a map of this shape; 0: the whole map."""
        if reach == 0:
            return cls(0, 0, *shape)
        middle = (round(centre_in_map[1]), round(centre_in_map[0]))
        first = [min(max(0, at - reach), length - 1) for at, length in zip(middle, shape, strict=True)]
        end = [min(max(at + reach + 1, low + 1), n) for at, low, n in zip(middle, first, shape, strict=True)]
        return cls(first[0], first[1], end[0] - first[0], end[1] - first[1])


class Displacements:
    """The displacements of parts of one size, by which their maps are shifted in every frame until the parts change.

    Index tensors are made once and stay on the device.
    """

    def __init__(self, shifts: NDArray[np.int64], size: Size, device: torch.device) -> None:
        self._size = size
        self._low, self._high = shifts.min(axis=0).tolist(), shifts.max(axis=0).tolist()
        self._behind = torch.as_tensor(shifts.max(axis=0) - shifts, device=device)  # [m, 2]
        self._index: dict[tuple[int, int, int], Tensor] = {}

    def cut(self, features: Tensor, window: VoteWindow) -> Tensor:
        """The region of the map [c, h, w] on which the parts must respond to fill the window."""
        (top, bottom), (left, right) = self._needed(features, window)
        return features[:, top : bottom + self._size[0] - 1, left : right + self._size[1] - 1]

    def shift(self, responses: Tensor, features: Tensor, window: VoteWindow) -> Tensor:
        """The responses on that region, each shifted by its part's displacement: [m, h', w'] → [m, rows, columns].

        Zero for the cells of the window for which the part would lie partly outside the map.
        """
        (top, bottom), (left, right) = self._needed(features, window)
        first_row, first_column = window.top - self._high[0], window.left - self._high[1]
        height, width = (self._span(window.rows, 0), self._span(window.columns, 1))
        around = (left - first_column, first_column + width - right, top - first_row, first_row + height - bottom)
        whole = torch.nn.functional.pad(responses, around) if any(around) else responses
        index = self._indices(window.rows, window.columns, width)
        return whole.flatten(1).gather(1, index).view(-1, window.rows, window.columns)

    def _span(self, cells: int, axis: int) -> int:
        """How many places along an axis all parts together respond at."""
        return int(cells + self._high[axis] - self._low[axis])

    def _needed(self, features: Tensor, window: VoteWindow) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns, first and end, of the places that are asked for and where patches lie in the map."""
        ranges = []
        for axis, (start, cells) in enumerate(((window.top, window.rows), (window.left, window.columns))):
            places = features.shape[1 + axis] - self._size[axis] + 1
            wanted = start - self._high[axis]
            first = min(max(wanted, 0), places - 1)
            ranges.append((first, max(first + 1, min(wanted + self._span(cells, axis), places))))
        return ranges[0], ranges[1]

    def _indices(self, rows: int, columns: int, width: int) -> Tensor:
        """Where each part's window lies in its flattened map: [m, rows · columns]."""
        key = (rows, columns, width)
        if key not in self._index:
            device = self._behind.device
            cells = torch.arange(rows, device=device)[:, None] * width + torch.arange(columns, device=device)
            self._index[key] = (self._behind[:, :1] * width + self._behind[:, 1:]) + cells.view(1, -1)
        return self._index[key]
