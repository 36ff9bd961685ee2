"""Inner products between patches of two maps, for all patches at once.

``<patch p of X, patch q of Y>`` is the sum of ``K[p + δ, q + δ]`` over the cells δ of a patch, where ``K`` holds the
inner products of single cells: one matrix product, then sums along displacements. The data matrix D of patch
descriptors is never formed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tracking_parts.filter_parts.patches import Size, Tops


def correlate(features: Tensor, filters: Tensor) -> Tensor:
    """The definition: filters [m, c, r, s] over a map [c, h, w] → [m, h−r+1, w−s+1]."""
    return torch.nn.functional.conv2d(features.unsqueeze(0), filters)[0]


def descriptors(features: Tensor, tops: Tops, size: Size) -> Tensor:
    """The data matrix D, formed: one row per patch, cell after cell, [n, r · s · c]."""
    channels, _, width = features.shape
    first = tops @ np.array([width, 1])
    cells = np.add.outer(np.arange(size[0]) * width, np.arange(size[1])).ravel()
    index = torch.as_tensor(np.add.outer(first, cells).ravel(), device=features.device)
    all_cells = features.permute(1, 2, 0).reshape(-1, channels)  # whole cells are copied, not numbers one by one
    return all_cells.index_select(0, index).view(len(tops), -1)


def gram_matrix(features: Tensor, tops: Tops, size: Size) -> tuple[Tensor, Tensor | None]:
    """D Dᵀ for the given patches of one map, [n, n], and D if it was formed for it.

    It is not where the sums along displacements cost less.
    """
    channels, height, width = features.shape
    with_d = len(tops) ** 2 * channels * size[0] * size[1]
    if with_d <= displacement_sums_cost(channels, (height, width), (height, width), size):
        matrix = descriptors(features, tops, size)
        return matrix @ matrix.T, matrix
    return responses_of_patches(features, features, tops, size)[:, tops[:, 0], tops[:, 1]], None


def displacement_sums_cost(channels: int, reference: tuple[int, int], search: tuple[int, int], size: Size) -> int:
    """What :func:`responses_of_patches` costs, in fused multiplications of a matrix product."""
    # A term of the sums moves memory: measured, it costs as much as some forty of them.
    passes = 40 * (size[0].bit_length() + size[1].bit_length())
    return reference[0] * reference[1] * search[0] * search[1] * (channels + passes)


def responses_of_patches(reference: Tensor, search: Tensor, tops: Tops, size: Size) -> Tensor:
    """D x(u): each reference patch against every place u of the search map, [n, h'−r+1, w'−s+1].

    Displacements are taken row by row, so that the products of cells in question stay in the processor's cache.
    """
    rows, (height, width) = size[0], search.shape[1:]
    order = np.argsort(tops[:, 0], kind="stable")
    sorted_rows = tops[order, 0]
    row, column, number = (torch.as_tensor(a, device=search.device) for a in (sorted_rows, tops[order, 1], order))
    reference_rows = reference.permute(1, 2, 0).contiguous()  # [h, w, c]
    search_rows = search.permute(1, 0, 2).contiguous()  # [h', c, w']
    found = search.new_empty(len(tops), height - rows + 1, width - size[1] + 1)
    for down in range(-int(sorted_rows[-1]), height - rows - int(sorted_rows[0]) + 1):
        # The patches that lie in the search map when moved down by so much.
        start, end = np.searchsorted(sorted_rows, (-down, height - rows - down + 1)).tolist()
        if start < end:
            top, bottom = int(sorted_rows[start]), int(sorted_rows[end - 1]) + rows
            cells = torch.bmm(reference_rows[top:bottom], search_rows[top + down : bottom + down])  # [rows, w, w']
            products = _diagonal_sums(_row_sums(cells, rows), size[1])
            of_patches = products[row[start:end] - top, column[start:end]]
            found[number[start:end], row[start:end] + down] = of_patches
    return found


def _row_sums(cells: Tensor, length: int) -> Tensor:
    """Sums of ``length`` consecutive terms along the first axis."""

    def plus_shifted(first: Tensor, second: Tensor, shift: int) -> Tensor:
        terms = min(len(first), len(second) - shift)
        return first[:terms] + second[shift : shift + terms]

    return _sum_by_doubling(cells, length, plus_shifted)


def _diagonal_sums(cells: Tensor, length: int) -> Tensor:
    """Sums of ``length`` consecutive terms moving along the second and third axis together."""

    def plus_shifted(first: Tensor, second: Tensor, shift: int) -> Tensor:
        rows, columns = (min(first.shape[axis], second.shape[axis] - shift) for axis in (1, 2))
        return first[:, :rows, :columns] + second[:, shift : shift + rows, shift : shift + columns]

    return _sum_by_doubling(cells, length, plus_shifted)


def _sum_by_doubling(terms: Tensor, length: int, plus_shifted: Callable[[Tensor, Tensor, int], Tensor]) -> Tensor:
    """Window sums from windows of 1, 2, 4, … terms: as many passes as ``length`` has binary digits."""
    total: Tensor | None = None
    done, window, power = 0, terms, 1
    while True:
        if length & power:
            # ``total`` sums the first ``done`` terms; append a window of ``power`` terms after them.
            total = window if total is None else plus_shifted(total, window, done)
            done += power
        if done == length:
            assert total is not None
            return total
        window = plus_shifted(window, window, power)
        power *= 2
