"""Result files: what stands in them, that they are valid after every frame, and that they can be read back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracking_parts.errors import FormatError, OutputError
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.results import READABLE_FORMATS, RESULT_FORMATS, SequenceInfo, open_result_writer, read_results
from tracking_parts.result import Result, State

INFO = SequenceInfo("clip", (64, 48), 25.0, 10, "rabbit")
DIAMOND: Polygon = ((10.0, 0.0), (20.0, 10.0), (10.0, 20.0), (0.0, 10.0))

numbers = st.floats(-1e4, 1e4)
boxes = st.builds(Box, numbers, numbers, st.floats(0.01, 1e4), st.floats(0.01, 1e4))


def result(box: Box, state: State = State.TRACKING, polygon: Polygon | None = None, confidence: float = 0.5) -> Result:
    return Result(box, box.polygon if polygon is None else polygon, confidence, state)


@st.composite
def results(draw: st.DrawFn) -> Result:
    box = draw(boxes)
    if draw(st.booleans()):
        polygon = tuple((draw(numbers), draw(numbers)) for _ in range(4))
        return Result(box, polygon, draw(st.floats(0, 1)), draw(st.sampled_from(State)))  # type: ignore[arg-type]
    return result(box, draw(st.sampled_from(State)), confidence=draw(st.floats(0, 1)))


def write(tmp_path: Path, name: str, rows: list[Result], start: int = 0, info: SequenceInfo = INFO) -> Path:
    path = tmp_path / f"boxes.{name}"
    with open_result_writer(name, path, info) as writer:
        for index, row in enumerate(rows, start):
            writer.write(index, row)
    return path


EXAMPLE = [
    result(Box(0, 0, 10, 20)),
    result(Box(1.25, 2, 10, 20), State.LOST),
    result(Box(0, 0, 20, 20), polygon=DIAMOND),
]


def test_otb(tmp_path: Path) -> None:
    assert write(tmp_path, "otb", EXAMPLE).read_text().splitlines() == [
        "1.0000,1.0000,10.0000,20.0000",
        "2.2500,3.0000,10.0000,20.0000",
        "1.0000,1.0000,20.0000,20.0000",
    ]


def test_vot(tmp_path: Path) -> None:
    assert write(tmp_path, "vot", EXAMPLE).read_text().splitlines() == [
        "1",
        "1.2500,2.0000,10.0000,20.0000",
        "10.0000,0.0000,20.0000,10.0000,10.0000,20.0000,0.0000,10.0000",
    ]


def test_mot(tmp_path: Path) -> None:
    assert write(tmp_path, "mot", EXAMPLE[:2], start=6).read_text().splitlines() == [
        "7,1,1.0000,1.0000,10.0000,20.0000,0.5000,-1,-1,-1",
        "8,1,2.2500,3.0000,10.0000,20.0000,0.5000,-1,-1,-1",
    ]


def test_csv(tmp_path: Path) -> None:
    header, row = write(tmp_path, "csv", EXAMPLE[:1]).read_text().splitlines()
    assert header == "frame,x,y,w,h,confidence,state,x1,y1,x2,y2,x3,y3,x4,y4"
    assert row.startswith("0,0.0000,0.0000,10.0000,20.0000,0.5000,tracking,0.0000,0.0000,10.0000,0.0000,")
    assert len(row.split(",")) == len(header.split(","))


def test_jsonl(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write(tmp_path, "jsonl", EXAMPLE, start=3).read_text().splitlines()]
    assert [row["frame"] for row in rows] == [3, 4, 5]
    assert rows[1] == {
        "frame": 4,
        "box": [1.25, 2.0, 10.0, 20.0],
        "polygon": [[1.25, 2.0], [11.25, 2.0], [11.25, 22.0], [1.25, 22.0]],
        "confidence": 0.5,
        "state": "lost",
    }


def cvat_boxes(path: Path) -> list[dict[str, str]]:
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == "annotations"
    assert root.findtext("version") == "1.1"
    (track,) = root.findall("track")
    return [dict(box.attrib) for box in track.findall("box")]


def test_cvat(tmp_path: Path) -> None:
    path = write(tmp_path, "cvat", EXAMPLE)
    root = ElementTree.fromstring(path.read_bytes())
    assert root.findtext("meta/task/name") == "clip"
    assert root.findtext("meta/task/size") == "10"
    assert root.findtext("meta/task/original_size/width") == "64"
    assert root.find("track").attrib == {"id": "0", "label": "rabbit", "source": "auto"}  # type: ignore[union-attr]
    assert root.findtext("meta/task/labels/label/name") == "rabbit"
    found = cvat_boxes(path)
    # The last one hides the box in the frames that were not tracked.
    assert [(box["frame"], box["outside"], box["keyframe"]) for box in found] == [
        ("0", "0", "1"),
        ("1", "1", "1"),
        ("2", "0", "1"),
        ("3", "1", "1"),
    ]
    assert (found[1]["xtl"], found[1]["ytl"], found[1]["xbr"], found[1]["ybr"]) == (
        "1.2500",
        "2.0000",
        "11.2500",
        "22.0000",
    )


def test_cvat_is_well_formed_after_every_frame(tmp_path: Path) -> None:
    """Also where new rows are shorter than what stood there: boxes shrink, and the last frame has less after it."""
    path = tmp_path / "boxes.xml"
    with open_result_writer("cvat", path, INFO) as writer:
        assert cvat_boxes(path) == []
        for index in range(10):
            writer.write(index, result(Box(1e6 / 10**index, 1e6 / 10**index, 1e6 / 10**index, 1e6 / 10**index)))
            found = cvat_boxes(path)
            assert [box["frame"] for box in found if box["outside"] == "0"] == [str(i) for i in range(index + 1)]
            assert len(found) == index + 1 + (index < 9)


def test_cvat_escapes_names(tmp_path: Path) -> None:
    info = SequenceInfo('a<b>&"c"\x07', (4, 4), None, None, "<'\"&\x00>")
    path = write(tmp_path, "cvat", EXAMPLE, info=info)
    root = ElementTree.fromstring(path.read_bytes())
    assert root.findtext("meta/task/name") == 'a<b>&"c"?'
    assert root.find("meta/task/size") is None
    assert root.find("track").get("label") == "<'\"&?>"  # type: ignore[union-attr]
    assert len(cvat_boxes(path)) == 3


@pytest.mark.parametrize("name", READABLE_FORMATS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(results(), min_size=1, max_size=5))
def test_round_trips(tmp_path: Path, name: str, rows: list[Result]) -> None:
    read = read_results(write(tmp_path, name, rows), name)
    assert [row.frame_index for row in read] == list(range(len(rows)))
    for position, (row, original) in enumerate(zip(read, rows, strict=True)):
        if name == "vot" and position == 0:
            assert (row.code, row.box) == (1, None)
            continue
        assert row.box is not None
        assert row.polygon is not None
        if name != "vot":
            assert row.box.xywh == pytest.approx(original.box.xywh, abs=1e-3)
        if name in ("vot", "jsonl", "csv"):
            for found, point in zip(row.polygon, original.polygon, strict=True):
                assert found == pytest.approx(point, abs=1e-3)
        if name in ("jsonl", "csv", "mot"):
            assert row.confidence == pytest.approx(original.confidence, abs=1e-4)
        if name in ("jsonl", "csv"):
            assert row.state == original.state


@pytest.mark.parametrize("name", READABLE_FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_any_text_gives_rows_or_our_error(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "boxes"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        read_results(path, name)
    except FormatError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("otb", "1,2,3,4\nhello\n", "line 2"),
        ("vot", "1\n1,2,3\n", "line 2"),
        ("jsonl", '{"frame": 1}\n', "line 1"),
        ("jsonl", '{"frame": 1, "box": [1, 2], "polygon": [], "confidence": 1, "state": "lost"}', "2 numbers instead"),
        ("csv", "x,y\n", "does not begin with frame,x"),
        ("mot", "1,1,1\n", "line 1"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path: Path, name: str, text: str, reason: str) -> None:
    path = tmp_path / "boxes"
    path.write_text(text)
    with pytest.raises(FormatError, match=reason):
        read_results(path, name)


def test_vots_own_codes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "boxes"
    path.write_text("1\n1,2,3,4\n2\n0\nnan,nan,nan,nan\n")
    rows = read_results(path, "vot")
    assert [row.code for row in rows] == [1, None, 2, 0, None]
    assert rows[1].box == Box(1, 2, 3, 4)
    assert rows[4].box is None


def test_unknown_formats_are_named_with_the_known(tmp_path: Path) -> None:
    assert set(RESULT_FORMATS) == {"jsonl", "csv", "otb", "vot", "mot", "cvat"}
    with pytest.raises(FormatError, match="unknown result format 'coco': known are jsonl, csv, otb, vot, mot, cvat"):
        open_result_writer("coco", tmp_path / "x", INFO)
    with pytest.raises(FormatError, match="cannot read results in format 'cvat'"):
        read_results(tmp_path / "x", "cvat")
    with pytest.raises(FormatError, match=r"cannot read .*absent"):
        read_results(tmp_path / "absent", "otb")


def test_a_killed_run_leaves_valid_files(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from tracking_parts.geometry import Box\n"
        "from tracking_parts.io.results import SequenceInfo, open_result_writer\n"
        "from tracking_parts.result import Result, State\n"
        "box = Box(1, 2, 3, 4)\n"
        "info = SequenceInfo('clip', (64, 48), 25.0, 100, 'x')\n"
        "writers = [open_result_writer(name, f'{sys.argv[1]}/{name}', info) for name in sys.argv[2:]]\n"
        "for index in range(20):\n"
        "    for writer in writers:\n"
        "        writer.write(index, Result(box, box.polygon, 1.0, State.TRACKING))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    source = str(Path(__file__).resolve().parents[1] / "src")
    environment = os.environ | {"PYTHONPATH": source}
    command = [sys.executable, "-c", code, str(tmp_path), *RESULT_FORMATS]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert len(cvat_boxes(tmp_path / "cvat")) == 21
    for name in READABLE_FORMATS:
        rows = read_results(tmp_path / name, name)
        assert len(rows) == 20
        assert rows[-1].box == Box(1, 2, 3, 4)


def test_frames_must_increase(tmp_path: Path) -> None:
    with open_result_writer("jsonl", tmp_path / "a", INFO) as writer:
        writer.write(3, EXAMPLE[0])
        writer.write(7, EXAMPLE[0])
        for index in (7, 2, -1):
            with pytest.raises(OutputError, match=f"frame {index}"):
                writer.write(index, EXAMPLE[0])
    with open_result_writer("otb", tmp_path / "b", INFO) as writer:
        writer.write(3, EXAMPLE[0])
        with pytest.raises(OutputError, match="no frame numbers"):
            writer.write(5, EXAMPLE[0])
        writer.write(4, EXAMPLE[0])
    assert len((tmp_path / "b").read_text().splitlines()) == 2


def test_a_box_that_is_not_finite_is_not_written(tmp_path: Path) -> None:
    with (
        open_result_writer("jsonl", tmp_path / "a", INFO) as writer,
        pytest.raises(OutputError, match="not finite"),
    ):
        writer.write(0, result(Box(float("nan"), 0, 1, 1)))


def test_output_errors_are_ours_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write") as caught:
        open_result_writer("csv", tmp_path / "file" / "boxes.csv", INFO)
    assert "\n" not in str(caught.value)
    writer = open_result_writer("csv", tmp_path / "new folder" / "boxes.csv", INFO)
    writer.close()
    writer.close()
    with pytest.raises(OutputError, match="cannot write"):
        writer.write(0, EXAMPLE[0])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("name", RESULT_FORMATS)
def test_a_full_disk_is_an_output_error(name: str) -> None:
    with (
        pytest.raises(OutputError, match="No space left"),
        open_result_writer(name, "/dev/full", INFO) as writer,
    ):
        writer.write(0, EXAMPLE[0])
