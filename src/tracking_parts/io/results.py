"""Result files, written as tracking goes: after each frame the file is valid and complete up to that frame.

=========  =================================================================  ========  ==============================
format     one row per frame                                                  frame     coordinates
=========  =================================================================  ========  ==============================
``jsonl``  object: frame, box, polygon, confidence, state                     from 0    ours (pixel 0 covers [0, 1))
``csv``    frame,x,y,w,h,confidence,state,x1,y1 … x4,y4; a header             from 0    ours
``otb``    x,y,w,h                                                            the line  x + 1, y + 1
``vot``    ``1`` for the first frame, then a rectangle, or a polygon of       the line  ours
           8 numbers where it is not upright
``mot``    MOTChallenge: frame,id,x,y,w,h,confidence,-1,-1,-1                 from 1    x + 1, y + 1
``cvat``   CVAT for video 1.1 (:mod:`tracking_parts.io.cvat`)                 from 0    ours
=========  =================================================================  ========  ==============================

``otb`` and ``vot`` have no frame numbers: the first row is the first tracked frame, and no frame may be left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tracking_parts.errors import FormatError, OutputError
from tracking_parts.geometry import Polygon
from tracking_parts.io import cvat
from tracking_parts.io.growing_file import GrowingFile
from tracking_parts.io.result_layout import CSV_HEADER, ONE_BASED, VOT_START, SequenceInfo
from tracking_parts.io.result_readers import READABLE_FORMATS, ResultRow, read_results
from tracking_parts.result import Result

__all__ = [
    "READABLE_FORMATS",
    "RESULT_FORMATS",
    "ResultRow",
    "ResultWriter",
    "SequenceInfo",
    "open_result_writer",
    "read_results",
]


@dataclass(frozen=True, slots=True)
class _Format:
    """A format as pure functions of what is to be written; the tail is what must follow the last row."""

    row: Callable[[int, Result, bool], str]  # frame index, result, is it the first row
    head: Callable[[SequenceInfo], str] = lambda info: ""
    tail: Callable[[int | None, Result | None, SequenceInfo], str] = lambda index, result, info: ""
    consecutive: bool = False  # rows have no frame number, so none may be missing


class ResultWriter:
    """Writes one row per frame. Use as a context manager, or call :meth:`close`."""

    def __init__(self, path: str | Path, row_format: _Format, info: SequenceInfo) -> None:
        self.path = Path(path)
        self._format = row_format
        self._info = info
        self._last_index: int | None = None
        self._file = GrowingFile(self.path)
        try:
            self._file.append(row_format.head(info), row_format.tail(None, None, info))
        except BaseException:
            self._file.close()
            raise

    def write(self, frame_index: int, result: Result) -> None:
        """Add a frame; the indices count from 0 and must increase."""
        self._check_index(frame_index)
        if not result.box.is_finite:
            raise OutputError(f"cannot write frame {frame_index}: its box {result.box.xywh} is not finite")
        row = self._format.row(frame_index, result, self._last_index is None)
        self._file.append(row, self._format.tail(frame_index, result, self._info))
        self._last_index = frame_index

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ResultWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_index(self, frame_index: int) -> None:
        if frame_index < 0:
            raise OutputError(f"cannot write frame {frame_index} to {self.path}: frames count from 0")
        if self._last_index is None:
            return
        if frame_index <= self._last_index:
            raise OutputError(f"cannot write frame {frame_index} to {self.path} after frame {self._last_index}")
        if self._format.consecutive and frame_index != self._last_index + 1:
            raise OutputError(
                f"cannot write frame {frame_index} to {self.path} after frame {self._last_index}: "
                "its format has no frame numbers, so none may be left out"
            )


def open_result_writer(format_name: str, path: str | Path, info: SequenceInfo) -> ResultWriter:
    """A writer for one of :data:`RESULT_FORMATS`; an existing file is replaced."""
    if format_name not in _FORMATS:
        raise FormatError(f"unknown result format {format_name!r}: known are {', '.join(RESULT_FORMATS)}")
    return ResultWriter(path, _FORMATS[format_name], info)


def is_upright(result: Result) -> bool:
    """Whether the polygon says nothing that the box does not."""
    # Rounded as they are written, and sorted because a polygon may start at any corner.
    corners = [
        sorted((round(x, 4), round(y, 4)) for x, y in polygon) for polygon in (result.polygon, result.box.polygon)
    ]
    return corners[0] == corners[1]


def _numbers(*values: float) -> str:
    """Four decimals: far below a pixel, and the same on every machine."""
    return ",".join(f"{value:.4f}" for value in values)


def _flat(polygon: Polygon) -> tuple[float, ...]:
    return tuple(value for point in polygon for value in point)


def json_values(index: int, result: Result) -> dict[str, Any]:
    """One row of ``jsonl``."""
    return {
        "frame": index,
        "box": list(result.box.xywh),
        "polygon": [[float(x), float(y)] for x, y in result.polygon],
        "confidence": float(result.confidence),
        "state": str(result.state),
    }


def _jsonl_row(index: int, result: Result, first: bool) -> str:
    return json.dumps(json_values(index, result)) + "\n"


def csv_row(index: int, result: Result, first: bool = False) -> str:
    """One row of ``csv``."""
    box, polygon = _numbers(*result.box.xywh), _numbers(*_flat(result.polygon))
    return f"{index},{box},{_numbers(result.confidence)},{result.state},{polygon}\n"


def otb_row(index: int, result: Result, first: bool = False) -> str:
    """One row of ``otb``."""
    x, y, w, h = result.box.xywh
    return _numbers(x + ONE_BASED, y + ONE_BASED, w, h) + "\n"


def vot_row(index: int, result: Result, first: bool) -> str:
    """One row of ``vot``."""
    if first:
        return VOT_START + "\n"
    return _numbers(*(result.box.xywh if is_upright(result) else _flat(result.polygon))) + "\n"


def mot_row(index: int, result: Result, first: bool = False, *, track: int = 1) -> str:
    """One row of ``mot``."""
    x, y, w, h = result.box.xywh
    return f"{index + 1},{track},{_numbers(x + ONE_BASED, y + ONE_BASED, w, h, result.confidence)},-1,-1,-1\n"


_FORMATS = {
    "jsonl": _Format(_jsonl_row),
    "csv": _Format(csv_row, head=lambda info: CSV_HEADER + "\n"),
    "otb": _Format(otb_row, consecutive=True),
    "vot": _Format(vot_row, consecutive=True),
    "mot": _Format(mot_row),
    "cvat": _Format(cvat.row, head=cvat.head, tail=cvat.tail),
}
RESULT_FORMATS: tuple[str, ...] = tuple(_FORMATS)
