"""Memory that was freed but not given back.

The C library keeps up to 64 MB of it at hand: twice the largest block that was ever freed, which is one of the
network's weights. Over some thousand frames all of that fills with holes, and the process seems to grow.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache

FRAMES_BETWEEN = 256  # to give back takes some milliseconds


def give_back_memory(frame_index: int) -> None:
    """Every now and then: let the system have what is not used, where the C library can be asked to."""
    if frame_index % FRAMES_BETWEEN == 0:
        _trim()(0)


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], object]:
    try:
        trim = ctypes.CDLL(None).malloc_trim if sys.platform == "linux" else None  # glibc has it, musl has not
    except (OSError, AttributeError):
        trim = None
    return (lambda spare: None) if trim is None else trim
