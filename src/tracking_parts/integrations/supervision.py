"""Results as ``supervision.Detections``, for its annotators, zones, counters and sinks."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracking_parts.errors import ConfigError
from tracking_parts.result import Result, State

MISSING = "supervision is not installed: pip install 'tracking-parts[supervision]'"

Name = str | int


def to_detections(results: Result | Mapping[Name, Result], *, keep_lost: bool = False, class_id: int = 0) -> Any:
    """One result, or those of a :class:`~tracking_parts.MultiTracker` by name, as ``sv.Detections``.

    A lost target is left out, so that nothing downstream counts or draws what was not seen; a single lost target gives
    empty detections. With ``keep_lost`` its best guess is there, and ``data["state"]`` says that it is lost.

    ``confidence`` is the result's. ``data`` holds ``state``, ``name`` and the polygon under supervision's key for
    oriented boxes. ``tracker_id`` is the target's name where that is a number (0 for a single result), else a number
    made of its letters: the same in every frame and every run.
    """
    supervision = import_supervision()
    named = {0: results} if isinstance(results, Result) else results
    shown = {name: one for name, one in named.items() if keep_lost or one.state is not State.LOST}
    oriented = importlib.import_module("supervision.config").ORIENTED_BOX_COORDINATES
    return supervision.Detections(
        xyxy=np.array([one.box.xyxy for one in shown.values()], np.float32).reshape(-1, 4),
        confidence=np.array([one.confidence for one in shown.values()], np.float32),
        class_id=np.full(len(shown), class_id),
        tracker_id=np.array([number_of(name) for name in shown], int),
        data={
            "state": np.array([str(one.state) for one in shown.values()], np.str_),
            "name": np.array([str(name) for name in shown], np.str_),
            oriented: np.array([one.polygon for one in shown.values()], np.float32).reshape(-1, 4, 2),
        },
    )


def number_of(name: Name) -> int:
    """A number for a target's name.

    >>> number_of(3), number_of("Ann")
    (3, 1600992403)
    """
    return name if isinstance(name, int) else zlib.crc32(name.encode()) & 0x7FFFFFFF


def import_supervision() -> Any:
    try:
        return importlib.import_module("supervision")
    except ModuleNotFoundError as error:
        raise ConfigError(MISSING) from error
