"""Targets for files of arrays and archives: weights, saved trackers, traces, project files.

Bytes changed at random seldom get past an archive's checksums. So there are targets of two kinds: whole files, and what
is inside of them, which is put into a good file before it is read.
"""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import torch

from torture.fuzz.target import CORPUS, Target, as_file, scratch
from tracking_parts.errors import TrackingPartsError
from tracking_parts.io.torch_files import read_torch_file
from tracking_parts.io.trace_files import read_trace
from tracking_parts.io.weight_files import read_arrays, select_layers
from tracking_parts.tracker import Tracker
from tracking_parts.tracker_state import TrackerState
from tracking_parts.vgg import VGG_LAYERS

FRAME = "000007.npz"


def torch_file(content: bytes) -> None:
    read_torch_file(as_file(content, "weights.pth"))


def torch_pickle(content: bytes) -> None:
    """The pickle of a zip file with two storages."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/data/0", bytes(24))
        archive.writestr("archive/data/1", bytes(16))
    read_torch_file(as_file(stream.getvalue(), "weights.pth"))


def npz(content: bytes) -> None:
    select_layers(read_arrays(as_file(content, "weights.npz")))


def npy_member(content: bytes) -> None:
    """One array of an .npz file."""
    with suppress(TrackingPartsError):
        read_arrays(as_file(_zipped({"features.0.weight.npy": content}), "weights.npz"))
    as_file(_zipped({"frame_index.npy": content}), f"trace/{FRAME}")
    read_trace(scratch() / "trace", 7)


def safetensors_file(content: bytes) -> None:
    select_layers(read_arrays(as_file(content, "weights.safetensors")))


def trace_file(content: bytes) -> None:
    as_file(content, f"trace/{FRAME}")
    read_trace(scratch() / "trace", 7)


def trace_arrays(content: bytes) -> None:
    """An array of a good trace exchanged for another: the first byte says which."""
    names = sorted(_trace_members())
    members = dict(_trace_members())
    members[names[(content or b"\0")[0] % len(names)]] = content[1:]
    as_file(_zipped(members), f"trace/{FRAME}")
    read_trace(scratch() / "trace", 7)


@cache
def _trace_members() -> dict[str, bytes]:
    with zipfile.ZipFile(CORPUS / "trace_file" / "trace.npz") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def state_file(content: bytes) -> None:
    _resume(TrackerState.load(as_file(content, "tracker.state")))


def state_values(content: bytes) -> None:
    """The plain values of a state, as JSON, with the tensors of a good one."""
    try:
        values: Any = json.loads(content)
    except (ValueError, RecursionError):
        return
    path = scratch() / "tracker.state"
    with suppress(UnicodeError, TypeError):  # what JSON cannot hold again, no file holds
        TrackerState(values, _good_state().tensors).save(path)
        _resume(TrackerState.load(path))


def state_tensors(content: bytes) -> None:
    """The tensors of a good state, one of them with another shape: name, type and shape are in the first bytes."""
    good = _good_state()
    names = sorted(good.tensors)
    choice = (content + bytes(8))[:8]
    name = names[choice[0] % len(names)]
    dtype = (torch.float32, torch.int64, torch.float64, torch.uint8, torch.bool, torch.float16)[choice[1] % 6]
    shape = [size % 9 for size in choice[3 : 3 + choice[2] % 5]]
    count = int(np.prod(shape, dtype=np.int64))
    filling = (content[8:] or b"\0") * (count // max(1, len(content[8:])) + 1)
    numbers = torch.tensor(list(filling[:count]), dtype=torch.float64) / 16 - 2 * (choice[1] // 128)
    path = scratch() / "tracker.state"
    TrackerState(good.values, {**good.tensors, name: numbers.to(dtype).reshape(shape)}).save(path)
    _resume(TrackerState.load(path))


def _resume(state: TrackerState) -> None:
    """Go on from the state: what was let in must be of use."""
    with Tracker.from_state(state, weights=_random_weights(), engine="torch") as tracker:
        frame_shape = state.values["frame_shape"]
        result = tracker.update(np.zeros(frame_shape, np.uint8))
        if not result.box.is_finite:
            raise AssertionError(f"a box that is not finite: {result.box}")


@cache
def _good_state() -> TrackerState:
    return TrackerState.load(CORPUS / "state_file" / "tiny.state")


@cache
def _random_weights() -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(7)
    weights = {}
    for layer in VGG_LAYERS:
        shape = (layer.out_channels, layer.in_channels, 3, 3)
        weights[f"{layer.name}.weight"] = torch.randn(shape, generator=random) * (2 / (9 * layer.in_channels)) ** 0.5
        weights[f"{layer.name}.bias"] = torch.zeros(layer.out_channels)
    return weights


def _zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


PICKLE_WORDS = (b"ctorch._utils\n_rebuild_tensor_v2\n", b"cos\nsystem\n", b"R", b"(", b"t", b"\x85", b"Q", b"u", b"s")
NPY_WORDS = (b"'descr': '<f8'", b"'descr': '|O'", b"'shape': (", b"999999999999", b"\x93NUMPY\x01\x00", b"'<U9999999'")
TARGETS = (
    Target("torch_file", torch_file, 16384, PICKLE_WORDS),
    Target("torch_pickle", torch_pickle, 8192, PICKLE_WORDS),
    Target("npz", npz, 16384, NPY_WORDS),
    Target("npy_member", npy_member, 4096, NPY_WORDS),
    Target("safetensors", safetensors_file, 16384, (b'"dtype":"BF16"', b'"data_offsets":[0,', b'"shape":[')),
    Target("trace_file", trace_file, 32768, NPY_WORDS),
    Target("trace_arrays", trace_arrays, 4096, NPY_WORDS),
    Target("state_file", state_file, 65536, (b'"dtype":"BF16"', b'"data_offsets":[0,', b'"shape":[')),
    Target("state_values", state_values, 8192, (b"1e400", b"[]", b"{}", b"null", b'"banks":', b"NaN", b"true")),
    Target("state_tensors", state_tensors, 64),
)
