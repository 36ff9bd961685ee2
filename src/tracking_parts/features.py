"""Frozen VGG-16 features (paper, section 3, "Tracker structure"): 3x3 convolutions with ReLU and 2x2 max-pools.

The layers are described by data (:mod:`tracking_parts.vgg`), so that a tap may sit after any of them. The paper uses
the first seven (``conv1_1`` … ``conv3_3``, 256 channels, stride 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from tracking_parts.errors import LearningError, WeightsError
from tracking_parts.frames import Frame
from tracking_parts.threads import trunk_threads
from tracking_parts.trunk_engines import Maps, TrunkEngine, choose_engine
from tracking_parts.vgg import VGGLayer, layers_of, layers_up_to

IMAGENET_MEAN_RGB = (0.485, 0.456, 0.406)
IMAGENET_STD_RGB = (0.229, 0.224, 0.225)
PIXELS_AT_ONCE = 16 * 128 * 128  # of one batch; torch's largest maps then take 64 MB each


class VGGTrunk(nn.Module):
    """The first layers of VGG-16, as deep as its deepest tap; :meth:`forward` gives the maps after each tap's ReLU.

    Layers may be those of a light trunk (:mod:`tracking_parts.light_trunk`).
    """

    mean: Tensor
    std: Tensor

    def __init__(self, taps: Sequence[str], layers: Sequence[VGGLayer] | None = None) -> None:
        super().__init__()
        self.taps = tuple(taps)
        self.layers = layers_up_to(self.taps) if layers is None else tuple(layers)
        self.convolutions = nn.ModuleDict({layer.name: _convolution(layer) for layer in self.layers})
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN_RGB).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(IMAGENET_STD_RGB).view(1, 3, 1, 1), persistent=False)

    def load(self, weights: Mapping[str, Tensor]) -> VGGTrunk:
        """Take the weights named ``conv1_1.weight``, ``conv1_1.bias``, …, and ``conv1_2.mix`` where factorised."""
        if layers_of(weights, self.taps) != self.layers:
            raise WeightsError("these weights are those of a light trunk; a net that is trained needs the whole ones")
        names = [f"{layer}.{name}" for layer, part in self.convolutions.items() for name in part.state_dict()]
        self.convolutions.load_state_dict({name: weights[name] for name in names})
        return self

    def forward(self, rgb: Tensor) -> dict[str, Tensor]:
        """RGB in 0–1, [batch, 3, height, width] → tap name → [batch, channels, height / stride, width / stride]."""
        maps: dict[str, Tensor] = {}
        x = (rgb - self.mean) / self.std
        for layer in self.layers:
            if layer.pool_before:
                x = nn.functional.max_pool2d(x, 2)
            x = torch.relu_(self.convolutions[layer.name](x))
            if layer.name in self.taps:
                maps[layer.name] = x
        return maps


class FactorisedConvolution(nn.Module):
    """A 3x3 convolution to fewer channels, mixed into more by a 1x1 convolution, which alone has a bias."""

    def __init__(self, in_channels: int, rank: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rank, in_channels, 3, 3))
        self.mix = nn.Parameter(torch.empty(out_channels, rank))
        self.bias = nn.Parameter(torch.empty(out_channels))

    def forward(self, x: Tensor) -> Tensor:
        narrow = nn.functional.conv2d(x, self.weight, padding=1)
        return nn.functional.conv2d(narrow, self.mix[:, :, None, None], self.bias)


def _convolution(layer: VGGLayer) -> nn.Module:
    if layer.rank is None:
        return nn.Conv2d(layer.in_channels, layer.out_channels, 3, padding=1)
    return FactorisedConvolution(layer.in_channels, layer.rank, layer.out_channels)


def standardise(rgb: Tensor) -> Tensor:
    """RGB in 0–1 as the network was trained on it: [..., 3, height, width]."""
    return (rgb - rgb.new_tensor(IMAGENET_MEAN_RGB).view(3, 1, 1)) / rgb.new_tensor(IMAGENET_STD_RGB).view(3, 1, 1)


def rgb_batch(crops: Sequence[Frame], device: torch.device) -> Tensor:
    """BGR crops of one size as one channels-last batch, RGB in 0–1: [batch, 3, height, width]."""
    stacked = np.stack([cv2.cvtColor(crop, cv2.COLOR_BGR2RGB) for crop in crops])
    batch = torch.from_numpy(stacked).to(device)
    return batch.permute(0, 3, 1, 2).to(torch.float32).div_(255.0).contiguous(memory_format=torch.channels_last)


class TorchTrunk:
    """The trunk in torch, on any device."""

    name = "torch"

    def __init__(self, weights: Mapping[str, Tensor], taps: Sequence[str], device: torch.device) -> None:
        trunk = VGGTrunk(taps, layers_of(weights, taps)).load(weights).to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._trunk: VGGTrunk = trunk.eval().requires_grad_(False)

    @torch.inference_mode()
    def __call__(self, rgb: Tensor) -> Maps:
        before, wanted = torch.get_num_threads(), trunk_threads()
        if wanted == before:
            return self._maps(rgb)
        torch.set_num_threads(wanted)
        try:
            return self._maps(rgb)
        finally:
            torch.set_num_threads(before)

    def _maps(self, rgb: Tensor) -> Maps:
        maps: Maps = self._trunk(rgb)
        return maps

    def expect_batches(self) -> None:
        """Torch takes batches as they come."""

    def side_by_side(self) -> AbstractContextManager[bool]:
        """Torch shares the work of a batch out by itself."""
        return nullcontext(False)


class FeatureExtractor:
    """Frozen trunk on one device: crops in, maps at the taps out."""

    def __init__(
        self, weights: Mapping[str, Tensor], taps: Sequence[str], device: torch.device, engine: str = "torch"
    ) -> None:
        self.device = device
        self.taps = tuple(taps)
        self.layers = layers_of(weights, taps)
        self.engine: TrunkEngine = choose_engine(engine, TorchTrunk(weights, taps, device), weights, taps, device)

    def expect_batches(self) -> None:
        """Prepare for many crops at once, which costs some time and memory now."""
        self.engine.expect_batches()

    @torch.inference_mode()
    def __call__(self, crops: Sequence[Frame]) -> Maps:
        """Maps of BGR crops of one size: tap name → [batch, channels, rows, columns]."""
        at_once = max(1, PIXELS_AT_ONCE // (crops[0].shape[0] * crops[0].shape[1]))
        batches = [crops[start : start + at_once] for start in range(0, len(crops), at_once)]
        found = [self.engine(rgb_batch(batch, self.device)) for batch in batches]
        return found[0] if len(found) == 1 else {tap: torch.cat([maps[tap] for maps in found]) for tap in self.taps}


def each_alone(maps: Maps) -> list[Maps]:
    """The maps of every picture of a batch, as if it had been alone: [1, channels, rows, columns]."""
    count = len(next(iter(maps.values())))
    return [{tap: found[index : index + 1] for tap, found in maps.items()} for index in range(count)]


def normalise_cells(features: Tensor, damping: float) -> Tensor:
    """Divide each cell by its own RMS over channels plus ``damping`` times the map's RMS: [..., c, h, w].

    Keeps a bright or busy cell from outvoting the rest. ``damping`` <= 0 leaves the features as they are.
    """
    return features if damping <= 0 else features / cell_scale(features, damping)


def cell_scale(features: Tensor, damping: float) -> Tensor:
    """What each cell is divided by: [..., c, h, w] → [..., 1, h, w]."""
    energy = features.square().mean(dim=-3, keepdim=True)
    whole = energy.mean(dim=(-2, -1), keepdim=True).sqrt()
    return energy.sqrt() + damping * whole + 1e-6


def _principal_axes(centred: Tensor, count: int) -> Tensor:
    """Leading principal axes of rows [n, c]: [count, c].

    In double precision: pictures with little in them have a covariance of low rank, on which single may not converge.
    """
    rows = centred.double()
    if not bool(torch.isfinite(rows).all()):
        raise LearningError("the network's features of the first frame are not finite")
    if count < len(rows) < rows.shape[1]:  # the products of rows are fewer, and have the same axes
        values, of_rows = torch.linalg.eigh(rows @ rows.T)  # columns, by ascending eigenvalue
        if float(values[-count]) > LOW_RANK * float(values[-1]):
            axes: Tensor = (rows.T @ of_rows[:, -count:]) / values[-count:].sqrt()
            return axes.flip(1).T.float().contiguous()
    vectors: Tensor = torch.linalg.eigh(rows.T @ rows).eigenvectors
    return vectors[:, -count:].flip(1).T.float().contiguous()


LOW_RANK = 1e-9  # of the largest eigenvalue: below it an axis is made of rounding errors


@dataclass(frozen=True)
class Projection:
    """A linear map of the channels, fitted on the first frame and frozen: centre, then the leading principal axes."""

    mean: Tensor  # [c]
    axes: Tensor  # [d, c]
    damping: float

    @classmethod
    def fit(cls, features: Tensor, channels: int, damping: float) -> Projection:
        """Principal axes of maps [batch, c, h, w]; ``channels`` = 0 keeps all channels as they are, uncentred."""
        normalised = normalise_cells(features, damping)
        count = features.shape[1]
        if channels == 0:
            identity = torch.eye(count, device=features.device)
            return cls(torch.zeros(count, device=features.device), identity, damping)
        rows = normalised.permute(0, 2, 3, 1).reshape(-1, count)
        mean = rows.mean(dim=0)
        centred = rows - mean
        axes = _principal_axes(centred, min(channels, count))
        return cls(mean, axes, damping)

    @cached_property
    def is_identity(self) -> bool:
        """Read once, not in every frame: it waits for the device."""
        return self.axes.shape[0] == self.axes.shape[1] and not bool(self.mean.any())

    def __call__(self, features: Tensor) -> Tensor:
        """[..., c, h, w] → [..., d, h, w]. A cell's scale is divided out after the projection, of fewer channels."""
        if self.is_identity:
            return normalise_cells(features, self.damping)
        projected = (self.axes @ features.flatten(-2)).view(*features.shape[:-3], -1, *features.shape[-2:])
        if self.damping > 0:
            projected = projected / cell_scale(features, self.damping)
        return projected - (self.axes @ self.mean).view(-1, 1, 1)
