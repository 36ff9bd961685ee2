"""Whether two trackers differ by the figures of the one-pass evaluation: the same test as for VOT's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracking_parts.evaluation.one_pass_measures import OnePassScore
from tracking_parts.evaluation.statistics import (
    PairedFigure,
    one_pass_figures,
    paired_figure,
    paired_names,
    resample_counts,
    swap_masks,
)


@dataclass(frozen=True, slots=True)
class OnePassPairedTest:
    """Two trackers on the same sequences; differences are the first's figure minus the second's."""

    sequences: tuple[str, ...]
    auc: PairedFigure
    precision: PairedFigure
    normalised_precision: PairedFigure


def one_pass_paired_test(
    first: Mapping[str, Sequence[OnePassScore]],
    second: Mapping[str, Sequence[OnePassScore]],
    precision_pixels: float = 20.0,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    swaps: int = 10_000,
) -> OnePassPairedTest:
    """Each tracker's runs by the sequences' names; see :func:`tracking_parts.evaluation.statistics.paired_test`."""
    names = paired_names(first, second)
    ours, theirs = (one_pass_figures([runs[name] for name in names], precision_pixels) for runs in (first, second))
    counts, swapped = resample_counts(len(names), samples, level, seed), swap_masks(len(names), swaps, seed)
    exact = 2 ** len(names) <= swaps
    return OnePassPairedTest(
        names, **{name: paired_figure(ours[name], theirs[name], counts, swapped, exact, level) for name in ours}
    )
