"""``stp studio``, killed while somebody draws: every box that was acknowledged is there afterwards."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from torture.moving_square import HEIGHT, WIDTH, frame_at
from torture.trials import Trial
from torture.warm import WarmCommands
from tracking_parts.io.video import VideoWriter

FRAMES, PATIENCE_SECONDS, LONGEST_SECONDS = 30, 120.0, 1.5
BOX = [20.0, 20.0, 24.0, 20.0]


class StudioKills:
    """The server as it is started by hand, and a page that draws as fast as it is answered."""

    def __init__(self, commands: WarmCommands, folder: Path, chance: random.Random) -> None:
        self._commands, self._folder, self._chance = commands, folder, chance
        self._video = folder / "video.mp4"
        with VideoWriter(self._video, 25.0, (WIDTH, HEIGHT)) as writer:
            for index in range(FRAMES):
                writer.write(frame_at(index))

    def trial(self, kind: signal.Signals) -> Iterator[Trial]:
        data, said = self._folder / "data", self._folder / "said"
        shutil.rmtree(data, ignore_errors=True)
        shutil.rmtree(said, ignore_errors=True)
        options = ["--no-browser", "--port", "0", "--data", str(data), "--profile", "fast", "--threads", "1"]
        process = self._commands.start(["studio", str(self._video), *options], said)
        page = _Page(_address_in(said / "stdout"))
        time.sleep(self._chance.uniform(0, LONGEST_SECONDS))
        os.kill(process, kind)
        code = self._commands.wait(process)
        page.close()
        words = (said / "stderr").read_text(encoding="utf-8", errors="replace")
        expected = -kind if kind is signal.SIGKILL else 128 + kind
        problem = f"exit code {code}: {words[-300:]}" if code != expected or "Traceback" in words else ""
        problem = problem or _lost_boxes(data, page)
        yield Trial(f"stp studio, {kind.name}", not problem, problem or f"{len(page.drawn)} boxes")


class _Page:
    """Opens the video, adds a target and draws in one frame after the other until the server is gone."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        self.drawn: list[int] = []  # frames whose box was acknowledged
        project = _ask(address, "api/open", {"kind": "file", "name": "video.mp4"})["id"]
        place = address.replace("http", "ws", 1) + f"api/projects/{project}/socket?tab=a"
        self._opened = ExitStack()
        self._socket = self._opened.enter_context(connect(place, max_size=None))
        self.target = int(self._do({"do": "add_target", "name": "square"})["target"]["id"])
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def _draw(self) -> None:
        from websockets.exceptions import WebSocketException

        try:
            for frame in range(FRAMES):
                if self._do({"do": "draw", "target": self.target, "frame": frame, "box": BOX})["ok"]:
                    self.drawn.append(frame)
        except (WebSocketException, OSError, TimeoutError):
            return

    def _do(self, order: dict[str, Any]) -> dict[str, Any]:
        self._socket.send(json.dumps({"id": 1, **order}))
        while True:
            text = self._socket.recv(timeout=PATIENCE_SECONDS)
            message: dict[str, Any] = json.loads(text) if isinstance(text, str) else {}
            if message.get("kind") == "reply":
                return message

    def close(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        self._opened.close()


def _lost_boxes(data: Path, page: _Page) -> str:
    from tracking_parts.studio.store import Store

    store = Store(data)
    try:
        kept = store.drawn(page.target)
    finally:
        store.close()
    lost = [frame for frame in page.drawn if frame not in kept or list(kept[frame].xywh) != BOX]
    return f"boxes that were acknowledged are gone: frames {lost}" if lost else ""


def _address_in(output: Path) -> str:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = re.search(r"http://\S+", output.read_text(encoding="utf-8")) if output.exists() else None
        if found:
            return found[0]
        time.sleep(0.05)
    raise TimeoutError("the studio did not start")


def _ask(address: str, path: str, content: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address + path, json.dumps(content).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)
