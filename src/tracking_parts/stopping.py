"""Ctrl-C and SIGTERM: how the command ends when it is asked to, with which exit code and in which words."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(BaseException):
    """The process was asked to end. No ``KeyboardInterrupt``, which libraries take for Ctrl-C and answer themselves."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.words = WORDS[signal.Signals(number)]
        self.exit_code = exit_code_of(number)
        self.hint = ""  # what whoever stopped it may want to know


def exit_code_of(number: int) -> int:
    """As shells report a program that a signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + int(number)


def raise_when_asked_to_stop() -> None:
    """From now on Ctrl-C and SIGTERM raise :class:`Stopped` wherever the main thread is.

    A process that was told to ignore one of them goes on ignoring it.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def end_at_once_when_asked_to_stop() -> None:
    """Nothing is left to be done or told: as for any program."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


class StopRequest:
    """Whether the run has been asked to stop, and how."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self) -> bool:
        return self.number is not None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Ctrl-C (or SIGTERM) once: stop after the frame that is being tracked. Twice: stop at once."""
    request = StopRequest()

    def ask(number: int, frame: FrameType | None) -> None:
        if request():
            raise Stopped(number)
        request.number = number

    if threading.current_thread() is not threading.main_thread():
        yield request  # Python delivers signals to the main thread only
        return
    heard = [number for number in WORDS if signal.getsignal(number) is not signal.SIG_IGN]
    previous: dict[int, Callable[[int, FrameType | None], object] | int | None] = {
        number: signal.signal(number, ask) for number in heard
    }
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
