"""The README's examples in Python do what they say: each block is run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from synthetic import SyntheticSequence, moving_boxes, render_sequence
from tracking_parts import Box, Tracker
from tracking_parts.io.video import VideoWriter, open_source

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
START = Box(120, 80, 60, 40)  # the box of all examples


def block_with(words: str) -> str:
    (block,) = [block for block in BLOCKS if words in block]
    return str(block)


@pytest.fixture
def holiday(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SyntheticSequence:
    """The video that the examples name, in the folder that they run in."""
    sequence = render_sequence(moving_boxes(5, START), size_wh=(400, 240))
    with VideoWriter(tmp_path / "holiday.mp4", 25.0, sequence.size_wh) as writer:
        for frame in sequence.frames:
            writer.write(frame)
    monkeypatch.chdir(tmp_path)
    return sequence


def test_tracking(holiday: SyntheticSequence) -> None:
    names: dict[str, Any] = {}
    exec(block_with("cv2.VideoCapture"), names)
    assert names["result"].box.overlap(holiday.boxes[-1]) > 0.5


def test_correcting(holiday: SyntheticSequence) -> None:
    tracker = Tracker("fast")
    tracker.init(holiday.frames[0], START)
    names: dict[str, Any] = {"tracker": tracker, "frame": holiday.frames[1], "somebody_sees_that_it_is_wrong": True}
    exec(block_with("tracker.correct(frame, (130"), names)
    assert tracker.trace.result.box.xywh == pytest.approx((130, 90, 60, 40))


def test_several_objects(holiday: SyntheticSequence) -> None:
    names: dict[str, Any] = {"first_frame": holiday.frames[0], "frames": holiday.frames[1:]}
    exec(block_with("MultiTracker"), names)
    assert names["results"]["Ann"].box.overlap(holiday.boxes[-1]) > 0.5


def test_supervision(holiday: SyntheticSequence, tmp_path: Path) -> None:
    pytest.importorskip("supervision")
    names: dict[str, Any] = {}
    exec(block_with("to_detections"), names)
    found = names["found"]
    assert Box.around(found["xyxyxyxy"][0]).overlap(holiday.boxes[-1]) > 0.5
    assert found["state"].tolist() == ["tracking"] and 0 < found.confidence[0] <= 1
    with open_source(tmp_path / "boxes.mp4") as written:
        assert sum(1 for _ in written) == len(holiday) - 1
