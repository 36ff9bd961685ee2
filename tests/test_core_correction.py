"""A person's correction: the object is put where it is, and nothing that was learned is forgotten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core_helpers import follow, random_weights, small_tracker
from synthetic import SyntheticSequence
from tracking_parts import Box, InvalidBoxError, InvalidFrameError, NotInitialisedError, State, TargetNameError, Tracker
from tracking_parts.box_estimation import Shape
from tracking_parts.config import TrackerConfig
from tracking_parts.multi_tracker import MultiTracker
from tracking_parts.tracker_state import pack_shape, unpack_shape

KINDS: dict[str, dict[str, Any]] = {
    "linear": {},
    "spread training": {"update_frames": 4, "u": 2},
    "frozen trunk": {"convnet": "frozen_trunk", "convnet_tap": "conv3_1", "first_frames": 2, "epochs": 1},
    "before the convnet votes": {"first_frames": 8},
    "parallel": {"update": "parallel"},
    "learns nothing later": {"update": "none", "new_parts": False, "roles": "one"},
    "parts only": {"alpha": 1.0},
    "affine": {"box_model": "affine"},
}


def moved(box: Box, by: float) -> Box:
    return replace(box, x=box.x + by)


@pytest.mark.parametrize("kind", KINDS)
def test_goes_on_from_the_box_and_keeps_what_it_knows(kind: str, moving_object: SyntheticSequence) -> None:
    with small_tracker(**{"u": 3, **KINDS[kind]}) as tracker:
        follow(tracker, moving_object, 5)
        known = set(tracker.trace.parts.ids.tolist())
        frame, box = moving_object.frames[4], moving_object.boxes[4]
        result = tracker.correct(frame, box)
        assert result.box.xywh == pytest.approx(box.xywh) and result.state is State.TRACKING and result.confidence == 1
        trace = tracker.trace
        assert trace.highly_confident and trace.events[0] == "corrected by hand" and trace.frame_index == 4
        assert known <= set(trace.parts.ids.tolist())
        found = tracker.update(moving_object.frames[5])
        assert known < set(tracker.trace.parts.ids.tolist()), "new parts vote beside the old ones"
        assert found.box.overlap(moving_object.boxes[5]) > 0.6


def test_a_drifted_tracker_is_brought_back(moving_object: SyntheticSequence) -> None:
    """It is shown the object where a person says so, and follows that from then on, not its own place."""
    tracker, left_alone = small_tracker(), small_tracker()
    wrong = moved(moving_object.boxes[0], 30)
    for one in (tracker, left_alone):
        one.init(moving_object.frames[0], wrong)
        for frame in moving_object.frames[1:4]:
            one.update(frame)
    tracker.correct(moving_object.frames[3], moving_object.boxes[3])
    overlaps = {
        one: float(
            np.mean(
                [
                    one.update(frame).box.overlap(box)
                    for frame, box in zip(moving_object.frames[4:], moving_object.boxes[4:], strict=True)
                ]
            )
        )
        for one in (tracker, left_alone)
    }
    assert overlaps[tracker] > 0.5 > overlaps[left_alone]


@pytest.mark.parametrize("kind", KINDS)
def test_saved_after_a_correction_it_resumes_bit_for_bit(
    kind: str, tmp_path: Path, moving_object: SyntheticSequence
) -> None:
    with small_tracker(seed=5, **{"u": 3, **KINDS[kind]}) as tracker:
        follow(tracker, moving_object, 5)
        tracker.correct(moving_object.frames[4], moved(moving_object.boxes[4], 2))
        tracker.save(tmp_path / "state.safetensors")
        if kind == "parallel":  # later trainings end when they end
            return
        with Tracker.from_state(tmp_path / "state.safetensors", weights=random_weights()) as resumed:
            for frame in moving_object.frames[5:]:
                assert resumed.update(frame) == tracker.update(frame)


def test_the_same_correction_gives_the_same_boxes(moving_object: SyntheticSequence) -> None:
    answers = []
    for _ in range(2):
        tracker = small_tracker(u=2)
        follow(tracker, moving_object, 4)
        tracker.correct(moving_object.frames[3], moving_object.boxes[3])
        answers.append([tracker.update(frame) for frame in moving_object.frames[4:]])
    assert answers[0] == answers[1]


def test_what_cannot_be_used_changes_nothing(moving_object: SyntheticSequence) -> None:
    tracker, undisturbed = small_tracker(), small_tracker()
    with pytest.raises(NotInitialisedError):
        tracker.correct(moving_object.frames[0], moving_object.boxes[0])
    for one in (tracker, undisturbed):
        follow(one, moving_object, 4)
    with pytest.raises(InvalidBoxError):
        tracker.correct(moving_object.frames[3], (1, 2, 0, 3))
    with pytest.raises(InvalidFrameError):
        tracker.correct(moving_object.frames[3][:-2], moving_object.boxes[3])
    assert tracker.update(moving_object.frames[4]) == undisturbed.update(moving_object.frames[4])


@pytest.mark.parametrize(("w", "h"), [(40.0, 40.0), (20.0, 80.0), (2.0, 3.0), (4000.0, 10.0)])
def test_any_box_becomes_the_outline_and_survives_saving(w: float, h: float) -> None:
    config = TrackerConfig()
    shape = Shape(30.0, 40.0, 1.2, ((1.0, 0.1), (0.0, 1.0))).corrected(w, h, config)
    assert shape.size == pytest.approx((w, h)) and shape.box((5.0, 6.0)).xywh == pytest.approx(
        (5 - w / 2, 6 - h / 2, w, h)
    )
    assert 1 / config.max_box_change <= shape.scale <= config.max_box_change
    assert unpack_shape(pack_shape(shape)) == shape
    again = shape.moved_by(1.02 * np.eye(2), config)
    assert again.stretch == shape.stretch, "tracking goes on with the corrected sides"


def test_one_of_several_is_corrected(moving_object: SyntheticSequence) -> None:
    config = small_tracker().config
    with MultiTracker(config, weights=random_weights(), engine="torch") as many:
        many.add(moving_object.frames[0], moved(moving_object.boxes[0], 6), "a")
        many.add(moving_object.frames[0], moving_object.boxes[0], "b")
        many.update(moving_object.frames[1])
        untouched = many.trace("b").summary()
        corrected = many.correct(moving_object.frames[1], moving_object.boxes[1], "a")
        assert corrected.box.xywh == pytest.approx(moving_object.boxes[1].xywh)
        assert many.trace("b").summary() == untouched and set(many.update(moving_object.frames[2])) == {"a", "b"}
        with pytest.raises(TargetNameError):
            many.correct(moving_object.frames[2], moving_object.boxes[2], "c")
