"""How large a picture says that it is, from its first bytes: a small file may unpack to more than the memory holds."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

MOST_PIXELS = 8192 * 8192  # of a picture that is decoded at all
MOST_SIDE = 2**32  # that is told of one: it may be written with thousands of digits

_PNG = b"\x89PNG\r\n\x1a\n"
_SOF = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_TIFF_WIDTH, _TIFF_HEIGHT = 256, 257
_TIFF_TYPES = {1: "B", 3: "H", 4: "I", 16: "Q"}


def announced_size(content: bytes) -> tuple[int, int] | None:
    """Width and height as the file's header gives them; None for a format that is not known here, or damaged."""
    try:
        return _announced(content)
    except (struct.error, ValueError, IndexError, StopIteration):
        return None


def promises_too_much(content: bytes) -> bool:
    """Whether a PNG has a chunk that would end beyond the file: the decoder would make room for all of it first."""
    place = len(_PNG)
    while content.startswith(_PNG) and place + 8 <= len(content):
        (length,) = struct.unpack_from(">I", content, place)
        place += 12 + length
        if place > len(content):
            return True
        if content[place - 8 - length : place - 4 - length] == b"IEND":
            break
    return False


def _announced(content: bytes) -> tuple[int, int] | None:
    start = content[:12]
    if start.startswith(b"\x89PNG"):
        width, height = struct.unpack_from(">II", content, 16)
        return width, height
    if start.startswith(b"\xff\xd8"):
        return next(_jpeg_sizes(content))
    if start.startswith(b"BM"):
        (header,) = struct.unpack_from("<I", content, 14)
        width, height = struct.unpack_from("<HH" if header == 12 else "<ii", content, 18)
        return abs(width), abs(height)
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return _webp_size(content)
    if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return _tiff_size(content)
    if re.match(rb"P[1-6]\s", start):
        words = re.sub(rb"#[^\n]*", b" ", content[2:4096]).split(maxsplit=2)
        return min(int(words[0]), MOST_SIDE), min(int(words[1]), MOST_SIDE)
    return None


def _jpeg_sizes(content: bytes) -> Iterator[tuple[int, int]]:
    place = 2
    while place + 4 <= len(content):
        if content[place] != 0xFF:
            place += 1
            continue
        kind = content[place + 1]
        if kind == 0xFF or kind in _WITHOUT_LENGTH or kind == 0:
            place += 1 if kind == 0xFF else 2
            continue
        if kind in _SOF:
            height, width = struct.unpack_from(">HH", content, place + 5)
            yield width, height
        (length,) = struct.unpack_from(">H", content, place + 2)
        place += 2 + max(2, length)


def _webp_size(content: bytes) -> tuple[int, int] | None:
    kind = content[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", content, 26)
    return width & 0x3FFF, height & 0x3FFF


def _tiff_size(content: bytes) -> tuple[int, int] | None:
    order = "<" if content[:1] == b"I" else ">"
    is_big = content[2:4] in (b"+\0", b"\0+")
    (place,) = struct.unpack_from(order + ("Q" if is_big else "I"), content, 8 if is_big else 4)
    (count,) = struct.unpack_from(order + ("Q" if is_big else "H"), content, place)
    place += 8 if is_big else 2
    found: dict[int, int] = {}
    for _ in range(min(count, 4096)):
        tag, kind = struct.unpack_from(order + "HH", content, place)
        if tag in (_TIFF_WIDTH, _TIFF_HEIGHT) and kind in _TIFF_TYPES:
            (found[tag],) = struct.unpack_from(order + _TIFF_TYPES[kind], content, place + (12 if is_big else 8))
        place += 20 if is_big else 12
    return (found[_TIFF_WIDTH], found[_TIFF_HEIGHT]) if len(found) == 2 else None
