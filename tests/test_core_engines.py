"""Engines of the trunk: equal to torch, found at run time, never trusted unseen."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import random_weights, real_weights, small_tracker
from tracking_parts import Tracker, TrackerConfig, trunk_engines
from tracking_parts.cli_options import TrunkEngine
from tracking_parts.errors import ConfigError
from tracking_parts.features import FeatureExtractor, TorchTrunk, each_alone
from tracking_parts.trunk_engines import (
    ENGINES,
    TOLERANCE,
    NcnnTrunk,
    check_engine,
    choose_engine,
    installed_engines,
    largest_difference,
    structure_text,
)
from tracking_parts.versions import versions
from tracking_parts.vgg import layers_up_to

CPU = torch.device("cpu")


@pytest.fixture
def ncnn() -> ModuleType:
    module: ModuleType = pytest.importorskip("ncnn", reason="ncnn is not installed")
    return module


class Off:
    """An engine that is off by a part of the map's height."""

    name = "off"

    def __init__(self, by: float) -> None:
        self._by = by

    def __call__(self, rgb: Tensor) -> dict[str, Tensor]:
        maps = TorchTrunk(random_weights(), ("conv2_1",), CPU)(rgb)
        return {tap: found + self._by * found.max() for tap, found in maps.items()}

    def expect_batches(self) -> None:
        pass

    def side_by_side(self) -> AbstractContextManager[bool]:
        return nullcontext(False)


@pytest.mark.parametrize("taps", [("conv3_3", "conv4_3"), ("conv3_3",), ("conv2_1", "conv2_2"), ("conv1_1", "conv3_1")])
@pytest.mark.parametrize("size", [96, 128])
def test_ncnn_is_torch_to_six_digits(ncnn: ModuleType, taps: tuple[str, ...], size: int) -> None:
    weights = random_weights()
    pictures = torch.rand((2, 3, size, size), generator=torch.Generator().manual_seed(1))
    expected = TorchTrunk(weights, taps, CPU)(pictures)
    found = NcnnTrunk(ncnn, weights, taps)(pictures)
    assert list(found) == list(taps)
    for tap in taps:
        assert found[tap].shape == expected[tap].shape
        assert float((found[tap] - expected[tap]).abs().max() / expected[tap].max()) < 1e-5


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """For engines only; torch itself stays with one (see conftest)."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("size", [64, 96])
def test_pictures_side_by_side_are_those_one_by_one(ncnn: ModuleType, two_threads: None, count: int, size: int) -> None:
    weights, taps = random_weights(), ("conv2_2", "conv3_1")
    pictures = torch.rand((count, 3, size, size), generator=torch.Generator().manual_seed(count))
    engine = NcnnTrunk(ncnn, weights, taps)
    engine.expect_batches()
    found = engine(pictures)
    expected = TorchTrunk(weights, taps, CPU)(pictures)
    for tap in taps:
        assert found[tap].shape == expected[tap].shape
        assert float((found[tap] - expected[tap]).abs().max() / expected[tap].max()) < TOLERANCE


def test_batches_with_the_published_weights(ncnn: ModuleType, two_threads: None) -> None:
    weights, taps = real_weights(), ("conv3_3", "conv4_3")
    pictures = torch.rand((3, 3, 96, 96), generator=torch.Generator().manual_seed(0))
    engine = NcnnTrunk(ncnn, weights, taps)
    engine.expect_batches()
    found, expected = engine(pictures), TorchTrunk(weights, taps, CPU)(pictures)
    assert all(float((found[tap] - expected[tap]).abs().max() / expected[tap].max()) < TOLERANCE for tap in taps)


def test_several_threads_that_call_take_one_each(ncnn: ModuleType, two_threads: None) -> None:
    engine = NcnnTrunk(ncnn, random_weights(), ("conv2_2",))
    with engine.side_by_side() as can_be:
        assert not can_be  # no net was built for it
    engine.expect_batches()
    used: list[object] = []
    run = engine._run

    def watched(net: Any, picture: Any) -> dict[str, Any]:
        used.append(net)
        return run(net, picture)

    engine._run = watched  # type: ignore[method-assign]
    picture = torch.rand((1, 3, 32, 32), generator=torch.Generator().manual_seed(1))
    expected = engine(picture)
    with engine.side_by_side() as can_be:
        assert can_be
        found = engine(picture)
    assert torch.equal(found["conv2_2"], expected["conv2_2"])
    assert used == [engine._net, engine._one_thread_net]


def test_the_second_net_is_built_once_and_only_for_threads(ncnn: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    load = NcnnTrunk._load

    def watched(self: NcnnTrunk, threads: int) -> Any:
        asked.append(threads)
        return load(self, threads)

    monkeypatch.setattr(NcnnTrunk, "_load", watched)
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        engine = NcnnTrunk(ncnn, random_weights(), ("conv1_2",))
        engine.expect_batches()
        engine.expect_batches()
    assert asked == [1, 2, 1]


@pytest.mark.parametrize("engine", installed_engines())
def test_large_batches_are_cut(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extract = FeatureExtractor(random_weights(), ("conv1_2", "conv2_1"), CPU, engine)
    crops = list(np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), np.uint8))
    whole = extract(crops)
    monkeypatch.setattr("tracking_parts.features.PIXELS_AT_ONCE", 2 * 32 * 32)
    cut = extract(crops)
    for index, alone in enumerate(each_alone(cut)):
        for tap, maps in alone.items():
            assert maps.shape[0] == 1
            assert torch.allclose(maps[0], whole[tap][index], atol=1e-5)
            assert torch.allclose(maps, extract([crops[index]])[tap], atol=1e-5)


def test_maps_outlive_the_next_picture(ncnn: ModuleType) -> None:
    engine = NcnnTrunk(ncnn, random_weights(), ("conv2_1",))
    first = engine(torch.zeros((1, 3, 32, 32)))["conv2_1"]
    kept = first.clone()
    engine(torch.ones((1, 3, 32, 32)))
    assert torch.equal(first, kept)


def test_a_map_that_is_told_and_used_is_split() -> None:
    lines = structure_text(layers_up_to(("conv2_1", "conv1_2")), ("conv2_1", "conv1_2")).splitlines()
    assert lines == [
        "7767517",
        "6 7",
        "Input picture 0 1 picture",
        "Convolution conv1_1 1 1 picture conv1_1 0=64 1=3 4=1 5=1 6=1728 9=1",
        "Convolution conv1_2 1 1 conv1_1 inner_conv1_2 0=64 1=3 4=1 5=1 6=36864 9=1",
        "Split split_conv1_2 1 2 inner_conv1_2 conv1_2 on_conv1_2",
        "Pooling pool_conv2_1 1 1 on_conv1_2 pooled_conv2_1 0=0 1=2 2=2",
        "Convolution conv2_1 1 1 pooled_conv2_1 conv2_1 0=128 1=3 4=1 5=1 6=73728 9=1",
    ]


def test_the_difference_is_in_units_of_the_map() -> None:
    reference = TorchTrunk(random_weights(), ("conv2_1",), CPU)
    assert largest_difference(reference, reference) == 0
    assert largest_difference(Off(0.25), reference) == pytest.approx(0.25, rel=1e-3)


def test_engines_by_name(ncnn: ModuleType) -> None:
    weights, taps = random_weights(), ("conv2_1",)
    names = {name: FeatureExtractor(weights, taps, CPU, name).engine.name for name in ("torch", "ncnn", "auto")}
    assert names == {"torch": "torch", "ncnn": "ncnn", "auto": "ncnn"}
    with pytest.raises(ConfigError, match="unknown engine 'abacus': choose one of auto, torch, ncnn"):
        FeatureExtractor(weights, taps, CPU, "abacus")


def test_without_ncnn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ncnn", None)
    weights, taps = random_weights(), ("conv2_1",)
    assert FeatureExtractor(weights, taps, CPU, "auto").engine.name == "torch"
    with pytest.raises(ConfigError, match=r"pip install 'tracking-parts\[ncnn\]'"):
        FeatureExtractor(weights, taps, CPU, "ncnn")
    with pytest.raises(ConfigError, match="not installed"):
        check_engine("ncnn")


def test_other_devices_stay_with_torch(ncnn: ModuleType) -> None:
    reference = TorchTrunk(random_weights(), ("conv2_1",), CPU)
    cuda = torch.device("cuda")
    assert choose_engine("auto", reference, random_weights(), ("conv2_1",), cuda) is reference
    with pytest.raises(ConfigError, match="runs on the cpu, not on cuda"):
        choose_engine("ncnn", reference, random_weights(), ("conv2_1",), cuda)


def test_an_engine_that_disagrees_is_not_used(
    ncnn: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trunk_engines, "NcnnTrunk", lambda *arguments: Off(2 * TOLERANCE))
    weights, taps = random_weights(), ("conv2_1",)
    with caplog.at_level(logging.WARNING):
        assert FeatureExtractor(weights, taps, CPU, "auto").engine.name == "torch"
    assert "differs from torch" in caplog.text
    with pytest.raises(ConfigError, match="not used"):
        FeatureExtractor(weights, taps, CPU, "ncnn")


def test_both_engines_track_alike(ncnn: ModuleType, moving_object: Any) -> None:
    boxes = {}
    for engine in ("torch", "ncnn"):
        tracker = Tracker(
            TrackerConfig.profile("fast").override(trunk="whole"), weights=random_weights(), engine=engine
        )
        tracker.init(moving_object.frames[0], moving_object.boxes[0])
        boxes[engine] = [tracker.update(frame).box.xywh for frame in moving_object.frames[1:6]]
    assert np.abs(np.array(boxes["torch"]) - np.array(boxes["ncnn"])).max() < 0.5


def test_a_resumed_tracker_takes_the_engine_it_is_told(ncnn: ModuleType, moving_object: Any, tmp_path: Path) -> None:
    tracker = small_tracker()
    assert tracker.engine == "ncnn"
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    tracker.save(tmp_path / "state.safetensors")
    path = tmp_path / "state.safetensors"
    assert Tracker.from_state(path, weights=random_weights()).engine == "ncnn"
    assert Tracker.from_state(path, weights=random_weights(), engine="torch").engine == "torch"


def test_load_hands_the_engine_on(moving_object: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracking_parts.tracker.load_weights", random_weights)
    tracker = small_tracker()
    tracker.init(moving_object.frames[0], moving_object.boxes[0])
    tracker.save(tmp_path / "state.safetensors")
    assert Tracker.load(tmp_path / "state.safetensors", engine="torch").engine == "torch"
    with pytest.raises(ConfigError, match="abacus"):
        Tracker.load(tmp_path / "state.safetensors", engine="abacus")


def test_versions_name_the_engine(ncnn: ModuleType) -> None:
    assert versions()["ncnn"] == metadata.version("ncnn")


def test_the_command_offers_the_engines_there_are() -> None:
    assert tuple(engine.value for engine in TrunkEngine) == ENGINES
