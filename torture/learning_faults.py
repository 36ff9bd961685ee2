"""Learning that raises, explodes or runs out of memory, at random moments: tracking goes on and says so once."""

from __future__ import annotations

import math
import random
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch

from torture.moving_square import frame_at, square_at
from torture.trials import Trial
from tracking_parts import LearningWarning, Tracker, TrackerConfig
from tracking_parts.convnet_part.linear import LinearPathway
from tracking_parts.convnet_part.pathway import Progress
from tracking_parts.filter_parts import learning as part_learning
from tracking_parts.filter_parts.society import FilterParts

FRAMES = 36
WAYS: dict[str, dict[str, Any]] = {
    "in pieces": {"update": "full", "update_frames": 3},
    "at once": {"update": "full", "update_frames": 0},
    "in the background": {"update": "parallel", "confident_radius": 99.0},
}
OFTEN: dict[str, Any] = {"u": 3, "min_new_frames": 1}


def learning_faults(seconds: float, seed: int | None = None) -> Iterator[Trial]:
    """Every fault in every way of learning, again and again."""
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    while True:
        for way, settings in WAYS.items():
            config = TrackerConfig.profile("fast").override(**OFTEN, **settings)
            with Tracker(config, engine="torch") as tracker:
                for name, (place, attribute, make_fault) in FAULTS.items():
                    if time.monotonic() >= end:
                        return
                    whole = getattr(place, attribute)
                    with patch.object(place, attribute, make_fault(whole, chance)):
                        yield Trial(f"{name}, training {way}", *_follow(tracker))


def _follow(tracker: Tracker) -> tuple[bool, str]:
    """Whether a tracker came through a video in which learning fails, and what went wrong if not."""
    faults = 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LearningWarning)
        try:
            tracker.init(frame_at(0), square_at(0))
            for index in range(1, FRAMES):
                result = tracker.update(frame_at(index))
                faults += bool(tracker.trace.fault)
                if not all(map(math.isfinite, (*result.box.xywh, result.confidence))):
                    return False, f"frame {index}: {result}"
        except Exception as error:
            return False, f"{type(error).__name__}: {error}"
    warned = [one for one in told if issubclass(one.category, LearningWarning)]
    if faults and len(warned) != 1:
        return False, f"{faults} faults, {len(warned)} warnings"
    return True, f"{faults} faults"


# --------------------------------------------------------------------------- what goes wrong
Whole = Callable[..., Any]


def _now_and_then(chance: random.Random) -> bool:
    return chance.random() < 0.5


def _raises(whole: Whole, chance: random.Random) -> Whole:
    def training(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
        fails = not is_first and _now_and_then(chance)
        for progress in whole(self, first, recent, is_first):
            yield progress
            if fails:
                raise ArithmeticError("by way of trial")

    return training


def _explodes(whole: Whole, chance: random.Random) -> Whole:
    def training(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
        factor = torch.inf if not is_first and _now_and_then(chance) else 1.0
        for progress in whole(self, first, recent, is_first):
            self._filters = [weights * factor for weights in self._filters]
            yield progress

    return training


def _no_memory(whole: Whole, chance: random.Random) -> Whole:
    def learn(self: FilterParts, *arguments: Any) -> int:
        count: int = whole(self, *arguments)
        if self.next_id > count and _now_and_then(chance):  # not in the first frame
            raise MemoryError("by way of trial")
        return count

    return learn


def _not_finite(whole: Whole, chance: random.Random) -> Whole:
    calls = 0

    def gram_matrix(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        gram, descriptors = whole(*arguments)
        return gram * (torch.nan if calls > 6 and _now_and_then(chance) else 1.0), descriptors

    return gram_matrix


FAULTS: dict[str, tuple[Any, str, Callable[[Whole, random.Random], Whole]]] = {
    "the training raises": (LinearPathway, "training", _raises),
    "the net explodes": (LinearPathway, "training", _explodes),
    "no memory for parts": (FilterParts, "learn", _no_memory),
    "products of patches are not finite": (part_learning, "gram_matrix", _not_finite),
}
