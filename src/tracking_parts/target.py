"""All that a tracker knows about the object it follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tracking_parts.box_estimation import Shape, fit_linear
from tracking_parts.camera import Camera, Scene
from tracking_parts.colour_part import ColourPart
from tracking_parts.confidence import StateMonitor
from tracking_parts.confident_frames import BestShare, ConfidentFrames, WithinRadius
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part import CentrePathway, View
from tracking_parts.convnet_part.background import BackgroundUpdates
from tracking_parts.convnet_part.updating import SequentialUpdates
from tracking_parts.features import Projection
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.geometry import Box, CropWindow, Point
from tracking_parts.looking import Gaze
from tracking_parts.step import Reading
from tracking_parts.voting import Loudness, VoteMap, uncertainty_mask, visible_share


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
    colour: ColourPart | None = None  # None where nobody minds colours, or none could be learned yet
    camera: Camera | None = None  # None where nobody minds it
    centre: Point = (0.0, 0.0)  # in the image
    frame_index: int = 0
    convnet_votes: bool = False  # true after its first training
    loudness: Loudness = field(default_factory=Loudness)
    monitor: StateMonitor = field(default_factory=StateMonitor)
    frames_since_learning: int = 0
    frames_to_teach: int = 0  # chosen since the ConvNetPart was last trained
    gaze: Gaze = field(default_factory=Gaze)
    fault_told: bool = False  # the first fault of learning has been warned of

    def carried_centre(self, scene: Scene | None) -> Point:
        """Where the last centre is in the next frame: at the same place of the picture, or of the scene."""
        if self.camera is None or scene is None:
            return self.centre
        return self.in_picture(self.camera.carried(self.centre, scene))

    def observe_camera(self, scene: Scene | None, last_centre: Point, found: bool) -> None:
        """What the camera did, and, where the object was surely found, which guess of its place was the better."""
        if self.camera is None or scene is None:
            return
        if found:
            moved = (self.centre[0] - last_centre[0], self.centre[1] - last_centre[1])
            self.camera = self.camera.after_finding(scene, moved, math.sqrt(math.prod(self.shape.size)))
        else:
            self.camera = self.camera.after(scene)

    def in_picture(self, place: Point) -> Point:
        height, width = self.frame_shape[:2]
        return (min(max(place[0], 0.0), float(width)), min(max(place[1], 0.0), float(height)))

    def object_in_map(self, window: CropWindow) -> tuple[float, float]:
        """Width and height of the object, in cells of a window's map."""
        return window.size_in_map(self.shape.size)

    def mask(self, view: View, config: TrackerConfig) -> VoteMap:
        """M_c around the last centre, and less where less of the object would lie in the picture than there."""
        return self._mask(view, config, config.mask_width, config.mask_floor)

    def near_mask(self, view: View, config: TrackerConfig) -> VoteMap:
        """M_c of a doubtful frame: only places near the last centre count."""
        return self._mask(view, config, config.near_width, 0.0)

    def _mask(self, view: View, config: TrackerConfig, width: float, floor: float) -> VoteMap:
        shape, size = (view.features.shape[1], view.features.shape[2]), self.object_in_map(view.window)
        centre = view.window.map_from_image(self.centre)
        mask = uncertainty_mask(shape, centre, width * math.sqrt(math.prod(size)), config.mask_power, floor)
        return mask * visible_share(shape, size, view.picture_in_map, centre) if config.mind_edges else mask

    def colour_votes(self, view: View) -> VoteMap | None:
        """H_t; None where there is no colour part."""
        if self.colour is None:
            return None
        return self.colour.vote(view.crop, view.window.shape, self.object_in_map(view.window), view.picture_in_map)

    def learn_colours(self, view: View, rate: float) -> None:
        """What the object's colours are here, at its present place, and those around it."""
        box_in_crop, picture = view.window.box_in_crop(self.shape.box(self.centre)), view.picture_in_crop
        if self.colour is None:
            self.colour = ColourPart.first(view.crop, box_in_crop, picture)
        elif rate > 0:
            self.colour = self.colour.learned(view.crop, box_in_crop, picture, rate)

    def observe_colours(self, reading: Reading) -> None:
        """Whether the colour part agreed with a decision that was believed."""
        if self.colour is not None and reading.colour_map is not None:
            self.colour = self.colour.observed(reading.colour_map, reading.decision.centre)

    def lean_by_colours(self, view: View, config: TrackerConfig) -> None:
        """Which sides the object has here, of the area that the parts have found.

        Not of an outline whose turns and shears the parts tell: those have its sides in them.
        """
        if self.colour is not None and config.lean_gain > 0 and config.box_model == "scale":
            box_in_crop = view.window.box_in_crop(self.shape.box(self.centre))
            pull = self.colour.trust * self.colour.lean(view.crop, box_in_crop, view.picture_in_crop)
            self.shape = self.shape.leaning(pull, config)

    def place(self, box: Box, config: TrackerConfig) -> None:
        """Where a person says that it is; whatever was doubted before is settled."""
        self.centre, self.shape = box.centre, self.shape.corrected(box.w, box.h, config)
        self.monitor, self.gaze = StateMonitor(usual=self.monitor.usual), Gaze()

    def is_steady(self, reading: Reading, config: TrackerConfig, tolerance: float = 1.0) -> bool:
        """Whether a reading is sure of itself, its parts too, and finds the object hardly moved."""
        moved = math.dist(reading.view.window.image_from_map(reading.decision.centre), self.centre)
        near = moved <= tolerance * config.narrow_motion * math.sqrt(math.prod(self.shape.size))
        sure = reading.certainty >= config.narrow_above
        return near and sure and reading.evidence.part_agreement >= config.min_box_agreement

    def move(self, reading: Reading, config: TrackerConfig, reshape: bool) -> None:
        """The next centre l_{t+1}, and the box from the parts that agreed and the colours.

        Without any evidence it stays where it was, in the picture or in the scene.
        """
        if reading.certainty < config.hold_below:
            return
        self.centre = self.in_picture(reading.view.window.image_from_map(reading.decision.centre))
        votes = reading.votes
        if reshape and votes is not None and reading.evidence.part_agreement >= config.min_box_agreement:
            chosen = reading.agreed & votes.voting
            if config.mind_edges:
                chosen &= reading.view.picture_in_map.holds(votes.positions + votes.offsets)
            found = votes.offsets[chosen] + votes.positions[chosen] - np.array(reading.decision.centre)
            self.shape = self.shape.moved_by(fit_linear(votes.anchors[chosen], found, config.box_model), config)
        if reshape:
            self.lean_by_colours(reading.view, config)
