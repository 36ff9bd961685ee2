"""The same seed gives the same boxes, bit for bit: across processes, for every sequential profile and thread count."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from torture.trials import Trial

ROOT = Path(__file__).resolve().parents[1]
FRAMES = {"default": 40, "fast": 40, "paper": 6}  # the paper's trains a net in every frame that is left
QUICK = {"paper": {"epochs": 1, "first_frames": 2, "crop_size": 128}}


def determinism(seconds: float, seed: int | None = None) -> Iterator[Trial]:
    """Two processes each; in one of them the tracker has followed something else before."""
    end = time.monotonic() + seconds
    while True:
        for profile in FRAMES:
            for threads in (1, 2):
                if time.monotonic() >= end:
                    return
                alone, after_others = (boxes_of_process(profile, threads, before) for before in (False, True))
                same = alone == after_others
                detail = "" if same else f"{alone} and {after_others}"
                yield Trial(f"{profile}, {threads} thread{'s' * (threads > 1)}", same, detail)


def boxes_of_process(profile: str, threads: int, before: bool) -> str:
    """A digest of all boxes that another process finds."""
    request = json.dumps({"profile": profile, "threads": threads, "before": before})
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "torture.determinism", request],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]


def boxes_digest(profile: str, threads: int, before: bool) -> str:
    """What such a process does."""
    from torture.moving_square import frame_at, square_at
    from tracking_parts import Tracker, TrackerConfig
    from tracking_parts.threads import use_threads

    use_threads(threads)
    config = TrackerConfig.profile(profile).override(**QUICK.get(profile, {}))
    digest = hashlib.sha256()
    with Tracker(config, seed=3) as tracker:
        if before:
            tracker.init(frame_at(90), square_at(90))
            tracker.update(frame_at(91))
        tracker.init(frame_at(0), square_at(0))
        for index in range(1, FRAMES[profile]):
            digest.update(repr(tracker.update(frame_at(index))).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    print(boxes_digest(**json.loads(sys.argv[1])))
