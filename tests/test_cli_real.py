"""The command with the real tracker, from a video file to pictures, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np

from traces_for_viewers import some_picture
from tracking_parts import Tracker, cli
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box
from tracking_parts.io.trace_files import read_trace
from tracking_parts.io.video import VideoWriter

FRAMES = 8


def truth(index: int) -> Box:
    return Box(40 + 3 * index, 36 + 2 * index, 32, 28)


def stp(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", "from tracking_parts.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def frame_at(index: int) -> Frame:
    frame, box = some_picture(160, 128, seed=1) // 2, truth(index)
    frame[int(box.y) : int(box.y) + 28, int(box.x) : int(box.x) + 32] = some_picture(32, 28, seed=2)
    return np.asarray(frame, dtype=np.uint8)


def make_clip(path: Path) -> Path:
    with VideoWriter(path, 10.0, (160, 128)) as writer:
        for index in range(FRAMES):
            writer.write(frame_at(index))
    return path


def test_track_then_explain(tmp_path: Path) -> None:
    clip, out = make_clip(tmp_path / "clip.mp4"), tmp_path / "out"
    options = ["--box", "40,36,32,28", "--out", str(out), "--trace", "--threads", "1"]
    done = stp("track", str(clip), *options)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (out / "boxes.jsonl").read_text().splitlines()]
    assert len(rows) == FRAMES
    overlaps = [Box(*row["box"]).overlap(truth(row["frame"])) for row in rows]
    assert min(overlaps) > 0.5, overlaps

    trace = read_trace(out, FRAMES - 1)
    assert len(trace.parts) > 0
    assert np.allclose(trace.result.box.xywh, rows[-1]["box"])
    done = stp("explain", str(out), "--frame", "3")
    assert done.returncode == 0, done.stderr
    picture = cv2.imread(done.stdout.strip())
    assert picture is not None and picture.shape == (900, 1600, 3)


def test_a_saved_state_goes_on_where_the_run_ended(tmp_path: Path) -> None:
    clip, out = make_clip(tmp_path / "clip.mp4"), tmp_path / "out"
    options = ["--box", "40,36,32,28", "--out", str(out), "--save-state", "--no-video", "--end", "4"]
    assert cli.run(["track", str(clip), *options]) == 0
    result = Tracker.load(out / "state.safetensors").update(frame_at(4))
    assert result.box.overlap(truth(4)) > 0.5
