"""The videos that are tracked, and the clock that runs while they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tracking_parts.errors import SourceError
from tracking_parts.evaluation.experiment import start_box
from tracking_parts.frames import Frame, as_bgr
from tracking_parts.geometry import Box
from tracking_parts.io.clips import fetch_clip
from tracking_parts.io.sequences import find_sequences
from tracking_parts.io.video import open_source

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]
A_FEW = ("ball2", "bolt2", "rabbit", "singer3", "sphere")  # of different lengths and sizes
RABBIT = ("bigbuckbunny.mp4", 20, Box(392.0, 250.0, 132.0, 160.0))  # where there is no data: the demo's clip


class AnyTracker(Protocol):
    """What trackers of all makes have in common."""

    def init(self, frame: Frame, box: Box) -> Any: ...

    def update(self, frame: Frame) -> Any: ...


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames of a video or folder from ``start`` on, and the object in the first of them."""

    name: str
    source: Path
    box: Box
    start: int = 0
    end: int | None = None

    def frames(self) -> Iterator[Frame]:
        """Read from the file, one at a time."""
        with open_source(self.source, start=self.start, end=self.end) as source:
            for frame in source:
                yield as_bgr(frame)


@dataclass(frozen=True, slots=True)
class ClipTimes:
    """One whole video through one tracker: everything, and each frame after the first with its decoding."""

    whole: float
    frames: tuple[float, ...]


def find_clips(data: Path | None, names: Sequence[str], most_frames: int | None) -> list[Clip]:
    """The sequences of those names; without a folder of data the demo's clip."""
    folder = data or Path(os.environ.get("STP_DATA") or ROOT.parent / "shared") / "vot2016-20"
    if data is None and not names and not folder.is_dir():
        name, start, box = RABBIT
        return [Clip(name, fetch_clip(name), box, start, None if most_frames is None else start + most_frames)]
    known = {sequence.name: sequence for sequence in find_sequences(folder)}
    chosen = list(known) if list(names) == ["all"] else list(names) or [name for name in A_FEW if name in known]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise SourceError(
            f"{folder} has no {', '.join(unknown) or 'sequence of the default ones'}: name some of its own"
        )
    clips = []
    for name in chosen:
        truth = known[name].ground_truth[0]
        if truth is None:
            raise SourceError(f"{name} has no box in its first frame")
        clips.append(Clip(name, known[name].frames[0].parent, start_box(truth, "area"), 0, most_frames))
    return clips


def time_clip(tracker: AnyTracker, clip: Clip, clock: Callable[[], float] = time.perf_counter) -> ClipTimes:
    """From opening the file to the last answer."""
    begun = last = clock()
    times: list[float] = []
    for index, frame in enumerate(clip.frames()):
        if index:
            tracker.update(frame)
        else:
            tracker.init(frame, clip.box)
        now = clock()
        times.append(now - last)
        last = now
    return ClipTimes(last - begun, tuple(times[1:]))


def back_and_forth(frames: Sequence[T], count: int) -> Iterator[T]:
    """So many frames from a few: at the end of the video it turns round, so that nothing jumps.

    >>> list(back_and_forth("abc", 8))
    ['a', 'b', 'c', 'b', 'a', 'b', 'c', 'b']
    """
    period = max(2 * (len(frames) - 1), 1)
    for index in range(count):
        place = index % period
        yield frames[min(place, period - place) if len(frames) > 1 else 0]
