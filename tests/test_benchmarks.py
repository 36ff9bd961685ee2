"""The benchmarks run, count and judge right. No test looks at how many seconds anything took."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import camera, compare, corrections, processes, speed
from benchmarks.figures import Figure, as_json, at_least, at_most, missing, print_figures
from benchmarks.videos import ROOT, Clip, ClipTimes, back_and_forth, find_clips, time_clip
from core_helpers import random_weights, small_config, small_tracker
from tracking_parts import Box, MultiTracker, Tracker
from tracking_parts.errors import SourceError
from tracking_parts.frames import Frame
from tracking_parts.threads import trunk_threads
from tracking_parts.trunk_engines import installed_engines

BOX = Box(10.0, 12.0, 20.0, 16.0)


class Counting:
    """A tracker that only remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def init(self, frame: Frame, box: Box) -> None:
        self.asked.append(f"init {box.w:g}x{box.h:g}")

    def update(self, frame: Frame) -> None:
        self.asked.append("update")


def ticking(step: float = 1.0) -> Callable[[], float]:
    times: Iterator[float] = iter(np.arange(0, 1e4, step))
    return lambda: float(next(times))


# --------------------------------------------------------------------------- figures
def test_verdicts() -> None:
    assert [at_least("", value, 1.5, "").verdict for value in (1.49, 1.5)] == ["missed", "met"]
    assert [at_most("", value, 4.0, "").verdict for value in (4.0, 4.01)] == ["met", "missed"]
    assert missing("", "not built yet", "at most 2.5").verdict == "not built yet"


def test_the_table_and_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    figures = [at_most("frames [red]", 2.0, 4.0, "2.00"), missing("targets", "not built yet", "at most 2.5")]
    print_figures(figures, Console(width=120))
    shown = capsys.readouterr().out
    assert "frames [red]" in shown and "at most 4" in shown and "met" in shown and "not built yet" in shown
    assert json.loads(json.dumps(as_json(figures)))[0]["value"] == 2.0


# --------------------------------------------------------------------------- videos
def test_clips_of_a_folder(vot_data: Path) -> None:
    clips = find_clips(vot_data, ["growing", "moving"], 5)
    assert [clip.name for clip in clips] == ["growing", "moving"]
    assert [len(list(clip.frames())) for clip in clips] == [5, 5]
    assert {clip.name for clip in find_clips(vot_data, ["all"], None)} == {"moving", "growing"}
    with pytest.raises(SourceError, match="has no ball2"):
        find_clips(vot_data, ["ball2"], None)
    with pytest.raises(SourceError, match="name some of its own"):
        find_clips(vot_data, [], None)


def test_named_sequences_are_never_replaced_by_the_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STP_DATA", str(tmp_path / "nothing"))
    with pytest.raises(SourceError):
        find_clips(None, ["ball2"], None)


def test_a_whole_video_is_timed(vot_data: Path) -> None:
    clip = find_clips(vot_data, ["moving"], 4)[0]
    tracker = Counting()
    times = time_clip(tracker, clip, ticking())
    assert tracker.asked == [f"init {clip.box.w:g}x{clip.box.h:g}", "update", "update", "update"]
    assert times == ClipTimes(4.0, (1.0, 1.0, 1.0))


def test_back_and_forth_of_one_frame() -> None:
    picture = np.zeros((8, 8, 3), np.uint8)
    assert len(list(back_and_forth([picture], 5))) == 5


def test_everybody_goes_first_in_turn(vot_data: Path) -> None:
    order: list[str] = []
    names = ("a", "b")

    def started(name: str) -> Callable[[], Counting]:
        def start() -> Counting:
            order.append(name)
            return Counting()

        return start

    said: list[str] = []
    clips = find_clips(vot_data, ["moving", "growing"], 3)
    times = compare.videos_side_by_side({name: started(name) for name in names}, clips, 1, said.append)
    assert order == ["a", "b", "b", "a"] and len(said) == 4
    assert [len(times[name]) for name in names] == [2, 2]


def test_figures_of_videos() -> None:
    even = ClipTimes(2.0, (0.1,) * 19)
    slow_start = ClipTimes(4.0, (*(0.2,) * 17, 1.0, 1.0))  # its own median counts
    figures = compare.video_figures({"default": [even, slow_start], "peer": [even]}, "peer", {"default": 1.0})
    assert [figure.verdict for figure in figures] == ["", "", "missed", "missed"]
    assert figures[0].value == pytest.approx(40 / 6) and figures[2].value == pytest.approx(2 / 3)
    assert figures[3].value == pytest.approx(5.0)


# --------------------------------------------------------------------------- turn by turn
def test_steps_take_turns() -> None:
    order: list[str] = []
    rests: list[int] = []
    frames = [np.zeros((8, 8, 3), np.uint8)] * 3
    steps: Mapping[str, Callable[[Frame], object]] = {
        "a": lambda frame: order.append("a"),
        "b": lambda frame: order.append("b"),
    }
    medians = compare.median_seconds(steps, iter(frames), lambda: rests.append(1))
    assert order == ["a", "b", "b", "a", "a", "b"] and len(rests) == 3 and medians.keys() == {"a", "b"}


@pytest.mark.parametrize(("few", "verdicts"), [(5, {"met", "missed"}), (100, {"other numbers of parts"})])
def test_parts_are_judged_only_at_their_number(
    few: int, verdicts: set[str], vot_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "FEW_PARTS", few)
    monkeypatch.setattr(compare, "MANY_PARTS", 10 if few == 5 else 600)

    def make(settings: Mapping[str, Any]) -> Tracker:
        return small_tracker(**{**settings, "part_sizes": (3,), "t_d": 0.0, "alpha": 1.0})

    figure = compare.parts_figure(make, find_clips(vot_data, ["moving"], None)[0], 10)
    assert figure.verdict in verdicts, figure
    if few == 5:
        assert "10 voted" in figure.measured and "5 voted" in figure.measured


def test_boxes_beside_each_other() -> None:
    boxes = compare.boxes_around(Box(80, 40, 20, 20), (100, 80), 4)
    assert boxes[0] == Box(80, 40, 20, 20)
    assert all(0 <= box.centre[0] <= 100 and 0 <= box.centre[1] <= 80 for box in boxes)
    assert len(set(boxes)) == 4


def test_targets(vot_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = find_clips(vot_data, ["moving"], 4)[0]
    started: list[int] = []

    def start(frame: Frame, boxes: Sequence[Box]) -> MultiTracker:
        tracker = compare.start_targets(small_config(), "torch", frame, boxes)
        started.append(len(tracker))
        return tracker

    monkeypatch.setattr("tracking_parts.tracker.load_weights", random_weights)
    assert "times" in compare.targets_figure(clip, 4, start).measured
    assert started == [1, 1, 1, 1, 4]


def test_engines_beside_the_peak() -> None:
    peaks = iter([1e3, 2e3])  # whatever the machine, every engine is above such a peak
    found = compare.engine_figures(small_config(), random_weights(), installed_engines(), 2, lambda: next(peaks))
    assert [figure.name for figure in found][1:-1] == [
        f"whole trunk in {name}, crop of 64 pixels" for name in installed_engines()
    ]
    assert found[0].value == 2e3 and found[-1].verdict == "met"


# --------------------------------------------------------------------------- other processes
def test_memory_of_a_long_run(vot_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = find_clips(vot_data, ["moving"], None)[0]
    asked: list[dict[str, Any]] = []

    def told(arguments: Sequence[str]) -> str:
        assert arguments[:2] == ["-m", "benchmarks.processes"]
        asked.append(json.loads(arguments[2]))
        return json.dumps({"resident": {"500": 4e8, "end": 4.4e8}, "peak": 6e8})

    monkeypatch.setattr(processes, "run_python", told)
    monkeypatch.setattr(processes, "STATUS", vot_data)  # exists everywhere
    growth, peak = processes.memory_figures("fast", "torch", 1, clip, 600)
    assert growth.value == pytest.approx(10) and growth.verdict == "missed"
    assert peak.value == pytest.approx(0.6) and peak.verdict == "met"
    assert asked[0]["frames"] == 600 and asked[0]["profile"] == "fast"
    assert {one.verdict for one in processes.memory_figures("fast", "torch", 1, clip, 500)} == {
        "takes more than 500 frames"
    }
    monkeypatch.setattr(processes, "STATUS", vot_data / "nothing")
    assert {one.verdict for one in processes.memory_figures("fast", "torch", 1, clip, 600)} == {"only on Linux"}


@pytest.mark.skipif(not processes.STATUS.exists(), reason="needs /proc")
def test_the_long_run_itself(vot_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = find_clips(vot_data, ["moving"], None)[0]
    monkeypatch.setattr(processes, "SETTLED", 4)
    monkeypatch.setattr("tracking_parts.tracker.load_weights", random_weights)
    small = small_config(alpha=1.0)
    monkeypatch.setattr("tracking_parts.tracker.TrackerConfig.profile", lambda name: small)
    request = {"profile": "fast", "engine": "torch", "threads": 1, "source": str(clip.source), "start": 0}
    told = processes.track_for_long({**request, "box": clip.box.xywh, "frames": 8})
    assert 0 < told["resident"]["4"] <= told["peak"] and 0 < told["resident"]["end"] <= told["peak"]


def test_another_process_answers_with_its_last_line() -> None:
    code = "import benchmarks.figures, tracking_parts; print('noise'); print(tracking_parts.__file__)"
    assert Path(processes.run_python(["-c", code])).is_relative_to(ROOT)


def test_time_to_the_first_box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def told(arguments: Sequence[str]) -> str:
        if arguments[1] == processes.IMPORT_TORCH:
            return "1.25"
        assert arguments[3:] == [str(tmp_path), "7", "default", "torch", "10.0", "12.0", "20.0", "16.0"]
        return "2.5"

    monkeypatch.setattr(processes, "run_python", told)
    figure = processes.start_figure("default", "torch", Clip("x", tmp_path, BOX, 7))
    assert figure.verdict == "met" and figure.measured == "2.50 s, of them 1.25 s to import torch"
    compile(processes.FIRST_BOX, "first_box", "exec")


# --------------------------------------------------------------------------- the command
def test_the_command(
    vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tracking_parts.io.weights.load_weights", random_weights)
    monkeypatch.setattr(compare, "engine_figures", lambda *given, **named: [Figure("engines", "fine", 1.0)])
    out = tmp_path / "new" / "speed.json"
    options = ["--data", str(vot_data), "--sequences", "moving", "--frames", "4", "--threads", "1"]
    assert speed.main([*options, "--only", "engines,targets", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "4 targets against 1" in shown.out and "engines" in shown.out and str(out) in shown.out
    saved = json.loads(out.read_text())
    assert [figure["name"] for figure in saved["figures"]][1] == "engines" and saved["options"]["threads"] == 1
    assert speed.main([*options[:2], "--sequences", "nobody", "--only", "engines", "--out", str(out)]) == 2
    assert "has no nobody" in capsys.readouterr().err


def test_unknown_sections_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        speed.parse(["--only", "videos,weather"])
    assert "'weather'" in capsys.readouterr().err


# --------------------------------------------------------------------------- threads
def test_threads_with_and_without_somebody_else(vot_data: Path) -> None:
    clip = find_clips(vot_data, ["moving"], 4)[0]
    figures = compare.threads_figures(lambda settings: small_tracker(**settings), clip, frames=4, count=2)
    assert trunk_threads() == 2
    assert ["taken" in figure.name for figure in figures] == [False, True]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)


@pytest.mark.parametrize("way", corrections.WAYS)
def test_an_annotator_corrects_what_is_wrong(way: str, vot_data: Path) -> None:
    """A box that is far off in every frame is put right in every frame, and the first one is none of his."""
    with small_tracker() as tracker:
        good = corrections.annotate(tracker, vot_data / "moving", way)
        assert good.corrections == 0 and min(good.overlaps) > 0.5
    corrections_made = []

    class Wanders(Tracker):
        def update(self, frame: Any) -> Any:
            found = super().update(frame)
            return replace(found, box=replace(found.box, x=found.box.x + 200))

        def correct(self, frame: Any, box: Any) -> Any:
            corrections_made.append("correct")
            return super().correct(frame, box)

    with Wanders(small_config(), weights=random_weights(), engine="torch") as lost:
        work = corrections.annotate(lost, vot_data / "moving", way)
    assert work.corrections == len(work.overlaps) == len(good.overlaps) and set(work.overlaps) == {0.0}
    assert len(corrections_made) == (work.corrections if way == "correct" else 0)
    assert str(work) == f"{work.corrections} corrections, mean overlap 0.000"


def test_the_camera_benchmark_measures_from_the_last_place_and_from_what_the_scene_did(
    vot_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The object moves by (1.5, 0.5) over a ground that rests."""
    found = list(camera.distances(vot_data / "moving"))
    for in_picture, in_scene, chosen in found:
        assert in_picture == pytest.approx(math.hypot(1.5, 0.5) / math.sqrt(32 * 28), rel=0.05)
        assert in_scene == pytest.approx(in_picture, abs=0.05)
        assert chosen in (in_picture, in_scene)
    assert camera.main(["--data", str(vot_data)]) == 0
    assert f"moving: {camera.table(found)}" in capsys.readouterr().out
    assert camera.table([]) == "no movement"
