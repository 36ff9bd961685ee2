"""Any frame of a video or a folder of images by its number, in any order, without holding the others in memory.

The numbers are those of :func:`tracking_parts.io.video.open_source`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import av
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import SourceError, one_line
from tracking_parts.frames import as_bgr
from tracking_parts.io.sequences import read_sequence
from tracking_parts.io.video import (
    DECODING_ERRORS,
    BrokenSourceError,
    frame_rate,
    open_container,
    read_image,
    upright_bgr,
)

Picture = NDArray[np.uint8]  # [rows, columns, 3] BGR


class FrameReader(Protocol):
    """Frames by their number. ``frame_count`` may grow while a recording goes on."""

    name: str
    fps: float | None

    @property
    def frame_count(self) -> int: ...

    def read(self, index: int) -> Picture:
        """One frame; :class:`SourceError` where there is none or it is damaged."""

    def close(self) -> None: ...


def open_reader(source: str | Path) -> FrameReader:
    """A video file, a folder of images or a sequence folder."""
    path = Path(source).expanduser()
    if path.is_dir():
        return FolderReader(path)
    if not path.is_file():
        raise SourceError(f"no file or folder at {path}")
    return VideoReader(path)


class FolderReader:
    """Images of a folder in natural order. Looks again for new ones when asked for more than there were."""

    def __init__(self, folder: Path) -> None:
        sequence = read_sequence(folder)
        self.name, self.fps = sequence.name, sequence.fps
        self._paths = sequence.frames

    @property
    def frame_count(self) -> int:
        return len(self._paths)

    def refresh(self) -> None:
        """Look whether a recording has gone on: for images whose number follows the last one's."""
        while (following := _following(self._paths[-1])).is_file():
            self._paths.append(following)

    def read(self, index: int) -> Picture:
        if index >= len(self._paths):
            self.refresh()
        if not 0 <= index < len(self._paths):
            raise SourceError(f"{self.name} has no frame {index}: it has {len(self._paths)}")
        return as_bgr(read_image(self._paths[index]))

    def close(self) -> None:
        """Nothing is held open."""


def _following(path: Path) -> Path:
    """``000124.jpg`` for ``000123.jpg``; a path that is not there where names do not end in a number."""
    found = re.search(r"[0-9]+$", path.stem)
    if found is None:
        return path / "none"
    number = str(int(found[0]) + 1).zfill(len(found[0]))
    return path.with_name(path.stem[: found.start()] + number + path.suffix)


class VideoReader:
    """A video file. Its packets are listed once without decoding them; a frame is then reached from its key frame."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._path = str(path)
        self._container, self._stream = open_container(self._path)
        self.fps = frame_rate(self._stream)
        try:
            self._times, self._keys = self._list_packets()
            self._position = 0  # number of the picture that the decoder gives next
            self._pictures = self._decode()
            self._leave_out_incomplete_start()
        except BaseException:
            self.close()
            raise

    @property
    def frame_count(self) -> int:
        return len(self._times)

    def read(self, index: int) -> Picture:
        if not 0 <= index < len(self._times):
            raise SourceError(f"{self.name} has no frame {index}: it has {len(self._times)}")
        if not self._is_ahead(index):
            self._seek(self._key_before(self._times[index]))
        picture = self._advance(index)
        if picture is None:  # some key frames cannot be entered at: begin at the first one
            self._seek(self._times[0])
            picture = self._advance(index)
        if picture is None:
            raise BrokenSourceError(self._path, index, "its data are damaged")
        return upright_bgr(picture)

    def close(self) -> None:
        self._container.close()

    # ------------------------------------------------------------------ the index
    def _list_packets(self) -> tuple[list[int], list[int]]:
        """When each picture is shown, in order, and which of them can be decoded alone."""
        times: list[int] = []
        keys: list[int] = []
        try:
            for packet in self._container.demux(self._stream):
                if packet.pts is None or not packet.size or packet.is_discard:
                    continue
                times.append(packet.pts)
                if packet.is_keyframe:
                    keys.append(packet.pts)
        except DECODING_ERRORS:
            pass  # what was listed so far can be shown; the rest is missing
        if not times:
            raise SourceError(f"{self._path} has no frames that can be found by their time")
        self._rewind(min(times))
        return sorted(set(times)), sorted(set(keys))

    def _leave_out_incomplete_start(self) -> None:
        """A recording that starts between two key frames: its first pictures cannot be seen."""
        try:
            seen = (one.pts for one in self._pictures if one.pts is not None and not one.is_corrupt)
            first = next(seen, None)
        except DECODING_ERRORS:
            first = None  # which frames can be seen turns out when they are read
        if first is not None:
            self._times = [time for time in self._times if time >= first] or self._times
        self._seek(self._times[0])

    # ------------------------------------------------------------------ the decoder
    def _is_ahead(self, index: int) -> bool:
        """Whether decoding on reaches a frame at least as soon as going back or ahead to its key frame."""
        if index < self._position or self._position >= len(self._times):
            return False
        return self._key_before(self._times[index]) <= self._times[self._position]

    def _key_before(self, time: int) -> int:
        place = bisect_right(self._keys, time)
        return self._keys[place - 1] if place else self._times[0]

    def _seek(self, time: int) -> None:
        self._rewind(time)
        self._pictures = self._decode()
        self._position = max(0, bisect_right(self._times, time) - 1)

    def _rewind(self, time: int) -> None:
        try:
            self._container.seek(time, stream=self._stream, backward=True, any_frame=False)
        except DECODING_ERRORS as error:
            raise SourceError(f"cannot move within {self._path}: {one_line(error)}") from error

    def _decode(self) -> Iterator[av.VideoFrame]:
        yield from self._container.decode(self._stream)

    def _advance(self, index: int) -> av.VideoFrame | None:
        """Decode up to a frame; None where it does not come."""
        wanted = self._times[index]
        try:
            for picture in self._pictures:
                if picture.pts is None or picture.pts < wanted:
                    continue
                self._position = bisect_right(self._times, picture.pts)
                return picture if picture.pts == wanted and not picture.is_corrupt else None
        except DECODING_ERRORS as error:
            self._position = len(self._times)
            raise BrokenSourceError(self._path, index, str(getattr(error, "strerror", None) or error)) from error
        self._position = len(self._times)
        return None
