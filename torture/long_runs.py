"""Long and wide: 20,000 frames without growth, 16 objects at once, four trackers side by side in threads and processes.

``python -m torture.long_runs FRAMES PROFILE`` prints the figures of one long run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torture.moving_square import frame_at, square_at
from torture.trials import Trial

ROOT = Path(__file__).resolve().parents[1]
SETTLED = 500  # frames after which nothing should grow
MOST_GROWTH = 0.05  # of memory
TOLERANCE = 1e-2  # pixels between an object tracked in a batch and alone: the network differs in the last digits
TARGETS, SIDE_BY_SIDE, SHORT = 16, 4, 40
CYCLE = 702  # frames until the square is about where it began: pictures are made once


@dataclass
class Figures:
    """What a long run took at its beginning and at its end."""

    frames: int
    resident_mb: tuple[float, float]
    open_files: tuple[int, int]
    threads: tuple[int, int]
    frame_ms: tuple[float, float]  # medians over a thousand frames

    @property
    def growth(self) -> float:
        return self.resident_mb[1] / self.resident_mb[0] - 1

    def __str__(self) -> str:
        return (
            f"{self.frames} frames: {self.resident_mb[0]:.0f} to {self.resident_mb[1]:.0f} MB ({self.growth:+.1%}), "
            f"{self.open_files[0]} to {self.open_files[1]} open files, {self.threads[0]} to {self.threads[1]} threads, "
            f"{self.frame_ms[0]:.1f} to {self.frame_ms[1]:.1f} ms per frame"
        )


def long_runs(seconds: float, seed: int | None = None) -> Iterator[Trial]:
    """As many frames as there is time for: all 20,000 of the cheap one take some ten minutes."""
    begun = time.monotonic()
    yield many_targets()
    yield from side_by_side()
    for share, profile, frames in ((0.55, "fast", 20_000), (1.0, "default", 2_000)):
        left = begun + share * seconds - time.monotonic()
        if left > 0:
            figures = run_in_a_process(frames, profile, left)
            yield Trial(f"{profile}, up to {frames} frames", is_flat(figures), str(figures))


def is_flat(figures: Figures) -> bool:
    """No growth of memory, open files or threads; the time of a frame depends on who else uses the machine."""
    same = figures.open_files[1] <= figures.open_files[0] and figures.threads[1] <= figures.threads[0]
    return same and figures.growth < MOST_GROWTH


# --------------------------------------------------------------------------- long
def run_in_a_process(frames: int, profile: str, seconds: float) -> Figures:
    """In a process of its own, whose memory nobody else has used."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "torture.long_runs", str(frames), profile, str(seconds)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return Figures(**told)


def track_for_long(frames: int, profile: str, seconds: float = float("inf")) -> Figures:
    """Follow the square; look at the process after 500 frames and at the end."""
    from tracking_parts import Tracker
    from tracking_parts.threads import use_threads

    use_threads(1)
    pictures = [frame_at(index) for index in range(min(CYCLE, frames))]
    window = max(1, min(1000, (frames - SETTLED) // 2))
    times: list[float] = []
    resident: list[float] = []
    begun, early = time.monotonic(), (0, 0)
    with Tracker(profile) as tracker:
        tracker.init(pictures[0], square_at(0))
        for index in range(1, frames + 1):
            before = time.perf_counter()
            tracker.update(pictures[index % len(pictures)])
            times.append(1e3 * (time.perf_counter() - before))
            resident.append(_resident_mb())
            if index == SETTLED:
                early = (_open_files(), threading.active_count())
            if index > SETTLED + 100 and time.monotonic() - begun > seconds:
                break
        late = (_open_files(), threading.active_count())
    # Medians over some frames: what an update takes for a moment is no growth.
    around = (statistics.median(resident[SETTLED - 50 : SETTLED]), statistics.median(resident[-50:]))
    speed = (statistics.median(times[SETTLED : SETTLED + window]), statistics.median(times[-window:]))
    return Figures(len(times), around, (early[0], late[0]), (early[1], late[1]), speed)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


# --------------------------------------------------------------------------- wide
def many_targets(count: int = TARGETS, frames: int = SHORT, profile: str = "fast") -> Trial:
    """Every object has the boxes that a tracker of its own finds."""
    from tracking_parts import MultiTracker

    starts = [square_at(0, number) for number in range(count)]
    with MultiTracker(profile) as many:
        for start in starts:
            many.add(frame_at(0), start)
        found = [many.update(frame_at(index)) for index in range(1, frames)]
    together: list[Boxes] = [[results[name].box.xywh for results in found] for name in range(count)]
    alone = [boxes_alone(start, frames, profile) for start in starts]
    apart = max(_largest_difference(one, other) for one, other in zip(together, alone, strict=True))
    return Trial(f"{count} objects at once", apart <= TOLERANCE, f"{apart:.1e} pixels from alone")


def side_by_side(count: int = SIDE_BY_SIDE, frames: int = SHORT, profile: str = "fast") -> Iterator[Trial]:
    """The same boxes, bit for bit, in threads and in processes; by the command's own threads, one for each."""
    from tracking_parts.threads import use_threads

    use_threads(1)
    starts = [square_at(0, number) for number in range(count)]
    alone = [boxes_alone(start, frames, profile) for start in starts]
    with ThreadPoolExecutor(count) as pool:
        in_threads = list(pool.map(lambda start: boxes_alone(start, frames, profile), starts))
    yield Trial(f"{count} trackers in threads", in_threads == alone)
    yield Trial(f"{count} trackers in processes", _boxes_in_processes(starts, frames, profile) == alone)


Boxes = list[tuple[float, ...]]


def boxes_alone(start: Sequence[int], frames: int, profile: str) -> Boxes:
    """Of one object with a tracker of its own."""
    from tracking_parts import Tracker

    with Tracker(profile) as tracker:
        tracker.init(frame_at(0), start)
        return [tracker.update(frame_at(index)).box.xywh for index in range(1, frames)]


def _boxes_in_processes(starts: Sequence[Sequence[int]], frames: int, profile: str) -> list[Boxes]:
    script = (
        "import json, sys; from torture.long_runs import boxes_alone; from tracking_parts.threads import use_threads; "
        f"use_threads(1); print(json.dumps(boxes_alone(json.loads(sys.argv[1]), {frames}, "
        f"{profile!r})))"
    )
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, json.dumps(start)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for start in starts
    ]
    said = [process.communicate()[0] for process in running]
    return [[tuple(box) for box in json.loads(text.strip().splitlines()[-1])] for text in said]


def _largest_difference(one: Boxes, other: Boxes) -> float:
    return max(abs(a - b) for box, twin in zip(one, other, strict=True) for a, b in zip(box, twin, strict=True))


if __name__ == "__main__":
    print(json.dumps(asdict(track_for_long(int(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:])))))
