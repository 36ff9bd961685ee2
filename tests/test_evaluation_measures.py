"""Measures: hand-computed cases, properties against slow oracles, and published raw results."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracking_parts.evaluation import measures
from tracking_parts.evaluation.measures import SequenceScore, clip_polygon, polygon_area, polygon_overlap
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.reset import score_trajectory
from tracking_parts.evaluation.trajectory import read_trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence, read_ground_truth

NAN = math.nan
DIAMOND: Polygon = ((2.0, 0.0), (4.0, 2.0), (2.0, 4.0), (0.0, 2.0))


def score_of(overlaps: list[float], starts: tuple[int, ...] = (0,), failures: tuple[int, ...] = ()) -> SequenceScore:
    return SequenceScore(np.array(overlaps), starts, failures)


@st.composite
def convex_quadrilaterals(draw: st.DrawFn) -> Polygon:
    """A rectangle in any size, place and rotation, sheared a little, in either sense of rotation."""
    centre = np.array([draw(st.floats(10, 90)), draw(st.floats(10, 90))])
    half = np.array([draw(st.floats(2, 30)), draw(st.floats(2, 30))])
    angle, shear = draw(st.floats(0, 2 * math.pi)), draw(st.floats(-0.5, 0.5))
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half @ np.array([[1, 0], [shear, 1]]) @ rotation.T
    if draw(st.booleans()):
        corners = corners[::-1]
    a, b, c, d = ((float(x), float(y)) for x, y in corners + centre)
    return (a, b, c, d)


def raster_overlap(a: Polygon, b: Polygon, bounds_wh: tuple[int, int] | None, points: int = 600) -> float:
    """The slow definition: ask for each point of a fine grid over both whether it lies inside, and count."""
    low, high = np.min([*a, *b], axis=0), np.max([*a, *b], axis=0)
    x, y = np.meshgrid(*np.linspace(low, high, points + 1)[:-1].T + (high - low)[:, None] / (2 * points))
    masks = []
    for polygon in (a, b):
        sides = [
            (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
            for (x1, y1), (x2, y2) in zip(polygon, (*polygon[1:], polygon[0]), strict=True)
        ]
        inside = np.all(np.array(sides) >= 0, axis=0) | np.all(np.array(sides) <= 0, axis=0)
        if bounds_wh is not None:
            inside &= (x >= 0) & (y >= 0) & (x <= bounds_wh[0]) & (y <= bounds_wh[1])
        masks.append(inside)
    union = np.count_nonzero(masks[0] | masks[1])
    return np.count_nonzero(masks[0] & masks[1]) / union if union else 0.0


def test_overlap_by_hand() -> None:
    square = Box(0, 0, 4, 4).polygon
    assert polygon_overlap(square, square) == 1
    assert polygon_overlap(square, Box(2, 0, 4, 4).polygon) == pytest.approx(8 / 24)
    assert polygon_overlap(square, Box(4, 0, 4, 4).polygon) == 0  # they touch
    assert polygon_overlap(square, Box(9, 9, 4, 4).polygon) == 0
    assert polygon_overlap(DIAMOND, square) == pytest.approx(8 / 16)
    assert polygon_overlap(square, Box(1, 1, 0, 3).polygon) == 0  # without area


def test_only_the_visible_part_counts() -> None:
    leaving, whole = Box(-2, 0, 4, 4).polygon, Box(0, 0, 2, 4).polygon
    assert polygon_overlap(leaving, whole) == pytest.approx(8 / 16)
    assert polygon_overlap(leaving, whole, (10, 10)) == pytest.approx(1)
    assert polygon_overlap(Box(-9, 0, 4, 4).polygon, whole, (10, 10)) == 0


@settings(max_examples=20, deadline=None)
@given(convex_quadrilaterals(), convex_quadrilaterals(), st.sampled_from([None, (100, 100), (60, 40)]))
def test_overlap_agrees_with_counting_points(a: Polygon, b: Polygon, bounds_wh: tuple[int, int] | None) -> None:
    if bounds_wh is not None:
        # The oracle is coarse: a sliver at the edge of the image is nothing but border to it.
        image = Box(0, 0, *bounds_wh).polygon
        assume(max(abs(polygon_area(clip_polygon(polygon, image))) for polygon in (a, b)) > 50)
    assert polygon_overlap(a, b, bounds_wh) == pytest.approx(raster_overlap(a, b, bounds_wh), abs=0.02)


@given(convex_quadrilaterals(), convex_quadrilaterals(), st.floats(-1000, 1000), st.floats(0.1, 10))
def test_overlap_is_symmetric_and_invariant(a: Polygon, b: Polygon, shift: float, zoom: float) -> None:
    def moved(polygon: Polygon) -> Polygon:
        p, q, r, s = ((x * zoom + shift, y * zoom + shift) for x, y in polygon)
        return (p, q, r, s)

    overlap = polygon_overlap(a, b)
    assert 0 <= overlap <= 1
    assert polygon_overlap(b, a) == pytest.approx(overlap, abs=1e-9)
    assert polygon_overlap(moved(a), moved(b)) == pytest.approx(overlap, abs=1e-6)
    assert polygon_overlap(a, a) == pytest.approx(1)
    reversed_b: Polygon = (b[3], b[2], b[1], b[0])
    assert polygon_overlap(a, reversed_b) == pytest.approx(overlap, abs=1e-9)


def test_accuracy_by_hand() -> None:
    # Failure in frame 3, restart in frame 8; with a burn-in of 2 the frame after each start is left out too.
    short = score_of([NAN, 0.9, 0.5, NAN, NAN, NAN, NAN, NAN, NAN, 0.9, 0.7], (0, 8), (3,))
    assert measures.accuracy([short], burn_in=2) == pytest.approx((0.5 + 0.7) / 2)
    assert measures.accuracy([short], burn_in=0) == pytest.approx((0.9 + 0.5 + 0.9 + 0.7) / 4)
    # Weighted by the lengths of the sequences, 11 and 33, not by the frames that count.
    long = score_of([NAN] + [0.2] * 32)
    assert measures.accuracy([short, long], burn_in=2) == pytest.approx((0.6 * 11 + 0.2 * 33) / 44)


def test_accuracy_without_a_frame_that_counts() -> None:
    assert math.isnan(measures.accuracy([score_of([NAN, 0.5, 0.5])], burn_in=10))
    assert math.isnan(measures.accuracy([]))
    silent, counted = score_of([NAN, 0.9]), score_of([NAN] + [0.4] * 19)
    assert measures.accuracy([silent, counted], burn_in=10) == pytest.approx(0.4)


def test_robustness_by_hand() -> None:
    scores = [score_of([NAN] * 20, (0, 8, 15), (3, 10)), score_of([NAN] + [0.5] * 29)]
    assert measures.failure_count(scores) == 2
    assert measures.robustness(scores) == 1
    assert measures.failures_per_hundred_frames(scores) == pytest.approx(100 * 2 / 50)
    assert math.isnan(measures.robustness([])) and math.isnan(measures.failures_per_hundred_frames([]))


def test_failures_of_one_pass() -> None:
    calm, rough = score_of([NAN] * 20), score_of([NAN] * 20, (0, 8, 15), (3, 10))
    assert measures.failure_count([calm, rough, rough]) == 4
    assert measures.mean_failures([[calm, rough], [rough]]) == 1 + 2
    assert measures.mean_failures([[calm], [rough], []]) == measures.failure_count([calm, rough])
    assert measures.mean_failures([]) == 0


def test_segments_know_their_frames() -> None:
    cut = measures.segments(score_of([NAN, 0.8, NAN, NAN, NAN, NAN, NAN, NAN, 0.6, 0.4], (0, 7), (2,)))
    assert [(one.start, one.end, one.failed) for one in cut] == [(0, 7, True), (7, 10, False)]


def test_expected_overlap_by_hand() -> None:
    # Segment 1: frames 0 to 2, failed in frame 2: overlaps 0.8, 0, 0, ... for ever. Segment 2: from frame 7: 0.6, 0.4.
    score = score_of([NAN, 0.8, NAN, NAN, NAN, NAN, NAN, NAN, 0.6, 0.4], (0, 7), (2,))
    curve = measures.expected_overlap_curve([score], 5)
    assert np.isnan(curve[:2]).all()
    assert curve[2:] == pytest.approx([(0.8 + 0.6) / 2, (0.4 + 0.5) / 2, 0.8 / 3, 0.8 / 4])
    assert measures.expected_average_overlap([score], (2, 4)) == pytest.approx((0.7 + 0.45 + 0.8 / 3) / 3)


def test_expected_overlap_of_a_failure_near_the_end() -> None:
    """No frame is left to start again on: the failure still counts as lost for ever."""
    curve = measures.expected_overlap_curve([score_of([NAN, 0.9, NAN, NAN], (0,), (2,))], 4)
    assert curve[2:] == pytest.approx([0.9, 0.45, 0.3])


def test_expected_overlap_leaves_unknown_lengths_out() -> None:
    perfect = score_of([NAN] + [1.0] * 9)
    assert measures.expected_average_overlap([perfect], (5, 100)) == 1
    assert math.isnan(measures.expected_average_overlap([perfect], (50, 100)))


def test_weighted_expected_overlap_by_hand() -> None:
    # The same two segments, the second counting three times as much as the first.
    score = score_of([NAN, 0.8, NAN, NAN, NAN, NAN, NAN, NAN, 0.6, 0.4], (0, 7), (2,))
    curve = measures.expected_overlap_curve([score], 5, [[1, 3]])
    assert curve[2:] == pytest.approx([(0.8 + 3 * 0.6) / 4, (0.4 + 3 * 0.5) / 4, 0.8 / 3, 0.8 / 4])
    assert measures.expected_average_overlap([score], (2, 3), [[1, 3]]) == pytest.approx((0.65 + 0.475) / 2)
    only_second = measures.expected_overlap_curve([score], 5, [[0, 2]])
    assert only_second[2:] == pytest.approx([0.6, 0.5, NAN, NAN], nan_ok=True)


def test_weights_must_fit_the_segments() -> None:
    score = score_of([NAN, 0.8, NAN, NAN, NAN, NAN, NAN, NAN, 0.6, 0.4], (0, 7), (2,))
    for weights in ([[1.0]], [[1.0, 1.0, 1.0]], [], [[1.0, 1.0], [1.0]]):
        with pytest.raises(ValueError, match="zip"):
            measures.expected_overlap_curve([score], 5, weights)


def slow_expected_overlap(scores: list[SequenceScore], length: int) -> float:
    """The definition of one entry of the curve, segment by segment."""
    means = []
    for score in scores:
        for start, end in zip(score.starts, [*score.starts[1:], score.length], strict=True):
            failed = any(start <= failure < end for failure in score.failures)
            if failed or end - start >= length:
                tracked = [score.overlaps[frame] if frame < end else 0.0 for frame in range(start + 1, start + length)]
                means.append(sum(0.0 if math.isnan(value) else value for value in tracked) / (length - 1))
    return sum(means) / len(means) if means else NAN


@st.composite
def runs_with_failures(draw: st.DrawFn) -> SequenceScore:
    """A run of at most 30 frames with failures anywhere, restarted five frames later where that is possible."""
    overlaps = draw(st.lists(st.floats(0, 1), min_size=2, max_size=30))
    starts: list[int] = [0]
    kept: list[int] = []
    for failure in sorted(draw(st.sets(st.integers(1, len(overlaps) - 1), max_size=3))):
        if failure > starts[-1] and len(kept) < len(starts):
            kept.append(failure)
            if failure + 5 < len(overlaps):
                starts.append(failure + 5)
    return score_of(overlaps, tuple(starts), tuple(kept))


@given(st.lists(runs_with_failures(), min_size=1, max_size=5))
def test_expected_overlap_agrees_with_its_definition(scores: list[SequenceScore]) -> None:
    curve = measures.expected_overlap_curve(scores, 35)
    slow = [slow_expected_overlap(scores, length) for length in range(2, 36)]
    assert curve[2:] == pytest.approx(slow, nan_ok=True)


@given(st.lists(st.tuples(runs_with_failures(), st.integers(0, 3)), min_size=1, max_size=5))
def test_a_whole_weight_is_as_many_runs(weighted: list[tuple[SequenceScore, int]]) -> None:
    scores = [score for score, _ in weighted]
    weights = [[float(times)] * len(score.starts) for score, times in weighted]
    repeated = [score for score, times in weighted for _ in range(times)]
    curve = measures.expected_overlap_curve(scores, 35, weights)
    assert curve == pytest.approx(measures.expected_overlap_curve(repeated, 35), nan_ok=True)


def oracle_scores(shared_data: Path, names: list[str] | None = None) -> list[SequenceScore]:
    results = shared_data / "oracle" / "eco-vot2016"
    if not results.is_dir():
        pytest.skip(f"no raw results at {results}")
    with (Path(__file__).parent / "data" / "vot2016_image_sizes.csv").open(encoding="utf-8") as file:
        sizes = {row["sequence"]: (int(row["width"]), int(row["height"])) for row in csv.DictReader(file)}
    scores = []
    for name in names or sorted(sizes):
        truth = read_ground_truth(shared_data / "groundtruth" / "vot2016" / f"{name}.txt")
        trajectory = read_trajectory(results / f"{name}.txt")
        scores.append(score_trajectory(trajectory, Sequence(name, [], truth, {}), sizes[name]))
    return scores


def test_published_raw_results_give_the_published_figures(shared_data: Path) -> None:
    """ECO on VOT2016; the report of the challenge says 0.374, 0.54, 0.72."""
    scores = oracle_scores(shared_data)
    assert len(scores) == 60
    assert measures.failure_count(scores) == 43
    assert measures.expected_average_overlap(scores, VOT2016.eao_interval) == pytest.approx(0.3714, abs=1e-3)
    assert measures.accuracy(scores, VOT2016.burn_in) == pytest.approx(0.547, abs=1e-3)
    assert measures.robustness(scores) == pytest.approx(0.7167, abs=1e-3)
    assert measures.failures_per_hundred_frames(scores) == pytest.approx(0.2004, abs=1e-3)


def test_published_raw_results_on_the_daily_twenty(shared_data: Path) -> None:
    names = (shared_data / "vot2016-20" / "list.txt").read_text(encoding="utf-8").split()
    scores = oracle_scores(shared_data, names)
    assert measures.failure_count(scores) == 13
    assert measures.expected_average_overlap(scores, VOT2016.eao_interval) == pytest.approx(0.263, abs=1e-3)
    assert measures.accuracy(scores, VOT2016.burn_in) == pytest.approx(0.570, abs=1e-3)
