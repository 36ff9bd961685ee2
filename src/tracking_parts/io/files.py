"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` to be written to; it takes the target's place at the end, which is atomic.

    An error leaves the target as it was and nothing beside it. Every writer has a path of its own, so that two
    processes may write the same file at once.
    """
    # Not mkstemp: that would make the file unreadable for the other users of a shared cache.
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.part")
    try:
        yield temporary
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file or nothing, and let it reach the disk; makes its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, temporary.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
