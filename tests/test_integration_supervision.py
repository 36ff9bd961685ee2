"""Results as supervision's detections."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from traces_for_viewers import some_picture, some_result
from tracking_parts import Result, State
from tracking_parts.errors import ConfigError
from tracking_parts.integrations.supervision import number_of, to_detections
from tracking_parts.viewers.drawing import Image

supervision: Any = pytest.importorskip("supervision")


def test_one_result() -> None:
    found = to_detections(some_result(30, 20, confidence=0.8), class_id=4)
    assert isinstance(found, supervision.Detections) and len(found) == 1
    assert found.xyxy.tolist() == [[30, 20, 54, 38]]
    assert found.confidence == pytest.approx([0.8])
    assert (found.class_id.tolist(), found.tracker_id.tolist()) == ([4], [0])
    assert found["state"].tolist() == ["tracking"]
    assert found["xyxyxyxy"].tolist() == [[[30, 20], [54, 20], [54, 38], [30, 38]]]


def test_a_lost_target_is_left_out_unless_wanted() -> None:
    lost = some_result(state=State.LOST)
    assert to_detections(lost).is_empty()
    assert to_detections(lost)["state"].tolist() == []
    assert to_detections(lost, keep_lost=True)["state"].tolist() == ["lost"]
    assert to_detections(some_result(state=State.UNCERTAIN))["state"].tolist() == ["uncertain"]


def test_several_keep_their_numbers_when_one_is_lost() -> None:
    results: dict[str | int, Result] = {"Ann": some_result(1), 5: some_result(2, state=State.LOST), 7: some_result(3)}
    found = to_detections(results)
    assert found["name"].tolist() == ["Ann", "7"]
    assert found.tracker_id.tolist() == [number_of("Ann"), 7]
    assert to_detections({}).is_empty()
    everything = supervision.Detections.merge([found, to_detections({5: results[5]}, keep_lost=True)])
    assert sorted(everything["name"].tolist()) == ["5", "7", "Ann"]


@pytest.mark.parametrize("annotator", ["BoxAnnotator", "OrientedBoxAnnotator", "LabelAnnotator"])
def test_supervision_draws_them(annotator: str) -> None:
    picture: Image = some_picture(96, 64)
    draw = getattr(supervision, annotator)()
    slanted = ((40.0, 10.0), (60.0, 20.0), (50.0, 40.0), (30.0, 30.0))
    seen = draw.annotate(picture.copy(), to_detections(replace(some_result(), polygon=slanted)))
    assert not np.array_equal(seen, picture)
    unseen = draw.annotate(picture.copy(), to_detections(some_result(state=State.LOST)))
    assert np.array_equal(unseen, picture)


def test_without_supervision_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(ConfigError, match=r"tracking-parts\[supervision\]"):
        to_detections(some_result())
