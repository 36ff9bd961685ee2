"""How far a figure can be trusted: bootstrap intervals, and paired tests between two trackers.

A data set is a sample of the sequences that somebody might track in, so sequences are what is drawn again; all runs of
one sequence go together, because they share its difficulty. Intervals are percentiles of the resampled figures. They
say what another choice of *such* sequences would give, and nothing about another kind of data.

The figures of a benchmark are means or ratios of sums over sequences (:class:`AdditiveFigure`). A resample is then a
vector of counts, and a thousand of them are one matrix product with the sequences' own sums: nothing is cut or
averaged again. :func:`bootstrap_interval` is the plain definition, for any other statistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation import measures, one_pass_measures
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.one_pass_measures import OnePassScore

Group = TypeVar("Group")
Numbers = NDArray[np.float64]

ROUNDING = 1e-9  # differences closer than this are ties
BLOCK = 1000  # rows worked on at once: bounds the memory, not the result


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and between which values it lies; the bounds are ``nan`` where nothing can be said about them."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AdditiveFigure:
    """The mean over terms of (sum of numerators / sum of denominators), both summed over sequences.

    Terms are EAO's lengths; most figures have one. A term with a denominator of 0 is unknown and left out.
    """

    numerators: Numbers  # [sequences, terms]
    denominators: Numbers  # [sequences, terms]

    def value(self) -> float:
        return float(self.resampled(np.ones((1, len(self.numerators))))[0])

    def resampled(self, counts: NDArray[np.generic]) -> Numbers:
        """The figure with each sequence taken as often as ``counts`` [samples, sequences] says; ``nan`` if unknown."""
        blocks = [counts[start : start + BLOCK].astype(np.float64) for start in range(0, len(counts), BLOCK)]
        return np.concatenate([self._means(block) for block in blocks])

    def weighted(self, weights: Numbers) -> AdditiveFigure:
        """The figure with sequences that count more or less from the start: ``weights`` is [sequences]."""
        return AdditiveFigure(self.numerators * weights[:, None], self.denominators * weights[:, None])

    def _means(self, counts: Numbers) -> Numbers:
        above, below = counts @ self.numerators, counts @ self.denominators
        known = below > 0
        ratios = np.divide(above, below, out=np.zeros_like(above), where=known)
        terms = known.sum(axis=1)
        return np.asarray(np.divide(ratios.sum(axis=1), terms, out=np.full(len(counts), np.nan), where=terms > 0))


@dataclass(frozen=True, slots=True)
class HeadlineIntervals:
    """The figures of the reset-based experiment; ``failures`` are those of one pass through the data set."""

    eao: Interval
    accuracy: Interval
    failures: Interval
    robustness: Interval  # R
    robustness_star: Interval  # R*


@dataclass(frozen=True, slots=True)
class OnePassIntervals:
    """The figures of the one-pass evaluation: means over sequences."""

    auc: Interval
    precision: Interval
    normalised_precision: Interval


@dataclass(frozen=True, slots=True)
class PairedFigure:
    """One figure of two trackers: the difference is the first's minus the second's."""

    first: float
    second: float
    difference: Interval
    p: float  # two-sided; nan where the difference is unknown


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two trackers on the same sequences, by the figures of the reset-based experiment."""

    sequences: tuple[str, ...]
    swaps: int  # how many ways of swapping the trackers' names were tried
    exact: bool  # whether these are all ways there are
    eao: PairedFigure
    accuracy: PairedFigure
    failures: PairedFigure


def bootstrap_interval(
    groups: Sequence[Group],
    statistic: Callable[[list[Group]], float],
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The slow and general way: ``statistic`` of the groups, and of ``samples`` draws of as many with replacement.

    A group is one sequence with all its runs. Draws where the statistic is ``nan`` are left out of the bounds. A
    single group leaves them unknown: it shows no spread.
    """
    drawn = _draws(len(groups), samples, level, seed)
    resampled = np.array([statistic([groups[index] for index in row]) for row in drawn], dtype=np.float64)
    return _interval(statistic(list(groups)), resampled, len(groups), level)


def headline_intervals(
    groups: Sequence[Sequence[SequenceScore]],
    eao_interval: tuple[int, int],
    burn_in: int,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> HeadlineIntervals:
    """Intervals of VOT's figures, one group per sequence: what :func:`bootstrap_interval` gives, but fast."""
    counts = resample_counts(len(groups), samples, level, seed)
    figures = _reset_figures(groups, eao_interval, burn_in)
    return HeadlineIntervals(**{name: _figure_interval(figure, counts, level) for name, figure in figures.items()})


def one_pass_intervals(
    groups: Sequence[Sequence[OnePassScore]],
    precision_pixels: float = 20.0,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> OnePassIntervals:
    """Intervals of the one-pass figures, one group per sequence; a sequence counts by the mean over its runs."""
    counts = resample_counts(len(groups), samples, level, seed)
    figures = one_pass_figures(groups, precision_pixels)
    return OnePassIntervals(**{name: _figure_interval(figure, counts, level) for name, figure in figures.items()})


def paired_test(
    first: Mapping[str, Sequence[SequenceScore]],
    second: Mapping[str, Sequence[SequenceScore]],
    eao_interval: tuple[int, int],
    burn_in: int,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    swaps: int = 10_000,
) -> PairedTest:
    """Whether two trackers differ, given each one's runs by the sequences' names.

    The interval of a difference resamples both trackers' sequences alike. ``p`` answers another question: if the names
    of the trackers meant nothing, how often would swapping them in some of the sequences make a difference at least as
    large? All ways of swapping are tried where they are at most ``swaps``, else that many at random.

    The trackers may differ in repetitions: each sequence counts once, whatever the number of its runs. That changes no
    figure where all sequences of a tracker have the same number.
    """
    names = paired_names(first, second)
    figures = [_once_each([runs[name] for name in names], eao_interval, burn_in) for runs in (first, second)]
    counts, swapped = resample_counts(len(names), samples, level, seed), swap_masks(len(names), swaps, seed)
    exact = 2 ** len(names) <= swaps
    paired = {
        name: paired_figure(figures[0][name], figures[1][name], counts, swapped, exact, level) for name in figures[0]
    }
    return PairedTest(sequences=names, swaps=len(swapped), exact=exact, **paired)


def resample_counts(sequences: int, samples: int, level: float, seed: int) -> NDArray[np.int64]:
    """How often each sequence occurs in each bootstrap sample: [samples, sequences]."""
    drawn = _draws(sequences, samples, level, seed)
    return np.stack([np.bincount(row, minlength=sequences) for row in drawn])


def swap_masks(sequences: int, swaps: int, seed: int) -> NDArray[np.bool_]:
    """In which sequences the trackers are swapped: every combination where these are few enough, else random ones."""
    if swaps < 1:
        raise ConfigError(f"swaps must be at least 1, not {swaps}")
    if 2**sequences <= swaps:
        return np.asarray((np.arange(2**sequences)[:, None] >> np.arange(sequences)) & 1 == 1)
    return np.asarray(np.random.default_rng(seed).integers(0, 2, (swaps, sequences)) == 1)


def _draws(sequences: int, samples: int, level: float, seed: int) -> NDArray[np.int64]:
    """Indices of the sequences in each bootstrap sample: [samples, sequences]."""
    if samples < 1 or not 0 < level < 1:
        raise ConfigError(f"a bootstrap needs at least 1 sample and a level between 0 and 1, not {samples} and {level}")
    if sequences < 1:
        raise FormatError("no sequences to resample")
    return np.random.default_rng(seed).integers(0, sequences, (samples, sequences))


def _interval(value: float, resampled: Numbers, sequences: int, level: float) -> Interval:
    known = resampled[~np.isnan(resampled)]
    if sequences < 2 or len(known) == 0:
        return Interval(value, math.nan, math.nan)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


def _figure_interval(figure: AdditiveFigure, counts: NDArray[np.int64], level: float) -> Interval:
    return _interval(figure.value(), figure.resampled(counts), len(figure.numerators), level)


def paired_figure(
    first: AdditiveFigure,
    second: AdditiveFigure,
    counts: NDArray[np.int64],
    swapped: NDArray[np.bool_],
    exact: bool,
    level: float,
) -> PairedFigure:
    difference = first.value() - second.value()
    resampled = first.resampled(counts) - second.resampled(counts)
    interval = _interval(difference, resampled, len(first.numerators), level)
    if math.isnan(difference):
        return PairedFigure(first.value(), second.value(), interval, math.nan)
    both = AdditiveFigure(
        np.concatenate([first.numerators, second.numerators]), np.concatenate([first.denominators, second.denominators])
    )
    by_chance = both.resampled(np.hstack([~swapped, swapped])) - both.resampled(np.hstack([swapped, ~swapped]))
    # An unknown difference might have been a large one: it counts against the claim.
    hits = int(np.sum(np.isnan(by_chance) | (np.abs(by_chance) >= abs(difference) - ROUNDING)))
    p = hits / len(swapped) if exact else (1 + hits) / (1 + len(swapped))
    return PairedFigure(first.value(), second.value(), interval, p)


def paired_names(
    first: Mapping[str, Sequence[SequenceScore | OnePassScore]],
    second: Mapping[str, Sequence[SequenceScore | OnePassScore]],
) -> tuple[str, ...]:
    """The sequences' names in one order, so that the answer depends on no folder's; refuse what cannot be paired."""
    unpaired = sorted(set(first) ^ set(second))
    if unpaired:
        raise FormatError(f"the trackers ran on different sequences: only one of them on {_listed(unpaired)}")
    lengths = {name: {len(run.overlaps) for run in (*first[name], *second[name])} for name in first}
    uneven = sorted(name for name, found in lengths.items() if len(found) > 1)
    if uneven:
        raise FormatError(f"the runs have different numbers of frames on {_listed(uneven)}")
    return tuple(sorted(first))


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _reset_figures(
    groups: Sequence[Sequence[SequenceScore]], eao_interval: tuple[int, int], burn_in: int
) -> dict[str, AdditiveFigure]:
    """VOT's figures, by the names of :class:`HeadlineIntervals`."""
    _check_runs(groups)
    low, high = eao_interval
    sums = [measures.expected_overlap_sums(runs, high) for runs in groups]
    failures = [measures.failure_count(runs) for runs in groups]
    return {
        "eao": AdditiveFigure(
            np.array([total[low : high + 1] for total, _ in sums]),
            np.array([known[low : high + 1] for _, known in sums]),
        ),
        "accuracy": _single_term(measures.accuracy_sums(runs, burn_in) for runs in groups),
        # A mean over the sequences, times their number: a resample is a data set of the same size.
        "failures": _single_term((len(groups) * measures.mean_failures([runs]), 1) for runs in groups),
        "robustness": _single_term((count, len(runs)) for count, runs in zip(failures, groups, strict=True)),
        "robustness_star": _single_term(
            (100 * count, sum(run.length for run in runs)) for count, runs in zip(failures, groups, strict=True)
        ),
    }


def _once_each(
    groups: Sequence[Sequence[SequenceScore]], eao_interval: tuple[int, int], burn_in: int
) -> dict[str, AdditiveFigure]:
    """The figures of :class:`PairedTest`, with the runs of a sequence counting as one."""
    figures = _reset_figures(groups, eao_interval, burn_in)
    weights = np.array([1 / len(runs) for runs in groups])
    # The failures are those of one run already.
    return {
        "eao": figures["eao"].weighted(weights),
        "accuracy": figures["accuracy"].weighted(weights),
        "failures": figures["failures"],
    }


def one_pass_figures(groups: Sequence[Sequence[OnePassScore]], precision_pixels: float) -> dict[str, AdditiveFigure]:
    """OTB's figures, by the names of :class:`OnePassIntervals`."""
    _check_runs(groups)
    figure_of: dict[str, Callable[[OnePassScore], float]] = {
        "auc": lambda run: one_pass_measures.success_auc(run.overlaps),
        "precision": lambda run: one_pass_measures.precision_at(run.distances, precision_pixels),
        "normalised_precision": lambda run: one_pass_measures.normalised_precision(run.normalised_distances),
    }
    return {name: _single_term(_mean_of_runs(runs, of_run) for runs in groups) for name, of_run in figure_of.items()}


def _mean_of_runs(runs: Sequence[OnePassScore], figure_of: Callable[[OnePassScore], float]) -> tuple[float, int]:
    """A sequence's figure and that it counts once; zeros where no frame of it is judged."""
    known = [value for value in map(figure_of, runs) if not math.isnan(value)]
    return (sum(known) / len(known), 1) if known else (0.0, 0)


def _single_term(pairs: Iterator[tuple[float, float]]) -> AdditiveFigure:
    numbers = np.array(list(pairs), dtype=np.float64)
    return AdditiveFigure(numbers[:, :1], numbers[:, 1:])


def _check_runs(groups: Sequence[Sequence[object]]) -> None:
    if not groups or not all(groups):
        raise FormatError("every sequence needs at least one run, and there must be a sequence")
