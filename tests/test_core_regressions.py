"""Defects that were found once and must not come back."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import torch

from core_helpers import follow, random_weights, small_config, small_tracker, smooth_features, square_window
from synthetic import SyntheticSequence
from tracking_parts import Box, InvalidBoxError, Tracker
from tracking_parts.confidence import Evidence, confidence
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.frames import as_box, cut_crop
from tracking_parts.roles import Role
from tracking_parts.voting import Loudness


def test_a_window_far_larger_than_the_crop_keeps_its_geometry() -> None:
    """It is cut from a shrunk frame; a dot must still appear where the window says."""
    frame = np.zeros((1200, 1600, 3), np.uint8)
    cv2.circle(frame, (1000, 700), 60, (255, 255, 255), -1)
    window = square_window(-900, -1100, 3600, 128)
    crop = cut_crop(frame, window)[:, :, 0].astype(float)
    rows, columns = np.indices(crop.shape)
    found = ((columns * crop).sum() / crop.sum() + 0.5, (rows * crop).sum() / crop.sum() + 0.5)
    assert found == pytest.approx(window.crop_from_image((1000.5, 700.5)), abs=0.2)


def test_a_box_of_many_frames_is_refused() -> None:
    frame = np.zeros((48, 64, 3), np.uint8)
    assert as_box((-32, -24, 128, 96), frame).w == 128  # twice the frame
    with pytest.raises(InvalidBoxError, match="times the frame"):
        as_box((-1e5, -1e5, 2e5 + 64, 2e5 + 48), frame)


@pytest.mark.parametrize("settings", [{"update": "none"}, {"alpha": 1.0}], ids=["no update", "filter parts only"])
def test_frames_that_teach_nobody_are_not_kept(settings: dict[str, Any], moving_object: SyntheticSequence) -> None:
    tracker = Tracker(small_config(**{"u": 3, **settings}), weights=random_weights())
    follow(tracker, moving_object)
    saved = tracker.state()
    assert saved.values["memory"]["waiting"] == [] and saved.values["memory"]["recent"] == []


def test_variants_of_the_first_frame_differ_end_to_end(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(convnet="end_to_end", convnet_tap="conv2_1", first_frames=3, augment=True)
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    pictures = [values for name, values in tracker.state().tensors.items() if name.endswith("picture")]
    assert len({picture.numpy().tobytes() for picture in pictures}) == len(pictures) > 5


def test_without_the_second_pathway_no_evidence_is_not_tracking() -> None:
    config = small_config(alpha=1.0)
    nothing = Evidence(0.0, float("nan"), 0.0, 0.0, 0.0, None)
    everything = Evidence(0.8, float("nan"), 1.0, 1.0, 0.2, None)
    assert confidence(nothing, config) < config.lost_below < config.uncertain_below < confidence(everything, config)


def test_a_silent_pathway_sets_no_level() -> None:
    assert Loudness().after(0.2, None) == Loudness(0.2, 0.0)
    later = Loudness().after(0.2, None).after(0.4, 0.6)
    assert (later.filters, later.convnet) == pytest.approx((0.22, 0.6))


def test_parts_learned_on_a_turned_object_remember_where_they_sit_unturned() -> None:
    features, edges = smooth_features(3, 12, 24, 24), np.ones((24, 24), np.float32)
    angle = np.deg2rad(30)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    parts = FilterParts(small_config())
    parts.learn(features, edges, Box.from_centre((12, 12), 7, 7), Role.RELIABLE, turn)
    votes = parts.hear(features)
    assert votes.anchors @ turn.T == pytest.approx(votes.offsets, abs=1e-4)
    assert np.abs(votes.anchors - votes.offsets).max() > 0.5


def test_taking_the_state_of_a_net_copies_it(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(
        convnet="frozen_trunk", first_frames=2, epochs=1, learning_rate=1e-2, u=2, confident_radius=100.0
    )
    follow(tracker, moving_object, 4)
    state = tracker.state()
    before = {name: values.clone() for name, values in state.tensors.items()}
    for frame in moving_object.frames[4:]:
        tracker.update(frame)
    assert all(torch.equal(values, before[name]) for name, values in state.tensors.items())


def test_parts_that_vote_at_once_keep_the_budget(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(roles="one", u=1, n_max=60)
    follow(tracker, moving_object)
    sizes, counts = np.unique(tracker.trace.parts.sizes, axis=0, return_counts=True)
    assert len(sizes) >= 1 and counts.max() <= 60


def test_each_pathway_has_its_own_channels_on_one_layer(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(tap="conv3_1", convnet_tap="conv3_1", channels=24, convnet_channels=8)
    follow(tracker, moving_object, 2)
    tensors = tracker.state().tensors
    assert tensors["projection.parts.axes"].shape[0] == 24
    assert tensors["projection.convnet.axes"].shape[0] == 8
