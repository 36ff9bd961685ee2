"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import re
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
    temporary = temporary_beside(target)
    try:
        yield temporary
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_beside(target: Path) -> Path:
    """A name that nobody else uses; it tells whose it is, for :func:`remove_leftovers`."""
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.part")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this machine had begun to write in a folder."""
    for path in folder.glob(".*.part"):
        owner = re.search(r"\.(\d+)-[0-9a-f]{16}\.part$", path.name)
        if owner and not _is_alive(int(owner[1])):
            path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file or nothing, and let it reach the disk; makes its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, temporary.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
