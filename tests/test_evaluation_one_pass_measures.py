"""One-pass measures: hand-computed cases, and properties against slow definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking_parts.errors import FormatError
from tracking_parts.evaluation import one_pass_measures as ope
from tracking_parts.evaluation.one_pass_measures import LostStretch, Values
from tracking_parts.geometry import Box

NAN = math.nan
OVERLAPS = st.lists(st.floats(0, 1) | st.just(0.0) | st.just(NAN), max_size=40).map(lambda values: np.array(values))


def test_boxes_by_hand() -> None:
    truth = Box(10, 20, 4, 8)
    answers = [truth, Box(13, 24, 4, 8), None, Box(math.nan, 0, 4, 8), truth, truth]
    truths = [truth, truth, truth, truth, None, Box(5, 5, 0, 3)]
    score = ope.score_boxes(answers, truths)
    # Shared: 1 x 4 of two boxes of 32.
    assert score.overlaps == pytest.approx([1, 4 / 60, 0, 0, NAN, NAN], nan_ok=True)
    assert score.distances == pytest.approx([0, 5, math.inf, math.inf, NAN, NAN], nan_ok=True)
    expected = [0, math.hypot(3 / 4, 4 / 8), math.inf, math.inf, NAN, NAN]
    assert score.normalised_distances == pytest.approx(expected, nan_ok=True)


def test_an_answer_without_area_overlaps_nothing_but_has_a_centre() -> None:
    score = ope.score_boxes([Box(12, 24, 0, 0)], [Box(10, 20, 4, 8)])
    assert (score.overlaps[0], score.distances[0]) == (0, 0)


def test_overlaps_may_be_measured_otherwise() -> None:
    truths = [Box(0, 0, 4, 4)] * 2
    score = ope.score_boxes(truths, truths, overlaps=np.array([NAN, 0.5]))
    assert score.overlaps == pytest.approx([NAN, 0.5], nan_ok=True)
    assert score.distances.tolist() == [0, 0]


def test_frames_must_match() -> None:
    for compare in (ope.box_overlaps, ope.centre_distances, ope.normalised_centre_distances):
        with pytest.raises(ValueError, match="zip"):
            compare([None], [None, None])


def test_success_by_hand() -> None:
    # Above 0, 0.05 … 0.45: two of three frames; above 0.5 … 0.95: one; above 1: none. The frame without truth is out.
    overlaps = np.array([1.0, 0.5, 0.0, NAN])
    assert ope.success_curve(overlaps) == pytest.approx([2 / 3] * 10 + [1 / 3] * 10 + [0])
    assert ope.success_auc(overlaps) == pytest.approx((10 * 2 / 3 + 10 / 3) / 21)


def test_precision_by_hand() -> None:
    distances = np.array([0.0, 20.0, 20.5, math.inf, NAN])
    assert ope.precision_curve(distances) == pytest.approx([1 / 4] * 20 + [2 / 4] + [3 / 4] * 30)
    assert ope.precision_at(distances) == 0.5
    assert ope.precision_at(distances, 20.5) == 0.75


def test_normalised_precision_by_hand() -> None:
    # Within 0 … 0.24: the first frame; from 0.25 to 0.5 also the second; never the third.
    normalised = np.array([0.0, 0.25, 0.6])
    assert ope.normalised_precision_curve(normalised) == pytest.approx([1 / 3] * 25 + [2 / 3] * 26)
    assert ope.normalised_precision(normalised) == pytest.approx((25 / 3 + 26 * 2 / 3) / 51)


def test_nothing_to_judge() -> None:
    nothing = np.array([NAN, NAN])
    for curve in (ope.success_curve(nothing), ope.precision_curve(nothing), ope.normalised_precision_curve(nothing)):
        assert np.isnan(curve).all()
    figures = (ope.success_auc(nothing), ope.precision_at(nothing), ope.normalised_precision(nothing))
    assert all(map(math.isnan, figures))


def test_curves_are_as_long_as_their_thresholds() -> None:
    one = np.array([0.5])
    assert len(ope.success_curve(one)) == len(ope.success_thresholds()) == 21
    assert len(ope.precision_curve(one)) == len(ope.precision_thresholds()) == 51
    assert len(ope.normalised_precision_curve(one)) == len(ope.normalised_precision_thresholds()) == 51
    assert (ope.success_thresholds()[-1], ope.precision_thresholds()[-1]) == (1, 50)
    assert ope.normalised_precision_thresholds()[-1] == 0.5


@given(OVERLAPS)
def test_success_agrees_with_counting(overlaps: Values) -> None:
    judged = [value for value in overlaps if not math.isnan(value)]
    curve = ope.success_curve(overlaps)
    for threshold, share in zip(ope.success_thresholds(), curve, strict=True):
        slow = sum(value > threshold for value in judged) / len(judged) if judged else NAN
        assert share == pytest.approx(slow, nan_ok=True)
    if judged:
        assert (np.diff(curve) <= 0).all() and 0 <= ope.success_auc(overlaps) <= 20 / 21 + 1e-12


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30).map(lambda values: np.array(values)))
def test_precision_grows_with_the_distance_allowed(distances: Values) -> None:
    curve = ope.precision_curve(distances)
    assert (np.diff(curve) >= 0).all()
    assert ope.precision_at(distances) == curve[20]
    assert ope.precision_at(distances, 100) == 1


@given(st.integers(1, 50))
def test_perfect_answers(frames: int) -> None:
    boxes = [Box(index, 2 * index, 10, 20) for index in range(frames)]
    score = ope.score_boxes(boxes, boxes)
    assert ope.success_auc(score.overlaps) == pytest.approx(20 / 21)
    assert ope.precision_at(score.distances, 0) == 1
    assert ope.normalised_precision(score.normalised_distances) == 1


@given(st.floats(0.1, 10), st.floats(-20, 20), st.floats(-20, 20))
def test_normalised_distance_does_not_depend_on_the_size_of_the_image(zoom: float, dx: float, dy: float) -> None:
    answer, truth = Box(50 + dx, 60 + dy, 10, 20), Box(50, 60, 10, 20)
    larger = [Box(*(zoom * value for value in box.xywh)) for box in (answer, truth)]
    before = ope.normalised_centre_distances([answer], [truth])
    assert ope.normalised_centre_distances(larger[:1], larger[1:]) == pytest.approx(before, abs=1e-9)


def test_curves_of_a_data_set_weigh_sequences_alike() -> None:
    first, second, unknown = np.array([1.0, 0.0]), np.array([0.0, 0.5]), np.array([NAN, NAN])
    assert ope.mean_curve([[first, first, second], [second]]) == pytest.approx([(2 / 3 + 0) / 2, (0.5 / 3 + 0.5) / 2])
    assert ope.mean_curve([[first, unknown], [unknown], []]).tolist() == first.tolist()
    with pytest.raises(FormatError, match="ground truth"):
        ope.mean_curve([[unknown]])


# Where the object was lost


def overlaps_of(text: str) -> Values:
    """``+`` tracked, ``-`` lost, ``.`` without ground truth."""
    return np.array([{"+": 0.5, "-": 0.0, ".": NAN}[sign] for sign in text])


@pytest.mark.parametrize(
    ("frames", "stretches"),
    [
        ("", []),
        ("....", []),
        ("++++", []),
        ("++--++", []),  # too short, and it came back
        ("++---++", [(2, 5, True)]),
        ("++---", [(2, 5, False)]),
        ("+++-", [(3, 4, False)]),  # till the end, however short
        ("+--++-", [(5, 6, False)]),
        ("---++---+---", [(0, 3, True), (5, 8, True), (9, 12, False)]),
        ("+-.--+", [(1, 5, True)]),  # a frame that nobody judged ends nothing …
        ("+-..-+", []),  # … and counts for nothing
        ("+.---.+", [(2, 6, True)]),  # found again in the first judged frame
        ("++--..", [(2, 6, False)]),
    ],
)
def test_lost_stretches_by_hand(frames: str, stretches: list[tuple[int, int, bool]]) -> None:
    found = ope.lost_stretches(overlaps_of(frames), lost_for=3)
    assert found == [LostStretch(*one) for one in stretches]


def test_what_counts_as_lost() -> None:
    overlaps = np.array([0.9, 0.2, 0.1, 0.2, 0.9])
    assert ope.lost_stretches(overlaps, lost_overlap=0.2, lost_for=3) == [LostStretch(1, 4, True)]
    assert ope.lost_stretches(overlaps, lost_overlap=0.19, lost_for=3) == []
    assert ope.lost_stretches(overlaps, lost_overlap=0.19, lost_for=1) == [LostStretch(2, 3, True)]


@given(OVERLAPS, st.floats(0, 0.5), st.integers(1, 5))
def test_lost_stretches_agree_with_walking(overlaps: Values, lost_overlap: float, lost_for: int) -> None:
    expected: list[LostStretch] = []
    lost: list[int] = []
    for frame, value in enumerate(overlaps):
        if math.isnan(value):
            continue
        if value <= lost_overlap:
            lost.append(frame)
        else:
            if len(lost) >= lost_for:
                expected.append(LostStretch(lost[0], frame, True))
            lost = []
    if lost:
        expected.append(LostStretch(lost[0], len(overlaps), False))
    assert ope.lost_stretches(overlaps, lost_overlap, lost_for) == expected
