"""How files made to harm are written: each function gives one that writes its file into a folder."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

GIGABYTE = 1 << 30
Make = Callable[[Path], Path]


def always(content: bytes) -> Callable[[Path], bytes]:
    return lambda folder: content


def made(make: Callable[[], bytes], folder: Path) -> bytes:
    return make()


def writer(make: Callable[[Path], bytes], name: str) -> Make:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(make(folder))
        return folder / name

    return write


def zip_writer(members: dict[str, bytes], name: str, compression: int = zipfile.ZIP_STORED) -> Make:
    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", compression) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return folder / name

    return write


def bomb_writer(member: str, start: bytes, name: str, others: dict[str, bytes] | None = None) -> Make:
    """An archive with one member that says it unpacks to three gigabytes; that nobody may make room for."""

    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1) as archive:
            for other, content in (others or {}).items():
                archive.writestr(other, content)
            archive.writestr(member, start + bytes(1000))
        return claim_size(folder / name, member, 3 * GIGABYTE)

    return write


def claim_size(path: Path, member: str, size: int) -> Path:
    """Change what an archive's index says of a member's size, to which its own content would have to unpack."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        before = archive.getinfo(member).file_size
    for sign, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = content.find(sign)
        while place >= 0:
            if struct.unpack_from("<I", content, place + offset)[0] == before:
                struct.pack_into("<I", content, place + offset, size & 0xFFFFFFFF)
            place = content.find(sign, place + 4)
    path.write_bytes(content)
    return path


def sparse_writer(name: str) -> Make:
    def write(folder: Path) -> Path:
        with (folder / name).open("wb") as stream:
            stream.truncate(3 * GIGABYTE)
        return folder / name

    return write
