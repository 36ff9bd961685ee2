"""The report of a one-pass experiment: success and precision, and where each tracker lost the object."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tracking_parts.evaluation import one_pass_measures as measures
from tracking_parts.evaluation.one_pass import answered_regions
from tracking_parts.evaluation.one_pass_measures import LostStretch, OnePassScore, Values, score_boxes
from tracking_parts.evaluation.one_pass_paired import one_pass_paired_test
from tracking_parts.evaluation.protocol import OnePassProtocol
from tracking_parts.evaluation.report.charts import Curve, Frame, curve_chart, shading_words
from tracking_parts.evaluation.report.common_sections import failure_galleries, find_peer, peer_words, speed_section
from tracking_parts.evaluation.report.content import Cell, Chart, Key, Notice, Part, Section, Table
from tracking_parts.evaluation.report.paired_sections import PAIRED_NOTES, difference_cells
from tracking_parts.evaluation.report.sequence_charts import Difference, Strip, difference_chart, strip_chart
from tracking_parts.evaluation.report.tables import (
    MORE_IS_BETTER,
    heat_table,
    interval_columns,
    keys_of,
    speed_interval,
)
from tracking_parts.evaluation.report.thumbnails import Failure
from tracking_parts.evaluation.scoring import SequenceRun, TrackerRuns, shared_sequences
from tracking_parts.evaluation.statistics import OnePassIntervals, one_pass_intervals, resample_counts
from tracking_parts.geometry import Box, Polygon

SAMPLES, LEVEL = 1000, 0.95


@dataclass(frozen=True, slots=True)
class Scored:
    """One tracker with its runs' scores, by sequence."""

    tracker: TrackerRuns
    slot: int
    by_sequence: dict[str, list[OnePassScore]]
    intervals: OnePassIntervals


def one_pass_sections(trackers: Sequence[TrackerRuns], protocol: OnePassProtocol, against: str | None) -> list[Section]:
    """All sections but the first; the headline comes first."""
    scored = score_all(trackers, protocol)
    sections = [Section("Headline figures", (headline_table(scored, protocol),)), _curve_section(scored, protocol)]
    if len(trackers) > 1:
        sections.append(_peer_section(scored, protocol, against))
    sections.append(Section("Per sequence", tuple(sequence_tables(scored, protocol))))
    sections += [_lost_section(trackers, protocol), speed_section(trackers)]
    return sections


def score_all(trackers: Sequence[TrackerRuns], protocol: OnePassProtocol) -> list[Scored]:
    return [_score(tracker, slot, protocol) for slot, tracker in enumerate(trackers)]


def one_pass_score(run: SequenceRun, protocol: OnePassProtocol) -> OnePassScore:
    """Overlaps by the protocol's rule, distances between the centres of the boxes around answer and truth."""
    answers = [_box(region) for region in answered_regions(run.trajectory, run.sequence, protocol)]
    truths = [_box(truth) for truth in run.sequence.ground_truth]
    return score_boxes(answers, truths, run.score.overlaps)


def _box(polygon: Polygon | None) -> Box | None:
    return Box.around(polygon) if polygon is not None and np.isfinite(polygon).all() else None


def _score(tracker: TrackerRuns, slot: int, protocol: OnePassProtocol) -> Scored:
    by_sequence = {name: [one_pass_score(run, protocol) for run in runs] for name, runs in tracker.by_sequence.items()}
    return Scored(tracker, slot, by_sequence, one_pass_intervals([*by_sequence.values()], protocol.precision_pixels))


def headline_table(scored: Sequence[Scored], protocol: OnePassProtocol) -> Table:
    trackers = [one.tracker for one in scored]
    columns = {
        "success AUC": ([one.intervals.auc for one in scored], 3, True),
        f"precision at {protocol.precision_pixels:g} px": ([one.intervals.precision for one in scored], 3, True),
        "normalised precision": ([one.intervals.normalised_precision for one in scored], 3, True),
        "fps": ([speed_interval(tracker) for tracker in trackers], 1, True),
    }
    return Table.of(
        "All sequences, with 95 % intervals",
        ("tracker", *columns),
        interval_columns(trackers, columns),
        "Small print: 95 % bootstrap interval over sequences, all repetitions of a sequence together. It says what "
        "another choice of such sequences would give.",
        "More is better. Bold: best of the column, whether or not the difference means anything.",
    )


def sequence_tables(scored: Sequence[Scored], protocol: OnePassProtocol) -> list[Table]:
    """Success and precision of every tracker on every sequence."""
    trackers = [one.tracker for one in scored]
    lengths = {run.sequence.name: str(run.score.length) for tracker in trackers for run in tracker.runs}
    figures = {name: [_figures(one, name, protocol) for one in scored] for name in lengths}
    aucs, precisions = ({name: [pair[i] for pair in pairs] for name, pairs in figures.items()} for i in (0, 1))
    pixels = f"Precision at {protocol.precision_pixels:g} px"
    return [
        heat_table("Success AUC", "sequence", trackers, aucs, lengths, 3, MORE_IS_BETTER),
        heat_table(pixels, "sequence", trackers, precisions, lengths, 3, MORE_IS_BETTER),
    ]


def _curve_section(scored: Sequence[Scored], protocol: OnePassProtocol) -> Section:
    shaded = shading_words(len(scored))
    charts = [
        _curves(
            Frame("Success plot", f"Share of frames with an overlap above each threshold. {shaded}",
                  "overlap threshold", "share of frames"),
            scored, measures.success_thresholds(), lambda one: measures.success_curve(one.overlaps),
        ),
        _curves(
            Frame("Precision plot",
                  f"Share of frames whose centre is within each distance of the true one; the table counts "
                  f"{protocol.precision_pixels:g} pixels. {shaded}",
                  "distance of the centres in pixels", "share of frames"),
            scored, measures.precision_thresholds(), lambda one: measures.precision_curve(one.distances),
        ),
        _curves(
            Frame("Normalised precision plot",
                  f"The same with the distance in widths and heights of the true box. {shaded}",
                  "distance in sizes of the object", "share of frames"),
            scored, measures.normalised_precision_thresholds(),
            lambda one: measures.normalised_precision_curve(one.normalised_distances),
        ),
    ]  # fmt: skip
    return Section("Success and precision", tuple(charts))


def _curves(
    frame: Frame, scored: Sequence[Scored], thresholds: Values, curve_of: Callable[[OnePassScore], Values]
) -> Chart:
    curves = []
    # The best first, so that where all curves end together their names still stand in that order.
    for one in sorted(scored, key=lambda one: -np.nan_to_num(one.intervals.auc.value)):
        groups = [[curve_of(run) for run in runs] for runs in one.by_sequence.values()]
        middle = measures.mean_curve(groups)
        curves.append(Curve(one.tracker.name, one.slot, thresholds.tolist(), middle.tolist(), *_band(groups)))
    return curve_chart(frame, curves, y_top=1.0)


def _band(groups: Sequence[Sequence[Values]]) -> tuple[list[float], list[float]]:
    """The bounds of the mean over sequences when sequences are drawn again."""
    known = [[curve for curve in curves if not np.isnan(curve).any()] for curves in groups]
    means = np.array([np.mean(curves, axis=0) for curves in known if curves])
    if len(means) < 2:
        return [], []
    drawn = resample_counts(len(means), SAMPLES, LEVEL, seed=0) @ means / len(means)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low.tolist(), high.tolist()


def _peer_section(scored: Sequence[Scored], protocol: OnePassProtocol, against: str | None) -> Section:
    trackers = [one.tracker for one in scored]
    peer = find_peer(trackers, against, [one.intervals.auc.value for one in scored])
    parts: list[Part] = [peer_words(trackers, peer, against, "AUC"), paired_table(scored, peer, protocol)]
    for one in scored:
        names = shared_sequences((one.tracker, trackers[peer]))
        if one.slot != peer and not names:
            parts.append(Notice(f"{one.tracker.name} and {trackers[peer].name} share no sequence: nothing to compare."))
        elif one.slot != peer:
            chart = _differences(one, scored[peer], names, protocol)
            parts.append(Section(f"{one.tracker.name}, sequence by sequence", (chart,)))
    return Section(f"Against {trackers[peer].name}", tuple(parts))


def paired_table(scored: Sequence[Scored], peer: int, protocol: OnePassProtocol) -> Table:
    """Every tracker's differences from the peer, on the sequences that both have."""
    rows: list[list[Cell | str]] = []
    for one in scored:
        names = shared_sequences((one.tracker, scored[peer].tracker))
        if one.slot == peer or not names:
            continue
        first, second = ({name: side.by_sequence[name] for name in names} for side in (one, scored[peer]))
        test = one_pass_paired_test(first, second, protocol.precision_pixels)
        cells: list[Cell | str] = [Cell(one.tracker.name, slot=one.slot), str(len(names))]
        for paired in (test.auc, test.precision, test.normalised_precision):
            cells += difference_cells(paired, 3)
        rows.append(cells)
    return Table.of(
        f"Paired differences: tracker minus {scored[peer].tracker.name}",
        ("tracker", "sequences", "Δ AUC", "p", "Δ precision", "p", "Δ normalised precision", "p"),
        rows,
        *PAIRED_NOTES,
    )


def _differences(one: Scored, peer: Scored, names: Sequence[str], protocol: OnePassProtocol) -> Chart:
    rows = []
    for name in names:
        (auc, precision), (peer_auc, peer_precision) = (_figures(side, name, protocol) for side in (one, peer))
        words = (f"AUC {auc:.3f} and {peer_auc:.3f}", f"precision {precision:.3f} and {peer_precision:.3f}")
        rows.append(Difference(name, (auc - peer_auc, precision - peer_precision), words))
    rows.sort(key=lambda row: -row.better_by[0] if math.isfinite(row.better_by[0]) else 0.0)
    sides = (Key(one.tracker.name, one.slot), Key(peer.tracker.name, peer.slot))
    frame = Frame(
        f"{sides[0].label} against {sides[1].label}, sequence by sequence",
        f"Right: {sides[0].label} is better; left: {sides[1].label} is. Sorted by AUC.",
    )
    return difference_chart(frame, ("success AUC", f"precision at {protocol.precision_pixels:g} px"), sides, rows)


def _figures(one: Scored, name: str, protocol: OnePassProtocol) -> tuple[float, float]:
    runs = one.by_sequence.get(name)
    if not runs:
        return math.nan, math.nan
    aucs = [measures.success_auc(run.overlaps) for run in runs]
    precisions = [measures.precision_at(run.distances, protocol.precision_pixels) for run in runs]
    return float(np.mean(aucs)), float(np.mean(precisions))


# A tracker's number and a sequence's name, and where that run was lost.
LostRuns = dict[tuple[int, str], tuple[SequenceRun, list[LostStretch]]]


def _lost_runs(trackers: Sequence[TrackerRuns], protocol: OnePassProtocol) -> LostRuns:
    """First repetitions only: a line per run of each would be unreadable."""
    return {
        (slot, run.sequence.name): (run, _lost(run, protocol))
        for slot, tracker in enumerate(trackers)
        for run in (runs[0] for runs in tracker.by_sequence.values())
    }


def lost_table(trackers: Sequence[TrackerRuns], protocol: OnePassProtocol) -> Table:
    """Where each tracker lost the object of each sequence for the first time."""
    lost = _lost_runs(trackers, protocol)
    rows: list[list[Cell | str]] = [
        [name, *(_lost_cell(lost[slot, name][1]) if (slot, name) in lost else "–" for slot in range(len(trackers)))]
        for name in dict.fromkeys(name for _, name in lost)
    ]
    head: list[Cell | str] = ["sequence", *(Cell(one.name, slot=slot) for slot, one in enumerate(trackers))]
    return Table.of("Frame from which the object was lost", head, rows, "Frames are counted from 1.")


def _lost_section(trackers: Sequence[TrackerRuns], protocol: OnePassProtocol) -> Section:
    lost = _lost_runs(trackers, protocol)
    names = list(dict.fromkeys(name for _, name in lost))
    strips = [
        _strip(trackers[slot].name, slot, *lost[slot, name])
        for name in names
        for slot in range(len(trackers))
        if (slot, name) in lost
    ]
    chart = strip_chart(
        Frame("Where the object was lost", "Each strip is one run from its first frame to its last; filled: "
              "the object is lost.", "frame"),
        keys_of(trackers), strips,
    )  # fmt: skip
    words = (
        f"Lost: an overlap of at most {protocol.lost_overlap:g} for at least {protocol.lost_for} frames, or until the "
        "end. The first repetition of each sequence."
    )
    first_lost = [Failure(run, found[0].start, slot) for (slot, _), (run, found) in lost.items() if found]
    pictures = Section(
        "The first frame lost",
        (
            "White: ground truth. Coloured: the tracker's answer in that frame (thick) and in the frames before it.",
            *failure_galleries(trackers, first_lost, "losses"),
        ),
    )
    return Section("Where the object was lost", (words, chart, lost_table(trackers, protocol), pictures))


def _lost(run: SequenceRun, protocol: OnePassProtocol) -> list[LostStretch]:
    return measures.lost_stretches(run.score.overlaps, protocol.lost_overlap, protocol.lost_for)


def _strip(tracker: str, slot: int, run: SequenceRun, lost: Sequence[LostStretch]) -> Strip:
    stretches = tuple((stretch.start, stretch.end) for stretch in lost)
    where = ", ".join(f"{first + 1} to {end}" for first, end in stretches)
    hint = f"{run.sequence.name}, {tracker}: {f'lost in frames {where}' if where else 'never lost'}"
    return Strip(run.sequence.name, slot, run.score.length, stretches, hint)


def _lost_cell(lost: Sequence[LostStretch]) -> Cell:
    if not lost:
        return Cell("never")
    first = lost[0]
    back = f"back at {first.end + 1}" if first.came_back else "not found again"
    more = f", lost {len(lost)} times" if len(lost) > 1 else ""
    return Cell(str(first.start + 1), back + more)
