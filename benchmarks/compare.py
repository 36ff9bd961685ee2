"""Figures that compare two things in one run, turn by turn: whoever else uses the machine slows both."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.videos import AnyTracker, Clip, ClipTimes, back_and_forth, time_clip
from tracking_parts import MultiTracker, Tracker, TrackerConfig
from tracking_parts.features import FeatureExtractor
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box
from tracking_parts.light_weights import trunk_weights
from tracking_parts.profiling.gemm import measure_gemm_peak
from tracking_parts.profiling.operations import trunk_operations
from tracking_parts.roles import Role
from tracking_parts.threads import Watch, default_threads, use_threads

Say = Callable[[str], None]

# All parts vote at once and for ever, and are learned often: their number is soon that of the budget. Nearly all are
# of the smallest size, as in the profiles: it comes first, and takes each grid point.
GROWING: Mapping[str, Any] = {"roles": "one", "u": 3, "freeze_when_unsure": False}
FEW_PARTS, MANY_PARTS = 100, 600


# --------------------------------------------------------------------------- whole videos
def videos_side_by_side(
    trackers: Mapping[str, Callable[[], AnyTracker]], clips: Sequence[Clip], repeats: int, say: Say
) -> dict[str, list[ClipTimes]]:
    """Every video through every tracker; who goes first changes from video to video."""
    names = list(trackers)
    times: dict[str, list[ClipTimes]] = {name: [] for name in names}
    for turn, clip in enumerate([clip for _ in range(repeats) for clip in clips]):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            times[name].append(time_clip(trackers[name](), clip))
            last = times[name][-1]
            say(f"{clip.name}: {name} {(len(last.frames) + 1) / last.whole:.1f} fps")
    return times


def fps_of(times: Sequence[ClipTimes]) -> float:
    """Over all videos, from file to result."""
    return sum(len(one.frames) + 1 for one in times) / sum(one.whole for one in times)


def video_figures(times: Mapping[str, Sequence[ClipTimes]], peer: str, wanted: Mapping[str, float]) -> list[Figure]:
    """Speed against the peer's, and how even the frame times are, in medians of their own video."""
    figures = [
        Figure(f"{name}, from file to result", f"{fps_of(all_of):.1f} fps", fps_of(all_of))
        for name, all_of in times.items()
    ]
    for name, bound in wanted.items():
        ratio = fps_of(times[name]) / fps_of(times[peer])
        figures.append(at_least(f"{name} against {peer}, frames per second", ratio, bound, f"{ratio:.2f} times"))
    for name in wanted:
        in_medians = np.concatenate([np.array(one.frames) / np.median(one.frames) for one in times[name]])
        ratio = float(np.percentile(in_medians, 99))
        all_frames = [1000 * seconds for one in times[name] for seconds in one.frames]
        median, p95, p99 = (f"{value:.1f}" for value in np.percentile(all_frames, (50, 95, 99)))
        words = f"{ratio:.2f} (median {median} ms, 95th {p95}, 99th {p99})"
        figures.append(at_most(f"{name}, 99th percentile of frame times over median", ratio, 4.0, words))
    return figures


# --------------------------------------------------------------------------- turn by turn on the same frames
def median_seconds(
    steps: Mapping[str, Callable[[Frame], object]], frames: Iterator[Frame], after: Callable[[], None]
) -> dict[str, float]:
    """Median time of each step over the frames; who goes first changes from frame to frame."""
    return {name: float(np.median(times)) for name, times in seconds_by_turns(steps, frames, after).items()}


def seconds_by_turns(
    steps: Mapping[str, Callable[[Frame], object]], frames: Iterator[Frame], after: Callable[[], None]
) -> dict[str, list[float]]:
    names = list(steps)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn, frame in enumerate(frames):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            begun = time.perf_counter()
            steps[name](frame)
            seconds[name].append(time.perf_counter() - begun)
        after()
    return seconds


def voting_parts(tracker: Tracker) -> int:
    return int((tracker.trace.parts.roles != Role.CANDIDATE).sum())


def parts_figure(make: Callable[[Mapping[str, Any]], Tracker], clip: Clip, frames: int) -> Figure:
    """Median frame with about 600 voting parts against about 100; both grow on the first half of the frames."""
    name = f"cost of a frame, {MANY_PARTS} parts against {FEW_PARTS}"
    pictures = list(islice(clip.frames(), frames))
    trackers = {wanted: make({**GROWING, "n_max": wanted}) for wanted in (FEW_PARTS, MANY_PARTS)}
    counts: dict[int, list[int]] = {wanted: [] for wanted in trackers}
    for tracker in trackers.values():
        tracker.init(pictures[0], clip.box)

    def count() -> None:
        for wanted, tracker in trackers.items():
            counts[wanted].append(voting_parts(tracker))

    steps = {str(wanted): tracker.update for wanted, tracker in trackers.items()}
    shown = back_and_forth(pictures, frames)
    next(shown)
    median_seconds(steps, islice(shown, frames // 2), lambda: None)
    medians = median_seconds(steps, shown, count)
    real = {wanted: round(float(np.mean(counts[wanted]))) for wanted in trackers}
    each = ", ".join(
        f"{real[wanted]} voted: {1000 * medians[str(wanted)]:.1f} ms" for wanted in (MANY_PARTS, FEW_PARTS)
    )
    ratio = medians[str(MANY_PARTS)] / medians[str(FEW_PARTS)]
    words = f"{ratio:.2f} times ({each})"
    if any(not 0.8 * wanted <= real[wanted] <= 1.25 * wanted for wanted in trackers):
        return Figure(name, words, ratio, "at most 1.5", "other numbers of parts")
    return at_most(name, ratio, 1.5, words)


# --------------------------------------------------------------------------- several targets
def boxes_around(box: Box, size_wh: tuple[int, int], count: int) -> list[Box]:
    """The box and others of its size beside it, their centres inside the picture."""
    width, height = size_wh
    steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)][:count]
    x, y = box.centre
    places = [(x + 1.2 * across * box.w, y + 1.2 * down * box.h) for across, down in steps]
    return [
        Box.from_centre((min(max(x, 1.0), width - 1.0), min(max(y, 1.0), height - 1.0)), box.w, box.h)
        for x, y in places
    ]


def start_targets(config: TrackerConfig, engine: str, frame: Frame, boxes: Sequence[Box]) -> MultiTracker:
    """Several targets in one tracker."""
    tracker = MultiTracker(config, engine=engine)
    for box in boxes:
        tracker.add(frame, box)
    return tracker


def targets_figure(
    clip: Clip, frames: int, start: Callable[[Frame, Sequence[Box]], MultiTracker], count: int = 4
) -> Figure:
    """Mean frame from file to result with several targets against the mean of each alone, learning included."""
    name = f"cost of a frame, {count} targets against 1"
    began = time.perf_counter()
    pictures = list(islice(clip.frames(), frames))
    reading = (time.perf_counter() - began) / len(pictures)
    height, width = pictures[0].shape[:2]
    boxes = boxes_around(clip.box, (width, height), count)
    with ExitStack() as opened:
        alone = {f"target {index}": opened.enter_context(start(pictures[0], [box])) for index, box in enumerate(boxes)}
        trackers = {**alone, "several": opened.enter_context(start(pictures[0], boxes))}
        steps = {its_name: tracker.update for its_name, tracker in trackers.items()}
        seconds = seconds_by_turns(steps, iter(pictures[1:]), lambda: None)
    means = {its_name: sum(times) / len(times) for its_name, times in seconds.items()}
    one = sum(means[its_name] for its_name in alone) / count
    ratio = (means["several"] + reading) / (one + reading)
    tracking = f"{means['several'] / one:.2f} times: {1000 * means['several']:.1f} ms, {1000 * one:.1f}"
    words = f"{ratio:.2f} times (without reading the frame, {1000 * reading:.1f} ms, {tracking})"
    return at_most(name, ratio, 2.5, words)


# --------------------------------------------------------------------------- threads
@contextmanager
def busy_processor() -> Iterator[None]:
    """Somebody else who takes one processor."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            yield
        finally:
            other.kill()


def threads_figures(make: Callable[[Mapping[str, Any]], Tracker], clip: Clip, frames: int, count: int) -> list[Figure]:
    """Several threads against one, with the machine to itself and with one processor taken."""
    pictures = list(islice(clip.frames(), frames))
    trackers: dict[int, Tracker] = {}
    for threads in (1, count):  # an engine is built for as many as there are then
        use_threads(threads)
        trackers[threads] = make({})
        trackers[threads].init(pictures[0], clip.box)

    def step(threads: int) -> Callable[[Frame], object]:
        def update(frame: Frame) -> object:
            use_threads(threads)
            return trackers[threads].update(frame)

        return update

    steps = {str(threads): step(threads) for threads in trackers}
    shown = back_and_forth(pictures, 2 * frames)
    next(shown)
    quiet = median_seconds(steps, islice(shown, frames - 1), lambda: None)
    with busy_processor():
        watch = Watch.begin()
        time.sleep(1.0)
        chosen = min(count, default_threads(watch))
        busy = median_seconds(steps, shown, lambda: None)
    use_threads(count)

    def gain(seconds: Mapping[str, float], threads: int) -> float:
        return seconds["1"] / seconds[str(threads)]

    def words(seconds: Mapping[str, float], threads: int) -> str:
        milliseconds = f"{1000 * seconds[str(threads)]:.1f} ms, {1000 * seconds['1']:.1f}"
        return f"{gain(seconds, threads):.2f} times ({milliseconds})"

    as_chosen = f"{words(busy, chosen)} with {chosen}, which is the default then; with {count} {words(busy, count)}"
    return [
        at_least(f"speed of {count} threads against 1, machine as it is", gain(quiet, count), 1.0, words(quiet, count)),
        at_least("speed of the default threads against 1, one processor taken", gain(busy, chosen), 0.9, as_chosen),
    ]


# --------------------------------------------------------------------------- engines
def _on_one(extract: FeatureExtractor) -> Callable[[Frame], object]:
    return lambda crop: extract([crop])


def engine_figures(
    config: TrackerConfig,
    weights: dict[str, torch.Tensor],
    engines: Sequence[str],
    rounds: int,
    peak_of: Callable[[], float] = measure_gemm_peak,
) -> list[Figure]:
    """The trunk of these settings in every engine beside the product of two matrices, turn by turn. The work is that
    of direct convolution, of its factors where the trunk is light: an engine that does less of it for the same result
    may come out above the peak. The whole trunk beside it shows what the light one saves.
    """
    taps = tuple(dict.fromkeys((config.tap, config.convnet_tap)))
    trunks = {trunk: trunk_weights(weights, trunk) for trunk in dict.fromkeys((config.trunk, "whole"))}
    found = {
        (trunk, name): FeatureExtractor(tensors, taps, torch.device("cpu"), name)
        for trunk, tensors in trunks.items()
        for name in engines
    }
    crop = np.random.default_rng(0).integers(0, 256, (config.crop_size, config.crop_size, 3), np.uint8)
    peak = peak_of()
    seconds = median_seconds(
        {" ".join(key): _on_one(extract) for key, extract in found.items()},
        (crop for _ in range(rounds)),
        lambda: None,
    )
    peak = max(peak, peak_of())
    figures = [Figure("GEMM peak, single precision", f"{peak / 1e9:.0f} GFLOP/s", peak)]
    shares: dict[str, float] = {}
    for (trunk, name), extract in found.items():
        second = seconds[f"{trunk} {name}"]
        work = trunk_operations(extract.layers, (config.crop_size, config.crop_size))
        share = work / second / peak
        words = f"{1000 * second:.1f} ms for {work / 1e9:.2f} GFLOP: {share:.0%} of the peak"
        figures.append(Figure(f"{trunk} trunk in {name}, crop of {config.crop_size} pixels", words, second))
        if trunk == config.trunk:
            shares[name] = share
    best = max(shares, key=lambda name: shares[name])
    if config.trunk != "whole":
        ratio = seconds[f"{config.trunk} {best}"] / seconds[f"whole {best}"]
        figures.append(Figure(f"{config.trunk} trunk against the whole, {best}", f"{ratio:.2f} times", ratio))
    figures.append(
        at_least("trunk's share of the peak, best engine", shares[best], 0.75, f"{shares[best]:.2f} ({best})")
    )
    return figures
