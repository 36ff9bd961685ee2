"""A missing object is looked for elsewhere in the picture: where its colours are, or near first; believed if sure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.textures import paste, random_texture
from core_helpers import last_reading, real_weights, small_tracker
from synthetic import Image
from tracking_parts import Box, MultiTracker, State, Tracker, TrackerConfig
from tracking_parts.box_estimation import Shape
from tracking_parts.colour_part import ColourPart
from tracking_parts.confidence import StateMonitor
from tracking_parts.frames import Reach
from tracking_parts.geometry import Point
from tracking_parts.looking_again import PLACES_AT_ONCE, look_again
from tracking_parts.searching import (
    APART,
    MOST_PLACES,
    MOST_STEPS,
    SEEN_AROUND,
    SWEEP_EVERY,
    SWEEP_STEP,
    coloured_places,
    places_to_search,
    swept_places,
)
from tracking_parts.step import Reading
from tracking_parts.target import Target
from tracking_parts.threads import with_idle_hands
from tracking_parts.voting import Opinion

SIZES = st.floats(1, 400)


@given(st.tuples(st.integers(8, 2000), st.integers(8, 2000)), st.floats(0, 1), st.floats(0, 1), SIZES)
def test_a_sweep_sees_the_whole_picture_from_near_to_far(
    picture_wh: tuple[int, int], across: float, down: float, size: float
) -> None:
    last = (across * picture_wh[0], down * picture_wh[1])
    places = swept_places(picture_wh, last, size)
    away = [math.dist(place, last) for place in places]
    assert away == pytest.approx(sorted(away))
    assert all(0 <= x <= picture_wh[0] and 0 <= y <= picture_wh[1] for x, y in places)
    assert len(places) <= (MOST_STEPS + 1) ** 2
    step = max(SWEEP_STEP * size, max(picture_wh) / MOST_STEPS)
    corners = [(x, y) for x in (0, picture_wh[0]) for y in (0, picture_wh[1])]
    for corner in corners:  # the last place itself is looked at anyway
        assert min(max(abs(np.subtract(place, corner))) for place in [*places, last]) <= step * (1 + 1e-9)


def red_on_green(*places: Point, size: float, picture_wh: tuple[int, int] = (640, 480)) -> Image:
    picture = np.full((picture_wh[1], picture_wh[0], 3), (40, 160, 40), np.uint8)
    for x, y in places:
        x0, y0, x1, y1 = (max(0, round(edge)) for edge in (x - size / 2, y - size / 2, x + size / 2, y + size / 2))
        picture[y0:y1, x0:x1] = (30, 30, 220)
    return picture


def red_part() -> ColourPart:
    picture = red_on_green((100, 100), size=60, picture_wh=(200, 200))
    part = ColourPart.first(picture, Box(70, 70, 60, 60), Box(0, 0, 200, 200))
    assert part is not None
    return part


@pytest.mark.parametrize(
    ("size", "picture_wh"), [(8.0, (640, 480)), (16.0, (1920, 1080)), (40.0, (3840, 2160)), (120.0, (640, 480))]
)
def test_the_place_of_its_colours_comes_first(picture_wh: tuple[int, int], size: float) -> None:
    there = (0.8 * picture_wh[0], 0.7 * picture_wh[1])
    last = (0.2 * picture_wh[0], 0.2 * picture_wh[1])
    frame = red_on_green(there, last, size=size, picture_wh=picture_wh)  # where it was, the other looks go
    places = coloured_places(red_part(), frame, last, (size, size))
    assert math.dist(places[0], there) < max(size / 4, max(picture_wh) / 256)
    assert len(places) <= MOST_PLACES
    for index, place in enumerate(places):
        assert math.dist(place, last) >= SEEN_AROUND * size
        assert all(max(abs(np.subtract(place, other))) >= APART * size for other in places[:index])


def test_of_places_alike_the_nearest_comes_first() -> None:
    frame = red_on_green((500, 100), (300, 100), (600, 400), size=40)
    found = coloured_places(red_part(), frame, (100.0, 100.0), (40, 40))[:3]
    assert [min(((300, 100), (500, 100), (600, 400)), key=lambda one: math.dist(one, place)) for place in found] == [
        (300, 100),
        (500, 100),
        (600, 400),
    ]


@pytest.mark.parametrize("size", [1.0, 4.0, 300.0, 900.0])
@pytest.mark.parametrize("picture_wh", [(8, 8), (8, 600), (640, 8), (640, 480)])
def test_odd_sizes_have_places_in_the_picture_or_none(size: float, picture_wh: tuple[int, int]) -> None:
    frame = red_on_green(picture_wh=picture_wh, size=size)
    places = coloured_places(red_part(), frame, (4.0, 4.0), (size, size)) + swept_places(picture_wh, (4.0, 4.0), size)
    assert all(0 <= x <= picture_wh[0] and 0 <= y <= picture_wh[1] for x, y in places)


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
    return places_to_search(target_of(tracker), frame, range(turns))


def test_colours_lead_and_every_fourth_turn_sweeps() -> None:
    with small_tracker() as tracker:
        lose(tracker, frames=0)
        target = target_of(tracker)
        assert target.colour is not None
        shape = target.shape
        sweep = swept_places((WIDTH, HEIGHT), target.centre, math.sqrt(math.prod(target.shape.size)))
        coloured = coloured_places(target.colour, scene(THERE), target.centre, target.shape.size)
        found = searched(tracker, scene(THERE), 3 * SWEEP_EVERY)
        assert found[0] == coloured[0]
        assert math.dist(coloured[0], THERE.centre) < SIDE / 4
        assert found[SWEEP_EVERY - 1 :: SWEEP_EVERY] == sweep[:3]
        rest = [place for turn, place in enumerate(found) if turn % SWEEP_EVERY != SWEEP_EVERY - 1]
        assert rest == (2 * coloured)[: len(rest)] if len(coloured) < len(rest) else coloured[: len(rest)]
        # Those of an object that is no larger than a speck, or that nobody trusts, lead nowhere.
        target.shape = Shape(1.0, 1.0)
        assert searched(tracker, scene(THERE), 12) == swept_places((WIDTH, HEIGHT), target.centre, 1.0)[:12]
        target.shape = shape
        target.colour = replace(target.colour, agreement=0.0)
        assert searched(tracker, scene(THERE), 12) == sweep[:12]


def test_grey_pictures_are_swept() -> None:
    with small_tracker(colour_weight=0.0) as tracker:
        lose(tracker, colourful=False, frames=0)
        assert target_of(tracker).colour is None
        target = target_of(tracker)
        sweep = swept_places((WIDTH, HEIGHT), target.centre, math.sqrt(math.prod(target.shape.size)))
        assert searched(tracker, scene(None, colourful=False), len(sweep) + 2) == [*sweep, *sweep[:2]]


# ---------------------------------------------------------------------- who is believed
def reading_of(tracker: Tracker, certainty: float, convnet: float | None) -> Reading:
    """The tracker's last reading, but so sure."""
    reading = last_reading(tracker)
    voice = None if convnet is None else Opinion((0.0, 0.0), convnet, convnet)
    return replace(reading, certainty=certainty, decision=replace(reading.decision, convnet=voice))


@pytest.mark.parametrize(
    ("here", "there", "convnet", "missing_for", "event"),
    [
        (0.1, 0.5, 0.7, 10, "found elsewhere"),
        (0.1, 0.5, 0.7, 9, None),  # not missing for long enough
        (0.1, 0.5, 0.7, 11, None),  # not its turn
        (0.1, 0.5, 0.7, 13, "found elsewhere"),
        (0.1, 0.44, 0.7, 10, "looked elsewhere"),  # not sure
        (0.1, 0.5, 0.64, 10, "looked elsewhere"),  # the ConvNetPart is not
        (0.1, 0.5, None, 10, "looked elsewhere"),  # it has no voice
        (0.44, 0.9, 0.9, 10, None),  # back where it was: found_above = 0.5 of its usual 0.8
        (0.39, 0.9, 0.9, 10, "found elsewhere"),
    ],
)
def test_who_is_believed(here: float, there: float, convnet: float | None, missing_for: int, event: str | None) -> None:
    with small_tracker() as tracker:
        lose(tracker, frames=1)
        target = target_of(tracker)
        target.monitor = StateMonitor(State.LOST, missing_for, 0.8)
        reading = reading_of(tracker, here, 0.5)
        elsewhere = reading_of(tracker, there, convnet)
        reading = replace(reading, view=replace(reading.view, reach=Reach.WIDE))
        looks: list[Reach] = []

        def read_at(frame: Image, target: Target, reach: Reach) -> Reading:
            looks.append(reach)
            return elsewhere

        found, events = look_again(target, reading, read_at, with_idle_hands, tracker.config)
    assert events == ([] if event is None else [event])
    assert looks == ([] if event is None else PLACES_AT_ONCE * [Reach.ELSEWHERE])
    assert (found is elsewhere) == (event == "found elsewhere")


# ---------------------------------------------------------------------- from losing to finding
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
        for _ in range(3 * MOST_PLACES):
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
        for _ in range(3 * MOST_PLACES):
            if tracker.update(scene(THERE)).state is State.TRACKING:
                break
        after = target_of(tracker).frames_since_learning, len(target_of(tracker).parts)
        assert "found elsewhere" in tracker.trace.events
    assert before == after


def test_several_are_searched_for_as_if_each_were_alone_and_after_a_break() -> None:
    other = Box(150.0, 20.0, SIDE, SIDE)
    frames = [*[scene(HERE)] * 8, *[scene(None)] * 16, *[scene(THERE)] * 10]
    with real_tracker() as alone, real_tracker() as bored, MultiTracker() as several:
        alone.init(frames[0], HERE)
        bored.init(frames[0], other)
        several.add(frames[0], HERE, "it")
        several.add(frames[0], other, "other")
        resumed, events = alone, set[str]()
        for index, frame in enumerate(frames[1:], start=1):
            if index == 20:
                resumed = Tracker.from_state(alone.state(), weights=real_weights())
            result = alone.update(frame)
            assert several.update(frame) == {"it": result, "other": bored.update(frame)}
            if resumed is not alone:
                assert resumed.update(frame) == result
            events.update(alone.trace.events)
    assert {"looked elsewhere", "found elsewhere"} <= events
