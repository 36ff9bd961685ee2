"""What the tests of the core share: weights that need no network, small settings, smooth feature maps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor

from synthetic import Image, SyntheticSequence
from tracking_parts import Result, Tracker, TrackerConfig, WeightsError
from tracking_parts.colour_part import ColourPart
from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.geometry import Box, CropWindow
from tracking_parts.io.weights import load_weights
from tracking_parts.step import Reading
from tracking_parts.vgg import VGG_LAYERS

Weights = dict[str, Tensor]

# A quarter of the pixels of the real profiles, and the object as large in it as in those.
SMALL: dict[str, Any] = {
    "crop_size": 64,
    "search_factor": 2.5,
    "trunk": "whole",
    "tap": "conv3_1",
    "convnet_tap": "conv3_3",
    "channels": 32,
    "convnet_channels": 16,
    "n_negatives": 60,
    "augment": False,
    "first_steps": 20,
    "min_new_frames": 1,
}


@lru_cache(maxsize=1)
def random_weights() -> Weights:
    """He-initialised VGG weights from numpy's legacy generator, whose stream is frozen for ever."""
    random = np.random.RandomState(7)
    weights: Weights = {}
    for layer in VGG_LAYERS:
        spread = (2 / (9 * layer.in_channels)) ** 0.5
        values = random.standard_normal((layer.out_channels, layer.in_channels, 3, 3)) * spread
        weights[f"{layer.name}.weight"] = torch.from_numpy(values.astype(np.float32))
        weights[f"{layer.name}.bias"] = torch.from_numpy(
            (0.1 * random.standard_normal(layer.out_channels)).astype(np.float32)
        )
    return weights


def delta_weights() -> Weights:
    """Every convolution copies the middle of its window: what is left of the network are its max-pools."""
    weights: Weights = {}
    for layer in VGG_LAYERS:
        kernel = torch.zeros(layer.out_channels, layer.in_channels, 3, 3)
        for channel in range(layer.out_channels):
            kernel[channel, channel % layer.in_channels, 1, 1] = 1.0
        weights[f"{layer.name}.weight"] = kernel
        weights[f"{layer.name}.bias"] = torch.zeros(layer.out_channels)
    return weights


def real_weights() -> dict[str, Tensor]:
    """The published weights; the test is skipped where they cannot be had."""
    try:
        return load_weights()
    except WeightsError as error:
        pytest.skip(str(error))


def small_config(profile: str = "default", **settings: Any) -> TrackerConfig:
    """A profile with a crop of 64 pixels and few channels."""
    return TrackerConfig.profile(profile).override(**{**SMALL, **settings})


def small_tracker(profile: str = "default", seed: int = 0, **settings: Any) -> Tracker:
    return Tracker(small_config(profile, **settings), seed=seed, weights=random_weights())


def follow(tracker: Tracker, sequence: SyntheticSequence, count: int | None = None) -> list[Result]:
    """Start on the first frame, go on over the next ones; one result per frame."""
    results = [tracker.init(sequence.frames[0], sequence.boxes[0])]
    return results + [tracker.update(frame) for frame in sequence.frames[1:count]]


def last_reading(tracker: Tracker) -> Reading:
    """What the tracker saw in the last frame."""
    assert tracker._last is not None
    return tracker._last.reading


def overlaps(results: Sequence[Result], sequence: SyntheticSequence) -> list[float]:
    return [result.box.overlap(box) for result, box in zip(results, sequence.boxes, strict=False)]


def smooth_features(seed: int, channels: int = 12, height: int = 20, width: int = 20) -> Tensor:
    """Random maps [c, h, w] whose neighbours resemble each other, as those of a network do."""
    noise = np.random.default_rng(seed).normal(size=(height, width, channels)).astype(np.float32)
    blurred = cv2.GaussianBlur(noise, (0, 0), 1.0)
    values = np.asarray(blurred, np.float32).reshape(height, width, channels).transpose(2, 0, 1)
    return torch.from_numpy(np.ascontiguousarray(values / values.std()))


def training_frame(features: Tensor, centre: tuple[float, float], index: int = 0) -> TrainingFrame:
    """A frame with an object of 6 x 6 cells for a pathway on frozen features."""
    return TrainingFrame(index, centre, (6.0, 6.0), None, features)


def marked_features(centre: tuple[int, int], seed: int = 0, channels: int = 8, cells: int = 24) -> Tensor:
    """A smooth background with one fixed 5 x 5 pattern around ``centre`` (x, y)."""
    maps = smooth_features(seed, channels, cells, cells)
    x, y = centre
    maps[:, y - 2 : y + 3, x - 2 : x + 3] = 2 * smooth_features(1000, channels, 5, 5)
    return maps


def dotted_picture(size: int, centre: tuple[float, float], sigma: float = 3.0) -> Image:
    """A soft white dot on black; ``centre`` in continuous pixels (a pixel's middle is at + 0.5)."""
    index = np.arange(size) + 0.5
    squared = (index[:, None] - centre[1]) ** 2 + (index[None, :] - centre[0]) ** 2
    grey = np.rint(255 * np.exp(-0.5 * squared / sigma**2)).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


PAINTED_SIDE = 64
PAINTED_OBJECT = Box(20, 24, 24, 16)
RED, GREEN = (20, 20, 220), (20, 200, 20)


def painted(box: Box, colour: tuple[int, int, int] = RED, ground: tuple[int, int, int] = GREEN) -> Image:
    """A box of one colour on a ground of another."""
    picture = np.full((PAINTED_SIDE, PAINTED_SIDE, 3), ground, np.uint8)
    picture[round(box.y) : round(box.y + box.h), round(box.x) : round(box.x + box.w)] = colour
    return picture


def colours_of(picture: Image, box: Box = PAINTED_OBJECT, picture_in_crop: Box | None = None) -> ColourPart:
    """What one frame teaches a colour part; without ``picture_in_crop`` the crop lies in the picture as a whole."""
    part = ColourPart.first(picture, box, picture_in_crop or Box(0, 0, PAINTED_SIDE, PAINTED_SIDE))
    assert part is not None
    return part


def centroid(picture: Image) -> tuple[float, float]:
    """Brightness-weighted middle of a picture, (x, y) in continuous pixels."""
    grey = picture.astype(float).mean(axis=2)
    rows, columns = np.arange(grey.shape[0]) + 0.5, np.arange(grey.shape[1]) + 0.5
    return (float((grey.sum(axis=0) @ columns) / grey.sum()), float((grey.sum(axis=1) @ rows) / grey.sum()))


def square_window(left: int, top: int, side: int, size: int, stride: int = 4) -> CropWindow:
    """A square of the image, ``side`` pixels wide, as a square crop of ``size`` pixels."""
    return CropWindow(left, top, side, side, size, size, stride)
