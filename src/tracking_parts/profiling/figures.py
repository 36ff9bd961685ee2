"""The figures of a profile: distributions, work per stage, share of the machine's peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracking_parts.profiling.stages import Amounts, Stage


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of some seconds, one per frame. The mean is what a step costs per frame when its rare work is shared out."""

    mean: float
    median: float
    p95: float
    p99: float
    worst: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Distribution:
        """
        >>> Distribution.of([1.0, 2.0, 3.0, 10.0]).median
        2.5
        """
        array = np.asarray(values, dtype=float)
        median, p95, p99 = (float(value) for value in np.percentile(array, (50, 95, 99)))
        return cls(float(array.mean()), median, p95, p99, float(array.max()))


@dataclass(frozen=True, slots=True)
class StageFigures:
    """One stage: its seconds per frame, its operations per frame, and how near to the peak it comes."""

    stage: Stage
    seconds: Distribution
    share_of_time: float
    operations: float  # per frame
    peak: float  # of the machine, operations per second

    @property
    def speed(self) -> float:
        """Operations per second while the stage runs."""
        return self.operations / self.seconds.mean if self.seconds.mean > 0 else 0.0

    @property
    def share_of_peak(self) -> float:
        return self.speed / self.peak


@dataclass(frozen=True)
class Profile:
    """All that was measured on one video. Frames count from the second on: the first is the tracker's start."""

    made_with: Mapping[str, Any]
    start: Amounts  # seconds of the first frame
    frames: tuple[Amounts, ...]  # seconds, one stage after the other
    operations: tuple[Amounts, ...]
    peak: float  # operations per second
    load_seconds: float  # making the tracker
    whole_seconds: float  # from opening the source to the last answer, as usual

    @property
    def fps(self) -> float:
        """Of the whole video, from file to result: decoding, start and learning included."""
        return (len(self.frames) + 1) / self.whole_seconds

    @property
    def frame_seconds(self) -> tuple[float, ...]:
        return tuple(sum(frame.values()) for frame in self.frames)

    @property
    def frame_time(self) -> Distribution:
        return Distribution.of(self.frame_seconds)

    @property
    def start_seconds(self) -> float:
        return sum(self.start.values())

    @property
    def total(self) -> StageFigures:
        """The whole frame, as if it were one stage."""
        work = sum(sum(frame.values()) for frame in self.operations) / len(self.operations)
        return StageFigures(Stage.OTHER, self.frame_time, 1.0, work, self.peak)

    @property
    def stages(self) -> list[StageFigures]:
        mean = self.frame_time.mean
        found = []
        for stage in Stage:
            seconds = Distribution.of([frame[stage] for frame in self.frames])
            work = sum(frame[stage] for frame in self.operations) / len(self.operations)
            found.append(StageFigures(stage, seconds, seconds.mean / mean, work, self.peak))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; seconds and operations as they were measured, frame by frame."""
        time = self.frame_time
        return {
            **self.made_with,
            "frames": len(self.frames) + 1,
            "fps": self.fps,
            "whole_seconds": self.whole_seconds,
            "load_seconds": self.load_seconds,
            "start_seconds": self.start_seconds,
            "frame_seconds": {**asdict(time), "p99_over_median": time.p99 / time.median},
            "gemm_peak": self.peak,
            "operations_per_frame": self.total.operations,
            "share_of_peak": self.total.share_of_peak,
            "stages": {one.stage.value: _stage_values(one) for one in self.stages},
            "seconds_by_frame": _columns(self.frames, 7),
            "operations_by_frame": _columns(self.operations, 0),
        }


def _stage_values(figures: StageFigures) -> dict[str, Any]:
    return {
        "seconds": asdict(figures.seconds),
        "share_of_time": figures.share_of_time,
        "operations_per_frame": figures.operations,
        "operations_per_second": figures.speed,
        "share_of_peak": figures.share_of_peak,
    }


def _columns(frames: Sequence[Amounts], digits: int) -> dict[str, list[float]]:
    return {stage.value: [round(frame[stage], digits) for frame in frames] for stage in Stage}
