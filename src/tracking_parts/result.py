"""What a tracker answers for one frame."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tracking_parts.geometry import Box, Polygon


class State(str, Enum):
    """How far the answer is to be believed."""

    TRACKING = "tracking"
    UNCERTAIN = "uncertain"
    LOST = "lost"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Result:
    """Where the object is in one frame, in image pixels, and how sure the society is of it.

    ``box`` is axis-aligned (``result.box.xywh``); ``polygon`` has four corners and may be rotated or sheared where the
    configured box model estimates that. In doubt both are larger, and where they can be expected to overlap the object
    most: where the tracker goes on from is in its trace (``tracked``). ``confidence`` lies in [0, 1].
    """

    box: Box
    polygon: Polygon
    confidence: float
    state: State
