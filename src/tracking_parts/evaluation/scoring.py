"""From result folders to a table. Works on anybody's results in VOT's layout."""

from __future__ import annotations

import math
from collections.abc import Sequence as Rows
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracking_parts.errors import FormatError
from tracking_parts.evaluation import measures
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.provenance import read_description
from tracking_parts.evaluation.reset import read_frame, score_trajectory, size_of
from tracking_parts.evaluation.trajectory import Trajectory, read_trajectory
from tracking_parts.io.sequences import Sequence, find_sequences


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One tracker's figures over all its sequences, or (``sequence`` set) over one."""

    tracker: str
    sequence: str | None
    sequences: int
    frames: int
    eao: float
    accuracy: float
    failures: int
    robustness: float  # R: failures per sequence
    robustness_star: float  # R*: failures per hundred frames
    frames_per_second: float


def score(
    out_folder: Path | str,
    data_folder: Path | str,
    interval: tuple[int, int] = VOT2016.eao_interval,
    burn_in: int = VOT2016.burn_in,
    by_sequence: bool = False,
) -> list[ScoreRow]:
    """One row per tracker found in ``out_folder`` (best EAO first), followed by its sequences' rows on request.

    Sequences without a result are left out, so rows may rest on different sequences: their number is in the row.
    """
    trackers = sorted(folder for folder in _folders(Path(out_folder)) if any(folder.glob("*/*_001.txt")))
    if not trackers:
        raise FormatError(f"no results in {out_folder}: expected TRACKER/SEQUENCE/SEQUENCE_001.txt")
    runs = {folder: _read_results(folder, find_sequences(Path(data_folder))) for folder in trackers}
    sizes: dict[str, tuple[int, int]] = {}
    groups: list[list[ScoreRow]] = []
    for folder, pairs in runs.items():
        if not pairs:
            raise FormatError(f"{folder}: none of its sequences is in {data_folder}")
        name = _tracker_name(folder)
        for sequence, _ in pairs:
            if sequence.name not in sizes:
                sizes[sequence.name] = size_of(read_frame(sequence, 0))
        scores = [score_trajectory(trajectory, sequence, sizes[sequence.name]) for sequence, trajectory in pairs]
        trajectories = [trajectory for _, trajectory in pairs]
        rows = [_row(name, None, scores, trajectories, interval, burn_in)]
        if by_sequence:
            rows += [
                _row(name, sequence.name, [one], [trajectory], interval, burn_in)
                for (sequence, trajectory), one in zip(pairs, scores, strict=True)
            ]
        groups.append(rows)
    groups.sort(key=lambda rows: -np.nan_to_num(rows[0].eao, nan=-1.0))
    return [row for rows in groups for row in rows]


def _folders(out_folder: Path) -> list[Path]:
    return [path for path in out_folder.iterdir() if path.is_dir()] if out_folder.is_dir() else []


def _tracker_name(folder: Path) -> str:
    description = read_description(folder) or {}
    return str(description.get("tracker", folder.name))


def _read_results(folder: Path, sequences: list[Sequence]) -> list[tuple[Sequence, Trajectory]]:
    paths = {sequence.name: folder / sequence.name / f"{sequence.name}_001.txt" for sequence in sequences}
    return [(one, read_trajectory(paths[one.name])) for one in sequences if paths[one.name].exists()]


def _row(
    tracker: str,
    sequence: str | None,
    scores: list[measures.SequenceScore],
    trajectories: list[Trajectory],
    interval: tuple[int, int],
    burn_in: int,
) -> ScoreRow:
    seconds = [second for trajectory in trajectories for second in trajectory.seconds]
    return ScoreRow(
        tracker=tracker,
        sequence=sequence,
        sequences=len(scores),
        frames=sum(one.length for one in scores),
        # A single sequence says next to nothing about the expected overlap at given lengths.
        eao=measures.expected_average_overlap(scores, interval) if sequence is None else math.nan,
        accuracy=measures.accuracy(scores, burn_in),
        failures=measures.failure_count(scores),
        robustness=measures.robustness(scores),
        robustness_star=measures.failures_per_hundred_frames(scores),
        frames_per_second=Trajectory((), tuple(seconds)).frames_per_second,
    )


def table_cells(rows: Rows[ScoreRow]) -> list[list[str]]:
    """The rows as text, the heading first; unknown figures are shown as a dash."""
    with_sequences = any(row.sequence is not None for row in rows)
    head = ["tracker", *(["sequence"] if with_sequences else []), "sequences", "frames"]
    cells = [[*head, "EAO", "A", "failures", "R", "R*", "fps"]]
    for row in rows:
        names = [row.tracker, *([row.sequence or "all"] if with_sequences else [])]
        figures = [_figure(row.eao, 3), _figure(row.accuracy, 3), str(row.failures), _figure(row.robustness, 2)]
        figures += [_figure(row.robustness_star, 3), _figure(row.frames_per_second, 1)]
        cells.append([*names, str(row.sequences), str(row.frames), *figures])
    return cells


def markdown_table(rows: Rows[ScoreRow]) -> str:
    """The rows as a Markdown table: names to the left, figures to the right."""
    head, *body = table_cells(rows)
    ruler = ["---" if name in ("tracker", "sequence") else "---:" for name in head]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ruler, *body))


def _figure(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
