"""Work in a forked child, whose crash or endless wait does no harm to the parent."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What the work gave, or its error; :class:`ChildProcessError` if it died, :class:`TimeoutError` if it hung.

    It hangs if it has computed for so many seconds, or waited for so many without computing: on a busy machine a child
    that gets no turn is not blamed for it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work_and_leave(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        ended = _ends(child, stream, seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
        data = stream.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ended:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if not data:
        raise ChildProcessError(signal.Signals(-status).name if status < 0 else f"exit code {status}")
    message = pickle.loads(data)  # written by ourselves, a moment ago
    if isinstance(message, Exception):
        raise message
    return message


def _ends(child: int, stream: BinaryIO, seconds: float) -> bool:
    # A pipe is readable also when the child has died.
    return answers_in_time(child, lambda step: bool(select.select([stream], [], [], step)[0]), seconds)


def answers_in_time(process: int, is_there: Callable[[float], bool], seconds: float) -> bool:
    """Whether an answer comes before the process has computed, or slept, for so many seconds since it was asked.

    ``is_there`` waits for the answer for as long as it is told.
    """
    step = min(seconds, 0.5)
    begun = before = _activity(process)[1]
    slept = 0.0
    while not is_there(step):
        state, now = _activity(process)
        slept = slept + step if now == before and state in "SD" else 0.0
        before = now
        if max(slept, now - begun) >= seconds:
            return False
    return True


def _activity(process: int) -> tuple[str, float]:
    """The process's state (R runs, S sleeps, T is stopped) and its seconds of computing, as Linux tells them."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work_and_leave(work: Callable[[], Any], writing: int) -> None:
    """Without the parent's clean-up: it is not the child's to do."""
    try:
        message: Any = work()
    except Exception as error:
        message = error
    with os.fdopen(writing, "wb") as stream:
        stream.write(pickle.dumps(message))
    os._exit(0)
