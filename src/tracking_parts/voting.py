"""From vote maps to the next centre (paper, section 3): ``P_t = (α F_t + (1 − α) C_t) · M_c``, and its maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.geometry import Point

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Opinion:
    """What one pathway's map says, in its own unit."""

    centre: Point  # where its own maximum lies
    peak: float  # that maximum
    at_chosen: float  # its value at the centre that was chosen


@dataclass(frozen=True)
class Decision:
    """P_t, where its maximum lies, and what each pathway makes of that place."""

    vote_map: Tensor  # P_t: [h, w]
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
    filter_votes: Tensor, convnet_votes: Tensor | None, alpha: float, mask: Tensor, usual: Loudness
) -> Decision:
    """The final object centre map and its peak. ``convnet_votes`` is None while the ConvNetPart does not vote.

    The two maps have no common unit: F_t is a mean of classifiers that answer 1 on their own patch, C_t a regressed
    stamp. Each is divided by its own maximum, or by its usual one where that is higher: α then weighs how the pathways
    rank places, and one that is unusually quiet weighs less. Where nobody votes for any place, the object stays.

    All numbers that are needed of the maps leave the device together, so that it is waited for once.
    """
    votes = peak_to_one(filter_votes, usual.filters)
    if convnet_votes is not None:
        votes = alpha * votes + (1 - alpha) * peak_to_one(convnet_votes, usual.convnet)
    masked = votes.clamp_min(0) * mask
    chosen = torch.where(masked.max() > 0, masked, mask)
    pathways = [filter_votes] if convnet_votes is None else [filter_votes, convnet_votes]
    (x, y, _, _), *rows = _summaries(torch.stack([chosen, *pathways])).tolist()  # waits for the device
    opinions = [Opinion((its_x, its_y), top, here) for its_x, its_y, top, here in rows]
    return Decision(masked, (x, y), *opinions)


def _summaries(maps: Tensor) -> Tensor:
    """Of maps [m, h, w]: x, y and value of each one's maximum, and its value in the cell of the first one's: [m, 4]."""
    peaks = refined_peaks(maps)
    columns, rows = peaks[:1, :2].round().long().unbind(dim=1)
    return torch.cat([peaks, maps.flatten(1)[:, rows * maps.shape[2] + columns]], dim=1).cpu()


def uncertainty_mask(
    shape: tuple[int, int], centre: Point, width: float, power: float, floor: float, device: torch.device = CPU
) -> Tensor:
    """M_c: circular, 1 at the last centre and falling as exp(−(d / width)^power) to ``floor``: [h, w]."""
    rows = torch.arange(shape[0], dtype=torch.float32, device=device) - centre[1]
    columns = torch.arange(shape[1], dtype=torch.float32, device=device) - centre[0]
    distance = torch.hypot(rows[:, None], columns[None, :])
    return floor + (1 - floor) * torch.exp(-((distance / width) ** power))


def peak_to_one(votes: Tensor, usual: float = 0.0) -> Tensor:
    """The map divided by its maximum, or by the usual one if that is higher; without a positive value it stays."""
    top = votes.max().clamp_min(usual)
    return votes / torch.where(top > 1e-9, top, 1.0)


def peak(votes: Tensor) -> Point:
    """Position of the maximum of one map, (x, y), refined to a fraction of a cell."""
    positions, _ = refine_peaks(votes.unsqueeze(0))
    return (float(positions[0, 0]), float(positions[0, 1]))


def refine_peaks(maps: Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Maxima of maps [m, h, w]: positions [m, 2] (x, y) with a parabola through the neighbours, and values [m]."""
    peaks = refined_peaks(maps).cpu().numpy()
    return peaks[:, :2], peaks[:, 2]


def refined_peaks(maps: Tensor) -> Tensor:
    """The same where the maps are, so that many can be fetched at once: [m, 3] of x, y and value."""
    count, height, width = maps.shape
    flat = maps.reshape(count, -1)
    values, index = flat.max(dim=1)
    rows, columns = index // width, index % width
    # On the border a neighbour is missing: the cell itself is the best guess.
    across, down = ((columns > 0) & (columns < width - 1)).long(), width * ((rows > 0) & (rows < height - 1)).long()
    neighbours = index[:, None] + torch.stack([-across, across, -down, down], dim=1)
    left, right, above, below = flat.gather(1, neighbours).unbind(dim=1)
    x = columns + _parabola(left, values, right)
    y = rows + _parabola(above, values, below)
    return torch.stack([x, y, values], dim=1).float()


def _parabola(before: Tensor, top: Tensor, after: Tensor) -> Tensor:
    """Offset of the vertex of the parabola through three neighbours, within half a cell."""
    curvature = before - 2 * top + after
    safe = torch.where(curvature < -1e-12, curvature, torch.full_like(curvature, -math.inf))
    return (0.5 * (before - after) / safe).clamp(-0.5, 0.5)


def shift_by_fraction(votes: Tensor, fraction: Point) -> Tensor:
    """Move maps [..., h, w] by part of a cell, (x, y) within ± 1, linearly: what was at u is then at u + fraction."""
    moved = votes
    for axis, amount in ((-1, fraction[0]), (-2, fraction[1])):
        if amount != 0.0:
            moved = (1 - abs(amount)) * moved + abs(amount) * _shift_one(moved, axis, 1 if amount > 0 else -1)
    return moved


def _shift_one(votes: Tensor, axis: int, step: int) -> Tensor:
    shifted = torch.zeros_like(votes)
    length = votes.shape[axis] - 1
    shifted.narrow(axis, max(step, 0), length).copy_(votes.narrow(axis, max(-step, 0), length))
    return shifted


def smooth(votes: Tensor, sigma: float) -> Tensor:
    """Light Gaussian smoothing of one map [h, w]; ``sigma`` in cells, 0 is none."""
    if sigma <= 0:
        return votes
    reach = max(1, math.ceil(2.5 * sigma))
    offsets = torch.arange(-reach, reach + 1, dtype=votes.dtype, device=votes.device)
    kernel = torch.exp(-0.5 * (offsets / sigma) ** 2)
    kernel = kernel / kernel.sum()
    padded = votes[None, None]
    padded = torch.nn.functional.conv2d(padded, kernel.view(1, 1, -1, 1), padding=(reach, 0))
    return torch.nn.functional.conv2d(padded, kernel.view(1, 1, 1, -1), padding=(0, reach))[0, 0]
