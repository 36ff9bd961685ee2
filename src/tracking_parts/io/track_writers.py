"""Files of several objects, written while they are tracked.

Rows of ``jsonl``, ``csv`` and ``mot`` are added with every frame; CSV rows are in order of frames. ``cvat`` and
``coco``, whose documents cannot grow at their end, are written anew every :data:`REWRITE_SECONDS` and at the end.
``otb`` and ``vot`` hold one object: a file for each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tracking_parts.errors import FormatError, OutputError
from tracking_parts.io.result_layout import CSV_HEADER, SequenceInfo, Track
from tracking_parts.io.results import ResultWriter, csv_row, json_values, mot_row, open_result_writer
from tracking_parts.io.track_files import TRACK_FORMATS, layout_of, quoted, write_tracks
from tracking_parts.result import Result

REWRITE_SECONDS = 10.0


class TracksWriter(Protocol):
    """Takes the results of one frame after the other, by the objects' names."""

    def write(self, frame_index: int, results: Mapping[str, Result]) -> None: ...

    def close(self) -> None: ...


def open_tracks_writer(
    format_name: str, path: Path, info: SequenceInfo, names: Sequence[str]
) -> tuple[TracksWriter, list[Path]]:
    """A writer for one of :data:`TRACK_FORMATS`, and where it writes; existing files are replaced."""
    if format_name not in TRACK_FORMATS:
        raise FormatError(f"unknown format {format_name!r}: there are {', '.join(TRACK_FORMATS)}")
    if not layout_of(format_name).several:
        paths = paths_of_each(path, names)
        return _OneFileEach(format_name, dict(zip(names, paths, strict=True)), info), paths
    if format_name in _ROWS:
        return _GrowingFile(path, format_name, names), [path]
    return _RewrittenFile(path, format_name, info, names), [path]


def paths_of_each(path: Path, names: Sequence[str]) -> list[Path]:
    """One path per object, told apart by number and name."""
    return [path.with_name(f"{path.stem}_{folder_name(n, name)}{path.suffix}") for n, name in enumerate(names, start=1)]


def folder_name(number: int, name: str) -> str:
    """A name that every file system takes."""
    safe = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name).strip("._")[:60]
    return f"{number}_{safe}" if safe else str(number)


class _GrowingFile:
    """One block of rows per frame, in one call, so that no kill can leave half a row."""

    def __init__(self, path: Path, format_name: str, names: Sequence[str]) -> None:
        self._path = path
        self._row = _ROWS[format_name]
        self._numbers = {name: number for number, name in enumerate(names, start=1)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("wb", buffering=0)
        except OSError as error:
            raise self._error(error) from error
        self._append(_HEADS.get(format_name, ""))

    def write(self, frame_index: int, results: Mapping[str, Result]) -> None:
        rows = [self._row(frame_index, name, self._numbers[name], result) for name, result in results.items()]
        self._append("".join(rows))

    def _append(self, text: str) -> None:
        block = text.encode()
        try:
            written = self._stream.write(block)
        except OSError as error:
            raise self._error(error) from error
        if written != len(block):
            raise OutputError(f"cannot write {self._path}: only {written} of {len(block)} bytes fit")

    def close(self) -> None:
        self._stream.close()

    def _error(self, error: OSError) -> OutputError:
        return OutputError(f"cannot write {self._path}: {error.strerror or error}")


class _RewrittenFile:
    """A whole document, now and then."""

    def __init__(self, path: Path, format_name: str, info: SequenceInfo, names: Sequence[str]) -> None:
        self._path, self._format, self._info = path, format_name, info
        self._rows: dict[str, list[tuple[int, Result]]] = {name: [] for name in names}
        self._save()

    def write(self, frame_index: int, results: Mapping[str, Result]) -> None:
        for name, result in results.items():
            self._rows[name].append((frame_index, result))
        if time.monotonic() - self._saved_at > REWRITE_SECONDS:
            self._save()

    def close(self) -> None:
        self._save()

    def _save(self) -> None:
        write_tracks(self._format, self._path, self._info, [Track(name, rows) for name, rows in self._rows.items()])
        self._saved_at = time.monotonic()


class _OneFileEach:
    def __init__(self, format_name: str, paths: Mapping[str, Path], info: SequenceInfo) -> None:
        self._writers: dict[str, ResultWriter] = {}
        try:
            for name, path in paths.items():
                self._writers[name] = open_result_writer(format_name, path, info)
        except BaseException:
            self.close()
            raise

    def write(self, frame_index: int, results: Mapping[str, Result]) -> None:
        for name, result in results.items():
            self._writers[name].write(frame_index, result)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


def _jsonl_row(index: int, name: str, number: int, result: Result) -> str:
    return json.dumps({"target": name, **json_values(index, result)}, ensure_ascii=False) + "\n"


def _csv_row(index: int, name: str, number: int, result: Result) -> str:
    return f"{quoted(name)},{csv_row(index, result)}"


def _mot_row(index: int, name: str, number: int, result: Result) -> str:
    return mot_row(index, result, track=number)


_ROWS: dict[str, Callable[[int, str, int, Result], str]] = {"jsonl": _jsonl_row, "csv": _csv_row, "mot": _mot_row}
_HEADS = {"csv": f"target,{CSV_HEADER}\n"}
