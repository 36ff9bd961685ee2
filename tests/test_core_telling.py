"""The told box: in doubt it is the one that overlaps the object most in expectation; the tracker goes on as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_helpers import last_reading, small_config, small_tracker
from synthetic import render_sequence
from tracking_parts import Box, Tracker, TrackerConfig
from tracking_parts.deciding import Votes, decide
from tracking_parts.telling import most_overlap, told_centre, told_polygon
from tracking_parts.voting import VoteMap

MOVING = render_sequence([Box(44 + 2 * step, 32, 33, 27) for step in range(12)], size_wh=(160, 128), seed=2)
SIDE = (8.0, 6.0)


def votes_at(*places: tuple[int, int, float]) -> VoteMap:
    """Columns, rows and heights of single votes."""
    votes = np.zeros((20, 24), np.float32)
    for column, row, height in places:
        votes[row, column] = height
    return votes


def followed(**changes: Any) -> Tracker:
    tracker = small_tracker(**changes)
    tracker.init(MOVING.frames[0], MOVING.boxes[0])
    tracker.update(MOVING.frames[1])
    return tracker


# ------------------------------------------------------------------ where a box overlaps most
def test_of_one_place_it_is_that_place() -> None:
    assert most_overlap(votes_at((9, 7, 0.3)), SIDE, 4.0) == pytest.approx((9, 7))


def test_between_two_places_that_are_alike_a_box_overlaps_either() -> None:
    x, y = most_overlap(votes_at((7, 8, 1.0), (11, 8, 1.0), (9, 8, 0.8)), SIDE, 4.0)
    assert (x, y) == pytest.approx((9, 8), abs=0.5)


def test_a_place_too_far_from_the_likeliest_changes_nothing() -> None:
    assert most_overlap(votes_at((4, 8, 1.0), (20, 8, 0.9)), SIDE, 4.0) == pytest.approx((4, 8))


def test_the_sharper_the_more_counts_the_highest_place() -> None:
    votes = votes_at((8, 8, 1.0), (12, 8, 0.9), (12, 9, 0.9))
    blunt, sharp = (most_overlap(votes, SIDE, sharpness)[0] for sharpness in (1.0, 60.0))
    assert sharp == pytest.approx(8, abs=0.5) and blunt > 10


def test_where_nobody_votes_the_box_stays_at_the_object() -> None:
    tracker = followed()
    target, reading = tracker._require_target(), last_reading(tracker)
    silent = replace(reading, certainty=0.3, prospect=np.zeros_like(reading.prospect))
    assert told_centre(target, silent, tracker.config) == target.centre


@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 8), st.floats(0.1, 1)),
        min_size=1,
        max_size=6,
        unique_by=lambda place: place[:2],
    ),
    st.tuples(st.floats(1.5, 9), st.floats(1.5, 9)),
    st.floats(0.5, 6),
)
@settings(max_examples=40)
def test_no_other_cell_shares_more_with_the_places(
    places: list[tuple[int, int, float]], side: tuple[float, float], sharpness: float
) -> None:
    votes = np.zeros((9, 12), np.float32)
    for column, row, height in places:
        votes[row, column] = height

    def shared(x: float, y: float) -> float:
        """In expectation, the slow way: boxes laid over each other."""
        here = Box.from_centre((x, y), *side)
        total = 0.0
        for row, column in np.ndindex(9, 12):
            common = here.within(Box.from_centre((column, row), *side))
            total += (votes[row, column] / votes.max()) ** sharpness * max(common.w, 0) * max(common.h, 0)
        return total

    x, y = most_overlap(votes, side, sharpness)
    best = max(shared(column, row) for row, column in np.ndindex(9, 12))
    assert shared(round(x), round(y)) == pytest.approx(best, rel=1e-3) or shared(x, y) >= 0.999 * best


# ------------------------------------------------------------------ what is told
def test_the_surer_the_less_margin() -> None:
    tracker = followed()
    target, reading = tracker._require_target(), last_reading(tracker)
    sizes = []
    for certainty in (1.0, 0.6, 0.55):
        box = Box.around(told_polygon(target, replace(reading, certainty=certainty), tracker.config))
        assert box.centre == pytest.approx(target.centre)
        sizes.append(box.w / target.shape.size[0])
    assert sizes == pytest.approx([1.0, 1.06, 1.0675])


def test_in_doubt_it_is_where_the_votes_of_all_places_say() -> None:
    tracker = followed()
    target, window = tracker._require_target(), last_reading(tracker).view.window
    prospect = np.zeros_like(last_reading(tracker).prospect)
    prospect[5, 4], prospect[5, 6], prospect[5, 8] = 1.0, 0.8, 1.0
    doubtful = replace(last_reading(tracker), certainty=0.3, prospect=prospect)
    told = window.map_from_image(told_centre(target, doubtful, tracker.config))
    assert told == pytest.approx((6, 5), abs=0.5)
    for certainty in (0.05, 0.5, 0.9):  # held where it was, for nothing was seen; or sure enough
        assert told_centre(target, replace(doubtful, certainty=certainty), tracker.config) == target.centre


def test_all_places_are_remembered_where_only_near_ones_were_believed() -> None:
    tracker = followed(near_gain=100.0, near_below=1.0, near_width=0.1, mask_width=10.0)
    target, reading = tracker._require_target(), last_reading(tracker)
    assert reading.filter_map is not None
    far = np.zeros_like(reading.prospect)
    far[1, 1] = 5.0
    votes = Votes(reading.filter_map, reading.convnet_map, far, reading.votes)  # type: ignore[arg-type]
    found = decide(reading.view, votes, target, tracker.config)
    assert found.decision.vote_map[1, 1] < 0.01 * found.prospect[1, 1]


def test_what_is_told_changes_nothing_of_what_is_tracked() -> None:
    """Only the told boxes differ: the society goes on from the peaks."""
    plain = followed(tell_below=0.0, tell_margin=0.0)
    careful = followed(tell_below=1.0, tell_margin=0.8)
    differ = False
    for frame in MOVING.frames[2:]:
        frame = frame // 3 * 2 + np.random.default_rng(0).integers(0, 60, frame.shape).astype(np.uint8)  # in some doubt
        one, other = plain.update(frame), careful.update(frame)
        assert plain.trace.centre == careful.trace.centre
        assert plain.trace.tracked == careful.trace.tracked == plain.trace.result.box
        assert (one.confidence, one.state) == (other.confidence, other.state)
        assert other.box.w == pytest.approx(one.box.w * (1 + 0.8 * (1 - one.confidence)), rel=1e-4)
        differ = differ or one.box.centre != other.box.centre
    assert differ


def test_what_a_person_says_is_told_as_it_was_said() -> None:
    tracker = followed(tell_margin=1.0)
    box = Box(50, 30, 31, 29)
    assert tracker.correct(MOVING.frames[1], box).box.xywh == pytest.approx(box.xywh)
    assert tracker.init(MOVING.frames[0], box).box.xywh == pytest.approx(box.xywh)


def test_the_paper_tells_the_peak() -> None:
    paper = TrackerConfig.profile("paper")
    assert (paper.tell_below, paper.tell_margin) == (0.0, 0.0)
    tracker = followed(**{name: getattr(paper, name) for name in ("tell_below", "tell_margin")})
    target, reading = tracker._require_target(), last_reading(tracker)
    assert told_polygon(target, replace(reading, certainty=0.2), tracker.config) == target.shape.polygon(target.centre)


def test_settings_are_checked() -> None:
    wrong: dict[str, Any] = {"tell_below": 1.5, "tell_sharpness": 0.0, "tell_margin": -0.1}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            small_config(**{name: value})
