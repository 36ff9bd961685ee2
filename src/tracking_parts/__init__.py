"""Society of Tracking Parts: follow one object through a video, knowing nothing but one box in one frame.

>>> from tracking_parts import Tracker            # doctest: +SKIP
>>> tracker = Tracker()                           # doctest: +SKIP
>>> tracker.init(frame, (x, y, w, h))             # doctest: +SKIP
>>> result = tracker.update(next_frame)           # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracking_parts.config import TrackerConfig
from tracking_parts.errors import (
    BusyError,
    ConfigError,
    CopyError,
    FormatError,
    InvalidBoxError,
    InvalidFrameError,
    LearningError,
    LearningWarning,
    NotInitialisedError,
    OutputError,
    SourceError,
    StateFileError,
    TargetNameError,
    TrackingPartsError,
    WeightsError,
)
from tracking_parts.geometry import Box
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace

if TYPE_CHECKING:
    from tracking_parts.multi_tracker import MultiTracker
    from tracking_parts.tracker import Tracker

__version__ = "0.1.0"

__all__ = [
    "Box",
    "BusyError",
    "ConfigError",
    "CopyError",
    "FormatError",
    "FrameTrace",
    "InvalidBoxError",
    "InvalidFrameError",
    "LearningError",
    "LearningWarning",
    "MultiTracker",
    "NotInitialisedError",
    "OutputError",
    "Result",
    "SourceError",
    "State",
    "StateFileError",
    "TargetNameError",
    "Tracker",
    "TrackerConfig",
    "TrackingPartsError",
    "WeightsError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """The trackers are imported when first asked for: they bring torch, which takes seconds."""
    if name == "Tracker":
        from tracking_parts.tracker import Tracker

        return Tracker
    if name == "MultiTracker":
        from tracking_parts.multi_tracker import MultiTracker

        return MultiTracker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
