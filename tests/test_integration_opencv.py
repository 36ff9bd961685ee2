"""Code written for OpenCV's trackers runs ours unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import pytest

from synthetic import Image, SyntheticSequence, moving_boxes, render_sequence
from tracking_parts import NotInitialisedError, Result, State, TrackerConfig
from tracking_parts.geometry import Box
from tracking_parts.integrations.opencv_style import OpenCVStyleTracker, whole_pixels

OpenCVAnswer = tuple[bool, tuple[int, int, int, int]]


def follow(make: Callable[[], Any], frames: list[Image], box: tuple[int, int, int, int]) -> list[OpenCVAnswer]:
    """A loop as everybody writes it for OpenCV."""
    tracker = make()
    tracker.init(frames[0], box)
    answers = []
    for frame in frames[1:]:
        found, (x, y, w, h) = tracker.update(frame)
        cv2.rectangle(frame.copy(), (x, y), (x + w, y + h), (0, 0, 255), 2)  # takes whole numbers only
        answers.append((found, (x, y, w, h)))
    return answers


@pytest.mark.parametrize(
    "make", [cv2.TrackerMIL.create, lambda: OpenCVStyleTracker("fast")], ids=["cv2.TrackerMIL", "ours"]
)
def test_the_same_loop_runs_both(make: Callable[[], Any], moving_object: SyntheticSequence) -> None:
    x, y, w, h = moving_object.boxes[0].xywh
    answers = follow(make, moving_object.frames, (int(x), int(y), int(w), int(h)))
    assert len(answers) == len(moving_object) - 1
    for (found, box), truth in zip(answers, moving_object.boxes[1:], strict=True):
        assert found is True
        assert [type(value) for value in box] == [int] * 4
        assert Box(*box).overlap(truth) > 0.4


def test_a_lost_object_is_not_found() -> None:
    """After the scene is replaced by another one, with settings that call it lost at the first doubt."""
    config = TrackerConfig.profile("fast").override(lost_after=1, lost_below=0.9, uncertain_below=0.95)
    seen = render_sequence(moving_boxes(3), seed=1).frames
    other = render_sequence(moving_boxes(2, start=Box(90, 60, 20, 20)), seed=2).frames
    tracker = OpenCVStyleTracker(config)
    tracker.init(seen[0], (20, 25, 32, 28))
    assert tracker.update(seen[1])[0] is True
    found, box = tracker.update(other[1])
    assert found is False
    assert box[2] > 0 and box[3] > 0  # the last box believed, not zeros
    assert isinstance(tracker.result, Result) and tracker.result.state is State.LOST


def test_the_full_answer_stays_at_hand(moving_object: SyntheticSequence) -> None:
    fresh = OpenCVStyleTracker("fast")
    assert fresh.result is None
    with pytest.raises(NotInitialisedError):
        fresh.update(moving_object.frames[0])
    tracker = OpenCVStyleTracker("fast")
    tracker.init(moving_object.frames[0], moving_object.boxes[0].xywh)
    _, box = tracker.update(moving_object.frames[1])
    assert tracker.result is not None
    assert box == whole_pixels(tracker.result.box)
    tracker.close()
    assert tracker.result is None


def test_whole_pixels_keep_the_edges_nearest() -> None:
    assert whole_pixels(Box(1.4, 2.6, 10.2, 5.0)) == (1, 3, 11, 5)
    assert whole_pixels(Box(-3.6, 0.2, 0.1, 0.3)) == (-4, 0, 1, 1)
