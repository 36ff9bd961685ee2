"""Every error this library raises on purpose, so that callers can tell ours from a defect."""

from __future__ import annotations


class TrackingPartsError(Exception):
    """Base of all errors raised on purpose; its message is one line that names the problem and the value."""


class InvalidBoxError(TrackingPartsError, ValueError):
    """A box that no tracker could start from: empty, not finite or outside the frame."""


class InvalidFrameError(TrackingPartsError, ValueError):
    """A frame that is no picture, or whose size differs from the first one."""


class NotInitialisedError(TrackingPartsError, RuntimeError):
    """``update`` was called before ``init``."""


class BusyError(TrackingPartsError, RuntimeError):
    """A tracker was called while another thread's call was at work."""


class TargetNameError(TrackingPartsError, LookupError):
    """A target's name that is taken already, or that no target has."""


class ConfigError(TrackingPartsError, ValueError):
    """An unknown setting, or a value outside its range."""


class WeightsError(TrackingPartsError, RuntimeError):
    """The network's weights are missing, cannot be fetched or are not the ones expected."""


class SourceError(TrackingPartsError, RuntimeError):
    """A video, folder or camera that cannot be opened or that broke while being read."""


class LearningError(TrackingPartsError, RuntimeError):
    """Nothing could be learned: there is no finite solution. Only ``init`` raises it; later, tracking goes on."""


class LearningWarning(UserWarning):
    """Learning failed while tracking; the tracker goes on with what it had learned before."""


class StateFileError(TrackingPartsError, ValueError):
    """A saved tracker state that is damaged or was made by another version."""


class FormatError(TrackingPartsError, ValueError):
    """A ground-truth, result or trace file that cannot be understood."""


class OutputError(TrackingPartsError, RuntimeError):
    """A result or video file that cannot be written: no permission, disk full, or input that does not fit it."""
