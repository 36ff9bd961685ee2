"""VGG features: golden values, an independent forward pass, taps, geometry, and the projection of channels.

Run as a program it writes the golden values again: ``PYTHONPATH=src:tests python tests/test_core_features.py``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import delta_weights, random_weights, square_window
from synthetic import Image
from tracking_parts.errors import ConfigError, WeightsError
from tracking_parts.features import (
    IMAGENET_MEAN_RGB,
    IMAGENET_STD_RGB,
    FeatureExtractor,
    Projection,
    normalise_cells,
    rgb_batch,
)
from tracking_parts.io.weights import load_weights
from tracking_parts.vgg import LAYER_NAMES, VGG_LAYERS, VGGLayer, vgg_layer

GOLDEN = Path(__file__).parent / "golden" / "features.json"
CPU = torch.device("cpu")


def wave_picture() -> Image:
    """64 x 64 waves, different in each channel; whole numbers, so the same on every machine."""
    y, x = np.mgrid[0:64, 0:64]
    phases = [x * 0.35 + y * 0.1, y * 0.5 - x * 0.2, np.hypot(x - 40, y - 20) * 0.6]
    return np.stack([np.rint(127.5 + 120 * np.sin(phase)) for phase in phases], axis=-1).astype(np.uint8)


def extract(weights: Mapping[str, Tensor], picture: Image) -> dict[str, Tensor]:
    return {tap: maps[0] for tap, maps in FeatureExtractor(weights, LAYER_NAMES, CPU)([picture]).items()}


def fingerprint(maps: Tensor) -> dict[str, Any]:
    """Shape, moments and twelve single values of one tap's maps."""
    values = maps.double()
    picked = np.random.RandomState(1).randint(0, maps.numel(), 12)
    return {
        "shape": list(maps.shape),
        "mean": float(values.mean()),
        "rms": float(values.square().mean().sqrt()),
        "values": [float(values.flatten()[index]) for index in picked],
    }


def assert_golden(kind: str, weights: Mapping[str, Tensor]) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[kind]
    maps = extract(weights, wave_picture())
    assert set(golden) == set(LAYER_NAMES)
    for tap, expected in golden.items():
        found = fingerprint(maps[tap])
        assert found["shape"] == expected["shape"]
        assert found["mean"] == pytest.approx(expected["mean"], rel=1e-4), tap
        assert found["rms"] == pytest.approx(expected["rms"], rel=1e-4), tap
        assert found["values"] == pytest.approx(expected["values"], rel=1e-3, abs=1e-4 * expected["rms"]), tap


@pytest.mark.network
def test_golden_values_of_the_real_weights() -> None:
    try:
        weights = load_weights()
    except WeightsError as error:
        pytest.skip(f"no weights: {error}")
    assert_golden("real", weights)


def test_golden_values_of_random_weights() -> None:
    assert_golden("random", random_weights())


def test_against_an_independent_forward_pass() -> None:
    """In double precision, from the definition: normalise RGB, convolve, rectify, pool before conv2_1, 3_1 and 4_1."""
    picture = wave_picture()
    found = extract(random_weights(), picture)
    mean, std = np.array(IMAGENET_MEAN_RGB), np.array(IMAGENET_STD_RGB)
    rgb = (picture[:, :, ::-1] / 255.0 - mean) / std
    x = torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))[None]
    for name in LAYER_NAMES:
        if name.endswith("_1") and name != "conv1_1":
            blocks = x.reshape(1, x.shape[1], x.shape[2] // 2, 2, x.shape[3] // 2, 2)
            x = blocks.amax(dim=(3, 5))
        weights, bias = (random_weights()[f"{name}.{kind}"].double() for kind in ("weight", "bias"))
        columns = torch.nn.functional.unfold(x, 3, padding=1)
        x = (weights.flatten(1) @ columns + bias[:, None]).reshape(1, -1, x.shape[2], x.shape[3]).clamp_min(0)
        assert torch.allclose(found[name].double(), x[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("layer", VGG_LAYERS, ids=lambda layer: layer.name)
def test_a_tap_alone_has_its_stride_and_channels(layer: VGGLayer) -> None:
    maps = FeatureExtractor(random_weights(), [layer.name], CPU)([wave_picture(), wave_picture()])
    assert set(maps) == {layer.name}
    assert maps[layer.name].shape == (2, layer.out_channels, 64 // layer.stride, 64 // layer.stride)
    assert torch.allclose(maps[layer.name][0], extract(random_weights(), wave_picture())[layer.name], atol=1e-4)
    assert not maps[layer.name].requires_grad


def test_the_papers_layers() -> None:
    """Seven convolutions and two pools up to conv3_3, 256 channels at stride 4."""
    papers = VGG_LAYERS[: LAYER_NAMES.index("conv3_3") + 1]
    assert len(papers) == 7
    assert sum(layer.pool_before for layer in papers) == 2
    assert (papers[-1].out_channels, papers[-1].stride) == (256, 4)
    stride = 1
    for before, layer in itertools.pairwise(VGG_LAYERS):
        stride *= 2 if layer.pool_before else 1
        assert layer.stride == stride
        assert layer.in_channels == before.out_channels


def test_unknown_layer_is_named() -> None:
    with pytest.raises(ConfigError, match="conv9_9"):
        vgg_layer("conv9_9")


def test_batch_is_rgb_in_unit_range() -> None:
    picture = wave_picture()
    before = picture.copy()
    batch = rgb_batch([picture], CPU)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    for channel in range(3):
        assert np.allclose(batch[0, channel].numpy(), picture[:, :, 2 - channel] / 255)
    assert np.array_equal(picture, before)


@pytest.mark.parametrize("tap", LAYER_NAMES)
@pytest.mark.parametrize("pixel", [(0, 0), (5, 60), (31, 32), (46, 17), (63, 63)])
def test_a_dot_peaks_in_the_cell_that_the_geometry_says(tap: str, pixel: tuple[int, int]) -> None:
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[pixel[1], pixel[0]] = 255
    maps = FeatureExtractor(delta_weights(), [tap], CPU)([picture])[tap][0].sum(dim=0)
    row, column = divmod(int(maps.argmax()), maps.shape[1])
    window = square_window(0, 0, 64, 64, vgg_layer(tap).stride)
    x, y = window.map_from_crop((pixel[0] + 0.5, pixel[1] + 0.5))
    assert abs(column - x) <= 0.5
    assert abs(row - y) <= 0.5


def test_mirrored_picture_gives_mirrored_maps_where_filters_are_symmetric() -> None:
    """Cells lie symmetric in the crop: nothing is shifted by half a cell on the way."""
    weights = {
        name: (values + values.flip(-1)) / 2 if values.ndim == 4 else values
        for name, values in random_weights().items()
    }
    picture = wave_picture()
    maps, mirrored = extract(weights, picture), extract(weights, np.ascontiguousarray(picture[:, ::-1]))
    for tap in LAYER_NAMES:
        assert torch.allclose(maps[tap].flip(-1), mirrored[tap], atol=1e-4 * float(maps[tap].max()))


def test_projection_keeps_the_most_telling_orthonormal_axes() -> None:
    maps = extract(random_weights(), wave_picture())["conv3_3"][None]
    projection = Projection.fit(maps, 16, 0.3)
    assert torch.allclose(projection.axes @ projection.axes.T, torch.eye(16), atol=1e-4)
    projected = projection(maps)
    assert projected.shape == (1, 16, 16, 16)
    rows = projected[0].flatten(1)
    assert float(rows.mean(dim=1).abs().max()) < 1e-3 * float(rows.std())
    # Principal axes: uncorrelated, and no 16 orthonormal axes keep more energy than numpy's leading singular ones.
    covariance = rows @ rows.T
    assert torch.allclose(covariance, covariance.diagonal().diag(), atol=1e-3 * float(covariance.max()))
    normalised = normalise_cells(maps, 0.3)[0].flatten(1).double().numpy()
    singular = np.linalg.svd(normalised - normalised.mean(axis=1, keepdims=True), compute_uv=False)
    assert float(rows.square().sum()) == pytest.approx(float((singular[:16] ** 2).sum()), rel=1e-3)


def test_projection_is_frozen_and_linear() -> None:
    maps = extract(random_weights(), wave_picture())["conv2_2"]
    projection = Projection.fit(maps[None], 8, 0.0)
    other = torch.roll(maps, 3, dims=2) * 2
    expected = torch.einsum("dc,chw->dhw", projection.axes, other - projection.mean[:, None, None])
    assert torch.allclose(projection(other), expected, atol=1e-3)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_projection_to_all_channels_leaves_them_as_they_are(damping: float) -> None:
    maps = extract(random_weights(), wave_picture())["conv2_2"][None]
    projection = Projection.fit(maps, 0, damping)
    assert projection.is_identity
    assert torch.equal(projection(maps), normalise_cells(maps, damping))


def test_more_channels_than_there_are_lose_nothing() -> None:
    maps = extract(random_weights(), wave_picture())["conv1_1"][None]
    projected = Projection.fit(maps, 500, 0.0)(maps)
    assert projected.shape == maps.shape
    centred = maps - maps.mean(dim=(2, 3), keepdim=True)
    assert float(projected.square().sum()) == pytest.approx(float(centred.square().sum()), rel=1e-4)


def test_normalised_cells() -> None:
    maps = extract(random_weights(), wave_picture())["conv3_3"]
    assert normalise_cells(maps, 0.0) is maps
    lightly = normalise_cells(maps, 1e-6).square().mean(dim=0).sqrt()
    assert torch.allclose(lightly, torch.ones_like(lightly), atol=1e-3)
    damped = normalise_cells(maps, 0.3)
    energy, whole = maps.square().mean(dim=0), maps.square().mean().sqrt()
    assert torch.allclose(damped, maps / (energy.sqrt() + 0.3 * whole), atol=1e-4)
    assert torch.allclose(normalise_cells(5 * maps, 0.3), damped, atol=1e-4)  # contrast does not matter
    assert torch.isfinite(normalise_cells(torch.zeros(4, 3, 3), 0.3)).all()


def write_golden() -> None:
    found = {
        kind: {tap: fingerprint(maps) for tap, maps in extract(weights, wave_picture()).items()}
        for kind, weights in (("real", load_weights()), ("random", random_weights()))
    }
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_golden()
