"""The colour part: what it learns, how it votes, when it is believed, and what it changes in the tracker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import (
    GREEN,
    PAINTED_OBJECT,
    PAINTED_SIDE,
    RED,
    colours_of,
    follow,
    last_reading,
    painted,
    random_weights,
    small_config,
    small_tracker,
)
from synthetic import SyntheticSequence
from tracking_parts import StateFileError, Tracker
from tracking_parts.colour_part import COLOURS, _box_sums, colour_numbers, seen_share
from tracking_parts.deciding import Votes, read_votes
from tracking_parts.geometry import Box
from tracking_parts.tracker_state import TrackerState
from tracking_parts.voting import Loudness, combine

SIDE, STRIDE = PAINTED_SIDE, 4
CELLS = (SIDE // STRIDE, SIDE // STRIDE)
EVERYWHERE = Box(-100, -100, 300, 300)
OBJECT = PAINTED_OBJECT  # in the crop
IN_CELLS = (OBJECT.w / STRIDE, OBJECT.h / STRIDE)
GREY = (120, 120, 120)


# ------------------------------------------------------------------ learning
def test_it_knows_the_colours_of_the_object_and_of_its_ground() -> None:
    part = colours_of(painted(OBJECT))
    red, green = (int(colour_numbers(np.full((1, 1, 3), colour, np.uint8))[0, 0]) for colour in (RED, GREEN))
    assert part.inside[red] == pytest.approx(1.0)
    assert part.outside[green] == pytest.approx(1.0)
    assert part.inside.sum() == pytest.approx(1.0) == part.outside.sum()


def test_every_colour_has_a_number_of_its_own() -> None:
    levels = np.arange(0, 256, 16, dtype=np.uint8)
    picture = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, -1, 3)
    assert sorted(colour_numbers(picture)[0].tolist()) == list(range(COLOURS))


def test_a_new_frame_weighs_as_much_as_it_is_told() -> None:
    part = colours_of(painted(OBJECT))
    grey = int(colour_numbers(np.full((1, 1, 3), GREY, np.uint8))[0, 0])
    learned = part.learned(painted(OBJECT, GREY), OBJECT, EVERYWHERE, 0.25)
    assert learned.inside[grey] == pytest.approx(0.25)
    assert part.inside[grey] == 0.0  # the one before is as it was


def test_what_lies_outside_the_picture_is_nobodys_colour() -> None:
    picture = painted(OBJECT)
    picture[:, :30] = GREY  # as the crop repeats the border
    part = colours_of(picture, picture_in_crop=Box(30, 0, 100, 100))
    grey = int(colour_numbers(np.full((1, 1, 3), GREY, np.uint8))[0, 0])
    assert part.inside[grey] == 0.0 == part.outside[grey]


# ------------------------------------------------------------------ voting
@given(st.integers(4, 36), st.integers(4, 44))
def test_the_vote_is_highest_where_the_object_is(x: int, y: int) -> None:
    moved = Box(x, y, OBJECT.w, OBJECT.h)
    votes = colours_of(painted(OBJECT)).vote(painted(moved), CELLS, IN_CELLS, EVERYWHERE)
    row, column = np.unravel_index(votes.argmax(), votes.shape)
    centre = ((moved.centre[0] - 0.5) / STRIDE - 0.5, (moved.centre[1] - 0.5) / STRIDE - 0.5)
    assert (column, row) == pytest.approx(centre, abs=1.0)
    assert votes.max() > 0.8


@given(st.integers(1, 24), st.floats(0.2, 30.0))
def test_sums_along_an_axis_are_those_of_boxes(cells: int, length: float) -> None:
    """A box around the middle of a cell covers its neighbours wholly, or by what is left of its length."""
    sums = _box_sums(cells, length)
    for middle in range(cells):
        for cell in range(cells):
            covered = min(cell + 0.5, middle + length / 2) - max(cell - 0.5, middle - length / 2)
            assert sums[middle, cell] == pytest.approx(min(max(covered, 0.0), 1.0), abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 40), st.floats(0.3, 40), st.floats(-30, 30), st.floats(-30, 30))
def test_votes_are_shares(seed: int, width: float, height: float, left: float, top: float) -> None:
    random = np.random.default_rng(seed)
    crop = random.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    part = colours_of(crop)
    votes = part.vote(crop, CELLS, (width, height), Box(left, top, 20, 20))
    assert votes.shape == CELLS and votes.dtype == np.float32
    assert np.isfinite(votes).all() and votes.min() >= 0 and votes.max() <= 1 + 1e-4


def test_the_share_of_a_cell_in_the_picture() -> None:
    share = seen_share((3, 4), Box(0.25, -0.5, 1.5, 1.5))
    assert share.tolist() == [[0.25, 1.0, 0.25, 0], [0.125, 0.5, 0.125, 0], [0, 0, 0, 0]]


def test_an_object_half_outside_the_picture_is_voted_for_where_it_is() -> None:
    box, picture_in_crop = Box(20, 24, 24, 16), Box(32, 0, 100, 100)  # the left half is outside
    crop = painted(box)
    crop[:, :32] = GREY
    part = colours_of(crop, box, picture_in_crop)
    edge = 32 / STRIDE - 0.5
    votes = part.vote(crop, CELLS, IN_CELLS, Box(edge, -0.5, 100, 100))
    inwards = votes[7, 11]
    assert votes[7, 7] > 0.8 > inwards + 0.2


# ------------------------------------------------------------------ trust
def test_who_agrees_is_believed_and_who_does_not_loses_his_say() -> None:
    part, picture = colours_of(painted(OBJECT)), painted(OBJECT)
    votes = part.vote(picture, CELLS, IN_CELLS, EVERYWHERE)
    at_peak = np.unravel_index(votes.argmax(), votes.shape)
    agreeing = disagreeing = part
    for _ in range(40):
        agreeing = agreeing.observed(votes, (float(at_peak[1]), float(at_peak[0])))
        disagreeing = disagreeing.observed(votes, (1.0, 1.0))
    assert agreeing.trust == 1.0
    assert disagreeing.trust == 0.0


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_a_decision_anywhere_can_be_observed(x: float, y: float) -> None:
    votes = np.random.default_rng(0).random(CELLS).astype(np.float32)
    assert 0 <= colours_of(painted(OBJECT)).observed(votes, (x, y)).agreement <= 1


def test_no_votes_at_all_are_no_agreement() -> None:
    assert colours_of(painted(OBJECT)).observed(np.zeros(CELLS, np.float32), (3, 3)).agreement < 1


def test_grey_on_grey_ranks_no_place_before_another() -> None:
    picture = np.full((SIDE, SIDE, 3), GREY, np.uint8)
    inner = colours_of(picture).vote(picture, CELLS, IN_CELLS, EVERYWHERE)[4:-4, 4:-4]
    assert np.ptp(inner) < 1e-5


# ------------------------------------------------------------------ the decision
def test_colours_count_by_their_weight() -> None:
    filters, mask = torch.zeros(16, 16), np.ones((16, 16), np.float32)
    filters[4, 4] = 1.0
    colours = np.zeros((16, 16), np.float32)
    colours[10, 10] = 0.9
    for weight, centre in ((0.0, 4), (0.3, 4), (0.7, 10)):
        decision = combine(filters, None, 0.5, mask, Loudness(), colours, weight)
        assert decision.centre == pytest.approx((centre, centre), abs=0.5)


# ------------------------------------------------------------------ in the tracker
def test_of_two_places_that_look_alike_the_one_with_the_objects_colours_is_believed() -> None:
    """Both pathways rank another place a little higher; there is the ground."""
    box = Box(40, 40, 30, 26)
    frame = np.random.default_rng(0).integers(90, 130, (112, 160, 3), dtype=np.uint8)
    frame[40:66, 40:70, 2] = 240
    with small_tracker() as tracker:
        tracker.init(frame, box)
        tracker.update(frame)
        last, target = last_reading(tracker), tracker._require_target()
        assert last.filter_map is not None and last.votes is not None
        x, y = (round(place) for place in last.view.window.map_from_image(box.centre))
        maps = torch.zeros_like(last.filter_map)
        maps[y, x], maps[y, x - 5] = 0.9, 1.0
        mask = np.ones(tuple(maps.shape), np.float32)
        colours = target.colour_votes(last.view)
        with_colours, without = (
            read_votes(last.view, Votes(maps, maps, told, last.votes), target, tracker.config, mask).decision.centre
            for told in (colours, None)
        )
    assert with_colours == pytest.approx((x, y), abs=0.6)
    assert without == pytest.approx((x - 5, y), abs=0.6)


def test_without_weight_there_is_no_colour_part(moving_object: SyntheticSequence) -> None:
    with small_tracker(colour_weight=0.0) as tracker:
        follow(tracker, moving_object, 4)
        assert tracker._require_target().colour is None
        assert not tracker.trace.colour_votes.any()


def test_its_votes_are_told(moving_object: SyntheticSequence) -> None:
    with small_tracker() as tracker:
        follow(tracker, moving_object, 4)
        trace = tracker.trace
    assert trace.colour_votes.shape == trace.combined_votes.shape
    assert 0 < trace.colour_votes.max() <= 1


def test_nothing_is_learned_of_colours_at_rate_zero(moving_object: SyntheticSequence) -> None:
    with small_tracker(colour_rate=0.0) as tracker:
        tracker.init(moving_object.frames[0], moving_object.boxes[0])
        first = tracker._require_target().colour
        for frame in moving_object.frames[1:8]:
            tracker.update(frame)
        last = tracker._require_target().colour
    assert first is not None and last is not None
    assert (first.inside == last.inside).all() and (first.outside == last.outside).all()


def test_a_correction_teaches_colours(moving_object: SyntheticSequence) -> None:
    with small_tracker(colour_rate=0.5) as tracker:
        follow(tracker, moving_object, 3)
        before = tracker._require_target().colour
        tracker.correct(moving_object.frames[2], Box(60, 50, 30, 26))
        after = tracker._require_target().colour
    assert before is not None and after is not None and (before.inside != after.inside).any()


def test_while_unsure_nothing_is_learned_of_colours(moving_object: SyntheticSequence) -> None:
    with small_tracker(uncertain_below=1.0, lost_below=0.0) as tracker:  # never sure
        tracker.init(moving_object.frames[0], moving_object.boxes[0])
        before = tracker._require_target().colour
        tracker.update(moving_object.frames[1])
        assert tracker._require_target().colour == before


# ------------------------------------------------------------------ states
def a_state(moving_object: SyntheticSequence, **settings: Any) -> TrackerState:
    with small_tracker(**settings) as tracker:
        follow(tracker, moving_object, 4)
        return tracker.state()


def damaged(change: Callable[[dict[str, Any], dict[str, torch.Tensor]], None], state: TrackerState) -> TrackerState:
    values, tensors = dict(state.values), dict(state.tensors)
    change(values, tensors)
    return replace(state, values=values, tensors=tensors)


@pytest.mark.parametrize(
    "change",
    [
        lambda values, tensors: values.update(colour=2.0),
        lambda values, tensors: values.update(colour="much"),
        lambda values, tensors: tensors.pop("colour.inside"),
        lambda values, tensors: tensors.update({"colour.outside": torch.zeros(3)}),
        lambda values, tensors: tensors.update({"colour.outside": torch.zeros(COLOURS)}),
        lambda values, tensors: tensors.update({"colour.inside": -tensors["colour.inside"]}),
    ],
)
def test_a_state_with_damaged_colours_is_refused(
    change: Callable[[dict[str, Any], dict[str, torch.Tensor]], None], moving_object: SyntheticSequence
) -> None:
    with pytest.raises(StateFileError):
        Tracker.from_state(damaged(change, a_state(moving_object)), weights=random_weights())


def test_a_state_without_colours_has_none(moving_object: SyntheticSequence) -> None:
    state = a_state(moving_object, colour_weight=0.0)
    assert state.values["colour"] is None
    assert not any(name.startswith("colour") for name in state.tensors)
    with Tracker.from_state(state, weights=random_weights()) as resumed:
        assert resumed.config == small_config(colour_weight=0.0)
