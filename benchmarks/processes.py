"""Figures that need a process of their own: memory over a long video, and the time from nothing to the first box."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, at_most, missing
from benchmarks.videos import ROOT, Clip

STATUS = Path("/proc/self/status")
SETTLED = 500  # frames after which memory should no longer grow
KEPT = 60  # frames of the video that are kept and shown back and forth
START_RUNS = 3

FIRST_BOX = """
import sys, time
t0 = float(sys.argv[1])
from tracking_parts import Tracker
from tracking_parts.io.video import open_source
with open_source(sys.argv[2], start=int(sys.argv[3])) as frames, Tracker(sys.argv[4], engine=sys.argv[5]) as tracker:
    tracker.init(next(frames), tuple(map(float, sys.argv[6:10])))
    print(time.time() - t0)
"""
IMPORT_TORCH = "import sys, time; t0 = float(sys.argv[1]); import torch; print(time.time() - t0)"


def python_environment() -> dict[str, str]:
    """Of another process, which then finds the package where this one did."""
    paths = [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run_python(arguments: Sequence[str]) -> str:
    """The last line that another process prints."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=python_environment(), check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip().splitlines()[-1]


def start_figure(profile: str, engine: str, clip: Clip) -> Figure:
    """From the start of a process to its first box, with cached weights; the best of a few."""
    box = [str(value) for value in clip.box.xywh]
    given = [str(clip.source), str(clip.start), profile, engine, *box]
    boxed = min(float(run_python(["-c", FIRST_BOX, str(time.time()), *given])) for _ in range(START_RUNS))
    torch_alone = min(float(run_python(["-c", IMPORT_TORCH, str(time.time())])) for _ in range(START_RUNS))
    words = f"{boxed:.2f} s, of them {torch_alone:.2f} s to import torch"
    return at_most("first box after the process starts, seconds", boxed, 3.0, words)


def memory_figures(profile: str, engine: str, threads: int, clip: Clip, frames: int) -> list[Figure]:
    """Resident memory of a process that tracks for a long time."""
    growth_name, peak_name = f"growth of memory, frames {SETTLED} to {frames}, %", "peak of memory, GB"
    if not STATUS.exists():
        return [missing(growth_name, "only on Linux", "at most 5"), missing(peak_name, "only on Linux", "at most 1.5")]
    if frames <= SETTLED:
        why = f"takes more than {SETTLED} frames"
        return [missing(growth_name, why, "at most 5"), missing(peak_name, why, "at most 1.5")]
    request = {
        "profile": profile,
        "engine": engine,
        "threads": threads,
        "source": str(clip.source),
        "start": clip.start,
        "box": clip.box.xywh,
        "frames": frames,
    }
    told = json.loads(run_python(["-m", "benchmarks.processes", json.dumps(request)]))
    growth, settled, end = growth_percent(told["resident"]), told["resident"][str(SETTLED)], told["resident"]["end"]
    peak = told["peak"] / 1e9
    words = f"{growth:.1f} % ({settled / 1e6:.0f} to {end / 1e6:.0f} MB)"
    return [at_most(growth_name, growth, 5.0, words), at_most(peak_name, peak, 1.5, f"{peak:.2f} GB")]


def growth_percent(resident: dict[str, float]) -> float:
    """
    >>> growth_percent({"500": 200.0, "end": 250.0})
    25.0
    """
    return 100 * (resident["end"] / resident[str(SETTLED)] - 1)


def status_bytes(field: str) -> int:
    """VmRSS (now) or VmHWM (highest so far) of this process."""
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} does not tell {field}")


def track_for_long(request: dict[str, Any]) -> dict[str, Any]:
    """The other process: follow the object back and forth, look at the memory on the way."""
    from benchmarks.videos import back_and_forth
    from tracking_parts import Box, Tracker
    from tracking_parts.threads import use_threads

    use_threads(request["threads"])
    clip = Clip("", Path(request["source"]), Box(*request["box"]), request["start"])
    pictures = list(islice(clip.frames(), KEPT))
    around: dict[int, list[int]] = {SETTLED: [], request["frames"]: []}
    with Tracker(request["profile"], engine=request["engine"]) as tracker:
        for index, frame in enumerate(back_and_forth(pictures, request["frames"] + 1)):
            if index:
                tracker.update(frame)
            else:
                tracker.init(frame, clip.box)
            for at, seen in around.items():
                if at - 50 < index <= at:  # a median over some frames: what an update takes for a moment is no growth
                    seen.append(status_bytes("VmRSS"))
    settled, end = (float(np.median(seen)) for seen in around.values())
    return {"resident": {str(SETTLED): settled, "end": end}, "peak": status_bytes("VmHWM")}


if __name__ == "__main__":
    print(json.dumps(track_for_long(json.loads(sys.argv[1]))))
