"""How much of a frame is looked at: the same margin on all sides, narrow while steady, wide while lost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import follow, small_tracker
from synthetic import render_sequence
from tracking_parts import Box, TrackerConfig
from tracking_parts.box_estimation import Shape
from tracking_parts.frames import Reach
from tracking_parts.geometry import Point
from tracking_parts.looking import CROP_UNIT, MAX_CROP_SIDE, Gaze, search_window
from tracking_parts.looking_again import look_again
from tracking_parts.threads import with_idle_hands

SIZES = st.tuples(st.floats(8, 400), st.floats(8, 400))
CENTRE = (300.0, 200.0)


def cells_of(first_size: Point, scale: float, reach: Reach, config: TrackerConfig) -> Point:
    window = search_window(CENTRE, first_size, scale, reach, config, 4)
    return window.size_in_map((first_size[0] * scale, first_size[1] * scale))


@given(SIZES, st.floats(0.5, 3), st.sampled_from(Reach))
def test_an_object_has_the_same_size_in_cells_at_any_scale_and_reach(size: Point, scale: float, reach: Reach) -> None:
    config = TrackerConfig()
    usual = cells_of(size, 1.0, Reach.USUAL, config)
    # Windows are whole image pixels wide: small ones are off by more.
    assert cells_of(size, scale, reach, config) == pytest.approx(usual, rel=1.5 / min(size) / min(scale, 1.0) + 1e-6)


@given(SIZES)
def test_the_margin_is_the_same_on_all_sides(size: Point) -> None:
    config = TrackerConfig()
    window = search_window(CENTRE, size, 1.0, Reach.USUAL, config, 4)
    pixel = window.width / window.crop_width
    rounding = 2 + CROP_UNIT * pixel  # image pixels: the crop is whole cells, its middle cell holds the centre
    margins = [window.width - size[0], window.height - size[1]]
    assert abs(margins[0] - margins[1]) <= 2 * rounding
    assert margins[0] == pytest.approx((config.search_factor - 1) * math.sqrt(size[0] * size[1]), abs=rounding)
    assert abs(window.left + window.width / 2 - CENTRE[0]) <= rounding


def test_a_square_object_gets_the_crop_of_the_settings() -> None:
    window = search_window(CENTRE, (50, 50), 1.0, Reach.USUAL, TrackerConfig(), 4)
    assert (window.crop_width, window.crop_height) == (96, 96)
    assert (window.width, window.height) == (131, 131)


@given(st.floats(1, 300), st.floats(1, 40))
def test_no_crop_grows_beyond_measure(side: float, aspect: float) -> None:
    config = TrackerConfig()
    window = search_window(CENTRE, (side * aspect, side), 1.0, Reach.USUAL, config, 4)
    longest = max(window.crop_width, window.crop_height)
    assert longest <= MAX_CROP_SIDE * config.crop_size + CROP_UNIT
    assert window.crop_width % CROP_UNIT == window.crop_height % CROP_UNIT == 0
    assert min(window.crop_width, window.crop_height) >= 32


def test_the_reach_follows_what_is_known() -> None:
    config = TrackerConfig(wide_every=3)
    steady = Gaze(steady=True)
    assert Gaze().next_reach(False, False, config) is Reach.USUAL
    assert steady.next_reach(False, False, config) is Reach.NARROW
    assert steady.next_reach(False, True, config) is Reach.USUAL  # a frame to be learned from
    assert steady.next_reach(True, False, config) is Reach.WIDE
    assert steady.next_reach(False, False, config.override(narrow_search=0.0)) is Reach.USUAL
    after = steady.after(Reach.NARROW, True).after(Reach.NARROW, True)
    assert after.next_reach(False, False, config) is Reach.USUAL  # two narrow looks in a row are enough
    assert after.after(Reach.USUAL, True).next_reach(False, False, config) is Reach.NARROW


# ---------------------------------------------------------------------- in the tracker
STILL = render_sequence([Box(40.3, 30.8, 33, 27)] * 14)
EAGER: dict[str, Any] = {"narrow_above": 0.5, "narrow_motion": 1.0}


def widths(**settings: Any) -> list[int]:
    with small_tracker(u=5, **settings) as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        found = []
        for frame in STILL.frames[1:]:
            tracker.update(frame)
            found.append(tracker.trace.window.crop_width)
        return found


def test_a_steady_object_is_looked_at_narrowly_between_learnings() -> None:
    found = widths(**EAGER, wide_every=100)
    usual = found[0]
    assert [width < usual for width in found] == [False, *[True] * 3, False, *[True] * 4, False, *[True] * 3]


def test_a_usual_look_every_so_many_frames() -> None:
    found = widths(**EAGER, wide_every=2)
    assert [width < found[0] for width in found[:5]] == [False, True, False, True, False]


def test_narrow_looks_can_be_switched_off() -> None:
    assert len(set(widths(**EAGER, narrow_search=0.0))) == 1


def test_what_a_narrow_look_does_not_show_is_looked_for_in_the_same_frame() -> None:
    boxes = [Box(40, 30, 33, 27)] * 4 + [Box(58, 30, 33, 27)]  # a jump out of the narrow crop
    sequence = render_sequence(boxes)
    with small_tracker(**EAGER, wide_every=100, u=50) as tracker:
        results = follow(tracker, sequence)
        assert (
            tracker.trace.window.crop_width
            > search_window(CENTRE, (33, 27), 1.0, Reach.NARROW, tracker.config, 4).crop_width
        )
        assert "looked again, less narrowly" in tracker.trace.events
    assert results[-1].box.overlap(boxes[-1]) > 0.5


def test_nothing_is_learned_from_a_narrow_look() -> None:
    with small_tracker(**EAGER, wide_every=100, u=50, update="full") as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        tracker.update(STILL.frames[1])
        kept = len(tracker._require_target().memory.waiting)
        for frame in STILL.frames[2:6]:
            tracker.update(frame)
        assert tracker.trace.window.crop_width < 64
        assert len(tracker._require_target().memory.waiting) == kept == 1


def trained_at(**settings: Any) -> list[int]:
    """Frames in which a training of the ConvNetPart begins."""
    found = []
    with small_tracker(u=8, min_new_frames=1, **settings) as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        for index, frame in enumerate(STILL.frames[1:], start=1):
            tracker.update(frame)
            if any(event.startswith("training of the ConvNetPart") for event in tracker.trace.events):
                found.append(index)
    return found


def test_the_convnet_part_is_taught_more_often_than_the_parts_unless_the_object_is_steady() -> None:
    never_steady: dict[str, Any] = {"update": "full", "narrow_search": 0.0}
    assert trained_at(update_every=3, **never_steady) == [3, 6, 8, 11]
    assert trained_at(update_every=8, **never_steady) == [8]
    assert trained_at(update_every=50, **never_steady) == [8]
    assert trained_at(update_every=3, update="full", wide_every=100, **EAGER) == [8]


def test_a_resumed_tracker_looks_as_it_would_have(tmp_path: Any) -> None:
    with small_tracker(**EAGER, u=6) as tracker:
        for index, frame in enumerate(STILL.frames):
            if index == 0:
                tracker.init(frame, STILL.boxes[0])
                continue
            if index == 7:
                state = tracker.state()
            result = tracker.update(frame)
    resumed = type(tracker).from_state(state, weights=tracker._weights)
    for frame in STILL.frames[7:]:
        again = resumed.update(frame)
    assert again == result
    assert np.isfinite(again.confidence)


# ---------------------------------------------------------------------- another size, or farther away
DOUBTING: dict[str, Any] = {
    "resize_below": 1.0,
    "resize_step": 1.35,
    "resize_gain": 1.0,
    "widen_below": 0.0,
    "narrow_search": 0.0,
}


def size_after(growth: float, **settings: Any) -> tuple[float, tuple[str, ...]]:
    """The scale that a tracker believes in once the object has grown between two frames, and the events."""
    first = Box(44, 32, 33, 27)
    grown = Box.from_centre(first.centre, first.w * growth, first.h * growth)
    sequence = render_sequence([first, first, grown], size_wh=(160, 128), seed=2)
    with small_tracker(u=50, **{"box_damping": 0.0, **settings}) as tracker:
        follow(tracker, sequence)
        return tracker._require_target().shape.scale, tracker.trace.events


@pytest.mark.parametrize(("growth", "believed"), [(1.35, 1.35), (1 / 1.35, 1 / 1.35), (1.0, 1.0)])
def test_an_object_of_another_size_is_found_in_the_same_frame(growth: float, believed: float) -> None:
    scale, events = size_after(growth, **DOUBTING)
    assert scale == pytest.approx(believed)
    assert "looked again, for another size" in events


def test_no_other_size_is_looked_for_where_there_is_no_doubt() -> None:
    scale, events = size_after(1.35, **{**DOUBTING, "resize_below": 0.0})
    assert scale == 1.0
    assert "looked again, for another size" not in events


@pytest.mark.parametrize(("every", "looked"), [(1, True), (2, True), (3, False)])
def test_another_size_is_looked_for_in_one_of_some_frames(every: int, looked: bool) -> None:
    _, events = size_after(1.0, **DOUBTING, resize_every=every)  # the second frame after the first
    assert ("looked again, for another size" in events) == looked


def test_a_size_that_leaves_the_frame_in_doubt_is_not_believed() -> None:
    scale, events = size_after(1.35, **DOUBTING, uncertain_below=0.99)
    assert scale == 1.0
    assert "looked again, for another size" in events


def test_a_fixed_box_has_no_other_size() -> None:
    scale, events = size_after(1.35, **DOUBTING, box_model="fixed")
    assert scale == 1.0
    assert "looked again, for another size" not in events


def test_another_size_must_be_surer_by_a_margin() -> None:
    scale, events = size_after(1.35, **{**DOUBTING, "resize_gain": 1e6})
    assert scale == 1.0
    assert "looked again, for another size" in events


def test_sizes_stay_within_their_bounds() -> None:
    config = TrackerConfig(max_box_change=1.5)
    shape = Shape(30, 20)
    for _ in range(9):
        shape = shape.resized(1.2, config)
    assert shape.scale == 1.5
    assert shape.resized(1e-3, config).scale == pytest.approx(1 / 1.5)


@pytest.mark.parametrize(("gain", "believed"), [(1.0, True), (1.9, True), (2.1, False)])
def test_a_wide_look_must_be_surer_by_a_margin(gain: float, believed: bool) -> None:
    with small_tracker(**{**DOUBTING, "resize_below": 0.0}, widen_gain=gain) as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        tracker.update(STILL.frames[1])
        assert tracker._last is not None
        unclear = replace(tracker._last.reading, certainty=0.1)
        wide = replace(unclear, certainty=0.2)
        config = tracker.config.override(widen_below=0.3)
        reading, events = look_again(
            tracker._require_target(), unclear, lambda image, target, reach: wide, with_idle_hands, config
        )
    assert (reading is wide) == believed
    assert events == ["looked again, widely"]
