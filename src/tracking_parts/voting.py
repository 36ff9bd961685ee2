"""From vote maps to the next centre (paper, section 3): ``P_t = (α F_t + (1 − α) C_t) · M_c``, and its maximum.

Vote maps are made on the device and judged on the host: they are small, and many small steps on a device cost more
than fetching them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.geometry import Box, Point

VoteMap = NDArray[np.float32]  # [h, w], on the host
Peaks = tuple[NDArray[np.float32], NDArray[np.float32]]  # positions [m, 2] (x, y) and values [m]


@dataclass(frozen=True)
class Opinion:
    """What one pathway's map says, in its own unit."""

    centre: Point  # where its own maximum lies
    peak: float  # that maximum
    at_chosen: float  # its value at the centre that was chosen


@dataclass(frozen=True)
class Decision:
    """P_t, where its maximum lies, and what each pathway makes of that place."""

    vote_map: VoteMap  # P_t
    centre: Point  # (x, y) in cells, to a fraction of one
    filters: Opinion  # of F_t
    convnet: Opinion | None = None  # of C_t; None while the ConvNetPart does not vote


@dataclass(frozen=True)
class Loudness:
    """How high each pathway's map usually peaks: running means over the frames in which they agreed."""

    filters: float = 0.0
    convnet: float = 0.0

    def after(self, filter_peak: float, convnet_peak: float | None) -> Loudness:
        """One more frame of agreement; the first one sets the level. None: that pathway did not vote."""
        convnet = self.convnet if convnet_peak is None else _running(self.convnet, convnet_peak)
        return Loudness(_running(self.filters, filter_peak), convnet)


def _running(mean: float, value: float) -> float:
    return value if mean == 0.0 else mean + LOUDNESS_RATE * (value - mean)


LOUDNESS_RATE = 0.1  # remembers some ten frames of agreement


def combine(
    filter_votes: Tensor,
    convnet_votes: Tensor | None,
    alpha: float,
    mask: VoteMap,
    usual: Loudness,
    colour_votes: VoteMap | None = None,
    colour_weight: float = 0.0,
) -> Decision:
    """The final object centre map and its peak. ``convnet_votes`` is None while the ConvNetPart does not vote.

    The two maps have no common unit: F_t is a mean of classifiers that answer 1 on their own patch, C_t a regressed
    stamp. Each is divided by its own maximum, or by its usual one where that is higher: α then weighs how the pathways
    rank places, and one that is unusually quiet weighs less. Where nobody votes for any place, the object stays. A map
    that is not finite is no vote. The colour part's votes, shares of 0 to 1, are mixed in as they are by their weight.
    """
    pathways = [filter_votes] if convnet_votes is None else [filter_votes, convnet_votes]
    maps = torch.stack(pathways).cpu().numpy()  # waits for the device, once
    if not np.isfinite(maps[-1]).all() and len(maps) > 1:
        maps = maps[:1]
    if not np.isfinite(maps[0]).all():
        maps[0] = 0.0
    votes = peak_to_one(maps[0], usual.filters)
    if len(maps) > 1:
        votes = alpha * votes + (1 - alpha) * peak_to_one(maps[1], usual.convnet)
    if colour_votes is not None:
        votes = (1 - colour_weight) * votes + colour_weight * colour_votes
    masked = np.maximum(votes, 0) * mask
    chosen = masked if masked.max() > 0 else mask
    (centre, *own), (_, *tops) = refine_peaks(np.stack([chosen, *maps]))
    column, row = centre.round().astype(int)
    opinions = [
        Opinion((float(x), float(y)), float(top), float(votes_of_one[row, column]))
        for (x, y), top, votes_of_one in zip(own, tops, maps, strict=True)
    ]
    return Decision(masked, (float(centre[0]), float(centre[1])), *opinions)


def _numbers_only(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """What is not finite, as from a net that learned too fast, is no vote."""
    return maps if np.isfinite(maps).all() else np.nan_to_num(maps, nan=0.0, posinf=0.0, neginf=0.0)


def uncertainty_mask(shape: tuple[int, int], centre: Point, width: float, power: float, floor: float) -> VoteMap:
    """M_c: circular, 1 at the last centre and falling as exp(−(d / width)^power) to ``floor``: [h, w]."""
    rows = np.arange(shape[0], dtype=np.float32) - np.float32(centre[1])
    columns = np.arange(shape[1], dtype=np.float32) - np.float32(centre[0])
    distance = np.hypot(rows[:, None], columns[None, :])
    return np.asarray(floor + (1 - floor) * np.exp(-((distance / width) ** power)), dtype=np.float32)


def visible_share(
    shape: tuple[int, int], size: tuple[float, float], picture_in_map: Box, last_centre: Point
) -> VoteMap:
    """How much of an object of this width and height would be seen, were its centre there: [h, w].

    Against what is seen of it at its last centre, at most 1: an object at the picture's edge is not drawn inwards.
    """
    (x, y), (width, height), picture = last_centre, size, picture_in_map
    rows, columns = (np.arange(cells, dtype=np.float32) for cells in shape)
    down = _seen_along(rows, y, height, picture.y, picture.y + picture.h)
    across = _seen_along(columns, x, width, picture.x, picture.x + picture.w)
    return down[:, None] * across[None, :]


def _seen_along(cells: NDArray[np.float32], last: float, length: float, low: float, high: float) -> NDArray[np.float32]:
    at, half = np.append(cells, np.float32(last)), np.float32(max(length, 1e-6) / 2)
    seen = np.minimum(at + half, np.float32(high)) - np.maximum(at - half, np.float32(low))
    shares = np.clip(seen / (2 * half), LEAST_SHARE, 1.0)
    return np.asarray(np.minimum(shares[:-1] / shares[-1], 1.0), dtype=np.float32)


LEAST_SHARE = 0.02  # of an object that would hardly be seen at all: places must still rank


def peak_to_one(votes: VoteMap, usual: float = 0.0) -> VoteMap:
    """The map divided by its maximum, or by the usual one if that is higher; without a positive value it stays."""
    top = max(float(votes.max()), usual)
    return votes / np.float32(top) if top > 1e-9 else votes


def peak(votes: VoteMap | Tensor) -> Point:
    """Position of the maximum of one map, (x, y), refined to a fraction of a cell."""
    on_host = votes.cpu().numpy() if isinstance(votes, Tensor) else votes
    positions, _ = refine_peaks(_numbers_only(on_host[None]))
    return (float(positions[0, 0]), float(positions[0, 1]))


def refine_peaks(maps: NDArray[np.float32]) -> Peaks:
    """Maxima of maps [m, h, w]: positions [m, 2] (x, y) with a parabola through the neighbours, and values [m]."""
    count, height, width = maps.shape
    flat, which = maps.reshape(count, height * width), np.arange(count)
    index = flat.argmax(axis=1)
    rows, columns = np.divmod(index, width)
    # On the border a neighbour is missing: the cell itself is the best guess.
    across, down = (columns > 0) & (columns < width - 1), width * ((rows > 0) & (rows < height - 1))
    values = flat[which, index]
    x = columns + _parabola(flat[which, index - across], values, flat[which, index + across])
    y = rows + _parabola(flat[which, index - down], values, flat[which, index + down])
    return np.stack([x, y], axis=1).astype(np.float32), values


def _parabola(before: NDArray[np.float32], top: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float32]:
    """Offset of the vertex of the parabola through three neighbours, within half a cell."""
    curvature = before - 2 * top + after
    safe = np.where(curvature < -1e-12, curvature, np.float32(-math.inf))
    return np.asarray(np.clip(0.5 * (before - after) / safe, -0.5, 0.5), dtype=np.float32)


def smooth(votes: Tensor, sigma: float) -> Tensor:
    """Light Gaussian smoothing of one map [h, w]; ``sigma`` in cells, 0 is none. Outside the map is nothing."""
    if sigma <= 0:
        return votes
    rows, columns = (_gaussian_band(length, sigma, votes.device) for length in votes.shape)
    return rows @ votes @ columns  # symmetric: no transpose


@lru_cache(maxsize=64)
def _gaussian_band(length: int, sigma: float, device: torch.device) -> Tensor:
    """Smoothing along one axis as a matrix: [length, length]."""
    reach = max(1, math.ceil(2.5 * sigma))
    offsets = torch.arange(-reach, reach + 1)
    kernel = torch.exp(-0.5 * (offsets / sigma) ** 2)
    apart = torch.arange(length)[:, None] - torch.arange(length) + reach
    inside = (apart >= 0) & (apart < len(kernel))
    band = torch.where(inside, (kernel / kernel.sum())[apart.clamp(0, len(kernel) - 1)], 0.0)
    return band.to(device)
