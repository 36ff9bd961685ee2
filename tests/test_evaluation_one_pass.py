"""The one-pass experiment."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthetic import moving_boxes, render_sequence, write_vot_folder
from tracking_parts.errors import FormatError
from tracking_parts.evaluation.one_pass import answered_regions, run_one_pass, score_one_pass
from tracking_parts.evaluation.protocol import OnePassProtocol, load_protocol
from tracking_parts.evaluation.trackers import IdentityTracker
from tracking_parts.evaluation.trajectory import Code, Trajectory, read_trajectory, write_trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence, read_sequence

SIZE = (128, 96)
FAR_AWAY = Box(-900, -900, 5, 5).polygon


def one_pass(name: str) -> OnePassProtocol:
    protocol = load_protocol(name)
    assert isinstance(protocol, OnePassProtocol)
    return protocol


OPE, NORESET = one_pass("ope"), one_pass("noreset")


class LosesInTheMiddle:
    """Perfect, but for frames 5 to 7; tells how often it was asked."""

    def __init__(self, sequence: Sequence, start: int) -> None:
        self._perfect = IdentityTracker(sequence, start)
        self._asked = 0

    def init(self, frame: Any, box: Box) -> None:
        self._perfect.init(frame, box)

    def update(self, frame: Any) -> Polygon:
        self._asked += 1
        right = self._perfect.update(frame)
        return FAR_AWAY if 5 <= self._asked <= 7 else right

    def values(self) -> dict[str, float]:
        return {"asked": float(self._asked)}


@pytest.fixture
def sequence(tmp_path: Path) -> Sequence:
    return read_sequence(write_vot_folder(tmp_path / "ten", render_sequence(moving_boxes(10), seed=2)))


def with_truth(sequence: Sequence, truths: list[Polygon | None]) -> Sequence:
    return replace(sequence, ground_truth=tuple(truths))


@pytest.mark.parametrize("protocol", [OPE, NORESET])
def test_nobody_is_helped(sequence: Sequence, protocol: OnePassProtocol) -> None:
    trajectory = run_one_pass(LosesInTheMiddle, sequence, protocol)
    assert trajectory.starts == (0,) and trajectory.failures == ()
    overlaps = score_one_pass(trajectory, sequence, protocol, SIZE).overlaps
    assert overlaps.tolist() == pytest.approx([1, 1, 1, 1, 1, 0, 0, 0, 1, 1])
    assert trajectory.values["asked"][1:] == tuple(range(1, 10)) and math.isnan(trajectory.values["asked"][0])


def test_the_start_is_the_first_frame_with_truth(sequence: Sequence) -> None:
    late = with_truth(sequence, [None, None, *sequence.ground_truth[2:6], None, *sequence.ground_truth[7:]])
    trajectory = run_one_pass(IdentityTracker, late, OPE)
    assert trajectory.regions[:3] == (Code.SKIPPED, Code.SKIPPED, Code.STARTED)
    overlaps = score_one_pass(trajectory, late, OPE, SIZE).overlaps
    assert np.isnan(overlaps).tolist() == [True, True, False, False, False, False, True, False, False, False]
    assert answered_regions(trajectory, late, OPE)[:2] == [None, None]
    with pytest.raises(FormatError, match="no ground truth"):
        run_one_pass(IdentityTracker, with_truth(sequence, [None] * 10), OPE)


def test_upright_boxes_or_polygons(sequence: Sequence) -> None:
    slanted: Polygon = ((40.0, 20.0), (60.0, 40.0), (40.0, 60.0), (20.0, 40.0))
    turned = with_truth(sequence, [slanted] * 10)
    trajectory = Trajectory((Code.STARTED, *[Box(20, 20, 40, 40).polygon] * 9))
    assert score_one_pass(trajectory, turned, OPE, SIZE).overlaps[1] == pytest.approx(1)
    assert score_one_pass(trajectory, turned, NORESET, SIZE).overlaps[1] == pytest.approx(0.5)


def test_clipped_to_the_image_or_not(sequence: Sequence) -> None:
    leaving = with_truth(sequence, [Box(118, 40, 20, 10).polygon] * 10)
    trajectory = Trajectory((Code.STARTED, *[Box(118, 40, 10, 10).polygon] * 9))
    assert score_one_pass(trajectory, leaving, OPE, SIZE).overlaps[1] == pytest.approx(0.5)
    assert score_one_pass(trajectory, leaving, NORESET, SIZE).overlaps[1] == pytest.approx(1)


def test_files_that_begin_with_the_given_box(sequence: Sequence) -> None:
    boxes = tuple(truth for truth in sequence.ground_truth if truth is not None)
    assert score_one_pass(Trajectory(boxes), sequence, OPE, SIZE).overlaps.tolist() == pytest.approx([1] * 10)


def test_what_is_not_finite_overlaps_nothing(sequence: Sequence) -> None:
    nothing = Box(math.nan, 0, 5, 5).polygon
    trajectory = Trajectory((Code.STARTED, *[nothing] * 9))
    assert score_one_pass(trajectory, sequence, OPE, SIZE).overlaps[1:].tolist() == [0] * 9


def test_lengths_must_match(sequence: Sequence) -> None:
    with pytest.raises(FormatError, match="3 frames, the ground truth 10"):
        score_one_pass(Trajectory((Code.STARTED,) * 3), sequence, OPE, SIZE)


def test_values_are_kept_beside_the_result(sequence: Sequence, tmp_path: Path) -> None:
    path = tmp_path / "out" / "ten_001.txt"
    trajectory = run_one_pass(LosesInTheMiddle, sequence, OPE)
    write_trajectory(path, trajectory)
    assert (tmp_path / "out" / "ten_001_asked.value").read_text(encoding="utf-8").splitlines()[:2] == [
        "nan",
        "1.000000",
    ]
    assert read_trajectory(path).values["asked"][1:] == trajectory.values["asked"][1:]
    # VOT's toolkit leaves the line of a missing value empty.
    (tmp_path / "out" / "ten_001_asked.value").write_text("\n0.5\n", encoding="utf-8")
    first, second = read_trajectory(path).values["asked"]
    assert math.isnan(first) and second == 0.5
