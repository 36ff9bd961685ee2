"""What the files of a run must be at any moment: valid, and the beginning of what the whole run writes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import av
import cv2
import numpy as np

from tracking_parts.io.trace_files import read_trace, traced_frames
from tracking_parts.tracker_state import TrackerState

FORMATS = ("csv", "otb", "vot", "mot", "cvat")
ROWS = ("boxes.jsonl", "boxes.csv", "boxes_otb.txt", "boxes_vot.txt", "boxes_mot.txt")
ALLOWED = {*ROWS, "boxes_cvat.xml", "annotated.mp4", "config.json", "contact_sheet.png", "state.safetensors", "trace"}


def problem_of(out: Path, whole: Path) -> str:
    """What is wrong with the files of a run that was stopped, given those of the same run that was not; or nothing."""
    if not out.exists():
        return ""
    try:
        counts = {name: _rows_in(out / name, whole / name) for name in ROWS if (out / name).exists()}
        _check_others(out, max(counts.values(), default=0))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    strangers = {entry.name for entry in out.iterdir() if not entry.name.startswith(".")} - ALLOWED
    if strangers:
        return f"left behind: {', '.join(sorted(strangers))}"
    if counts and max(counts.values()) - min(counts.values()) > 1:
        return f"rows differ: {counts}"
    return ""


def _rows_in(path: Path, whole: Path) -> int:
    """How many frames a file of rows holds; it must be the beginning of the whole one."""
    content = path.read_bytes()
    if not whole.read_bytes().startswith(content):
        raise ValueError(f"{path.name} is not the beginning of the whole run's")
    if content and not content.endswith(b"\n"):
        raise ValueError(f"{path.name} ends in half a row")
    return max(0, content.count(b"\n") - (1 if path.suffix == ".csv" else 0))


def _check_others(out: Path, rows: int) -> None:
    if (out / "boxes_cvat.xml").exists() and (out / "boxes_cvat.xml").stat().st_size:
        ElementTree.parse(out / "boxes_cvat.xml")
    if (out / "annotated.mp4").exists():
        frames = frames_in(out / "annotated.mp4")
        if not max(1, rows - 2) <= frames <= rows:
            raise ValueError(f"the video has {frames} frames, the boxes {rows}")
    if (out / "config.json").exists():
        json.loads((out / "config.json").read_text(encoding="utf-8"))
    if (out / "contact_sheet.png").exists():
        sheet = cv2.imdecode(np.fromfile(out / "contact_sheet.png", np.uint8), cv2.IMREAD_COLOR)
        if sheet is None:
            raise ValueError("the contact sheet is no picture")
    if (out / "state.safetensors").exists():
        TrackerState.load(out / "state.safetensors")
    if (out / "trace").exists():
        for frame in traced_frames(out / "trace"):
            read_trace(out / "trace", frame)


def frames_in(video: Path) -> int:
    """How many frames can be played."""
    with av.open(str(video)) as container:
        count = 0
        try:
            for _ in container.decode(video=0):
                count += 1
        except av.FFmpegError:
            if not count:
                raise
    return count
