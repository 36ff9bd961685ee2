"""Layers made smaller: the regression, both engines, the work counted, the tracker on them."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import random_weights, real_weights, small_config
from synthetic import SyntheticSequence, random_texture
from tracking_parts import Tracker, WeightsError, light_trunk
from tracking_parts.features import TorchTrunk, VGGTrunk, rgb_batch
from tracking_parts.light_trunk import SLIM, PatchRegression, Slim, most_needed, slim_down
from tracking_parts.light_weights import calibration_crops, trunk_weights
from tracking_parts.profiling.operations import counted_operations, trunk_operations
from tracking_parts.trunk_engines import TOLERANCE, NcnnTrunk, structure_text
from tracking_parts.vgg import VGG_LAYERS, are_light, layers_of, layers_up_to, vgg_layer

CPU = torch.device("cpu")
TAPS = ("conv1_2", "conv2_2")
SOME_SIZES = {"conv1_1": Slim(40), "conv1_2": Slim(rank=12), "conv2_1": Slim(72), "conv2_2": Slim(rank=20)}


def pictures(count: int, seed: int, size: int = 32) -> Tensor:
    rng = np.random.default_rng(seed)
    return rgb_batch([random_texture(rng, size, size) for _ in range(count)], CPU)


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.fixture(scope="module")
def light() -> dict[str, Tensor]:
    return slim_down(random_weights(), pictures(12, seed=1), SOME_SIZES)


# --------------------------------------------------------------------------- the regression
def random_cells(seed: int, count: int = 400, channels: int = 4, outputs: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Patches x, responses b that are linear in them but for some noise, and the map between them."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(count, channels * 9)).astype(np.float32))
    true = torch.from_numpy(rng.normal(size=(outputs, channels * 9)).astype(np.float32))
    noise = torch.from_numpy(rng.normal(size=(count, outputs)).astype(np.float32))
    return x, x @ true.T + 0.1 * noise + 3.0, true


def test_without_rank_and_ridge_it_is_ordinary_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_trunk, "RIDGE", 0.0)
    x, b, true = random_cells(0)
    fitted = PatchRegression.fit(x, b, torch.zeros_like(true), rank=None)
    with_ones = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    expected = with_ones @ torch.linalg.lstsq(with_ones, b).solution
    assert fitted.u is None and torch.allclose(x @ fitted.p.T + fitted.bias, expected, atol=1e-4)


def test_it_keeps_to_its_own_filters_where_nothing_speaks_against_them() -> None:
    x, _, own = random_cells(1)
    fitted = PatchRegression.fit(x, x @ own.T + 2.0, own, rank=None)
    assert torch.allclose(fitted.p, own, atol=1e-4) and torch.allclose(fitted.bias, torch.tensor(2.0), atol=1e-4)


def test_of_a_rank_it_keeps_what_varies_most() -> None:
    x, b, own = random_cells(2)
    loud = b * torch.tensor([10.0, 10.0, 0.1, 0.1, 0.1, 0.1])
    fitted = PatchRegression.fit(x, loud, torch.zeros_like(own), rank=2)
    assert fitted.u is not None and fitted.u.shape == (6, 2)
    assert torch.allclose(fitted.u.T @ fitted.u, torch.eye(2), atol=1e-5)
    found = x @ (fitted.u @ fitted.p).T + fitted.bias
    assert relative_error(found[:, :2], loud[:, :2]) < 0.05


def test_it_convolves_as_it_regresses() -> None:
    x, b, own = random_cells(3)
    fitted = PatchRegression.fit(x, b, own, rank=3)
    maps = torch.from_numpy(np.random.default_rng(4).normal(size=(1, 4, 5, 5)).astype(np.float32))
    patch = maps[0, :, 1:4, 2:5].flatten()
    assert fitted.u is not None
    expected = fitted.u @ (fitted.p @ patch) + fitted.bias
    assert torch.allclose(fitted(maps)[0, :, 2, 3], expected, atol=1e-4)


# --------------------------------------------------------------------------- which channels stay
def test_the_channels_that_matter_stay() -> None:
    x, _, true = random_cells(5, channels=7)
    true = true.view(6, 7, 9).clone()
    true[:, [0, 2, 5]] = 0  # nobody looks at these
    assert most_needed(x, x @ true.view(6, -1).T, 4).tolist() == [1, 3, 4, 6]


def test_of_two_equal_channels_one_stays() -> None:
    """Each alone looks important; a measure of single channels would keep both."""
    x, _, true = random_cells(6, channels=4)
    x = x.view(-1, 4, 9).clone()
    x[:, 1] = x[:, 0] + 0.01 * x[:, 1]
    weak = true.view(6, 4, 9).clone()
    weak[:, 2:] *= 0.2
    kept = most_needed(x.view(-1, 36), x.view(-1, 36) @ weak.view(6, -1).T, 3).tolist()
    assert len({0, 1} & set(kept)) == 1 and {2, 3} < set(kept)


def test_one_after_the_other_is_what_solving_again_would_say() -> None:
    x, b, _ = random_cells(7, channels=5)

    def error_without(lost: int) -> float:
        others = torch.cat([x.view(-1, 5, 9)[:, [i for i in range(5) if i != lost]].flatten(1), torch.ones(400, 1)], 1)
        return float((others @ torch.linalg.lstsq(others, b).solution - b).norm())

    least_missed = min(range(5), key=error_without)
    assert most_needed(x, b, 4).tolist() == [i for i in range(5) if i != least_missed]


# --------------------------------------------------------------------------- slim_down
def test_whole_sizes_reproduce_the_net() -> None:
    sizes = {name: Slim(rank=vgg_layer(name).out_channels) for name in ("conv1_2", "conv2_1", "conv2_2")}
    full = slim_down(random_weights(), pictures(12, seed=1), sizes)
    seen = pictures(2, seed=2)
    expected, found = TorchTrunk(random_weights(), TAPS, CPU)(seen), TorchTrunk(full, TAPS, CPU)(seen)
    for tap in TAPS:
        assert relative_error(found[tap], expected[tap]) < 1e-4


def test_names_and_shapes(light: dict[str, Tensor]) -> None:
    assert are_light(light) and not are_light(random_weights())
    sizes = [(layer.in_channels, layer.rank, layer.out_channels) for layer in layers_of(light, ["conv3_1"])]
    assert sizes == [(3, None, 40), (40, 12, 64), (64, None, 72), (72, 20, 128), (128, None, 256)]
    assert light["conv2_2.weight"].shape == (20, 72, 3, 3)
    assert light["conv2_2.mix"].shape == (128, 20)
    assert light["conv2_2.bias"].shape == (128,)
    for name, tensor in random_weights().items():
        if name.split(".")[0] not in SOME_SIZES:
            assert light[name] is tensor
    assert {tensor.dtype for tensor in light.values()} == {torch.float32}


def test_the_same_in_every_run_and_inputs_stay(light: dict[str, Tensor]) -> None:
    before = {name: tensor.clone() for name, tensor in random_weights().items()}
    seen = pictures(12, seed=1)
    kept = seen.clone()
    again = slim_down(random_weights(), seen, SOME_SIZES)
    assert all(torch.equal(again[name], light[name]) for name in light)
    assert torch.equal(seen, kept)
    assert all(torch.equal(before[name], tensor) for name, tensor in random_weights().items())


def truncated(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The naive way: each layer's filters cut to their leading singular vectors, whatever pictures look like.

    It keeps all channels, and so does more work.
    """
    cut = dict(weights)
    for name, slim in SLIM.items():
        rank = slim.rank
        if rank is None:
            continue
        u, s, v = torch.linalg.svd(weights[f"{name}.weight"].flatten(1), full_matrices=False)
        cut[f"{name}.mix"] = u[:, :rank].contiguous()
        cut[f"{name}.weight"] = (s[:rank, None] * v[:rank]).view(rank, *weights[f"{name}.weight"].shape[1:])
    return cut


@pytest.mark.network
@pytest.mark.timeout(600)  # it is made from scratch, alone 40 s of one processor
def test_the_real_trunk_on_pictures_it_was_not_made_from() -> None:
    weights = real_weights()
    crops = calibration_crops()
    made_from, held_out = crops[:32], crops[32::8]  # two clips, and another one
    light = slim_down(weights, rgb_batch(made_from, CPU))
    assert {layer.name: layer.rank for layer in layers_of(light, tuple(SLIM))} == {
        name: slim.rank for name, slim in SLIM.items()
    }
    seen, taps = rgb_batch(held_out, CPU), ("conv3_3", "conv4_1")
    expected = TorchTrunk(weights, taps, CPU)(seen)
    found = TorchTrunk(light, taps, CPU)(seen)
    naive = TorchTrunk(truncated(weights), taps, CPU)(seen)
    for tap in taps:
        assert relative_error(found[tap], expected[tap]) < 0.6
        assert relative_error(found[tap], expected[tap]) < 0.8 * relative_error(naive[tap], expected[tap])


# --------------------------------------------------------------------------- engines
def test_torch_computes_the_two_steps(light: dict[str, Tensor]) -> None:
    """As one convolution with the product of both."""
    whole = {name: tensor for name, tensor in light.items() if not name.endswith(".mix")}
    for name in ("conv1_2", "conv2_2"):
        whole[f"{name}.weight"] = torch.einsum("or,rcij->ocij", light[f"{name}.mix"], light[f"{name}.weight"])
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
    first, second = layers_up_to(("conv1_2",))
    layers = (replace(first, out_channels=40), replace(second, in_channels=40, rank=24))
    lines = structure_text(layers, ("conv1_2",)).splitlines()
    assert lines == [
        "7767517",
        "4 4",
        "Input picture 0 1 picture",
        "Convolution conv1_1 1 1 picture conv1_1 0=40 1=3 4=1 5=1 6=1080 9=1",
        "Convolution narrow_conv1_2 1 1 conv1_1 narrowed_conv1_2 0=24 1=3 4=1 5=0 6=8640 9=0",
        "Convolution conv1_2 1 1 narrowed_conv1_2 conv1_2 0=64 1=1 4=0 5=1 6=1536 9=1",
    ]


def test_the_work_is_what_torch_counts(light: dict[str, Tensor]) -> None:
    trunk = TorchTrunk(light, TAPS, CPU)
    with counted_operations() as counter:
        trunk(torch.rand(2, 3, 32, 48))
        assert counter.read() == 2 * trunk_operations(layers_of(light, TAPS), (32, 48))


def test_the_light_trunk_has_less_than_a_third_of_the_work() -> None:
    whole, light, inputs = layers_up_to(tuple(SLIM)), [], 3
    for layer in whole:
        slim = SLIM[layer.name]
        outputs = slim.channels or layer.out_channels
        light.append(replace(layer, in_channels=inputs, out_channels=outputs, rank=slim.rank))
        inputs = outputs
    assert trunk_operations(light, (96, 96)) < trunk_operations(whole, (96, 96)) / 3
    assert set(SLIM) < {layer.name for layer in VGG_LAYERS}


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
        assert resumed.extract.layers == layers_of(light, resumed.extract.taps)
        assert resumed.update(moving_object.frames[6]).box == expected.box


def test_factorised_weights_are_refused_where_whole_ones_are_needed(light: dict[str, Tensor]) -> None:
    with pytest.raises(WeightsError, match="trunk=light"):
        Tracker(small_config(trunk="whole"), weights=light)
    with pytest.raises(WeightsError, match="whole"):
        VGGTrunk(["conv1_2"]).load(light)
