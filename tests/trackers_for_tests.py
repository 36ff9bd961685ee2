"""Small trackers to be named as ``trackers_for_tests:Class``."""

from __future__ import annotations

import os
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
