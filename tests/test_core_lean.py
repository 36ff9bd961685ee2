"""The box leans: an object that turns becomes wider and lower, or narrower and higher, and its colours tell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import (
    PAINTED_OBJECT,
    PAINTED_SIDE,
    colours_of,
    follow,
    overlaps,
    painted,
    random_weights,
    small_config,
    small_tracker,
)
from synthetic import SyntheticSequence, paste, random_texture
from tracking_parts import StateFileError, Tracker
from tracking_parts.box_estimation import MAX_LEAN, MAX_LEAN_STEP, Shape
from tracking_parts.colour_part import LEANS, ColourPart, colour_numbers
from tracking_parts.geometry import Box

CENTRE = PAINTED_OBJECT.centre
PICTURE = Box(0, 0, PAINTED_SIDE, PAINTED_SIDE)


def turning(count: int = 16) -> SyntheticSequence:
    """Something reddish on bluish ground turns from 40 x 24 to 24 x 40 pixels, of one area."""
    rng = np.random.default_rng(5)
    ground, thing = random_texture(rng, 128, 96, 3.0), random_texture(rng, 40, 40, 3.0)
    ground[..., 2] //= 4
    thing[..., 0] //= 4
    leans = math.log(40 / 24) * np.linspace(1, -1, count)
    sides = [(math.sqrt(960) * math.exp(lean / 2), math.sqrt(960) * math.exp(-lean / 2)) for lean in leans]
    boxes = [Box.from_centre((64, 48), width, height) for width, height in sides]
    return SyntheticSequence([paste(ground, thing, box) for box in boxes], boxes)


# ------------------------------------------------------------------ what colours say
@pytest.mark.parametrize("lean", [-0.5, -0.2, 0.2, 0.5])
def test_colours_pull_towards_the_sides_that_the_object_has(lean: float) -> None:
    part = colours_of(painted(PAINTED_OBJECT))
    wider = math.exp(lean / 2)
    now = painted(Box.from_centre(CENTRE, PAINTED_OBJECT.w * wider, PAINTED_OBJECT.h / wider))
    pull = part.lean(now, PAINTED_OBJECT, PICTURE)
    assert math.copysign(1, pull) == math.copysign(1, lean) and abs(pull) > 0.05


def test_an_object_that_fills_its_box_pulls_nowhere() -> None:
    assert colours_of(painted(PAINTED_OBJECT)).lean(painted(PAINTED_OBJECT), PAINTED_OBJECT, PICTURE) == pytest.approx(
        0, abs=0.05
    )


@given(st.floats(-40, 120), st.floats(-40, 120), st.floats(1, 90), st.floats(1, 90), st.floats(-50, 60))
def test_the_pull_is_the_slope_of_the_mean_over_boxes_of_one_area(
    x: float, y: float, width: float, height: float, left: float
) -> None:
    """The slow definition, pixel by pixel; what lies outside the picture does not count, and no box at all says 0."""
    part, crop, picture = colours_of(painted(PAINTED_OBJECT)), painted(Box(20, 30, 25, 14)), Box(left, 5, 70, 60)
    odds = part._odds[colour_numbers(crop)]
    means = []
    for lean in LEANS:
        wider = math.exp(lean / 2)
        box = Box.from_centre((x, y), width * wider, height / wider)
        columns = range(round(max(box.x, picture.x, 0)), round(min(box.x + box.w, picture.x + picture.w, PAINTED_SIDE)))
        rows = range(round(max(box.y, picture.y, 0)), round(min(box.y + box.h, picture.y + picture.h, PAINTED_SIDE)))
        means.append(np.mean([odds[row, column] for row in rows for column in columns]) if rows and columns else np.nan)
    expected = 0.0 if np.isnan(means).any() else np.polyfit(LEANS, means, 1)[0]
    assert part.lean(crop, Box.from_centre((x, y), width, height), picture) == pytest.approx(expected, abs=1e-4)


# ------------------------------------------------------------------ the shape
@given(st.floats(-5, 5), st.floats(-MAX_LEAN, MAX_LEAN))
def test_leaning_keeps_the_area_and_is_bounded(pull: float, lean: float) -> None:
    shape = replace(Shape(30, 12, 1.5), lean=lean)
    after = shape.leaning(pull, small_config())
    assert math.prod(after.size) == pytest.approx(math.prod(shape.size))
    assert abs(after.lean - shape.lean) <= MAX_LEAN_STEP + 1e-12 and abs(after.lean) <= MAX_LEAN


def test_without_a_pull_the_sides_come_back() -> None:
    shape = replace(Shape(30, 12), lean=0.8)
    for _ in range(60):
        shape = shape.leaning(0.0, small_config())
    assert shape.size == pytest.approx((30, 12), rel=1e-3)


def test_what_a_person_says_is_where_it_leans_from() -> None:
    shape = replace(Shape(30, 12), lean=0.8).corrected(20, 20, small_config())
    assert shape.size == pytest.approx((20, 20)) and shape.lean == 0


# ------------------------------------------------------------------ in the tracker
def test_an_object_that_turns_is_followed_by_its_sides() -> None:
    sequence = turning()
    leaning = overlaps(follow(small_tracker(), sequence), sequence)
    upright = overlaps(follow(small_tracker(lean_gain=0.0), sequence), sequence)
    assert np.mean(leaning[-5:]) > np.mean(upright[-5:]) + 0.1
    assert min(leaning) > 0.5


@pytest.mark.parametrize("model", ["similarity", "affine"])
def test_an_outline_that_turns_by_itself_does_not_lean(model: str) -> None:
    """Its sides are those that were first seen: colours, which see it upright, would pull the wrong ones."""
    tracker = small_tracker(box_model=model)
    follow(tracker, turning())
    assert tracker._require_target().shape.lean == 0.0


@pytest.mark.parametrize("settings", [{"lean_gain": 0.0}, {"box_model": "fixed"}, {"colour_weight": 0.0}])
def test_who_does_not_want_it_has_the_first_sides(settings: dict[str, Any]) -> None:
    for result in follow(small_tracker(**settings), turning()):
        assert result.box.w / result.box.h == pytest.approx(40 / 24, rel=1e-6)


def test_while_unsure_nothing_leans() -> None:
    tracker = small_tracker(uncertain_below=1.0)
    for result in follow(tracker, turning()):
        assert result.box.w / result.box.h == pytest.approx(40 / 24, rel=1e-6)


def test_the_colours_of_nothing_at_all_pull_nowhere() -> None:
    part: ColourPart = colours_of(painted(PAINTED_OBJECT))
    assert part.lean(painted(PAINTED_OBJECT), Box(500, 500, 10, 10), PICTURE) == 0.0


# ------------------------------------------------------------------ states
def test_a_resumed_tracker_leans_as_if_it_had_never_stopped() -> None:
    sequence = turning()
    with small_tracker() as tracker:
        follow(tracker, sequence, 8)
        with Tracker.from_state(tracker.state(), weights=random_weights()) as resumed:
            assert [resumed.update(frame) for frame in sequence.frames[8:]] == [
                tracker.update(frame) for frame in sequence.frames[8:]
            ]


@pytest.mark.parametrize("lean", [math.nan, math.inf, 1.5, -1.5, "much", None])
def test_a_state_that_leans_too_far_is_refused(lean: object) -> None:
    tracker = small_tracker()
    follow(tracker, turning(), 3)
    state = tracker.state()
    shape = [*state.values["shape"][:5], lean]
    with pytest.raises(StateFileError):
        Tracker.from_state(replace(state, values={**state.values, "shape": shape}), weights=random_weights())
