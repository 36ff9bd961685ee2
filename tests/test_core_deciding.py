"""Doubtful frames and the picture's edges: a far place must be surer by a margin, what was never seen counts less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_helpers import follow, small_config, small_tracker
from synthetic import render_sequence
from tracking_parts import Box
from tracking_parts.deciding import FEWEST_WITNESSES, who_could_see
from tracking_parts.filter_parts.patches import MIN_SEEN, inside_fraction, positive_tops
from tracking_parts.result import State
from tracking_parts.step import Reading
from tracking_parts.voting import LEAST_SHARE, visible_share

STILL = render_sequence([Box(44, 32, 33, 27)] * 3, size_wh=(160, 128), seed=2)
IN_THE_CORNER = Box(-13, -11, 33, 27)  # a quarter of it lies outside


# ---------------------------------------------------------------------- the picture's edges
@given(
    st.tuples(st.floats(1, 12), st.floats(1, 12)),
    st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(4, 40), st.floats(4, 40)),
)
@settings(max_examples=50)
def test_visible_share_is_the_share_of_the_box_in_the_picture(
    size: tuple[float, float], edges: tuple[float, float, float, float]
) -> None:
    picture = Box(*edges)
    found = visible_share((9, 13), size, picture)
    for row, column in np.ndindex(9, 13):
        box = Box.from_centre((column, row), *size)
        across = (min(box.x + box.w, picture.x + picture.w) - max(box.x, picture.x)) / box.w
        down = (min(box.y + box.h, picture.y + picture.h) - max(box.y, picture.y)) / box.h
        expected = np.clip(across, LEAST_SHARE, 1) * np.clip(down, LEAST_SHARE, 1)
        assert found[row, column] == pytest.approx(expected, abs=1e-4)


def test_a_box_holds_what_lies_in_it() -> None:
    points = np.array([[0.0, 0.0], [3.0, 2.0], [3.1, 1.0], [1.0, -0.1]])
    assert Box(0, 0, 3, 2).holds(points).tolist() == [True, True, False, False]


def test_no_part_is_learned_of_what_was_never_seen() -> None:
    box, picture = Box(2, 2, 8, 8), Box(5.5, -9, 40, 40)
    tops = positive_tops(box, (3, 3), 1, (20, 20), 0.5, picture)
    assert len(tops)
    assert (inside_fraction(tops, (3, 3), picture) >= MIN_SEEN).all()
    everywhere = positive_tops(box, (3, 3), 1, (20, 20), 0.5)
    assert {tuple(top) for top in tops} < {tuple(top) for top in everywhere}


def test_an_object_that_was_never_seen_still_has_parts() -> None:
    assert len(positive_tops(Box(2, 2, 8, 8), (3, 3), 1, (20, 20), 0.5, Box(30, 30, 5, 5)))


def parts_outside(**changes: Any) -> int:
    """How many parts of an object in the corner lie where there is no picture."""
    sequence = render_sequence([IN_THE_CORNER] * 2, size_wh=(160, 128), seed=2)
    with small_tracker(**changes) as tracker:
        follow(tracker, sequence)
        reading = last_reading(tracker)
        assert reading.votes is not None
        places = reading.votes.offsets + np.array(reading.view.window.map_from_image(IN_THE_CORNER.centre))
        return int((~reading.view.picture_in_map.holds(places)).sum())


def test_the_tracker_learns_parts_in_the_picture_only() -> None:
    assert parts_outside(mind_edges=True) == 0
    assert parts_outside(mind_edges=False) > 0


def test_witnesses_are_parts_whose_place_is_in_the_picture() -> None:
    config = small_config()
    with small_tracker() as tracker:
        follow(tracker, STILL)
        reading = last_reading(tracker)
    votes, view = reading.votes, reading.view
    assert votes is not None
    edge = view.picture_in_map.x  # were the centre there, half of the object would be outside
    seeing = who_could_see(votes, (edge, reading.decision.centre[1]), view, config)
    assert FEWEST_WITNESSES <= seeing.sum() < votes.voting.sum()
    assert (votes.offsets[seeing, 0] >= -1e-3).all()
    far = (edge - 100.0, 0.0)
    assert (who_could_see(votes, far, view, config) == votes.voting).all()
    assert (who_could_see(votes, (edge, 0.0), view, config.override(mind_edges=False)) == votes.voting).all()


# ---------------------------------------------------------------------- doubt
def last_reading(tracker: Any) -> Reading:
    assert tracker._last is not None
    reading: Reading = tracker._last.reading
    return reading


@pytest.mark.parametrize(
    ("far", "near", "below", "state", "believed"),
    [
        (0.4, 0.3, 0.5, State.UNCERTAIN, "near"),  # 1.33 times as sure: not enough
        (0.4, 0.2, 0.5, State.UNCERTAIN, "far"),
        (0.6, 0.5, 0.5, State.TRACKING, "far"),  # no doubt
        (0.4, 0.3, 0.0, State.UNCERTAIN, "far"),  # switched off
        (0.4, 0.3, 0.5, State.LOST, "far"),  # nothing speaks for the last place
    ],
)
def test_in_doubt_a_far_place_must_be_surer_by_a_margin(
    monkeypatch: pytest.MonkeyPatch, far: float, near: float, below: float, state: State, believed: str
) -> None:
    with small_tracker(near_below=below, near_gain=1.5) as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        tracker.update(STILL.frames[1])
        last, target = last_reading(tracker), tracker._require_target()
        wide_mask = target.mask(last.view, tracker.config)
        target.monitor = replace(target.monitor, state=state)

        def judge(*given: Any) -> Reading:
            return replace(last, certainty=far if (given[-1] == wide_mask).all() else near)

        monkeypatch.setattr("tracking_parts.tracker.read_votes", judge)
        assert last.filter_map is not None and last.votes is not None
        decided = tracker._decide(last.view, last.filter_map, last.convnet_map, last.votes, target)
    assert decided.certainty == {"near": near, "far": far}[believed]


def test_near_means_near() -> None:
    with small_tracker() as tracker:
        follow(tracker, STILL)
        target, view = tracker._require_target(), last_reading(tracker).view
        usual, near = target.mask(view, tracker.config), target.near_mask(view, tracker.config)
    assert (near <= usual + 1e-6).all()
    assert near.max() == pytest.approx(usual.max(), rel=0.1)
    assert near[0, 0] < 0.05 < usual[0, 0]
