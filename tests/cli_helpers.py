"""Tiny sources, and a stand-in for the tracker that answers at once."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import cv2
import pytest

from traces_for_viewers import some_picture, some_trace
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import InvalidFrameError
from tracking_parts.frames import Frame, as_box
from tracking_parts.geometry import Box
from tracking_parts.io.video import VideoWriter
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace

WIDTH, HEIGHT = 64, 48


class FakeTracker:
    """Moves its box by half a pixel per frame; in every 12 frames 3 are uncertain and 1 is lost."""

    def __init__(self) -> None:
        self.config: TrackerConfig | None = None
        self.seed: int | None = None
        self.engine = ""
        self.fail_at: int | None = None  # raise what no user can cause
        self.signal_at: tuple[int, signal.Signals] | None = None  # as if the user pressed Ctrl-C in this frame
        self.signals = 1
        self.closed = False
        self._count = 0
        self._box = Box(0, 0, 1, 1)
        self._shape: tuple[int, ...] = ()

    def init(self, frame: Frame, box: Box) -> Result:
        self._box, self._count, self._shape = as_box(box, frame), 0, frame.shape
        return self._answer()

    def update(self, frame: Frame) -> Result:
        if frame.shape != self._shape:
            raise InvalidFrameError(f"the frame's shape changed from {self._shape} to {frame.shape}")
        self._count += 1
        if self._count == self.fail_at:
            raise ZeroDivisionError
        if self.signal_at is not None and self._count == self.signal_at[0]:
            for _ in range(self.signals):
                os.kill(os.getpid(), self.signal_at[1])
        return self._answer()

    def _answer(self) -> Result:
        state = {3: State.LOST, 4: State.UNCERTAIN, 5: State.UNCERTAIN, 6: State.UNCERTAIN}
        box = replace(self._box, x=self._box.x + self._count / 2)
        return Result(box, box.polygon, 0.75, state.get(self._count % 12, State.TRACKING))

    @property
    def trace(self) -> FrameTrace:
        return replace(some_trace(self._count, parts=5), result=self._answer())

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(b"state")

    def close(self) -> None:
        self.closed = True


def use_fake_tracker(monkeypatch: pytest.MonkeyPatch) -> FakeTracker:
    """Let the command make the stand-in; its attributes tell the test what it was made with."""
    fake = FakeTracker()

    def make(config: TrackerConfig, device: str, seed: int, engine: str, saved: Path | None = None) -> FakeTracker:
        fake.config, fake.seed, fake.engine = config, seed, engine
        return fake

    monkeypatch.setattr("tracking_parts.cli_run.make_tracker", make)
    return fake


def pictures(count: int) -> list[Frame]:
    """A bright square that moves over a texture."""
    frames = []
    for index in range(count):
        frame = some_picture(WIDTH, HEIGHT)
        cv2.rectangle(frame, (10 + index, 12), (22 + index, 24), (40, 200, 250), -1)
        frames.append(frame)
    return frames


def make_video(path: Path, count: int) -> Path:
    with VideoWriter(path, 25.0, (WIDTH, HEIGHT)) as writer:
        for frame in pictures(count):
            writer.write(frame)
    return path


def make_folder(path: Path, count: int) -> Path:
    path.mkdir(parents=True)
    for index, frame in enumerate(pictures(count)):
        cv2.imwrite(str(path / f"{index:04d}.png"), frame)
    return path
