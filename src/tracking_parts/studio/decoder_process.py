"""A process of its own that decodes one source: ``python -m tracking_parts.studio.decoder_process SOURCE``.

Whatever a hostile file does to the decoder, it does here: no file can be written, memory is bounded, and the process
ends with the pipe. Requests are lines of JSON; an answer is the length of a header, the header as JSON, and the bytes
that the header announces. Nothing is unpickled on either side.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import Any, BinaryIO

import cv2
import numpy as np

from tracking_parts.errors import SourceError
from tracking_parts.io.image_sizes import MOST_PIXELS
from tracking_parts.io.random_access import FolderReader, FrameReader, Picture, open_reader

MEMORY_BYTES = 6 << 30  # of addresses; a few pictures of the largest size take less than one
OPEN_FILES = 64
JPEG_QUALITY = 85


def main(source: str) -> int:
    """Answer requests until the other side hangs up."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not get between the answers
    limit_this_process()
    cv2.setNumThreads(1)
    try:
        reader = open_reader(source)
        first = reader.read(0)
    except Exception as error:
        send(answers, {"error": plain_words(error)})
        return 1
    height, width = first.shape[:2]
    if height * width > MOST_PIXELS:
        send(answers, {"error": f"its pictures have {width}x{height} pixels, more than the studio shows"})
        return 1
    description = {"name": reader.name, "fps": reader.fps, "frames": reader.frame_count, "size": [width, height]}
    send(answers, description)
    for line in sys.stdin:
        answer(answers, reader, json.loads(line))
    return 0


def limit_this_process() -> None:
    """Bound memory and files; elsewhere than on Unix the process is all the protection there is."""
    try:
        import resource
    except ImportError:
        return
    for kind, amount in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bounded = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (bounded, bounded))


def answer(answers: BinaryIO, reader: FrameReader, request: dict[str, Any]) -> None:
    """One frame: its pixels if ``raw``, and a JPEG no wider than ``jpeg`` if that is given; or the count alone."""
    if "frame" not in request:
        if isinstance(reader, FolderReader):
            reader.refresh()
        send(answers, {"frames": reader.frame_count})
        return
    try:
        picture = reader.read(int(request["frame"]))
        encoded = shown(picture, int(request["jpeg"])) if request.get("jpeg") else b""
    except Exception as error:
        send(answers, {"error": plain_words(error)})
        return
    raw = np.ascontiguousarray(picture).data.cast("B") if request.get("raw") else b""
    height, width = picture.shape[:2]
    send(answers, {"size": [width, height], "raw": len(raw), "jpeg": len(encoded)}, raw, encoded)


def shown(picture: Picture, widest: int) -> bytes:
    """A JPEG for the page."""
    height, width = picture.shape[:2]
    if width > widest:
        size_wh = (widest, max(1, round(height * widest / width)))
        # Averaging over areas looks best, but takes four times as long; it matters only where pixels would be skipped.
        how = cv2.INTER_AREA if width >= 2 * widest else cv2.INTER_LINEAR
        picture = np.asarray(cv2.resize(picture, size_wh, interpolation=how), np.uint8)
    good, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not good:
        raise SourceError("the picture could not be encoded")
    return encoded.tobytes()


def plain_words(error: Exception) -> str:
    """One line; what no user can have caused is named by its kind."""
    if isinstance(error, SourceError):
        return str(error)
    if isinstance(error, MemoryError):
        return "its pictures need more memory than the studio allows"
    return f"it could not be decoded ({type(error).__name__})"


def send(answers: BinaryIO, header: dict[str, Any], *blocks: bytes | memoryview) -> None:
    text = json.dumps(header).encode()
    for block in (struct.pack("<I", len(text)) + text, *blocks):
        rest = memoryview(block)
        while rest:
            rest = rest[answers.write(rest) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
