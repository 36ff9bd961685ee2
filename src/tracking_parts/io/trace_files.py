"""Traces on disk: ``000123.npz`` per frame, complete by itself, and ``trace.jsonl`` with one line of scalars per frame.

The archives hold plain arrays only and are read by :mod:`tracking_parts.io.npz_files`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import FormatError, one_line
from tracking_parts.geometry import Box, CropWindow, Point
from tracking_parts.io.files import atomic_path, remove_leftovers
from tracking_parts.io.growing_file import GrowingFile
from tracking_parts.io.npz_files import SIGNS_OF_DAMAGE, read_npz_arrays
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace, PartsTrace

LARGEST_TRACE = 64 << 20  # bytes of one frame's arrays
SUMMARY_NAME = "trace.jsonl"
_FRAME_NAME = re.compile(r"(\d{6,})\.npz")
_MAPS = ("filter_votes", "convnet_votes", "colour_votes", "combined_votes")
_POINTS = ("filter_centre", "convnet_centre", "centre")
_PART_FIELDS = tuple(field.name for field in fields(PartsTrace))
_PAIRS = ("sizes", "offsets", "votes")  # two numbers per part
_WINDOW_FIELDS = tuple(field.name for field in fields(CropWindow))

Arrays = dict[str, NDArray[Any]]


class TraceWriter:
    """Writes one trace per frame into a folder; what is there is whole at any moment.

    Traces that an earlier run left in the folder are removed, unless this one goes on with it:
    frames of two runs would be read as one.
    """

    def __init__(self, folder: Path, keep: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for frame in () if keep else traced_frames(folder):
            _path_of(folder, frame).unlink()
        remove_leftovers(folder)
        self.folder = folder
        self._summary = GrowingFile(folder / SUMMARY_NAME)

    def write(self, trace: FrameTrace) -> None:
        with atomic_path(_path_of(self.folder, trace.frame_index)) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **_arrays_from_trace(trace))  # type: ignore[arg-type]
        self._summary.append(json.dumps(_strict(trace.summary()), allow_nan=False) + "\n")

    def close(self) -> None:
        self._summary.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def traced_frames(folder: Path) -> list[int]:
    """The frame numbers that a trace folder holds, in order."""
    matches = (_FRAME_NAME.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted(int(match.group(1)) for match in matches if match)


def read_trace(folder: str | Path, frame: int) -> FrameTrace:
    """One frame's trace from a trace folder, or from the output folder of a run that holds one.

    Raises :class:`FormatError` if the frame was not traced or its file is damaged.
    """
    place = _trace_folder(Path(folder))
    path = _path_of(place, frame)
    if not path.is_file():
        known = traced_frames(place)
        has = f"it has {len(known)} frames from {known[0]} to {known[-1]}" if known else "it has no traced frame"
        raise FormatError(f"no trace of frame {frame} in {place}: {has}")
    try:
        with path.open("rb") as file:
            return _trace_from_arrays(read_npz_arrays(file, LARGEST_TRACE))
    except SIGNS_OF_DAMAGE as error:
        raise FormatError(f"the trace {path} is damaged: {one_line(error)}") from error


def _trace_folder(folder: Path) -> Path:
    """The folder itself, or its sub-folder ``trace``: people name the one they gave to ``--out``."""
    if not folder.is_dir():
        raise FormatError(f"no trace folder {folder}")
    inner = folder / "trace"
    return inner if inner.is_dir() and not traced_frames(folder) else folder


def _path_of(folder: Path, frame: int) -> Path:
    return folder / f"{frame:06d}.npz"


def _strict(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_strict(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _arrays_from_trace(trace: FrameTrace) -> Arrays:
    result, window = trace.result, trace.window
    return {
        "frame_index": np.array(trace.frame_index, np.int64),
        "box": np.array(result.box.xywh, np.float64),
        "tracked": np.array(trace.tracked.xywh, np.float64),
        "polygon": np.array(result.polygon, np.float64),
        "confidence": np.array(result.confidence, np.float64),
        "state": np.array(str(result.state)),
        "window": np.array([getattr(window, name) for name in _WINDOW_FIELDS], np.int64),
        "crop": trace.crop,
        **{name: getattr(trace, name) for name in _MAPS},
        **{name: np.array(getattr(trace, name), np.float64) for name in _POINTS},
        "pathway_distance": np.array(trace.pathway_distance, np.float64),
        "part_agreement": np.array(trace.part_agreement, np.float64),
        "highly_confident": np.array(trace.highly_confident, np.bool_),
        "events": np.array(trace.events, np.str_),
        "fault": np.array(trace.fault, np.str_),
        **{f"parts.{name}": getattr(trace.parts, name) for name in _PART_FIELDS},
    }


def _trace_from_arrays(arrays: Arrays) -> FrameTrace:
    parts = PartsTrace(**{name: arrays[f"parts.{name}"] for name in _PART_FIELDS})
    if len({len(getattr(parts, name)) for name in _PART_FIELDS}) != 1:
        raise ValueError("its part arrays differ in length")
    arrays = {"colour_votes": np.zeros_like(arrays["combined_votes"]), **arrays}  # older traces have none
    window = CropWindow(**{name: int(value) for name, value in zip(_WINDOW_FIELDS, arrays["window"], strict=True)})
    _check_kinds(arrays)
    if arrays["crop"].shape != (window.crop_height, window.crop_width, 3):
        size = f"{window.crop_width}x{window.crop_height}"
        raise ValueError(f"its crop has shape {arrays['crop'].shape} in a window of {size} pixels")
    return FrameTrace(
        frame_index=int(arrays["frame_index"]),
        result=_result_from_arrays(arrays),
        tracked=_box(arrays.get("tracked", arrays["box"])),  # older traces tell the same
        window=window,
        crop=arrays["crop"],
        filter_votes=arrays["filter_votes"],
        convnet_votes=arrays["convnet_votes"],
        colour_votes=arrays["colour_votes"],
        combined_votes=arrays["combined_votes"],
        filter_centre=_point(arrays["filter_centre"]),
        convnet_centre=_point(arrays["convnet_centre"]),
        centre=_point(arrays["centre"]),
        pathway_distance=float(arrays["pathway_distance"]),
        part_agreement=float(arrays["part_agreement"]),
        highly_confident=bool(arrays["highly_confident"]),
        parts=parts,
        events=tuple(str(event) for event in arrays["events"]),
        fault=str(arrays.get("fault", "")),  # older traces have none
    )


def _check_kinds(arrays: Arrays) -> None:
    """Numbers where numbers are, and as many dimensions as viewers take for granted."""
    if arrays["crop"].dtype != np.uint8:
        raise ValueError("its crop is no picture of 8 bits")
    for name in _MAPS:
        if arrays[name].ndim != 2 or arrays[name].dtype.kind != "f":
            raise ValueError(f"its {name} are no map")
    for name in _PART_FIELDS:
        values = arrays[f"parts.{name}"]
        if values.shape[1:] != ((2,) if name in _PAIRS else ()) or values.dtype.kind not in "fiub":
            raise ValueError(f"its parts' {name} are not numbers of parts")


def _result_from_arrays(arrays: Arrays) -> Result:
    first, second, third, fourth = (_point(corner) for corner in arrays["polygon"])
    return Result(
        box=_box(arrays["box"]),
        polygon=(first, second, third, fourth),
        confidence=float(arrays["confidence"]),
        state=State(str(arrays["state"])),
    )


def _box(values: NDArray[Any]) -> Box:
    x, y, width, height = values
    return Box(float(x), float(y), float(width), float(height))


def _point(values: NDArray[Any]) -> Point:
    x, y = values
    return (float(x), float(y))
