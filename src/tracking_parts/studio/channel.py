"""What goes to one tab: gathered by any thread, sent in bundles, and never waited for."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tracking_parts.studio.model import Row

BUNDLE_SECONDS = 0.05
PICTURE_SECONDS = 0.1  # at most ten pictures a second while tracking: the eye is content, the tracker is not slowed
PICTURE_WIDTH = 960

SendText = Callable[[str], Awaitable[None]]
SendBytes = Callable[[bytes], Awaitable[None]]


class Channel:
    """Messages to one tab. Rows are bundled; of pictures only the newest is kept."""

    def __init__(self, tab: str, loop: asyncio.AbstractEventLoop) -> None:
        self.tab = tab
        self.follows = True  # whether the tab shows what is being tracked
        self._loop = loop
        self._lock = threading.Lock()
        self._messages: list[dict[str, Any]] = []
        self._rows: dict[int, list[dict[str, Any]]] = {}
        self._speed: dict[str, Any] | None = None
        self._picture: tuple[int, bytes] | None = None
        self._picture_sent = 0.0
        self._closed = False
        self._wake = asyncio.Event()

    # ------------------------------------------------------------------ from any thread
    def post(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._flush_rows()
            self._messages.append(message)
        self._notify()

    def post_rows(self, rows: list[tuple[int, Row]]) -> None:
        with self._lock:
            for target, row in rows:
                self._rows.setdefault(target, []).append(row.to_dict())
        self._notify()

    def post_speed(self, frame: int, fps: float) -> None:
        """How far the tracker is; sent with the next bundle."""
        with self._lock:
            self._speed = {"kind": "speed", "frame": frame, "fps": round(fps, 1)}

    def post_picture(self, frame: int, jpeg: bytes) -> None:
        with self._lock:
            self._picture = (frame, jpeg)
        self._notify()

    def picture_width(self) -> int:
        """0 while the tab has not taken the last picture, or looks elsewhere."""
        late = time.monotonic() - self._picture_sent < PICTURE_SECONDS
        return 0 if late or self._picture is not None or not self.follows or self._closed else PICTURE_WIDTH

    def close(self) -> None:
        self._closed = True
        self._notify()

    # ------------------------------------------------------------------ in the server's loop
    async def pump(self, send_text: SendText, send_bytes: SendBytes) -> None:
        """Send until closed; what was posted before that is still sent."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            messages, picture = self._take()
            for message in messages:
                await send_text(json.dumps(message, separators=(",", ":"), allow_nan=False))
            if picture is not None:
                await send_bytes(struct.pack("<I", picture[0]) + picture[1])
                self._picture, self._picture_sent = None, time.monotonic()
            if self._closed:
                return
            await asyncio.sleep(BUNDLE_SECONDS)

    def _take(self) -> tuple[list[dict[str, Any]], tuple[int, bytes] | None]:
        with self._lock:
            self._flush_rows()
            messages, self._messages = self._messages, []
            return messages, self._picture

    def _flush_rows(self) -> None:
        if self._rows:
            self._messages.append({"kind": "rows", "rows": self._rows})
            self._rows = {}
        if self._speed is not None:
            self._messages.append(self._speed)
            self._speed = None

    def _notify(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)
