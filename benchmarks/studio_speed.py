"""``python -m benchmarks.studio_speed``: how fast the studio tracks, as a share of the command line's speed.

Both are started as their users start them, track the same clip turn by turn, and are timed from the first frame to the
last: reading, tracking and keeping the results. A client on the studio's socket takes every picture, as the page does.
The ratio holds on a busy machine too; frames per second do not.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from benchmarks.studio_process import START, StudioProcess
from benchmarks.videos import RABBIT
from tracking_parts.io.clips import fetch_clip

WANTED = 0.85
PATIENCE = 1200.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio_speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each takes its turn")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    name, start, box = RABBIT
    clip = fetch_clip(name)
    common = ["--profile", options.profile, "--threads", str(options.threads)]
    bare, drawn, studio = [], [], []
    with tempfile.TemporaryDirectory() as folder, StudioProcess(Path(folder) / "data", str(clip), *common) as server:
        for turn in range(options.rounds):
            given = [str(clip), "--box", ",".join(map(str, box.xywh)), "--start", str(start), *common]
            bare.append(command_fps([*given, "--out", f"{folder}/bare{turn}", "--no-video"]))
            studio.append(studio_fps(server.address, clip.name, start, list(box.xywh)))
            drawn.append(command_fps([*given, "--out", f"{folder}/drawn{turn}"]))
            speeds = f"stp track --no-video {bare[-1]:.1f}, studio {studio[-1]:.1f}, stp track {drawn[-1]:.1f}"
            print(f"turn {turn + 1}, frames per second: {speeds}", flush=True)
    ratio = statistics.median(mine / theirs for mine, theirs in zip(studio, bare, strict=True))
    against_video = statistics.median(mine / theirs for mine, theirs in zip(studio, drawn, strict=True))
    print(f"studio / stp track --no-video: {ratio:.2f} (wanted: {WANTED} or more)")
    print(f"studio / stp track, which also writes the annotated video: {against_video:.2f}")
    return 0


def command_fps(arguments: list[str]) -> float:
    """What ``stp track`` says of its own speed."""
    done = subprocess.run(
        [sys.executable, "-c", START, "track", *arguments], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    found = re.search(r"speed\s+([0-9.]+) fps", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def studio_fps(address: str, name: str, start: int, box: list[float]) -> float:
    """Frames per second from the moment that tracking begins, in a fresh project, which is deleted afterwards."""
    project = _ask(address, "api/open", {"kind": "file", "name": name})["id"]
    try:
        return _tracked_fps(address, project, start, box)
    finally:
        _ask(address, f"api/projects/{project}", method="DELETE")


def _tracked_fps(address: str, project: str, start: int, box: list[float]) -> float:
    with connect(f"{address.replace('http', 'ws', 1)}api/projects/{project}/socket?tab=bench", max_size=None) as socket:

        def command(values: dict[str, Any]) -> dict[str, Any]:
            socket.send(json.dumps(values))
            return hear("reply")

        def hear(kind: str, phase: str = "") -> dict[str, Any]:
            while True:
                text = socket.recv(timeout=PATIENCE)
                if isinstance(text, bytes):
                    continue
                message: dict[str, Any] = json.loads(text)
                if message["kind"] == kind and (not phase or message["run"]["phase"] == phase):
                    return message

        assert not hear("hello")["targets"], "another target would be tracked too"
        target = command({"id": 1, "do": "add_target"})["target"]["id"]
        command({"id": 2, "do": "draw", "target": target, "frame": start, "box": box})
        socket.send(json.dumps({"id": 3, "do": "track", "frame": start}))
        hear("run", "tracking")
        begun = time.perf_counter()
        last = hear("run", "done")["run"]["frame"]
        return float(last - start + 1) / (time.perf_counter() - begun)


def _ask(address: str, path: str, content: dict[str, Any] | None = None, method: str = "POST") -> Any:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address + path, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
