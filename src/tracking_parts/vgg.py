"""The layers of VGG-16 up to conv4_3, as data: what the network is made of and how its files name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tracking_parts.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class VGGLayer:
    """One 3x3 convolution, and whether a 2x2 max-pool stands before it.

    In a light trunk it may have fewer channels, and a rank: it then convolves to so many channels, which a 1x1
    convolution mixes into its outputs.
    """

    name: str
    index: int  # in torchvision's ``features``
    in_channels: int
    out_channels: int
    pool_before: bool
    stride: int  # of its map, in input pixels
    rank: int | None = None


VGG_LAYERS: tuple[VGGLayer, ...] = (
    VGGLayer("conv1_1", 0, 3, 64, False, 1),
    VGGLayer("conv1_2", 2, 64, 64, False, 1),
    VGGLayer("conv2_1", 5, 64, 128, True, 2),
    VGGLayer("conv2_2", 7, 128, 128, False, 2),
    VGGLayer("conv3_1", 10, 128, 256, True, 4),
    VGGLayer("conv3_2", 12, 256, 256, False, 4),
    VGGLayer("conv3_3", 14, 256, 256, False, 4),
    VGGLayer("conv4_1", 17, 256, 512, True, 8),
    VGGLayer("conv4_2", 19, 512, 512, False, 8),
    VGGLayer("conv4_3", 21, 512, 512, False, 8),
)
LAYER_NAMES: tuple[str, ...] = tuple(layer.name for layer in VGG_LAYERS)


def vgg_layer(name: str) -> VGGLayer:
    """The layer of that name."""
    for layer in VGG_LAYERS:
        if layer.name == name:
            return layer
    raise ConfigError(f"unknown layer {name!r}: the network has {', '.join(LAYER_NAMES)}")


def layers_up_to(taps: Sequence[str]) -> tuple[VGGLayer, ...]:
    """The layers of the trunk, as deep as its deepest tap."""
    deepest = max(LAYER_NAMES.index(vgg_layer(tap).name) for tap in taps)
    return VGG_LAYERS[: deepest + 1]


def layers_of(weights: Mapping[str, Tensor], taps: Sequence[str]) -> tuple[VGGLayer, ...]:
    """The layers up to the taps as these weights have them, with their channels and ranks."""
    return tuple(_as_in(weights, layer) for layer in layers_up_to(taps))


def _as_in(weights: Mapping[str, Tensor], layer: VGGLayer) -> VGGLayer:
    outputs, inputs = weights[f"{layer.name}.weight"].shape[:2]
    mix = weights.get(f"{layer.name}.mix")
    if mix is None:
        return replace(layer, in_channels=inputs, out_channels=outputs)
    return replace(layer, in_channels=inputs, out_channels=mix.shape[0], rank=outputs)


def are_light(weights: Mapping[str, Tensor]) -> bool:
    """Whether any layer is factorised in these weights."""
    return any(name.endswith(".mix") for name in weights)
