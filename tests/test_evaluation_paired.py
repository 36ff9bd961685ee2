"""Paired tests between two trackers: by hand, against slow definitions, and by simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from test_evaluation_measures import score_of
from test_evaluation_statistics import BURN_IN, HEADLINE, INTERVAL, Runs, named, same, simulated_groups, simulated_run
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.statistics import (
    Interval,
    PairedFigure,
    PairedTest,
    bootstrap_interval,
    paired_test,
    swap_masks,
)

NAN = math.nan


def figures_of(test: PairedTest) -> dict[str, PairedFigure]:
    return {"eao": test.eao, "accuracy": test.accuracy, "failures": test.failures}


def failing(times: int) -> SequenceScore:
    """A run of 60 frames that fails so many times."""
    failures = tuple(2 + 8 * index for index in range(times))
    return score_of([NAN] + [0.5] * 59, (0, *(failure + 5 for failure in failures)), failures)


def test_paired_failures_by_hand() -> None:
    first, second = named([[failing(n)] for n in (1, 2, 3)]), named([[failing(0)]] * 3)
    test = paired_test(first, second, INTERVAL, BURN_IN)
    assert (test.sequences, test.swaps, test.exact) == (("sequence00", "sequence01", "sequence02"), 8, True)
    assert (test.failures.first, test.failures.second, test.failures.difference.value) == (6, 0, 6)
    # Of the eight sums ±1 ±2 ±3 only the two of equal signs are as large as 6.
    assert test.failures.p == 2 / 8
    # The smallest and the largest of all draws: three times 1 and three times 3.
    assert (test.failures.difference.low, test.failures.difference.high) == (3, 9)
    # 0, 1 and 1 more failures: 1 + 1 is reached where the last two have equal signs.
    assert paired_test(named([[failing(n)] for n in (0, 1, 1)]), second, INTERVAL, BURN_IN).failures.p == 4 / 8


def test_p_agrees_with_swapping_runs() -> None:
    """The definition: every way of exchanging the two trackers' runs, measured from the start."""
    first, second = simulated_groups(2, sequences=5), simulated_groups(2, sequences=5, skill=0.4)
    test = paired_test(named(first), named(second), INTERVAL, BURN_IN)
    assert test.exact
    for name, figure in figures_of(test).items():
        statistic = HEADLINE[name]
        observed = abs(statistic(first) - statistic(second))
        hits = 0
        for swap in itertools.product([False, True], repeat=5):
            one = [b if swapped else a for a, b, swapped in zip(first, second, swap, strict=True)]
            other = [a if swapped else b for a, b, swapped in zip(first, second, swap, strict=True)]
            hits += abs(statistic(one) - statistic(other)) >= observed - 1e-9
        assert figure.p == hits / 32, name
        assert (figure.first, figure.second) == pytest.approx((statistic(first), statistic(second)))


def test_interval_of_the_difference_draws_both_trackers_alike() -> None:
    first, second = simulated_groups(3), simulated_groups(3, skill=0.5)
    pairs = list(zip(first, second, strict=True))
    test = paired_test(named(first), named(second), INTERVAL, BURN_IN, samples=40, seed=5)
    for name, figure in figures_of(test).items():
        statistic = HEADLINE[name]

        def difference(drawn: list[tuple[Runs, Runs]], of: Callable[[list[Runs]], float] = statistic) -> float:
            return of([one for one, _ in drawn]) - of([other for _, other in drawn])

        assert same(figure.difference, bootstrap_interval(pairs, difference, samples=40, seed=5)), name


@pytest.mark.parametrize("sequences", [6, 20])
def test_a_tracker_does_not_differ_from_itself(sequences: int) -> None:
    groups = named(simulated_groups(4, sequences))
    test = paired_test(groups, groups, INTERVAL, BURN_IN, swaps=500)
    assert test.exact == (sequences == 6)
    for figure in figures_of(test).values():
        assert figure.difference == Interval(0, 0, 0) and figure.p == 1


@pytest.mark.parametrize("sequences", [6, 20])
def test_the_order_of_the_trackers_does_not_matter(sequences: int) -> None:
    first, second = named(simulated_groups(5, sequences)), named(simulated_groups(5, sequences, skill=0.57))
    forth, back = (paired_test(*pair, INTERVAL, BURN_IN, swaps=500) for pair in ((first, second), (second, first)))
    for name, figure in figures_of(forth).items():
        mirrored = figures_of(back)[name]
        assert mirrored.p == figure.p
        assert mirrored.difference.value == pytest.approx(-figure.difference.value)
    assert 1 / 501 <= forth.accuracy.p < 1


def test_the_order_of_the_sequences_does_not_matter() -> None:
    first, second = named(simulated_groups(6)), named(simulated_groups(6, skill=0.5))
    expected = paired_test(first, second, INTERVAL, BURN_IN)
    backwards, second_backwards = (dict(reversed(runs.items())) for runs in (first, second))
    assert paired_test(backwards, second_backwards, INTERVAL, BURN_IN) == expected
    assert paired_test(first, second_backwards, INTERVAL, BURN_IN) == expected


def test_all_swaps_are_tried_where_they_are_few() -> None:
    every = swap_masks(3, 8, seed=0)
    assert sorted(map(tuple, every.tolist())) == sorted(itertools.product([False, True], repeat=3))
    some = swap_masks(20, 1000, seed=0)
    assert some.shape == (1000, 20) and 0.45 < some.mean() < 0.55


def test_random_swaps_come_close_to_all_of_them() -> None:
    first, second = named(simulated_groups(7, 11)), named(simulated_groups(7, 11, skill=0.58))
    exact = paired_test(first, second, INTERVAL, BURN_IN, swaps=2**11)
    drawn = paired_test(first, second, INTERVAL, BURN_IN, swaps=2**11 - 1)
    assert (exact.exact, exact.swaps, drawn.exact, drawn.swaps) == (True, 2048, False, 2047)
    for name, figure in figures_of(exact).items():
        assert figures_of(drawn)[name].p == pytest.approx(figure.p, abs=0.05)


def test_repetitions_of_one_tracker_weigh_nothing() -> None:
    """Three equal runs are one run: the tracker that was run three times has no advantage and no disadvantage."""
    once = simulated_groups(8)
    thrice = [runs * 3 for runs in once]
    test = paired_test(named(thrice), named(once), INTERVAL, BURN_IN)
    for figure in figures_of(test).values():
        assert figure.p == 1
        assert (figure.difference.low, figure.difference.high) == pytest.approx((0, 0), abs=1e-12)
    other = named(simulated_groups(8, skill=0.58))
    often, seldom = (paired_test(named(groups), other, INTERVAL, BURN_IN) for groups in (thrice, once))
    for name, figure in figures_of(often).items():
        assert figure.p == figures_of(seldom)[name].p
        assert same(figure.difference, figures_of(seldom)[name].difference)


def test_trackers_that_do_not_differ_are_seldom_told_apart() -> None:
    """Under chance alone p is at most 0.1 in about a tenth of all experiments."""
    small = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first = simulated_groups(seed + 1000, 8)
        second = [[simulated_run(rng, runs[0].length)] for runs in first]
        small += paired_test(named(first), named(second), INTERVAL, BURN_IN, samples=1).accuracy.p <= 0.1
    assert 2 <= small <= 20


def test_a_clear_difference_is_seen() -> None:
    test = paired_test(named(simulated_groups(9, 30)), named(simulated_groups(9, 30, skill=0.3)), INTERVAL, BURN_IN)
    assert test.accuracy.p < 0.001 and test.accuracy.difference.low > 0.2
    assert (test.swaps, test.exact) == (10_000, False)


def test_an_unknown_difference_has_no_p() -> None:
    groups = {name: [score_of([NAN] + [0.5] * 30)] for name in "abc"}
    test = paired_test(groups, groups, (50, 60), BURN_IN)
    unknown = (test.eao.first, test.eao.difference.value, test.eao.difference.low, test.eao.difference.high, test.eao.p)
    assert all(map(math.isnan, unknown))
    assert test.accuracy.p == test.failures.p == 1


def test_swaps_without_an_answer_count_against_the_claim() -> None:
    good, poor, silent = score_of([NAN] + [0.9] * 5), score_of([NAN] + [0.1] * 5), score_of([NAN] * 6)
    test = paired_test({"a": [good], "b": [silent]}, {"a": [silent], "b": [poor]}, INTERVAL, BURN_IN)
    assert test.accuracy.difference.value == pytest.approx(0.8)
    # As large in two of the four swaps; in the other two one tracker is left without a frame that counts.
    assert test.accuracy.p == 1


def test_only_the_same_sequences_are_paired() -> None:
    groups = named(simulated_groups(11))
    fewer = {name: runs for name, runs in groups.items() if name != "sequence03"}
    with pytest.raises(FormatError, match=r"only one of them on sequence03$"):
        paired_test(groups, fewer, INTERVAL, BURN_IN)
    with pytest.raises(FormatError, match="and 3 more"):
        paired_test(groups, {}, INTERVAL, BURN_IN)
    other = {**groups, "sequence03": [score_of([NAN] + [0.5] * 99)]}
    with pytest.raises(FormatError, match="different numbers of frames on sequence03"):
        paired_test(groups, other, INTERVAL, BURN_IN)
    with pytest.raises(FormatError, match="there must be a sequence"):
        paired_test({}, {}, INTERVAL, BURN_IN)


def test_swaps_are_needed() -> None:
    groups = named(simulated_groups(0))
    with pytest.raises(ConfigError, match="swaps must be at least 1, not 0"):
        paired_test(groups, groups, INTERVAL, BURN_IN, swaps=0)
