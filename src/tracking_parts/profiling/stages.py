"""The steps of a frame as stages, and a meter that shares out what grows (seconds, operations) among them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import wraps
from typing import Any

from tracking_parts.frames import Frame
from tracking_parts.geometry import Box
from tracking_parts.threads import one_after_another
from tracking_parts.tracker import Tracker


class Stage(str, Enum):
    """What a frame's time is spent on; in the order of a frame."""

    DECODE = "decode"
    CROP = "crop"
    TRUNK = "trunk"
    PROJECT = "project"
    PARTS = "parts"
    CONVNET = "ConvNetPart"
    COLOURS = "colours"
    VOTE = "vote"
    BOX = "box"
    LEARN_PARTS = "learning: parts"
    LEARN_CONVNET = "learning: ConvNetPart"
    OTHER = "other"


GROUPS: Mapping[str, tuple[Stage, ...]] = {
    "read": (Stage.DECODE,),
    "look": (Stage.CROP, Stage.TRUNK, Stage.PROJECT),
    "decide": (Stage.PARTS, Stage.CONVNET, Stage.COLOURS, Stage.VOTE, Stage.BOX),
    "learn": (Stage.LEARN_PARTS, Stage.LEARN_CONVNET),
    "other": (Stage.OTHER,),
}

# Methods by name. A step that calls another is charged only for what it does itself.
STEPS: Mapping[str, Stage] = {
    "_next_image": Stage.CROP,
    "_look": Stage.CROP,
    "_extract": Stage.TRUNK,
    "_view": Stage.PROJECT,
    "_vote_parts": Stage.PARTS,
    "_hear_parts": Stage.PARTS,
    "_vote_convnet": Stage.CONVNET,
    "_vote_colours": Stage.COLOURS,
    "_decide": Stage.VOTE,
    "_move": Stage.BOX,
    "_result": Stage.BOX,
}
LEARNING_STEPS: Mapping[str, Stage] = {  # of the tracker's learner
    "learn": Stage.LEARN_PARTS,
    "learn_first": Stage.LEARN_PARTS,
    "_update_parts": Stage.LEARN_PARTS,
    "_keep_first": Stage.LEARN_CONVNET,
    "_go_on_training": Stage.LEARN_CONVNET,
    "_keep_sample": Stage.LEARN_CONVNET,
    "_train_first": Stage.LEARN_CONVNET,
    "_update_convnet": Stage.LEARN_CONVNET,
}

Amounts = dict[Stage, float]


class StageMeter:
    """Watches an amount that only grows; each stage is charged for what grew while it was the innermost one."""

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self._running: list[Stage] = []
        self._since = 0.0
        self._amounts: Amounts = dict.fromkeys(Stage, 0.0)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Charge the stage until the end of the block, or until a stage inside it begins."""
        self._charge()
        self._running.append(stage)
        try:
            yield
        finally:
            self._charge()
            self._running.pop()

    def take(self) -> Amounts:
        """What every stage was charged since the last call."""
        taken, self._amounts = self._amounts, dict.fromkeys(Stage, 0.0)
        return taken

    def wrap(self, stage: Stage, step: Callable[..., Any]) -> Callable[..., Any]:
        """The same step, charged to a stage."""

        def charged(*args: Any, **named: Any) -> Any:
            with self.stage(stage):
                return step(*args, **named)

        return wraps(step, updated=())(charged)

    def _charge(self) -> None:
        now = self._read()
        if self._running:
            self._amounts[self._running[-1]] += now - self._since
        self._since = now


@contextmanager
def metered_steps(tracker: Tracker, meter: StageMeter) -> Iterator[None]:
    """Charge the steps of this one tracker; afterwards it is as it was."""
    learner = tracker._learner
    tracker._learner = copy.copy(learner)  # trackers of other objects may share it
    try:
        with _metered(tracker, STEPS, meter), _metered(tracker._learner, LEARNING_STEPS, meter):
            yield
    finally:
        tracker._learner = learner


@contextmanager
def _metered(owner: object, steps: Mapping[str, Stage], meter: StageMeter) -> Iterator[None]:
    own = {name: vars(owner)[name] for name in steps if name in vars(owner)}
    for name, stage in steps.items():
        setattr(owner, name, meter.wrap(stage, getattr(owner, name)))
    try:
        yield
    finally:
        for name in steps:
            if name in own:
                setattr(owner, name, own[name])
            else:
                delattr(owner, name)


def run_metered(tracker: Tracker, frames: Iterable[Frame], box: Box, meter: StageMeter) -> list[Amounts]:
    """Track through all frames; what every stage was charged, frame by frame. The first one is the tracker's start."""
    charged: list[Amounts] = []
    remaining = iter(frames)
    with metered_steps(tracker, meter), one_after_another():
        while True:
            with meter.stage(Stage.DECODE):
                frame = next(remaining, None)
            if frame is None:
                return charged
            with meter.stage(Stage.OTHER):
                if charged:
                    tracker.update(frame)
                else:
                    tracker.init(frame, box)
            charged.append(meter.take())
