"""The tracker as its users see it, on synthetic sequences with exact truth."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from core_helpers import follow, overlaps, random_weights, real_weights, small_tracker
from synthetic import SyntheticSequence, moving_boxes, render_sequence
from tracking_parts import (
    Box,
    ConfigError,
    CopyError,
    InvalidBoxError,
    InvalidFrameError,
    NotInitialisedError,
    Result,
    State,
    Tracker,
    TrackerConfig,
)
from tracking_parts.frames import cut_crop
from tracking_parts.voting import peak


# ---------------------------------------------------------------------- following
@pytest.mark.parametrize("seed", [0, 4])
def test_follows_a_moving_object(seed: int) -> None:
    sequence = render_sequence(moving_boxes(16), seed=seed)
    with small_tracker(u=4) as tracker:
        results = follow(tracker, sequence)
    assert min(overlaps(results, sequence)) > 0.5
    assert all(result.state is State.TRACKING for result in results)
    # A tracker that stands still would be at 0.15 by now.
    assert sequence.boxes[0].overlap(sequence.boxes[-1]) < 0.2


def test_follows_a_growing_object(growing_object: SyntheticSequence) -> None:
    with small_tracker(u=4, box_damping=1.0) as tracker:
        results = follow(tracker, growing_object)
    assert min(overlaps(results, growing_object)) > 0.6
    truth = growing_object.boxes[-1].w / growing_object.boxes[0].w
    assert results[-1].box.w / results[0].box.w == pytest.approx(truth, rel=0.1)


def test_follows_a_shrinking_object() -> None:
    sequence = render_sequence(moving_boxes(12, growth=0.98), seed=2)
    with small_tracker(u=4, box_damping=1.0) as tracker:
        results = follow(tracker, sequence)
    truth = sequence.boxes[-1].w / sequence.boxes[0].w
    assert results[-1].box.w / results[0].box.w == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("profile", ["default", "fast"])
def test_profiles_follow_as_they_are(profile: str, moving_object: SyntheticSequence) -> None:
    config = TrackerConfig.profile(profile).override(trunk="whole")
    with Tracker(config, weights=random_weights()) as tracker:
        results = follow(tracker, moving_object, 6)
    assert min(overlaps(results, moving_object)) > 0.6


@pytest.mark.network
def test_follows_with_the_real_weights(moving_object: SyntheticSequence) -> None:
    tracker = Tracker(weights=real_weights())
    assert min(overlaps(follow(tracker, moving_object), moving_object)) > 0.7


def test_a_still_object_stays() -> None:
    sequence = render_sequence([Box(40.3, 30.8, 33, 27)] * 10)
    with small_tracker(u=4) as tracker:
        results = follow(tracker, sequence)
    assert min(overlaps(results, sequence)) > 0.94


# ---------------------------------------------------------------------- the contract
def test_first_result_is_the_given_box(moving_object: SyntheticSequence) -> None:
    result = small_tracker().init(moving_object.frames[0], (20, 25, 32, 28))
    assert result.box.xywh == pytest.approx((20, 25, 32, 28))
    assert np.allclose(result.polygon, Box(20, 25, 32, 28).polygon)
    assert result.confidence == 1.0
    assert result.state is State.TRACKING
    assert all(isinstance(value, float) for value in result.box.xywh)


def test_init_again_starts_afresh(moving_object: SyntheticSequence, growing_object: SyntheticSequence) -> None:
    tracker = small_tracker(u=3)
    follow(tracker, growing_object, 8)
    again = follow(tracker, moving_object, 8)
    assert again == follow(small_tracker(u=3), moving_object, 8)
    assert tracker.trace.frame_index == 7


@pytest.mark.parametrize("settings", [{}, {"convnet": "frozen_trunk", "first_frames": 2, "update": "random"}])
def test_deterministic_for_a_seed(settings: dict[str, Any], moving_object: SyntheticSequence) -> None:
    runs = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        np.random.seed(noise)
        runs.append(follow(small_tracker(seed=3, u=3, **settings), moving_object, 9))
    assert runs[0] == runs[1]


def test_the_seed_matters_where_chance_does(moving_object: SyntheticSequence) -> None:
    settings: dict[str, Any] = {"convnet": "frozen_trunk", "first_frames": 2, "learning_rate": 1e-3}
    runs = [follow(small_tracker(seed=seed, **settings), moving_object, 5) for seed in (0, 1)]
    assert runs[0] != runs[1]


def test_update_before_init(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker()
    for call in (lambda: tracker.update(moving_object.frames[0]), lambda: tracker.trace, tracker.state):
        with pytest.raises(NotInitialisedError, match="init"):
            call()
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    tracker.close()
    with pytest.raises(NotInitialisedError):
        tracker.update(moving_object.frames[0])


def test_frames_that_change_size(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker()
    expected = follow(small_tracker(), moving_object, 4)
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    tracker.update(moving_object.frames[1])
    with pytest.raises(InvalidFrameError, match=r"120x96.*128x96"):
        tracker.update(moving_object.frames[2][:, :120])
    # A refused frame leaves no trace: tracking goes on as if it had never come.
    assert [tracker.update(frame) for frame in moving_object.frames[2:4]] == expected[2:]


def test_a_refused_init_keeps_the_old_target(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker()
    expected = follow(small_tracker(), moving_object, 3)
    follow(tracker, moving_object, 2)
    with pytest.raises(InvalidBoxError):
        tracker.init(moving_object.frames[0], (500, 500, 10, 10))
    with pytest.raises(InvalidFrameError):
        tracker.init(None, (10, 10, 10, 10))  # type: ignore[arg-type]
    assert tracker.update(moving_object.frames[2]) == expected[2]


def test_wrong_profile_or_layer() -> None:
    with pytest.raises(ConfigError, match="papr"):
        Tracker("papr", weights=random_weights())
    with pytest.raises(ConfigError, match="conv9_9"):
        small_tracker(tap="conv9_9")


def test_inputs_are_not_changed(moving_object: SyntheticSequence) -> None:
    frames = [frame.copy() for frame in moving_object.frames[:6]]
    box = np.array(moving_object.boxes[0].xywh)
    weights = {name: values.clone() for name, values in random_weights().items()}
    tracker = small_tracker(u=2)
    tracker.init(frames[0], box)
    for frame in frames[1:]:
        tracker.update(frame)
    assert all(np.array_equal(frame, true) for frame, true in zip(frames, moving_object.frames, strict=False))
    assert tuple(box) == moving_object.boxes[0].xywh
    assert all(torch.equal(values, weights[name]) for name, values in random_weights().items())


def test_a_reused_frame_buffer_does_no_harm(moving_object: SyntheticSequence) -> None:
    """Readers hand out one buffer again and again; what the tracker keeps of a frame must be its own."""
    settings: dict[str, Any] = {
        "convnet": "end_to_end",
        "convnet_tap": "conv2_1",
        "first_frames": 2,
        "epochs": 1,
        "u": 2,
    }
    expected = follow(small_tracker(**settings), moving_object, 6)
    buffer = moving_object.frames[0].copy()
    tracker = small_tracker(**settings)
    results = [tracker.init(buffer, moving_object.boxes[0])]
    for frame in moving_object.frames[1:6]:
        buffer[:] = frame
        results.append(tracker.update(buffer))
    assert results == expected


def test_grey_and_deep_frames_are_tracked(moving_object: SyntheticSequence) -> None:
    expected = follow(small_tracker(), moving_object, 3)
    deep = [frame.astype(np.uint16) * 257 for frame in moving_object.frames[:3]]
    with_alpha = [np.dstack([frame, frame[:, :, :1]]) for frame in moving_object.frames[:3]]
    for frames in (deep, with_alpha):
        tracker = small_tracker()
        results = [tracker.init(frames[0], moving_object.boxes[0]), *(tracker.update(frame) for frame in frames[1:])]
        assert results == expected
    tracker = small_tracker()
    tracker.init(moving_object.frames[0][:, :, 0], moving_object.boxes[0])
    assert tracker.update(moving_object.frames[1][:, :, 0]).box.overlap(moving_object.boxes[1]) > 0.6


# ---------------------------------------------------------------------- the trace
def assert_consistent(tracker: Tracker, result: Result, frame: Any, index: int) -> None:
    trace, config = tracker.trace, tracker.config
    assert trace.frame_index == index
    assert trace.result == result
    assert np.array_equal(trace.crop, cut_crop(frame, trace.window))
    for votes in (trace.filter_votes, trace.convnet_votes, trace.colour_votes, trace.combined_votes):
        assert votes.shape == trace.window.shape
        assert np.isfinite(votes).all()
    assert trace.window.image_from_map(trace.centre) == pytest.approx(result.box.centre, abs=1e-3)
    assert peak(torch.from_numpy(trace.combined_votes)) == pytest.approx(trace.centre, abs=1e-4)
    assert peak(torch.from_numpy(trace.filter_votes)) == pytest.approx(trace.filter_centre, abs=1e-4)
    assert math.dist(trace.filter_centre, trace.convnet_centre) == pytest.approx(trace.pathway_distance, abs=1e-3)
    parts = trace.parts
    near = np.hypot(*(parts.votes - np.array(trace.centre)).T) <= config.agreement_radius
    assert np.array_equal(parts.agreed, near)
    assert trace.part_agreement == pytest.approx(near[parts.roles > 0].mean())
    assert sum(trace.role_counts().values()) == len(parts) == len(set(parts.ids.tolist()))
    json.dumps(trace.summary())


def test_trace_tells_how_the_result_came_about(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(u=3)
    first = tracker.init(moving_object.frames[0], moving_object.boxes[0])
    trace = tracker.trace
    assert trace.result == first
    assert trace.frame_index == 0
    assert len(trace.parts) == 0
    assert not trace.combined_votes.any()
    assert trace.window.image_from_map(trace.centre) == pytest.approx(moving_object.boxes[0].centre)
    json.dumps(trace.summary())
    for index in range(1, 8):
        result = tracker.update(moving_object.frames[index])
        assert_consistent(tracker, result, moving_object.frames[index], index)
        assert 0 <= result.confidence <= 1
    assert Box.around(result.polygon).xywh == pytest.approx(result.box.xywh)


def test_configuration_is_kept(moving_object: SyntheticSequence) -> None:
    config = TrackerConfig.profile("paper")
    assert Tracker(config, weights=random_weights()).config == config


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_tracker_is_not_copied_but_can_be_made_from_a_state(
    duplicate: Callable[[Tracker], object], moving_object: SyntheticSequence
) -> None:
    tracker = small_tracker()
    with pytest.raises(CopyError, match="state"):
        duplicate(tracker)
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    with pytest.raises(CopyError, match="from_state"):
        duplicate(tracker)
    tracker.update(moving_object.frames[1])  # it is as it was
