"""Trackers by name, runs over many sequences, and scores."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from synthetic import SyntheticSequence, moving_boxes, render_sequence, write_vot_folder
from tracking_parts.cli_bench import bench_app
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.runner import Outcome, Task, run, run_task
from tracking_parts.evaluation.scoring import markdown_table, score
from tracking_parts.evaluation.trackers import (
    OpenCVTracker,
    OurTracker,
    TrackerSpec,
    choose_tracker,
    polygon_from_answer,
    whole_pixels_inside,
)
from tracking_parts.evaluation.trajectory import read_trajectory
from tracking_parts.geometry import Box
from tracking_parts.io.sequences import find_sequences, read_sequence
from tracking_parts.result import Result, State
from tracking_parts.versions import versions

BOX = Box(1, 2, 3, 4)
SLANTED = ((10.0, 0.0), (20.0, 10.0), (10.0, 20.0), (0.0, 10.0))


# Names


def test_names_are_taken_apart() -> None:
    spec = TrackerSpec.parse("stp:default?alpha=1&update=none")
    assert (spec.kind, spec.name, spec.options) == ("stp", "default", {"alpha": "1", "update": "none"})
    assert spec.folder_name == "stp-default-alpha=1-update=none"
    assert TrackerSpec.parse("my.module:Class").kind == "my.module"
    assert TrackerSpec.parse("identity").name == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "write stp:PROFILE"),
        ("csrt", "write stp:PROFILE"),
        ("stp:", "write stp:PROFILE"),
        ("stp:nope", "nope"),
        ("stp:default?alpha", "key=value"),
        ("stp:default?nonsense=1", "nonsense"),
        ("stp:default?region=round", "region"),
        ("opencv:nope", "csrt, kcf"),
        ("opencv:csrt?alpha=1", "only stp"),
        ("no.such.module:Class", "cannot be imported"),
        ("trackers_for_tests:NoSuchClass", "cannot be imported"),
    ],
)
def test_wrong_names_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        choose_tracker(text)


def test_settings_of_our_tracker_are_known() -> None:
    settings = choose_tracker("stp:default?alpha=1&region=box").settings
    assert settings["config"]["alpha"] == 1
    assert settings["region"] == "box"


def test_our_tracker_is_judged_by_its_polygon_or_its_box() -> None:
    class Ours:
        def update(self, frame: Any) -> Result:
            return Result(BOX, SLANTED, 0.5, State.LOST)

    frame = np.zeros((10, 10, 3), np.uint8)
    assert OurTracker(Ours()).update(frame) == SLANTED
    assert OurTracker(Ours(), upright=True).update(frame) == BOX.polygon


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Result(BOX, SLANTED, 1.0, State.TRACKING), SLANTED),
        (BOX, BOX.polygon),
        ((1, 2, 3, 4), BOX.polygon),
        (np.array([1, 2, 3, 4]), BOX.polygon),
        ([10, 0, 20, 10, 10, 20, 0, 10], SLANTED),
        (SLANTED, SLANTED),
        ((True, (1, 2, 3, 4)), BOX.polygon),
        ((False, (0, 0, 0, 0)), None),
        (None, None),
        ((math.nan, 2, 3, 4), None),
    ],
)
def test_answers_of_other_trackers(answer: object, expected: object) -> None:
    assert polygon_from_answer(answer) == expected


def test_answers_that_make_no_sense() -> None:
    with pytest.raises(FormatError, match="4 or 8"):
        polygon_from_answer((1, 2, 3))


def test_whole_pixels() -> None:
    assert whole_pixels_inside(Box(1.6, 2.4, 3, 4), (100, 100)) == (2, 2, 3, 4)
    assert whole_pixels_inside(Box(-5, -5, 10, 10), (100, 100)) == (0, 0, 5, 5)
    assert whole_pixels_inside(Box(98.7, 50, 10, 0.2), (100, 100)) == (99, 50, 1, 1)
    assert whole_pixels_inside(Box(200, 200, 5, 5), (100, 100)) == (99, 99, 1, 1)


def test_opencv_keeps_the_last_box_when_lost() -> None:
    class Peer:
        answers = iter([(True, (5, 6, 7, 8)), (False, (0, 0, 0, 0))])

        def init(self, frame: Any, box: tuple[int, ...]) -> None:
            assert box == (1, 2, 3, 4)

        def update(self, frame: Any) -> tuple[bool, tuple[int, ...]]:
            return next(self.answers)

    tracker, frame = OpenCVTracker(Peer()), np.zeros((20, 20, 3), np.uint8)
    tracker.init(frame, BOX)
    assert tracker.update(frame) == tracker.update(frame) == Box(5, 6, 7, 8).polygon


@pytest.mark.parametrize("name", ["csrt", "kcf", "mil", "mosse", "medianflow"])
def test_opencv_trackers_follow_an_easy_object(name: str, vot_data: Path) -> None:
    if name != "mil" and not hasattr(cv2, "legacy"):
        pytest.skip("this OpenCV is built without the contrib modules")
    trajectory = run_reset(choose_tracker(f"opencv:{name}").factory, read_sequence(vot_data / "moving"), VOT2016)
    assert trajectory.failures == ()


def test_opencv_without_contrib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cv2, "legacy", raising=False)
    with pytest.raises(ConfigError, match="opencv-contrib"):
        choose_tracker("opencv:mosse")


# Runs


def test_run_writes_vot_results_and_what_made_them(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    heard: list[tuple[Outcome, int, int]] = []
    outcomes = run(
        ["identity", "trackers_for_tests:StandsStill"],
        vot_data,
        out,
        processes=2,
        threads=1,
        seed=7,
        on_progress=lambda outcome, done, total: heard.append((outcome, done, total)),
    )
    assert {(one.tracker, one.sequence, one.status) for one in outcomes} == {
        (tracker, sequence, "done")
        for tracker in ("identity", "trackers_for_tests:StandsStill")
        for sequence in ("moving", "growing")
    }
    assert [(done, total) for _, done, total in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    lines = (out / "identity" / "moving" / "moving_001.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "1" and len(lines) == 12
    assert len((out / "identity" / "moving" / "moving_001_time.txt").read_text().splitlines()) == 12
    made_by = json.loads((out / "identity" / "run.json").read_text(encoding="utf-8"))
    assert (made_by["tracker"], made_by["seed"], made_by["threads"]) == ("identity", 7, 1)
    assert made_by["protocol"]["eao_interval"] == [108, 371]
    assert made_by["versions"] == versions() and made_by["machine"]["cores"] >= 1


def test_finished_sequences_are_not_run_again(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"])
    kept = out / "identity" / "moving" / "moving_001.txt"
    before = kept.stat().st_mtime_ns
    outcomes = run(["identity"], vot_data, out)
    assert {(one.sequence, one.status) for one in outcomes} == {("moving", "skipped"), ("growing", "done")}
    assert kept.stat().st_mtime_ns == before
    assert all(one.frames == 12 for one in outcomes)


def test_a_folder_is_not_mixed(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"])
    with pytest.raises(ConfigError, match="another seed"):
        run(["identity"], vot_data, out, seed=1)
    (out / "identity" / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(FormatError, match="not the description"):
        run(["identity"], vot_data, out)
    (out / "identity" / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read"):
        run(["identity"], vot_data, out)


def test_a_sequence_that_raises_does_not_stop_the_others(vot_data: Path, tmp_path: Path) -> None:
    write_vot_folder(vot_data / "narrow", render_sequence(moving_boxes(6), size_wh=(90, 80)))
    (vot_data / "list.txt").write_text("narrow\nmoving\n", encoding="utf-8")
    outcomes = {
        one.sequence: one for one in run(["trackers_for_tests:RaisesOnNarrowFrames"], vot_data, tmp_path / "out")
    }
    assert outcomes["moving"].status == "done"
    assert outcomes["narrow"].status == "raised"
    assert outcomes["narrow"].error == "ZeroDivisionError: too narrow"
    assert "trackers_for_tests.py" in outcomes["narrow"].details
    assert not (tmp_path / "out" / "trackers_for_tests-RaisesOnNarrowFrames" / "narrow").exists()


def test_a_worker_that_dies_is_reported(vot_data: Path, tmp_path: Path) -> None:
    (outcome,) = run(["trackers_for_tests:Dies"], vot_data, tmp_path / "out", sequences=["moving"])
    assert (outcome.status, outcome.sequence) == ("raised", "moving")
    assert "died" in outcome.error


def test_our_own_errors_are_one_line(vot_data: Path, tmp_path: Path) -> None:
    sequence = read_sequence(vot_data / "moving")
    sequence.frames[3].write_bytes(b"no picture")
    outcome = run_task(Task("identity", sequence, tmp_path / "moving_001.txt", VOT2016, 0))
    assert outcome.status == "raised" and outcome.details == ""
    assert outcome.error.startswith("moving: frame 3 cannot be read")


def test_tasks_run_in_this_process_too(vot_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "moving_001.txt"
    outcome = run_task(
        Task("trackers_for_tests:LosesAtOnce", read_sequence(vot_data / "moving"), path, VOT2016, seed=0)
    )
    assert (outcome.status, outcome.failures) == ("done", 2)
    assert read_trajectory(path).failures == (1, 7)


@pytest.mark.parametrize("numbers", [{"processes": 0}, {"threads": 0}])
def test_senseless_numbers_are_refused(vot_data: Path, tmp_path: Path, numbers: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        run(["identity"], vot_data, tmp_path / "out", **numbers)  # type: ignore[arg-type]


def test_unknown_sequences_are_named(vot_data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nope"):
        run(["identity"], vot_data, tmp_path / "out", sequences=["moving", "nope"])


# Scores


@pytest.fixture
def scored(vot_data: Path, tmp_path: Path) -> Path:
    """Results of a perfect and of a bad tracker."""
    out = tmp_path / "out"
    for tracker in ("identity", "trackers_for_tests:LosesAtOnce"):
        for sequence in find_sequences(vot_data):
            path = out / TrackerSpec.parse(tracker).folder_name / sequence.name / f"{sequence.name}_001.txt"
            assert run_task(Task(tracker, sequence, path, VOT2016, seed=0)).status == "done"
    return out


def test_scores(scored: Path, vot_data: Path) -> None:
    best, worst = score(scored, vot_data, interval=(3, 8))
    assert (best.tracker, worst.tracker) == ("identity", "trackers_for_tests-LosesAtOnce")
    assert (best.sequences, best.frames, best.failures, best.robustness) == (2, 24, 0, 0)
    assert best.accuracy == pytest.approx(1) and best.eao == pytest.approx(1)
    assert (worst.failures, worst.robustness, worst.eao) == (4, 2, 0)
    assert worst.robustness_star == pytest.approx(100 * 4 / 24)
    assert math.isnan(worst.accuracy) and worst.frames_per_second > 0


def test_scores_by_sequence_and_as_a_table(scored: Path, vot_data: Path) -> None:
    rows = score(scored, vot_data, interval=(3, 8), by_sequence=True)
    assert [row.sequence for row in rows] == [None, "moving", "growing"] * 2
    lines = markdown_table(rows).splitlines()
    assert lines[0] == "| tracker | sequence | sequences | frames | EAO | A | failures | R | R* | fps |"
    assert lines[2].startswith("| identity | all | 2 | 24 | 1.000 | 1.000 | 0 | 0.00 | 0.000 |")
    assert lines[3].startswith("| identity | moving | 1 | 12 | – | 1.000 | 0 |")
    assert len(lines) == 8 and len({line.count("|") for line in lines}) == 1


def test_scoring_needs_results_of_these_sequences(scored: Path, vot_data: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no results"):
        score(tmp_path / "nowhere", vot_data)
    (vot_data / "list.txt").write_text("other\n", encoding="utf-8")
    (vot_data / "moving").rename(vot_data / "other")
    with pytest.raises(FormatError, match="none of its sequences"):
        score(scored, vot_data)


def test_run_and_score_by_command(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    folders = ["--data", str(vot_data), "--out", str(out)]
    ran = CliRunner().invoke(bench_app, ["run", "identity", *folders, "--sequences", "moving, growing"])
    assert ran.exit_code == 0, ran.output
    assert "2 of 2 results" in ran.stdout
    assert "1/2 identity" in ran.stderr and "0 failures in 12 frames" in ran.stderr and "\x1b" not in ran.stderr
    for options in ([], ["--markdown"], ["--by-sequence", "--protocol", "vot2017"]):
        shown = CliRunner().invoke(bench_app, ["score", *folders, *options])
        assert shown.exit_code == 0, shown.output
        assert "identity" in shown.stdout and "EAO" in shown.stdout
        assert ("growing" in shown.stdout) == ("--by-sequence" in options)


def test_command_reports_what_raised(vot_data: Path, tmp_path: Path) -> None:
    write_vot_folder(vot_data / "narrow", render_sequence(moving_boxes(6), size_wh=(90, 80)))
    (vot_data / "list.txt").write_text("moving\nnarrow\n", encoding="utf-8")
    tracker = "trackers_for_tests:RaisesOnNarrowFrames"
    ran = CliRunner().invoke(bench_app, ["run", tracker, "--data", str(vot_data), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 1
    assert f"stp: {tracker} on narrow: ZeroDivisionError: too narrow" in ran.stderr.splitlines()
    assert "1 of 2 results" in ran.stdout


def test_command_notes_uneven_runs(scored: Path, vot_data: Path) -> None:
    (scored / "identity" / "moving" / "moving_001.txt").unlink()
    shown = CliRunner().invoke(bench_app, ["score", "--data", str(vot_data), "--out", str(scored)])
    assert shown.exit_code == 0 and shown.stderr.startswith("stp: note: the trackers were run on different numbers")


def test_our_tracker_in_a_real_run(tmp_path: Path, growing_object: SyntheticSequence) -> None:
    """The whole way, weights included: the society follows a textured object through five frames."""
    few = SyntheticSequence(growing_object.frames[:5], growing_object.boxes[:5])
    sequence = read_sequence(write_vot_folder(tmp_path / "few", few))
    outcome = run_task(Task("stp:fast", sequence, tmp_path / "few_001.txt", VOT2016, seed=0))
    assert (outcome.status, outcome.failures, outcome.error) == ("done", 0, "")
