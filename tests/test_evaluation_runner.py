"""Trackers by name, and runs over many sequences."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from synthetic import SyntheticSequence, moving_boxes, render_sequence, write_vot_folder
from tracking_parts.cli_bench import bench_app
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.protocol import load_reset_protocol
from tracking_parts.evaluation.runner import Outcome, Plan, Task, result_path, run, run_task
from tracking_parts.evaluation.scoring import load_runs
from tracking_parts.evaluation.trackers import OurTracker, TrackerSpec, choose_tracker, polygon_from_answer
from tracking_parts.evaluation.trajectory import read_trajectory
from tracking_parts.geometry import Box
from tracking_parts.io.sequences import find_sequences, read_sequence
from tracking_parts.result import Result, State
from tracking_parts.versions import versions

VOT2016 = load_reset_protocol("vot2016")
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
        ("stp:default?engine=abacus", "unknown engine 'abacus'"),
        ("opencv:nope", "csrt, kcf"),
        ("opencv:csrt?alpha=1", "only stp"),
        ("stp:default?start_noise=much", "start_noise is a share"),
        ("stp:default?start_noise=1", "start_noise is a share"),
        ("no.such.module:Class", "cannot be imported"),
        ("trackers_for_tests:NoSuchClass", "cannot be imported"),
    ],
)
def test_wrong_names_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        choose_tracker(text)


def test_settings_of_our_tracker_are_known() -> None:
    settings = choose_tracker("stp:default?alpha=1&region=box&engine=torch").settings
    assert settings["config"]["alpha"] == 1
    assert settings["region"] == "box" and settings["engine"] == "torch"
    assert choose_tracker("stp:default").settings["engine"] == "auto"


def test_a_start_can_be_off_by_a_share_of_the_box() -> None:
    given: list[Box] = []

    class Ours:
        def init(self, frame: Any, box: Box) -> None:
            given.append(box)

    frame, box = np.zeros((10, 10, 3), np.uint8), Box(100, 200, 40, 20)
    OurTracker(Ours()).init(frame, box)
    OurTracker(Ours(), off_by=(0.1, -0.2, 0.5, 0.0)).init(frame, box)
    assert given == [box, Box(94, 196, 60, 20)]


@pytest.mark.network
def test_the_noise_of_a_start_is_drawn_by_seed_sequence_and_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Box] = []
    monkeypatch.setattr("tracking_parts.Tracker.init", lambda self, frame, box: given.append(box))
    frame, box = np.zeros((300, 300, 3), np.uint8), Box(100, 100, 40, 20)
    sequence = SimpleNamespace(name="of whatever")
    for seed, index in ((1, 0), (1, 0), (2, 0), (1, 7)):
        choice = choose_tracker("stp:default?start_noise=0.03", seed)
        choice.factory(sequence, index).init(frame, box)  # type: ignore[arg-type]
        choice.close()
    assert given[0] == given[1] and len({one.xywh for one in given}) == 3
    assert all(0 < abs(one.w / box.w - 1) <= 0.03 and abs(one.centre[0] - 120) <= 1.2 for one in given)


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
    assert made_by["protocol"]["eao_interval"] == [108, 371] and made_by["engine"] == "local"
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


@pytest.mark.parametrize("numbers", [{"processes": 0}, {"threads": 0}, {"repetitions": 0}])
def test_senseless_numbers_are_refused(vot_data: Path, tmp_path: Path, numbers: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        run(["identity"], vot_data, tmp_path / "out", **numbers)  # type: ignore[arg-type]


def test_unknown_sequences_are_named(vot_data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nope"):
        run(["identity"], vot_data, tmp_path / "out", sequences=["moving", "nope"])


@pytest.fixture
def scored(vot_data: Path, tmp_path: Path) -> Path:
    """Results of a perfect and of a bad tracker."""
    out = tmp_path / "out"
    for tracker in ("identity", "trackers_for_tests:LosesAtOnce"):
        for sequence in find_sequences(vot_data):
            path = result_path(out, TrackerSpec.parse(tracker), sequence.name)
            assert run_task(Task(tracker, sequence, path, VOT2016, seed=0)).status == "done"
    return out


def test_what_was_run_is_scored(scored: Path, vot_data: Path) -> None:
    best, worst = load_runs(scored, vot_data, VOT2016)
    assert [len(one.runs) for one in (best, worst)] == [2, 2]
    assert [sum(len(run.score.failures) for run in one.runs) for one in (best, worst)] == [0, 4]
    assert math.isnan(best.runs[0].score.overlaps[0]) and best.runs[0].score.overlaps[1] == pytest.approx(1)


def test_repetitions_have_seeds_and_files_of_their_own(vot_data: Path, tmp_path: Path) -> None:
    out, plans = tmp_path / "out", list[Plan]()
    outcomes = run(["identity"], vot_data, out, seed=5, repetitions=2, sequences=["moving"], on_plan=plans.append)
    assert [(one.repetition, one.status) for one in sorted(outcomes, key=lambda one: one.repetition)] == [
        (1, "done"),
        (2, "done"),
    ]
    assert [(task.seed, task.result_path.name) for task in plans[0].tasks] == [
        (5, "moving_001.txt"),
        (6, "moving_002.txt"),
    ]
    assert all(task.result_path.exists() for task in plans[0].tasks)
    more = run(["identity"], vot_data, out, seed=5, repetitions=3, sequences=["moving"])
    assert [one.status for one in sorted(more, key=lambda one: one.repetition)] == ["skipped", "skipped", "done"]
    (runs,) = load_runs(out, vot_data, VOT2016)
    assert [one.repetition for one in runs.runs] == [1, 2, 3]


def test_one_pass_is_a_protocol_like_another(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcomes = run(["trackers_for_tests:LosesAtOnce"], vot_data, out, protocol="ope", sequences=["moving"])
    assert [(one.status, one.failures, one.frames) for one in outcomes] == [("done", None, 12)]
    folder = out / "trackers_for_tests-LosesAtOnce"
    lines = (folder / "moving" / "moving_001.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "1" and all(line.startswith("-500") for line in lines[1:])
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["protocol"]["precision_pixels"] == 20
    with pytest.raises(ConfigError, match="another protocol"):
        run(["trackers_for_tests:LosesAtOnce"], vot_data, out, protocol="vot2016")


def test_results_of_the_first_release_are_continued(vot_data: Path, tmp_path: Path) -> None:
    """Their description has fewer keys; hours of work must not be lost for that."""
    folder = tmp_path / "out" / "opencv-mil"
    old = {
        "tracker": "opencv:mil",
        "settings": {},
        "seed": 0,
        "protocol": {
            "name": "vot2016",
            "failure_overlap": 0.0,
            "skip": 5,
            "burn_in": 10,
            "eao_interval": [108, 371],
            "init_box": "area",
        },
        "threads": 1,
    }
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(old), encoding="utf-8")
    (outcome,) = run(["opencv:mil"], vot_data, tmp_path / "out", sequences=["moving"], threads=1)
    assert outcome.status == "done"
    assert json.loads((folder / "run.json").read_text(encoding="utf-8")) == old
    with pytest.raises(ConfigError, match="another protocol"):
        run(["opencv:mil"], vot_data, tmp_path / "out", protocol="vot2017")


def test_a_finished_folder_is_not_touched(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"])
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    (outcome,) = run(["identity"], vot_data, out, sequences=["moving"])
    assert outcome.status == "skipped"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize(
    ("wrong", "problem"), [({"engine": "steam"}, "local or ray"), ({"address": "auto"}, "only the engine ray")]
)
def test_wrong_engines_are_refused_before_anything_is_written(
    vot_data: Path, tmp_path: Path, wrong: dict[str, str], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(["identity"], vot_data, tmp_path / "out", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_run_by_command(vot_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    folders = ["--data", str(vot_data), "--out", str(out)]
    ran = CliRunner().invoke(bench_app, ["run", "identity", *folders, "--sequences", "moving, growing"])
    assert ran.exit_code == 0, ran.output
    assert "2 of 2 results" in ran.stdout
    assert "1/2 identity" in ran.stderr and "0 failures in 12 frames" in ran.stderr and "\x1b" not in ran.stderr


def test_command_reports_what_raised(vot_data: Path, tmp_path: Path) -> None:
    write_vot_folder(vot_data / "narrow", render_sequence(moving_boxes(6), size_wh=(90, 80)))
    (vot_data / "list.txt").write_text("moving\nnarrow\n", encoding="utf-8")
    tracker = "trackers_for_tests:RaisesOnNarrowFrames"
    ran = CliRunner().invoke(bench_app, ["run", tracker, "--data", str(vot_data), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 1
    assert f"stp: {tracker} on narrow: ZeroDivisionError: too narrow" in ran.stderr.splitlines()
    assert "1 of 2 results" in ran.stdout


def test_our_tracker_in_a_real_run(tmp_path: Path, growing_object: SyntheticSequence) -> None:
    """The whole way, weights included: the society follows a textured object through five frames."""
    few = SyntheticSequence(growing_object.frames[:5], growing_object.boxes[:5])
    sequence = read_sequence(write_vot_folder(tmp_path / "few", few))
    outcome = run_task(Task("stp:fast", sequence, tmp_path / "few_001.txt", VOT2016, seed=0))
    assert (outcome.status, outcome.failures, outcome.error) == ("done", 0, "")
