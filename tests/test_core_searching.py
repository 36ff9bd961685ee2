"""A missing object is looked for elsewhere in the picture: where its colours are, or near first; believed if sure."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.textures import paste, random_texture
from core_helpers import real_weights, small_tracker
from synthetic import Image
from tracking_parts import Box, MultiTracker, State, Tracker, TrackerConfig
from tracking_parts.confidence import StateMonitor
from tracking_parts.geometry import Point
from tracking_parts.searching import APART, MOST_NEAR_PLACES, MOST_PLACES, SEEN_AROUND, _places, place_to_search
from tracking_parts.target import Target

SIZE = 6.0  # cells of the object's side


def placed(votes: np.ndarray[Any, np.dtype[np.float32]] | None, most: int = 5) -> list[tuple[int, int]]:
    return _places((40, 60), votes, (10.0, 10.0), SIZE, most)


@given(st.integers(0, 1000))
def test_places_are_apart_and_not_where_the_other_looks_go(seed: int) -> None:
    votes = np.random.default_rng(seed).random((40, 60)).astype(np.float32)
    found = placed(votes)
    assert len(found) == 5
    for index, place in enumerate(found):
        assert math.dist(place, (10, 10)) >= SEEN_AROUND * SIZE
        assert all(max(abs(np.subtract(place, other))) >= APART * SIZE for other in found[:index])
    heights = [votes[row, column] for column, row in found]
    assert all(later <= earlier + 0.02 for earlier, later in pairwise(heights))


def test_the_best_place_comes_first() -> None:
    votes = np.zeros((40, 60), np.float32)
    votes[30, 50], votes[5, 40], votes[10, 10] = 0.9, 0.7, 1.0  # the last one is where it was
    assert placed(votes, 2) == [(50, 30), (40, 5)]


def test_without_colours_the_nearest_place_comes_first() -> None:
    found = placed(None, 40)
    distances = [math.dist(place, (10, 10)) for place in found]
    assert distances == sorted(distances)
    assert distances[0] < SEEN_AROUND * SIZE + 1
    assert placed(None, 10_000) == placed(None, 1_000)  # all there are


def test_a_small_picture_has_no_other_place() -> None:
    assert _places((5, 5), None, (2.0, 2.0), SIZE, 4) == []


# ---------------------------------------------------------------------- in the tracker
WIDTH, HEIGHT, SIDE = 320, 240, 36
HERE, THERE = Box(40.0, 50.0, SIDE, SIDE), Box(250.0, 170.0, SIDE, SIDE)


def scene(box: Box | None, seed: int = 3, colourful: bool = True) -> Image:
    """A greenish ground, and on it, if anywhere, a reddish object; or both grey."""
    random = np.random.default_rng(seed)
    ground, thing = random_texture(random, WIDTH, HEIGHT, 3.0), random_texture(random, SIDE, SIDE, 3.0)
    if colourful:
        ground, thing = ground.copy(), thing.copy()
        ground[..., 2] //= 3
        thing[..., :2] //= 3
    else:
        ground, thing = (np.repeat(picture[..., 1:2], 3, axis=2) for picture in (ground, thing))
    return ground if box is None else paste(ground, thing, box)


def lose(tracker: Tracker, colourful: bool = True, frames: int = 30) -> None:
    """Follow it for some frames, then let it vanish."""
    tracker.init(scene(HERE, colourful=colourful), HERE)
    for _ in range(8):
        tracker.update(scene(HERE, colourful=colourful))
    for _ in range(frames):
        tracker.update(scene(None, colourful=colourful))


def target_of(tracker: Tracker) -> Target:
    assert tracker._target is not None
    return tracker._target


def searched(tracker: Tracker, frame: Image, turns: int) -> list[Point]:
    target = target_of(tracker)
    places = []
    for turn in range(turns):
        target.monitor = StateMonitor(State.LOST, turn, 0.9)
        place = place_to_search(target, frame)
        assert place is not None
        places.append(place)
    return places


def test_where_its_colours_are_is_looked_at_first() -> None:
    with small_tracker() as tracker:
        lose(tracker, frames=0)
        assert target_of(tracker).colour is not None
        first, *others = searched(tracker, scene(THERE), MOST_PLACES)
    assert math.dist(first, THERE.centre) < SIDE / 4
    assert all(math.dist(place, THERE.centre) > SIDE / 3 for place in others)


def test_grey_pictures_are_searched_from_near_to_far() -> None:
    with small_tracker(colour_weight=0.0) as tracker:
        lose(tracker, colourful=False, frames=0)
        assert target_of(tracker).colour is None
        places = searched(tracker, scene(None, colourful=False), MOST_NEAR_PLACES)
    away = [math.dist(place, HERE.centre) for place in places]
    assert away == pytest.approx(sorted(away), abs=SIDE / 3)
    assert len(set(places)) > 20


def real_tracker(**settings: Any) -> Tracker:
    """Random weights call an empty scene the object."""
    return Tracker(TrackerConfig(**settings), weights=real_weights())


@pytest.mark.parametrize(("settings", "is_found"), [({}, True), ({"search_after": 0}, False)])
def test_what_comes_back_elsewhere_is_found(settings: dict[str, Any], is_found: bool) -> None:
    with real_tracker(**settings) as tracker:
        lose(tracker)
        lost = [tracker.update(scene(None))]
        events = set(tracker.trace.events)
        back = []
        for _ in range(2 * MOST_PLACES):
            back.append(tracker.update(scene(THERE)))
            events.update(tracker.trace.events)
    assert lost[0].state is State.LOST
    assert (back[-1].box.overlap(THERE) > 0.5) == is_found
    assert (back[-1].state is State.TRACKING) == is_found
    assert ({"looked elsewhere", "found elsewhere"} <= events) == is_found


def test_nothing_is_learned_from_the_look_that_finds_it() -> None:
    with real_tracker() as tracker:
        lose(tracker)
        before = target_of(tracker).frames_since_learning, len(target_of(tracker).parts)
        for _ in range(2 * MOST_PLACES):
            if tracker.update(scene(THERE)).state is State.TRACKING:
                break
        after = target_of(tracker).frames_since_learning, len(target_of(tracker).parts)
        assert "found elsewhere" in tracker.trace.events
    assert before == after


def test_it_is_not_believed_to_be_where_it_is_not() -> None:
    with real_tracker() as tracker:
        lose(tracker, frames=60)
        assert target_of(tracker).monitor.state is State.LOST
        assert math.dist(target_of(tracker).centre, HERE.centre) < 3 * SIDE


def test_one_of_several_is_searched_for_as_if_it_were_alone() -> None:
    frames = [*[scene(HERE)] * 8, *[scene(None)] * 14, *[scene(THERE)] * 8]
    with real_tracker() as alone, MultiTracker(alone.config, weights=alone._weights) as several:
        alone.init(frames[0], HERE)
        several.add(frames[0], HERE, "it")
        for frame in frames[1:]:
            assert several.update(frame)["it"] == alone.update(frame)
