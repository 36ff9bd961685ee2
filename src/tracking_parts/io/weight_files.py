"""Read VGG-16's convolutions from files of several kinds, under one set of names, and check them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from tracking_parts.errors import WeightsError, one_line
from tracking_parts.io.npz_files import SIGNS_OF_DAMAGE, read_npz_arrays
from tracking_parts.io.torch_files import read_torch_file
from tracking_parts.vgg import VGG_LAYERS, VGGLayer

Tensors = dict[str, torch.Tensor]

LARGEST_FILE = 2 << 30  # bytes; VGG-16 with its classifier takes half a gigabyte


def read_arrays(path: Path) -> Tensors:
    """What looks like one of the known arrays; bounded by the file's size whatever it says of itself."""
    if path.stat().st_size > LARGEST_FILE:
        raise WeightsError(f"{path.name} has {path.stat().st_size} bytes: no weights of VGG-16 are that large")
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    if path.suffix == ".npz":
        return read_npz(path.read_bytes())
    if path.suffix in (".pth", ".pt"):
        return read_torch_file(path, known_names())
    raise WeightsError(f"unknown kind of file {path.suffix!r}: known are .safetensors, .npz, .pth and .whl")


def read_npz(content: bytes) -> Tensors:
    try:
        arrays = read_npz_arrays(io.BytesIO(content), LARGEST_FILE, known_names())
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    except SIGNS_OF_DAMAGE as error:
        raise WeightsError(f"no readable .npz file: {one_line(error)}") from error


def read_safetensors(path: Path) -> Tensors:
    try:
        return dict(safetensors.torch.load_file(path))
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"no readable safetensors file: {one_line(error)}") from error


def select_layers(arrays: Mapping[str, torch.Tensor]) -> Tensors:
    """Our names, in our order, from any of the names in use: ours, torchvision's or the wheel's."""
    tensors: Tensors = {}
    for layer in VGG_LAYERS:
        for kind in ("weight", "bias"):
            names = [f"{prefix}.{kind}" for prefix in _prefixes(layer)]
            found = next((name for name in names if name in arrays), None)
            if found is None:
                raise WeightsError(f"no array for {layer.name}.{kind}: looked for {', '.join(names)}")
            tensors[f"{layer.name}.{kind}"] = arrays[found].to(torch.float32).contiguous()
    check_layers(tensors)
    return tensors


def _prefixes(layer: VGGLayer) -> tuple[str, str, str]:
    return (layer.name, f"features.{layer.index}", f"frontend.{layer.index}")


def known_names() -> set[str]:
    return {f"{prefix}.{kind}" for layer in VGG_LAYERS for prefix in _prefixes(layer) for kind in ("weight", "bias")}


def check_layers(tensors: Mapping[str, torch.Tensor]) -> None:
    for layer in VGG_LAYERS:
        shapes = {"weight": (layer.out_channels, layer.in_channels, 3, 3), "bias": (layer.out_channels,)}
        for kind, shape in shapes.items():
            name = f"{layer.name}.{kind}"
            if name not in tensors:
                raise WeightsError(f"no array for {name}")
            if tuple(tensors[name].shape) != shape:
                raise WeightsError(f"{name} has shape {tuple(tensors[name].shape)} instead of {shape}")
            if not bool(torch.isfinite(tensors[name]).all()):
                raise WeightsError(f"{name} holds values that are not finite")


def tensors_sha256(tensors: Mapping[str, torch.Tensor]) -> str:
    """One hash for all arrays: names, shapes and little-endian float32 values, independent of any file format."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().contiguous().numpy().astype("<f4", copy=False)
        digest.update(f"{name} {list(values.shape)}\n".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
