"""What a run is asked to do, and what it asks of others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from tracking_parts.geometry import Box
from tracking_parts.io.random_access import Picture
from tracking_parts.result import Result
from tracking_parts.trace import FrameTrace


class ManyTracker(Protocol):
    """What is asked of :class:`tracking_parts.MultiTracker`."""

    @property
    def names(self) -> tuple[str | int, ...]: ...

    def add(self, frame: Picture, box: Box, name: int) -> str | int: ...

    def correct(self, frame: Picture, box: Box, name: int) -> Result: ...

    def remove(self, name: int) -> None: ...

    def update(self, frame: Picture) -> dict[str | int, Result]: ...

    def trace(self, name: int) -> FrameTrace: ...

    def close(self) -> None: ...


class Phase(str, Enum):
    """What a run is doing."""

    STARTING = "starting"
    TRACKING = "tracking"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        return self in (Phase.DONE, Phase.FAILED)


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is followed, from which frame on. ``end`` is the frame to stop before, if not at the end of the video.

    With ``keep_sequels`` a target leaves at the next box that was drawn of it, if what follows was tracked already.
    With ``keep_trackers`` a target that the tracker knows is taught the box that was drawn of it in the first frame.
    """

    start: int
    targets: tuple[int, ...]
    keep_sequels: bool = False
    keep_trackers: bool = False
    end: int | None = None
