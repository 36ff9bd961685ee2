"""A trunk of a quarter of the work: VGG's convolutions with fewer channels, most of them in two steps of lower rank.

The responses of a layer to real pictures lie near a space of fewer dimensions than it has channels, and the next layer
can do without some of them. So a 3x3 convolution sees and makes fewer channels than VGG's, and is mostly split into one
with r outputs, without bias and ReLU, and a 1x1 convolution that mixes these into its outputs. :func:`slim_down` finds
all of it from pictures in seconds, by least squares; nothing is trained.

In a dictionary of weights a layer in two steps has ``conv1_2.weight`` [r, c, 3, 3], ``conv1_2.mix`` [o, r] and
``conv1_2.bias`` [o]; the others have a weight [o, c, 3, 3] and a bias [o], as in VGG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import conv2d, max_pool2d, pad

from tracking_parts.features import standardise
from tracking_parts.vgg import VGGLayer, layers_up_to

METHOD = "patch regression 1"  # to be raised when the same pictures and sizes come to mean other weights


@dataclass(frozen=True)
class Slim:
    """What is left of a layer: of its outputs those that the next layer needs most, and of their space a rank."""

    channels: int | None = None  # None: all
    rank: int | None = None  # None: one step


# The layers at both ends of the trunk's taps keep all outputs: these are the features. Nothing goes beyond conv4_1.
SLIM: Mapping[str, Slim] = {
    "conv1_1": Slim(32),
    "conv1_2": Slim(48, 24),
    "conv2_1": Slim(96, 40),
    "conv2_2": Slim(96, 40),
    "conv3_1": Slim(192, 80),
    "conv3_2": Slim(192, 80),
    "conv3_3": Slim(None, 80),
    "conv4_1": Slim(None, 128),
}
CELLS = 20_000  # of each layer's maps, drawn at random
CELLS_TO_CHOOSE = 8_000  # as many decide which channels stay
PICTURES_AT_ONCE = 8
RIDGE = 1e-2  # of the mean variance of an input: so strongly a layer is held to VGG's own filters

Weights = dict[str, Tensor]
Batches = Sequence[Tensor]  # maps of some pictures each, [n, c, h, w]


@torch.no_grad()
def slim_down(weights: Mapping[str, Tensor], rgb: Tensor, slim: Mapping[str, Slim] = SLIM) -> Weights:
    """The weights with the layers in ``slim`` made smaller, from pictures in RGB, 0–1: [n, 3, height, width].

    From the first layer to the last. Let b be the responses of the whole network's layer in one cell, before the ReLU,
    and x the patch of the slim network's maps that it sees there: the layer is the linear map of that rank from x that
    comes nearest to b (:class:`PatchRegression`). As it starts from the slim network's maps, it makes up for errors of
    the layers below.
    """
    slimmed = dict(weights)
    generator = torch.Generator().manual_seed(0)
    pictures = standardise(rgb)
    whole: Batches = [pictures[start : start + PICTURES_AT_ONCE] for start in range(0, len(pictures), PICTURES_AT_ONCE)]
    light, kept_inputs = whole, torch.arange(pictures.shape[1])
    layers = layers_up_to(tuple(slim))
    for layer, following in zip(layers, (*layers[1:], None), strict=True):
        size = slim.get(layer.name, Slim())
        whole, light = _pooled(whole, layer), _pooled(light, layer)
        responses = _responses(whole, weights, layer)
        whole = [maps.relu() for maps in responses]
        kept = torch.arange(layer.out_channels)
        if layer.name not in slim and len(kept_inputs) == layer.in_channels:  # nothing to make smaller
            light, kept_inputs = [maps.relu_() for maps in _responses(light, weights, layer)], kept
            continue
        places = _some_places(responses, CELLS, generator)
        if size.channels is not None and following is not None:
            kept = _needed_by(following, whole, weights, size.channels, generator)
        own = weights[f"{layer.name}.weight"][kept][:, kept_inputs].flatten(1)
        fitted = PatchRegression.fit(_patches(light, places), _cells(responses, places)[:, kept], own, size.rank)
        slimmed |= fitted.as_layer(layer.name)
        light = [fitted(maps).relu_() for maps in light]
        kept_inputs = kept
    return slimmed


@dataclass(frozen=True)
class PatchRegression:
    """b ≈ U P x + bias for patches x of 3x3 cells; without a rank U is the identity."""

    p: Tensor  # [r, c · 9]
    u: Tensor | None  # [o, r], orthonormal columns
    bias: Tensor  # [o]

    @classmethod
    def fit(cls, x: Tensor, b: Tensor, own: Tensor, rank: int | None) -> PatchRegression:
        """Of cells x [n, c · 9] and b [n, o], held to the filters ``own`` [o, c · 9] by a ridge.

        With means taken off, G = own + S_ex (S_xx + λ I)⁻¹ for what own leaves of b, e = b − own x. The columns of U
        are the leading eigenvectors of G S_xx Gᵀ: the r dimensions in which G x varies most.
        """
        mean_x, mean_b = x.mean(dim=0), b.mean(dim=0)
        x, b = x - mean_x, b - mean_b
        s_xx = (x.T @ x / len(x)).double()
        s_ex = ((b - x @ own.T).T @ x / len(x)).double()
        ridge = RIDGE * s_xx.diagonal().mean() * torch.eye(len(s_xx), dtype=torch.float64)
        g = own.double() + torch.linalg.solve(s_xx + ridge, s_ex.T).T
        if rank is None:
            return cls(g.float(), None, mean_b - (g @ mean_x.double()).float())
        explained = g @ s_xx @ g.T
        vectors: Tensor = torch.linalg.eigh((explained + explained.T) / 2).eigenvectors  # by ascending eigenvalue
        u = vectors[:, -rank:].flip(1)
        p = u.T @ g
        return cls(p.float(), u.float().contiguous(), mean_b - (u @ (p @ mean_x.double())).float())

    def __call__(self, maps: Tensor) -> Tensor:
        """Maps [n, c, h, w] to responses [n, o, h, w]."""
        filters = self.p if self.u is None else self.u @ self.p
        return conv2d(maps, filters.view(len(filters), -1, 3, 3), self.bias, padding=1)

    def as_layer(self, name: str) -> Weights:
        steps = {f"{name}.weight": self.p.view(len(self.p), -1, 3, 3).contiguous(), f"{name}.bias": self.bias}
        return steps if self.u is None else {**steps, f"{name}.mix": self.u}


def most_needed(x: Tensor, b: Tensor, count: int) -> Tensor:
    """Which channels of patches x [n, c · 9] predict b [n, o] best together: ``count`` indices, ascending.

    From all of them, the one that is missed least goes, until so many are left. With Q = S_xx⁻¹ and the coefficients
    B = S_bx Q, to lose channel i costs tr(B_i Q_ii⁻¹ B_iᵀ), where Q_ii is its block of 9 x 9, and changes Q and B of
    the others by known amounts: nothing is solved again.
    """
    x, b = x - x.mean(dim=0), b - b.mean(dim=0)
    s_xx = (x.T @ x / len(x)).double()
    s_xx.diagonal().add_(MISSING_RIDGE * s_xx.diagonal().mean())
    q = torch.linalg.inv(s_xx)
    coefficients = (b.T @ x / len(x)).double() @ q
    count_all = x.shape[1] // 9
    stays = list(range(count_all))
    while len(stays) > count:
        blocks = q.view(count_all, 9, count_all, 9)[stays, :, stays]  # [m, 9, 9]
        theirs = coefficients.view(-1, count_all, 9)[:, stays].permute(1, 2, 0)  # [m, 9, o]
        missed = (theirs * torch.linalg.solve(blocks, theirs)).sum(dim=(1, 2))
        least = int(missed.argmin())
        its = slice(9 * stays[least], 9 * stays[least] + 9)
        towards = torch.linalg.solve(blocks[least], q[its])  # Q_ii⁻¹ Q_i,all: takes i itself to zero
        coefficients -= coefficients[:, its] @ towards
        q -= q[:, its].clone() @ towards
        del stays[least]
    return torch.tensor(stays)


MISSING_RIDGE = 1e-3  # of the mean variance of an input


def _needed_by(
    layer: VGGLayer, maps: Batches, weights: Mapping[str, Tensor], count: int, generator: torch.Generator
) -> Tensor:
    """The channels of the whole network's maps that its next layer needs most."""
    seen = _pooled(maps, layer)
    responses = _responses(seen, weights, layer)
    places = _some_places(responses, CELLS_TO_CHOOSE, generator)
    return most_needed(_patches(seen, places), _cells(responses, places), count)


def _pooled(batches: Batches, layer: VGGLayer) -> Batches:
    return [max_pool2d(maps, 2) for maps in batches] if layer.pool_before else batches


def _responses(batches: Batches, weights: Mapping[str, Tensor], layer: VGGLayer) -> list[Tensor]:
    """Of a whole layer, before its ReLU."""
    return [conv2d(maps, weights[f"{layer.name}.weight"], weights[f"{layer.name}.bias"], padding=1) for maps in batches]


def _some_places(batches: Batches, count: int, generator: torch.Generator) -> list[Tensor]:
    """Indices of cells within each batch, as many of each as it has a share in all pictures."""
    pictures = sum(len(maps) for maps in batches)
    return [
        torch.randperm(len(maps) * maps.shape[2] * maps.shape[3], generator=generator)[: count * len(maps) // pictures]
        for maps in batches
    ]


def _cells(batches: Batches, places: Sequence[Tensor]) -> Tensor:
    """The channels in those cells, [n, o]."""
    return torch.cat(
        [maps.permute(0, 2, 3, 1).flatten(0, 2)[chosen] for maps, chosen in zip(batches, places, strict=True)]
    )


def _patches(batches: Batches, places: Sequence[Tensor]) -> Tensor:
    """The 3x3 cells around those cells, zeros outside the map, channel by channel: [n, c · 9]."""
    found = []
    for maps, chosen in zip(batches, places, strict=True):
        height, width = maps.shape[2:]
        picture, row, column = chosen // (height * width), chosen % (height * width) // width, chosen % width
        padded = pad(maps, (1, 1, 1, 1))
        cells = [padded[picture, :, row + down, column + right] for down in range(3) for right in range(3)]
        found.append(torch.stack(cells, dim=2).flatten(1))
    return torch.cat(found)
