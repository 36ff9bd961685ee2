"""What the tracker asks of a ConvNetPart, whichever way it learns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.config import TrackerConfig
from tracking_parts.frames import Frame, Reach
from tracking_parts.geometry import Box, CropWindow, Point


@dataclass(frozen=True)
class View:
    """One look at a frame: the window, the crop the network saw, and the features of one pass through it."""

    frame: Frame
    window: CropWindow
    crop: Frame
    features: Tensor  # [c, h, w] of the parts' layer; its cells are the unit of all maps
    convnet_features: Tensor  # [c', h', w'] of the ConvNetPart's layer, which may be coarser
    reach: Reach = Reach.USUAL

    @property
    def picture_in_map(self) -> Box:
        """The whole frame: what of the map lies outside it was never seen, the crop only repeats its border there."""
        return self.window.box_in_map(self._picture)

    @property
    def picture_in_crop(self) -> Box:
        """The same, in pixels of the crop."""
        return self.window.box_in_crop(self._picture)

    @property
    def _picture(self) -> Box:
        return Box(0, 0, self.frame.shape[1], self.frame.shape[0])

    @property
    def convnet_window(self) -> CropWindow:
        """The same window in cells of the ConvNetPart's layer."""
        return self.window.with_stride(self.window.crop_width // self.convnet_features.shape[-1])

    def convnet_point(self, point_in_map: Point) -> Point:
        """A point of the shared map in cells of the ConvNetPart's layer."""
        return self.convnet_window.map_from_crop(self.window.crop_from_map(point_in_map))

    def convnet_size(self, size_in_map: tuple[float, float]) -> tuple[float, float]:
        """A width and height in cells of the shared map, in cells of the ConvNetPart's layer."""
        ratio = self.window.stride / self.convnet_window.stride
        return (size_in_map[0] * ratio, size_in_map[1] * ratio)

    def on_shared_grid(self, centre_map: Tensor) -> Tensor:
        """A map over the ConvNetPart's cells as one over the shared cells; both cover the crop, so edges align."""
        if centre_map.shape == self.features.shape[1:]:
            return centre_map
        shape = (self.features.shape[1], self.features.shape[2])
        enlarged = torch.nn.functional.interpolate(centre_map[None, None], shape, mode="bicubic", align_corners=False)
        return enlarged[0, 0]


Look = Callable[[Sequence[Frame]], list[View]]  # other crops in the same window, all at once


@dataclass(frozen=True)
class Progress:
    """How far a training has come."""

    share: float  # of the whole training, 1 when it is done
    loss: Tensor  # scalar, on the learner's device: reading it waits for the device


class CentrePathway(Protocol):
    """A learner of centre maps. :meth:`clone` lets it be trained in the background and swapped in whole."""

    def vote(self, view: View) -> Tensor:
        """C_t: [h, w], on the grid of the shared features."""

    def sample(self, view: View, centre: Point, object_in_map: tuple[float, float], frame_index: int) -> TrainingFrame:
        """What to keep of a frame to learn from it later."""

    def variants(
        self, view: View, centre: Point, object_in_map: tuple[float, float], look: Look
    ) -> list[TrainingFrame]:
        """The first frame as it might look later; ``look`` sees other crops in the same window."""

    def training(
        self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
    ) -> Iterator[Progress]:
        """Learn from the first frames and the recent ones, piece by piece; it may vote between any two pieces."""

    def train(self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool) -> float:
        """The whole training at once; gives the final loss."""

    def clone(self) -> CentrePathway:
        """An independent copy."""

    def learned(self) -> Iterable[Tensor]:
        """The numbers that it votes by, where they are."""

    def tensors(self) -> dict[str, Tensor]:
        """All that was learned, by name."""

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what :meth:`tensors` gave."""


class Trainable:
    """A whole training out of its pieces."""

    def training(
        self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
    ) -> Iterator[Progress]:
        raise NotImplementedError

    def train(self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool) -> float:
        *_, last = self.training(first, recent, is_first)
        return float(last.loss)

    def learned(self) -> Iterable[Tensor]:
        return ()


def build_pathway(
    config: TrackerConfig, weights: Mapping[str, Tensor], channels: int, device: torch.device, seed: int
) -> CentrePathway:
    """The pathway that the configuration names, not yet trained."""
    from tracking_parts.convnet_part.adam import EndToEnd, FrozenTrunk
    from tracking_parts.convnet_part.linear import LinearPathway

    if config.convnet == "end_to_end":
        return EndToEnd(config, weights, device, seed)
    if config.convnet == "frozen_trunk":
        return FrozenTrunk(config, channels, device, seed)
    return LinearPathway(config, channels, device)
