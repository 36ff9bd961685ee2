"""One server per data folder: a lock of the operating system, which goes with the process however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracking_parts.errors import OutputError

LOCK_FILE = "server.lock"
MOST_WORDS = 200


@contextmanager
def only_server(folder: Path, address: str) -> Iterator[None]:
    """Hold a data folder while serving at an address; raises in plain words where another server holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _require_own(folder)
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OutputError(f"the studio cannot keep its work in {folder}: {error.strerror or error}") from error
    try:
        if not _try_to_lock(descriptor):
            raise OutputError(_held_by(descriptor, folder))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, address.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _require_own(folder: Path) -> None:
    """Whoever owns the folder decides which videos its projects may show."""
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise OutputError(f"{folder} belongs to another user: choose a folder of your own, --data FOLDER")


def _held_by(descriptor: int, folder: Path) -> str:
    address = ""
    with suppress(OSError):
        address = os.pread(descriptor, MOST_WORDS, 0).decode("utf-8", "replace")
    where = f" at {address}" if address.startswith("http://") else ""
    return f"a studio is open already{where} with its work in {folder}: use that one, or choose another, --data FOLDER"


def _try_to_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return _try_to_lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_to_lock_on_windows(descriptor: int) -> bool:
    import importlib

    msvcrt = importlib.import_module("msvcrt")
    os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond the words, which others may read
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
