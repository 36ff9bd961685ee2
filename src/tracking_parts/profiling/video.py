"""Profiling one video: once as usual, once stage after stage to take the time of each, once more to count the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from tracking_parts.errors import SourceError
from tracking_parts.geometry import Box
from tracking_parts.io.video import FrameSource
from tracking_parts.profiling.figures import Profile
from tracking_parts.profiling.gemm import measure_gemm_peak
from tracking_parts.profiling.operations import CountedEngine, counted_operations
from tracking_parts.profiling.stages import Amounts, StageMeter, run_metered
from tracking_parts.threads import trunk_threads
from tracking_parts.tracker import Tracker


def profile_video(
    make_tracker: Callable[[], Tracker],
    open_frames: Callable[[], AbstractContextManager[FrameSource]],
    box: Box,
    *,
    made_with: Mapping[str, Any] | None = None,
    measure_peak: Callable[[], float] = measure_gemm_peak,
) -> Profile:
    """Track through the frames three times. What usually runs side by side is timed one after the other.

    The peak is measured before and after the clock runs, and the higher one counts: another program may have slowed
    one of them down.
    """
    begun = time.perf_counter()
    tracker = make_tracker()
    load_seconds = time.perf_counter() - begun
    with tracker:
        peak = measure_peak()
        begun = time.perf_counter()
        with open_frames() as frames:
            run_as_usual(tracker, frames, box)
        whole_seconds = time.perf_counter() - begun
        with open_frames() as frames:
            first, *rest = run_metered(tracker, frames, box, StageMeter(time.perf_counter))
        peak = max(peak, measure_peak())
        if not rest:
            raise SourceError("a profile needs at least two frames: on the first one nothing is tracked yet")
        with open_frames() as frames:
            operations = count_operations(tracker, frames, box)
    found = {"engine": tracker.engine, "threads": trunk_threads(), **(made_with or {})}
    return Profile(found, first, tuple(rest), tuple(operations[1:]), peak, load_seconds, whole_seconds)


def run_as_usual(tracker: Tracker, frames: FrameSource, box: Box) -> None:
    """Without a meter."""
    tracker.init(next(frames), box)
    for frame in frames:
        tracker.update(frame)


def count_operations(tracker: Tracker, frames: FrameSource, box: Box) -> list[Amounts]:
    """Floating-point operations of every stage, frame by frame."""
    extract = tracker._extract
    engine = extract.engine
    with counted_operations() as counter:
        extract.engine = CountedEngine(engine, extract.layers, counter)
        try:
            return run_metered(tracker, frames, box, StageMeter(counter.read))
        finally:
            extract.engine = engine
