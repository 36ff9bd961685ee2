"""Doubtful frames and the picture's edges: a far place must be surer by a margin, what was never seen counts less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_helpers import follow, last_reading, small_config, small_tracker, smooth_features
from synthetic import render_sequence
from tracking_parts import Box, TrackerConfig
from tracking_parts.deciding import FEWEST_WITNESSES, Votes, decide, read_votes, who_could_see
from tracking_parts.filter_parts.learning import learn_parts
from tracking_parts.filter_parts.patches import MIN_SEEN, inside_fraction, positive_tops
from tracking_parts.result import State
from tracking_parts.step import Reading
from tracking_parts.voting import LEAST_SHARE, visible_share

STILL = render_sequence([Box(44, 32, 33, 27)] * 3, size_wh=(160, 128), seed=2)
CELLS = 20
IN_THE_CORNER = Box(-13, -11, 33, 27)  # a third of it is visible


# ---------------------------------------------------------------------- the picture's edges
@given(
    st.tuples(st.floats(1, 12), st.floats(1, 12)),
    st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(4, 40), st.floats(4, 40)),
    st.tuples(st.floats(0, 12), st.floats(0, 8)),
)
@settings(max_examples=50)
def test_visible_share_is_that_of_the_box_against_the_last_one(
    size: tuple[float, float], edges: tuple[float, float, float, float], last: tuple[float, float]
) -> None:
    picture = Box(*edges)

    def seen(x: float, y: float) -> tuple[float, float]:
        part, (width, height) = Box.from_centre((x, y), *size).within(picture), size
        return max(part.w / width, LEAST_SHARE), max(part.h / height, LEAST_SHARE)

    found = visible_share((9, 13), size, picture, last)
    there = seen(*last)
    for row, column in np.ndindex(9, 13):
        here = seen(column, row)
        expected = min(here[0] / there[0], 1) * min(here[1] / there[1], 1)
        assert found[row, column] == pytest.approx(expected, rel=1e-3, abs=1e-4)


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


def test_an_object_that_was_never_seen_has_the_parts_of_one_that_was() -> None:
    box = Box(2, 2, 8, 8)
    unseen = positive_tops(box, (3, 3), 1, (20, 20), 0.5, Box(30, 30, 5, 5))
    assert (unseen == positive_tops(box, (3, 3), 1, (20, 20), 0.5)).all()


def test_where_no_patch_lies_in_the_box_the_one_that_shows_most_of_it_is_taken() -> None:
    box, picture = Box(-4, -4, 9, 9), Box(-0.5, -0.5, 20, 20)
    tops = positive_tops(box, (9, 9), 1, (20, 20), 0.5, picture)
    assert tops.tolist() == [[0, 0]]


def test_cells_outside_the_picture_need_not_be_covered() -> None:
    features, edges = smooth_features(0), np.ones((CELLS, CELLS), np.float32)
    box, picture = Box(5.5, 5.5, 7, 7), Box(9.5, -0.5, CELLS, CELLS)
    config = small_config(t_d=0.0)
    sizes = {parts.size for parts in learn_parts(features, edges, box, config, picture)}
    assert sizes == {parts.size for parts in learn_parts(features, edges, box, config)} == {(3, 3)}


def test_an_object_at_the_edge_is_not_drawn_inwards() -> None:
    sequence = render_sequence([IN_THE_CORNER] * 6, size_wh=(160, 128), seed=2)
    with small_tracker() as tracker:
        follow(tracker, sequence)
        x, y = tracker._require_target().centre
    assert (x, y) == pytest.approx(IN_THE_CORNER.centre, abs=2.0)


def test_the_mask_minds_the_edges() -> None:
    sequence = render_sequence([IN_THE_CORNER] * 2, size_wh=(160, 128), seed=2)
    with small_tracker() as tracker:
        follow(tracker, sequence)
        target, view, config = tracker._require_target(), last_reading(tracker).view, tracker.config
        plain = target.mask(view, config.override(mind_edges=False))
        centre = view.window.map_from_image(target.centre)
        share = visible_share(
            (plain.shape[0], plain.shape[1]), target.object_in_map(view.window), view.picture_in_map, centre
        )
        assert np.allclose(target.mask(view, config), plain * share)
    assert share.min() < 0.1 and share.max() == 1.0


def test_only_witnesses_count_for_confidence() -> None:
    sequence = render_sequence([Box(2, 40, 33, 27)] * 2, size_wh=(160, 128), seed=2)
    with small_tracker() as tracker:
        follow(tracker, sequence)
        last, target = last_reading(tracker), tracker._require_target()
        assert last.filter_map is not None and last.votes is not None
        row, column = np.indices(last.filter_map.shape)
        edge = round(last.view.picture_in_map.x)  # were the object there, half of it would be outside
        mask = ((column == edge) & (row == round(last.decision.centre[1]))).astype(np.float32)
        votes = Votes(last.filter_map, last.convnet_map, None, last.votes)
        reading = read_votes(last.view, votes, target, tracker.config, mask)
        witnesses = who_could_see(last.votes, reading.decision.centre, last.view, tracker.config)
    assert 0 < witnesses.sum() < last.votes.voting.sum()
    assert reading.evidence.part_agreement == reading.agreed[witnesses].mean()


def test_parts_outside_do_not_fit_the_box() -> None:
    with small_tracker(box_damping=1.0, max_box_step=0.5) as tracker:
        follow(tracker, STILL)
        target, last = tracker._require_target(), last_reading(tracker)
        votes = last.votes
        assert votes is not None
        grown = votes.positions + 0.3 * votes.offsets  # as if every part had moved outwards
        reading = replace(last, votes=replace(votes, positions=grown), agreed=np.ones(len(grown), bool))
        beside = replace(last.view, window=replace(last.view.window, left=10_000))  # where there is no picture
        scale = target.shape.scale
        target.move(replace(reading, view=beside), tracker.config, reshape=True)
        assert target.shape.scale == scale
        target.move(reading, tracker.config, reshape=True)
        assert target.shape.scale > 1.1 * scale


def test_the_paper_judges_once_and_by_a_plain_mask() -> None:
    paper = TrackerConfig.profile("paper")
    assert (paper.near_below, paper.mind_edges) == (0.0, False)


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
@pytest.mark.parametrize(
    ("far", "near", "apart", "below", "state", "believed"),
    [
        (0.4, 0.3, 9.0, 0.5, State.UNCERTAIN, "near"),  # 1.33 times as sure: not enough
        (0.4, 0.3, 0.5, 0.5, State.UNCERTAIN, "far"),  # the same place
        (0.4, 0.2, 9.0, 0.5, State.UNCERTAIN, "far"),
        (0.6, 0.5, 9.0, 0.5, State.TRACKING, "far"),  # no doubt
        (0.4, 0.3, 9.0, 0.0, State.UNCERTAIN, "far"),  # switched off
        (0.4, 0.3, 9.0, 0.5, State.LOST, "far"),  # nothing speaks for the last place
    ],
)
def test_in_doubt_a_far_place_must_be_surer_by_a_margin(
    monkeypatch: pytest.MonkeyPatch,
    far: float,
    near: float,
    apart: float,
    below: float,
    state: State,
    believed: str,
) -> None:
    with small_tracker(near_below=below, near_gain=1.5) as tracker:
        tracker.init(STILL.frames[0], STILL.boxes[0])
        tracker.update(STILL.frames[1])
        last, target = last_reading(tracker), tracker._require_target()
        wide_mask = target.mask(last.view, tracker.config)
        target.monitor = replace(target.monitor, state=state)

        near_centre = (last.decision.centre[0] + apart, last.decision.centre[1])

        def judge(*given: Any) -> Reading:
            if (given[-1] == wide_mask).all():
                return replace(last, certainty=far)
            return replace(last, certainty=near, decision=replace(last.decision, centre=near_centre))

        monkeypatch.setattr("tracking_parts.deciding.read_votes", judge)
        assert last.filter_map is not None and last.votes is not None
        decided = decide(last.view, Votes(last.filter_map, None, None, last.votes), target, tracker.config)
    assert decided.certainty == {"near": near, "far": far}[believed]


def test_near_means_near() -> None:
    with small_tracker() as tracker:
        follow(tracker, STILL)
        target, view = tracker._require_target(), last_reading(tracker).view
        usual, near = target.mask(view, tracker.config), target.near_mask(view, tracker.config)
    assert (near <= usual + 1e-6).all()
    assert near.max() == pytest.approx(usual.max(), rel=0.1)
    assert near[0, 0] < 0.05 < usual[0, 0]
