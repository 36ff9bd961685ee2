"""Training of the ConvNetPart by Adam, end to end and on a frozen trunk, and training in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from core_helpers import dotted_picture, marked_features, random_weights, small_config, square_window, training_frame
from synthetic import Image
from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part import CentrePathway, View, build_pathway
from tracking_parts.convnet_part.background import BackgroundUpdates
from tracking_parts.convnet_part.net import CentreHead, ConvNet
from tracking_parts.convnet_part.pathway import Progress, Trainable
from tracking_parts.convnet_part.updating import SequentialUpdates
from tracking_parts.learning_faults import Fault

CPU = torch.device("cpu")
KINDS = ("frozen_trunk", "end_to_end")
DOT = (70.3, 61.8)  # in the picture


def pathway_of(kind: str, seed: int = 0, **settings_: Any) -> CentrePathway:
    # Up to conv3_1: the same code as up to conv3_3, in half the time.
    fast = {"convnet_tap": "conv3_1", "learning_rate": 1e-3, "epochs": 4, "batch_size": 4}
    config = small_config(convnet=kind, **{**fast, **settings_})
    return build_pathway(config, random_weights(), 8, CPU, seed)


def picture() -> Image:
    return dotted_picture(140, DOT, sigma=5.0)


def view_of_dot(pixel: tuple[int, int] = (0, 0)) -> View:
    """A look at the dot: black but for it. Features carry a pattern at the same place."""
    window = square_window(36 + pixel[0], 30 + pixel[1], 64, 64)
    frame = picture()
    crop = frame[window.top : window.top + 64, window.left : window.left + 64]
    features = marked_features((8, 8), cells=16)
    return View(frame, window, np.ascontiguousarray(crop), torch.zeros(4, 16, 16), features)


def samples(pathway: CentrePathway, count: int = 2) -> list[TrainingFrame]:
    views = [view_of_dot((index, -index)) for index in range(count)]
    return [pathway.sample(view, view.window.map_from_image(DOT), (4.0, 4.0), i) for i, view in enumerate(views)]


def train_and_watch(
    pathway: CentrePathway, frames: list[TrainingFrame], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[Tensor, Tensor]], list[float]]:
    """What the net was shown and asked for, one pair per sample, and the loss of each step."""
    inputs: list[Tensor] = []
    pairs: list[tuple[Tensor, Tensor]] = []
    losses: list[float] = []
    outermost = ConvNet if any(frame.picture is not None for frame in frames) else CentreHead

    def see(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if isinstance(module, outermost):
            inputs.append(arguments[0].detach().clone())

    true_loss = nn.functional.mse_loss

    def compare(answer: Tensor, target: Tensor) -> Tensor:
        pairs.extend(zip(inputs[-1], target, strict=True))
        loss = true_loss(answer, target)
        losses.append(float(loss.detach()))
        return loss

    monkeypatch.setattr(nn.functional, "mse_loss", compare)
    hook = nn.modules.module.register_module_forward_pre_hook(see)
    try:
        pathway.train(frames, [], is_first=True)
    finally:
        hook.remove()
    return pairs, losses


def mass_centre(plane: Tensor) -> tuple[float, float]:
    rows, columns = torch.arange(plane.shape[0]).float(), torch.arange(plane.shape[1]).float()
    return (float(plane.sum(0) @ columns / plane.sum()), float(plane.sum(1) @ rows / plane.sum()))


@pytest.mark.parametrize("kind", KINDS)
def test_loss_decreases(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pathway = pathway_of(kind, epochs=12, batch_size=16, stamp_radius=1.0, learning_rate=5e-3)
    _, losses = train_and_watch(pathway, samples(pathway), monkeypatch)
    assert len(losses) == 12
    assert losses[-1] < 0.8 * losses[0]


def test_picture_and_stamp_shift_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pathway = pathway_of("end_to_end", epochs=1, shifts_per_frame=4)
    frames = samples(pathway)
    pairs, _ = train_and_watch(pathway, frames, monkeypatch)
    assert len(pairs) == 8
    places = set()
    for rgb, stamp in pairs:
        assert rgb.shape == (3, 64, 64)
        assert stamp.shape == (16, 16)
        x, y = mass_centre(rgb.mean(dim=0))  # pixel indices
        wanted = ((x + 0.5) / 4 - 0.5, (y + 0.5) / 4 - 0.5)
        assert mass_centre(stamp) == pytest.approx(wanted, abs=0.2)
        places.add((round(x), round(y)))
    assert len(places) >= 4  # they are shifted, and not all alike


def test_features_and_stamp_shift_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pathway = pathway_of("frozen_trunk", epochs=1, shifts_per_frame=6, max_shift=0.4)
    maps = torch.zeros(8, 16, 16)
    maps[:, 8, 7] = 1.0
    pairs, _ = train_and_watch(pathway, [training_frame(maps, (7.0, 8.0))], monkeypatch)
    places = set()
    for features, stamp in pairs:
        place = mass_centre(features.sum(dim=0))
        assert mass_centre(stamp) == pytest.approx(place, abs=0.1)
        places.add(place)
    assert len(places) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_two_pairs_per_frame_and_k_epochs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pathway = pathway_of(kind, epochs=2, shifts_per_frame=2)
    pairs, _ = train_and_watch(pathway, samples(pathway, 3), monkeypatch)
    assert len(pairs) == 3 * 2 * 2


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic_for_a_seed(kind: str) -> None:
    def learned(seed: int) -> dict[str, Tensor]:
        pathway = pathway_of(kind, seed, epochs=1)
        pathway.train(samples(pathway), [], is_first=True)
        return pathway.tensors()

    torch.manual_seed(1)
    first = learned(0)
    torch.manual_seed(2)  # the global generator plays no part
    second, other = learned(0), learned(1)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("kind", KINDS)
def test_training_leaves_the_global_generator_alone(kind: str) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    pathway = pathway_of(kind, epochs=1)
    pathway.train(samples(pathway, 1), [], is_first=True)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("kind", KINDS)
def test_clone_is_independent(kind: str) -> None:
    pathway = pathway_of(kind, epochs=1)
    view = view_of_dot()
    before = pathway.vote(view).clone()
    clone = pathway.clone()
    assert torch.equal(clone.vote(view), before)
    clone.train(samples(clone), [], is_first=True)
    assert torch.equal(pathway.vote(view), before)
    assert not torch.equal(clone.vote(view), before)


def test_end_to_end_trains_the_trunk_too_and_not_the_shared_weights() -> None:
    weights = random_weights()
    before = {name: values.clone() for name, values in weights.items()}
    pathway = pathway_of("end_to_end", epochs=1, convnet_tap="conv3_3")
    start = {name: values.clone() for name, values in pathway.tensors().items()}
    pathway.train(samples(pathway), [], is_first=True)
    changed = {name for name, values in pathway.tensors().items() if not torch.equal(values, start[name])}
    for layer in ("conv1_1", "conv2_2", "conv3_3"):
        assert any(f"{layer}.weight" in name for name in changed)
    assert all(torch.equal(weights[name], values) for name, values in before.items())


# ---------------------------------------------------------------------- training in the background
class Learner(Trainable):
    """A pathway whose training can be held up, or fails."""

    def __init__(self, gate: threading.Event | None = None, error: Exception | None = None) -> None:
        self.gate, self.error = gate, error
        self.knowledge = 0

    def vote(self, view: View) -> Tensor:
        return torch.full((1, 1), float(self.knowledge))

    def sample(self, view: View, centre: Any, object_in_map: Any, frame_index: int) -> TrainingFrame:
        raise NotImplementedError

    def variants(self, view: View, centre: Any, object_in_map: Any, look: Any) -> list[TrainingFrame]:
        raise NotImplementedError

    def training(
        self, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
    ) -> Iterator[Progress]:
        """Seven pieces: known is how many were done, and at the end how many frames there were."""
        for piece in range(1, 8):
            self.knowledge = -piece
            if self.gate is not None:
                assert self.gate.wait(20)
            if self.error is not None:
                raise self.error
            if piece == 7:
                self.knowledge = len(first) + len(recent)
            yield Progress(piece / 7, torch.tensor(1.75 / piece))

    def clone(self) -> Learner:
        copy = Learner(self.gate, self.error)
        copy.knowledge = self.knowledge
        return copy

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        raise NotImplementedError


FRAMES = [training_frame(torch.zeros(1, 2, 2), (0.0, 0.0), index) for index in range(3)]


def test_sequential_training_is_done_at_once() -> None:
    updates, learner = SequentialUpdates(), Learner()
    assert "3 frames" in updates.train(learner, FRAMES[:1], FRAMES[1:])
    assert learner.knowledge == 3
    assert updates.collect(learner) == (learner, None)
    updates.close()


def test_a_training_spread_over_frames_does_equal_pieces() -> None:
    updates, learner = SequentialUpdates(3), Learner()
    assert "begins" in updates.train(learner, FRAMES[:1], FRAMES[1:])
    assert learner.knowledge == 0  # the frame that asks for it does not pay
    assert updates.collect(learner) == (learner, None)
    assert learner.knowledge == -3  # of seven: a third, rounded up
    assert updates.collect(learner) == (learner, None)
    assert learner.knowledge == -5
    _, news = updates.collect(learner)
    assert news is not None
    assert "3 frames, loss 0.25" in news
    assert learner.knowledge == 3
    assert updates.collect(learner) == (learner, None)


def test_a_training_that_comes_too_early_ends_the_one_before() -> None:
    updates, learner = SequentialUpdates(3), Learner()
    updates.train(learner, FRAMES, [])
    updates.collect(learner)
    updates.train(learner, FRAMES[:2], [])
    assert learner.knowledge == 3
    for _ in range(3):
        updates.collect(learner)
    assert learner.knowledge == 2


def test_an_unfinished_training_is_told_by_its_beginning() -> None:
    updates, learner = SequentialUpdates(3), Learner()
    learner.knowledge = 50
    updates.train(learner, FRAMES, [])
    updates.collect(learner)
    unfinished = updates.unfinished
    assert unfinished is not None
    assert isinstance(unfinished.begun_from, Learner)
    assert (unfinished.begun_from.knowledge, unfinished.frames_done) == (50, 1)

    again, resumed = SequentialUpdates(3), unfinished.begun_from
    again.resume(resumed, FRAMES, [], unfinished.frames_done)
    for _ in range(2):
        updates.collect(learner)
        again.collect(resumed)
        assert resumed.knowledge == learner.knowledge
    assert again.unfinished is None


def test_background_training_never_blocks_and_is_swapped_in_whole() -> None:
    gate = threading.Event()
    updates, learner = BackgroundUpdates(), Learner(gate)
    assert "background" in updates.train(learner, FRAMES[:1], FRAMES[1:])
    for _ in range(3):  # still running: the old pathway goes on, untouched
        assert updates.collect(learner) == (learner, None)
        assert learner.knowledge == 0
    assert "skipped" in updates.train(learner, FRAMES, [])
    gate.set()
    trained, news = updates.wait(learner)
    assert isinstance(trained, Learner)
    assert trained is not learner
    assert (trained.knowledge, learner.knowledge) == (3, 0)
    assert news is not None
    assert "0.25" in news
    assert updates.collect(trained) == (trained, None)  # told once
    assert "started" in updates.train(trained, FRAMES, [])
    updates.close()


def test_an_error_in_training_is_reported_and_tracking_goes_on() -> None:
    updates, learner = BackgroundUpdates(), Learner(error=ZeroDivisionError("no frames"))
    updates.train(learner, FRAMES, [])
    kept, news = updates.wait(learner)
    assert kept is learner
    assert learner.knowledge == 0
    assert isinstance(news, Fault)
    assert "no frames" in news
    learner.error = None
    updates.train(learner, FRAMES, [])
    trained, _ = updates.wait(learner)
    assert isinstance(trained, Learner)
    assert trained.knowledge == 3
    updates.close()
