"""Who works on a result: a lock beside it, so that two runs on one folder share the work instead of doing it twice.

A claim is ``flock`` on ``.<result>.claim``. The kernel holds it, so that a worker that is killed, or whose machine
goes down, frees its claim by itself and nobody has to judge how old a file may be. Linux passes ``flock`` on to an NFS
server (and takes it back when a client stays away), which is what the nodes of a cluster need. Where a file system or
an operating system has no such lock, nothing is claimed: two runs may then do the same work, and the one that finishes
last puts its file, whole, in the place of the other's.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

if sys.platform != "win32":
    import fcntl

WITHOUT_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
Unlockable = Literal["unlockable"]


def claim_path(result_path: Path) -> Path:
    return result_path.with_name(f".{result_path.name}.claim")


@contextmanager
def claim(result_path: Path, wait: bool = False) -> Iterator[bool]:
    """Hold the claim to a result, if nobody else does: the value says so. With ``wait``, until nobody else does.

    Nothing is left behind, not even a folder made for the claim in which no result was put.
    """
    path = claim_path(result_path)
    new_folder = not path.parent.exists()
    while (lock := _lock(path)) is None and wait:
        time.sleep(0.05)
    try:
        yield lock is not None
    finally:
        if isinstance(lock, int):
            _unlock(lock, path)
            if new_folder:
                with suppress(OSError):  # it holds a result, or somebody else's claim
                    path.parent.rmdir()


def is_claimed(result_path: Path) -> bool:
    """Whether somebody works on this result at this moment."""
    if not claim_path(result_path).exists():
        return False
    with claim(result_path) as is_ours:
        return not is_ours


def _lock(path: Path) -> int | Unlockable | None:
    """An open file with the lock on it; None where somebody else holds it."""
    if sys.platform == "win32":
        return "unlockable"
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            if error.errno in WITHOUT_LOCKS:
                path.unlink(missing_ok=True)
                return "unlockable"
            raise
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it after we had opened it


def _open(path: Path) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # its last holder removed the folder just now
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _unlock(descriptor: int, path: Path) -> None:
    path.unlink(missing_ok=True)  # while it is still ours
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough where a tracker forked and its child lives on
    os.close(descriptor)
