"""The colour part where it has nothing to say, and where it could go wrong: no contrast, nothing to see, thin boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import (
    PAINTED_OBJECT,
    PAINTED_SIDE,
    RED,
    colours_of,
    follow,
    painted,
    random_weights,
    small_tracker,
)
from synthetic import SyntheticSequence
from tracking_parts import MultiTracker, StateFileError, Tracker
from tracking_parts.colour_part import CONFIRMED_RATE, FEWEST_PIXELS, ColourPart, colour_numbers
from tracking_parts.errors import LearningWarning
from tracking_parts.geometry import Box
from tracking_parts.voting import Loudness, VoteMap, combine, uncertainty_mask

SIDE, CELLS = PAINTED_SIDE, (16, 16)
CROP = Box(0, 0, SIDE, SIDE)
OBJECT = PAINTED_OBJECT
PICTURE = Box(-0.5, -0.5, 16, 16)  # the same as CROP, in cells


def colour_of(tracker: Tracker) -> ColourPart:
    colour = tracker._require_target().colour
    assert colour is not None
    return colour


# ------------------------------------------------------------------ no contrast, no say
def test_grey_on_the_same_grey_has_no_say() -> None:
    part = colours_of(np.full((SIDE, SIDE, 3), 120, np.uint8))
    assert part.agreement == 1.0  # its votes are even: they never disagree
    assert part.contrast == pytest.approx(0.0, abs=1e-6) and part.trust == pytest.approx(0.0, abs=1e-4)


def test_red_on_green_has_a_full_say() -> None:
    part = colours_of(painted(OBJECT))
    assert part.contrast > 0.9 and part.trust == 1.0


def test_even_votes_do_not_hold_an_object_that_has_moved() -> None:
    """Under the mask M_c they are highest at the last centre."""
    grey = np.full((SIDE, SIDE, 3), 120, np.uint8)
    part, filters = colours_of(grey), torch.zeros(CELLS)
    filters[8, 12] = 1.0
    mask = uncertainty_mask(CELLS, (5.0, 8.0), 5.0, 2.0, 0.0)
    votes = part.vote(grey, CELLS, (6.0, 4.0), PICTURE)
    held, found = (combine(filters, None, 0.5, mask, Loudness(), votes, 0.5 * trust) for trust in (1.0, part.trust))
    assert held.centre[0] < 8  # were it believed
    assert found.centre == pytest.approx((12, 8), abs=0.5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 256))
def test_trust_is_a_share_whatever_the_picture(seed: int, shades: int) -> None:
    crop = np.random.default_rng(seed).integers(0, shades, (SIDE, SIDE, 3), dtype=np.uint8)
    part = colours_of(crop)
    assert 0 <= part.trust <= 1 and -1e-6 <= part.contrast < 1


# ------------------------------------------------------------------ nothing to see
@pytest.mark.parametrize(
    ("box", "picture"),
    [
        (Box(200, 200, 10, 10), CROP),  # beside the crop
        (Box(-40, -40, 20, 20), CROP),
        (OBJECT, Box(-50, 0, 20, SIDE)),  # outside the picture
        (Box(10, 10, 2, 2), CROP),  # hardly any of it
        (Box(-500, -500, 2000, 2000), CROP),  # nothing around it
    ],
)
def test_what_shows_too_little_teaches_nothing(box: Box, picture: Box) -> None:
    assert ColourPart.first(painted(OBJECT), box, picture) is None
    part = colours_of(painted(OBJECT))
    assert part.learned(painted(OBJECT), box, picture, 0.5) is part


def test_the_fewest_pixels_that_are_learned_from() -> None:
    side = FEWEST_PIXELS**0.5  # of the inner part, 0.8 of the box
    assert ColourPart.first(painted(OBJECT), Box(20, 20, side / 0.8, side / 0.8), CROP) is not None
    assert ColourPart.first(painted(OBJECT), Box(20, 20, side / 0.8, (side - 1) / 0.8), CROP) is None


def test_colours_that_cannot_be_seen_at_first_are_learned_later(moving_object: SyntheticSequence) -> None:
    """A box as large as the picture has nothing around it; without a colour part the answers are those without one."""
    height, width = moving_object.frames[0].shape[:2]
    whole = Box(0, 0, width, height)
    with small_tracker() as tracker, small_tracker(colour_weight=0.0) as plain:
        assert tracker.init(moving_object.frames[0], whole) == plain.init(moving_object.frames[0], whole)
        assert tracker._require_target().colour is None
        assert tracker.update(moving_object.frames[1]) == plain.update(moving_object.frames[1])
        resumed = Tracker.from_state(tracker.state(), weights=random_weights())
        tracker.correct(moving_object.frames[1], moving_object.boxes[1])
        resumed.correct(moving_object.frames[1], moving_object.boxes[1])
        assert (colour_of(tracker).inside == colour_of(resumed).inside).all()


def test_a_state_with_colours_that_nobody_minds_is_refused(moving_object: SyntheticSequence) -> None:
    with small_tracker() as tracker:
        follow(tracker, moving_object, 3)
        state = tracker.state()
    state.values["config"] = {**state.values["config"], "colour_weight": 0.0}
    with pytest.raises(StateFileError, match="nobody minds"):
        Tracker.from_state(state, weights=random_weights())


# ------------------------------------------------------------------ thin boxes, and those at the picture's edges
@given(st.floats(0.01, 60), st.floats(0.01, 60), st.floats(-20, 20), st.floats(-20, 20))
def test_votes_never_exceed_one(width: float, height: float, left: float, top: float) -> None:
    """All of the crop has the object's colour, so that every sum is as high as it can be."""
    red = np.full((SIDE, SIDE, 3), RED, np.uint8)
    votes = colours_of(painted(OBJECT)).vote(red, CELLS, (width, height), Box(left, top, 16, 16))
    assert np.isfinite(votes).all() and votes.min() >= 0 and votes.max() <= 1


def mean_in_box(odds: VoteMap, middle: tuple[int, int], size: tuple[float, float], picture: Box) -> float:
    """The slow way: the mean over all that a box covers of cells in the picture, 0 beyond the map."""
    total = seen = 0.0
    for row in range(-40, 56):
        for column in range(-40, 56):
            cell = Box(column - 0.5, row - 0.5, 1, 1)
            share = cell.within(Box.from_centre(middle, *size)).intersection(picture)
            on_map = 0 <= row < odds.shape[0] and 0 <= column < odds.shape[1]
            total += share * float(odds[row, column]) if on_map else 0.0
            seen += share if on_map else cell.intersection(Box.from_centre(middle, *size))
    return total / seen


@pytest.mark.parametrize("size", [(6.0, 4.0), (9.0, 0.5), (0.25, 0.5), (5.5, 3.25)])
@pytest.mark.parametrize("picture", [PICTURE, Box(3.5, -0.5, 16, 16), Box(-0.5, 2.5, 9, 7)])
def test_a_vote_is_the_mean_over_the_box_in_the_picture(size: tuple[float, float], picture: Box) -> None:
    crop = np.random.default_rng(3).integers(0, 256, (16, 16, 3), dtype=np.uint8)  # one pixel per cell
    part = colours_of(painted(OBJECT))
    part = replace(part, inside=np.random.default_rng(4).dirichlet(np.ones(4096)).astype(np.float32))
    votes = part.vote(crop, CELLS, size, picture)
    odds = part._odds[colour_numbers(crop)]
    for middle in ((8, 8), (5, 6), (6, 4)):
        assert votes[middle[1], middle[0]] == pytest.approx(mean_in_box(odds, middle, size, picture), rel=1e-3)


# ------------------------------------------------------------------ learning that fails, and learning by hand
def test_a_fault_of_the_colour_part_does_not_end_tracking(
    moving_object: SyntheticSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*anything: object) -> None:
        raise MemoryError("no room")

    with small_tracker() as tracker, small_tracker(colour_weight=0.0) as plain:
        with monkeypatch.context() as patch, pytest.warns(LearningWarning, match="learning colours failed"):
            patch.setattr("tracking_parts.colour_part.colour_numbers", fail)
            tracker.init(moving_object.frames[0], moving_object.boxes[0])
        plain.init(moving_object.frames[0], moving_object.boxes[0])
        assert "learning colours failed: MemoryError: no room" in tracker.trace.fault
        assert tracker.update(moving_object.frames[1]) == plain.update(moving_object.frames[1])
        assert tracker._require_target().colour is not None  # the next frame that teaches does


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_what_a_person_confirms_is_learned_whatever_the_rate(rate: float, moving_object: SyntheticSequence) -> None:
    def inside(box: Box, rate: float) -> tuple[ColourPart, ColourPart]:
        with small_tracker(colour_rate=rate) as tracker:
            follow(tracker, moving_object, 2)
            before = colour_of(tracker)
            tracker.correct(moving_object.frames[1], box)
            return before, colour_of(tracker)

    before, after = inside(Box(70, 55, 30, 26), rate)
    moved = np.abs(after.inside - before.inside).sum() / 2
    assert moved == pytest.approx(CONFIRMED_RATE, abs=0.25)  # of other colours: about that share is new


def test_a_correction_tells_whether_the_colours_were_right(moving_object: SyntheticSequence) -> None:
    def agreement(place: Callable[[Tracker], Box]) -> float:
        with small_tracker() as tracker:
            follow(tracker, moving_object, 4)
            before = colour_of(tracker).agreement
            tracker.correct(moving_object.frames[3], place(tracker))
            return colour_of(tracker).agreement - before

    assert agreement(lambda tracker: Box(96, 4, 24, 20)) < agreement(lambda tracker: moving_object.boxes[3])


# ------------------------------------------------------------------ the same boxes
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_resumed_tracker_goes_on_with_its_colours(rate: float, moving_object: SyntheticSequence) -> None:
    with small_tracker(colour_rate=rate) as tracker:
        follow(tracker, moving_object, 6)
        with Tracker.from_state(tracker.state(), weights=random_weights()) as resumed:
            for frame in moving_object.frames[6:10]:
                assert resumed.update(frame) == tracker.update(frame)
            assert colour_of(resumed).agreement == colour_of(tracker).agreement
            assert (colour_of(resumed).inside == colour_of(tracker).inside).all()


def test_objects_do_not_share_colours(moving_object: SyntheticSequence) -> None:
    config, weights = small_tracker().config, random_weights()
    places = (moving_object.boxes[0], Box(80, 50, 30, 26))
    with MultiTracker(config, weights=weights) as together:
        names = [together.add(moving_object.frames[0], box) for box in places]
        found = [together.update(frame) for frame in moving_object.frames[1:5]]
    for name, box in zip(names, places, strict=True):
        with Tracker(config, weights=weights) as alone:
            alone.init(moving_object.frames[0], box)
            assert [alone.update(frame) for frame in moving_object.frames[1:5]] == [frame[name] for frame in found]
