"""The net of the ConvNetPart: the seven layers of the features, then four that reduce the channels to one centre
map."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from tracking_parts.features import VGGTrunk
from tracking_parts.geometry import Point
from tracking_parts.vgg import vgg_layer


class CentreHead(nn.Module):
    """Four 3x3 convolutions, ReLU between them, that halve the channels step by step down to one map."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths = [channels, *(max(channels // 2**step, 4) for step in (1, 2, 3)), 1]
        layers: list[nn.Module] = []
        for narrow_from, narrow_to in pairwise(widths):
            layers += [nn.Conv2d(narrow_from, narrow_to, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])  # the centre map itself is not rectified

    def forward(self, features: Tensor) -> Tensor:
        """[batch, c, h, w] → [batch, h, w]."""
        centre_map: Tensor = self.layers(features)
        return centre_map.squeeze(1)


class ConvNet(nn.Module):
    """Trunk and head, trained end to end: RGB crops [batch, 3, s, s] → centre maps [batch, s / stride, s / stride]."""

    def __init__(self, tap: str) -> None:
        super().__init__()
        self.trunk = VGGTrunk([tap])
        self.head = CentreHead(vgg_layer(tap).out_channels)
        self._tap = tap

    def forward(self, rgb: Tensor) -> Tensor:
        maps: Tensor = self.head(self.trunk(rgb)[self._tap])
        return maps


def circle_stamp(shape: tuple[int, int], centre: Point, radius: float) -> Tensor:
    """The target: 1 inside a circle around the centre, 0 outside, its edge one cell wide; in cells."""
    rows = torch.arange(shape[0], dtype=torch.float32) - centre[1]
    columns = torch.arange(shape[1], dtype=torch.float32) - centre[0]
    distance = torch.hypot(rows[:, None], columns[None, :])
    return (radius + 0.5 - distance).clamp(0, 1)
