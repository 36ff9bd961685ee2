"""From result folders to figures. Works on anybody's results in VOT's layout.

VOT's own toolkits put a folder for the experiment between the tracker and its sequences; that is understood as well.
Results that were made by other rules than they are to be scored by are refused: a run without restarts has no failures,
and one with restarts is always near the object.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.experiment import read_frame, size_of
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.one_pass import score_one_pass
from tracking_parts.evaluation.one_pass_measures import lost_stretches
from tracking_parts.evaluation.protocol import Protocol, ResetProtocol
from tracking_parts.evaluation.provenance import read_description
from tracking_parts.evaluation.reset import score_trajectory
from tracking_parts.evaluation.trajectory import Trajectory, read_trajectory
from tracking_parts.io.sequences import Sequence, find_sequences

# Frames in a row without any overlap that no supervisor would have let pass. One or two may be a matter of counting
# pixels instead of areas.
UNNOTICED = 10


@dataclass(frozen=True, slots=True)
class SequenceRun:
    """One tracker's run over one sequence, compared with the ground truth."""

    sequence: Sequence
    repetition: int
    trajectory: Trajectory
    score: SequenceScore


@dataclass(frozen=True, slots=True)
class TrackerRuns:
    """All that one tracker did, sequence by sequence; ``description`` is what was written beside it, or empty."""

    name: str
    folder: Path
    runs: tuple[SequenceRun, ...]
    description: Mapping[str, Any]

    @property
    def by_sequence(self) -> dict[str, tuple[SequenceRun, ...]]:
        """The repetitions of each sequence: what belongs together when sequences are drawn at random."""
        grouped: dict[str, tuple[SequenceRun, ...]] = {}
        for run in self.runs:
            grouped[run.sequence.name] = (*grouped.get(run.sequence.name, ()), run)
        return grouped

    @property
    def groups(self) -> list[list[SequenceScore]]:
        return [[run.score for run in runs] for runs in self.by_sequence.values()]

    @property
    def scores(self) -> list[SequenceScore]:
        return [run.score for run in self.runs]

    @property
    def frames_per_second(self) -> float:
        seconds = [second for run in self.runs for second in run.trajectory.seconds]
        return Trajectory((), tuple(seconds)).frames_per_second

    def only(self, names: Iterable[str]) -> TrackerRuns:
        """The same tracker on some of its sequences."""
        wanted = set(names)
        kept = tuple(run for run in self.runs if run.sequence.name in wanted)
        return TrackerRuns(self.name, self.folder, kept, self.description)


def load_runs(
    out_folder: Path | str, data_folder: Path | str, protocol: Protocol, trackers: Iterable[str] | None = None
) -> list[TrackerRuns]:
    """The results in a folder, or those of the trackers named (by name or folder), in the order of their names.

    A sequence without a result is left out, so trackers may rest on different sequences: see :func:`shared_sequences`.
    """
    results = {folder: found for folder in _folders(Path(out_folder)) if (found := _find_results(folder, protocol))}
    if not results:
        raise FormatError(f"no results in {out_folder}: expected TRACKER/SEQUENCE/SEQUENCE_001.txt")
    described = {folder: (read_description(folder) or {}) for folder in results}
    names = {folder: str(description.get("tracker", folder.name)) for folder, description in described.items()}
    folders = list(results)
    if trackers is not None:
        folders = [_find_folder(wanted, names, Path(out_folder)) for wanted in dict.fromkeys(trackers)]
    for folder in folders:
        _check_rules(folder, described[folder], protocol)
    scorer = _Scorer(Path(data_folder), protocol)
    return [TrackerRuns(names[folder], folder, scorer.read(results[folder]), described[folder]) for folder in folders]


def shared_sequences(trackers: Iterable[TrackerRuns]) -> list[str]:
    """The sequences that every tracker was run on: only on those do their figures compare."""
    lists = [list(tracker.by_sequence) for tracker in trackers]
    return [name for name in lists[0] if all(name in other for other in lists[1:])] if lists else []


class _Scorer:
    """Reads each sequence and the size of its frames once for all trackers."""

    def __init__(self, data_folder: Path, protocol: Protocol) -> None:
        self._data_folder = data_folder
        self._protocol = protocol
        self._sequences = find_sequences(data_folder)
        self._sizes: dict[str, tuple[int, int]] = {}

    def read(self, folder: Path) -> tuple[SequenceRun, ...]:
        runs = tuple(
            SequenceRun(sequence, repetition, trajectory, self._score(trajectory, sequence, path))
            for sequence in self._sequences
            for repetition, path in result_files(folder, sequence.name)
            for trajectory in [read_trajectory(path)]
        )
        if not runs:
            raise FormatError(f"{folder}: none of its sequences is in {self._data_folder}")
        return runs

    def _score(self, trajectory: Trajectory, sequence: Sequence, path: Path) -> SequenceScore:
        if sequence.name not in self._sizes:
            self._sizes[sequence.name] = size_of(read_frame(sequence, 0))
        bounds_wh = self._sizes[sequence.name]
        try:
            if isinstance(self._protocol, ResetProtocol):
                score = score_trajectory(trajectory, sequence, bounds_wh)
                _check_supervision(score, self._protocol)
                return score
            return score_one_pass(trajectory, sequence, self._protocol, bounds_wh)
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from None


def result_files(folder: Path, sequence: str) -> list[tuple[int, Path]]:
    """The repetitions of a sequence in a tracker's folder, by their number."""
    pattern = re.compile(rf"{re.escape(sequence)}_(\d{{3,}})\.txt")
    paths = (folder / sequence).iterdir() if (folder / sequence).is_dir() else iter(())
    return sorted((int(match[1]), path) for path in paths if (match := pattern.fullmatch(path.name)))


def _folders(out_folder: Path) -> list[Path]:
    return sorted(path for path in out_folder.iterdir() if path.is_dir()) if out_folder.is_dir() else []


def _find_results(folder: Path, protocol: Protocol) -> Path | None:
    """Where a tracker's sequences lie: in its folder, or, as VOT's toolkits have it, in that of the experiment."""
    experiment = folder / ("baseline" if isinstance(protocol, ResetProtocol) else "unsupervised")
    return next((place for place in (folder, experiment) if any(place.glob("*/*_001.txt"))), None)


def _check_rules(folder: Path, description: Mapping[str, Any], protocol: Protocol) -> None:
    """Refuse what was made by other rules, as far as it says so; those that only scoring knows may differ."""
    made_by = description.get("protocol")
    if not isinstance(made_by, Mapping):
        return
    rules = asdict(protocol)
    same_kind = ("eao_interval" in made_by) == isinstance(protocol, ResetProtocol)
    if not same_kind or any(made_by.get(key, rules.get(key)) != rules.get(key) for key in ("failure_overlap", "skip")):
        raise FormatError(
            f"{folder} holds results of protocol {made_by.get('name')}: {protocol.name} has other rules for failures "
            "and restarts"
        )


def _check_supervision(score: SequenceScore, protocol: ResetProtocol) -> None:
    for lost in lost_stretches(score.overlaps, protocol.failure_overlap, UNNOTICED):
        if lost.end - lost.start >= UNNOTICED:
            raise FormatError(
                f"lost in frames {lost.start + 1} to {lost.end} without a failure: not the result of a reset-based run"
            )


def _find_folder(wanted: str, names: Mapping[Path, str], out_folder: Path) -> Path:
    for folder, name in names.items():
        if wanted in (name, folder.name):
            return folder
    raise FormatError(f"no results of {wanted!r} in {out_folder}: there are {', '.join(names.values())}")


def figure(value: float, digits: int) -> str:
    """A number for a table; unknown ones are a dash."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
