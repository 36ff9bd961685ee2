"""The same code on another device: nothing mixes devices, and a frame waits for the device twice, however many parts.

No GPU was ever used for these tests. Whole trackers run on a pretended device (:mod:`fake_device`), which computes on
the CPU but keeps tensors apart and counts who waits. What only a real GPU can tell (speed, memory, the last digits) is
not tested, nor is training in the background, whose thread the pretended device does not reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import random_weights, small_config
from fake_device import CPU, FAR, FakeDevice, MixedDevicesError
from synthetic import SyntheticSequence
from tracking_parts import MultiTracker, Result, Tracker
from tracking_parts.filter_parts.bank import PartBank
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.target import Target

WAITS_PER_FRAME = 2  # for the decision, then for the parts' own votes around it
WAITS_PER_SIZE = 3  # of learning parts: twice whether the matrix can be inverted, then the classifiers' ratios
WAITS_PER_TRAINING = 1  # its loss


@pytest.fixture
def device() -> Iterator[FakeDevice]:
    with FakeDevice() as active:
        yield active


def small_tracker_on(where: torch.device, **settings: Any) -> Tracker:
    profile = settings.pop("profile", "default")
    return Tracker(small_config(profile, **settings), weights=random_weights(), device=where, engine="torch")


# --------------------------------------------------------------------------- the pretended device
def test_the_pretended_device_has_values_and_keeps_apart(device: FakeDevice) -> None:
    far = torch.ones(2, 3).to(FAR)
    assert far.device == FAR
    assert (device.sent.total(), device.waits.total()) == (1, 0)
    assert (2 * far + torch.tensor(1.0)).sum().cpu() == 18
    with pytest.raises(MixedDevicesError):
        far + torch.ones(2, 3)
    with pytest.raises(MixedDevicesError):
        far[torch.tensor([0, 1])]
    with pytest.raises(RuntimeError, match="numpy"):
        far.numpy()


@pytest.mark.parametrize(
    "wait",
    [
        lambda far: float(far[0, 0]),
        lambda far: far.sum().item(),
        lambda far: bool(far.any()),
        lambda far: far.cpu(),
        lambda far: far[far > 0],
        lambda far: far[far[0, 0].long()],
        lambda far: far.nonzero(),
        lambda far: torch.zeros(2, 3).copy_(far),
        lambda far: torch.linalg.cholesky(far @ far.T + torch.eye(2, device=FAR)),
        lambda far: torch.equal(far, far),
    ],
)
def test_whoever_waits_is_counted(wait: Callable[[Tensor], object], device: FakeDevice) -> None:
    far = torch.ones(2, 3, device=FAR)
    wait(far)
    assert device.waits.total() == 1
    with torch.inference_mode():
        wait(far)
    assert device.waits.total() == 2


def test_what_stays_on_the_device_waits_for_nobody(device: FakeDevice) -> None:
    far = torch.arange(12.0, device=FAR).view(3, 4)
    far[:, 1:3].mul_(far.max())
    torch.stack([far.argmax(dim=1), far.long().sum(dim=1)])
    assert not device.waits and not device.sent
    assert far.cpu().tolist() == [[0, 11, 22, 3], [4, 55, 66, 7], [8, 99, 110, 11]]


# --------------------------------------------------------------------------- whole trackers
KINDS: dict[str, dict[str, Any]] = {
    "default": {"augment": True},
    "all channels": {"channels": 0, "convnet_channels": 0},
    "end to end": {"profile": "paper", "epochs": 1, "first_frames": 2},
    "frozen trunk": {"convnet": "frozen_trunk", "epochs": 1},
    "parts alone": {"alpha": 1.0},
    "usual height": {"vote_scale": "usual"},
    "always lost": {"lost_below": 0.97, "uncertain_below": 0.98, "lost_after": 1, "freeze_when_unsure": False},
}


def tensors_of(target: Target) -> dict[str, Tensor]:
    """All that a target keeps of the features."""
    frames = [*target.memory.first, *target.memory.recent, *(frame for frame, _ in target.memory.waiting)]
    return {
        **{f"projection {name}": projection.axes for name, projection in target.projections.items()},
        **{f"bank {bank.size}": bank.filters for bank in target.parts.banks},
        **{f"reference {dual.size}": dual.form.coefficients for dual in target.parts.references},
        **{f"frame {number}": frame.features for number, frame in enumerate(frames) if frame.features is not None},
    }


def answers(results: list[Result]) -> list[float]:
    return [number for result in results for number in (*result.box.xywh, result.confidence)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_video_is_tracked_on_the_device_as_on_the_cpu(kind: str, moving_object: SyntheticSequence) -> None:
    """Trackers of every kind, learning included: had a tensor been made on the CPU, an operation would have raised."""
    boxes: dict[torch.device, list[float]] = {}
    with FakeDevice():
        for where in (CPU, FAR):
            with small_tracker_on(where, u=2, **KINDS[kind]) as tracker:
                found = [tracker.init(moving_object.frames[0], moving_object.boxes[0])]
                found += [tracker.update(frame) for frame in moving_object.frames[1:6]]
                boxes[where] = answers(found)
                assert {name: kept.device for name, kept in tensors_of(tracker._require_target()).items()} == (
                    dict.fromkeys(tensors_of(tracker._require_target()), where)
                )
                assert tracker.trace.combined_votes.any()
    assert boxes[FAR] == pytest.approx(boxes[CPU], abs=1e-3)


def test_responding_in_the_dual_on_the_device(
    moving_object: SyntheticSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracking_parts.filter_parts.references.dual_pays", lambda *_: True)
    test_a_video_is_tracked_on_the_device_as_on_the_cpu("default", moving_object)


def test_a_state_moves_between_devices(moving_object: SyntheticSequence, tmp_path: Path) -> None:
    frames = moving_object.frames
    with FakeDevice():
        with small_tracker_on(FAR, u=2) as tracker:
            tracker.init(frames[0], moving_object.boxes[0])
            tracker.update(frames[1])
            tracker.save(tmp_path / "state")
            expected = answers([tracker.update(frame) for frame in frames[2:5]])
        for where in (CPU, FAR):
            with Tracker.from_state(tmp_path / "state", device=where, weights=random_weights()) as resumed:
                found = answers([resumed.update(frame) for frame in frames[2:5]])
            assert found == pytest.approx(expected, abs=1e-3)


def test_several_objects_on_the_device(moving_object: SyntheticSequence) -> None:
    with FakeDevice(), MultiTracker(small_config(), weights=random_weights(), device=FAR) as several:
        for _ in range(2):
            several.add(moving_object.frames[0], moving_object.boxes[0])
        found = several.update(moving_object.frames[1])
        assert found[0] == found[1]


# --------------------------------------------------------------------------- who waits
def with_parts(parts: FilterParts, count: int) -> None:
    """The parts that there are, over and over, until there are so many in each bank."""
    banks: list[PartBank] = []
    for bank in parts.banks:
        many = bank
        while len(many) < count:
            many = many.join(many)
        banks.append(many.keep(np.arange(len(many)) < count))
    parts.restore(banks, parts.next_id)


def frame_counts(parts: int, sequence: SyntheticSequence, **settings: Any) -> tuple[list[int], list[int]]:
    """Waits, and copies to the device, of some updates with so many parts of each size."""
    waits, sent = [], []
    with FakeDevice() as device, small_tracker_on(FAR, **settings) as tracker:
        tracker.init(sequence.frames[0], sequence.boxes[0])
        with_parts(tracker._require_target().parts, parts)
        for frame in sequence.frames[1:5]:
            device.forget()
            tracker.update(frame)
            waits.append(device.waits.total())
            sent.append(device.sent.total())
        assert len(tracker._require_target().parts) >= parts
    return waits, sent


@pytest.mark.parametrize("kind", ["default", "all channels", "frozen trunk", "parts alone", "end to end"])
def test_a_frame_waits_twice_however_many_parts(kind: str, moving_object: SyntheticSequence) -> None:
    few = frame_counts(50, moving_object, u=100, **KINDS[kind])
    many = frame_counts(300, moving_object, u=100, **KINDS[kind])
    assert few == many
    waits, sent = many
    training = WAITS_PER_TRAINING if kind == "end to end" else 0  # on its second frame
    assert waits == [WAITS_PER_FRAME + training] + [WAITS_PER_FRAME] * 3
    assert max(sent[1:]) <= 2  # the crop, for every network


@pytest.mark.parametrize(("n_max", "by_budget"), [(1000, 0), (10, 1)])
def test_learning_waits_by_the_sizes_of_parts_not_by_parts(
    n_max: int, by_budget: int, moving_object: SyntheticSequence
) -> None:
    """Over the budget, how much new parts resemble older ones is read too."""
    settings: dict[str, Any] = {"u": 1, "n_max": n_max, "roles": "one", "update_frames": 0}
    sizes = len(small_config().part_sizes)  # at most: those of which nothing can be selected are left out
    for parts in (50, 300):
        waits, sent = frame_counts(parts, moving_object, **settings)
        assert max(sent) < 50  # patches and indices, by the rows of every size
        assert max(waits) <= WAITS_PER_FRAME + (WAITS_PER_SIZE + by_budget) * sizes + WAITS_PER_TRAINING
