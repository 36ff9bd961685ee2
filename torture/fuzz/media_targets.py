"""Targets for pictures and videos, through everything of ours that opens one."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from torture.fuzz.target import Target, as_file
from tracking_parts.errors import TrackingPartsError
from tracking_parts.frames import as_bgr
from tracking_parts.io.containers import missing_bytes
from tracking_parts.io.random_access import open_reader
from tracking_parts.io.video import open_source, read_image

MOST_FRAMES = 12


def video(content: bytes) -> None:
    """In order, and by number: the first frame, the last, and back."""
    path = as_file(content, "video.bin")
    with suppress(TrackingPartsError), open_source(path) as source:
        for frame in islice(source, MOST_FRAMES):
            as_bgr(frame)
    reader = open_reader(path)
    try:
        count = reader.frame_count
        for index in (0, count - 1, count // 2, 0, count):
            with suppress(TrackingPartsError):
                as_bgr(reader.read(index))
    finally:
        reader.close()


def image(content: bytes) -> None:
    as_bgr(read_image(as_file(content, "picture.bin")))


def container(content: bytes) -> None:
    if missing_bytes(as_file(content, "video.bin")) < 0:
        raise AssertionError("less than nothing is missing")


TARGETS = (
    Target("video", video, 16384, (b"moov", b"mdat", b"stsz", b"tkhd", b"\x1a\x45\xdf\xa3", b"RIFF", b"#EXTM3U\n")),
    Target("image", image, 16384, (b"IHDR", b"IDAT", b"\xff\xc0", b"\xff\xda", b"P6 99999 99999 255\n", b"II*\x00")),
    Target("container", container, 1024, (b"ftyp", b"moov", b"mdat", b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67")),
)
