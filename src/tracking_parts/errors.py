"""Every error this library raises on purpose, so that callers can tell ours from a defect."""

from __future__ import annotations

from collections import abc

LONGEST_QUOTE = 100
LONGEST_REASON = 300
MOST_NAMES = 10


def shortened(text: str, longest: int = LONGEST_QUOTE) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(value: object) -> str:
    """A value as an error's message may show it: as Python writes it, on one line, and short whatever it is.

    >>> quoted("a" * 999)[-3:]
    'aa…'
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # somebody else's repr, or an integer of too many digits
        text = f"a value of type {type(value).__name__}"
    return shortened(text)


def quoted_names(names: abc.Iterable[str]) -> str:
    """Names that somebody made up, for a message: as they are if they are names at all, and not too many."""
    shown = [name if name.isprintable() and len(name) <= LONGEST_QUOTE else quoted(name) for name in names]
    return ", ".join(shown[:MOST_NAMES]) + (f" and {len(shown) - MOST_NAMES} more" if len(shown) > MOST_NAMES else "")


def one_line(error: BaseException) -> str:
    """What another library said, as part of one line of ours."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(error)).split())
    return shortened(text, LONGEST_REASON)


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


class CopyError(TrackingPartsError, TypeError):
    """Something that cannot be copied or pickled as it stands."""


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
