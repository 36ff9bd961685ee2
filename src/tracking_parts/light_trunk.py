"""A trunk of less than half the work: VGG's convolutions, each in two steps of lower rank.

The responses of a layer to real pictures lie near a space of fewer dimensions than it has channels. So a 3x3
convolution with o outputs is replaced by one with r < o outputs, without bias and ReLU, and a 1x1 convolution that
mixes these into the o outputs. :func:`factorise` finds both from pictures in seconds; nothing is trained.

In a dictionary of weights a factorised layer has ``conv1_2.weight`` [r, c, 3, 3], ``conv1_2.mix`` [o, r] and
``conv1_2.bias`` [o]; the other layers are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d

from tracking_parts.features import standardise
from tracking_parts.trunk_engines import layers_up_to
from tracking_parts.vgg import VGGLayer

METHOD = "reduced-rank regression 1"  # to be raised when the same pictures and ranks come to mean other weights

# About a third of the channels: half of them would save a quarter of the time only. conv1_1 is too cheap to gain
# anything, and no profile goes beyond conv4_1.
RANKS: Mapping[str, int] = {
    "conv1_2": 24,
    "conv2_1": 40,
    "conv2_2": 40,
    "conv3_1": 80,
    "conv3_2": 80,
    "conv3_3": 80,
    "conv4_1": 128,
}
CELLS = 20_000  # of each layer's maps, drawn at random: many times the 512 channels there are at most
PICTURES_AT_ONCE = 8
RIDGE = 1e-6  # of the mean variance of a channel

Weights = dict[str, Tensor]


@torch.no_grad()
def factorise(weights: Mapping[str, Tensor], rgb: Tensor, ranks: Mapping[str, int] = RANKS) -> Weights:
    """The weights with the layers in ``ranks`` factorised, from pictures in RGB, 0–1: [n, 3, height, width].

    Layer by layer, by reduced-rank regression. Let b [o] be the responses of the whole network's layer in one cell,
    before the ReLU, and a [o] what the same filters W respond to the maps of the layers that are factorised already.
    With means taken off, G = S_ba S_aa⁻¹ is the best linear map from a to b, and the columns of U [o, r], the leading
    eigenvectors of G S_ab, span the r dimensions in which it explains most of b. The layer becomes U (Uᵀ G W) and a
    bias. As a, not b, is what it starts from, it makes up for errors of the layers below.
    """
    factorised = dict(weights)
    generator = torch.Generator().manual_seed(0)
    pictures = standardise(rgb).contiguous(memory_format=torch.channels_last)
    batches = [pictures[start : start + PICTURES_AT_ONCE] for start in range(0, len(pictures), PICTURES_AT_ONCE)]
    whole_maps = light_maps = batches
    for layer in layers_up_to(tuple(ranks)):
        still_equal = light_maps is whole_maps
        whole_maps = [_responses(maps, weights, layer) for maps in whole_maps]
        light_maps = whole_maps if still_equal else [_responses(maps, weights, layer) for maps in light_maps]
        if layer.name in ranks:
            places = _some_places(whole_maps, generator)
            regression = Regression.fit(_cells(light_maps, places), _cells(whole_maps, places), ranks[layer.name])
            factorised |= regression.factors(layer.name, weights)
            light_maps = [regression(maps) for maps in light_maps]
        for maps in whole_maps if light_maps is whole_maps else (*whole_maps, *light_maps):
            maps.relu_()
    return factorised


@dataclass(frozen=True)
class Regression:
    """b ≈ mean_b + U P (a − mean_a), in double precision."""

    mean_a: Tensor  # [o]
    mean_b: Tensor  # [o]
    u: Tensor  # [o, r], orthonormal columns
    p: Tensor  # [r, o]

    @classmethod
    def fit(cls, a: Tensor, b: Tensor, rank: int) -> Regression:
        """The best of that rank for cells a and b, both [n, o]."""
        a, b = a.double(), b.double()
        mean_a, mean_b = a.mean(dim=0), b.mean(dim=0)
        a, b = a - mean_a, b - mean_b
        s_aa, s_ba = a.T @ a / len(a), b.T @ a / len(a)
        s_aa.diagonal().add_(RIDGE * s_aa.diagonal().mean())
        g = torch.linalg.solve(s_aa, s_ba.T).T
        explained = g @ s_ba.T
        vectors: Tensor = torch.linalg.eigh((explained + explained.T) / 2).eigenvectors  # by ascending eigenvalue
        u = vectors[:, -rank:].flip(1)
        return cls(mean_a, mean_b, u, u.T @ g)

    def __call__(self, responses: Tensor) -> Tensor:
        """Responses a, [n, o, h, w], to those that it predicts."""
        mixed = self.u @ self.p
        kernel = mixed.float()[:, :, None, None]
        return conv2d(responses, kernel, (self.mean_b - mixed @ self.mean_a).float())

    def factors(self, layer: str, weights: Mapping[str, Tensor]) -> Weights:
        """The two steps of the layer, whose filters gave a."""
        weight, bias = weights[f"{layer}.weight"].double(), weights[f"{layer}.bias"].double()
        return {
            f"{layer}.weight": torch.einsum("ro,ocij->rcij", self.p, weight).float().contiguous(),
            f"{layer}.mix": self.u.float().contiguous(),
            f"{layer}.bias": (self.mean_b + self.u @ (self.p @ (bias - self.mean_a))).float(),
        }


def _responses(maps: Tensor, weights: Mapping[str, Tensor], layer: VGGLayer) -> Tensor:
    """Of a whole layer, before its ReLU."""
    pooled = max_pool2d(maps, 2) if layer.pool_before else maps
    return conv2d(pooled, weights[f"{layer.name}.weight"], weights[f"{layer.name}.bias"], padding=1)


def _some_places(batches: Sequence[Tensor], generator: torch.Generator) -> list[Tensor]:
    """Indices of cells within each batch, as many of each as it has a share in all pictures."""
    pictures = sum(len(maps) for maps in batches)
    return [
        torch.randperm(len(maps) * maps.shape[2] * maps.shape[3], generator=generator)[: CELLS * len(maps) // pictures]
        for maps in batches
    ]


def _cells(batches: Sequence[Tensor], places: Sequence[Tensor]) -> Tensor:
    """The channels in those cells, [n, o]."""
    return torch.cat(
        [maps.permute(0, 2, 3, 1).flatten(0, 2)[chosen] for maps, chosen in zip(batches, places, strict=True)]
    )
