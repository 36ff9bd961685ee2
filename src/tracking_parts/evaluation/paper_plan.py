"""All that the paper reports, as a plan of runs: which versions and peers each table needs, and what they take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tracking_parts.config import TrackerConfig
from tracking_parts.errors import ConfigError
from tracking_parts.evaluation import published
from tracking_parts.evaluation.experiment import read_frame, start_box
from tracking_parts.evaluation.protocol import InitBox
from tracking_parts.evaluation.published import PublishedRow
from tracking_parts.evaluation.scoring import result_files
from tracking_parts.evaluation.trackers import TrackerSpec, choose_tracker
from tracking_parts.evaluation.trajectory import read_trajectory
from tracking_parts.io.sequences import Sequence as DataSequence

PROBE_FRAMES = 12  # more than U: at least one learning step is in it
DEFAULT_PEERS = ("opencv:csrt", "opencv:kcf", "opencv:mil", "opencv:mosse", "opencv:medianflow")
NETWORK_PEERS = ("opencv:nano", "opencv:vit")
OTHER_PEERS = ("dlib:correlation",)


@dataclass(frozen=True, slots=True)
class Version:
    """One row of a table: what the paper calls it, and our tracker in that version."""

    label: str
    tracker: str


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A comparison of versions, with the paper's own figures."""

    number: int
    title: str
    claim: str  # what the paper concludes from it
    versions: tuple[Version, ...]
    published: Mapping[str, PublishedRow]
    reference: str  # label of the version that the others are tested against


@dataclass(frozen=True, slots=True)
class PaperPlan:
    """The runs behind all tables of the paper."""

    ours: str
    peers: tuple[str, ...]
    tables: tuple[PaperTable, ...]
    speed: tuple[Version, ...]

    @property
    def trackers(self) -> tuple[str, ...]:
        """Every tracker once, in the order of the tables."""
        versions = [version for table in self.tables for version in table.versions]
        trackers = [version.tracker for version in (*versions, *self.speed)]
        return tuple(dict.fromkeys([self.ours, *self.peers, *trackers]))

    @property
    def identities(self) -> tuple[str, ...]:
        """Their names in tables."""
        return tuple(TrackerSpec.parse(tracker).identity for tracker in self.trackers)


def plan_paper(profile: str, peers: Sequence[str]) -> PaperPlan:
    """The plan for one profile: every version is a setting of it."""
    ours = f"stp:{profile}"
    minds_colours = TrackerConfig.profile(profile).colour_weight > 0
    alone = "&colour_weight=0" if minds_colours else ""  # a pathway alone is without the colour part too
    return PaperPlan(
        ours=ours,
        peers=tuple(peers),
        tables=(
            PaperTable(
                2,
                "Combining the two pathways",
                "Each pathway alone is worse than both together; FilterParts fails less than ConvNetPart.",
                (
                    Version("FilterParts only", f"{ours}?alpha=1{alone}"),
                    # Without the other pathway there are no confident frames: it learns from each of its own answers.
                    Version("ConvNetPart only", f"{ours}?alpha=0&update=full{alone}"),
                    *([Version("Combined, no colours", f"{ours}?colour_weight=0")] if minds_colours else []),
                    Version("Combined", ours),
                ),
                published.TABLE_2,
                "Combined",
            ),
            PaperTable(
                3,
                "Roles of the parts",
                "Parts that earn their right to vote are better than parts that all vote at once.",
                (Version("One role", f"{ours}?roles=one"), Version("All roles", ours)),
                published.TABLE_3,
                "All roles",
            ),
            PaperTable(
                4,
                "Learning from highly confident frames",
                "Training on highly confident frames is better than on none, on all, or on as many at random.",
                (
                    Version("No update", f"{ours}?update=none"),
                    Version("Full update", f"{ours}?update=full"),
                    Version("Random update", f"{ours}?update=random"),
                    Version("HCFs update", ours),
                ),
                published.TABLE_4,
                "HCFs update",
            ),
        ),
        speed=(
            Version("HCFs update", ours),
            Version("No update", f"{ours}?update=none"),
            Version("Parallel update", f"{ours}?update=parallel"),
        ),
    )


def available_peers() -> list[str]:
    """The peers that can be run here: installed, and with their files."""
    return [name for name in (*DEFAULT_PEERS, *NETWORK_PEERS, *OTHER_PEERS) if _is_available(name)]


def _is_available(name: str) -> bool:
    try:
        choose_tracker(name)
    except ConfigError:
        return False
    return True


def spread_subset(sequences: Sequence[DataSequence], count: int | None) -> list[DataSequence]:
    """``count`` sequences spread evenly over the data set; all of them without a count.

    >>> [f"{i}" for i in spread_subset(list("abcdef"), 3)]
    ['a', 'c', 'e']
    """
    if count is None or count >= len(sequences):
        return list(sequences)
    if count < 1:
        raise ConfigError(f"a subset has at least 1 sequence, not {count}")
    return [sequences[index * len(sequences) // count] for index in range(count)]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one tracker still has to do on one data set."""

    tracker: str
    data_set: str
    sequences: int
    frames: int
    frames_per_second: float  # nan where nobody can tell
    measured: bool  # on finished sequences of this very run, not by a short probe

    @property
    def seconds(self) -> float:
        """Processor time of one worker."""
        return self.frames / self.frames_per_second if self.frames else 0.0


def estimate(
    trackers: Iterable[str],
    data_set: str,
    sequences: Sequence[DataSequence],
    out_folder: Path,
    repetitions: int,
    init_box: InitBox,
) -> list[Estimate]:
    """What is still to be done, and how fast it will go by what is already there or by a probe of some frames."""
    return [_estimate(one, data_set, sequences, out_folder, repetitions, init_box) for one in trackers]


def _estimate(
    tracker: str, data_set: str, sequences: Sequence[DataSequence], out: Path, repetitions: int, init_box: InitBox
) -> Estimate:
    folder = out / TrackerSpec.parse(tracker).folder_name
    finished = {sequence.name: dict(result_files(folder, sequence.name)) for sequence in sequences}
    missing = [
        len(sequence)
        for sequence in sequences
        for repetition in range(1, repetitions + 1)
        if repetition not in finished[sequence.name]
    ]
    if not missing:
        return Estimate(tracker, data_set, 0, 0, math.nan, True)
    seconds = [
        second
        for paths in finished.values()
        for path in paths.values()
        for second in read_trajectory(path).seconds
        if second > 0
    ]
    rate = len(seconds) / sum(seconds) if seconds else probe(tracker, sequences[0], init_box)
    return Estimate(tracker, data_set, len(missing), sum(missing), rate, bool(seconds))


def probe(tracker: str, sequence: DataSequence, init_box: InitBox) -> float:
    """Frames per second over a few frames; ``nan`` for a network that is trained end to end, whose first training comes
    later and takes minutes.
    """
    with closing(choose_tracker(tracker)) as choice:
        if choice.settings.get("config", {}).get("convnet") == "end_to_end":
            return math.nan
        first = next((index for index, truth in enumerate(sequence.ground_truth) if truth is not None), None)
        if first is None:
            return math.nan
        truth = sequence.ground_truth[first]
        assert truth is not None
        frames = [read_frame(sequence, index) for index in range(first, min(first + PROBE_FRAMES + 1, len(sequence)))]
        running = choice.factory(sequence, first)
        running.init(frames[0], start_box(truth, init_box))
        began = time.perf_counter()
        for frame in frames[1:]:
            running.update(frame)
        spent = time.perf_counter() - began
    return (len(frames) - 1) / spent if spent > 0 and len(frames) > 1 else math.nan
