"""From figures to cells: numbers with their intervals, the best of a column, shades of a heat table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tracking_parts.evaluation.report.content import Cell, Key, Table
from tracking_parts.evaluation.scoring import SequenceRun, TrackerRuns, figure
from tracking_parts.evaluation.statistics import Interval, bootstrap_interval

MORE_IS_WORSE, MORE_IS_BETTER = "More is worse.", "More is better."


def interval_cell(interval: Interval, digits: int, best: bool = False) -> Cell:
    """A figure with its interval as small print."""
    return Cell(figure(interval.value, digits), interval_text(interval, digits), best=best)


def interval_text(interval: Interval, digits: int) -> str:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    low, high = (f"{bound:.{digits}f}".replace("-", "−") for bound in (interval.low, interval.high))
    # "to" where a minus sign would run into the dash.
    return f"{low} to {high}" if "−" in low + high else f"{low}–{high}"


def interval_columns(
    trackers: Sequence[TrackerRuns], columns: Mapping[str, tuple[Sequence[Interval], int, bool]]
) -> list[list[Cell]]:
    """One row per tracker; a column is its intervals, the digits to show, and whether more is better."""
    rows = [[Cell(tracker.name, slot=slot)] for slot, tracker in enumerate(trackers)]
    for intervals, digits, more_is_better in columns.values():
        winners = best_of([interval.value for interval in intervals], more_is_better)
        for row, interval, wins in zip(rows, intervals, winners, strict=True):
            row.append(interval_cell(interval, digits, wins))
    return rows


def best_of(values: Sequence[float], more_is_better: bool) -> list[bool]:
    """Which values are the best; none where there is nothing to be better than."""
    known = [value for value in values if math.isfinite(value)]
    if len(known) < 2:
        return [False] * len(values)
    best = max(known) if more_is_better else min(known)
    return [value == best for value in values]


def heat_table(
    caption: str,
    first: str,
    trackers: Sequence[TrackerRuns],
    rows: Mapping[str, Sequence[float]],
    frames: Mapping[str, str],
    digits: int,
    *notes: str,
) -> Table:
    """One row per sequence or attribute, one column per tracker, shaded from the smallest to the largest figure.

    ``frames`` says how many frames each row rests on.
    """
    known = [value for values in rows.values() for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    body: list[list[Cell | str]] = []
    for name, values in rows.items():
        shades = [(value - low) / (high - low) if high > low and math.isfinite(value) else None for value in values]
        cells = [Cell(figure(value, digits), strength=shade) for value, shade in zip(values, shades, strict=True)]
        body.append([name, frames[name], *cells])
    head: list[Cell | str] = [first, "frames", *(Cell(one.name, slot=slot) for slot, one in enumerate(trackers))]
    return Table.of(caption, head, body, *notes)


def is_repeated(trackers: Sequence[TrackerRuns]) -> bool:
    """Whether some sequence was run more than once, so that failures are means with a fraction."""
    return any(len(runs) > 1 for tracker in trackers for runs in tracker.by_sequence.values())


def keys_of(trackers: Sequence[TrackerRuns]) -> list[Key]:
    """Every tracker with its number, which decides its colour everywhere in the report."""
    return [Key(tracker.name, slot) for slot, tracker in enumerate(trackers)]


def speed_interval(tracker: TrackerRuns) -> Interval:
    """Frames per second over all frames worked on, with its interval over sequences."""
    groups = [_work(runs) for runs in tracker.by_sequence.values()]

    def speed(drawn: list[tuple[int, float]]) -> float:
        frames, seconds = sum(count for count, _ in drawn), sum(spent for _, spent in drawn)
        return frames / seconds if seconds > 0 else math.nan

    return bootstrap_interval(groups, speed)


def _work(runs: Sequence[SequenceRun]) -> tuple[int, float]:
    """Frames that the tracker worked on, and the seconds it took."""
    spent = [second for run in runs for second in run.trajectory.seconds if second > 0]
    return len(spent), sum(spent)
