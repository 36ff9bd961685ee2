"""What the studio keeps: projects, targets, the boxes that a person drew, and one row per tracked frame."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from tracking_parts.geometry import Box, Point, Polygon
from tracking_parts.io.sequences import FARTHEST
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace

LARGEST_NUMBER = 10**9
LONGEST_EVENT, MOST_EVENTS = 200, 100
BY_HAND, BY_TRACKER = "hand", "tracker"
TEACH, ANEW = "teach", "anew"  # a corrected box is one more confirmed sample, or the tracker begins anew from it
# After Okabe and Ito: told apart by readers with any common form of colour blindness.
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442", "#999999")


@dataclass(frozen=True, slots=True)
class Project:
    """A video, and all that was done on it."""

    id: str
    name: str
    kind: str  # file, upload, clip or camera
    source: str  # the path of the video or folder
    frame_count: int
    fps: float | None
    width: int
    height: int
    created: float
    opened: float
    frame: int = 0  # the one shown last
    correcting: str = ANEW  # what a box does that is drawn of a target which is followed already


@dataclass(frozen=True, slots=True)
class Target:
    """One object that is followed."""

    id: int
    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Row:
    """One target in one frame: the answer, and the scalars of its trace; those are None where a person drew the box."""

    frame: int
    box: Box
    polygon: Polygon
    confidence: float
    state: State
    origin: str = BY_TRACKER
    agreement: float | None = None
    distance: float | None = None
    highly_confident: bool = False
    roles: tuple[int, int, int] = (0, 0, 0)  # candidate, reliable, gold
    events: tuple[str, ...] = ()
    tracked: Box | None = None  # where the tracker took the object to be, if the box that it told is another one

    @property
    def start(self) -> Box:
        """From where to begin anew: the told box has a margin that would grow with every start."""
        return self.tracked or self.box

    @classmethod
    def by_hand(cls, frame: int, box: Box) -> Row:
        return cls(frame, box, box.polygon, 1.0, State.TRACKING, BY_HAND)

    @classmethod
    def from_trace(cls, frame: int, trace: FrameTrace, origin: str = BY_TRACKER) -> Row:
        roles = trace.role_counts()
        return cls(
            frame=frame,
            box=trace.result.box,
            polygon=trace.result.polygon,
            confidence=trace.result.confidence,
            state=trace.result.state,
            origin=origin,
            agreement=_known(trace.part_agreement),
            distance=_known(trace.pathway_distance),
            highly_confident=trace.highly_confident,
            roles=(roles["candidate"], roles["reliable"], roles["gold"]),
            events=trace.events,
            tracked=None if trace.tracked == trace.result.box else trace.tracked,
        )

    @property
    def result(self) -> Result:
        return Result(self.box, self.polygon, self.confidence, self.state)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the page and the project file read it."""
        values = asdict(self)
        values["box"] = [round(value, 3) for value in self.box.xywh]
        values["tracked"] = None if self.tracked is None else [round(value, 3) for value in self.tracked.xywh]
        values["polygon"] = None if self.polygon == self.box.polygon else [list(point) for point in self.polygon]
        values["state"] = str(self.state)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        """Of :meth:`to_dict`; ``ValueError``, ``KeyError`` or ``TypeError`` where it is none."""
        box = finite_box(values["box"])
        polygon = values["polygon"]
        candidate, reliable, gold = (whole_number(count) for count in values["roles"])
        return cls(
            frame=whole_number(values["frame"]),
            box=box,
            polygon=box.polygon if polygon is None else _polygon(polygon),
            confidence=_finite(values["confidence"]),
            state=State(values["state"]),
            origin=BY_HAND if values["origin"] == BY_HAND else BY_TRACKER,
            agreement=_optional(values["agreement"]),
            distance=_optional(values["distance"]),
            highly_confident=bool(values["highly_confident"]),
            roles=(candidate, reliable, gold),
            events=tuple(str(event)[:LONGEST_EVENT] for event in values["events"][:MOST_EVENTS]),
            tracked=None if values.get("tracked") is None else finite_box(values["tracked"]),  # older rows have none
        )


def finite_box(values: Any) -> Box:
    """A box of four finite numbers with an area; ``ValueError`` or ``TypeError`` where it is none."""
    x, y, w, h = (float(value) for value in values)
    box = Box(x, y, w, h)
    if not box.is_finite or w <= 0 or h <= 0 or max(map(abs, box.xyxy)) > FARTHEST:
        raise ValueError(f"no box: {values}")
    return box


def _polygon(corners: Any) -> Polygon:
    first, second, third, fourth = (_point(corner) for corner in corners)
    return (first, second, third, fourth)


def _point(values: Any) -> Point:
    x, y = (_finite(value) for value in values)
    return (x, y)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _optional(value: Any) -> float | None:
    return None if value is None else _finite(value)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"no number: {value}")
    return number


def whole_number(value: Any) -> int:
    """A number that counts frames, targets or parts; ``ValueError`` or ``TypeError`` where it is none.

    >>> whole_number(7.0)
    7
    """
    number = _finite(value)
    if number != int(number) or not 0 <= number <= LARGEST_NUMBER:
        raise ValueError(f"no whole number: {value}")
    return int(number)
