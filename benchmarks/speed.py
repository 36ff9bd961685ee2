"""``python -m benchmarks.speed``: every figure about speed in one table, measured in one run on this machine.

Ratios are between things measured turn by turn, so that they hold on a busy machine too; seconds do not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracking_parts.threads import use_threads, wait_briefly

if TYPE_CHECKING:
    from benchmarks.figures import Figure
    from benchmarks.videos import AnyTracker

SECTIONS = ("videos", "parts", "targets", "threads", "engines", "start", "memory")
PEER = "opencv:csrt"
WANTED = {"default": 1.0, "fast": 1.5}  # times the peer's frames per second


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, print the table, write the JSON."""
    options = parse(arguments)
    wait_briefly()
    from rich.console import Console

    from benchmarks.figures import as_json, print_figures
    from tracking_parts.errors import TrackingPartsError
    from tracking_parts.versions import versions

    notes = Console(stderr=True, highlight=False)
    try:
        figures = measure(options, lambda words: notes.print(words, soft_wrap=True, markup=False))
    except TrackingPartsError as error:
        notes.print(f"benchmarks.speed: {error}", soft_wrap=True, markup=False)
        return 2
    shown = Console(highlight=False)
    print_figures(figures, shown if shown.is_terminal else Console(highlight=False, width=160))
    chosen = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}
    content = {"options": chosen, "versions": versions(), "cores": os.cpu_count(), "figures": as_json(figures)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    shown.print(f"written {options.out}", soft_wrap=True, markup=False)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of sequences; ../shared/vot2016-20 or a clip if not given")
    parser.add_argument("--sequences", default="", help="names separated by commas, or all; a few if not given")
    parser.add_argument("--frames", type=int, help="only so many frames of each video")
    parser.add_argument("--repeats", type=int, default=1, help="runs of every video")
    parser.add_argument("--threads", type=int, default=2, help="of our tracker and of OpenCV's")
    parser.add_argument("--engine", default="auto", help="what computes the network: auto, torch or ncnn")
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"some of {','.join(SECTIONS)}")
    parser.add_argument("--memory-frames", type=int, default=5000, help="length of the long video")
    parser.add_argument("--out", type=Path, default=Path("out/speed.json"), help="the figures as JSON")
    options = parser.parse_args(arguments)
    options.only = [name.strip() for name in options.only.split(",")]
    for name in options.only:
        if name not in SECTIONS:
            parser.error(f"--only takes some of {', '.join(SECTIONS)}, not {name!r}")
    return options


def measure(options: argparse.Namespace, say: Callable[[str], None]) -> list[Figure]:
    """All figures that were asked for, in the order of the sections."""
    from benchmarks import compare, processes
    from benchmarks.videos import find_clips
    from tracking_parts import Tracker, TrackerConfig
    from tracking_parts.evaluation.peers import find_peer
    from tracking_parts.io.weights import load_weights
    from tracking_parts.trunk_engines import check_engine, installed_engines

    check_engine(options.engine)
    names = [name.strip() for name in options.sequences.split(",") if name.strip()]
    clips = find_clips(options.data, names, options.frames)
    use_threads(options.threads)
    weights = load_weights()
    config = TrackerConfig.profile("default")
    some_frames = min(options.frames or 80, 80)
    figures: list[Figure] = []
    with ExitStack() as opened:

        def make(settings: Mapping[str, Any], profile: str = "default") -> Tracker:
            chosen = TrackerConfig.profile(profile).override(**settings)
            return opened.enter_context(Tracker(chosen, weights=weights, engine=options.engine))

        if "videos" in options.only:
            ours = {name: make({}, name) for name in WANTED}  # their init starts afresh, OpenCV's needs a new tracker
            trackers: dict[str, Callable[[], AnyTracker]] = {name: partial(ours.__getitem__, name) for name in ours}
            trackers[PEER] = find_peer(*PEER.split(":")).start
            times = compare.videos_side_by_side(trackers, clips, options.repeats, say)
            figures += compare.video_figures(times, PEER, WANTED)
        if "parts" in options.only:
            say("parts")
            figures.append(compare.parts_figure(make, clips[0], some_frames))
        if "targets" in options.only:
            say("targets")
            figures.append(
                compare.targets_figure(
                    clips[0],
                    some_frames,
                    lambda frame, boxes: compare.start_targets(config, options.engine, frame, boxes),
                )
            )
        if "threads" in options.only and options.threads > 1:
            say("threads")
            figures += compare.threads_figures(make, clips[0], some_frames, options.threads)
        if "engines" in options.only:
            say("engines")
            figures += compare.engine_figures(config, weights, installed_engines(), rounds=20)
    if "start" in options.only:
        say("start")
        figures.append(processes.start_figure("default", options.engine, clips[0]))
    if "memory" in options.only:
        say(f"memory over {options.memory_frames} frames")
        figures += processes.memory_figures("default", options.engine, options.threads, clips[0], options.memory_frames)
    return figures


if __name__ == "__main__":
    sys.exit(main())
