"""What a tracker said in every frame of a reset-based run, and what was true of it.

A frame counts where there is something to compare: not that of a start, of a failure, nor those skipped after it, nor
one without ground truth. Whether a failure follows within some frames is unknown near the end of a sequence; there it
is left open, also where one was seen, since only those that are seen would count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.scoring import SequenceRun, TrackerRuns

GOOD = 0.5  # overlap above which a box is right
SOON = 20  # frames
CONFIDENCE = "confidence"  # the name under which runs keep it

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """Of the frames that count: what was said, whether the overlap was good, whether a failure follows soon."""

    said: Floats  # [n]
    good: Floats  # [n] 0 or 1
    lost_soon: Floats  # [n] 0 or 1, nan where the sequence ends before it can be known

    def __len__(self) -> int:
        return len(self.said)

    @property
    def known(self) -> Frames:
        """Those of which it is known whether a failure follows."""
        chosen = ~np.isnan(self.lost_soon)
        return Frames(self.said[chosen], self.good[chosen], self.lost_soon[chosen])

    @classmethod
    def together(cls, several: Iterable[Frames]) -> Frames:
        parts = list(several)
        if not parts:
            return cls(np.zeros(0), np.zeros(0), np.zeros(0))
        said, good, soon = (np.concatenate([getattr(one, name) for one in parts]) for name in cls.__annotations__)
        return cls(said, good, soon)


@dataclass(frozen=True)
class Watched:
    """All that one tracker said, by sequence."""

    name: str
    sequences: tuple[Frames, ...]
    judged: int  # frames that have something to compare, with a score or without
    at_failures: Floats  # what was said in the frames of failures

    @property
    def frames(self) -> Frames:
        return Frames.together(self.sequences)

    @property
    def is_probability(self) -> bool:
        """A peak-to-sidelobe ratio, say, can tell good from bad, but is no chance of anything."""
        said = self.frames.said
        return bool(len(said)) and bool((said >= 0).all()) and bool((said <= 1).all())


def watch(tracker: TrackerRuns) -> Watched:
    """Join what a tracker said with its overlaps; runs of one sequence go together."""
    sequences = tuple(Frames.together(map(frames_of, runs)) for runs in tracker.by_sequence.values())
    judged = sum(int((~np.isnan(run.score.overlaps)).sum()) for run in tracker.runs)
    at_failures = [confidences(run)[list(run.score.failures)] for run in tracker.runs]
    said = np.concatenate(at_failures) if at_failures else np.zeros(0)
    return Watched(tracker.name, tuple(one for one in sequences if len(one)), judged, said[np.isfinite(said)])


def frames_of(run: SequenceRun) -> Frames:
    said, overlaps = confidences(run), run.score.overlaps
    chosen = ~np.isnan(overlaps) & np.isfinite(said)
    soon = lost_soon(run.score.length, run.score.failures)
    return Frames(said[chosen], (overlaps[chosen] > GOOD).astype(float), soon[chosen])


def confidences(run: SequenceRun) -> Floats:
    """What was said in each frame, nan where nothing was."""
    said = run.trajectory.values.get(CONFIDENCE)
    if said is None:
        return np.full(run.score.length, np.nan)
    if len(said) != run.score.length:
        raise FormatError(f"{run.sequence.name}: {len(said)} confidences for {run.score.length} frames")
    return np.array(said, dtype=np.float64)


def lost_soon(length: int, failures: Sequence[int], within: int = SOON) -> Floats:
    """Of each frame: 1 if a failure is among the next ones, else 0; nan where fewer than that many follow.

    >>> lost_soon(8, [4], within=2).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, nan, nan]
    """
    soon = np.zeros(length)
    for failure in failures:
        soon[max(failure - within, 0) : failure] = 1.0
    soon[max(length - within, 0) :] = np.nan
    return soon
