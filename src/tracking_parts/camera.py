"""What the camera does: how the whole scene moved between two frames, and whether the object moves along with it.

Not in the paper (docs/decisions.md). A camera in somebody's hand shakes everything alike, often by more than the
object's size in one frame; one that follows the object shows it at one place while the scene passes by. Two guesses are
therefore kept of where the object will be: at its last place in the picture, as the paper has it, or at its last place
in the scene. Each is judged by where the object was then found, and the second is taken once it is clearly the better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Point

SIDE = 128  # pixels of the longer side of a small picture
LEAST_SIDE = 16  # pixels of its shorter side, below which it tells nothing
LEAST_RESPONSE = 0.3  # of phase correlation, below which two frames show different scenes
ERROR_RATE = 0.1  # remembers some ten frames
CLEARLY = 0.7  # how much less the scene's error must be: what has slipped onto the background moves with it, too

SmallPicture = NDArray[np.float32]  # [h, w], grey, fading towards the edges


@dataclass(frozen=True)
class Scene:
    """A frame's small picture, and how far the scene has moved since the frame before, in pixels of the image."""

    picture: SmallPicture
    moved: Point = (0.0, 0.0)


@dataclass(frozen=True)
class Camera:
    """The last frame's small picture, and how well either guess has told where the object goes."""

    picture: SmallPicture
    picture_error: float = 0.0  # distance from where it was found, in object sizes: running mean over confident frames
    scene_error: float = 0.0  # the same

    def sees(self, picture: SmallPicture, frame_shape: tuple[int, ...]) -> Scene:
        """The scene of the next frame, by phase correlation."""
        if min(picture.shape) < LEAST_SIDE:
            return Scene(picture)
        (x, y), response = cv2.phaseCorrelate(self.picture, picture)
        if not (response >= LEAST_RESPONSE and math.isfinite(x) and math.isfinite(y)):
            return Scene(picture)
        rows, columns = picture.shape
        return Scene(picture, (x * frame_shape[1] / columns, y * frame_shape[0] / rows))

    @property
    def object_stays_in_scene(self) -> bool:
        """Rather than in the picture."""
        return self.scene_error < CLEARLY * self.picture_error

    def carried(self, last_place: Point, scene: Scene) -> Point:
        """Where the object's last place is in the next frame."""
        if not self.object_stays_in_scene:
            return last_place
        return (last_place[0] + scene.moved[0], last_place[1] + scene.moved[1])

    def after(self, scene: Scene) -> Camera:
        """One more frame, in which nobody was sure where the object is."""
        return replace(self, picture=scene.picture)

    def after_finding(self, scene: Scene, moved: Point, object_size: float) -> Camera:
        """One more frame, in which the object had moved so far, in pixels of the image."""
        in_picture = math.hypot(*moved) / object_size
        in_scene = math.dist(moved, scene.moved) / object_size
        return Camera(
            scene.picture,
            self.picture_error + ERROR_RATE * (in_picture - self.picture_error),
            self.scene_error + ERROR_RATE * (in_scene - self.scene_error),
        )


def small_picture(frame: NDArray[np.uint8]) -> SmallPicture:
    """A frame's green channel, at most SIDE pixels long: enough to tell how the scene moved.

    It fades towards the edges here, once: given a window, OpenCV's phase correlation would do so to its very inputs.
    """
    step = _step(frame.shape)
    green = np.ascontiguousarray(frame[::step, ::step, 1])
    rows, columns = small_size(frame.shape)
    small = cv2.resize(green, (columns, rows), interpolation=cv2.INTER_AREA).astype(np.float32)
    return small if min(small.shape) < LEAST_SIDE else small * _window(rows, columns)


def small_size(frame_shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a frame's small picture."""
    rows, columns = (math.ceil(side / _step(frame_shape)) for side in frame_shape[:2])
    shrink = min(1.0, SIDE / max(rows, columns))
    return max(1, round(rows * shrink)), max(1, round(columns * shrink))


def _step(frame_shape: tuple[int, ...]) -> int:
    """One pixel of so many is read of a large frame, along both axes: still four for each of the small picture's."""
    return max(1, max(frame_shape[:2]) // (2 * SIDE))


@lru_cache(maxsize=4)
def _window(rows: int, columns: int) -> SmallPicture:
    """Fades towards the edges: what moves in or out there is in one of two frames only."""
    return np.asarray(cv2.createHanningWindow((columns, rows), cv2.CV_32F), np.float32)
