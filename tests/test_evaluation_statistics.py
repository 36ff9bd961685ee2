"""Bootstrap intervals: by hand, against slow definitions, and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_evaluation_measures import oracle_scores, runs_with_failures
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation import measures, statistics
from tracking_parts.evaluation import one_pass_measures as ope
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.one_pass_measures import OnePassScore
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.statistics import (
    AdditiveFigure,
    Interval,
    bootstrap_interval,
    headline_intervals,
    one_pass_intervals,
    paired_test,
)

NAN = math.nan
Runs = list[SequenceScore]
INTERVAL, BURN_IN = (5, 40), 3


def simulated_run(rng: np.random.Generator, length: int, skill: float = 0.6, hazard: float = 0.03) -> SequenceScore:
    """Overlaps around ``skill``; each tracked frame fails with probability ``hazard``."""
    overlaps = np.clip(rng.normal(skill, 0.15, length), 0.01, 1)
    starts, failures, frame = [0], [], 1
    overlaps[0] = NAN
    while frame < length:
        if rng.random() < hazard:
            failures.append(frame)
            overlaps[frame : frame + 6] = NAN
            frame += 5
            if frame < length:
                starts.append(frame)
        frame += 1
    return SequenceScore(overlaps, tuple(starts), tuple(failures))


def simulated_groups(seed: int, sequences: int = 8, runs: tuple[int, ...] = (1,), skill: float = 0.6) -> list[Runs]:
    """Sequences of different lengths, with as many runs as ``runs`` says in turn."""
    rng = np.random.default_rng(seed)
    lengths = [int(rng.integers(20, 80)) for _ in range(sequences)]
    return [
        [simulated_run(rng, length, skill) for _ in range(runs[index % len(runs)])]
        for index, length in enumerate(lengths)
    ]


def named(groups: list[Runs]) -> dict[str, Runs]:
    return {f"sequence{index:02d}": runs for index, runs in enumerate(groups)}


def pooled(figure: Callable[[Runs], float]) -> Callable[[list[Runs]], float]:
    """A measure of runs as a statistic of groups."""
    return lambda groups: figure([run for runs in groups for run in runs])


HEADLINE: dict[str, Callable[[list[Runs]], float]] = {
    "eao": pooled(lambda runs: measures.expected_average_overlap(runs, INTERVAL)),
    "accuracy": pooled(lambda runs: measures.accuracy(runs, BURN_IN)),
    "failures": measures.mean_failures,
    "robustness": pooled(measures.robustness),
    "robustness_star": pooled(measures.failures_per_hundred_frames),
}


def same(first: Interval, second: Interval) -> bool:
    expected = pytest.approx((second.value, second.low, second.high), nan_ok=True)
    return (first.value, first.low, first.high) == expected


# The general bootstrap


def test_bootstrap_by_hand() -> None:
    # Of the draws of two out of (0, 1) a quarter has mean 0 and a quarter mean 1: both lie in the middle 95 %.
    assert bootstrap_interval([0.0, 1.0], lambda drawn: sum(drawn) / len(drawn)) == Interval(0.5, 0.0, 1.0)
    # The middle tenth holds nothing but draws of one of each.
    narrow = bootstrap_interval([0.0, 1.0], lambda drawn: sum(drawn) / len(drawn), level=0.1)
    assert narrow == Interval(0.5, 0.5, 0.5)
    assert bootstrap_interval([3, 3, 3], lambda drawn: float(max(drawn))) == Interval(3, 3, 3)


def test_bootstrap_draws_whole_groups_with_replacement() -> None:
    groups = [(1, 1), (2, 2, 2), (3,)]
    heard: list[list[tuple[int, ...]]] = []

    def statistic(drawn: list[tuple[int, ...]]) -> float:
        heard.append(drawn)
        return 0.0

    bootstrap_interval(groups, statistic, samples=50)
    assert len(heard) == 51 and groups in heard
    assert all(len(drawn) == 3 and set(drawn) <= set(groups) for drawn in heard)
    assert any(len(set(drawn)) < 3 for drawn in heard)


def test_one_sequence_shows_no_spread() -> None:
    interval = bootstrap_interval([5.0], lambda drawn: drawn[0])
    assert interval.value == 5 and math.isnan(interval.low) and math.isnan(interval.high)


def test_samples_without_an_answer_are_left_out() -> None:
    def largest_if_known(drawn: list[float]) -> float:
        return max(drawn) if 1.0 in drawn else NAN

    assert bootstrap_interval([1.0, 2.0], largest_if_known, level=0.99) == Interval(2, 1, 2)
    unknown = bootstrap_interval([1.0, 2.0], lambda drawn: NAN)
    assert math.isnan(unknown.low) and math.isnan(unknown.high)


def test_seeds_decide() -> None:
    values = list(np.random.default_rng(0).normal(size=20))

    def interval(seed: int) -> Interval:
        return bootstrap_interval(values, lambda drawn: float(np.mean(drawn)), samples=100, seed=seed)

    assert interval(0) == interval(0) != interval(1)


@pytest.mark.parametrize(("samples", "level"), [(0, 0.95), (10, 0.0), (10, 1.0), (10, 95.0)])
def test_senseless_numbers_are_refused(samples: int, level: float) -> None:
    with pytest.raises(ConfigError, match=f"not {samples} and {level}"):
        headline_intervals(simulated_groups(0), INTERVAL, BURN_IN, samples, level)
    with pytest.raises(ConfigError, match=f"not {samples} and {level}"):
        bootstrap_interval([1.0, 2.0], max, samples, level)


def test_nothing_to_resample_is_refused() -> None:
    with pytest.raises(FormatError, match="no sequences"):
        bootstrap_interval([], lambda drawn: 0.0)
    with pytest.raises(FormatError, match="no sequences"):
        headline_intervals([], INTERVAL, BURN_IN)
    with pytest.raises(FormatError, match="at least one run"):
        headline_intervals([*simulated_groups(0), []], INTERVAL, BURN_IN)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        drawn = [float(value) for value in rng.exponential(1.0, 40)]
        interval = bootstrap_interval(drawn, lambda values: sum(values) / len(values), samples=300, seed=seed)
        covered += interval.low <= 1.0 <= interval.high
    assert 0.87 <= covered / 200 <= 0.98


# The fast way for VOT's and OTB's figures


@pytest.mark.parametrize("runs", [(1,), (3,), (1, 4, 2)])
def test_fast_intervals_are_those_of_the_slow_way(runs: tuple[int, ...]) -> None:
    groups = simulated_groups(1, runs=runs)
    fast = headline_intervals(groups, INTERVAL, BURN_IN, samples=60, level=0.8, seed=3)
    for name, statistic in HEADLINE.items():
        slow = bootstrap_interval(groups, statistic, samples=60, level=0.8, seed=3)
        assert same(getattr(fast, name), slow), name
        assert slow.low < slow.high


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(runs_with_failures(), min_size=1, max_size=2), min_size=1, max_size=4), st.integers(0, 9))
def test_fast_intervals_of_odd_runs(groups: list[Runs], seed: int) -> None:
    """Short runs, lengths that some samples do not reach, runs without a frame that counts."""
    fast = headline_intervals(groups, INTERVAL, BURN_IN, samples=20, seed=seed)
    for name, statistic in HEADLINE.items():
        assert same(getattr(fast, name), bootstrap_interval(groups, statistic, samples=20, seed=seed)), name


def test_blocks_change_nothing() -> None:
    rng = np.random.default_rng(0)
    figure = AdditiveFigure(rng.random((5, 3)), rng.random((5, 3)))
    counts = statistics.resample_counts(5, 2 * statistics.BLOCK + 7, 0.95, 0)
    assert (counts.sum(axis=1) == 5).all()
    slow = [np.mean(row @ figure.numerators / (row @ figure.denominators)) for row in counts]
    assert figure.resampled(counts) == pytest.approx(slow)


def test_sequences_are_cut_once_and_not_in_every_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes it fast, and what a clock on a busy machine could not hold."""
    cuts = 0

    def counting(
        score: SequenceScore, cut: Callable[[SequenceScore], list[measures.Segment]]
    ) -> list[measures.Segment]:
        nonlocal cuts
        cuts += 1
        return cut(score)

    monkeypatch.setattr(measures, "segments", partial(counting, cut=measures.segments))
    groups = simulated_groups(0, runs=(1, 2))
    headline_intervals(groups, INTERVAL, BURN_IN)
    assert cuts == 12
    paired_test(named(groups), named(groups), INTERVAL, BURN_IN)
    assert cuts == 12 * 3


def one_pass_groups(seed: int) -> list[list[OnePassScore]]:
    rng = np.random.default_rng(seed)
    return [
        [OnePassScore(rng.random(30) ** 2, rng.exponential(15, 30), rng.exponential(0.3, 30)) for _ in range(runs)]
        for runs in (1, 3, 2, 1, 1)
    ]


def test_one_pass_intervals_are_those_of_the_slow_way() -> None:
    groups = one_pass_groups(0)

    def mean_of(figure: Callable[[OnePassScore], float]) -> Callable[[list[list[OnePassScore]]], float]:
        return lambda drawn: float(np.mean([np.mean([figure(run) for run in runs]) for runs in drawn]))

    slow: dict[str, Callable[[list[list[OnePassScore]]], float]] = {
        "auc": mean_of(lambda run: ope.success_auc(run.overlaps)),
        "precision": mean_of(lambda run: ope.precision_at(run.distances, 10)),
        "normalised_precision": mean_of(lambda run: ope.normalised_precision(run.normalised_distances)),
    }
    fast = one_pass_intervals(groups, precision_pixels=10, samples=50)
    for name, statistic in slow.items():
        assert same(getattr(fast, name), bootstrap_interval(groups, statistic, samples=50)), name
    curves = [[ope.success_curve(run.overlaps) for run in runs] for runs in groups]
    assert ope.mean_curve(curves).mean() == pytest.approx(fast.auc.value)


def test_one_pass_sequences_without_ground_truth_say_nothing() -> None:
    unknown = OnePassScore(np.array([NAN]), np.array([NAN]), np.array([NAN]))
    groups = one_pass_groups(0)
    with_unknown = one_pass_intervals([*groups, [unknown, unknown]])
    assert with_unknown.auc.value == pytest.approx(one_pass_intervals(groups).auc.value)
    assert math.isnan(one_pass_intervals([[unknown], [unknown]]).precision.value)


def test_published_raw_results_with_their_uncertainty(shared_data: Path) -> None:
    """ECO on VOT2016: sixty sequences leave its EAO uncertain by a fifth either way."""
    groups = [[score] for score in oracle_scores(shared_data)]
    intervals = headline_intervals(groups, VOT2016.eao_interval, VOT2016.burn_in)
    assert intervals.eao.value == pytest.approx(0.3714, abs=1e-3)
    assert intervals.accuracy.value == pytest.approx(0.547, abs=1e-3)
    assert intervals.failures.value == 43
    assert intervals.robustness.value == pytest.approx(0.7167, abs=1e-3)
    assert intervals.robustness_star.value == pytest.approx(0.2004, abs=1e-3)
    assert intervals.eao.low == pytest.approx(0.298, abs=0.01)
    assert intervals.eao.high == pytest.approx(0.452, abs=0.01)
