"""Memory that was freed but not given back.

The C library keeps it at hand: after the network's weights are read, blocks of any size, up to 64 MB in all. Parts come
and go in blocks of some megabytes, each a little larger or smaller than the last; over some thousand frames all of that
memory fills with holes between them, and the process seems to grow. So large blocks are taken from the system one by
one and go back at once, and every now and then so does what else is free.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache

FRAMES_BETWEEN = 256  # to give back takes some milliseconds
LARGE = 2 << 20  # bytes; smaller ones come in every frame, and memory that is new to a process costs time
AT_HAND = 64 << 20  # bytes of small blocks
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


def keep_large_blocks_apart() -> None:
    """Once per process, where the C library is glibc; whoever has told it otherwise by a variable is obeyed."""
    if not any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        _set_apart()


@lru_cache(maxsize=1)
def _set_apart() -> None:
    library = _glibc()
    if library is not None:
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, AT_HAND)


def give_back_memory(frame_index: int) -> None:
    """Every now and then: let the system have what is not used, where the C library can be asked to."""
    library = _glibc()
    if frame_index % FRAMES_BETWEEN == 0 and library is not None:
        library.malloc_trim(0)


@lru_cache(maxsize=1)
def _glibc() -> ctypes.CDLL | None:
    """The C library of this process, if it is the one that has these functions: musl and others have not."""
    try:
        library = ctypes.CDLL(None) if sys.platform == "linux" else None
        return library if library is not None and library.malloc_trim and library.mallopt else None
    except (OSError, AttributeError):
        return None
