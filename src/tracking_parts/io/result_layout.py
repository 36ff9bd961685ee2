"""What the writers and the readers of result files share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracking_parts.result import Result

ONE_BASED = 1.0  # added to x and y where a format calls the first pixel (1, 1)
CSV_HEADER = "frame,x,y,w,h,confidence,state,x1,y1,x2,y2,x3,y3,x4,y4"
VOT_START = "1"  # VOT's code for a frame in which the tracker was given the region


@dataclass(frozen=True, slots=True)
class SequenceInfo:
    """The sequence that was tracked. ``frame_count`` and ``fps`` are None where the source does not tell.

    ``frame_count`` is that of the whole source, even if only a part was tracked: rows carry the source's frame numbers.
    """

    name: str
    size_wh: tuple[int, int]
    fps: float | None = None
    frame_count: int | None = None
    label: str = "object"


@dataclass(frozen=True, slots=True)
class Track:
    """One object's results in order of frames; frames in which there is none are left out."""

    name: str
    rows: Sequence[tuple[int, Result]]
