"""Where to look for the object: how much of the frame around its last place, and how finely (docs/decisions.md).

The crop is the box with a margin around it that is the same on all sides. While the object is steady a narrow margin
does: it costs less, and shows less that could distract. While it is lost the margin is wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tracking_parts.config import TrackerConfig
from tracking_parts.frames import Reach
from tracking_parts.geometry import CropWindow, Point

MAX_CROP_SIDE = 2.0  # of a very long object's crop, in sides of a square one's; beyond it is seen more coarsely
CROP_UNIT = 8  # pixels: whole cells of every layer in use


@dataclass(frozen=True)
class Gaze:
    """What the last frames say about how the next one is to be looked at."""

    steady: bool = False  # sure of itself, and hardly moving
    narrow_looks: int = 0  # in a row

    def after(self, reach: Reach, steady: bool) -> Gaze:
        return Gaze(steady, self.narrow_looks + 1 if reach is Reach.NARROW else 0)

    def next_reach(self, lost: bool, to_be_learned: bool, config: TrackerConfig) -> Reach:
        """Narrow while steady, but not for long, and not in a frame to be learned from: it shows little background."""
        if lost:
            return Reach.WIDE
        narrow = self.steady and not to_be_learned and self.narrow_looks < config.wide_every - 1
        return Reach.NARROW if narrow and config.narrow_search > 0 else Reach.USUAL


def search_factor(reach: Reach, config: TrackerConfig) -> float:
    """Side of the crop around a square object, in object sizes."""
    if reach is Reach.NARROW:
        return min(config.narrow_search, config.search_factor)
    return config.search_factor * (config.lost_search if reach is Reach.WIDE else 1.0)


def search_window(
    centre: Point, first_size: Point, scale: float, reach: Reach, config: TrackerConfig, stride: int
) -> CropWindow:
    """The window around a place for an object of ``scale`` times its first width and height, in image pixels.

    At any scale and reach the object has the same size in cells.
    """
    size = math.sqrt(first_size[0] * first_size[1])
    zoom = config.crop_size / config.search_factor  # crop pixels per object size
    usual = [side / size + config.search_factor - 1 for side in first_size]  # in object sizes
    zoom *= min(1.0, MAX_CROP_SIDE * config.search_factor / max(usual))
    margin = search_factor(reach, config) - 1
    width, height = (_whole_units((side / size + margin) * zoom) for side in first_size)
    pixels = size * scale / zoom  # image pixels per crop pixel
    return CropWindow.around(centre, (width * pixels, height * pixels), (width, height), stride)


def _whole_units(pixels: float) -> int:
    return max(4, round(pixels / CROP_UNIT)) * CROP_UNIT
