"""Files that come from the page: bounded in size and number, kept under names of ours, looked at before they are used.

What a file is called by its sender is kept as words to show, never as a path.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from tracking_parts.errors import SourceError

MEGABYTE = 1 << 20
SPARE_DISK_BYTES = 512 * MEGABYTE
SNIFFED_BYTES = 512
VIDEO_SUFFIX, PROJECT_SUFFIX = ".video", ".project"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much may be uploaded."""

    largest_bytes: int = 2048 * MEGABYTE
    most_files: int = 50


class Uploads:
    """The folder of uploaded videos."""

    def __init__(self, folder: Path, limits: UploadLimits) -> None:
        self.folder = folder
        self.limits = limits

    async def receive(self, chunks: AsyncIterator[bytes], announced_bytes: int | None) -> Path:
        """Keep what comes; raises :class:`SourceError` in plain words and keeps nothing where it is not wanted."""
        self._check_room(announced_bytes)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self.folder / f"{token_hex(16)}.part"
        try:
            await self._write(unfinished, chunks)
            suffix = kind_of(unfinished)
            kept = unfinished.with_suffix(suffix)
            unfinished.rename(kept)
            return kept
        finally:
            unfinished.unlink(missing_ok=True)

    def names(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{VIDEO_SUFFIX}")) if self.folder.is_dir() else []

    def clean(self, wanted: set[str]) -> None:
        """Remove what no project uses: uploads that were broken off, and videos of deleted projects."""
        if not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if str(path) not in wanted and path.suffix in (".part", VIDEO_SUFFIX, PROJECT_SUFFIX):
                path.unlink(missing_ok=True)

    def check_number(self) -> None:
        if len(self.names()) >= self.limits.most_files:
            raise SourceError(
                f"there are {self.limits.most_files} uploaded videos already: delete a project that you no longer need"
            )

    def _check_room(self, announced_bytes: int | None) -> None:
        self.check_number()
        if announced_bytes is not None and announced_bytes > self.limits.largest_bytes:
            raise self._too_large()
        parent = next(path for path in (self.folder, *self.folder.parents) if path.is_dir())
        if shutil.disk_usage(parent).free < SPARE_DISK_BYTES + (announced_bytes or 0):
            raise SourceError("the disk is nearly full: there is no room for this video")

    async def _write(self, path: Path, chunks: AsyncIterator[bytes]) -> None:
        written = 0
        with path.open("xb") as stream:
            path.chmod(0o600)
            async for chunk in chunks:
                written += len(chunk)
                if written > self.limits.largest_bytes:
                    raise self._too_large()
                stream.write(chunk)
        if not written:
            raise SourceError("this file is empty")

    def _too_large(self) -> SourceError:
        return SourceError(
            f"this file is larger than {self.limits.largest_bytes // MEGABYTE} MB: "
            "open it by its path instead, stp studio VIDEO"
        )


def kind_of(path: Path) -> str:
    """The suffix that a file gets by what it begins with; anything but a video or a project file is refused.

    Playlists are refused with the rest: a decoder would follow them to other files and addresses.
    """
    with path.open("rb") as stream:
        start = stream.read(SNIFFED_BYTES)
    if start.startswith(b"PK\x03\x04"):
        return PROJECT_SUFFIX
    if is_video(start):
        return VIDEO_SUFFIX
    raise SourceError("this is no video that the studio knows: MP4, MOV, MKV, WebM, AVI, MPEG, Ogg and FLV are")


def is_video(start: bytes) -> bool:
    """Whether a file's first bytes are those of a container of pictures."""
    return (
        start[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")
        or start.startswith((b"\x1a\x45\xdf\xa3", b"OggS", b"FLV\x01", b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3"))
        or (start.startswith(b"RIFF") and start[8:12] == b"AVI ")
        or (len(start) > 188 and start[0] == start[188] == 0x47)
    )
