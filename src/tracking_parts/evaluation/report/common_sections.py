"""Sections that every kind of experiment has: speed, and which tracker the others are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.report.content import Cell, Gallery, Notice, Part, Section, Table
from tracking_parts.evaluation.report.tables import best_of, interval_cell, speed_interval
from tracking_parts.evaluation.report.thumbnails import AT_MOST, Failure, choose_failures, picture_of
from tracking_parts.evaluation.scoring import TrackerRuns, figure


def find_peer(trackers: Sequence[TrackerRuns], against: str | None, merits: Sequence[float]) -> int:
    """The number of the tracker to compare with: the one named, else the best by ``merits``."""
    if against is None:
        return int(np.argmax(np.nan_to_num(merits, nan=-math.inf)))
    for slot, tracker in enumerate(trackers):
        if against in (tracker.name, tracker.folder.name):
            return slot
    raise ConfigError(f"no tracker {against!r} to compare with: there are {', '.join(one.name for one in trackers)}")


def peer_words(trackers: Sequence[TrackerRuns], peer: int, against: str | None, figure_name: str) -> str:
    if against is not None:
        return f"Every tracker against {trackers[peer].name}, sequence by sequence."
    return (
        f"Every tracker against {trackers[peer].name}, sequence by sequence. No peer was named, so the one with the "
        f"highest {figure_name} was taken."
    )


def speed_section(trackers: Sequence[TrackerRuns]) -> Section:
    speeds = [speed_interval(tracker) for tracker in trackers]
    winners = best_of([speed.value for speed in speeds], True)
    rows: list[list[Cell | str]] = []
    for slot, tracker in enumerate(trackers):
        updates, starts = _seconds(tracker)
        rows.append(
            [
                Cell(tracker.name, slot=slot),
                interval_cell(speeds[slot], 1, winners[slot]),
                figure(1000 * _quantile(updates, 0.5), 1),
                figure(1000 * _quantile(updates, 0.95), 1),
                figure(1000 * _quantile(starts, 0.5), 1),
            ]
        )
    table = Table.of(
        "Speed, with the 95 % interval over sequences",
        ("tracker", "frames per second", "median ms per frame", "95th percentile ms", "median ms to start"),
        rows,
        "Frames per second: all frames worked on over all time spent, starts included.",
        "Wall-clock time of the tracker alone, without reading images. Other work on the machine makes it longer.",
    )
    if not any(second > 0 for one in trackers for run in one.runs for second in run.trajectory.seconds):
        return Section("Speed", ("No times were recorded beside these results.",))
    return Section("Speed", (table,))


def _seconds(tracker: TrackerRuns) -> tuple[list[float], list[float]]:
    """The times of the answers and those of the starts."""
    updates: list[float] = []
    starts: list[float] = []
    for run in tracker.runs:
        started = set(run.trajectory.starts)
        for index, second in enumerate(run.trajectory.seconds):
            if second > 0:
                (starts if index in started else updates).append(second)
    return updates, starts


def _quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share)) if values else math.nan


def failure_galleries(trackers: Sequence[TrackerRuns], failures: Sequence[Failure], what: str) -> list[Part]:
    """Pictures of failures by tracker, and how many of them are not shown."""
    chosen = choose_failures(failures)
    pictures = [(failure.slot, picture_of(failure)) for failure in chosen]
    unreadable = sum(picture is None for _, picture in pictures)
    parts: list[Part] = []
    if len(chosen) < len(failures):
        parts.append(
            Notice(
                f"{len(chosen)} of {len(failures)} {what} are shown, at most {AT_MOST} so that the page stays small: "
                "the first of each tracker and sequence, then the second, and so on."
            )
        )
    if unreadable:
        parts.append(Notice(f"{unreadable} of them cannot be shown: their frames cannot be read."))
    for slot, tracker in enumerate(trackers):
        shown = tuple(picture for owner, picture in pictures if owner == slot and picture is not None)
        total = sum(failure.slot == slot for failure in failures)
        if shown:
            parts.append(Gallery(f"{tracker.name}: {len(shown)} of {total} {what}", shown))
        elif not total:
            parts.append(f"{tracker.name}: no {what}.")
    return parts
