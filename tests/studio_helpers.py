"""A studio without the network's weights: small videos and a tracker that answers at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession

from traces_for_viewers import some_trace
from tracking_parts.frames import as_box
from tracking_parts.geometry import Box
from tracking_parts.io.random_access import Picture
from tracking_parts.result import Result, State
from tracking_parts.studio.access import AccessRules
from tracking_parts.studio.app import make_app
from tracking_parts.studio.session import Progress
from tracking_parts.studio.store import Store
from tracking_parts.studio.studio import Studio
from tracking_parts.studio.uploads import UploadLimits
from tracking_parts.trace import FrameTrace

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
SOCKET = f"ws://127.0.0.1:{PORT}"  # the test client does not put its own address before that of a socket
BOX = [10.0, 12.0, 12.0, 12.0]


class FakeManyTracker:
    """Every box moves by a pixel a frame; the fifth and sixth frame of each target are uncertain."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.began: list[tuple[int, tuple[float, ...]]] = []  # every target that was begun, with its box
        self.taught: list[tuple[int, tuple[float, ...]]] = []  # every one that was corrected
        self._boxes: dict[int, tuple[Box, int]] = {}

    @property
    def names(self) -> tuple[str | int, ...]:
        return tuple(self._boxes)

    def add(self, frame: Picture, box: Box, name: int) -> str | int:
        assert name not in self._boxes
        self._boxes[name] = (as_box(box, frame), 0)
        self.began.append((name, box.xywh))
        return name

    def correct(self, frame: Picture, box: Box, name: int) -> Result:
        self._boxes[name] = (as_box(box, frame), self._boxes[name][1])
        self.taught.append((name, box.xywh))
        return self._result(name)

    def remove(self, name: int) -> None:
        del self._boxes[name]

    def update(self, frame: Picture) -> dict[str | int, Result]:
        time.sleep(self.seconds)
        self._boxes = {name: (replace(box, x=box.x + 1), age + 1) for name, (box, age) in self._boxes.items()}
        return {name: self._result(name) for name in self._boxes}

    def trace(self, name: int) -> FrameTrace:
        tracked, age = self._boxes[name]
        return replace(some_trace(age, parts=5), result=self._result(name), tracked=tracked)

    def close(self) -> None:
        self._boxes = {}

    def _result(self, name: int) -> Result:
        box, age = self._boxes[name]
        if age not in (5, 6):
            return Result(box, box.polygon, 0.9, State.TRACKING)
        told = Box.from_centre(box.centre, 1.1 * box.w, 1.1 * box.h)  # as ours does in doubt
        return Result(told, told.polygon, 0.3, State.UNCERTAIN)


def make_studio(
    folder: Path, opened: Path | None = None, limits: UploadLimits | None = None, seconds: float = 0.0
) -> tuple[Studio, list[FakeManyTracker]]:
    """A studio, and the trackers that it makes."""
    made: list[FakeManyTracker] = []

    def make(progress: Progress) -> FakeManyTracker:
        made.append(FakeManyTracker(seconds))
        return made[-1]

    return Studio(Store(folder / "data"), make, opened, limits), made


def make_client(studio: Studio, token: str = "", host: str = "127.0.0.1") -> TestClient:
    rules = AccessRules.for_bind(host, PORT, token)
    return TestClient(make_app(studio, rules), base_url=HOME)


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first true answer; the test fails where none comes."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)
    return answer


class Tab:
    """A page's end of the socket."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self.heard: list[dict[str, Any]] = []
        self._socket = socket
        self._number = 0

    def hear(self, kind: str, **values: Any) -> dict[str, Any]:
        """The next message of a kind with these values; the others are kept."""
        while True:
            message: dict[str, Any] = self._next()
            if message["kind"] == kind and all(message.get(name) == value for name, value in values.items()):
                return message

    def ask(self, name: str, /, **values: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send_json({"id": self._number, "do": name, **values})
        return self.hear("reply", id=self._number)

    def wait_for_phase(self, phase: str) -> dict[str, Any]:
        while True:
            run: dict[str, Any] = self.hear("run")["run"]
            if run["phase"] == phase:
                return run

    def _next(self) -> dict[str, Any]:
        while True:
            message = self._socket.receive()
            if message.get("type") == "websocket.close":
                raise AssertionError(f"closed: {message}")
            if message.get("text"):
                self.heard.append(json.loads(message["text"]))
                return self.heard[-1]
