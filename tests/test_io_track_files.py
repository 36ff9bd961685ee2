"""Finished tracks of several objects in one file."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tracking_parts.errors import FormatError
from tracking_parts.geometry import Box
from tracking_parts.io.result_layout import SequenceInfo, Track
from tracking_parts.io.results import RESULT_FORMATS, open_result_writer
from tracking_parts.io.track_files import TRACK_FORMATS, write_tracks
from tracking_parts.result import Result, State

INFO = SequenceInfo("street & co", (640, 480), 25.0, 20)


def result(x: float, state: State = State.TRACKING) -> Result:
    box = Box(x, 20.0, 30.0, 40.0)
    return Result(box, box.polygon, 0.5, state)


CAT = Track('a "cat", grey', [(3, result(1)), (4, result(2)), (7, result(5, State.LOST))])
DOG = Track("dog", [(4, result(100))])


def written(format_name: str, folder: Path, *tracks: Track) -> str:
    path = folder / f"file.{format_name}"
    write_tracks(format_name, path, INFO, tracks)
    return path.read_text(encoding="utf-8")


def test_cvat_has_a_track_for_each_and_takes_boxes_away_in_gaps(tmp_path: Path) -> None:
    root = ET.fromstring(written("cvat", tmp_path, CAT, DOG))
    assert [label.text for label in root.iter("name")][1:] == [CAT.name, "dog"]
    cat, dog = root.findall("track")
    assert cat.get("label") == CAT.name and (cat.get("id"), dog.get("id")) == ("0", "1")
    shown = [(box.get("frame"), box.get("outside")) for box in cat]
    assert shown == [("3", "0"), ("4", "0"), ("5", "1"), ("7", "1"), ("8", "1")]
    assert [(box.get("frame"), box.get("outside")) for box in dog] == [("4", "0"), ("5", "1")]


def test_coco_names_frames_tracks_and_categories(tmp_path: Path) -> None:
    content = json.loads(written("coco", tmp_path, CAT, DOG))
    assert [image["frame_index"] for image in content["images"]] == [3, 4, 7]
    assert [category["name"] for category in content["categories"]] == [CAT.name, "dog"]
    assert [(each["image_id"], each["track_id"], each["category_id"]) for each in content["annotations"]] == [
        (4, 1, 1),
        (5, 1, 1),
        (5, 2, 2),
    ]
    first = content["annotations"][0]
    assert first["bbox"] == [1, 20, 30, 40] and first["area"] == 1200 and first["id"] == 1
    assert first["segmentation"] == [[1, 20, 31, 20, 31, 60, 1, 60]]


def test_mot_is_sorted_by_frame_and_counts_from_one(tmp_path: Path) -> None:
    lines = written("mot", tmp_path, CAT, DOG).splitlines()
    assert [line.split(",")[:3] for line in lines] == [
        ["4", "1", "2.0000"],
        ["5", "1", "3.0000"],
        ["5", "2", "101.0000"],
        ["8", "1", "6.0000"],
    ]


def test_csv_and_jsonl_name_the_target(tmp_path: Path) -> None:
    rows = list(csv.DictReader(written("csv", tmp_path, CAT, DOG).splitlines()))
    assert [(row["target"], row["frame"]) for row in rows] == [
        (CAT.name, "3"),
        (CAT.name, "4"),
        (CAT.name, "7"),
        ("dog", "4"),
    ]
    objects = [json.loads(line) for line in written("jsonl", tmp_path, CAT, DOG).splitlines()]
    assert [(each["target"], each["frame"]) for each in objects] == [
        (CAT.name, 3),
        (CAT.name, 4),
        ("dog", 4),
        (CAT.name, 7),
    ]


@pytest.mark.parametrize(("format_name", "gap"), [("otb", "NaN,NaN,NaN,NaN"), ("vot", "0")])
def test_formats_without_frame_numbers_fill_gaps(tmp_path: Path, format_name: str, gap: str) -> None:
    lines = written(format_name, tmp_path, CAT).splitlines()
    assert len(lines) == 5 and lines[2] == lines[3] == gap != lines[4]
    with pytest.raises(FormatError, match="one object"):
        written(format_name, tmp_path, CAT, DOG)


@pytest.mark.parametrize("format_name", [name for name in RESULT_FORMATS if name not in ("csv", "jsonl")])
def test_one_whole_track_is_written_as_the_command_does(tmp_path: Path, format_name: str) -> None:
    rows = [(index, result(index)) for index in range(5)]
    with open_result_writer(
        format_name, tmp_path / "command", SequenceInfo("street & co", (640, 480), 25.0, 20, "dog")
    ) as writer:
        for index, each in rows:
            writer.write(index, each)
    text = written(format_name, tmp_path, Track("dog", rows))
    assert text.split() == (tmp_path / "command").read_text(encoding="utf-8").split()


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    assert set(RESULT_FORMATS) < set(TRACK_FORMATS)
    with pytest.raises(FormatError, match="unknown format"):
        written("gif", tmp_path, CAT)
