"""Highly confident frames (paper, section 3.2): which frames may teach the ConvNetPart, and their memory.

A frame is highly confident (HCF) when the two pathways' votes for the centre nearly coincide. The decision is causal:
only distances of past frames are known.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.frames import Frame
from tracking_parts.geometry import Point


@dataclass(frozen=True)
class TrainingFrame:
    """What the ConvNetPart keeps of a frame to learn from: the object's surroundings and where its centre is."""

    frame_index: int
    centre_in_map: Point
    object_in_map: tuple[float, float]  # width and height of the object, in cells
    picture: Frame | None = field(repr=False)  # for learning end to end: a wide crop, so that it can be shifted
    features: Tensor | None = field(repr=False)  # for a frozen trunk: the cached activations [c, h, w]


class ConfidenceRule(Protocol):
    """Decides, from the distance between the pathways' centres, whether a frame is highly confident."""

    def judge(self, distance: float) -> bool: ...


class BestShare:
    """The paper's rule: the frame is among the best ``share`` of all frames so far by that distance."""

    def __init__(self, share: float) -> None:
        self._share = share
        self.past: list[float] = []  # sorted

    def judge(self, distance: float) -> bool:
        rank = bisect_left(self.past, distance)
        insort(self.past, distance)
        return rank < self._share * len(self.past)


class WithinRadius:
    """An absolute rule: the centres lie within a fixed distance."""

    def __init__(self, radius: float) -> None:
        self._radius = radius

    def judge(self, distance: float) -> bool:
        return distance <= self._radius


def confidence_rule(config: TrackerConfig) -> BestShare | WithinRadius:
    """The rule that the configuration names."""
    if config.confident_rule == "best_share":
        return BestShare(config.confident_share)
    return WithinRadius(config.confident_radius)


class ConfidentFrames:
    """The first N frames, the last N chosen ones, and those since the last update from which the strategy chooses."""

    def __init__(self, strategy: str, first_count: int, recent_count: int, seed: int) -> None:
        self._strategy = strategy
        self._first_count = first_count
        self._random = np.random.default_rng(seed)
        self.first: list[TrainingFrame] = []
        self.first_seen = 0  # variants of a frame do not count
        self.recent: deque[TrainingFrame] = deque(maxlen=recent_count)
        self._waiting: list[tuple[TrainingFrame, bool]] = []

    @property
    def has_all_first(self) -> bool:
        return self.first_seen >= self._first_count

    @property
    def waiting(self) -> Sequence[tuple[TrainingFrame, bool]]:
        return tuple(self._waiting)

    @property
    def random_state(self) -> dict[str, Any]:
        """State of the lottery, ready for JSON."""
        return dict(self._random.bit_generator.state)

    @random_state.setter
    def random_state(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state = dict(state)

    def add_first(self, frame: TrainingFrame) -> None:
        """One of the first frames: always kept."""
        self.first.append(frame)
        self.first_seen += 1

    def add_variant(self, frame: TrainingFrame) -> None:
        """A first frame as it might have looked: kept beside it."""
        self.first.append(frame)

    def add(self, frame: TrainingFrame, highly_confident: bool) -> None:
        """A later frame, with its verdict."""
        self._waiting.append((frame, highly_confident))

    def choose(self) -> int:
        """At an update: move the frames that the strategy chooses into memory; gives how many were new."""
        chosen = choose_frames(self._strategy, self._waiting, self._random)
        self._waiting = []
        self.recent.extend(chosen)
        return len(chosen)


def choose_frames(
    strategy: str, waiting: Sequence[tuple[TrainingFrame, bool]], random: np.random.Generator
) -> list[TrainingFrame]:
    """Which of the frames since the last update teach the ConvNetPart (table 4 of the paper).

    ``hcf`` (and ``parallel``): the highly confident ones; ``full``: all; ``none``: none; ``random``: as many as
    ``hcf`` would take, drawn from all.
    """
    confident = [frame for frame, highly_confident in waiting if highly_confident]
    if strategy in ("hcf", "parallel"):
        return confident
    if strategy == "full":
        return [frame for frame, _ in waiting]
    if strategy == "random":
        drawn = random.choice(len(waiting), size=len(confident), replace=False)
        return [waiting[int(index)][0] for index in np.sort(drawn)]
    return []
