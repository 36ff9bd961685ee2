"""Work in a forked child, whose crash or endless wait does no harm to the parent."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable
from typing import Any


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What the work gave, or its error; :class:`ChildProcessError` if it died, :class:`TimeoutError` if it hung."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work_and_leave(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        ended = bool(select.select([stream], [], [], seconds)[0])  # readable also when the child has died
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


def _work_and_leave(work: Callable[[], Any], writing: int) -> None:
    """Without the parent's clean-up: it is not the child's to do."""
    try:
        message: Any = work()
    except Exception as error:
        message = error
    with os.fdopen(writing, "wb") as stream:
        stream.write(pickle.dumps(message))
    os._exit(0)
