"""Running a tracker for ``stp track`` and ``stp demo``: from what was typed to files and an exit code."""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tracking_parts.checkpoints import Checkpoints, ResumedTracker
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
from tracking_parts.io.results import ResultRow, SequenceInfo
from tracking_parts.io.trace_files import read_trace
from tracking_parts.io.video import FrameSource, open_source
from tracking_parts.io.weights import load_weights, weights_provenance
from tracking_parts.light_weights import light_file
from tracking_parts.making import checked_device
from tracking_parts.output_files import OutputChoice, OutputFiles, write_run_config
from tracking_parts.stopping import WORDS, StopRequest, exit_code_of, stop_requests
from tracking_parts.threads import trunk_threads, use_threads
from tracking_parts.tracking import Ending, Follower, OneTarget, RunReport, SeveralTargets, Step, run_tracking
from tracking_parts.trunk_engines import check_engine

if TYPE_CHECKING:
    from tracking_parts.multi_tracker import MultiTracker
    from tracking_parts.tracker import Tracker
    from tracking_parts.tracking import TrackerLike

EXIT_BROKEN = 1


@dataclass(frozen=True, slots=True)
class TrackRequest:
    """Everything that was asked for on the command line."""

    source: str
    boxes: tuple[Box, ...]  # none: the ground truth of the source
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
    resume: bool = False
    checkpoint: float = 30.0  # seconds between two; 0: none

    @property
    def is_live(self) -> bool:
        """A camera or a stream: what was shown once never comes again."""
        return "://" in self.source or (self.source.isdigit() and not Path(self.source).exists())


def parse_box(text: str) -> Box:
    """``x,y,w,h`` as a box; whether it lies in the frame is the tracker's to judge."""
    try:
        x, y, w, h = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidBoxError(f"--box takes four numbers x,y,w,h, not {quoted(text)}") from None
    if not all(math.isfinite(value) for value in (x, y, w, h)):
        raise InvalidBoxError(f"--box has values that are not finite: {quoted(text)}")
    return Box(x, y, w, h)


def name_targets(labels: Sequence[str], count: int) -> tuple[str, ...]:
    """A name for each box: those given, or one with numbers behind it."""
    if len(labels) <= 1:
        label = labels[0] if labels else "object"
        return (label,) if count == 1 else tuple(f"{label} {number}" for number in range(1, count + 1))
    if len(labels) != count:
        raise ConfigError(f"there are {len(labels)} times --label for {count} times --box: give one for each, or one")
    if len(set(labels)) != count:
        raise ConfigError("two boxes have the same --label")
    return tuple(labels)


def run_request(request: TrackRequest) -> int:
    """Track, write the files, print the table; return the exit code. Bad input raises before any work is done."""
    config = TrackerConfig.profile(request.profile).override_from_text(request.settings)
    checked_device(request.device)
    check_engine(request.engine)
    use_threads(request.threads)
    with open_source(request.source, start=request.start, end=request.end) as source:
        boxes = dict(zip(request.outputs.labels, request.boxes or (ground_truth_box(source),), strict=True))
        request.outputs.prepare()
        follow = _follow_one if len(boxes) == 1 else _follow_several
        return follow(request, config, source, boxes)


def _follow_one(request: TrackRequest, config: TrackerConfig, source: FrameSource, boxes: Mapping[str, Box]) -> int:
    ((name, box),) = boxes.items()
    values = _run_values(request, config, boxes)
    checkpoints = Checkpoints(request.outputs.folder, values, 0 if request.is_live else request.checkpoint)
    known = _known_rows(request, checkpoints)
    saved = checkpoints.state if known else None
    tracker = make_tracker(config, request.device, request.seed, request.engine, saved)
    if not known:
        checkpoints.begin()
    config_path = _write_config(request, values, tracker.engine)
    chosen = ResumedTracker(known, tracker, partial(read_trace, request.outputs.folder)) if known else tracker
    with closing(tracker):  # training in the background must not outlive the run
        return _run(request, source, OneTarget(chosen, box, name), config_path, chosen, checkpoints)


def _follow_several(request: TrackRequest, config: TrackerConfig, source: FrameSource, boxes: Mapping[str, Box]) -> int:
    """Without checkpoints: there is no saving of several targets yet."""
    tracker = make_multi_tracker(config, request.device, request.seed, request.engine)
    config_path = _write_config(request, _run_values(request, config, boxes), tracker.engine)
    with closing(tracker):
        return _run(request, source, SeveralTargets(tracker, boxes), config_path)


def _write_config(request: TrackRequest, values: Mapping[str, object], engine: str) -> Path:
    path = request.outputs.folder / "config.json"
    write_run_config(path, {**values, "end": request.end, "threads": trunk_threads(), "engine": engine})
    return path


def _known_rows(request: TrackRequest, checkpoints: Checkpoints) -> list[ResultRow]:
    """Of the run to be resumed, if there is one."""
    if not request.resume:
        return []
    if request.is_live:
        raise ConfigError(f"cannot resume: {request.source} is live, what was missed is gone")
    if request.outputs.rerun:
        raise ConfigError("cannot resume a recording for rerun: leave out --rerun and --rerun-save, or --resume")
    known = checkpoints.load()
    complain(f"resuming after frame {known[-1].frame_index}" if known else "nothing to resume: starting afresh")
    return known


def make_tracker(config: TrackerConfig, device: str, seed: int, engine: str, saved: Path | None = None) -> Tracker:
    """The tracker, as it was saved if it was; with a progress bar if weights must be fetched first, and a word if the
    light trunk must be made.
    """
    from tracking_parts.tracker import Tracker

    _prepare_weights(config)
    if saved is not None:
        return Tracker.load(saved, device=device, engine=engine)
    return Tracker(config, device=device, seed=seed, engine=engine)


def make_multi_tracker(config: TrackerConfig, device: str, seed: int, engine: str) -> MultiTracker:
    """The same for several targets."""
    from tracking_parts.multi_tracker import MultiTracker

    _prepare_weights(config)
    return MultiTracker(config, device=device, seed=seed, engine=engine)


def _prepare_weights(config: TrackerConfig) -> None:
    if weights_provenance() is None:
        with download_progress() as progress:
            load_weights(progress=progress)
    cached = weights_provenance()
    if config.trunk == "light" and not (cached and light_file(cached[1].tensors_sha256).is_file()):
        say_light_trunk_is_made()


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


def _run_values(request: TrackRequest, config: TrackerConfig, boxes: Mapping[str, Box]) -> dict[str, object]:
    """What makes a run the same run."""
    values = {name: list(box.xywh) for name, box in boxes.items()}
    return {
        "source": request.source,
        **({"box": next(iter(values.values()))} if len(values) == 1 else {"boxes": values}),
        "start": request.start,
        "profile": request.profile,
        "config": config.to_dict(),
        "seed": request.seed,
        "device": request.device,
        "trace": request.outputs.trace,
    }


def _run(
    request: TrackRequest,
    source: FrameSource,
    targets: Follower,
    config_path: Path,
    tracker: TrackerLike | None = None,  # the only one, if it is
    checkpoints: Checkpoints | None = None,
) -> int:
    resumed = isinstance(tracker, ResumedTracker)
    opened: list[OutputFiles] = []

    def open_sink(size_wh: tuple[int, int]) -> OutputFiles:
        info = SequenceInfo(source.name, size_wh, source.fps, source.source_frame_count, request.outputs.labels[0])
        opened.append(OutputFiles(request.outputs, info, keep_traces=resumed))
        return opened[-1]

    with tracking_progress(source.name, source.frame_count) as show, stop_requests() as asked:

        def on_step(step: Step) -> None:
            show(step)
            is_known = isinstance(tracker, ResumedTracker) and tracker.is_replaying
            if checkpoints is not None and tracker is not None and not is_known:
                checkpoints.take(step, tracker)

        report = run_tracking(source, targets, open_sink, first_index=request.start, on_step=on_step, should_stop=asked)
        can_resume = checkpoints is not None and tracker is not None and _end_checkpoints(checkpoints, report, tracker)
    paths = [*opened[0].paths, ("settings", config_path)]
    problem = ""
    if request.save_state and tracker is not None:
        state_path = request.outputs.folder / "state.safetensors"
        problem = _try_to_save(tracker, state_path)
        paths += [] if problem else [("tracker's state", state_path)]
    print_report(report, paths)
    code = _explain_ending(report, asked, can_resume)
    if checkpoints is not None and checkpoints.problem:
        complain(f"what --resume goes on from was not saved: {checkpoints.problem}")
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


def _end_checkpoints(checkpoints: Checkpoints, report: RunReport, tracker: TrackerLike) -> bool:
    """A run that is through needs none; else whether it can be resumed."""
    if report.ending is Ending.COMPLETED:
        checkpoints.forget()
        return False
    if isinstance(tracker, ResumedTracker) and tracker.is_replaying:
        return True
    return checkpoints.save(tracker)


def _explain_ending(report: RunReport, asked: StopRequest, can_resume: bool) -> int:
    kept = f"the files hold frames {report.first_index} to {report.next_index - 1}"
    kept += "; --resume goes on from there" if can_resume else ""
    if report.ending is Ending.BROKEN:
        complain(f"stopped at frame {report.next_index}: {report.problem}; {kept}")
        return EXIT_BROKEN
    if report.ending is Ending.INTERRUPTED:
        number = asked.number or signal.SIGINT
        complain(f"{WORDS[signal.Signals(number)]}; {kept}")
        return exit_code_of(number)
    return 0
