"""Every version that the paper reports, each a setting; and what must be learned, or must not, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import follow, overlaps, random_weights, small_tracker
from synthetic import SyntheticSequence
from tracking_parts import LearningWarning, State, Tracker, TrackerConfig
from tracking_parts.convnet_part.linear import LinearPathway
from tracking_parts.convnet_part.pathway import Progress

VERSIONS: dict[str, dict[str, Any]] = {
    "combined": {},
    "filter parts only": {"alpha": 1.0},
    "convnet part only": {"alpha": 0.0, "update": "full"},
    "one role": {"roles": "one"},
    "no update": {"update": "none"},
    "full update": {"update": "full"},
    "random frames": {"update": "random"},
    "parallel update": {"update": "parallel"},
    "best share": {"confident_rule": "best_share", "confident_share": 0.5},
    "first frames": {"first_frames": 4},
    "coarser convnet": {"convnet_tap": "conv4_3"},
    "affine": {"box_model": "affine"},
    "similarity": {"box_model": "similarity"},
    "fixed": {"box_model": "fixed"},
    "all channels": {"channels": 0, "convnet_channels": 0, "cell_damping": 0.0},
    "frozen trunk": {"convnet": "frozen_trunk", "learning_rate": 1e-3, "first_frames": 2},
    "own scale": {"vote_scale": "own"},
    "augmented": {"augment": True},
    "augmented, frozen trunk": {"augment": True, "convnet": "frozen_trunk", "learning_rate": 1e-3, "epochs": 4},
}


def events(tracker: Tracker, sequence: SyntheticSequence, count: int) -> list[str]:
    tracker.init(sequence.frames[0], sequence.boxes[0])
    told = list(tracker.trace.events)
    for frame in sequence.frames[1:count]:
        tracker.update(frame)
        told += tracker.trace.events
    return told


def learned(tracker: Tracker, prefix: str) -> dict[str, Tensor]:
    return {n: values.clone() for n, values in tracker.state().tensors.items() if n.startswith(prefix)}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", VERSIONS)
def test_every_version_runs_and_follows(name: str, moving_object: SyntheticSequence) -> None:
    with small_tracker(**{"u": 3, **VERSIONS[name]}) as tracker:
        results = follow(tracker, moving_object, 9)
    assert min(overlaps(results, moving_object)) > 0.5


def test_filter_parts_alone_never_hear_the_convnet(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(alpha=1.0, u=3)
    assert not any("ConvNetPart" in told for told in events(tracker, moving_object, 8))
    assert not tracker.trace.convnet_votes.any()


def test_the_convnet_votes_after_the_first_frames(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(first_frames=4, u=10)
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    voted = []
    for frame in moving_object.frames[1:8]:
        tracker.update(frame)
        voted.append(bool(tracker.trace.convnet_votes.any()))
    assert voted == [False] * 3 + [True] * 4


@pytest.mark.parametrize(("update", "trains"), [("none", False), ("full", True), ("hcf", True), ("random", True)])
@pytest.mark.parametrize("spread", [0, 2])
def test_updates_every_u_frames(update: str, trains: bool, spread: int, moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(
        update=update, u=3, confident_radius=100.0, confident_rule="within_radius", update_frames=spread
    )
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    before = learned(tracker, "convnet.")
    when = []
    for index, frame in enumerate(moving_object.frames[1:10], start=1):
        tracker.update(frame)
        if any(told.startswith("trained") for told in tracker.trace.events):
            when.append(index)
    assert when == ([frame + spread for frame in (3, 6, 9) if frame + spread < 10] if trains else [])
    assert same(learned(tracker, "convnet."), before) != trains


def test_no_confident_frame_no_training(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(update="hcf", u=3, confident_radius=0.0, confident_rule="within_radius")
    assert not any(told.startswith("trained") for told in events(tracker, moving_object, 9))


def test_roles_over_time(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(u=3)
    follow(tracker, moving_object, 12)
    counts = tracker.trace.role_counts()
    assert min(counts.values()) > 0
    one = small_tracker(u=3, roles="one")
    follow(one, moving_object, 12)
    assert one.trace.role_counts()["candidate"] == one.trace.role_counts()["gold"] == 0
    still = small_tracker(u=3, new_parts=False)
    told = events(still, moving_object, 12)
    assert not any("added" in one_event for one_event in told)
    assert still.trace.role_counts()["candidate"] == 0


def test_learning_is_frozen_unless_tracking(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(u=1)
    follow(tracker, moving_object, 5)
    nothing = np.full(moving_object.frames[0].shape, 120, np.uint8)
    states = [tracker.update(nothing).state for _ in range(3)]
    assert states[-1] is not State.TRACKING
    size = tracker.trace.result.box.w
    parts, convnet = learned(tracker, "bank."), learned(tracker, "convnet.")
    for _ in range(4):
        result = tracker.update(nothing)
        if result.state is State.TRACKING:
            break
        assert set(tracker.trace.events) <= {"looked again, widely", "looked again, for another size"}
        assert not tracker.trace.highly_confident
        assert result.box.w == pytest.approx(size)
        assert same(learned(tracker, "bank."), parts)
        assert same(learned(tracker, "convnet."), convnet)
    else:
        return
    pytest.fail("a grey wall counts as the object")


# ---------------------------------------------------------------------- parallel
def hold_up_training(monkeypatch: pytest.MonkeyPatch, gate: threading.Event, error: Exception | None = None) -> None:
    true_training = LinearPathway.training

    def training(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
        if not is_first:
            assert gate.wait(30)
            if error is not None:
                raise error
        yield from true_training(self, first, recent, is_first)

    monkeypatch.setattr(LinearPathway, "training", training)


def test_tracking_never_waits_for_the_training(
    moving_object: SyntheticSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    hold_up_training(monkeypatch, gate)
    tracker = small_tracker(update="parallel", u=3, confident_radius=100.0)
    told = events(tracker, moving_object, 8)  # would hang here if it waited
    assert any("background" in one for one in told)
    assert not any("swapped" in one for one in told)
    gate.set()
    tracker.state()  # waits for the worker
    tracker.close()


def test_a_finished_training_is_swapped_in(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(update="parallel", u=3, confident_radius=100.0)
    follow(tracker, moving_object, 4)
    told: list[str] = []
    for _ in range(200):
        tracker.update(moving_object.frames[4])
        told += tracker.trace.events
        if any("swapped" in one for one in told):
            break
    assert any("swapped" in one for one in told)
    tracker.close()


def test_a_failed_training_is_told_and_tracking_goes_on(
    moving_object: SyntheticSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    gate.set()
    hold_up_training(monkeypatch, gate, ArithmeticError("singular"))
    tracker = small_tracker(update="parallel", u=3, confident_radius=100.0)
    told: list[str] = []
    with pytest.warns(LearningWarning, match="singular"):
        results = follow(tracker, moving_object, 4)
        for frame in [*moving_object.frames[4:6], *[moving_object.frames[6]] * 100]:
            results.append(tracker.update(frame))
            told += tracker.trace.events
            if any("failed" in one for one in told):
                break
    assert any("singular" in one for one in told)
    assert min(overlaps(results[:7], moving_object)) > 0.5
    tracker.close()


# ---------------------------------------------------------------------- the paper, made small
def test_the_paper_trains_its_trunk_end_to_end(moving_object: SyntheticSequence) -> None:
    config = TrackerConfig.profile("paper").override(
        crop_size=64, first_frames=3, n_frames=3, epochs=1, u=3, confident_share=1.0
    )
    tracker = Tracker(config, weights=random_weights())
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    told = list(tracker.trace.events)
    snapshots = [learned(tracker, "convnet.")]
    for frame in moving_object.frames[1:7]:
        tracker.update(frame)
        told += tracker.trace.events
        snapshots.append(learned(tracker, "convnet."))
    assert any("first training" in one for one in told)
    assert any(one.startswith("trained") for one in told)
    for layer in ("conv1_1", "conv2_2", "conv3_3"):
        start = random_weights()[f"{layer}.weight"]
        first, middle, last = (
            next(values for name, values in shot.items() if name.endswith(f"{layer}.weight"))
            for shot in (snapshots[0], snapshots[2], snapshots[-1])
        )
        assert torch.equal(first, start)  # before the third frame nothing is trained
        assert not torch.equal(middle, start)
        assert not torch.equal(last, middle)
    assert all(torch.isfinite(values).all() for values in snapshots[-1].values())
