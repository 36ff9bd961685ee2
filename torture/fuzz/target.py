"""What a fuzz target is, and the folder in which it may put a file for a reader that wants a path."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tracking_parts.errors import TrackingPartsError

CORPUS = Path(__file__).parent / "corpus"
LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class Target:
    """One format: what reads it, how long inputs get, and words worth putting into them."""

    name: str
    read: Callable[[bytes], object]
    largest: int = 4096
    words: tuple[bytes, ...] = field(default=())

    def seeds(self) -> list[bytes]:
        """The committed examples of this format."""
        folder = CORPUS / self.name
        return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else [b""]

    def __call__(self, content: bytes) -> None:
        """Read the bytes; only what is no error of ours, or one that no person could read, comes out."""
        try:
            self.read(content)
        except TrackingPartsError as error:
            check_message(str(error))


def check_message(message: str) -> None:
    """Ours are one line of plain words, whatever the input was."""
    if len(message.splitlines()) != 1:
        raise AssertionError(f"an error of {len(message.splitlines())} lines: {message[:200]!r}")
    if len(message) > LONGEST_MESSAGE:
        raise AssertionError(f"an error of {len(message)} characters: {message[:200]!r}")


@cache
def scratch() -> Path:
    """A folder of this process, in memory where the system has such a place."""
    shared = Path("/dev/shm")
    _folders.append(tempfile.TemporaryDirectory(prefix="stp-fuzz-", dir=shared if shared.is_dir() else None))
    return Path(_folders[-1].name)


_folders: list[tempfile.TemporaryDirectory[str]] = []


def as_file(content: bytes, name: str) -> Path:
    """The bytes as a file; the same path each time."""
    path = scratch() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def split_choice(content: bytes, choices: tuple[str, ...]) -> tuple[str, bytes]:
    """The first byte says which of several readers is meant."""
    return (choices[content[0] % len(choices)], content[1:]) if content else (choices[0], b"")
