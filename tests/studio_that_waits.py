"""The studio with a tracker that does not run away: fast at first, then slow, then it waits until somebody pauses it.

So a test that wants to see it at work, or to pause it, has the time for that on any machine.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAST = 60  # frames after the first at full speed
SLOW = 20  # frames after them, so slow that the page shows most of them
SECONDS_A_FRAME = 0.2
MOST_SECONDS = 120.0  # a person who never comes is a failed test, not a process for ever
START = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import studio_that_waits as it; it.main()"


def main() -> None:
    from tracking_parts import MultiTracker
    from tracking_parts.cli import main as start
    from tracking_parts.studio.run import Run

    asked = threading.Event()  # somebody paused or stopped: from now on it is as fast as ever
    MultiTracker.update = waiting(MultiTracker.update, asked)  # type: ignore[method-assign]
    Run.pause_after = noticed(Run.pause_after, asked, lambda frames: frames == 0)  # type: ignore[method-assign]
    Run.stop = noticed(Run.stop, asked, lambda: True)  # type: ignore[method-assign]
    start()


def waiting(update: Callable[..., Any], asked: threading.Event) -> Callable[..., Any]:
    numbers = itertools.count(1)

    def update_later(*arguments: Any) -> Any:
        number = next(numbers)
        if number > FAST:
            asked.wait(SECONDS_A_FRAME if number <= FAST + SLOW else MOST_SECONDS)
        return update(*arguments)

    return update_later


def noticed(act: Callable[..., Any], asked: threading.Event, counts: Callable[..., bool]) -> Callable[..., Any]:
    def act_and_tell(run: Any, *arguments: Any) -> Any:
        done = act(run, *arguments)
        if counts(*arguments):
            asked.set()
        return done

    return act_and_tell
