"""Running a tracker for ``stp track`` and ``stp demo``: from what was typed to files and an exit code."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import torch

from tracking_parts.cli_display import (
    complain,
    download_progress,
    print_report,
    say_light_trunk_is_made,
    tracking_progress,
)
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import ConfigError, InvalidBoxError, TrackingPartsError, quoted
from tracking_parts.geometry import Box
from tracking_parts.io.results import SequenceInfo
from tracking_parts.io.video import FrameSource, open_source
from tracking_parts.io.weights import load_weights, weights_provenance
from tracking_parts.light_weights import light_file
from tracking_parts.output_files import OutputChoice, OutputFiles, write_run_config
from tracking_parts.threads import use_threads
from tracking_parts.tracking import Ending, RunReport, run_tracking
from tracking_parts.trunk_engines import check_engine

if TYPE_CHECKING:
    from tracking_parts.tracker import Tracker
    from tracking_parts.tracking import TrackerLike

EXIT_BROKEN = 1
EXIT_INTERRUPTED = 130  # as shells report a program ended by Ctrl-C


@dataclass(frozen=True, slots=True)
class TrackRequest:
    """Everything that was asked for on the command line."""

    source: str
    box: Box | None  # None: the ground truth of the source
    outputs: OutputChoice
    profile: str = "default"
    settings: tuple[str, ...] = ()
    device: str = "cpu"
    seed: int = 0
    threads: int | None = None
    engine: str = "auto"
    start: int = 0
    end: int | None = None
    save_state: bool = False


def parse_box(text: str) -> Box:
    """``x,y,w,h`` as a box; whether it lies in the frame is the tracker's to judge."""
    try:
        x, y, w, h = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidBoxError(f"--box takes four numbers x,y,w,h, not {quoted(text)}") from None
    if not all(math.isfinite(value) for value in (x, y, w, h)):
        raise InvalidBoxError(f"--box has values that are not finite: {quoted(text)}")
    return Box(x, y, w, h)


def run_request(request: TrackRequest) -> int:
    """Track, write the files, print the table; return the exit code. Bad input raises before any work is done."""
    config = TrackerConfig.profile(request.profile).override_from_text(request.settings)
    check_device(request.device)
    check_engine(request.engine)
    use_threads(request.threads)
    with open_source(request.source, start=request.start, end=request.end) as source:
        box = request.box or ground_truth_box(source)
        request.outputs.prepare()
        tracker = make_tracker(config, request.device, request.seed, request.engine)
        config_path = request.outputs.folder / "config.json"
        write_run_config(config_path, _run_values(request, config, box, tracker.engine))
        with closing(tracker):  # training in the background must not outlive the run
            return _run(request, source, tracker, box, [("settings", config_path)])


def make_tracker(config: TrackerConfig, device: str, seed: int, engine: str) -> Tracker:
    """The tracker, with a progress bar if its weights must be fetched first, and a word if its trunk must be made."""
    from tracking_parts.tracker import Tracker

    if weights_provenance() is None:
        with download_progress() as progress:
            load_weights(progress=progress)
    cached = weights_provenance()
    if config.trunk == "light" and not (cached and light_file(cached[1].tensors_sha256).is_file()):
        say_light_trunk_is_made()
    return Tracker(config, device=device, seed=seed, engine=engine)


def check_device(name: str) -> None:
    """Torch's own complaints run over many lines."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"the device {name!r} cannot be used here: {reason}") from None


def ground_truth_box(source: FrameSource) -> Box:
    """The box of a VOT or OTB sequence in its first frame, from which tracking starts unless another is given."""
    if source.ground_truth is None:
        raise InvalidBoxError(f"where is the object in {source.name}? Say --box x,y,w,h (it has no ground truth)")
    polygon = source.ground_truth[0]
    if polygon is None:
        raise InvalidBoxError(
            f"the ground truth of {source.name} has no box for frame {source.start}: say --box x,y,w,h"
        )
    return Box.around(polygon)


def _run_values(request: TrackRequest, config: TrackerConfig, box: Box, engine: str) -> dict[str, object]:
    return {
        "source": request.source,
        "box": list(box.xywh),
        "start": request.start,
        "end": request.end,
        "profile": request.profile,
        "config": config.to_dict(),
        "seed": request.seed,
        "device": request.device,
        "threads": torch.get_num_threads(),
        "engine": engine,
    }


def _run(
    request: TrackRequest, source: FrameSource, tracker: TrackerLike, box: Box, paths: list[tuple[str, Path]]
) -> int:
    opened: list[OutputFiles] = []

    def open_sink(size_wh: tuple[int, int]) -> OutputFiles:
        info = SequenceInfo(source.name, size_wh, source.fps, source.source_frame_count, request.outputs.label)
        opened.append(OutputFiles(request.outputs, info))
        return opened[-1]

    with tracking_progress(source.name, source.frame_count) as on_step, stop_requests() as should_stop:
        report = run_tracking(
            source, tracker, box, open_sink, first_index=request.start, on_step=on_step, should_stop=should_stop
        )
    paths = [*opened[0].paths, *paths]
    problem = ""
    if request.save_state:
        state_path = request.outputs.folder / "state.safetensors"
        problem = _try_to_save(tracker, state_path)
        paths += [] if problem else [("tracker's state", state_path)]
    print_report(report, paths)
    code = _explain_ending(report)
    if problem:
        complain(problem)
    return code or (EXIT_BROKEN if problem else 0)


def _try_to_save(tracker: TrackerLike, path: Path) -> str:
    """Save the tracker; what went wrong, if anything did. The run's other files are worth reporting all the same."""
    try:
        tracker.save(path)
    except (TrackingPartsError, OSError) as error:
        return f"the tracker's state was not saved: {error}"
    return ""


def _explain_ending(report: RunReport) -> int:
    kept = f"the files hold frames {report.first_index} to {report.next_index - 1}"
    if report.ending is Ending.BROKEN:
        complain(f"stopped at frame {report.next_index}: {report.problem}; {kept}")
        return EXIT_BROKEN
    if report.ending is Ending.INTERRUPTED:
        complain(f"interrupted; {kept}")
        return EXIT_INTERRUPTED
    return 0


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Ctrl-C (or SIGTERM) once: stop after the frame that is being tracked. Twice: stop at once."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set  # Python delivers signals to the main thread only
        return
    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
