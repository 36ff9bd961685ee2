"""Read result files back, in our coordinates; the formats are described in :mod:`tracking_parts.io.results`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracking_parts.errors import FormatError
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.plain_files import parse_json, read_text
from tracking_parts.io.result_layout import CSV_HEADER, ONE_BASED
from tracking_parts.io.sequences import FARTHEST, parse_region
from tracking_parts.result import State


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One frame of a result file; what the format does not hold is None."""

    frame_index: int
    box: Box | None
    polygon: Polygon | None
    confidence: float | None = None
    state: State | None = None
    code: int | None = None  # VOT: 0 unknown, 1 the tracker was started here, 2 it failed here


def read_results(path: str | Path, format_name: str) -> list[ResultRow]:
    """All rows of a file in one of :data:`READABLE_FORMATS`."""
    if format_name not in _READERS:
        raise FormatError(f"cannot read results in format {format_name!r}: known are {', '.join(READABLE_FORMATS)}")
    path = Path(path)
    lines = read_text(path).splitlines()
    if format_name == "csv":
        if not lines or lines[0].strip() != CSV_HEADER:
            raise FormatError(f"{path} does not begin with {CSV_HEADER}")
        return list(_rows(path, lines[1:], _READERS["csv"], first_line=2))
    return list(_rows(path, lines, _READERS[format_name], first_line=1))


def _rows(
    path: Path, lines: Iterable[str], parse: Callable[[int, str], ResultRow], *, first_line: int
) -> Iterator[ResultRow]:
    for index, line in enumerate(lines):
        try:
            yield parse(index, line)
        except (FormatError, ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            reason = error if isinstance(error, FormatError) else f"{line.strip()[:60]!r} is no such row"
            raise FormatError(f"{path}, line {index + first_line}: {reason}") from error


def _parse_jsonl(index: int, line: str) -> ResultRow:
    row = parse_json(line)
    box = Box(*_finite(row["box"], 4))
    points = [_finite(point, 2) for point in row["polygon"]]
    return ResultRow(int(row["frame"]), box, _polygon(points), float(row["confidence"]), State(row["state"]))


def _parse_csv(index: int, line: str) -> ResultRow:
    frame, x, y, w, h, confidence, state, *corners = line.strip().split(",")
    values = _finite(corners, 8)
    points = list(zip(values[0::2], values[1::2], strict=True))
    return ResultRow(int(frame), Box(*_finite((x, y, w, h), 4)), _polygon(points), float(confidence), State(state))


def _parse_otb(index: int, line: str) -> ResultRow:
    return _region_row(index, parse_region(line, origin=ONE_BASED))


def _parse_vot(index: int, line: str) -> ResultRow:
    text = line.strip()
    if text and "," not in text:
        return ResultRow(index, None, None, code=int(float(text)))
    return _region_row(index, parse_region(text))


def _parse_mot(index: int, line: str) -> ResultRow:
    frame, _identity, x, y, w, h, confidence, *_unused = line.strip().split(",")
    left, top, width, height = _finite((x, y, w, h), 4)
    box = Box(left - ONE_BASED, top - ONE_BASED, width, height)
    return ResultRow(int(frame) - 1, box, box.polygon, float(confidence))


def _region_row(index: int, polygon: Polygon | None) -> ResultRow:
    return ResultRow(index, None if polygon is None else Box.around(polygon), polygon)


def _polygon(points: Sequence[tuple[float, ...]]) -> Polygon:
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = points
    return ((x1, y1), (x2, y2), (x3, y3), (x4, y4))


def _finite(values: Iterable[float | str], count: int) -> tuple[float, ...]:
    numbers = tuple(float(value) for value in values)
    if len(numbers) != count:
        raise FormatError(f"{len(numbers)} numbers instead of {count}")
    if not all(math.isfinite(number) for number in numbers):
        raise FormatError(f"{numbers} are not all finite")
    if max(map(abs, numbers)) > FARTHEST:
        raise FormatError(f"{numbers} are not all pixels of a picture")
    return numbers


_READERS = {"jsonl": _parse_jsonl, "csv": _parse_csv, "otb": _parse_otb, "vot": _parse_vot, "mot": _parse_mot}
READABLE_FORMATS: tuple[str, ...] = tuple(_READERS)
