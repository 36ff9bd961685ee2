"""Whatever our writers write, our readers (or anybody's, where we have none) give back."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traces_for_viewers import some_trace
from tracking_parts.evaluation.gate import Gate, GateFigures, read_gate, write_gate
from tracking_parts.evaluation.trajectory import Code, Trajectory, read_trajectory, write_trajectory
from tracking_parts.geometry import Box
from tracking_parts.io.result_layout import SequenceInfo, Track
from tracking_parts.io.trace_files import TraceWriter, read_trace
from tracking_parts.io.track_files import write_tracks
from tracking_parts.result import Result, State
from tracking_parts.studio.inside import pack_trace, unpack_trace
from tracking_parts.studio.model import Project, Row
from tracking_parts.studio.project_files import open_project_file, write_project_file
from tracking_parts.studio.store import Store
from tracking_parts.tracker_state import TrackerState

INFO = SequenceInfo("street", (640, 480), 25.0, 100)
often = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
pixels = st.floats(-1e4, 1e4)
sides = st.floats(0.1, 1e4)
shares = st.floats(0, 1)
boxes = st.builds(Box, pixels, pixels, sides, sides)
points = st.tuples(pixels, pixels)
polygons = st.tuples(points, points, points, points)
results = st.builds(Result, boxes, polygons, shares, st.sampled_from(State))
frames = st.lists(st.integers(0, 99), unique=True, max_size=6).map(sorted)
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)


@st.composite
def tracks(draw: st.DrawFn) -> list[Track]:
    chosen = draw(st.lists(names, unique=True, min_size=1, max_size=3))
    return [Track(name, [(index, draw(results)) for index in draw(frames)]) for name in chosen]


def triples(given_tracks: list[Track]) -> list[tuple[str, int, list[float]]]:
    rows = [(track.name, index, list(result.box.xywh)) for track in given_tracks for index, result in track.rows]
    return sorted(rows, key=lambda row: row[:2])


def same(found: list[tuple[str, int, list[float]]], wanted: list[tuple[str, int, list[float]]]) -> None:
    assert [row[:2] for row in sorted(found, key=lambda row: row[:2])] == [row[:2] for row in wanted]
    for (_, _, box), (_, _, other) in zip(sorted(found, key=lambda row: row[:2]), wanted, strict=True):
        assert box == pytest.approx(other, abs=1e-3)


@often
@given(made=tracks())
def test_tracks_as_json_lines(tmp_path: Path, made: list[Track]) -> None:
    path = tmp_path / "tracks"
    write_tracks("jsonl", path, INFO, made)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    same([(row["target"], row["frame"], row["box"]) for row in rows], triples(made))


@often
@given(made=tracks())
def test_tracks_as_csv(tmp_path: Path, made: list[Track]) -> None:
    path = tmp_path / "tracks"
    write_tracks("csv", path, INFO, made)
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    same([(row["target"], int(row["frame"]), [float(row[k]) for k in "xywh"]) for row in rows], triples(made))


@often
@given(made=tracks())
def test_tracks_as_mot(tmp_path: Path, made: list[Track]) -> None:
    path = tmp_path / "tracks"
    write_tracks("mot", path, INFO, made)
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    found = [
        (made[int(row[1]) - 1].name, int(row[0]) - 1, [float(row[2]) - 1, float(row[3]) - 1, *map(float, row[4:6])])
        for row in rows
    ]
    same(found, triples(made))


@often
@given(made=tracks())
def test_tracks_as_cvat(tmp_path: Path, made: list[Track]) -> None:
    path = tmp_path / "tracks"
    write_tracks("cvat", path, INFO, made)
    found = []
    for track, original in zip(ET.fromstring(path.read_bytes()).findall("track"), made, strict=True):
        assert track.get("label") == original.name
        kept = {index for index, _ in original.rows}
        for box in track.findall("box"):
            if int(box.attrib["frame"]) in kept:
                left, top, right, bottom = (float(box.attrib[name]) for name in ("xtl", "ytl", "xbr", "ybr"))
                found.append((original.name, int(box.attrib["frame"]), [left, top, right - left, bottom - top]))
    same(found, triples(made))


@often
@given(made=tracks())
def test_tracks_as_coco(tmp_path: Path, made: list[Track]) -> None:
    path = tmp_path / "tracks"
    write_tracks("coco", path, INFO, made)
    content = json.loads(path.read_text(encoding="utf-8"))
    labels = {category["id"]: category["name"] for category in content["categories"]}
    index = {image["id"]: image["frame_index"] for image in content["images"]}
    found = [(labels[one["category_id"]], index[one["image_id"]], one["bbox"]) for one in content["annotations"]]
    seen = [Track(t.name, [(i, r) for i, r in t.rows if r.state is not State.LOST]) for t in made]
    same(found, triples(seen))


@often
@given(
    regions=st.lists(
        st.one_of(st.sampled_from(Code), polygons, boxes.map(lambda box: box.polygon)), min_size=1, max_size=6
    ),
    data=st.data(),
)
def test_trajectories(tmp_path: Path, regions: list[Any], data: st.DataObject) -> None:
    length = len(regions)
    seconds = tuple(data.draw(st.lists(st.floats(0, 100), min_size=length, max_size=length)))
    values = {"confidence": tuple(data.draw(st.lists(shares, min_size=length, max_size=length)))}
    path = tmp_path / "ball_001.txt"
    write_trajectory(path, Trajectory(tuple(regions), seconds, values))
    read = read_trajectory(path)
    assert read.seconds == pytest.approx(seconds, abs=1e-6)
    assert read.values["confidence"] == pytest.approx(values["confidence"], abs=1e-6)
    for found, wanted in zip(read.regions, regions, strict=True):
        if isinstance(wanted, Code):
            assert found is wanted
        else:
            assert not isinstance(found, Code)
            for point, other in zip(found, wanted, strict=True):
                assert point == pytest.approx(other, abs=1e-3)


@often
@given(figures=st.dictionaries(names, st.builds(GateFigures, st.integers(0, 10**6), st.integers(0, 99), shares)))
def test_gates(tmp_path: Path, figures: dict[str, GateFigures]) -> None:
    gate = Gate("stp:default", "vot2016", 3, 0.02, figures)
    write_gate(tmp_path / "gate.json", gate)
    assert read_gate(tmp_path / "gate.json") == gate


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@often
@given(
    values=st.dictionaries(names, plain_values, max_size=4),
    shapes=st.dictionaries(names, st.lists(st.integers(0, 4), max_size=4), max_size=3),
    dtype=st.sampled_from((torch.float32, torch.int64, torch.int8, torch.uint8)),
)
def test_states(tmp_path: Path, values: dict[str, Any], shapes: dict[str, list[int]], dtype: torch.dtype) -> None:
    tensors = {name: torch.arange(1, 1 + _count(shape)).reshape(shape).to(dtype) for name, shape in shapes.items()}
    TrackerState(values, tensors).save(tmp_path / "state")
    read = TrackerState.load(tmp_path / "state")
    assert read.values == values
    assert read.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read.tensors[name].dtype == dtype
        assert torch.equal(read.tensors[name], tensor)


def _count(shape: list[int]) -> int:
    return int(torch.tensor(shape, dtype=torch.int64).prod())


rows = st.builds(
    Row,
    st.integers(0, 99),
    boxes,
    polygons,
    shares,
    st.sampled_from(State),
    st.sampled_from(("hand", "tracker")),
    st.none() | shares,
    st.none() | sides,
    st.booleans(),
    st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500)),
    st.lists(names, max_size=2).map(tuple),
)


@often
@given(row=rows)
def test_rows(row: Row) -> None:
    read = Row.from_dict(json.loads(json.dumps(row.to_dict(), allow_nan=False)))
    assert read.box.xywh == pytest.approx(row.box.xywh, abs=1e-3)
    assert (read.frame, read.confidence, read.state, read.origin) == (row.frame, row.confidence, row.state, row.origin)
    assert (read.agreement, read.distance, read.roles, read.events) == (
        row.agreement,
        row.distance,
        row.roles,
        row.events,
    )
    for point, other in zip(read.polygon, row.polygon, strict=True):
        assert point == pytest.approx(other, abs=1e-3)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    targets=st.dictionaries(names, st.lists(rows, max_size=4, unique_by=lambda row: row.frame), min_size=1, max_size=3),
    drawn=st.dictionaries(st.integers(0, 99), boxes, max_size=3),
)
def test_project_files(
    tmp_path_factory: pytest.TempPathFactory, targets: dict[str, list[Row]], drawn: dict[int, Box]
) -> None:
    folder = tmp_path_factory.mktemp("project")
    (folder / "video.mp4").write_bytes(b"a video")
    store = Store(folder / "store")
    project = _project(store, folder / "video.mp4")
    for name, its_rows in targets.items():
        target = store.add_target(project.id, name)
        store.put([(target.id, row, b"inside") for row in its_rows])
        for frame, box in drawn.items():
            store.draw(target.id, frame, box)
    write_project_file(folder / "file", store, project, True, lambda done, total: None)
    with open_project_file(folder / "file") as opened:
        saved = opened.project
        opened.copy_video(folder / "copy", 100)
        kept = [dict(opened.insides(number)) for number in range(len(targets))]
    assert (saved.name, saved.frame, saved.has_video) == ("tiny", 3, True)
    assert (folder / "copy").read_bytes() == b"a video"
    assert [target.name for target in saved.targets] == [target.name for target in store.targets(project.id)]
    for again, original, packs in zip(saved.targets, store.targets(project.id), kept, strict=True):
        assert again.drawn == store.drawn(original.id)
        assert again.rows == store.rows(original.id)
        assert sorted(packs) == store.inside_frames(original.id)
    store.close()


def _project(store: Store, video: Path) -> Project:
    return store.add_project(
        name="tiny", kind="file", source=str(video), frame_count=100, fps=25.0, width=64, height=48, frame=3
    )


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(index=st.integers(0, 10**6), parts=st.integers(0, 20), state=st.sampled_from(State), votes=st.booleans())
def test_traces(tmp_path: Path, index: int, parts: int, state: State, votes: bool) -> None:
    trace = some_trace(index, parts=parts, state=state, convnet_votes=votes)
    with TraceWriter(tmp_path) as writer:
        writer.write(trace)
    read = read_trace(tmp_path, index)
    assert read.result == trace.result
    assert read.window == trace.window
    assert (read.combined_votes == trace.combined_votes).all()
    assert (read.parts.votes == trace.parts.votes).all()
    shown = unpack_trace(pack_trace(trace))
    assert len(shown["parts"]["ids"]) == parts
    json.dumps(shown, allow_nan=False)
