"""Trackers by name, all behind one small interface: ours in every version, and the peers to compare with.

=============================  =====================================================================================
``stp:PROFILE``                our tracker
``stp:PROFILE?KEY=VALUE&…``    … with settings changed; ``region=box`` judges its upright box instead of its polygon,
                               ``engine=torch`` or ``ncnn`` says what computes the frozen layers, ``start_noise=0.03``
                               starts on boxes that are off by up to that share, drawn anew for every seed
``opencv:NAME``                OpenCV's ``csrt``, ``kcf``, ``mil``, ``mosse`` or ``medianflow``
``opencv:nano``                NanoTrack, and ``opencv:vit``: their ONNX files are in the folder that
                               ``STP_PEER_MODELS`` names, or ``opencv:nano?models=FOLDER``
``dlib:correlation``           dlib's correlation tracker
``identity``                   answers with the ground truth: tests a protocol, not a tracker
``package.module:Class``       any class with ``init(frame, (x, y, w, h))`` and ``update(frame)``
=============================  =====================================================================================
"""

from __future__ import annotations

import importlib
import math
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from tracking_parts.errors import ConfigError, quoted
from tracking_parts.evaluation.experiment import EvaluatedTracker, Frame, TrackerFactory
from tracking_parts.evaluation.peers import find_peer
from tracking_parts.evaluation.trajectory import polygon_from_numbers
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.sequences import Sequence
from tracking_parts.result import Result
from tracking_parts.trace import FrameTrace


@dataclass(frozen=True, slots=True)
class TrackerSpec:
    """A tracker's name taken apart: ``kind:name?options``."""

    text: str
    kind: str
    name: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> TrackerSpec:
        """
        >>> TrackerSpec.parse("stp:default?alpha=1").options
        {'alpha': '1'}
        """
        head, _, query = text.partition("?")
        kind, _, name = head.partition(":")
        try:
            options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
        except ValueError:
            raise ConfigError(f"tracker {quoted(text)}: options are written ?key=value&key=value") from None
        if not kind or (kind != "identity" and not name):
            raise ConfigError(
                f"tracker {quoted(text)}: write stp:PROFILE, opencv:NAME, identity or package.module:Class"
            )
        if options and kind != "stp" and not (kind == "opencv" and options.keys() == {"models"}):
            raise ConfigError(
                f"tracker {quoted(text)}: only stp takes options, and OpenCV's networks take models=FOLDER"
            )
        return cls(text, kind, name, options)

    @property
    def folder_name(self) -> str:
        """The name as a folder that every file system takes."""
        return re.sub(r"[^A-Za-z0-9_.=+-]+", "-", self.identity).strip("-.")

    @property
    def identity(self) -> str:
        """The name for tables: where a peer's files lie does not change who it is."""
        return f"{self.kind}:{self.name}" if "models" in self.options else self.text


@dataclass(frozen=True, slots=True)
class TrackerChoice:
    """A tracker ready to be started, and the settings to be written beside its results.

    To be closed after its last run: ours keeps one tracker for all starts, which may train in the background.
    """

    spec: TrackerSpec
    factory: TrackerFactory
    settings: dict[str, Any]
    opened: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self.opened.close()


def choose_tracker(text: str, seed: int = 0) -> TrackerChoice:
    """Find the tracker of that name; :class:`ConfigError` where it is unknown or not installed."""
    spec = TrackerSpec.parse(text)
    if spec.kind == "stp":
        return _choose_stp(spec, seed)
    if spec.kind == "identity":
        return TrackerChoice(spec, IdentityTracker, {})
    if spec.kind in ("opencv", "dlib"):
        peer = find_peer(spec.kind, spec.name, spec.options.get("models"))
        return TrackerChoice(spec, lambda sequence, start: peer.start(), peer.settings)
    make = _find_class(spec)
    return TrackerChoice(spec, lambda sequence, start: ClassTracker(make()), {})


def _choose_stp(spec: TrackerSpec, seed: int) -> TrackerChoice:
    # Imported here: scoring results, or running peers, needs neither torch nor weights.
    from tracking_parts import Tracker, TrackerConfig
    from tracking_parts.trunk_engines import check_engine

    options = dict(spec.options)
    region = options.pop("region", "polygon")
    if region not in ("polygon", "box"):
        raise ConfigError(f"tracker {quoted(spec.text)}: region is polygon or box, not {region!r}")
    engine = options.pop("engine", "auto")
    check_engine(engine)
    noise = _share(spec, options.pop("start_noise", "0"))
    config = TrackerConfig.profile(spec.name).override_from_text([f"{key}={value}" for key, value in options.items()])
    opened = ExitStack()

    @cache  # its init starts afresh: the weights need to be read once only
    def tracker() -> Tracker:
        return opened.enter_context(Tracker(config, device="cpu", seed=seed, engine=engine))

    def start(sequence: Sequence, index: int) -> EvaluatedTracker:
        drawn = np.random.default_rng([seed, zlib.crc32(sequence.name.encode()), index]).uniform(-noise, noise, 4)
        return OurTracker(tracker(), upright=region == "box", off_by=drawn.tolist())

    settings = {"config": config.to_dict(), "region": region, "engine": engine, "start_noise": noise}
    return TrackerChoice(spec, start, settings, opened)


def _share(spec: TrackerSpec, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise ConfigError(f"tracker {quoted(spec.text)}: start_noise is a share from 0 to 1, not {quoted(text)}")
    return share


def _find_class(spec: TrackerSpec) -> Callable[[], Any]:
    try:
        found: Callable[[], Any] = getattr(importlib.import_module(spec.kind), spec.name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"tracker {quoted(spec.text)} cannot be imported: {error}") from error
    return found


class OurTracker:
    """Our tracker; while it calls itself lost, its last answer still counts, as for everybody else.

    Beside each answer it tells its confidence and how far apart its two pathways' centres are, in image pixels.
    """

    def __init__(self, tracker: Any, upright: bool = False, off_by: Iterable[float] = (0.0, 0.0, 0.0, 0.0)) -> None:
        self._tracker = tracker
        self._upright = upright
        self._off_by = tuple(off_by)  # shares of the box: right, down, wider, higher

    def init(self, frame: Frame, box: Box) -> None:
        (x, y), (right, down, wider, higher) = box.centre, self._off_by
        centre = (x + right * box.w, y + down * box.h)
        given = Box.from_centre(centre, box.w * (1 + wider), box.h * (1 + higher)) if any(self._off_by) else box
        self._tracker.init(frame, given)

    def update(self, frame: Frame) -> Polygon:
        result: Result = self._tracker.update(frame)
        return result.box.polygon if self._upright else result.polygon

    def values(self) -> dict[str, float]:
        trace: FrameTrace = self._tracker.trace
        distance = trace.pathway_distance / trace.window.cells_per_image_pixel
        return {"confidence": trace.result.confidence, "pathway_distance": distance}


class IdentityTracker:
    """Answers with the ground truth; where there is none, with the last one known."""

    def __init__(self, sequence: Sequence, start: int) -> None:
        self._sequence = sequence
        self._index = start
        self._last: Polygon = Box(0, 0, 0, 0).polygon

    def init(self, frame: Frame, box: Box) -> None:
        self._last = box.polygon

    def update(self, frame: Frame) -> Polygon:
        self._index += 1
        self._last = self._sequence.ground_truth[self._index] or self._last
        return self._last


class ClassTracker:
    """Anybody's class. Its ``update`` may answer with a :class:`Result`, a box, ``x, y, w, h``, eight coordinates, four
    corners, or OpenCV's ``(found, box)``; when it answers not found, or None, the last region is kept.
    """

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._last: Polygon = Box(0, 0, 0, 0).polygon

    def init(self, frame: Frame, box: Box) -> None:
        self._last = box.polygon
        self._tracker.init(frame, box.xywh)

    def update(self, frame: Frame) -> Polygon:
        self._last = polygon_from_answer(self._tracker.update(frame)) or self._last
        return self._last

    def values(self) -> dict[str, float]:
        """What the class tells beside its answer, if it has a method of this name."""
        tell = getattr(self._tracker, "values", None)
        return {str(name): float(value) for name, value in tell().items()} if tell else {}


def polygon_from_answer(answer: Any) -> Polygon | None:
    """Understand a tracker's answer; None where it says that it did not find the object."""
    if isinstance(answer, Result | Box):
        return answer.polygon
    if isinstance(answer, tuple | list) and len(answer) == 2 and np.isscalar(answer[0]):
        found, answer = answer
        answer = answer if found else None
    if answer is None:
        return None
    numbers = [float(value) for value in np.asarray(answer, dtype=float).ravel()]
    return polygon_from_numbers(numbers) if all(map(math.isfinite, numbers)) else None
