"""The figure behind the highly confident frames."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.pathways import Agreement, binned, nearest_against_others, pathway_agreement
from tracking_parts.evaluation.scoring import SequenceRun
from tracking_parts.evaluation.trajectory import Code, Region, Trajectory
from tracking_parts.geometry import Box
from tracking_parts.io.sequences import GroundTruth, Sequence


def agreement(between: list[float], to_truth: list[float]) -> Agreement:
    return Agreement(np.array(between), np.array(to_truth))


def run_of(regions: tuple[Region, ...], truths: GroundTruth, distances: tuple[float, ...]) -> SequenceRun:
    sequence = Sequence("some", [Path(f"{index}.jpg") for index in range(len(truths))], truths, {})
    trajectory = Trajectory(regions, values={"pathway_distance": distances})
    return SequenceRun(sequence, 1, trajectory, SequenceScore(np.zeros(len(truths)), (0,), ()))


def test_distances_are_in_object_sizes() -> None:
    truth = Box(10, 10, 40, 10).polygon  # 20 pixels: the root of its area
    run = run_of((Code.STARTED, Box(10, 20, 40, 10).polygon), (truth, truth), (math.nan, 5.0))
    found = pathway_agreement([run])
    assert found.between_pathways.tolist() == [0.25] and found.to_truth.tolist() == [0.5]


def test_frames_without_an_answer_or_a_truth_do_not_count() -> None:
    truth = Box(0, 0, 10, 10).polygon
    regions = (Code.STARTED, truth, Code.FAILED, Code.SKIPPED, truth, truth)
    run = run_of(regions, (truth, None, truth, truth, truth, truth), (math.nan, 1.0, 2.0, 3.0, math.nan, 4.0))
    assert pathway_agreement([run]).between_pathways.tolist() == [0.4]
    assert len(pathway_agreement([])) == 0


def test_results_without_distances_give_nothing() -> None:
    truth = Box(0, 0, 10, 10).polygon
    assert len(pathway_agreement([run_of((Code.STARTED, truth), (truth, truth), ())])) == 0


def test_correlations() -> None:
    rising = agreement([1, 2, 3, 4], [1, 4, 9, 16])
    assert rising.rank_correlation == pytest.approx(1)
    assert 0.9 < rising.correlation < 1
    assert agreement([1, 2, 3], [3, 2, 1]).correlation == pytest.approx(-1)
    assert math.isnan(agreement([1, 1], [1, 2]).correlation)
    # Ranks 0.5, 0.5, 2 against 0, 1, 2: equal values share their rank.
    assert agreement([1, 1, 2], [1, 2, 3]).rank_correlation == pytest.approx(math.sqrt(3) / 2)


def test_bins_hold_equal_numbers() -> None:
    bins = binned(agreement([3, 1, 2, 4], [30, 10, 20, 60]), bins=2)
    assert [(one.between_pathways, one.to_truth, one.frames) for one in bins] == [(1.5, 15, 2), (3.5, 45, 2)]
    assert bins[0].quartiles == (12.5, 17.5)
    assert len(binned(agreement([1], [1]), bins=12)) == 1


def test_the_nearest_share() -> None:
    assert nearest_against_others(agreement([1, 2, 3, 4], [1, 3, 5, 7]), 0.5) == (2, 6)
    near, far = nearest_against_others(agreement([1], [1]), 0.0)
    assert math.isnan(near) and far == 1


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=2, max_size=30))
def test_ranks_do_not_care_about_the_scale(pairs: list[tuple[float, float]]) -> None:
    between, to_truth = map(list, zip(*pairs, strict=True))
    plain = agreement(between, to_truth).rank_correlation
    stretched = agreement(between, [2 * value for value in to_truth]).rank_correlation
    assert plain == pytest.approx(stretched, nan_ok=True)
