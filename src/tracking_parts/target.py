"""All that a tracker knows about the object it follows."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracking_parts.box_estimation import Shape
from tracking_parts.confidence import StateMonitor
from tracking_parts.confident_frames import BestShare, ConfidentFrames, WithinRadius
from tracking_parts.convnet_part import CentrePathway
from tracking_parts.convnet_part.updating import BackgroundUpdates, SequentialUpdates
from tracking_parts.features import Projection
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.geometry import CropWindow, Point
from tracking_parts.looking import Gaze
from tracking_parts.voting import Loudness


@dataclass
class Target:
    """All that is known about the object being followed. A new ``init`` makes a new one."""

    frame_shape: tuple[int, ...]
    shape: Shape
    projections: dict[str, Projection]  # of the channels, for "parts" and for "convnet"
    parts: FilterParts
    convnet: CentrePathway
    memory: ConfidentFrames
    rule: BestShare | WithinRadius
    updates: SequentialUpdates | BackgroundUpdates
    centre: Point = (0.0, 0.0)  # in the image
    frame_index: int = 0
    convnet_votes: bool = False  # true after its first training
    loudness: Loudness = field(default_factory=Loudness)
    monitor: StateMonitor = field(default_factory=StateMonitor)
    frames_since_learning: int = 0
    gaze: Gaze = field(default_factory=Gaze)

    def object_in_map(self, window: CropWindow) -> tuple[float, float]:
        """Width and height of the object, in cells of a window's map."""
        return window.size_in_map(self.shape.size)
