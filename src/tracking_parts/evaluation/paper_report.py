"""The paper's tables and figures as sections of a report: what was measured here beside what was published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracking_parts.evaluation import pathways, published
from tracking_parts.evaluation.paper_plan import PaperPlan, PaperTable, Version
from tracking_parts.evaluation.protocol import ResetProtocol
from tracking_parts.evaluation.report.charts import Curve, Frame, curve_chart
from tracking_parts.evaluation.report.content import Cell, Notice, Part, Row, Section, Table
from tracking_parts.evaluation.report.paired_sections import p_text
from tracking_parts.evaluation.report.tables import interval_cell, is_repeated
from tracking_parts.evaluation.scoring import TrackerRuns, figure, shared_sequences
from tracking_parts.evaluation.statistics import (
    HeadlineIntervals,
    PairedFigure,
    headline_intervals,
    paired_test,
)
from tracking_parts.evaluation.trackers import TrackerSpec

MEASURED, PUBLISHED, NOT_RUN = "measured", "published", "not run"
CONFIDENT_SHARE = 0.11  # "11 % of all frames are HCFs"


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """One data set, and every tracker's runs on it by the tracker's name in tables."""

    name: str  # the protocol's: vot2016 or vot2017
    protocol: ResetProtocol
    trackers: Mapping[str, TrackerRuns]

    def runs_of(self, spec: str) -> TrackerRuns | None:
        return self.trackers.get(TrackerSpec.parse(spec).identity)


def paper_sections(plan: PaperPlan, data_sets: Sequence[MeasuredSet]) -> list[Section]:
    """Tables 1 to 4, the speed of the versions, and the figure behind the confident frames."""
    return [
        _table_1(plan, data_sets),
        *(_versions_section(table, data_sets) for table in plan.tables),
        _speed_section(plan, data_sets),
        *(section for one in data_sets if (section := _agreement_section(plan, one)) is not None),
    ]


def _headline(runs: TrackerRuns, protocol: ResetProtocol) -> HeadlineIntervals:
    return headline_intervals(runs.groups, protocol.eao_interval, protocol.burn_in)


# Table 1


def _table_1(plan: PaperPlan, data_sets: Sequence[MeasuredSet]) -> Section:
    head = ["Tracker", *(f"{name} {one.name}" for one in data_sets for name in ("EAO", "R", "A", "R*"))]
    rows = [
        Row(
            (spec, *(cell for one in data_sets for cell in _measured_cells(spec, one, star=True))),
            _mark(spec, data_sets),
        )
        for spec in (plan.ours, *plan.peers)
    ]
    rows += [
        Row((name, *(cell for one in data_sets for cell in _published_cells(by_set, one, star=True))), PUBLISHED)
        for name, by_set in published.TABLE_1.items()
        if any(one.name in by_set for one in data_sets)
    ]
    table = Table(
        "Trackers measured here, and the paper's rows as published",
        tuple(head),
        tuple(rows),
        (
            "Measured rows: one harness, 95 % bootstrap intervals over sequences. Published rows: VOT's own "
            "toolkit, whole data sets, other machines; they are not re-measured.",
        ),
    )
    return Section("Table 1: against other trackers", (*_subset_notice(data_sets), table))


def _mark(spec: str, data_sets: Sequence[MeasuredSet]) -> str:
    return MEASURED if any(one.runs_of(spec) for one in data_sets) else NOT_RUN


def _subset_notice(data_sets: Sequence[MeasuredSet]) -> Iterable[Part]:
    for one in data_sets:
        count = len({name for runs in one.trackers.values() for name in runs.by_sequence})
        if count < 60:
            yield Notice(
                f"{one.name}: {count} of 60 sequences were run. Measured figures compare with each other, "
                "not with the published ones, which are of the whole data set."
            )


def _measured_cells(spec: str, data_set: MeasuredSet, star: bool) -> list[Cell]:
    runs = data_set.runs_of(spec)
    if runs is None:
        return [Cell("–")] * (4 if star else 3)
    found = _headline(runs, data_set.protocol)
    cells = [interval_cell(found.eao, 3), interval_cell(found.robustness, 2), interval_cell(found.accuracy, 3)]
    return [*cells, interval_cell(found.robustness_star, 3)] if star else cells


def _published_cells(by_set: published.PublishedRow, data_set: MeasuredSet, star: bool) -> list[Cell]:
    numbers = by_set.get(data_set.name)
    if numbers is None:
        return [Cell("–")] * (4 if star else 3)
    cells = [Cell(figure(numbers.eao, 3)), Cell(figure(numbers.robustness, 2)), Cell(figure(numbers.accuracy, 2))]
    return [*cells, Cell(figure(numbers.robustness_star, 3))] if star else cells


# Tables 2 to 4


def _versions_section(table: PaperTable, data_sets: Sequence[MeasuredSet]) -> Section:
    parts: list[Part] = [f"The paper's claim: {table.claim}"]
    parts += [_versions_table(table, one) for one in data_sets]
    return Section(f"Table {table.number}: {table.title.lower()}", tuple(parts))


def _versions_table(table: PaperTable, data_set: MeasuredSet) -> Table:
    reference = next(version for version in table.versions if version.label == table.reference)
    head = ("Version", "EAO", "R", "A", "failures", "Δ EAO", "Δ failures", "EAO, R, A published")
    return Table(
        f"{data_set.name}: {table.title.lower()}",
        head,
        tuple(
            Row(
                (
                    version.label,
                    *_measured_cells(version.tracker, data_set, star=False),
                    _failures_cell(version, data_set),
                    *_difference_cells(version, reference, data_set),
                    _published_text(table.published.get(version.label, {}), data_set),
                ),
                _mark(version.tracker, [data_set]),
            )
            for version in table.versions
        ),
        (
            f"Δ: this version minus “{table.reference}” on the same sequences; p: two-sided, by swapping the two in "
            "whole sequences. Above p = 0.05 the difference may well be chance.",
            f"Trackers: {', '.join(f'{version.label} = {version.tracker}' for version in table.versions)}.",
        ),
    )


def _failures_cell(version: Version, data_set: MeasuredSet) -> Cell:
    runs = data_set.runs_of(version.tracker)
    if runs is None:
        return Cell("–")
    return interval_cell(_headline(runs, data_set.protocol).failures, 1 if is_repeated([runs]) else 0)


def _difference_cells(version: Version, reference: Version, data_set: MeasuredSet) -> list[Cell]:
    ours, other = data_set.runs_of(version.tracker), data_set.runs_of(reference.tracker)
    if version is reference or ours is None or other is None:
        return [Cell("–"), Cell("–")]
    names = shared_sequences([ours, other])
    if not names:
        return [Cell("–"), Cell("–")]
    scores = [
        {name: [run.score for run in runs] for name, runs in tracker.only(names).by_sequence.items()}
        for tracker in (ours, other)
    ]
    test = paired_test(scores[0], scores[1], data_set.protocol.eao_interval, data_set.protocol.burn_in)
    return [_difference_cell(test.eao, 3), _difference_cell(test.failures, 0)]


def _difference_cell(paired: PairedFigure, digits: int) -> Cell:
    if math.isnan(paired.difference.value):
        return Cell("–")
    return Cell(f"{paired.difference.value:+.{digits}f}".replace("-", "−"), f"p {p_text(paired.p)}")


def _published_text(by_set: published.PublishedRow, data_set: MeasuredSet) -> str:
    numbers = by_set.get(data_set.name)
    if numbers is None:
        return "–"
    return f"{numbers.eao:.3f}, {numbers.robustness:.2f}, {numbers.accuracy:.2f}"


# Speed


def _speed_section(plan: PaperPlan, data_sets: Sequence[MeasuredSet]) -> Section:
    rows = [
        Row(
            (
                f"{version.label}, {one.name}",
                *_speed_cells(runs),
                *_measured_cells(version.tracker, one, star=False),
                figure(published.SPEED[version.label], 0),
            ),
            MEASURED,
        )
        for one in data_sets
        for version in plan.speed
        if (runs := one.runs_of(version.tracker)) is not None
    ]
    head = ("Version", "fps", "ms median", "ms 95 %", "EAO", "R", "A", "fps published")
    table = Table(
        "Speed with and without updates, and with updates in the background",
        head,
        tuple(rows),
        ("Published: on a GTX TITAN X. Measured: on the machine named below, reading of the images not counted.",),
    )
    claim = (
        "The paper's claim: without updates, or with updates in parallel, the tracker runs at 30 frames a second; the "
        "parallel version loses about 1 % of EAO against the sequential one."
    )
    return Section("Speed and the parallel version", (claim, table))


def _speed_cells(runs: TrackerRuns) -> list[str]:
    seconds = [second for run in runs.runs for second in run.trajectory.seconds if second > 0]
    if not seconds:
        return ["–"] * 3
    middle, slow = np.percentile(seconds, [50, 95])
    return [figure(runs.frames_per_second, 1), f"{1000 * middle:.0f}", f"{1000 * slow:.0f}"]


# The figure behind the confident frames


def _agreement_section(plan: PaperPlan, data_set: MeasuredSet) -> Section | None:
    runs = data_set.runs_of(plan.ours)
    agreement = pathways.pathway_agreement(runs.runs) if runs is not None else None
    if agreement is None or len(agreement) < 2:
        return None
    bins = pathways.binned(agreement)
    chart = curve_chart(
        Frame(
            "Distance between the pathways against distance to the ground truth",
            "Frames in twelve bins of equal number. The line is the mean distance to the ground truth, the band the "
            "middle half of the frames; both axes in object sizes (square root of the true area).",
            "distance between the pathways (median of a bin)",
            "distance to the ground truth",
        ),
        [
            Curve(
                plan.ours,
                0,
                [one.between_pathways for one in bins],
                [one.to_truth for one in bins],
                [one.quartiles[0] for one in bins],
                [one.quartiles[1] for one in bins],
            )
        ],
    )
    near, far = pathways.nearest_against_others(agreement, CONFIDENT_SHARE)
    words = (
        f"Over {len(agreement)} tracked frames the two distances correlate with r = {agreement.correlation:.2f} "
        f"(Pearson) and {agreement.rank_correlation:.2f} (Spearman). In the {CONFIDENT_SHARE:.0%} of frames where the "
        f"pathways are nearest, the tracker is {near:.3f} object sizes from the truth on average; in the others "
        f"{far:.3f}. "
        "Frames of a failure have no region in VOT's layout and are not among them."
    )
    return Section(f"Agreement of the pathways, {data_set.name}", (words, chart))
