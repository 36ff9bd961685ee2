"""Frames from a decoder that runs in a process of its own; see :mod:`tracking_parts.studio.decoder_process`."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tracking_parts.errors import SourceError
from tracking_parts.io.image_sizes import MOST_PIXELS
from tracking_parts.io.plain_files import parse_json
from tracking_parts.io.random_access import Picture
from tracking_parts.studio.model import whole_number
from tracking_parts.studio.store import clean_name

OPEN_SECONDS = 120.0  # the packets of a long video are listed once
FRAME_SECONDS = 30.0
PIPE_BYTES = 1 << 20
LONGEST_HEADER = 1 << 16
LONGEST_ERROR = 500
LARGEST_BLOCK = MOST_PIXELS * 3


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a source says of itself once it is open."""

    name: str
    frame_count: int
    fps: float | None
    size_wh: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Decoded:
    """One frame: pixels, and a JPEG for the page, each where it was asked for."""

    index: int
    picture: Picture | None
    jpeg: bytes


class Decoder:
    """One source, open in another process. May be called from several threads; requests are answered in turn."""

    def __init__(self, source: str | Path, *, frame_seconds: float = FRAME_SECONDS) -> None:
        self._lock = threading.Lock()
        self._frame_seconds = frame_seconds
        self._asked: tuple[int, bool, int] | None = None
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tracking_parts.studio.decoder_process", str(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the server, which ends its decoders itself
        )
        _widen(self._process)
        try:
            header, _ = self._receive(OPEN_SECONDS)
            self.facts = read_facts(header)
        except BaseException:
            self.close()
            raise

    def read(self, index: int, *, raw: bool = True, jpeg_width: int = 0) -> Decoded:
        """One frame; waits for it."""
        with self._lock:
            if self._asked != (index, raw, jpeg_width):
                self._forget_answer()
                self._ask(index, raw, jpeg_width)
            return self._answer()

    def ask_ahead(self, index: int, *, raw: bool = True, jpeg_width: int = 0) -> None:
        """Let a frame be decoded that will be read next, meanwhile."""
        with self._lock:
            if self._asked is None:
                self._ask(index, raw, jpeg_width)

    def count(self) -> int:
        """How many frames there are by now: a recording grows."""
        with self._lock:
            self._forget_answer()
            self._write({})
            header, _ = self._receive(self._frame_seconds)
            try:
                return int(header["frames"])
            except (ArithmeticError, KeyError, TypeError, ValueError) as error:
                raise self._broken("it gave nonsense") from error

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ the pipe
    def _ask(self, index: int, raw: bool, jpeg_width: int) -> None:
        self._write({"frame": index, "raw": raw, "jpeg": jpeg_width})
        self._asked = (index, raw, jpeg_width)

    def _answer(self) -> Decoded:
        assert self._asked is not None
        index, self._asked = self._asked[0], None
        header, (raw, jpeg) = self._receive(self._frame_seconds)
        try:
            width, height = (int(value) for value in header["size"])
            picture = np.frombuffer(raw, np.uint8).reshape(height, width, 3) if raw else None
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            raise self._broken("it gave nonsense") from error
        return Decoded(index, picture, bytes(jpeg))

    def _forget_answer(self) -> None:
        """Throw away a frame that was asked for ahead and is not wanted any more."""
        if self._asked is not None:
            with contextlib.suppress(SourceError):
                self._answer()

    def _write(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise SourceError("the video's decoder has stopped") from error

    def _receive(self, seconds: float) -> tuple[dict[str, Any], tuple[bytearray, bytearray]]:
        deadline = time.monotonic() + seconds
        (length,) = struct.unpack("<I", self._take(4, deadline))
        if length > LONGEST_HEADER:
            raise self._broken("it gave nonsense")
        try:
            header = parse_json(bytes(self._take(length, deadline)))
            sizes = (int(header.get("raw", 0)), int(header.get("jpeg", 0)))
        except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
            raise self._broken("it gave nonsense") from error
        if not all(0 <= size <= LARGEST_BLOCK for size in sizes):
            raise self._broken("it gave nonsense")
        blocks = (self._take(sizes[0], deadline), self._take(sizes[1], deadline))
        if "error" in header:
            raise SourceError(" ".join(str(header["error"]).split())[:LONGEST_ERROR] or "it could not be decoded")
        return header, blocks

    def _take(self, count: int, deadline: float) -> bytearray:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        block = bytearray(count)
        view, filled = memoryview(block), 0
        while filled < count:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self._broken("it took too long")
            received = os.readv(descriptor, [view[filled:]])
            if not received:
                raise self._broken("it stopped")
            filled += received
        return block

    def _broken(self, reason: str) -> SourceError:
        self._process.kill()
        return SourceError(f"the video could not be decoded: {reason}")


def read_facts(header: dict[str, Any]) -> SourceFacts:
    """What a source says of itself, checked: the process that says so has opened anybody's file."""
    try:
        width, height = (whole_number(value) for value in header["size"])
        fps = None if header["fps"] is None else float(header["fps"])
        frames = whole_number(header["frames"])
        name = clean_name(str(header["name"]))
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise SourceError("the video could not be decoded: it gave nonsense") from error
    if width * height > MOST_PIXELS:
        raise SourceError("the video could not be decoded: its pictures are too large")
    return SourceFacts(name, frames, fps if fps is not None and 0 < fps < math.inf else None, (width, height))


def _widen(process: subprocess.Popen[bytes]) -> None:
    """A larger pipe: a frame of a few megabytes crosses in a few steps."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        assert process.stdout is not None
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
