"""What a run shows of itself: figures per tracker and time left, a table on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from tracking_parts.cli_bench_display import BenchDisplay, print_estimates, print_table, report_outcomes
from tracking_parts.evaluation.paper_plan import Estimate
from tracking_parts.evaluation.progress import RunProgress
from tracking_parts.evaluation.protocol import load_protocol
from tracking_parts.evaluation.report.content import Cell, Row, Table
from tracking_parts.evaluation.runner import Outcome, Plan, Task
from tracking_parts.io.sequences import Sequence


def task(tracker: str, sequence: str, frames: int, repetition: int = 1) -> Task:
    paths = [Path(f"{index}.jpg") for index in range(frames)]
    made = Sequence(sequence, paths, (None,) * frames, {})
    return Task(tracker, made, Path(f"{sequence}_{repetition:03d}.txt"), load_protocol("vot2016"), 0, repetition)


def done(tracker: str, sequence: str, frames: int, failures: int | None = 0, fps: float = 10.0) -> Outcome:
    """Half of the time goes into reading images."""
    return Outcome(tracker, sequence, "done", 1, frames, failures, fps, seconds=2 * frames / fps)


PLAN = Plan((task("a", "short", 100), task("a", "long", 300), task("a", "last", 400), task("b", "short", 100)), 2)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_figures_of_each_tracker_and_of_all() -> None:
    progress = RunProgress(PLAN)
    progress.add(done("a", "short", 100, failures=2, fps=10))
    progress.add(done("a", "long", 300, failures=1, fps=30))
    progress.add(Outcome("b", "short", "raised", error="no"))
    first, second = progress.trackers.values()
    assert (first.done, first.total, first.failures, first.frames_left) == (2, 3, 3, 400)
    assert first.frames_per_second == pytest.approx(400 / 20), "by frames and seconds, not by the mean of speeds"
    assert (second.done, second.raised, second.failures, second.frames_left) == (1, 1, None, 0)
    assert math.isnan(second.frames_per_second)
    total = progress.total()
    assert (total.done, total.total, total.raised, total.failures, total.frames) == (3, 4, 1, 3, 400)


def test_time_left_is_the_work_left_over_the_workers() -> None:
    clock = Clock()
    progress = RunProgress(PLAN, clock)
    assert math.isnan(progress.total_seconds_left()), "nobody can tell yet"
    progress.add(done("a", "short", 100))  # 0.2 s a frame, 700 frames left
    row = progress.trackers["a"]
    assert progress.seconds_left(row) == pytest.approx(700 * 0.2 / 2)
    assert math.isnan(progress.total_seconds_left()), "nobody knows how fast b is"
    progress.add(done("b", "short", 100, fps=100))
    assert progress.total_seconds_left() == pytest.approx(700 * 0.2 / 2)
    clock.now = 30
    assert progress.seconds_left(row) == pytest.approx(70 - 30), "counted down until the next news"
    progress.add(done("a", "long", 300))
    assert progress.seconds_left(row) == pytest.approx(400 * 0.2), "one sequence keeps one worker busy"
    clock.now = 1000
    assert progress.seconds_left(row) == 0
    progress.add(done("a", "last", 400))
    assert progress.total_seconds_left() == 0


def test_repetitions_are_tasks_of_their_own() -> None:
    progress = RunProgress(Plan((task("a", "short", 100, 1), task("a", "short", 100, 2)), 1))
    progress.add(done("a", "short", 100))
    assert (progress.trackers["a"].done, progress.trackers["a"].frames_left) == (1, 100)


def test_a_terminal_gets_a_table() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None, _environ={"TERM": "xterm"})
    with BenchDisplay(console) as display:
        display.plan(PLAN)
        display.show(done("a", "short", 100, failures=2), 1, 4)
        display.show(Outcome("b", "short", "raised", error="too narrow"), 2, 4)
    shown = stream.getvalue()
    assert "2/4 b short: raised too narrow" in shown and "1/4 a short" not in shown
    last = shown[shown.rindex("tracker") :]
    rows = [line.split() for line in last.splitlines()]
    assert ["tracker", "done", "failures", "raised", "fps", "left"] in rows
    assert ["a", "1/3", "2", "10.0", "0:01:10"] in [row[:5] for row in rows]
    assert ["all", "2/4", "2", "1", "10.0", "0:01:10"] in rows


def test_elsewhere_each_sequence_gets_a_line() -> None:
    stream = io.StringIO()
    with BenchDisplay(Console(file=stream, force_terminal=False, width=20)) as display:
        display.plan(PLAN)
        display.show(done("a", "short", 100, failures=1), 1, 4)
        display.show(done("a", "long", 300, failures=None), 2, 4)
        display.show(Outcome("a", "last", "skipped", 3, 400, 2), 3, 4)
    assert stream.getvalue().splitlines() == [
        "1/4 a short: 1 failure in 100 frames, 10.0 fps",
        "2/4 a long: 300 frames, 10.0 fps",
        "3/4 a last (3): 2 failures in 400 frames (done before)",
    ]


def test_the_end_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_outcomes([done("a", "short", 100)], Path("out"))
    assert not report_outcomes([Outcome("a", "x", "raised", 2, error="no", details="Traceback: …")], Path("out"))
    said = capsys.readouterr()
    assert said.out == "1 of 1 results are in out\n0 of 1 results are in out\n"
    assert said.err == "Traceback: …\nstp: a on x (2): no\n"


def test_tables_of_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row((Cell("csrt"), Cell("0.2", "0.1 to 0.3")), mark="published")
    print_table(Table("Scores", ("tracker", "EAO"), (row,), notes=("By sequences [drawn].",)))
    said = capsys.readouterr().out
    assert "Scores" in said and "csrt (published)" in said and "0.2 0.1 to 0.3" in said
    assert said.splitlines()[-1].strip() == "By sequences [drawn]."


def test_what_a_run_will_take(capsys: pytest.CaptureFixture[str]) -> None:
    known = Estimate("a", "vot2016", 2, 7200, 1.0, measured=True)
    print_estimates([known, Estimate("b", "vot2016", 1, 10, math.nan, measured=False)], processes=2)
    said = capsys.readouterr().err
    assert "1:00:00" in said
    assert "left to do: about 1:00:00 with 2 at once, and 1 of which nobody can tell" in said
