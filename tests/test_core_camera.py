"""The camera: how the scene moved, which guess of the object's place is believed, and what the tracker makes of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import follow, overlaps, random_weights, small_config, small_tracker
from synthetic import Image, SyntheticSequence, paste, random_texture
from tracking_parts import MultiTracker, StateFileError, Tracker
from tracking_parts.camera import LEAST_SIDE, SIDE, Camera, Scene, small_picture, small_size
from tracking_parts.geometry import Box, Point
from tracking_parts.tracker_state import TrackerState

SHAKES: list[Point] = [
    (0, 0),
    (9, 4),
    (-14, -8),
    (26, 12),
    (-20, 10),
    (22, -14),
    (-26, 6),
    (24, 12),
    (-18, -16),
    (28, 2),
]


def shaken(start: Box = Box(70, 60, 22, 20), size_wh: tuple[int, int] = (180, 140)) -> SyntheticSequence:  # noqa: B008
    """An object that rests on its ground, seen by a camera that does not: by up to twice its size per frame."""
    rng = np.random.default_rng(3)
    margin = 60
    ground = random_texture(rng, size_wh[0] + 2 * margin, size_wh[1] + 2 * margin, 3.0)
    thing = random_texture(rng, round(start.w), round(start.h), 2.0)
    scene = paste(ground, thing, Box(start.x + margin, start.y + margin, start.w, start.h))
    frames, boxes = [], []
    for x, y in SHAKES:
        left, top = margin - round(x), margin - round(y)
        frames.append(np.ascontiguousarray(scene[top : top + size_wh[1], left : left + size_wh[0]]))
        boxes.append(Box(start.x + x, start.y + y, start.w, start.h))
    return SyntheticSequence(frames, boxes)


def picture_at(ground: Image, x: int, y: int) -> Image:
    return np.ascontiguousarray(ground[60 + y : 300 + y, 60 + x : 380 + x])


# ------------------------------------------------------------------ the scene
@given(st.integers(-40, 40), st.integers(-40, 40))
def test_it_tells_how_far_the_scene_moved(x: int, y: int) -> None:
    ground = random_texture(np.random.default_rng(0), 440, 360, 6.0)
    before, now = picture_at(ground, 0, 0), picture_at(ground, -x, -y)
    scene = Camera(small_picture(before)).sees(small_picture(now), now.shape)
    assert scene.moved == pytest.approx((x, y), abs=2.5)  # a pixel of the small picture


def test_to_look_changes_no_picture() -> None:
    """OpenCV's phase correlation may write into what it is given."""
    pictures = [small_picture(random_texture(np.random.default_rng(seed), 320, 240, 4.0)) for seed in (1, 2)]
    copies = [picture.copy() for picture in pictures]
    camera = Camera(pictures[0])
    first = camera.sees(pictures[1], (240, 320, 3))
    assert camera.sees(pictures[1], (240, 320, 3)).moved == first.moved
    assert all(np.array_equal(picture, copy) for picture, copy in zip(pictures, copies, strict=True))


def test_other_scenes_do_not_move() -> None:
    first, second = (random_texture(np.random.default_rng(seed), 320, 240, 1.0) for seed in (1, 2))
    assert Camera(small_picture(first)).sees(small_picture(second), second.shape).moved == (0, 0)


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_where_nothing_can_be_seen_nothing_moves(grey: int) -> None:
    blank = np.full((90, 120, 3), grey, np.uint8)
    assert Camera(small_picture(blank)).sees(small_picture(blank), blank.shape).moved == pytest.approx((0, 0), abs=1e-6)


@given(st.integers(8, 3000), st.integers(8, 3000))
def test_small_pictures_are_small_and_of_the_size_that_is_said(height: int, width: int) -> None:
    picture = small_picture(np.zeros((height, width, 3), np.uint8))
    assert picture.shape == small_size((height, width, 3))
    assert max(picture.shape) <= SIDE


@pytest.mark.parametrize("shape", [(8, 8), (8, 3000), (3000, 8), (LEAST_SIDE, LEAST_SIDE)])
def test_tiny_and_long_frames_are_no_trouble(shape: tuple[int, int]) -> None:
    frames = [random_texture(np.random.default_rng(seed), shape[1], shape[0], 1.0) for seed in (0, 1)]
    scene = Camera(small_picture(frames[0])).sees(small_picture(frames[1]), frames[1].shape)
    assert all(math.isfinite(value) for value in scene.moved)


# ------------------------------------------------------------------ which guess is believed
NOTHING = np.zeros((LEAST_SIDE, LEAST_SIDE), np.float32)


def test_at_first_the_object_stays_in_the_picture() -> None:
    assert Camera(NOTHING).carried((10, 20), Scene(NOTHING, (5, 5))) == (10, 20)


def test_an_object_that_moved_with_the_scene_is_carried_along() -> None:
    camera = Camera(NOTHING).after_finding(Scene(NOTHING, (8, 0)), (7.5, 0), 20)
    assert camera.carried((10, 20), Scene(NOTHING, (5, -3))) == (15, 17)


def test_an_object_that_the_camera_follows_stays_in_the_picture() -> None:
    camera = Camera(NOTHING)
    for _ in range(5):
        camera = camera.after_finding(Scene(NOTHING, (-30, 0)), (1, 0), 20)
    assert camera.carried((10, 20), Scene(NOTHING, (-30, 0))) == (10, 20)


def test_little_is_not_clear() -> None:
    camera = Camera(NOTHING).after_finding(Scene(NOTHING, (2, 0)), (10, 0), 20)
    assert camera.scene_error < camera.picture_error
    assert not camera.object_stays_in_scene


def test_an_unsure_frame_teaches_nothing_but_what_is_seen() -> None:
    camera = Camera(NOTHING, 0.5, 0.1).after(Scene(NOTHING + 1, (9, 9)))
    assert (camera.picture_error, camera.scene_error) == (0.5, 0.1)
    assert np.array_equal(camera.picture, NOTHING + 1)


# ------------------------------------------------------------------ in the tracker
def test_a_shaking_camera_loses_the_object_only_where_nobody_minds_it() -> None:
    sequence = shaken()
    minded = overlaps(follow(small_tracker(), sequence), sequence)
    unminded = overlaps(follow(small_tracker(mind_camera=False), sequence), sequence)
    assert min(minded[3:]) > 0.5
    assert min(unminded[3:]) < 0.2


def test_several_objects_share_one_small_picture_and_are_carried_as_by_trackers_of_their_own() -> None:
    sequence = shaken()
    alone = follow(small_tracker(), sequence, 5)[1:]
    with MultiTracker(small_config(), weights=random_weights()) as together:
        together.add(sequence.frames[0], sequence.boxes[0], "it")
        together.add(sequence.frames[0], Box(30, 40, 24, 24), "another")
        found = [together.update(frame)["it"] for frame in sequence.frames[1:5]]
    for one, other in zip(found, alone, strict=True):
        assert one.box.xywh == pytest.approx(other.box.xywh, abs=1.0)  # a batch of two rounds otherwise


def test_a_resumed_tracker_is_carried_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    sequence = shaken()
    tracker = small_tracker()
    follow(tracker, sequence, 5)
    tracker.save(tmp_path / "state.safetensors")
    resumed = Tracker.from_state(tmp_path / "state.safetensors", weights=random_weights())
    for frame in sequence.frames[5:]:
        assert resumed.update(frame).box == tracker.update(frame).box


@pytest.mark.parametrize("errors", [None, [-1.0, 0.0], [0.0, math.inf], [0.0], "ab", [0.0, 0.0, 0.0]])
def test_a_damaged_camera_is_refused(errors: object) -> None:
    tracker = small_tracker()
    follow(tracker, shaken(), 2)
    state = tracker.state()
    with pytest.raises(StateFileError):
        Tracker.from_state(TrackerState({**state.values, "camera": errors}, state.tensors), weights=random_weights())


def test_a_picture_of_another_size_is_refused() -> None:
    tracker = small_tracker()
    follow(tracker, shaken(), 2)
    state = tracker.state()
    tensors = {**state.tensors, "camera.picture": state.tensors["camera.picture"][:-1]}
    with pytest.raises(StateFileError, match="camera"):
        Tracker.from_state(TrackerState(state.values, tensors), weights=random_weights())
