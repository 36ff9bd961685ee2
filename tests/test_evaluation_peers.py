"""Other people's trackers behind our interface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.peers import DlibTracker, OpenCVTracker, whole_pixels_inside
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.trackers import TrackerSpec, choose_tracker
from tracking_parts.geometry import Box
from tracking_parts.io.sequences import read_sequence

BOX = Box(1, 2, 3, 4)


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
    assert tracker.values() == {}


def test_a_network_of_opencv_tells_its_score() -> None:
    class Network:
        def getTrackingScore(self) -> float:
            return 0.25

    assert OpenCVTracker(Network()).values() == {"confidence": 0.25}


@pytest.mark.parametrize("name", ["csrt", "kcf", "mil", "mosse", "medianflow"])
def test_opencv_trackers_follow_an_easy_object(name: str, vot_data: Path) -> None:
    if name != "mil" and not hasattr(cv2, "legacy"):
        pytest.skip("this OpenCV is built without the contrib modules")
    choice = choose_tracker(f"opencv:{name}")
    assert run_reset(choice.factory, read_sequence(vot_data / "moving"), VOT2016).failures == ()
    assert "last good box" in choice.settings["when_lost"]


def test_opencv_without_contrib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cv2, "legacy", raising=False)
    with pytest.raises(ConfigError, match="opencv-contrib"):
        choose_tracker("opencv:mosse")


def test_dlib_follows_an_easy_object(vot_data: Path) -> None:
    pytest.importorskip("dlib", reason="dlib is not installed")
    trajectory = run_reset(choose_tracker("dlib:correlation").factory, read_sequence(vot_data / "moving"), VOT2016)
    assert trajectory.failures == ()
    assert min(trajectory.values["confidence"][1:]) > 0


def test_dlib_gets_inclusive_corners_and_rgb() -> None:
    class Rectangle:
        def __init__(self, left: float, top: float, right: float, bottom: float) -> None:
            self.corners = (left, top, right, bottom)

    class Dlib:
        drectangle = Rectangle
        seen: list[Any]

        class correlation_tracker:
            def start_track(self, image: Any, rectangle: Rectangle) -> None:
                Dlib.seen = [image[0, 0].tolist(), rectangle.corners]

    frame = np.zeros((8, 8, 3), np.uint8)
    frame[..., 0] = 255  # blue, in OpenCV's order
    DlibTracker(Dlib).init(frame, Box(1, 2, 3, 4))
    assert Dlib.seen == [[0, 0, 255], (1, 2, 3, 5)]


def test_dlib_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dlib", None)
    with pytest.raises(ConfigError, match="pip install dlib"):
        choose_tracker("dlib:correlation")
    with pytest.raises(ConfigError, match="there is dlib:correlation"):
        choose_tracker("dlib:other")


def test_networks_need_their_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STP_PEER_MODELS", raising=False)
    with pytest.raises(
        ConfigError, match=r"nanotrack_backbone_sim\.onnx and nanotrack_head_sim\.onnx: write opencv:nano"
    ):
        choose_tracker("opencv:nano")
    with pytest.raises(ConfigError, match=r"vitTracker\.onnx, which is not there"):
        choose_tracker(f"opencv:vit?models={tmp_path}")
    with pytest.raises(ConfigError, match="opencv:csrt takes no models; nano, vit do"):
        choose_tracker(f"opencv:csrt?models={tmp_path}")
    monkeypatch.setenv("STP_PEER_MODELS", str(tmp_path))
    (tmp_path / "vitTracker.onnx").write_bytes(b"x")
    settings = choose_tracker("opencv:vit").settings
    assert settings["sha256"]["vitTracker.onnx"].startswith("2d711642b726b044")


def test_where_the_files_lie_is_not_who_it_is() -> None:
    spec = TrackerSpec.parse("opencv:nano?models=/somewhere/else")
    assert (spec.identity, spec.folder_name) == ("opencv:nano", "opencv-nano")


@pytest.mark.parametrize("name", ["nano", "vit"])
def test_networks_follow_a_real_object(name: str, shared_data: Path) -> None:
    try:
        choice = choose_tracker(f"opencv:{name}")
    except ConfigError as error:
        pytest.skip(str(error))
    trajectory = run_reset(choice.factory, read_sequence(shared_data / "vot2016-20" / "crossing"), VOT2016)
    assert len(trajectory.failures) <= 1
    assert 0 < np.nanmean(trajectory.values["confidence"]) <= 1
