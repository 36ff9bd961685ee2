"""Five ways for an object to be absent from a video for a while, and to come back.

``occluder`` — a piece of the same picture slides over the object, stays on it, and slides off again.
``erased``   — the object fades into the background, taken from other frames of the scene or from beside it.
``cut``      — another scene is shown.
``pan``      — the view turns away until the object has left it, and turns back.
``black``    — black frames.

While it is absent the camera also moves a little, so that the object comes back elsewhere in the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import Scene
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box

KINDS = ("occluder", "erased", "cut", "pan", "black")
SEEN_FOR, ABSENT_FOR, BACK_FOR = 30, 40, 20  # frames
CHANGING_FOR = 6  # frames in which an occluder comes or goes, the view turns, the object fades
LENGTH = SEEN_FOR + CHANGING_FOR + ABSENT_FOR + CHANGING_FOR + BACK_FOR
CAMERA_MOVES = 0.75  # object sizes, while the object is absent
OCCLUDER, ERASED = 1.4, 1.25  # sides of what hides the object, in sides of its box
VIEW = 0.6  # of the picture that a panned view shows, at most
LEAST_VIEW = 1.8  # … and at least, in sides of the object's box


@dataclass(frozen=True)
class Absence:
    """A video in which the object is wholly absent from ``gone`` until before ``back``, and whole from ``shown`` on."""

    kind: str
    frames: list[Frame]
    boxes: list[Box]  # where the object is, hidden or not
    seen: int  # frames before anything changes
    gone: int
    back: int
    shown: int


def make_absent(scene: Scene, kind: str, other: Scene) -> Absence | None:
    """The scene with its object absent for a while; None where the picture has no room to pan away in."""
    abrupt = kind in ("cut", "black")
    changing = 0 if abrupt else CHANGING_FOR
    gone, back = SEEN_FOR + changing, SEEN_FOR + changing + ABSENT_FOR
    scene = scene.lasting(back + changing + BACK_FOR)
    made = _KINDS[kind](scene, other, [_share_gone(index, gone, back, changing) for index in range(len(scene.frames))])
    if made is None:
        return None
    # A view that turns away comes back elsewhere by itself.
    frames, boxes = made if kind == "pan" else _with_moving_camera(*made, gone, back)
    return Absence(kind, frames, boxes, SEEN_FOR, gone, back, back + changing)


def _share_gone(index: int, gone: int, back: int, changing: int) -> float:
    """How far gone the object is in a frame: 0 there, 1 gone, in between on its way; negative on its way back.

    >>> [round(_share_gone(index, 4, 6, 1), 2) for index in range(2, 8)]
    [0.0, 0.5, 1.0, 1.0, -0.5, 0.0]
    """
    if gone <= index < back:
        return 1.0
    if index < gone:
        return max(0.0, 1 - (gone - index) / (changing + 1))
    share = max(0.0, 1 - (index - back + 1) / (changing + 1))
    return -share if share else 0.0


Made = tuple[list[Frame], list[Box]]


# --------------------------------------------------------------------------- the five ways
def _occluded(scene: Scene, other: Scene, shares: list[float]) -> Made:
    box = scene.boxes[SEEN_FOR]
    width, height = (max(4, math.ceil(OCCLUDER * side)) for side in (box.w, box.h))
    texture = _piece_elsewhere(scene.frames[SEEN_FOR], box, (width, height), detailed=0.75)
    frames = []
    for frame, truth, share in zip(scene.frames, scene.boxes, shares, strict=True):
        if share == 0:
            frames.append(frame)
            continue
        way = (1 - abs(share)) * (width + truth.w) / 2 * (-1 if share > 0 else 1)  # in from the left, out to the right
        centre = (truth.centre[0] + way, truth.centre[1])
        needed = (max(width, math.ceil(OCCLUDER * truth.w)), max(height, math.ceil(OCCLUDER * truth.h)))
        frames.append(_laid_over(frame, _resized(texture, needed), centre))
    return frames, scene.boxes


def _erased(scene: Scene, other: Scene, shares: list[float]) -> Made:
    frames = []
    for index, (frame, truth, share) in enumerate(zip(scene.frames, scene.boxes, shares, strict=True)):
        if share == 0:
            frames.append(frame)
            continue
        hole = Box.from_centre(truth.centre, ERASED * truth.w, ERASED * truth.h)
        mask = _feathered(hole, truth, frame.shape) * abs(share)
        frames.append(np.rint(_background(scene, index, hole) * mask + frame * (1 - mask)).astype(np.uint8))
    return frames, scene.boxes


def _cut(scene: Scene, other: Scene, shares: list[float]) -> Made:
    height, width = scene.frames[0].shape[:2]
    strange = iter(other.lasting(ABSENT_FOR).frames)
    frames = [
        frame if share == 0 else _resized(next(strange), (width, height)) for frame, share in _pairs(scene, shares)
    ]
    return frames, scene.boxes


def _black(scene: Scene, other: Scene, shares: list[float]) -> Made:
    return [frame if share == 0 else np.zeros_like(frame) for frame, share in _pairs(scene, shares)], scene.boxes


def _panned(scene: Scene, other: Scene, shares: list[float]) -> Made | None:
    """A view of part of the picture follows the object, and turns to where the picture has most room beside it."""
    height, width = scene.frames[0].shape[:2]
    hidden = [box for box, share in zip(scene.boxes, shares, strict=True) if abs(share) == 1]
    rooms = {  # away to the left, the right, the top, the bottom
        (-1, 0): min(box.x for box in hidden) / width,
        (1, 0): 1 - max(box.x + box.w for box in hidden) / width,
        (0, -1): min(box.y for box in hidden) / height,
        (0, 1): 1 - max(box.y + box.h for box in hidden) / height,
    }
    (way_x, way_y), room = max(rooms.items(), key=lambda entry: entry[1])
    view_w = math.floor(min(room, VIEW) * width) if way_x else width
    view_h = math.floor(min(room, VIEW) * height) if way_y else height
    if view_w < LEAST_VIEW * max(box.w for box in scene.boxes) or view_h < LEAST_VIEW * max(
        box.h for box in scene.boxes
    ):
        return None
    frames, boxes, been_away = [], [], False
    for (frame, share), truth in zip(_pairs(scene, shares), scene.boxes, strict=True):
        been_away = been_away or share == 1
        aside = CAMERA_MOVES * math.sqrt(truth.area) if been_away else 0.0
        at = [
            _towards(centre + way * aside - view / 2, (whole - view) * (way > 0), abs(share) * abs(way), whole - view)
            for centre, view, whole, way in zip(
                truth.centre, (view_w, view_h), (width, height), (way_x, way_y), strict=True
            )
        ]
        frames.append(np.ascontiguousarray(frame[at[1] : at[1] + view_h, at[0] : at[0] + view_w]))
        boxes.append(Box(truth.x - at[0], truth.y - at[1], truth.w, truth.h))
    return frames, boxes


_KINDS: dict[str, Callable[[Scene, Scene, list[float]], Made | None]] = {
    "occluder": _occluded,
    "erased": _erased,
    "cut": _cut,
    "pan": _panned,
    "black": _black,
}


# --------------------------------------------------------------------------- pieces of pictures
def _pairs(scene: Scene, shares: list[float]) -> Iterator[tuple[Frame, float]]:
    return zip(scene.frames, shares, strict=True)


def _towards(start: float, end: float, share: float, most: int) -> int:
    return int(min(max(round((1 - share) * min(max(start, 0), most) + share * end), 0), most))


def _resized(picture: Frame, size_wh: tuple[int, int]) -> Frame:
    return np.asarray(cv2.resize(picture, size_wh, interpolation=cv2.INTER_LINEAR), np.uint8)


def _piece_elsewhere(frame: Frame, box: Box, size_wh: tuple[int, int], detailed: float) -> Frame:
    """A piece of the picture that shows nothing of the object; a smaller one, enlarged, where there is no room.

    It is more detailed than the given share of all such pieces.
    """
    detail = cv2.integral(cv2.convertScaleAbs(cv2.Laplacian(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), cv2.CV_16S)))
    for shrunk in np.geomspace(1, 0.05, 12):
        width, height = (max(4, round(side * shrunk)) for side in size_wh)
        found = [
            (float(detail[y + height, x + width] - detail[y, x + width] - detail[y + height, x] + detail[y, x]), x, y)
            for y in range(0, frame.shape[0] - height, 8)
            for x in range(0, frame.shape[1] - width, 8)
            if Box(x, y, width, height).intersection(box) == 0
        ]
        if found:
            _, x, y = sorted(found)[int(detailed * (len(found) - 1))]
            return _resized(frame[y : y + height, x : x + width], size_wh)
    return np.full((size_wh[1], size_wh[0], 3), 128, np.uint8)  # the object fills the picture


def _laid_over(frame: Frame, piece: Frame, centre: tuple[float, float]) -> Frame:
    """The frame with a piece on top; what sticks out is cut off."""
    height, width = piece.shape[:2]
    left, top = round(centre[0] - width / 2), round(centre[1] - height / 2)
    right, bottom = min(left + width, frame.shape[1]), min(top + height, frame.shape[0])
    first_x, first_y = max(left, 0), max(top, 0)
    covered = frame.copy()
    if right > first_x and bottom > first_y:
        covered[first_y:bottom, first_x:right] = piece[first_y - top : bottom - top, first_x - left : right - left]
    return covered


def _background(scene: Scene, index: int, hole: Box) -> Frame:
    """The picture without the object: the nearest frame in which it is elsewhere, else what lies beside it."""
    frame = scene.frames[index]
    free = [other for other, box in enumerate(scene.boxes) if box.intersection(hole) == 0]
    if free:
        return scene.frames[min(free, key=lambda other: abs(other - index))]
    size = (math.ceil(hole.w) + 2, math.ceil(hole.h) + 2)
    return _laid_over(frame, _piece_elsewhere(frame, hole, size, detailed=0.0), hole.centre)


def _feathered(hole: Box, inner: Box, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """1 over the inner box, 0 outside the hole, and smooth between them: [height, width, 1]."""
    x, y = np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5
    margin_x, margin_y = (hole.w - inner.w) / 2, (hole.h - inner.h) / 2
    across = np.clip((hole.w / 2 - abs(x - hole.centre[0])) / margin_x, 0, 1)
    down = np.clip((hole.h / 2 - abs(y - hole.centre[1])) / margin_y, 0, 1)
    return np.outer(down, across)[..., None]


def _with_moving_camera(frames: list[Frame], boxes: list[Box], gone: int, back: int) -> Made:
    """The camera moves, while the object is away, so that it is nearer to the middle when it comes back."""
    height, width = frames[0].shape[:2]
    box = boxes[back]
    way = np.array([width / 2 - box.centre[0], height / 2 - box.centre[1]])
    way = way / np.linalg.norm(way) if np.linalg.norm(way) > 1 else np.array([1.0, 0.0])
    full = CAMERA_MOVES * math.sqrt(box.area) * way
    moved_frames, moved_boxes = [], []
    for index, (frame, truth) in enumerate(zip(frames, boxes, strict=True)):
        share = min(max((index - gone + 1) / (back - gone), 0.0), 1.0)
        x, y = (round(share * float(length)) for length in full)
        matrix = np.array([[1, 0, x], [0, 1, y]], dtype=np.float64)
        moved = cv2.warpAffine(frame, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE) if x or y else frame
        moved_frames.append(np.asarray(moved, np.uint8))
        moved_boxes.append(Box(truth.x + x, truth.y + y, truth.w, truth.h))
    return moved_frames, moved_boxes
