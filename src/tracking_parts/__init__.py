"""Society of Tracking Parts: follow one object through a video, knowing nothing but one box in one frame.

>>> from tracking_parts import Tracker            # doctest: +SKIP
>>> tracker = Tracker()                           # doctest: +SKIP
>>> tracker.init(frame, (x, y, w, h))             # doctest: +SKIP
>>> result = tracker.update(next_frame)           # doctest: +SKIP
"""

from tracking_parts.config import TrackerConfig
from tracking_parts.errors import (
    ConfigError,
    FormatError,
    InvalidBoxError,
    InvalidFrameError,
    NotInitialisedError,
    SourceError,
    StateFileError,
    TrackingPartsError,
    WeightsError,
)
from tracking_parts.geometry import Box
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace
from tracking_parts.tracker import Tracker

__version__ = "0.1.0"

__all__ = [
    "Box",
    "ConfigError",
    "FormatError",
    "FrameTrace",
    "InvalidBoxError",
    "InvalidFrameError",
    "NotInitialisedError",
    "Result",
    "SourceError",
    "State",
    "StateFileError",
    "Tracker",
    "TrackerConfig",
    "TrackingPartsError",
    "WeightsError",
    "__version__",
]
