"""Read the tensors of a ``.pth`` file without unpickling it.

A ``.pth`` file is a pickle, which may run any code when it is loaded. Here it is followed by
:mod:`tracking_parts.io.inert_pickle`; what then looks like a dictionary of dense tensors is read from the raw storages,
and everything else is refused.

Two layouts exist. *Zip* (torch 1.6 on): ``<name>/data.pkl`` and one member ``<name>/data/<key>`` per storage. *Legacy*:
five pickles in a row (magic number, protocol, system, the object, the list of storage keys), then for each key a 64-bit
count of elements and the elements. torchvision's VGG-16 has the legacy layout.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from tracking_parts.errors import WeightsError, one_line, quoted
from tracking_parts.io.inert_pickle import InertCall, InertGlobal, InertReference, evaluate_inert
from tracking_parts.io.npz_files import check_compression

ZIP_START = b"PK\x03\x04"
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
LARGEST_PICKLE = 64 << 20  # bytes; that of a network with ten thousand tensors takes two megabytes
LARGEST_NUMBER = 1 << 48
MOST_DIMENSIONS = 16
MOST_SHARING = 8
DTYPES = {
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.HalfStorage": "<f2",
    "torch.LongStorage": "<i8",  # counters, such as those of batch normalisation
    "torch.IntStorage": "<i4",
}
REBUILD_TENSOR = ("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
# A parameter is a tensor in a wrapper: made by a function in new files, by the class itself in the oldest ones.
WRAPPERS = ("torch._utils._rebuild_parameter", "torch.nn.parameter.Parameter")
# What following a damaged or foreign file may run into; the file's content decides which.
_SIGNS_OF_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError),
    *(RuntimeError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True, slots=True)
class StorageSpec:
    """A run of numbers in the file."""

    key: str
    dtype: str
    count: int
    first: int  # elements to skip: old files may refer to a view of a storage

    @property
    def size(self) -> int:
        """In bytes."""
        return self.count * int(np.dtype(self.dtype).itemsize)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """How a tensor lies in its storage, all in elements."""

    storage: StorageSpec
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_torch_file(path: Path, names: Collection[str] | None = None) -> dict[str, torch.Tensor]:
    """The tensors of a state dictionary saved by ``torch.save``, in either layout, as float32.

    With ``names``, only those that have one of these names are read: VGG-16's classifier alone takes half a gigabyte.
    """
    try:
        with path.open("rb") as stream:
            is_zip = stream.read(4) == ZIP_START
        if is_zip:
            return _read_zip(path, names)
        return _read_legacy(path, names)
    except _SIGNS_OF_DAMAGE as error:
        raise WeightsError(f"no readable .pth file: {path.name}: {one_line(error)}") from error


def _read_zip(path: Path, names: Collection[str] | None) -> dict[str, torch.Tensor]:
    with zipfile.ZipFile(path) as archive:
        check_compression(archive.infolist())
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ValueError(f"the archive holds {len(pickles)} data.pkl instead of one")
        root = pickles[0].removesuffix("data.pkl")
        if root + "byteorder" in archive.namelist():
            with archive.open(root + "byteorder") as order:
                if order.read(16) != b"little":
                    raise ValueError("big-endian files are not supported")
        with archive.open(pickles[0]) as stream:
            specs = tensor_specs(evaluate_inert(stream, LARGEST_PICKLE))

        def read(storage: StorageSpec) -> bytes:
            member = archive.getinfo(f"{root}data/{storage.key}")
            # torch.save never compresses: what is compressed may unpack to any size.
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != storage.size:
                raise ValueError(f"storage {quoted(storage.key)} is compressed or has another size than it should")
            return archive.read(member)

        return _materialise(specs, names, read, path.stat().st_size)


def _read_legacy(path: Path, names: Collection[str] | None) -> dict[str, torch.Tensor]:
    with path.open("rb") as stream:
        if any(evaluate_inert(stream, LARGEST_PICKLE) != number for number in (LEGACY_MAGIC, LEGACY_PROTOCOL)):
            raise ValueError("not written by torch.save")
        system = evaluate_inert(stream, LARGEST_PICKLE)
        if not isinstance(system, dict) or system.get("little_endian") is not True:
            raise ValueError("big-endian files are not supported")
        specs = tensor_specs(evaluate_inert(stream, LARGEST_PICKLE))
        keys = evaluate_inert(stream, LARGEST_PICKLE)
        places = _legacy_places(stream, keys, {spec.storage.key: spec.storage for spec in specs.values()})

        def read(storage: StorageSpec) -> bytes:
            stream.seek(places[storage.key])
            return stream.read(storage.size)

        return _materialise(specs, names, read, path.stat().st_size)


def _legacy_places(stream: IO[bytes], keys: list[str], storages: dict[str, StorageSpec]) -> dict[str, int]:
    """Where the elements of each storage begin. A storage of an unknown type has an unknown length: refused."""
    end = os.fstat(stream.fileno()).st_size
    places: dict[str, int] = {}
    for key in keys:
        if not isinstance(key, (str, int)) or key not in storages:
            raise ValueError(f"storage {quoted(key)} belongs to no dense tensor")
        (count,) = struct.unpack("<q", stream.read(8))
        if count != storages[key].count:
            raise ValueError(f"storage {key} has {count} elements instead of {storages[key].count}")
        places[key] = stream.tell()
        if places[key] + storages[key].size > end:
            raise ValueError(f"the file ends within storage {key}")
        stream.seek(storages[key].size, 1)
    return places


def _materialise(
    specs: dict[str, TensorSpec],
    names: Collection[str] | None,
    read: Callable[[StorageSpec], bytes],
    file_size: int,
) -> dict[str, torch.Tensor]:
    wanted = {name: spec for name, spec in specs.items() if names is None or name in names}
    # Tensors may share a storage, but not so many that a small file fills the memory.
    if sum(spec.storage.size for spec in wanted.values()) > MOST_SHARING * file_size:
        raise ValueError("its tensors are many times larger than the file")
    return {name: _tensor(name, spec, read(spec.storage)) for name, spec in wanted.items()}


def _tensor(name: str, spec: TensorSpec, content: bytes) -> torch.Tensor:
    storage = spec.storage
    if len(content) != storage.size:
        raise ValueError(f"the file ends within {quoted(name)}")
    numbers = (*spec.shape, *spec.strides, spec.offset, storage.first)
    if len(spec.shape) != len(spec.strides) or min(numbers) < 0:
        raise ValueError(f"{quoted(name)} has an impossible layout")
    # An expanded tensor could ask for any amount of memory.
    if len(spec.shape) > MOST_DIMENSIONS or prod(spec.shape) > storage.count:
        raise ValueError(f"{quoted(name)} is larger than its storage")
    first = storage.first + spec.offset
    last = first + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.strides, strict=True))
    if prod(spec.shape) > 0 and last >= storage.count:
        raise ValueError(f"{quoted(name)} reaches beyond its storage")
    values = torch.from_numpy(np.frombuffer(content, dtype=storage.dtype).astype(np.float32))
    return values.as_strided(spec.shape, spec.strides, first).clone(memory_format=torch.contiguous_format)


def tensor_specs(value: Any) -> dict[str, TensorSpec]:
    """The tensors among the values of an inert dictionary."""
    if not isinstance(value, dict):
        raise ValueError("the file holds no dictionary of tensors")
    found = {str(name): spec for name, item in value.items() if (spec := _tensor_spec(item)) is not None}
    if not found:
        raise ValueError("the file's dictionary holds no tensors: save a state dictionary, not a model or checkpoint")
    return found


def _tensor_spec(item: Any) -> TensorSpec | None:
    if not isinstance(item, InertCall):
        return None
    if item.name in WRAPPERS and item.arguments:
        return _tensor_spec(item.arguments[0])
    if item.name not in REBUILD_TENSOR:
        return None
    storage, offset, shape, strides = item.arguments[:4]
    if not isinstance(storage, InertReference):
        raise ValueError("a tensor without a storage")
    return TensorSpec(_storage_spec(storage.identity), _number(offset), _whole(shape), _whole(strides))


def _storage_spec(identity: Any) -> StorageSpec:
    kind, storage_type, key, _device, count, *view = identity
    if not isinstance(storage_type, (InertGlobal, str)) or not isinstance(key, (str, int)):
        raise ValueError("a storage without a type or a key")
    name = storage_type.name if isinstance(storage_type, InertGlobal) else storage_type
    if kind != "storage" or name not in DTYPES:
        raise ValueError(f"a storage of unsupported type {quoted(name)}")
    first = _number(view[0][1]) if view and view[0] is not None else 0
    return StorageSpec(str(key), DTYPES[name], _number(count), first)


def _whole(values: Any) -> tuple[int, ...]:
    # Very old files write a size as a call of torch.Size on the tuple.
    if isinstance(values, InertCall):
        values = values.arguments[0]
    if not isinstance(values, (tuple, list)):
        raise ValueError("a tensor without a shape")
    return tuple(_number(value) for value in values)


def _number(value: Any) -> int:
    if not isinstance(value, int) or abs(value) > LARGEST_NUMBER:
        raise ValueError(f"{quoted(value)} is no number of elements")
    return value
