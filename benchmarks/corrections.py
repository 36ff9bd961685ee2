"""``python -m benchmarks.corrections``: how many corrections an annotator needs, by ``init`` and by ``correct``.

Whenever the box overlaps the truth by less than 0.3 it is put there, either by starting afresh or as one more confirmed
sample, and tracking goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracking_parts import Box, InvalidBoxError, Tracker
from tracking_parts.frames import Frame, as_bgr
from tracking_parts.io.sequences import find_sequences
from tracking_parts.io.video import open_source
from tracking_parts.threads import use_threads

TOO_LITTLE = 0.3  # overlap below which the annotator acts
WAYS = ("init", "correct")


@dataclass
class Work:
    """Of one annotator."""

    corrections: int = 0
    overlaps: list[float] = field(default_factory=list)

    def add(self, other: Work) -> None:
        self.corrections += other.corrections
        self.overlaps += other.overlaps

    def __str__(self) -> str:
        return f"{self.corrections} corrections, mean overlap {sum(self.overlaps) / max(1, len(self.overlaps)):.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corrections", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of sequences with ground truth")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    use_threads(options.threads)
    totals = {way: Work() for way in WAYS}
    with Tracker(options.profile) as tracker:
        for sequence in find_sequences(options.data):
            for way in WAYS:
                work = annotate(tracker, options.data / sequence.name, way)
                totals[way].add(work)
                print(f"{sequence.name} {way}: {work}", flush=True)
    for way, work in totals.items():
        print(f"all, {way}: {work}")
    return 0


def annotate(tracker: Tracker, folder: Path, way: str) -> Work:
    """Through one sequence. Frames without ground truth are tracked and not judged."""
    work, begun = Work(), False
    with open_source(folder) as source:
        for raw, polygon in zip(source, source.ground_truth or (), strict=False):
            frame, truth = as_bgr(raw), None if polygon is None else Box.around(polygon)
            if not begun:
                if truth is not None:
                    tracker.init(frame, truth)
                    begun = True
                continue
            box = tracker.update(frame).box
            if truth is None:
                continue
            work.overlaps.append(box.overlap(truth))
            if work.overlaps[-1] < TOO_LITTLE and put(tracker, way, frame, truth):
                work.corrections += 1
    return work


def put(tracker: Tracker, way: str, frame: Frame, truth: Box) -> bool:
    """Whether the truth can be a tracker's box: some is outside the frame."""
    try:
        (tracker.init if way == "init" else tracker.correct)(frame, truth)
    except InvalidBoxError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
