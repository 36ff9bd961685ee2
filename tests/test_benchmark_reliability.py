"""Whether a confidence is true: made-up trackers whose truth is known, and what is joined of real files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks.confidence import calibration_error, logistic
from benchmarks.reliability import evidence_watched, main, notes, read_evidence, read_watched, table
from benchmarks.reliability_frames import SOON, Floats, Frames, Watched, lost_soon
from benchmarks.reliability_measures import (
    brier_skill,
    calibration_error_by_count,
    judge,
    reliability_bins,
    roc_area,
)
from benchmarks.reliability_picture import draw
from synthetic import moving_boxes, render_sequence, write_vot_folder
from tracking_parts.errors import FormatError
from tracking_parts.evaluation.trajectory import Code, Region, Trajectory, write_trajectory
from tracking_parts.geometry import Box

LENGTH = 60
FAILS_AT = 30
TRUTH = Box(20, 20, 20, 20)
GOOD, BAD = TRUTH.polygon, Box(32, 20, 20, 20).polygon  # overlaps 1 and 0.25


def watched(said: Floats, good: Floats, sequences: int = 8, name: str = "made-up") -> Watched:
    """A failure follows what is bad."""
    parts = zip(np.array_split(said, sequences), np.array_split(good, sequences), strict=True)
    return Watched(name, tuple(Frames(one, true, 1 - true) for one, true in parts), len(said), np.zeros(0))


def calibrated(count: int = 8000) -> tuple[Floats, Floats]:
    random = np.random.default_rng(3)
    said = random.uniform(size=count)
    return said, (random.uniform(size=count) < said).astype(float)


# Measures


def test_what_is_true_is_found_true() -> None:
    judged = judge(watched(*calibrated()), samples=50)
    assert judged.by_width.value < 0.02 and judged.by_count.value < 0.02
    # Of uniform chances the Brier score is 1/6 and the area under the curve 5/6.
    assert judged.brier.value == pytest.approx(1 / 6, abs=0.01)
    assert judged.tells_bad.value == pytest.approx(5 / 6, abs=0.01)
    assert judged.skill.value == pytest.approx(1 / 3, abs=0.03)
    assert judged.constant_brier == pytest.approx(1 / 4, abs=0.01)
    assert judged.tells_bad.low < judged.tells_bad.value < judged.tells_bad.high


def test_who_always_says_the_same_is_overconfident_and_tells_nothing() -> None:
    _, good = calibrated()
    judged = judge(watched(np.full(len(good), 0.9), good), samples=20)
    assert judged.by_width.value == pytest.approx(0.9 - good.mean())
    assert judged.by_count.value == pytest.approx(0.9 - good.mean())
    assert judged.skill.value < -0.5
    assert judged.tells_bad.value == judged.tells_lost.value == 0.5
    assert math.isnan(judged.at_failures)


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    random = np.random.default_rng(1)
    score, event = random.integers(0, 6, 60).astype(float), random.integers(0, 2, 60).astype(float)
    pairs = [(a > b) + 0.5 * (a == b) for a in score[event == 1] for b in score[event == 0]]
    assert roc_area(score, event) == pytest.approx(np.mean(pairs))
    assert math.isnan(roc_area(score, np.ones(60)))


def test_equal_counts_see_what_equal_widths_hide() -> None:
    """All is said between 0.8 and 0.9: one bin of equal width, in which errors of both signs cancel."""
    said: Floats = np.linspace(0.8, 0.899, 1000, dtype=np.float64)
    good = (np.arange(1000) < 850).astype(float)
    assert calibration_error(said, good) < 0.01
    assert calibration_error_by_count(said, good) > 0.2


def test_skill_needs_both_kinds() -> None:
    assert math.isnan(brier_skill(np.array([0.9, 0.8]), np.ones(2)))
    assert brier_skill(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 1


def test_sequences_are_drawn_again_not_frames() -> None:
    """One sequence of thousands of frames is all bad, the other all good: nothing is known for certain."""
    said, good = np.full(8000, 0.5), np.repeat([0.0, 1.0], 4000)
    judged = judge(watched(said, good, sequences=2), samples=100)
    assert judged.by_width.value == 0 and judged.by_width.high == 0.5


def test_the_points_of_the_diagram() -> None:
    said, good = np.array([0.05, 0.07, 0.95, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    low, high = reliability_bins([(said[::2], good[::2]), (said[1::2], good[1::2])], samples=20)
    assert (low.frames, low.share.value) == (2, 0.5) and low.said == pytest.approx(0.06)
    assert (high.frames, high.share.value) == (2, 1) and high.said == pytest.approx(0.975)
    assert (low.share.low, low.share.high) == (0, 1)


def test_a_failure_soon_is_one_among_the_next_frames() -> None:
    length, failures = 100, (0, 33, 40, 85)
    for index, found in enumerate(lost_soon(length, failures)):
        if index + SOON >= length:
            assert math.isnan(found)
        else:
            assert found == any(index < failure <= index + SOON for failure in failures)


# Files


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sequences of an object that stays where it is."""
    sequence = render_sequence(moving_boxes(LENGTH, TRUTH, (0, 0)), (64, 60))
    for name in ("one", "two"):
        write_vot_folder(tmp_path / "data" / name, sequence)
    return tmp_path / "data"


def trajectory(confidences: list[float] | None) -> Trajectory:
    """Started, good for a while, bad for ten frames, failed, started again, good to the end."""
    regions: list[Region] = [Code.STARTED, *[GOOD] * 19, *[BAD] * 10, Code.FAILED, *[Code.SKIPPED] * 4, Code.STARTED]
    regions += [GOOD] * (LENGTH - len(regions))
    return Trajectory(tuple(regions), values={} if confidences is None else {"confidence": tuple(confidences)})


def write_tracker(folder: Path, confidences: list[float] | None, names: tuple[str, ...] = ("one", "two")) -> None:
    for name in names:
        write_trajectory(folder / name / f"{name}_001.txt", trajectory(confidences))


def honest_confidences() -> list[float]:
    said = [0.9] * LENGTH
    said[20:FAILS_AT] = [0.2] * 10
    said[FAILS_AT] = 0.1
    return said


def test_frames_of_starts_failures_and_skips_do_not_count(tmp_path: Path, data: Path) -> None:
    write_tracker(tmp_path / "out" / "honest", honest_confidences())
    (found,), sequences = read_watched(tmp_path / "out", data, "vot2016", None)
    judged = judge(found, samples=20)
    assert (sequences, judged.frames, judged.silent) == (2, 2 * (LENGTH - 7), 0)
    assert judged.good_rate == pytest.approx(43 / 53)
    assert judged.tells_bad.value == 1
    assert judged.at_failures == 0.1
    # Known up to frame 39: 29 frames from 1 to 29, of which those from 10 on come before the failure, and 36 to 39.
    known = found.sequences[0].known
    assert len(known) == 33 and known.lost_soon.sum() == 20
    assert judged.by_width.value == pytest.approx((43 * 0.1 + 10 * 0.2) / 53)


def test_frames_without_a_score_are_left_out_and_told(tmp_path: Path, data: Path) -> None:
    said = honest_confidences()
    said[5:8] = [math.nan, math.inf, math.nan]
    write_tracker(tmp_path / "out" / "stutters", said)
    found, _ = read_watched(tmp_path / "out", data, "vot2016", None)
    judged = [judge(one, samples=20) for one in found]
    assert (judged[0].frames, judged[0].silent) == (2 * 50, 6)
    assert notes(found, judged) == ["stutters told no score in 6 frames; they are left out."]


def test_a_tracker_without_scores_is_named_and_not_drawn(tmp_path: Path, data: Path) -> None:
    write_tracker(tmp_path / "out" / "honest", honest_confidences())
    write_tracker(tmp_path / "out" / "mute", None)
    found, _ = read_watched(tmp_path / "out", data, "vot2016", ["mute", "honest"])
    judged = [judge(one, samples=20) for one in found]
    rows = [line.split(" | ") for line in table(judged).splitlines()]
    assert rows[2] == ["| frames", "0", "106 |"]
    assert all(row[1] == "–" for row in rows[3:])
    assert notes(found, judged) == ["mute tells no score: 106 frames cannot be judged."]
    assert draw(found, judged).shape == draw(found[1:], judged[1:]).shape
    with pytest.raises(FormatError, match="nothing to draw"):
        draw(found[:1], judged[:1])


def test_a_score_that_is_no_probability_is_only_ranked(tmp_path: Path, data: Path) -> None:
    write_tracker(tmp_path / "out" / "ratio", [40 * value for value in honest_confidences()])
    found, _ = read_watched(tmp_path / "out", data, "vot2016", None)
    judged = [judge(one, samples=20) for one in found]
    assert judged[0].tells_bad.value == 1 and math.isnan(judged[0].by_width.value)
    assert notes(found, judged) == ["ratio: its score (8 to 36) is no probability; only its ranking is judged."]


def test_trackers_are_compared_on_what_both_were_run_on(tmp_path: Path, data: Path) -> None:
    write_tracker(tmp_path / "out" / "all", honest_confidences())
    write_tracker(tmp_path / "out" / "half", honest_confidences(), ("two",))
    found, sequences = read_watched(tmp_path / "out", data, "vot2016", None)
    assert sequences == 1 and len(found[0].frames) == len(found[1].frames) == 53
    write_tracker(tmp_path / "out" / "other", honest_confidences(), ("one",))
    with pytest.raises(FormatError, match="run by all of all, half, other"):
        read_watched(tmp_path / "out", data, "vot2016", None)


def test_the_picture_shows_the_points(tmp_path: Path) -> None:
    """A calibrated tracker's points lie on the diagonal of its diagram, an overconfident one's below it."""
    said, good = calibrated()
    both = [watched(said, good), watched(np.sqrt(said), good)]
    picture = draw(both, [judge(one, samples=5) for one in both])
    green = (picture == (115, 158, 0)).all(axis=2)
    middle = picture.shape[1] // 2
    rows = [np.mean(np.nonzero(green[:, :middle])[0]), np.mean(np.nonzero(green[:, middle:])[0])]
    assert rows[1] > rows[0] + 20


# The command


def test_the_command(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tracker(tmp_path / "out" / "honest", honest_confidences())
    write_tracker(tmp_path / "out" / "sure", [0.9] * LENGTH)
    picture, options = tmp_path / "made" / "reliability.png", ["--data", str(data), "--samples=20"]
    main(["--results", str(tmp_path / "out"), *options, "--trackers", "sure", "honest", "--out", str(picture)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 sequences"
    assert lines[2] == "|  | sure | honest |"
    assert "| said in the frame of a failure, median | 0.900 | 0.100 |" in lines
    assert "| area under the ROC, overlap at most 0.5 | 0.500 (0.500 to 0.500) | 1.000 (1.000 to 1.000) |" in lines
    assert cv2.imread(str(picture)) is not None
    with pytest.raises(SystemExit) as stopped:
        main(["--results", str(tmp_path / "out"), *options, "--trackers", "absent"])
    assert stopped.value.code == 2
    assert "no results of 'absent'" in capsys.readouterr().err


def test_a_column_that_does_not_fit_is_refused(tmp_path: Path, data: Path) -> None:
    write_tracker(tmp_path / "out" / "short", [0.5] * 7)
    with pytest.raises(FormatError, match="one: 7 confidences for 60 frames"):
        read_watched(tmp_path / "out", data, "vot2016", None)


def evidence(path: Path) -> Path:
    """One term, fitted well on all sequences but the first, of which the opposite is true."""
    random = np.random.default_rng(2)
    terms = np.column_stack([np.ones(3000), random.uniform(-4, 4, 3000)])
    sequence = np.arange(3000) % 6
    chance = logistic(np.where(sequence == 0, -1, 1) * terms[:, 1])
    good = (random.uniform(size=3000) < chance).astype(float)
    content = {"terms": terms, "said": chance, "good": good, "sequence": sequence, "away": np.arange(3000) < 600}
    path.write_text(json.dumps({name: values.tolist() for name, values in content.items()}), encoding="utf-8")
    return path


def test_weights_are_also_judged_on_what_they_have_not_seen(tmp_path: Path) -> None:
    as_they_are, honest = evidence_watched(read_evidence(evidence(tmp_path / "samples.json")))
    assert len(as_they_are.frames) == len(honest.frames) == 2400, "without the frames of another scene"
    assert judge(as_they_are, samples=5).by_width.value < 0.04 < judge(honest, samples=5).by_width.value
    assert roc_area(-honest.sequences[0].said, 1 - honest.sequences[0].good) < 0.2


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"terms": 3}', None])
def test_a_file_that_is_no_evidence_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "samples.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match="not written by"):
        read_evidence(path)
