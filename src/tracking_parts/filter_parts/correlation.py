"""Inner products between patches of two maps, for all patches at once.

``<patch p of X, patch q of Y>`` is the sum of ``K[p + δ, q + δ]`` over the cells δ of a patch, where ``K`` holds the
inner products of single cells: one matrix product, then sums along displacements. The data matrix D of patch
descriptors is never formed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tracking_parts.filter_parts.patches import Size, Tops


def patch_products(reference: Tensor, search: Tensor, size: Size) -> Tensor:
    """All inner products: [c, h, w] x [c, h', w'] → [h−r+1, w−s+1, h'−r+1, w'−s+1] for patches of r x s cells."""
    channels, height, width = reference.shape
    cells = reference.reshape(channels, -1).T @ search.reshape(channels, -1)
    products = cells.view(height, width, search.shape[1], search.shape[2])
    return _diagonal_sums(_diagonal_sums(products, 0, size[0]), 1, size[1])


def _diagonal_sums(products: Tensor, axis: int, length: int) -> Tensor:
    """Sum of ``length`` consecutive terms moving along ``axis`` and ``axis + 2`` together, by doubling the window."""
    total: Tensor | None = None
    done, window, power = 0, products, 1
    while True:
        if length & power:
            # ``total`` sums the first ``done`` terms; append a window of ``power`` terms after them.
            total = window if total is None else _plus_shifted(total, window, axis, done)
            done += power
        if done == length:
            assert total is not None
            return total
        window = _plus_shifted(window, window, axis, power)
        power *= 2


def _plus_shifted(first: Tensor, second: Tensor, axis: int, shift: int) -> Tensor:
    """``first[i] + second[i + shift]`` along the two coupled axes, where both exist."""
    lengths = [min(first.shape[a], second.shape[a] - shift) for a in (axis, axis + 2)]
    near = first.narrow(axis, 0, lengths[0]).narrow(axis + 2, 0, lengths[1])
    far = second.narrow(axis, shift, lengths[0]).narrow(axis + 2, shift, lengths[1])
    return near + far


def descriptors(features: Tensor, tops: Tops, size: Size) -> Tensor:
    """The data matrix D, formed: one row per patch, [n, c · r · s]."""
    windows = features.unfold(1, size[0], 1).unfold(2, size[1], 1)  # [c, h', w', r, s]
    rows = torch.as_tensor(tops[:, 0], device=features.device)
    columns = torch.as_tensor(tops[:, 1], device=features.device)
    return windows[:, rows, columns].transpose(0, 1).reshape(len(tops), -1)


def gram_matrix(features: Tensor, tops: Tops, size: Size) -> Tensor:
    """D Dᵀ for the given patches of one map, [n, n]; without D where the sums along displacements cost less."""
    channels, height, width = features.shape
    multiplications_with_d = len(tops) ** 2 * channels * size[0] * size[1]
    # A term of the sums along displacements moves memory and costs as much as some sixteen fused multiplications.
    passes = 16 * (size[0].bit_length() + size[1].bit_length())
    multiplications_without = (height * width) ** 2 * (channels + passes)
    if multiplications_with_d <= multiplications_without:
        matrix = descriptors(features, tops, size)
        return matrix @ matrix.T
    return responses_of_patches(features, features, tops, size)[:, tops[:, 0], tops[:, 1]]


def responses_of_patches(reference: Tensor, search: Tensor, tops: Tops, size: Size) -> Tensor:
    """D x(u): each reference patch against every position u of the search map, [n, h'−r+1, w'−s+1]."""
    products = patch_products(reference, search, size)
    return products[np.asarray(tops[:, 0]), np.asarray(tops[:, 1])]


def correlate(features: Tensor, filters: Tensor) -> Tensor:
    """The definition: filters [m, c, r, s] over a map [c, h, w] → [m, h−r+1, w−s+1]."""
    return torch.nn.functional.conv2d(features.unsqueeze(0), filters)[0]
