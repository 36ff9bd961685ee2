"""A run in rerun's viewer, live or as an ``.rrd`` file: frames, boxes, vote maps, parts by role and time series.

Everything lies on the timeline ``frame``, the frame's number in the source, and on ``time`` where the rate is known:

========================================  ==============================================================================
entity                                    holds
========================================  ==============================================================================
``image``                                 the frame
``image/NAME/box``, ``polygon``           the answer, coloured by state; the polygon where it is not upright
``image/NAME/window``                     where the tracker looked
``image/NAME/parts/ROLE``                 where the parts of one role found themselves; large if the vote agreed
``maps/NAME/filter``, ``convnet``         F_t and C_t, with their peaks
``maps/NAME/combined``                    P_t, with the decision
``series/NAME/…``                         confidence, part agreement, distance of the pathways, parts per role
``log/NAME``                              changes of state, and what was learned
========================================  ==============================================================================
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import ConfigError, OutputError
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box, Point
from tracking_parts.io.results import is_upright
from tracking_parts.result import Result, State
from tracking_parts.trace import FloatMap, FrameTrace
from tracking_parts.viewers.palette import (
    CONVNET_PEAK,
    DECISION_PEAK,
    FILTER_PEAK,
    MUTED,
    ROLE_COLOURS,
    ROLE_NAMES,
    STATE_COLOURS,
    Colour,
)
from tracking_parts.voting import peak

MISSING = "rerun is not installed: pip install 'tracking-parts[rerun]'"
NO_DISPLAY = "there is no display for rerun's viewer: save the recording (--rerun-save) and open it where there is one"
APPLICATION = "tracking-parts"
_JPEG_QUALITY = 90
_SERIES: dict[str, Colour] = {
    "confidence": STATE_COLOURS[State.TRACKING],
    "part_agreement": MUTED,
    "pathway_distance": STATE_COLOURS[State.LOST],
    **{f"parts/{name}": colour for name, colour in zip(ROLE_NAMES, ROLE_COLOURS, strict=True)},
}


def import_rerun() -> Any:
    try:
        return importlib.import_module("rerun")
    except ModuleNotFoundError as error:
        raise ConfigError(MISSING) from error


def check_rerun(*, viewer: bool) -> None:
    """Complain before any work is done: of a missing package, or a viewer that could not open its window."""
    import_rerun()
    if viewer and not has_display():
        raise ConfigError(NO_DISPLAY)


def has_display() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


class RerunRecording:
    """Logs frames, and what happened to each target in them, to a file, to a viewer, or to both.

    ``viewer`` is the address of a viewer that runs already (``rerun+http://127.0.0.1:9876/proxy``); ``True`` opens one
    on this machine, or takes the one that is open.
    """

    def __init__(
        self,
        name: str,
        targets: tuple[str, ...] = ("object",),
        *,
        path: Path | None = None,
        viewer: bool | str = False,
        fps: float | None = None,
    ) -> None:
        if path is None and not viewer:
            raise ConfigError("a rerun recording needs a file, a viewer or both")
        self._rr = import_rerun()
        self._fps = fps
        self._states: dict[str, State] = {}
        self._stream = self._rr.RecordingStream(APPLICATION)
        self._connect(path, viewer, targets)
        self._stream.send_recording_name(name)
        for target in targets:
            self._describe_series(target, f"{target}: " if len(targets) > 1 else "")

    def write_frame(self, index: int, frame: Frame) -> None:
        """Show a BGR frame; what is written afterwards belongs to it."""
        self._stream.set_time("frame", sequence=index)
        if self._fps:
            self._stream.set_time("time", duration=index / self._fps)
        encoded, picture = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        if not encoded:
            raise OutputError(f"cannot encode frame {index} for rerun")
        self._log(("image",), self._rr.EncodedImage(contents=picture.tobytes(), media_type="image/jpeg"))

    def write_target(self, target: str, trace: FrameTrace) -> None:
        """Show what happened to one target in the frame written last."""
        self._write_answer(target, trace)
        self._write_parts(target, trace)
        self._write_maps(target, trace)
        self._write_series(target, trace)
        self._write_words(target, trace)

    def close(self) -> None:
        """Wait until everything has reached the file or the viewer."""
        self._stream.flush()
        self._stream.disconnect()

    def __enter__(self) -> RerunRecording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ the start
    def _connect(self, path: Path | None, viewer: bool | str, targets: tuple[str, ...]) -> None:
        rr = self._rr
        sinks = []
        try:
            if path is not None:
                path.open("wb").close()  # rerun's own complaint would come from another thread
                sinks.append(rr.FileSink(str(path)))
            if viewer is True:
                self._stream.spawn(connect=False)
            if viewer:
                sinks.append(rr.GrpcSink() if viewer is True else rr.GrpcSink(viewer))
            self._stream.set_sinks(*sinks, default_blueprint=layout(rr, targets))
        except (OSError, RuntimeError) as error:
            where = path if path is not None and isinstance(error, OSError) else "the rerun recording"
            raise OutputError(f"cannot write {where}: {getattr(error, 'strerror', None) or error}") from error

    def _describe_series(self, target: str, whose: str) -> None:
        for name, colour in _SERIES.items():
            words = whose + name.rpartition("/")[2].replace("_", " ")
            style = self._rr.SeriesLines(colors=[_rgb(colour)], names=[words])
            self._log(("series", target, *name.split("/")), style, static=True)

    # ------------------------------------------------------------------ a frame
    def _write_answer(self, target: str, trace: FrameTrace) -> None:
        rr, result = self._rr, trace.result
        colour = _rgb(STATE_COLOURS[result.state])
        words = f"{target} {result.state} {result.confidence:.2f}"
        self._log(("image", target, "box"), self._boxes([result.box], colour, words))
        self._log(("image", target, "polygon"), rr.LineStrips2D(_slanted(result), colors=[colour]))
        window = trace.window
        looked = Box(window.left, window.top, window.width, window.height)
        self._log(("image", target, "window"), self._boxes([looked], _rgb(MUTED)))

    def _boxes(self, boxes: list[Box], colour: list[int], words: str = "") -> Any:
        format_xywh = self._rr.Box2DFormat.XYWH
        array = [box.xywh for box in boxes]
        labels = [words] if words else None
        return self._rr.Boxes2D(array=array, array_format=format_xywh, colors=[colour], labels=labels)

    def _write_parts(self, target: str, trace: FrameTrace) -> None:
        parts, places = trace.parts, places_in_image(trace)
        for code, (name, colour) in enumerate(zip(ROLE_NAMES, ROLE_COLOURS, strict=True)):
            chosen = (parts.roles == code) & np.isfinite(places).all(axis=1)
            agreed = parts.agreed[chosen]
            # Negative radii are in the screen's points: parts stay visible however far one zooms out.
            radii = np.where(agreed, -3.0, -1.5).astype(np.float32)
            points = self._rr.Points2D(places[chosen], radii=radii, colors=[_rgb(colour)])
            facts = {"id": parts.ids[chosen], "strength": parts.strengths[chosen], "agreed": agreed}
            more = [self._rr.AnyValues(**facts)] if chosen.any() else []  # rerun warns of values that are none
            self._log(("image", target, "parts", name), points, *more)

    def _write_maps(self, target: str, trace: FrameTrace) -> None:
        maps: tuple[tuple[str, FloatMap, Point, Colour], ...] = (
            ("filter", trace.filter_votes, trace.filter_centre, FILTER_PEAK),
            ("convnet", trace.convnet_votes, trace.convnet_centre, CONVNET_PEAK),
            ("colour", trace.colour_votes, peak(trace.colour_votes), DECISION_PEAK),
            ("combined", trace.combined_votes, trace.centre, DECISION_PEAK),
        )
        for name, votes, (x, y), colour in maps:
            self._log(("maps", target, name), self._rr.DepthImage(np.ascontiguousarray(votes), colormap="viridis"))
            # A pathway that did not vote has no peak. Rerun counts from a pixel's edge, we from a cell's middle.
            top = [(x + 0.5, y + 0.5)] if votes.any() else np.zeros((0, 2))
            self._log(("maps", target, name, "peak"), self._rr.Points2D(top, radii=[-5.0], colors=[_rgb(colour)]))

    def _write_series(self, target: str, trace: FrameTrace) -> None:
        values = {
            "confidence": trace.result.confidence,
            "part_agreement": trace.part_agreement,
            "pathway_distance": trace.pathway_distance,
            **{f"parts/{name}": count for name, count in trace.role_counts().items()},
        }
        for name, value in values.items():
            if math.isfinite(value):
                self._log(("series", target, *name.split("/")), self._rr.Scalars([float(value)]))

    def _write_words(self, target: str, trace: FrameTrace) -> None:
        state = trace.result.state
        if self._states.get(target) is not state:
            level = {State.TRACKING: "INFO", State.UNCERTAIN: "WARN", State.LOST: "ERROR"}[state]
            self._log(("log", target), self._rr.TextLog(str(state), level=level))
            self._states[target] = state
        for event in trace.events:
            self._log(("log", target), self._rr.TextLog(event, level="DEBUG"))

    def _log(self, path: tuple[str, ...], *what: Any, static: bool = False) -> None:
        self._stream.log(list(path), *what, static=static)  # as a list: rerun escapes what a name may hold


def layout(rr: Any, targets: tuple[str, ...]) -> Any:
    """The viewer's panels: the frames large; beside them the first target's maps, all series and the log."""
    views = importlib.import_module("rerun.blueprint")
    first = rr.escape_entity_path_part(targets[0])
    titles = {"filter": "F_t filter parts", "convnet": "C_t ConvNetPart"}
    titles |= {"colour": "H_t colours", "combined": "P_t combined"}
    maps = [views.Spatial2DView(origin=f"/maps/{first}/{name}", name=title) for name, title in titles.items()]
    each = [f"/series/{rr.escape_entity_path_part(target)}" for target in targets]
    shares = [f"+ {path}/{name}" for path in each for name in ("confidence", "part_agreement")]
    series = [
        views.TimeSeriesView(origin="/series", contents=shares, name="confidence"),
        views.TimeSeriesView(origin="/series", contents=[f"+ {path}/pathway_distance" for path in each], name="cells"),
        views.TimeSeriesView(origin="/series", contents=[f"+ {path}/parts/**" for path in each], name="parts"),
    ]
    log = views.TextLogView(origin="/log", name="state, learning")
    image = views.Spatial2DView(origin="/image", name="frames")
    right = views.Vertical(views.Horizontal(*maps), *series, log)
    return views.Blueprint(views.Horizontal(image, right, column_shares=[3, 2]), collapse_panels=True)


def places_in_image(trace: FrameTrace) -> NDArray[np.float64]:
    """[parts, 2] where each part responded most: its vote for the centre, moved back by its offset."""
    places_in_map = trace.parts.votes.astype(float) + trace.parts.offsets
    return np.array([trace.window.image_from_map((x, y)) for x, y in places_in_map.tolist()]).reshape(-1, 2)


def _slanted(result: Result) -> list[list[Point]]:
    """The closed outline, or nothing where the box says the same."""
    return [] if is_upright(result) else [[*result.polygon, result.polygon[0]]]


def _rgb(colour: Colour) -> list[int]:
    blue, green, red = colour
    return [red, green, blue]
