"""The reset protocol, its trajectories and their text layout."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthetic import SyntheticSequence, moving_boxes, render_sequence, write_vot_folder
from tracking_parts.errors import FormatError, SourceError
from tracking_parts.evaluation import measures
from tracking_parts.evaluation.experiment import EvaluatedTracker, Frame, frame_overlap, start_box
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.reset import run_reset, score_trajectory
from tracking_parts.evaluation.trackers import IdentityTracker
from tracking_parts.evaluation.trajectory import (
    Code,
    Trajectory,
    format_region,
    parse_region,
    read_trajectory,
    write_trajectory,
)
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence, read_sequence

SLANTED: Polygon = ((10.0, 0.0), (20.0, 10.0), (10.0, 20.0), (0.0, 10.0))
FAR_AWAY = Box(900, 900, 10, 10).polygon


class Scripted:
    """Follows the truth except in the frames where it is told what to answer; remembers how it was started."""

    def __init__(self, answers: dict[int, Polygon]) -> None:
        self.answers = answers
        self.starts: list[tuple[int, Box]] = []

    def __call__(self, sequence: Sequence, start: int) -> EvaluatedTracker:
        outer = self

        class Run(IdentityTracker):
            def init(self, frame: Frame, box: Box) -> None:
                super().init(frame, box)
                outer.starts.append((start, box))

            def update(self, frame: Frame) -> Polygon:
                truth = super().update(frame)
                return outer.answers.get(self._index, truth)

        return Run(sequence, start)


@pytest.fixture
def twenty_frames(tmp_path: Path) -> Sequence:
    rendered = render_sequence(moving_boxes(20), seed=2)
    return read_sequence(write_vot_folder(tmp_path / "twenty", rendered))


def codes(trajectory: Trajectory) -> str:
    """The trajectory in one string: S started, F failed, . skipped, - tracked."""
    letters = {Code.STARTED: "S", Code.FAILED: "F", Code.SKIPPED: "."}
    return "".join(letters[region] if isinstance(region, Code) else "-" for region in trajectory.regions)


def test_a_perfect_tracker_never_fails(twenty_frames: Sequence) -> None:
    trajectory = run_reset(IdentityTracker, twenty_frames, VOT2016)
    assert codes(trajectory) == "S-------------------"
    score = score_trajectory(trajectory, twenty_frames, (128, 96))
    assert measures.accuracy([score]) == pytest.approx(1)
    assert measures.failure_count([score]) == 0
    assert len(trajectory.seconds) == 20 and trajectory.frames_per_second > 0


def test_restart_five_frames_after_a_failure(twenty_frames: Sequence) -> None:
    tracker = Scripted({3: FAR_AWAY, 12: FAR_AWAY})
    trajectory = run_reset(tracker, twenty_frames, VOT2016)
    assert codes(trajectory) == "S--F....S---F....S--"
    assert trajectory.starts == (0, 8, 17) and trajectory.failures == (3, 12)
    assert [start for start, _ in tracker.starts] == [0, 8, 17]
    truth = twenty_frames.ground_truth[8]
    assert truth is not None
    assert tracker.starts[1][1].xywh == pytest.approx(Box.around(truth).xywh)
    assert [second > 0 for second in trajectory.seconds[3:9]] == [True, False, False, False, False, True]


def test_failure_too_late_for_a_restart(twenty_frames: Sequence) -> None:
    trajectory = run_reset(Scripted({17: FAR_AWAY}), twenty_frames, VOT2016)
    assert codes(trajectory) == "S----------------F.."


def test_skip_and_threshold_are_data(twenty_frames: Sequence) -> None:
    truth = twenty_frames.ground_truth[3]
    assert truth is not None
    box = Box.around(truth)
    half = Box(box.x + box.w / 2, box.y, box.w, box.h).polygon  # overlap 1/3
    assert codes(run_reset(Scripted({3: half}), twenty_frames, VOT2016)).count("F") == 0
    strict = replace(VOT2016, failure_overlap=0.5, skip=1)
    assert codes(run_reset(Scripted({3: half}), twenty_frames, strict)) == "S--FS---------------"


def test_an_answer_that_is_not_finite_is_a_failure(twenty_frames: Sequence) -> None:
    nothing = Box(math.nan, 0, 10, 10).polygon
    assert run_reset(Scripted({4: nothing}), twenty_frames, VOT2016).failures == (4,)


def test_frames_without_truth_are_neither_judged_nor_started_on(tmp_path: Path) -> None:
    rendered = render_sequence(moving_boxes(16), seed=3)
    lines = [",".join(map(str, box.xywh)) for box in rendered.boxes]
    for missing in (0, 5, 12, 13):
        lines[missing] = "nan,nan,nan,nan"
    sequence = read_sequence(write_vot_folder(tmp_path / "gaps", rendered, lines))
    trajectory = run_reset(Scripted({5: FAR_AWAY, 7: FAR_AWAY}), sequence, VOT2016)
    assert codes(trajectory) == ".S-----F......S-"
    score = score_trajectory(trajectory, sequence, (128, 96))
    assert np.isnan(score.overlaps[5]) and score.overlaps[6] == pytest.approx(1)


def test_an_object_outside_the_image_is_not_judged() -> None:
    outside = Box(-50, -50, 20, 20).polygon
    assert math.isnan(frame_overlap(SLANTED, outside, (100, 100)))
    assert frame_overlap(SLANTED, outside, None) == 0
    assert math.isnan(frame_overlap(SLANTED, None, None))


def test_sequence_without_truth_is_refused(moving_object: SyntheticSequence, tmp_path: Path) -> None:
    folder = write_vot_folder(tmp_path / "blind", moving_object)
    (folder / "groundtruth.txt").unlink()
    with pytest.raises(FormatError, match="no ground truth"):
        run_reset(IdentityTracker, read_sequence(folder), VOT2016)


def test_broken_frame_is_named(twenty_frames: Sequence) -> None:
    twenty_frames.frames[2].write_bytes(b"no picture")
    with pytest.raises(SourceError, match="frame 2"):
        run_reset(IdentityTracker, twenty_frames, VOT2016)


def test_start_boxes_of_a_slanted_object() -> None:
    assert start_box(SLANTED, "enclosing") == Box(0, 0, 20, 20)
    area = start_box(SLANTED, "area")
    assert area.centre == pytest.approx((10, 10))
    assert area.area == pytest.approx(200)
    upright = Box(3, 4, 10, 20)
    assert start_box(upright.polygon, "area").xywh == pytest.approx(upright.xywh)
    assert start_box(Box(3, 4, 0, 0).polygon, "area") == Box(3, 4, 0, 0)


def test_protocol_gives_the_start_box(tmp_path: Path, moving_object: SyntheticSequence) -> None:
    lines = ["30,20,50,40,30,60,10,40"] * len(moving_object)
    sequence = read_sequence(write_vot_folder(tmp_path / "slanted", moving_object, lines))
    enclosing, area = Scripted({}), Scripted({})
    run_reset(enclosing, sequence, replace(VOT2016, init_box="enclosing"))
    run_reset(area, sequence, VOT2016)
    assert enclosing.starts[0][1] == Box(10, 20, 40, 40)
    assert area.starts[0][1].w == pytest.approx(40 / math.sqrt(2))


def test_scoring_needs_the_same_length(twenty_frames: Sequence) -> None:
    with pytest.raises(FormatError, match=r"2 frames.*20"):
        score_trajectory(Trajectory((Code.STARTED, SLANTED)), twenty_frames)


coordinates = st.floats(-2000, 2000).map(lambda value: round(value, 4))


@given(st.lists(st.tuples(*[coordinates] * 8), min_size=1, max_size=5))
def test_regions_survive_the_text(rows: list[tuple[float, ...]]) -> None:
    for row in rows:
        polygon: Polygon = (row[0:2], row[2:4], row[4:6], row[6:8])  # type: ignore[assignment]
        read = parse_region(format_region(polygon))
        assert not isinstance(read, Code)
        assert np.array(read) == pytest.approx(np.array(polygon), abs=1e-4)


def test_upright_regions_are_written_as_rectangles() -> None:
    assert format_region(Box(1, 2, 3, 4).polygon) == "1.0000,2.0000,3.0000,4.0000"
    assert format_region(SLANTED).count(",") == 7
    assert [format_region(code) for code in Code] == ["0", "1", "2"]


def test_trajectory_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "tracker" / "bag" / "bag_001.txt"
    trajectory = Trajectory((Code.STARTED, SLANTED, Code.FAILED, Code.SKIPPED), (0.5, 0.25, 0.25, 0.0))
    write_trajectory(path, trajectory)
    assert read_trajectory(path) == trajectory
    assert trajectory.frames_per_second == pytest.approx(3)
    assert sorted(file.name for file in path.parent.iterdir()) == ["bag_001.txt", "bag_001_time.txt"]


def test_results_without_times(tmp_path: Path) -> None:
    path = tmp_path / "bag_001.txt"
    path.write_text("1\n1,2,3,4\n", encoding="utf-8")
    trajectory = read_trajectory(path)
    assert trajectory.regions == (Code.STARTED, Box(1, 2, 3, 4).polygon)
    assert math.isnan(trajectory.frames_per_second)


@pytest.mark.parametrize("line", ["7", "1,2,3", "a,b,c,d", "nan", "inf"])
def test_lines_that_are_no_region(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bag_001.txt"
    path.write_text(f"1\n{line}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"bag_001\.txt.*" + line):
        read_trajectory(path)


def test_missing_result_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot read"):
        read_trajectory(tmp_path / "none_001.txt")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bag_001.txt"
    write_trajectory(path, Trajectory((Code.STARTED,)))

    def no_space(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        write_trajectory(path, Trajectory((Code.STARTED, Code.FAILED)))
    assert read_trajectory(path).regions == (Code.STARTED,)
    assert [file.name for file in tmp_path.iterdir()] == ["bag_001.txt"]
