"""Several targets in one video: each has the boxes that a tracker of its own would give it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from core_helpers import random_weights, small_config
from synthetic import Image, moving_boxes, paste, random_texture
from tracking_parts import (
    Box,
    BusyError,
    InvalidBoxError,
    InvalidFrameError,
    MultiTracker,
    Result,
    State,
    TargetNameError,
    Tracker,
)
from tracking_parts.confidence import StateMonitor
from tracking_parts.frames import Frame
from tracking_parts.trunk_engines import Maps

PATHS = (
    moving_boxes(10, Box(14, 16, 24, 24), (1.5, 0.5)),
    moving_boxes(10, Box(100, 20, 26, 22), (-1.0, 1.0)),
    moving_boxes(10, Box(60, 62, 22, 26), (1.0, -1.0)),
)
CONFIG = small_config(u=3, augment=True)


@pytest.fixture(scope="module")
def frames() -> list[Image]:
    """Three textured objects move over one background."""
    rng = np.random.default_rng(3)
    background = random_texture(rng, 160, 112)
    textures = [random_texture(rng, 26, 26) for _ in PATHS]
    shown = []
    for boxes in zip(*PATHS, strict=True):
        frame = background
        for texture, box in zip(textures, boxes, strict=True):
            frame = paste(frame, texture, box)
        shown.append(frame)
    return shown


def make(threads: int = 1, engine: str = "torch", **settings: Any) -> MultiTracker:
    """With so many targets side by side; torch itself stays with one thread (see conftest)."""
    with patch.object(torch, "get_num_threads", return_value=threads):
        return MultiTracker(CONFIG.override(**settings), weights=random_weights(), engine=engine)


def alone(frames: Sequence[Frame], box: Box, engine: str = "torch") -> list[Result]:
    """The answers of a lone tracker, from the frame after the first one on."""
    with Tracker(CONFIG, weights=random_weights(), engine=engine) as tracker:
        tracker.init(frames[0], box)
        return [tracker.update(frame) for frame in frames[1:]]


def assert_alike(found: Sequence[Result], expected: Sequence[Result], tolerance: float = 1e-2) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.box.xywh == pytest.approx(other.box.xywh, abs=tolerance)
        assert one.confidence == pytest.approx(other.confidence, abs=tolerance)
        assert one.state is other.state


@pytest.mark.parametrize("threads", [1, 2])
def test_every_target_is_followed_as_if_it_were_alone(frames: list[Image], threads: int) -> None:
    """One is there from the start to the end, one leaves, one comes late."""
    found: dict[object, list[Result]] = {"first": [], "leaves": [], 0: []}
    with make(threads) as tracker:
        assert tracker.add(frames[0], PATHS[0][0], "first") == "first"
        assert tracker.add(frames[0], PATHS[1][0].xywh, "leaves") == "leaves"
        for index, frame in enumerate(frames[1:], start=1):
            for name, result in tracker.update(frame).items():
                found[name].append(result)
            if index == 3:
                assert tracker.add(frame, PATHS[2][3]) == 0
                assert tracker.names == ("first", "leaves", 0) and len(tracker) == 3
            if index == 6:
                tracker.remove("leaves")
                assert tracker.names == ("first", 0)
    assert_alike(found["first"], alone(frames, PATHS[0][0]))
    assert_alike(found["leaves"], alone(frames[:7], PATHS[1][0]))
    assert_alike(found[0], alone(frames[3:], PATHS[2][3]))
    assert found["first"][-1].box.overlap(PATHS[0][-1]) > 0.5


@pytest.mark.parametrize("threads", [1, 2])
def test_with_ncnn(frames: list[Image], threads: int) -> None:
    pytest.importorskip("ncnn", reason="ncnn is not installed")
    with make(threads, "ncnn") as tracker:
        assert tracker.engine == "ncnn"
        names = [tracker.add(frames[0], path[0]) for path in PATHS]
        found = [tracker.update(frame) for frame in frames[1:6]]
    for name, path in zip(names, PATHS, strict=True):
        assert_alike([results[name] for results in found], alone(frames[:6], path[0], "ncnn"), 0.1)


def test_one_pass_for_all(frames: list[Image], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost targets look wider: one pass per size of crop."""
    with make(narrow_search=0.0) as tracker:
        for path in PATHS:
            tracker.add(frames[0], path[0])
        engine, shapes = tracker._pattern.extract.engine, []

        class Watched:
            name = "watched"

            def __call__(self, rgb: torch.Tensor) -> Maps:
                shapes.append(tuple(rgb.shape))
                return engine(rgb)

            def expect_batches(self) -> None:
                pass

            def side_by_side(self) -> AbstractContextManager[bool]:
                return nullcontext(False)

        monkeypatch.setattr(tracker._pattern.extract, "engine", Watched())
        tracker.update(frames[1])
        assert shapes == [(3, 3, 64, 64)]
        target = tracker._trackers[1]._require_target()
        target.monitor = StateMonitor(state=State.LOST)
        shapes.clear()
        results = tracker.update(frames[2])
        assert shapes == [(2, 3, 64, 64), (1, 3, 104, 104)]
        assert list(results) == [0, 1, 2]


def test_one_is_not_corrected_while_all_are_looked_for(frames: list[Image], monkeypatch: pytest.MonkeyPatch) -> None:
    with make() as tracker:
        tracker.add(frames[0], PATHS[0][0])
        refused = []

        def impatient(*arguments: object) -> None:
            with pytest.raises(BusyError):
                tracker.correct(frames[0], PATHS[0][0], 0)
            refused.append(True)

        monkeypatch.setattr(tracker, "_each", impatient)
        tracker.update(frames[1])
        assert refused
        monkeypatch.undo()
        tracker.update(frames[1])
        assert tracker.correct(frames[1], PATHS[0][1], 0).confidence == 1.0


def test_the_first_frame_takes_two_passes(frames: list[Image], monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker(CONFIG, weights=random_weights(), engine="torch")
    engine = tracker.extract.engine
    counts: list[int] = []

    def counted(rgb: torch.Tensor) -> Maps:
        counts.append(len(rgb))
        return engine(rgb)

    monkeypatch.setattr(tracker.extract, "engine", counted)
    tracker.init(frames[0], PATHS[0][0])
    assert counts[0] == 1 and len(counts) == 2 and counts[1] > 5  # the object, and its variants


def test_whoever_took_longest_of_late_begins_first(frames: list[Image], monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody waits for one who began last and has most to do; the answers keep the order of the names."""
    began: list[str] = []
    with MultiTracker(small_config(), weights=random_weights()) as together:
        for name in ("quick", "slow", "slower"):
            together.add(frames[0], PATHS[0][0], name)
        follow = Tracker.follow

        def slowly(self: Tracker, *arguments: Any) -> Result:
            name = next(name for name, tracker in together._trackers.items() if tracker is self)
            began.append(str(name))
            time.sleep({"quick": 0.0, "slow": 0.2, "slower": 0.4}[str(name)])
            return follow(self, *arguments)

        monkeypatch.setattr(Tracker, "follow", slowly)
        found = [together.update(frame) for frame in frames[1:3]]
    assert began == ["quick", "slow", "slower", "slower", "slow", "quick"]
    assert [list(one) for one in found] == [["quick", "slow", "slower"]] * 2


def test_names(frames: list[Image]) -> None:
    with make(alpha=1.0) as tracker:
        assert tracker.add(frames[0], PATHS[0][0], 0) == 0
        assert tracker.add(frames[0], PATHS[1][0]) == 1
        with pytest.raises(TargetNameError, match="there is a target named 0 already"):
            tracker.add(frames[0], PATHS[2][0], 0)
        tracker.remove(1)
        assert tracker.add(frames[0], PATHS[1][0]) == 2  # a number is never given twice
        for unknown in (tracker.remove, tracker.trace):
            with pytest.raises(TargetNameError, match="there is no target named 'nobody'"):
                unknown("nobody")
        assert tracker.trace(2).result.box == PATHS[1][0]
        tracker.update(frames[1])
        assert tracker.trace(2).frame_index == 1


def test_nobody_to_follow(frames: list[Image]) -> None:
    with make() as tracker:
        assert tracker.update(frames[0]) == {} and len(tracker) == 0
        tracker.add(frames[0], PATHS[0][0])
        tracker.close()
        assert tracker.names == () and tracker.update(frames[1]) == {}


def test_what_cannot_be_used_changes_nothing(frames: list[Image]) -> None:
    other_size = np.zeros((50, 60, 3), np.uint8)
    with make(alpha=1.0) as tracker, make(alpha=1.0) as undisturbed:
        for each in (tracker, undisturbed):
            each.add(frames[0], PATHS[0][0], "a")
            each.add(frames[0], PATHS[1][0], "b")
        with pytest.raises(InvalidFrameError, match="60x50"):
            tracker.update(other_size)
        with pytest.raises(InvalidFrameError, match="60x50 pixels, the targets' frames are 160x112"):
            tracker.add(other_size, (10, 10, 20, 20))
        with pytest.raises(InvalidFrameError):
            tracker.update(None)  # type: ignore[arg-type]
        with pytest.raises(InvalidBoxError):
            tracker.add(frames[0], (500, 500, 20, 20), "c")
        assert tracker.names == ("a", "b")
        assert tracker.update(frames[1]) == undisturbed.update(frames[1])
        assert tracker.trace("a").frame_index == 1
