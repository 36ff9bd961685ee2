"""Arrays from ``.npz`` files that anybody may have made: no pickles, and no more memory than the file can fill.

numpy itself makes room for whatever shape an array's header names before it reads a single number, and a few kilobytes
of zeros unpack to gigabytes. So headers are compared with what the archive says it holds, and that with a limit.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterable
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

npy: Any = npy_format  # numpy does not say of which types it is
LARGEST_HEADER = 10_000
ENCRYPTED = 1  # a flag of a member of a zip archive
SUFFIX = ".npy"
# What a damaged or foreign file may raise; the file's content decides which.
SIGNS_OF_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError),
    *(RuntimeError, SyntaxError, TypeError, ValueError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


def read_npz_arrays(
    stream: IO[bytes], most_bytes: int, names: Collection[str] | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays, or those of some names; one of :data:`SIGNS_OF_DAMAGE` where they cannot be had."""
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(stream) as archive:
        members = {member.filename.removesuffix(SUFFIX): member for member in archive.infolist()}
        wanted = {name: member for name, member in members.items() if names is None or name in names}
        if sum(member.file_size for member in wanted.values()) > most_bytes:
            raise ValueError(f"its arrays take more than {most_bytes} bytes")
        check_compression(wanted.values())
        for name, member in wanted.items():
            with archive.open(member) as content:
                arrays[name] = _read_array(content, member.file_size)
    return arrays


def check_compression(members: Iterable[zipfile.ZipInfo]) -> None:
    """Refuse what nobody's writer uses: another method's file may ask for gigabytes to be unpacked in."""
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & ENCRYPTED:
            raise ValueError("it is packed in a way that is not supported")


def _read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        header = npy.read_array_header_1_0(stream, max_header_size=LARGEST_HEADER)
    elif version == (2, 0):
        header = npy.read_array_header_2_0(stream, max_header_size=LARGEST_HEADER)
    else:
        raise ValueError(f"an array of the unknown version {version}")
    shape, is_fortran, dtype = header
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which would have to be unpickled")
    if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} in {size} bytes")
    content = stream.read(prod(shape) * dtype.itemsize)
    if len(content) != prod(shape) * dtype.itemsize:
        raise EOFError("the file ends within an array")
    numbers = np.frombuffer(content, dtype) if dtype.itemsize else np.zeros(prod(shape), dtype)
    return numbers.reshape(shape, order="F" if is_fortran else "C").copy()
