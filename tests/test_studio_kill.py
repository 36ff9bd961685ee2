"""The server is killed without warning while it tracks; nothing that was drawn or tracked is lost."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

import studio_that_waits
from benchmarks.studio_process import StudioProcess
from tracking_parts.io.clips import fetch_clip

FACE = [52.0, 30.0, 60.0, 70.0]  # in the first frame of the clip


def ask(address: str, path: str, content: dict[str, Any] | None = None) -> Any:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def hear(socket: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        text = socket.recv(timeout=100)
        if isinstance(text, str):
            message: dict[str, Any] = json.loads(text)
            if message["kind"] == kind:
                return message


@pytest.mark.network
@pytest.mark.timeout(300)
def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.studio_process.START", studio_that_waits.START)  # not through before it is killed
    clip = str(fetch_clip("carphone_pristine.mp4"))
    told: dict[int, dict[str, Any]] = {}
    with StudioProcess(tmp_path, clip, "--profile", "fast", "--threads", "1") as server:
        project = ask(server.address, "api/open", {"kind": "file", "name": "carphone_pristine.mp4"})["id"]
        socket_address = server.address.replace("http", "ws") + f"api/projects/{project}/socket?tab=a"
        with connect(socket_address, max_size=None) as socket:
            socket.send(json.dumps({"id": 1, "do": "add_target", "name": "face"}))
            target = hear(socket, "reply")["target"]["id"]
            socket.send(json.dumps({"id": 2, "do": "draw", "target": target, "frame": 0, "box": FACE}))
            assert hear(socket, "reply")["ok"]
            socket.send(json.dumps({"id": 3, "do": "track", "frame": 0}))
            while len(told) < 20:
                told |= {row["frame"]: row for row in hear(socket, "rows")["rows"][str(target)]}
            server.kill()
    with StudioProcess(tmp_path, clip) as again:
        assert [each["id"] for each in ask(again.address, "api/start")["projects"]] == [project]
        content = ask(again.address, f"api/projects/{project}/rows")[str(target)]
    kept = {row["frame"]: row for row in content["rows"]}
    assert content["drawn"] == [0]
    assert told.items() <= kept.items()
    assert len(kept) < 120


def test_another_address_needs_the_token_that_is_printed(tmp_path: Path) -> None:
    with StudioProcess(tmp_path, "--host", "0.0.0.0") as server:
        token = server.address.split("token=")[1]
        port = server.address.split(":")[2].split("/")[0]
        home = f"http://127.0.0.1:{port}/"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(home, "api/start")
        assert "projects" in ask(home, f"api/start?token={token}")
