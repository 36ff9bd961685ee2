"""The trackers that people know, behind the interface of an experiment: OpenCV's and dlib's.

Peers answer in their own way when they lost the object, and an experiment needs a region in every frame. What an
adapter makes of that is part of a result, so it is written beside it:

========================  =================================================================================
OpenCV                    says "not found", with a meaningless box: the last good box is kept, and the tracker
                          goes on being asked
NanoTrack (OpenCV)        always says "found": its box counts
dlib                      has no such answer: its box counts
========================  =================================================================================
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.experiment import EvaluatedTracker, Frame, size_of
from tracking_parts.geometry import Box, Polygon

MODELS_VARIABLE = "STP_PEER_MODELS"
KEEPS_THE_LAST = "the last good box is kept, and the tracker goes on being asked"
NEVER_LOST = "it never says so: its box counts"


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody else's tracker, ready to be started, and what is to be written beside its results."""

    start: Callable[[], EvaluatedTracker]
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenCVNetwork:
    """A tracker of OpenCV that needs files: each parameter's name and the file that it takes."""

    create: str
    params: str
    files: dict[str, str]


OPENCV_TRACKERS = {
    "csrt": "TrackerCSRT_create",
    "kcf": "TrackerKCF_create",
    "mil": "TrackerMIL_create",
    "mosse": "legacy.TrackerMOSSE_create",
    "medianflow": "legacy.TrackerMedianFlow_create",
}
OPENCV_NETWORKS = {
    "nano": OpenCVNetwork(
        "TrackerNano_create",
        "TrackerNano_Params",
        {"backbone": "nanotrack_backbone_sim.onnx", "neckhead": "nanotrack_head_sim.onnx"},
    ),
    "vit": OpenCVNetwork("TrackerVit_create", "TrackerVit_Params", {"net": "vitTracker.onnx"}),
}


def find_peer(kind: str, name: str, models: str | None = None) -> Peer:
    """The peer of that name; :class:`ConfigError` where it is unknown, not installed or lacks its files."""
    if kind == "dlib":
        return _find_dlib(name)
    if name in OPENCV_NETWORKS:
        return _find_opencv_network(name, models)
    if models is not None:
        raise ConfigError(f"opencv:{name} takes no models; {', '.join(OPENCV_NETWORKS)} do")
    if name not in OPENCV_TRACKERS:
        known = (*OPENCV_TRACKERS, *OPENCV_NETWORKS)
        raise ConfigError(f"unknown OpenCV tracker {name!r}: choose one of {', '.join(known)}")
    make = _attribute_of_opencv(OPENCV_TRACKERS[name], name)
    return Peer(lambda: OpenCVTracker(make()), {"when_lost": KEEPS_THE_LAST})


def _find_opencv_network(name: str, models: str | None) -> Peer:
    network = OPENCV_NETWORKS[name]
    create = _attribute_of_opencv(network.create, name)
    make_params = _attribute_of_opencv(network.params, name)
    folder = models or os.environ.get(MODELS_VARIABLE)
    if not folder:
        raise ConfigError(
            f"opencv:{name} needs {' and '.join(network.files.values())}: "
            f"write opencv:{name}?models=FOLDER or set {MODELS_VARIABLE}"
        )
    paths = {key: Path(folder) / file for key, file in network.files.items()}
    for path in paths.values():
        if not path.is_file():
            raise ConfigError(f"opencv:{name} needs {path}, which is not there")

    def start() -> EvaluatedTracker:
        params = make_params()
        for key, path in paths.items():
            setattr(params, key, str(path))
        return OpenCVTracker(create(params))

    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths.values()}
    return Peer(start, {"sha256": hashes, "when_lost": NEVER_LOST if name == "nano" else KEEPS_THE_LAST})


def _attribute_of_opencv(dotted: str, name: str) -> Callable[..., Any]:
    found: Any = cv2
    for step in dotted.split("."):
        found = getattr(found, step, None)
    if found is None:
        raise ConfigError(f"this OpenCV has no {name}: install opencv-contrib-python-headless (extra 'bench')")
    attribute: Callable[..., Any] = found
    return attribute


def _find_dlib(name: str) -> Peer:
    if name != "correlation":
        raise ConfigError(f"unknown dlib tracker {name!r}: there is dlib:correlation")
    try:
        dlib = importlib.import_module("dlib")
    except ImportError:
        raise ConfigError("dlib:correlation needs dlib: pip install dlib (or dlib-bin)") from None
    return Peer(lambda: DlibTracker(dlib), {"version": str(dlib.__version__), "when_lost": NEVER_LOST})


class OpenCVTracker:
    """A tracker of OpenCV, which takes whole pixels inside the image.

    When it reports "lost", its box is meaningless (often all zeros): the last good box is kept, and the tracker goes on
    being asked. So a peer that finds the object again before the boxes part is not counted as failed.
    """

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._last = Box(0, 0, 0, 0)

    def init(self, frame: Frame, box: Box) -> None:
        whole = whole_pixels_inside(box, size_of(frame))
        self._last = box
        self._tracker.init(frame, whole)

    def update(self, frame: Frame) -> Polygon:
        found, numbers = self._tracker.update(frame)
        if found:
            self._last = Box(*map(float, numbers))
        return self._last.polygon

    @property
    def raw(self) -> Any:
        """OpenCV's own object, for those who want what it does with input that is not cut to the image first."""
        return self._tracker

    def values(self) -> dict[str, float]:
        """The networks give a score, the others none."""
        score = getattr(self._tracker, "getTrackingScore", None)
        return {"confidence": float(score())} if score else {}


def whole_pixels_inside(box: Box, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box rounded to whole pixels and cut to the image, at least one pixel wide and high."""
    width, height = size_wh
    left, top = min(max(round(box.x), 0), width - 1), min(max(round(box.y), 0), height - 1)
    right = min(max(round(box.x + box.w), left + 1), width)
    bottom = min(max(round(box.y + box.h), top + 1), height)
    return left, top, right - left, bottom - top


class DlibTracker:
    """dlib's correlation tracker, on RGB. It gives a peak-to-sidelobe ratio but never says "lost": its box counts."""

    def __init__(self, dlib: Any) -> None:
        self._dlib = dlib
        self._tracker = dlib.correlation_tracker()
        self._ratio = float("nan")

    def init(self, frame: Frame, box: Box) -> None:
        # Its rectangles hold both end points: a box of width w ends at x + w - 1.
        corners = (box.x, box.y, box.x + box.w - 1, box.y + box.h - 1)
        self._tracker.start_track(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB), self._dlib.drectangle(*corners))

    def update(self, frame: Frame) -> Polygon:
        self._ratio = float(self._tracker.update(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)))
        found = self._tracker.get_position()
        return Box(found.left(), found.top(), found.width(), found.height()).polygon

    def values(self) -> dict[str, float]:
        return {"confidence": self._ratio}
