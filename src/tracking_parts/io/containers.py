"""How long a video file says that it is: the plain way to see that its end is missing.

A count of frames is no proof: containers count approximately, and trimming by an edit list leaves a good file with
fewer frames than it counts. The sizes in the container's own structure are exact.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

ISO_FIRST_BOXES = {b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide"}
ISO_NEEDED_BOXES = {b"moov", b"moof", b"mdat"}  # others carry no frames: whether they are whole does not matter
EBML_HEADER = b"\x1a\x45\xdf\xa3"
MATROSKA_SEGMENT = b"\x18\x53\x80\x67"


def missing_bytes(path: Path) -> int:
    """How many bytes are missing at the end of an MP4, MOV, Matroska, WebM or AVI file; 0 if none or not known."""
    try:
        size = os.stat(path).st_size
        with path.open("rb") as stream:
            return max(0, _promised_size(stream, size) - size)
    except (OSError, struct.error):
        return 0


def _promised_size(stream: BinaryIO, size: int) -> int:
    start = stream.read(12)
    if start[4:8] in ISO_FIRST_BOXES:
        return _promised_by_iso(stream, size)
    if start[:4] == EBML_HEADER:
        return _promised_by_matroska(stream)
    if start[:4] == b"RIFF" and start[8:12] == b"AVI ":
        return int(struct.unpack("<I", start[4:8])[0]) + 8
    return 0


def _promised_by_iso(stream: BinaryIO, size: int) -> int:
    """The end of the last box, walking over the boxes of the outermost level."""
    offset = 0
    while offset + 8 <= size:
        stream.seek(offset)
        length, kind = struct.unpack(">I4s", stream.read(8))
        if length == 1:
            (length,) = struct.unpack(">Q", stream.read(8))
        # 0 means "to the end of the file"; anything else below 8 is no box but padding after the last one.
        if length < 8 or (offset + length > size and kind not in ISO_NEEDED_BOXES):
            return 0
        offset += length
    return int(offset)


def _promised_by_matroska(stream: BinaryIO) -> int:
    """The end of the segment, which a live recording leaves open."""
    stream.seek(4)
    header = _read_ebml_size(stream)
    if header is None:
        return 0
    stream.seek(header, 1)
    if stream.read(4) != MATROSKA_SEGMENT:
        return 0
    segment = _read_ebml_size(stream)
    return 0 if segment is None else stream.tell() + segment


def _read_ebml_size(stream: BinaryIO) -> int | None:
    """A number whose first byte says by its leading zeros how many bytes follow; all ones means unknown."""
    first = stream.read(1)
    if not first or not first[0]:
        return None
    following = 8 - first[0].bit_length()
    value = first[0] & ((1 << (7 - following)) - 1)
    rest = stream.read(following)
    if len(rest) < following:
        return None
    value = value << (8 * following) | int.from_bytes(rest, "big")
    return None if value == (1 << (7 * (following + 1))) - 1 else value
