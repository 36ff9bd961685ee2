"""A file that grows row by row and is valid after each of them, whatever ends the process or fills the disk."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO

from tracking_parts.errors import OutputError


class GrowingFile:
    """Rows, and a tail that must follow the last one. A row that does not fit leaves the file as it was before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tail_at = 0  # where the rows end
        self._tail = b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: each row reaches the file by one call, so no kill can leave half a row or half a tail.
            self._stream: IO[bytes] = path.open("wb", buffering=0)
        except OSError as error:
            raise self._error(error) from error

    def append(self, row: str, tail: str = "") -> None:
        """Overwrite the old tail by the row and the new tail, in one call so that the file is valid at any moment."""
        content, ending = row.encode(), tail.encode()
        # Never shorter than what it replaces, else the end of the old tail would stay behind the new one.
        ending += b" " * (len(self._tail) - len(content) - len(ending))
        block = content + ending
        try:
            self._stream.seek(self._tail_at)
            written = self._stream.write(block)
        except (OSError, ValueError) as error:  # ValueError: the file was closed
            self._restore()
            raise self._error(error) from error
        if written != len(block):
            self._restore()
            raise OutputError(f"cannot write {self.path}: only {written} of {len(block)} bytes fit")
        self._tail_at += len(content)
        self._tail = ending

    def _restore(self) -> None:
        """As before the last row. What is put back was there already, so that a full disk has room for it."""
        with suppress(OSError, ValueError):
            self._stream.seek(self._tail_at)
            self._stream.write(self._tail)
            self._stream.truncate(self._tail_at + len(self._tail))

    def close(self) -> None:
        if self._stream.closed:
            return
        try:
            self._stream.close()
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> OutputError:
        return OutputError(f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}")
