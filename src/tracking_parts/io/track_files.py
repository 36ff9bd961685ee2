"""Finished tracks of several objects in one file, in the layouts of :mod:`tracking_parts.io.results` and in COCO's.

=========  ====================================================================================================
format     what tells the objects apart
=========  ====================================================================================================
``jsonl``  ``target``, the object's name, in every row
``csv``    a first column ``target``
``mot``    the identity, from 1
``cvat``   a track and a label for each; ``outside`` from the first frame that a track leaves out
``coco``   a category and a ``track_id`` for each (:mod:`tracking_parts.io.coco`)
``otb``    one object only; frames left out between its first and its last are ``NaN,NaN,NaN,NaN``
``vot``    one object only; frames left out are ``0``, VOT's code for no region
=========  ====================================================================================================
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracking_parts.errors import FormatError, OutputError
from tracking_parts.io import coco, cvat
from tracking_parts.io.files import write_atomically
from tracking_parts.io.result_layout import CSV_HEADER, SequenceInfo, Track
from tracking_parts.io.results import csv_row, json_values, mot_row, otb_row, vot_row

OTB_GAP, VOT_GAP = "NaN,NaN,NaN,NaN\n", "0\n"


@dataclass(frozen=True, slots=True)
class _Layout:
    text: Callable[[SequenceInfo, Sequence[Track]], str]
    suffix: str
    several: bool = True  # objects in one file


def write_tracks(format_name: str, path: Path, info: SequenceInfo, tracks: Sequence[Track]) -> None:
    """Write one file, whole or not at all."""
    layout = layout_of(format_name)
    if not layout.several and len(tracks) != 1:
        raise FormatError(f"a file in the format {format_name!r} holds one object, not {len(tracks)}")
    try:
        write_atomically(path, layout.text(info, tracks).encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


def layout_of(format_name: str) -> _Layout:
    if format_name not in _LAYOUTS:
        raise FormatError(f"unknown format {format_name!r}: known are {', '.join(TRACK_FORMATS)}")
    return _LAYOUTS[format_name]


def _jsonl(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    rows = [(index, number, track, result) for number, track in enumerate(tracks) for index, result in track.rows]
    rows.sort(key=lambda row: row[:2])
    return "".join(
        json.dumps({"target": track.name, **json_values(index, result)}, ensure_ascii=False) + "\n"
        for index, _, track, result in rows
    )


def _csv(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    lines = [f"target,{CSV_HEADER}\n"]
    for track in tracks:
        name = quoted(track.name)
        lines += [f"{name},{csv_row(index, result)}" for index, result in track.rows]
    return "".join(lines)


def quoted(text: str) -> str:
    """A field of a CSV file."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow([text])
    return stream.getvalue()


def _mot(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    rows = [(index, number, result) for number, track in enumerate(tracks, start=1) for index, result in track.rows]
    rows.sort(key=lambda row: row[:2])
    return "".join(mot_row(index, result, track=number) for index, number, result in rows)


def _cvat(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    blocks = [cvat.document_head(info, dict.fromkeys(track.name for track in tracks))]
    for number, track in enumerate(tracks):
        blocks.append(cvat.track_head(number, track.name))
        for place, (index, result) in enumerate(track.rows):
            blocks.append(cvat.row(index, result, place == 0))
            following = track.rows[place + 1][0] if place + 1 < len(track.rows) else info.frame_count
            if following is not None and following > index + 1:
                blocks.append(cvat.gone(index + 1, result))
        blocks.append(cvat.TRACK_TAIL)
    return "".join(blocks) + cvat.DOCUMENT_TAIL


def _otb(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    return _without_gaps(tracks[0], lambda index, track: otb_row(index, track[index]), OTB_GAP)


def _vot(info: SequenceInfo, tracks: Sequence[Track]) -> str:
    first = tracks[0].rows[0][0] if tracks[0].rows else 0
    return _without_gaps(tracks[0], lambda index, track: vot_row(index, track[index], index == first), VOT_GAP)


def _without_gaps(track: Track, line: Callable[..., str], gap: str) -> str:
    """One line for every frame from the first to the last: these formats have no frame numbers."""
    results = dict(track.rows)
    frames = range(min(results), max(results) + 1) if results else range(0)
    return "".join(line(index, results) if index in results else gap for index in frames)


_LAYOUTS = {
    "otb": _Layout(_otb, "_otb.txt", several=False),
    "vot": _Layout(_vot, "_vot.txt", several=False),
    "mot": _Layout(_mot, "_mot.txt"),
    "cvat": _Layout(_cvat, "_cvat.xml"),
    "coco": _Layout(coco.document, "_coco.json"),
    "csv": _Layout(_csv, ".csv"),
    "jsonl": _Layout(_jsonl, ".jsonl"),
}
TRACK_FORMATS: tuple[str, ...] = tuple(_LAYOUTS)
