"""The first section: what was run, on what, by whom and how, so that nobody compares apples with pears."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from tracking_parts.evaluation.protocol import Protocol, ResetProtocol
from tracking_parts.evaluation.provenance import circumstances
from tracking_parts.evaluation.report.content import Cell, Facts, Notice, Part, Section, Table
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.io.sequences import Sequence as DataSequence

FEW_SEQUENCES = 30

RESET_CONVENTIONS = (
    "A failure is a frame whose overlap with the ground truth is at most the protocol's threshold; the tracker is "
    "started again some frames later.",
    "A (accuracy) is the mean overlap while tracking, without the burn-in after each start; each sequence weighs by "
    "its length. R is failures per sequence, R* failures per hundred frames: both are better when smaller.",
    "EAO (expected average overlap) is the mean of the expected-overlap curve over the protocol's lengths; a length "
    "counts the frame of the start, where VOT's own toolkit averages one frame later.",
    "Overlap is the exact area of polygons cut to the image; VOT's toolkits count whole pixels, which matters on small "
    "objects. Compare the figures here with each other, and with other tools' figures only with care.",
)
ONE_PASS_CONVENTIONS = (
    "Each tracker is started once and never helped again. Frames without ground truth are left out; the first frame "
    "counts, with the given box, as in OTB.",
    "Success is the share of frames with an overlap above a threshold, its AUC the mean over 21 thresholds from 0 to 1 "
    "(so a perfect tracker has 20/21). Precision is the share of frames whose centres are at most so far apart.",
    "Normalised precision measures the distance in widths and heights of the true box, and is the mean over 0 to 0.5.",
    "Every sequence weighs the same, however long it is.",
)


def provenance_section(trackers: Sequence[TrackerRuns], protocol: Protocol, command: str) -> Section:
    parts: list[Part] = [Notice(text) for text in warnings(trackers, protocol)]
    parts.append(Facts(tuple(_facts(trackers, protocol, command))))
    if len({_extent(tracker) for tracker in trackers}) > 1:
        rows: list[list[Cell | str]] = [[Cell(one.name, slot=slot), *_extent(one)] for slot, one in enumerate(trackers)]
        parts.append(Table.of("What each tracker was run on", ("tracker", "sequences", "repetitions", "frames"), rows))
    return Section("What was run", tuple(parts))


def conventions_section(protocol: Protocol) -> Section:
    return Section("Conventions", RESET_CONVENTIONS if isinstance(protocol, ResetProtocol) else ONE_PASS_CONVENTIONS)


def warnings(trackers: Sequence[TrackerRuns], protocol: Protocol) -> list[str]:
    """What a reader must know before comparing anything."""
    found = []
    names = [frozenset(run.sequence.name for run in tracker.runs) for tracker in trackers]
    count = len(frozenset().union(*names))
    if len(set(names)) > 1:
        found.append(
            "The trackers were not run on the same sequences: their figures do not compare. The paired comparisons "
            "below use only the sequences that both have."
        )
    if count < FEW_SEQUENCES:
        eao = " EAO in particular means little on a few short sequences." if isinstance(protocol, ResetProtocol) else ""
        found.append(
            f"This is a small sample: {count} sequence{'' if count == 1 else 's'}. Intervals are wide, and a single "
            f"hard sequence moves every figure.{eao}"
        )
    return [*found, *_warnings_of_circumstances(trackers), *_warnings_of_starts(trackers, protocol)]


def _warnings_of_circumstances(trackers: Sequence[TrackerRuns]) -> Iterable[str]:
    used = [one for tracker in trackers for one in circumstances(tracker.description)]
    if len(set(map(_machine, used))) > 1:
        yield "The trackers were run on different machines: their speeds do not compare."
    if len({_nested(one, "threads") for one in used}) > 1:
        yield "The trackers were run with different numbers of threads: their speeds do not compare."
    continued = [one.name for one in trackers if len(set(map(_versions, circumstances(one.description)))) > 1]
    if continued:
        yield f"The results of {', '.join(continued)} were made in part with other versions than the rest."


def _warnings_of_starts(trackers: Sequence[TrackerRuns], protocol: Protocol) -> Iterable[str]:
    started = {tracker.name: _init_box(tracker.description, protocol) for tracker in trackers}
    otherwise = [f"{name} ({box})" for name, box in started.items() if box != protocol.init_box]
    if otherwise:
        yield (
            f"Not started from the protocol's box ({protocol.init_box}), which alone can change every figure: "
            f"{', '.join(otherwise)}."
        )


def _init_box(description: Mapping[str, Any], protocol: Protocol) -> str:
    """The kind of box that a tracker was started from, if it says so."""
    made_by = description.get("protocol")
    return str(made_by.get("init_box", protocol.init_box)) if isinstance(made_by, Mapping) else protocol.init_box


def _facts(trackers: Sequence[TrackerRuns], protocol: Protocol, command: str) -> Iterable[tuple[str, str]]:
    sequences = {run.sequence.name: run.sequence for tracker in trackers for run in tracker.runs}
    frames = sum(len(sequence.ground_truth) for sequence in sequences.values())
    descriptions = [one for tracker in trackers for one in circumstances(tracker.description)]
    yield "Data set", _distinct(data_set_name(sequence) for sequence in sequences.values())
    yield "Sequences", f"{len(sequences)} with {frames:,} frames".replace(",", " ")
    yield "Repetitions", _distinct(_extent(tracker)[1] for tracker in trackers)
    yield "Protocol", ", ".join(f"{key} {_value(value)}" for key, value in asdict(protocol).items())
    yield "Machine", _distinct(_machine(description) for description in descriptions)
    yield "Threads per process", _distinct(_nested(description, "threads") for description in descriptions)
    yield "Versions", _distinct(_versions(description) for description in descriptions)
    yield "Seed", _distinct(_nested(tracker.description, "seed") for tracker in trackers)
    yield "Started", _distinct(_started(description) for description in descriptions)
    yield "Made by", command


def _extent(tracker: TrackerRuns) -> tuple[str, str, str]:
    """Sequences, repetitions of each, and frames of one pass; a range where sequences differ in repetitions."""
    counts = {len(runs) for runs in tracker.by_sequence.values()}
    repetitions = "–".join(str(count) for count in sorted({min(counts), max(counts)}))
    frames = sum(runs[0].score.length for runs in tracker.by_sequence.values())
    return str(len(tracker.by_sequence)), repetitions, str(frames)


def data_set_name(sequence: DataSequence) -> str:
    """The folder that holds the sequence's folder; only its name, since a report is shown to others."""
    for folder in sequence.frames[0].parents if sequence.frames else ():
        if folder.name == sequence.name:
            return folder.parent.name or "unknown"
    return "unknown"


def _machine(description: Mapping[str, Any]) -> str:
    machine = description.get("machine")
    if not isinstance(machine, Mapping):
        return "not recorded"
    cores = machine.get("cores")
    return ", ".join(
        str(part)
        for part in (machine.get("processor"), f"{cores} cores" if cores else None, machine.get("system"))
        if part
    )


def _versions(description: Mapping[str, Any]) -> str:
    versions = description.get("versions")
    if not isinstance(versions, Mapping):
        return "not recorded"
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _nested(description: Mapping[str, Any], key: str) -> str:
    value = description.get(key)
    return "not recorded" if value is None else str(value)


def _started(description: Mapping[str, Any]) -> str:
    text = _nested(description, "started")
    try:
        return datetime.fromisoformat(text).astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def _value(value: object) -> str:
    return "–".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _distinct(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values)) or "unknown"
