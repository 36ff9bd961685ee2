"""Learning may fail; tracking goes on with what was learned before, and says so.

What can go wrong: a solver that finds no finite solution, a net whose training explodes, want of memory. A fault is an
event of the frame in which it shows (:attr:`FrameTrace.fault`); the first one of an object is also a
:class:`LearningWarning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tracking_parts.errors import LearningError, LearningWarning


class Fault(str):
    """An event, in words: what was not learned, and why."""

    __slots__ = ()


@contextmanager
def tolerated(events: list[str], what: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes a :class:`Fault` among the events."""
    try:
        yield
    except Exception as error:  # a defect too: a video half tracked is worth more than a traceback
        events.append(fault_of(what, error))


def fault_of(what: str, error: BaseException) -> Fault:
    """In one line. Our own errors say all there is to say, of others the kind is worth knowing.

    >>> fault_of("learning parts", ZeroDivisionError("division by zero"))
    'learning parts failed: ZeroDivisionError: division by zero'
    """
    words = " ".join(str(error).split())
    kind = "" if isinstance(error, LearningError) else type(error).__name__
    return Fault(f"{what} failed: {': '.join(filter(None, (kind, words)))}")


def faults_in(events: Iterable[str]) -> str:
    """All faults among the events, in one line; empty if all went well."""
    return "; ".join(event for event in events if isinstance(event, Fault))


def warn_of(fault: str, frame_index: int) -> None:
    """Tell the user, who may make an error of it by a filter on :class:`LearningWarning`."""
    warnings.warn(
        f"in frame {frame_index} {fault}; tracking goes on with what was learned before "
        "(later faults of this object are told in the trace only)",
        LearningWarning,
        stacklevel=2,
    )
