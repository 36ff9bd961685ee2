"""Factorised layers: the regression, both engines, the work counted, the tracker on them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import random_weights, real_weights, small_config
from synthetic import SyntheticSequence, random_texture
from tracking_parts import Tracker, WeightsError
from tracking_parts.features import TorchTrunk, VGGTrunk, rgb_batch
from tracking_parts.light_trunk import RANKS, Regression, factorise
from tracking_parts.light_weights import calibration_crops, trunk_weights
from tracking_parts.profiling.operations import counted_operations, trunk_operations
from tracking_parts.trunk_engines import TOLERANCE, NcnnTrunk, layers_up_to, structure_text
from tracking_parts.vgg import VGG_LAYERS, ranks_of, vgg_layer

CPU = torch.device("cpu")
TAPS = ("conv1_2", "conv2_2")
SOME_RANKS = {"conv1_2": 12, "conv2_2": 20}


def pictures(count: int, seed: int, size: int = 32) -> Tensor:
    rng = np.random.default_rng(seed)
    return rgb_batch([random_texture(rng, size, size) for _ in range(count)], CPU)


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.fixture(scope="module")
def light() -> dict[str, Tensor]:
    return factorise(random_weights(), pictures(12, seed=1), SOME_RANKS)


# --------------------------------------------------------------------------- the regression
def test_of_full_rank_it_is_ordinary_least_squares() -> None:
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(rng.normal(size=(200, 6))) for _ in range(2))
    fitted = Regression.fit(a, b, 6)
    with_ones = torch.cat([a, torch.ones(200, 1)], dim=1)
    expected = with_ones @ torch.linalg.lstsq(with_ones, b).solution
    found = fitted.mean_b + (a - fitted.mean_a) @ (fitted.u @ fitted.p).T
    assert torch.allclose(found, expected, atol=1e-5)


def test_it_beats_the_best_truncation_of_what_it_starts_from() -> None:
    """b depends on the weakest directions of a: those that principal components of a would drop."""
    rng = np.random.default_rng(1)
    a = torch.from_numpy(rng.normal(size=(500, 8)) * np.linspace(5, 0.5, 8))
    b = a[:, 6:] @ torch.from_numpy(rng.normal(size=(2, 8)))
    fitted = Regression.fit(a, b, 2)
    found = fitted.mean_b + (a - fitted.mean_a) @ (fitted.u @ fitted.p).T
    assert relative_error(found, b) < 1e-4
    assert fitted.u.shape == (8, 2) and torch.allclose(fitted.u.T @ fitted.u, torch.eye(2).double())


# --------------------------------------------------------------------------- factorise
def test_full_ranks_reproduce_the_net() -> None:
    ranks = {name: vgg_layer(name).out_channels for name in ("conv1_2", "conv2_1", "conv2_2")}
    full = factorise(random_weights(), pictures(12, seed=1), ranks)
    seen = pictures(2, seed=2)
    expected, found = TorchTrunk(random_weights(), TAPS, CPU)(seen), TorchTrunk(full, TAPS, CPU)(seen)
    for tap in TAPS:
        assert relative_error(found[tap], expected[tap]) < 1e-4


def test_names_and_shapes(light: dict[str, Tensor]) -> None:
    assert ranks_of(light) == SOME_RANKS and ranks_of(random_weights()) == {}
    assert light["conv2_2.weight"].shape == (20, 128, 3, 3)
    assert light["conv2_2.mix"].shape == (128, 20)
    assert light["conv2_2.bias"].shape == (128,)
    for name, tensor in random_weights().items():
        if name.split(".")[0] not in SOME_RANKS:
            assert light[name] is tensor
    assert {tensor.dtype for tensor in light.values()} == {torch.float32}


def test_the_same_in_every_run_and_inputs_stay(light: dict[str, Tensor]) -> None:
    before = {name: tensor.clone() for name, tensor in random_weights().items()}
    seen = pictures(12, seed=1)
    kept = seen.clone()
    again = factorise(random_weights(), seen, SOME_RANKS)
    assert all(torch.equal(again[name], light[name]) for name in light)
    assert torch.equal(seen, kept)
    assert all(torch.equal(before[name], tensor) for name, tensor in random_weights().items())


def truncated(weights: dict[str, Tensor], ranks: dict[str, int]) -> dict[str, Tensor]:
    """The naive way: each layer's filters cut to their leading singular vectors, whatever pictures look like."""
    cut = dict(weights)
    for name, rank in ranks.items():
        u, s, v = torch.linalg.svd(weights[f"{name}.weight"].flatten(1), full_matrices=False)
        cut[f"{name}.mix"] = u[:, :rank].contiguous()
        cut[f"{name}.weight"] = (s[:rank, None] * v[:rank]).view(rank, *weights[f"{name}.weight"].shape[1:])
    return cut


@pytest.mark.network
def test_the_real_trunk_on_pictures_it_was_not_made_from() -> None:
    weights = real_weights()
    crops = calibration_crops()
    made_from, held_out = crops[:32], crops[32::8]  # two clips, and another one
    light = factorise(weights, rgb_batch(made_from, CPU))
    assert ranks_of(light) == RANKS
    seen, taps = rgb_batch(held_out, CPU), ("conv3_3", "conv4_1")
    expected = TorchTrunk(weights, taps, CPU)(seen)
    found = TorchTrunk(light, taps, CPU)(seen)
    naive = TorchTrunk(truncated(weights, dict(RANKS)), taps, CPU)(seen)
    for tap in taps:
        assert relative_error(found[tap], expected[tap]) < 0.6
        assert relative_error(found[tap], expected[tap]) < 0.8 * relative_error(naive[tap], expected[tap])


# --------------------------------------------------------------------------- engines
def test_torch_computes_the_two_steps(light: dict[str, Tensor]) -> None:
    """As one convolution with the product of both."""
    whole = dict(random_weights())
    for name in SOME_RANKS:
        whole[f"{name}.weight"] = torch.einsum("or,rcij->ocij", light[f"{name}.mix"], light[f"{name}.weight"])
        whole[f"{name}.bias"] = light[f"{name}.bias"]
    seen = pictures(2, seed=3)
    expected, found = TorchTrunk(whole, TAPS, CPU)(seen), TorchTrunk(light, TAPS, CPU)(seen)
    for tap in TAPS:
        assert relative_error(found[tap], expected[tap]) < 1e-5


@pytest.mark.parametrize("taps", [TAPS, ("conv2_2",), ("conv2_1", "conv3_1")])
def test_ncnn_agrees_with_torch(light: dict[str, Tensor], taps: tuple[str, ...]) -> None:
    ncnn: ModuleType = pytest.importorskip("ncnn", reason="ncnn is not installed")
    seen = pictures(2, seed=4, size=48)
    expected, found = TorchTrunk(light, taps, CPU)(seen), NcnnTrunk(ncnn, light, taps)(seen)
    for tap in taps:
        assert float((found[tap] - expected[tap]).abs().max()) < TOLERANCE * float(expected[tap].max())


def test_a_factorised_layer_is_two_lines() -> None:
    lines = structure_text(layers_up_to(("conv1_2",)), ("conv1_2",), {"conv1_2": 24}).splitlines()
    assert lines == [
        "7767517",
        "4 4",
        "Input picture 0 1 picture",
        "Convolution conv1_1 1 1 picture conv1_1 0=64 1=3 4=1 5=1 6=1728 9=1",
        "Convolution narrow_conv1_2 1 1 conv1_1 narrowed_conv1_2 0=24 1=3 4=1 5=0 6=13824 9=0",
        "Convolution conv1_2 1 1 narrowed_conv1_2 conv1_2 0=64 1=1 4=0 5=1 6=1536 9=1",
    ]


def test_the_work_is_what_torch_counts(light: dict[str, Tensor]) -> None:
    trunk = TorchTrunk(light, TAPS, CPU)
    with counted_operations() as counter:
        trunk(torch.rand(2, 3, 32, 48))
        assert counter.read() == 2 * trunk_operations(TAPS, (32, 48), SOME_RANKS)


def test_the_light_trunk_has_less_than_half_of_the_work() -> None:
    taps = ("conv3_3", "conv4_1")
    assert trunk_operations(taps, (96, 96), RANKS) < 0.5 * trunk_operations(taps, (96, 96), {})
    assert set(RANKS) < {layer.name for layer in VGG_LAYERS}


# --------------------------------------------------------------------------- the tracker
def test_weights_that_are_factorised_already_are_taken_as_they_are(
    light: dict[str, Tensor], moving_object: SyntheticSequence
) -> None:
    assert trunk_weights(light, "light") is light
    with Tracker(small_config(trunk="light", u=3), weights=light) as tracker:
        tracker.init(moving_object.frames[0], moving_object.boxes[0])
        results = [tracker.update(frame) for frame in moving_object.frames[1:6]]
        state = tracker.state()
        expected = tracker.update(moving_object.frames[6])
    assert min(result.box.overlap(box) for result, box in zip(results, moving_object.boxes[1:6], strict=True)) > 0.6
    with Tracker.from_state(state, weights=light) as resumed:
        assert resumed.extract.ranks == SOME_RANKS
        assert resumed.update(moving_object.frames[6]).box == expected.box


def test_factorised_weights_are_refused_where_whole_ones_are_needed(light: dict[str, Tensor]) -> None:
    with pytest.raises(WeightsError, match="trunk=light"):
        Tracker(small_config(trunk="whole"), weights=light)
    with pytest.raises(WeightsError, match="whole"):
        VGGTrunk(["conv1_2"]).load(light)
