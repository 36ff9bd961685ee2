"""The ConvNetPart reduced to linear filters on the frozen features, solved by conjugate gradient (docs/decisions.md).

Same task as the net (draw the centre), same loss (mean squared error against a target drawn around the centre), same
teachers (the first frame and highly confident frames), but a convex problem: a few steps of conjugate gradient
replace hundreds of Adam's, and a filter that slides over the map has seen every shift already.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part.frozen import OnFrozenFeatures
from tracking_parts.convnet_part.pathway import View


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
    count, channels = maps.shape[:2]
    planes = torch.nn.functional.unfold(residuals[:, None], size, padding=(rows // 2, columns // 2))  # [j, r·s, h·w]
    product = torch.bmm(maps.reshape(count, channels, -1), planes.transpose(1, 2)).sum(dim=0)  # [c, r·s]
    return product.view(channels, rows, columns).flip(1, 2)


def conjugate_gradient(apply: Callable[[Tensor], Tensor], right: Tensor, start: Tensor, steps: int) -> Tensor:
    """A few steps towards the solution of ``apply(x) = right`` for a symmetric positive definite ``apply``."""
    x = start
    residual = right - apply(x)
    direction = residual
    energy = residual.square().sum()
    for _ in range(steps):
        if float(energy) <= 1e-20:
            break
        applied = apply(direction)
        length = energy / (direction * applied).sum().clamp_min(1e-30)
        x = x + length * direction
        residual = residual - length * applied
        energy, previous = residual.square().sum(), energy
        direction = residual + (energy / previous) * direction
    return x


@dataclass(frozen=True)
class _Problem:
    """Weighted ridge regression of drawn targets by one sliding filter."""

    maps: Tensor  # [j, c, h, w]
    targets: Tensor  # [j, h, w]
    weights: Tensor  # [j, h, w]
    ridge: Tensor  # scalar

    def solve(self, filter_weights: Tensor, steps: int) -> Tensor:
        size = (filter_weights.shape[1], filter_weights.shape[2])

        def apply(candidate: Tensor) -> Tensor:
            scores = sliding_scores(self.maps, candidate)
            return scores_adjoint(self.maps, self.weights * scores, size) + self.ridge * candidate

        right = scores_adjoint(self.maps, self.weights * self.targets, size)
        return conjugate_gradient(apply, right, filter_weights, steps)


class LinearPathway(OnFrozenFeatures):
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
    def train(self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool) -> float:
        """Solve again from where the filter stands; gives the weighted mean squared error."""
        frames = [*first, *recent]
        maps = torch.stack([frame.features for frame in frames if frame.features is not None])
        if not self._filters:
            self._filters = [
                torch.zeros(
                    self._channels, *filter_size(first[0].object_in_map, support, maps.shape[-1]), device=maps.device
                )
                for support in self._config.supports
            ]
        targets = torch.stack([self._target(frame, maps.shape[-1]) for frame in frames]).to(maps.device)
        shares = frame_weights(len(first), len(recent), self._config.memory_rate, self._config.first_weight)
        ridge = self._config.head_ridge * maps.square().sum(dim=1).mean()
        steps = self._config.first_steps if is_first else self._config.update_steps
        rounds = 2 if is_first else 1  # the set of ignored cells settles in two rounds
        loss = 0.0
        for index, weights in enumerate(self._filters):
            for _ in range(rounds):
                scores = sliding_scores(maps, weights)
                # Background that already scores below zero is no error (hinge): effort goes to what could distract.
                counted = ((targets >= 0.05) | (scores > 0)).float() if is_trained(weights) else torch.ones_like(scores)
                problem = _Problem(maps, targets, counted * shares.to(maps.device)[:, None, None], ridge)
                weights = problem.solve(weights, max(1, steps // rounds))
            self._filters[index] = weights
            error = problem.weights * (sliding_scores(maps, weights) - targets).square()
            loss += float(error.sum() / problem.weights.sum().clamp_min(1e-9)) / len(self._filters)
        return loss

    def _target(self, frame: TrainingFrame, cells: int) -> Tensor:
        """A Gaussian around the centre: the circle stamp with a soft edge, so that its peak has a place."""
        sigma = self._config.target_sigma * (frame.object_in_map[0] * frame.object_in_map[1]) ** 0.5
        index = torch.arange(cells, dtype=torch.float32)
        squared = (index[:, None] - frame.centre_in_map[1]) ** 2 + (index[None, :] - frame.centre_in_map[0]) ** 2
        return torch.exp(-0.5 * squared / max(sigma, 0.5) ** 2)

    def clone(self) -> LinearPathway:
        return copy.copy(self)._with_filters(list(self._filters))

    def _with_filters(self, filters: list[Tensor]) -> LinearPathway:
        self._filters = filters
        return self

    def tensors(self) -> dict[str, Tensor]:
        return {f"filter.{index}": weights for index, weights in enumerate(self._filters)}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        self._filters = [tensors[f"filter.{index}"].to(self._device) for index in range(len(tensors))]


def filter_size(object_in_map: tuple[float, float], support: float, cells: int) -> tuple[int, int]:
    """Rows and columns of a filter that spans ``support`` times the object: odd, at least 3, at most the map."""
    width, height = object_in_map
    largest = cells - 1 if cells % 2 == 0 else cells
    rows, columns = (min(max(3, 2 * round((support * side - 1) / 2) + 1), largest) for side in (height, width))
    return rows, columns


def is_trained(weights: Tensor) -> bool:
    return bool(weights.any())


def frame_weights(first: int, recent: int, rate: float, first_share: float) -> Tensor:
    """Weights of the training frames, summing to 1: recent ones fade, the first ones keep at least a share."""
    fading = torch.tensor([rate * (1 - rate) ** (recent - 1 - index) for index in range(recent)])
    recent_share = min(float(fading.sum()), 1 - first_share)
    if recent:
        fading = fading * (recent_share / float(fading.sum()))
    return torch.cat([torch.full((first,), (1 - recent_share) / max(first, 1)), fading])
