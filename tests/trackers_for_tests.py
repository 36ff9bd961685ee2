"""Small trackers to be named as ``trackers_for_tests:Class``."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any


class StandsStill:
    """Answers with the first box for ever."""

    def init(self, frame: Any, box: tuple[float, float, float, float]) -> None:
        self._box = box

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        return self._box


class LosesAtOnce(StandsStill):
    """Answers far outside the image."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        return (-500.0, -500.0, 5.0, 5.0)


class RaisesOnNarrowFrames(StandsStill):
    """Follows nothing, and raises on frames less than 100 pixels wide."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        if frame.shape[1] < 100:
            raise ZeroDivisionError("too narrow")
        return self._box


class Dies(StandsStill):
    """Takes its process with it, as a crash in native code does."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        os._exit(3)


def scratch_folder() -> Path:
    """Where the trackers below leave signs of life; told by the environment, since they run in other processes."""
    return Path(os.environ["STP_TEST_FOLDER"])


def leave_sign() -> None:
    """One empty file per start, named after the process."""
    (scratch_folder() / f"{os.getpid()}-{secrets.token_hex(4)}.pid").touch()


class LeavesSign(StandsStill):
    """Tells that it was started, and takes a little while."""

    def init(self, frame: Any, box: tuple[float, float, float, float]) -> None:
        super().init(frame, box)
        leave_sign()
        time.sleep(0.3)


class WaitsWhileHeld(LeavesSign):
    """Tells that it was started, then answers nothing while there is a file ``hold``."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        while (scratch_folder() / "hold").exists():
            time.sleep(0.02)
        return self._box


class DiesOnce(StandsStill):
    """Takes its process with it the first time only, as a passing want of memory does."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        try:
            (scratch_folder() / "died").touch(exist_ok=False)
        except FileExistsError:
            return self._box
        os._exit(3)


class RaisesAlways(StandsStill):
    """Follows nothing at all."""

    def update(self, frame: Any) -> tuple[float, float, float, float]:
        raise ZeroDivisionError("as always")


class TellsDistances(StandsStill):
    """Stands still, and says in every frame that its pathways are a little further apart."""

    def init(self, frame: Any, box: tuple[float, float, float, float]) -> None:
        super().init(frame, box)
        self._distance = 0.0

    def values(self) -> dict[str, float]:
        self._distance += 0.5
        return {"pathway_distance": self._distance}
