"""The ConvNetPart reduced to linear filters on the frozen features, solved by conjugate gradient (docs/decisions.md).

Same task as the net (draw the centre), same loss (mean squared error against a target drawn around the centre), same
teachers (the first frame and highly confident frames), but a convex problem: a few steps of conjugate gradient
replace hundreds of Adam's, and a filter that slides over the map has seen every shift already.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part.frozen import OnFrozenFeatures
from tracking_parts.convnet_part.pathway import Progress, Trainable, View


def sliding_scores(maps: Tensor, weights: Tensor) -> Tensor:
    """Correlation with one filter, same size: maps [j, c, h, w], weights [c, r, s] (odd) → [j, h, w].

    One matrix product over channels, then a sum of shifted planes: much faster than conv2d with one output.
    """
    count, channels, height, width = maps.shape
    rows, columns = weights.shape[1:]
    planes = weights.flip(1, 2).reshape(channels, -1).T @ maps.reshape(count, channels, -1)  # [j, r·s, h·w]
    full = torch.nn.functional.fold(planes, (height + rows - 1, width + columns - 1), (rows, columns))[:, 0]
    return full[:, rows // 2 : rows // 2 + height, columns // 2 : columns // 2 + width]


def scores_adjoint(maps: Tensor, residuals: Tensor, size: tuple[int, int]) -> Tensor:
    """The transpose of :func:`sliding_scores` in the weights: residuals [j, h, w] → [c, r, s]."""
    rows, columns = size
    count, channels, height, width = maps.shape
    padded = torch.nn.functional.pad(residuals, (columns // 2, columns // 2, rows // 2, rows // 2))
    shifted = padded.unfold(1, height, 1).unfold(2, width, 1)  # [j, r, s, h, w]: a view, copied below
    planes = shifted.reshape(count, rows * columns, height * width)
    product = torch.bmm(maps.reshape(count, channels, -1), planes.transpose(1, 2)).sum(dim=0)  # [c, r·s]
    return product.view(channels, rows, columns).flip(1, 2)


class ConjugateGradient:
    """Towards the solution of ``apply(x) = right`` for a symmetric positive definite ``apply``, a step at a time.

    ``x`` is better after every step, so one may stop anywhere. ``gain`` is by how much the objective
    ``xᵀ apply(x) − 2 xᵀ right`` has fallen since the start. No step waits for the device.
    """

    def __init__(self, apply: Callable[[Tensor], Tensor], residual: Tensor, start: Tensor) -> None:
        self._apply = apply
        self._residual = residual  # right − apply(start)
        self._direction = residual
        self._energy = residual.square().sum()
        self.x = start
        self.gain = torch.zeros_like(self._energy)

    def step(self) -> None:
        applied = self._apply(self._direction)
        length = self._energy / (self._direction * applied).sum().clamp_min(TINY)
        self.x = self.x + length * self._direction
        self.gain = self.gain + length * self._energy
        self._residual = self._residual - length * applied
        energy, previous = self._residual.square().sum(), self._energy
        self._direction = self._residual + (energy / previous.clamp_min(TINY)) * self._direction
        self._energy = energy


TINY = 1e-30  # keeps a finished solution (nothing left to correct) from dividing zero by zero


@dataclass(frozen=True)
class _Lesson:
    """Weighted ridge regression of drawn targets by one sliding filter."""

    maps: Tensor  # [j, c, h, w]
    targets: Tensor  # [j, h, w]
    shares: Tensor  # [j, 1, 1] weights of the frames
    ridge: Tensor  # scalar

    def begin(self, weights: Tensor) -> _Solution:
        """To be approached from a filter.

        Background that already scores below zero is no error (hinge): effort goes to what could distract.
        """
        size = (weights.shape[1], weights.shape[2])
        scores = sliding_scores(self.maps, weights)
        untrained = ~weights.any()  # nobody has said yet what is background: all of it counts
        counted = ((self.targets >= 0.05) | (scores > 0) | untrained).float() * self.shares

        def apply(candidate: Tensor) -> Tensor:
            answers = sliding_scores(self.maps, candidate)
            return scores_adjoint(self.maps, counted * answers, size) + self.ridge * candidate

        error = self.targets - scores
        residual = scores_adjoint(self.maps, counted * error, size) - self.ridge * weights
        objective = (counted * error.square()).sum() + self.ridge * weights.square().sum()
        return _Solution(ConjugateGradient(apply, residual, weights), objective, counted.sum().clamp_min(1e-9))


@dataclass(frozen=True)
class _Solution:
    """On its way: the solver, the objective where it began (weighted squared error plus ridge), the sum of weights."""

    solver: ConjugateGradient
    objective: Tensor
    weight: Tensor

    @property
    def loss(self) -> Tensor:
        return (self.objective - self.solver.gain) / self.weight


class LinearPathway(OnFrozenFeatures, Trainable):
    """One linear filter per support; their maps are averaged. Votes from the frame after the first."""

    def __init__(self, config: TrackerConfig, channels: int, device: torch.device) -> None:
        self._config = config
        self._channels = channels
        self._device = device
        self._filters: list[Tensor] = []

    @torch.inference_mode()
    def vote(self, view: View) -> Tensor:
        maps = view.convnet_features[None]
        votes = torch.stack([sliding_scores(maps, weights)[0] for weights in self._filters]).mean(dim=0)
        return view.on_shared_grid(votes)

    @torch.inference_mode()
    def training(
        self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
    ) -> Iterator[Progress]:
        """Solve again from where the filters stand: a piece is one step of conjugate gradient on each of them."""
        lesson = self._lesson(first, recent)
        if not self._filters:
            sizes = [filter_size(first[0].object_in_map, one, lesson.maps.shape[2:]) for one in self._config.supports]
            self._filters = [torch.zeros(self._channels, *size, device=lesson.maps.device) for size in sizes]
        rounds = 2 if is_first else 1  # the set of ignored cells settles in two rounds
        steps = max(1, (self._config.first_steps if is_first else self._config.update_steps) // rounds)
        for turn in range(rounds):
            solutions = [lesson.begin(weights) for weights in self._filters]
            for step in range(steps):
                for solution in solutions:
                    solution.solver.step()
                self._filters = [solution.solver.x for solution in solutions]
                loss = torch.stack([solution.loss for solution in solutions]).mean()
                yield Progress((turn * steps + step + 1) / (rounds * steps), loss)

    def _lesson(self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]) -> _Lesson:
        frames = [*first, *recent]
        maps = torch.stack([frame.features for frame in frames if frame.features is not None])
        targets = drawn_targets(frames, maps.shape[2:], self._config.target_sigma).to(maps.device)
        shares = frame_weights(len(first), len(recent), self._config.memory_rate, self._config.first_weight)
        ridge = self._config.head_ridge * maps.square().sum(dim=1).mean()
        return _Lesson(maps, targets, shares.to(maps.device)[:, None, None], ridge)

    def clone(self) -> LinearPathway:
        return copy.copy(self)._with_filters(list(self._filters))

    def _with_filters(self, filters: list[Tensor]) -> LinearPathway:
        self._filters = filters
        return self

    def learned(self) -> Iterable[Tensor]:
        return self._filters

    def tensors(self) -> dict[str, Tensor]:
        return {f"filter.{index}": weights for index, weights in enumerate(self._filters)}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        self._filters = [tensors[f"filter.{index}"].to(self._device) for index in range(len(tensors))]


def drawn_targets(frames: Sequence[TrainingFrame], shape: Sequence[int], sigma: float) -> Tensor:
    """A Gaussian around each frame's centre: the circle stamp with a soft edge, so that its peak has a place.

    ``sigma`` is its width in object sizes; [j, h, w].
    """
    centres = np.array([frame.centre_in_map for frame in frames])  # [j, 2] (x, y)
    widths = np.maximum(sigma * np.sqrt([math.prod(frame.object_in_map) for frame in frames]), 0.5)[:, None]
    rows = np.exp(-0.5 * ((np.arange(shape[0]) - centres[:, 1:]) / widths) ** 2)
    columns = np.exp(-0.5 * ((np.arange(shape[1]) - centres[:, :1]) / widths) ** 2)
    return torch.from_numpy((rows[:, :, None] * columns[:, None, :]).astype(np.float32))


def filter_size(object_in_map: tuple[float, float], support: float, shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of a filter that spans ``support`` times the object: odd, at least 3, at most the map."""
    width, height = object_in_map
    rows, columns = (
        min(max(3, 2 * round((support * side - 1) / 2) + 1), cells - 1 + cells % 2)
        for side, cells in zip((height, width), shape, strict=True)
    )
    return rows, columns


def frame_weights(first: int, recent: int, rate: float, first_share: float) -> Tensor:
    """Weights of the training frames, summing to 1: recent ones fade, the first ones keep at least a share."""
    fading = torch.tensor([rate * (1 - rate) ** (recent - 1 - index) for index in range(recent)])
    recent_share = min(float(fading.sum()), 1 - first_share)
    if recent:
        fading = fading * (recent_share / float(fading.sum()))
    return torch.cat([torch.full((first,), (1 - recent_share) / max(first, 1)), fading])
