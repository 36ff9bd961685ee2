"""Save and resume: as if the tracker had never stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core_helpers import follow, random_weights, small_tracker
from synthetic import SyntheticSequence
from tracking_parts import NotInitialisedError, State, StateFileError, Tracker
from tracking_parts.tracker_state import TrackerState

ADAM: dict[str, Any] = {
    "convnet_tap": "conv3_1",
    "first_frames": 2,
    "epochs": 1,
    "learning_rate": 1e-3,
    "confident_radius": 100.0,
}
KINDS: dict[str, dict[str, Any]] = {
    "linear": {},
    "frozen trunk": {"convnet": "frozen_trunk", **ADAM},
    "frozen trunk, all channels": {"convnet": "frozen_trunk", **ADAM, "channels": 0, "convnet_channels": 0},
    "end to end": {"convnet": "end_to_end", **ADAM},
    "random": {"update": "random", "confident_rule": "best_share", "confident_share": 0.5},
    "one role": {"roles": "one", "box_model": "affine"},
    "before the convnet votes": {"first_frames": 8},
}


@pytest.mark.parametrize("kind", KINDS)
def test_resumed_tracker_goes_on_bit_for_bit(kind: str, tmp_path: Path, moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(seed=5, **{"u": 3, **KINDS[kind]})
    follow(tracker, moving_object, 6)
    path = tmp_path / "state.safetensors"
    tracker.save(path)
    resumed = Tracker.from_state(path, weights=random_weights())
    in_memory = Tracker.from_state(tracker.state(), weights=random_weights())
    assert resumed.config == tracker.config
    assert resumed.seed == 5
    for frame in moving_object.frames[6:]:
        expected = tracker.update(frame)
        assert resumed.update(frame) == expected
        assert in_memory.update(frame) == expected
        assert resumed.trace.summary() == tracker.trace.summary()


def test_references_alive_are_resumed_too(moving_object: SyntheticSequence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracking_parts.filter_parts.references.dual_pays", lambda *_: True)
    tracker = small_tracker(u=2, max_references=2)
    follow(tracker, moving_object, 6)
    state = tracker.state()
    assert sum(name.startswith("reference.") for name in state.tensors) == 2
    resumed = Tracker.from_state(state, weights=random_weights())
    for frame in moving_object.frames[6:]:
        expected = tracker.update(frame)
        assert resumed.update(frame) == expected
        assert np.array_equal(resumed.trace.parts.strengths, tracker.trace.parts.strengths)


def test_taking_the_state_changes_nothing(moving_object: SyntheticSequence) -> None:
    expected = follow(small_tracker(u=3), moving_object, 8)
    tracker = small_tracker(u=3)
    results = [tracker.init(moving_object.frames[0], moving_object.boxes[0])]
    for frame in moving_object.frames[1:8]:
        tracker.state()
        results.append(tracker.update(frame))
    assert results == expected


def test_a_state_is_a_moment(moving_object: SyntheticSequence) -> None:
    """What the tracker learns later does not leak into a state taken before."""
    tracker = small_tracker(u=2, convnet="frozen_trunk", **ADAM)
    follow(tracker, moving_object, 5)
    state = tracker.state()
    tensors = {name: values.clone() for name, values in state.tensors.items()}
    values = json.dumps(state.values)
    for frame in moving_object.frames[5:]:
        tracker.update(frame)
    assert json.dumps(state.values) == values
    assert all(torch.equal(state.tensors[name], tensors[name]) for name in tensors)


def test_state_right_after_init(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker()
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    resumed = Tracker.from_state(tracker.state(), weights=random_weights())
    assert resumed.update(moving_object.frames[1]) == tracker.update(moving_object.frames[1])


def test_trace_of_a_resumed_tracker(moving_object: SyntheticSequence) -> None:
    """The last frame's maps are not saved: asking for them is an error of ours, not a failed assertion."""
    tracker = small_tracker()
    follow(tracker, moving_object, 3)
    resumed = Tracker.from_state(tracker.state(), weights=random_weights())
    with pytest.raises(NotInitialisedError, match="resumed"):
        _ = resumed.trace
    resumed.update(moving_object.frames[3])
    assert resumed.trace.frame_index == 3


def test_parallel_state_holds_the_finished_training(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(update="parallel", u=3, confident_radius=100.0)
    follow(tracker, moving_object, 4)  # a training has begun
    state = tracker.state()
    resumed = Tracker.from_state(state, weights=random_weights())
    assert resumed.update(moving_object.frames[4]).state is State.TRACKING
    again = Tracker.from_state(state, weights=random_weights())
    assert again.update(moving_object.frames[4]) == tracker.update(moving_object.frames[4])
    for one in (tracker, resumed, again):
        one.close()


# ---------------------------------------------------------------------- files
@pytest.fixture
def saved(tmp_path: Path, moving_object: SyntheticSequence) -> Path:
    tracker = small_tracker()
    follow(tracker, moving_object, 3)
    path = tmp_path / "state.safetensors"
    tracker.save(path)
    return path


def test_no_leftovers(saved: Path) -> None:
    assert [path.name for path in saved.parent.iterdir()] == ["state.safetensors"]


def test_a_failed_save_keeps_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, state = saved.read_bytes(), TrackerState.load(saved)

    def full_disk(tensors: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tracking_parts.tracker_state.save_file", full_disk)
    with pytest.raises(StateFileError, match=r"cannot write the state to .*state\.safetensors: .*No space"):
        state.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["state.safetensors"]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match="nothing-here"):
        Tracker.from_state(tmp_path / "nothing-here", weights=random_weights())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_cut_off_file(saved: Path, share: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StateFileError):
        Tracker.from_state(saved, weights=random_weights())


def test_foreign_files(tmp_path: Path, saved: Path) -> None:
    foreign = tmp_path / "foreign.safetensors"
    save_file({"x": torch.zeros(2)}, foreign)
    with pytest.raises(StateFileError, match="version"):
        Tracker.from_state(foreign, weights=random_weights())
    save_file({"x": torch.zeros(2)}, foreign, metadata={"format": "tracking-parts state 0", "values": "{}"})
    with pytest.raises(StateFileError, match="version"):
        Tracker.from_state(foreign, weights=random_weights())
    foreign.write_bytes(b"\x80\x04not a pickle either")
    with pytest.raises(StateFileError):
        Tracker.from_state(foreign, weights=random_weights())


def test_missing_pieces(saved: Path) -> None:
    state = TrackerState.load(saved)
    for name in state.values:
        partial = {key: value for key, value in state.values.items() if key != name}
        with pytest.raises(StateFileError):
            Tracker.from_state(TrackerState(partial, state.tensors), weights=random_weights())
    without_filters = {name: values for name, values in state.tensors.items() if "filter" not in name}
    with pytest.raises(StateFileError):
        Tracker.from_state(TrackerState(state.values, without_filters), weights=random_weights())


def test_folder_that_does_not_exist(tmp_path: Path, moving_object: SyntheticSequence) -> None:
    tracker = small_tracker()
    follow(tracker, moving_object, 2)
    with pytest.raises(StateFileError, match="nowhere"):
        tracker.save(tmp_path / "nowhere" / "state.safetensors")
