"""``stp track`` with several boxes."""

from __future__ import annotations

import csv
import json
import signal
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from cli_helpers import make_video
from core_helpers import random_weights, small_config
from studio_helpers import FakeManyTracker
from traces_for_viewers import some_result
from tracking_parts import MultiTracker, cli
from tracking_parts.config import TrackerConfig
from tracking_parts.frames import Frame
from tracking_parts.io import track_writers
from tracking_parts.io.result_layout import SequenceInfo
from tracking_parts.io.track_files import TRACK_FORMATS
from tracking_parts.io.track_writers import open_tracks_writer
from tracking_parts.io.video import open_source

BOXES = ("--box", "10,12,12,12", "--box", "30,20,10,14")
NAMES = ("--label", "Ann & co", "--label", "the/dog")


class ManyFake(FakeManyTracker):
    engine = "torch"
    interrupt_at: int | None = None
    seen = 0

    def update(self, frame: Frame) -> Any:
        self.seen += 1
        if self.seen == self.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        return super().update(frame)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> ManyFake:
    fake = ManyFake()
    monkeypatch.setattr("tracking_parts.cli_run.make_multi_tracker", lambda *_: fake)
    return fake


def track(tmp_path: Path, *options: str, frames: int = 8) -> tuple[int, Path]:
    video = make_video(tmp_path / "clip.mp4", frames)
    out = tmp_path / "out"
    return cli.run(["track", str(video), "--out", str(out), *options]), out


def test_every_format_tells_the_objects_apart(
    many: ManyFake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = [word for name in TRACK_FORMATS for word in ("--format", name)]
    code, out = track(tmp_path, *BOXES, *NAMES, "--trace", "--contact-sheet", *formats)
    assert code == 0
    lines = [json.loads(line) for line in (out / "boxes.jsonl").read_text().splitlines()]
    assert [(line["frame"], line["target"]) for line in lines[:4]] == [
        (0, "Ann & co"),
        (0, "the/dog"),
        (1, "Ann & co"),
        (1, "the/dog"),
    ]
    assert lines[0]["box"] == [10, 12, 12, 12] and lines[3]["box"] == [31, 20, 10, 14] and len(lines) == 16
    mot = [line.split(",")[:3] for line in (out / "boxes_mot.txt").read_text().splitlines()]
    assert mot[:3] == [["1", "1", "11.0000"], ["1", "2", "31.0000"], ["2", "1", "12.0000"]]
    rows = list(csv.DictReader((out / "boxes.csv").read_text().splitlines()))
    assert rows[1]["target"] == "the/dog" and float(rows[3]["x"]) == 31
    tracks = ET.parse(out / "boxes_cvat.xml").findall("track")
    assert [(each.get("label"), len(each.findall("box"))) for each in tracks] == [("Ann & co", 8), ("the/dog", 8)]
    coco = json.loads((out / "boxes_coco.json").read_text())
    assert {each["track_id"] for each in coco["annotations"]} == {1, 2} and len(coco["images"]) == 8
    for name in ("boxes_otb_1_Ann___co.txt", "boxes_vot_2_the_dog.txt"):
        assert len((out / name).read_text().splitlines()) == 8
    assert len(list((out / "2_the_dog" / "trace").glob("*.npz"))) == 8
    assert (out / "contact_sheet.png").is_file()
    with open_source(out / "annotated.mp4") as shown:
        assert sum(1 for _ in shown) == 8
    settings = json.loads((out / "config.json").read_text())
    assert settings["boxes"] == {"Ann & co": [10, 12, 12, 12], "the/dog": [30, 20, 10, 14]} and "box" not in settings
    said = capsys.readouterr().out
    assert all(f"boxes_otb_{name}.txt" in said and f"{name}/trace" in said for name in ("1_Ann___co", "2_the_dog"))
    assert "tracking 75%, uncertain 25%" in said
    assert cli.run(["explain", str(out / "1_Ann___co"), "--frame", "3"]) == 0


def test_one_label_is_numbered(many: ManyFake, tmp_path: Path) -> None:
    _, out = track(tmp_path, *BOXES, "--label", "cup", "--no-video")
    lines = (out / "boxes.jsonl").read_text().splitlines()
    assert {json.loads(line)["target"] for line in lines} == {"cup 1", "cup 2"}


def test_an_interrupted_run_leaves_all_files_whole(many: ManyFake, tmp_path: Path) -> None:
    many.interrupt_at = 3
    code, out = track(tmp_path, *BOXES, "--format", "cvat", "--format", "coco", "--no-video")
    assert code == 130
    assert len((out / "boxes.jsonl").read_text().splitlines()) == 8
    assert len(json.loads((out / "boxes_coco.json").read_text())["images"]) == 4
    assert len(ET.parse(out / "boxes_cvat.xml").findall("track")) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*BOXES, "--label", "a", "--label", "b", "--label", "c"), "3 times --label for 2 times --box"),
        ((*BOXES, "--label", "a", "--label", "a"), "the same --label"),
        ((*BOXES, "--save-state"), "--save-state"),
        ((*BOXES, "--format", "yolo"), "unknown format 'yolo'"),
        ((*BOXES, "--box", "1,2,3"), "four numbers"),
        (("--box", "10,12,12,12", "--box", "500,500,9,9"), "500"),
    ],
)
def test_mistakes_are_one_line(
    many: ManyFake, tmp_path: Path, options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = track(tmp_path, *options)
    said = capsys.readouterr().err
    assert code == 2 and words in said and said.count("\n") == 1
    assert not (out / "boxes.jsonl").exists()


def test_coco_of_one_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cli_helpers import use_fake_tracker

    use_fake_tracker(monkeypatch)
    code, out = track(tmp_path, "--box", "10,12,20,16", "--format", "coco", "--no-video", "--label", "cup")
    content = json.loads((out / "boxes_coco.json").read_text())
    assert code == 0 and [each["name"] for each in content["categories"]] == ["cup"]
    assert "target" not in json.loads((out / "boxes.jsonl").read_text().splitlines()[0])


def test_documents_are_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill costs a few seconds of them, not the run."""
    monkeypatch.setattr(track_writers, "REWRITE_SECONDS", -1.0)
    writer, (path,) = open_tracks_writer("coco", tmp_path / "c.json", SequenceInfo("v", (64, 48)), ["a", "b"])
    assert json.loads(path.read_text())["images"] == []
    writer.write(0, {"a": some_result(), "b": some_result()})
    assert len(json.loads(path.read_text())["annotations"]) == 2
    writer.close()


def test_real_trackers_give_what_each_alone_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: TrackerConfig, *_: object) -> MultiTracker:
        return MultiTracker(small_config(), weights=random_weights(), engine="torch")

    monkeypatch.setattr("tracking_parts.cli_run.make_multi_tracker", make)
    code, out = track(tmp_path, *BOXES, "--no-video", frames=4)
    lines = [json.loads(line) for line in (out / "boxes.jsonl").read_text().splitlines()]
    assert code == 0 and len(lines) == 8
    assert lines[1]["box"] == pytest.approx([30, 20, 10, 14])
