"""What the studio keeps: the store, packed traces, project files from anybody."""

from __future__ import annotations

import base64
import json
import math
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traces_for_viewers import some_trace
from tracking_parts.errors import FormatError, OutputError, TargetNameError
from tracking_parts.geometry import Box
from tracking_parts.studio.inside import pack_trace, unpack_trace
from tracking_parts.studio.model import Row
from tracking_parts.studio.project_files import FORMAT, open_project_file
from tracking_parts.studio.store import Store, data_folder


def add_project(store: Store, **values: Any) -> str:
    facts = {"name": "x", "kind": "file", "source": "/x.mp4", "frame_count": 9, "fps": 25.0, "width": 64, "height": 48}
    return store.add_project(**{**facts, **values}).id


def test_a_trace_survives_packing() -> None:
    trace = some_trace(3, parts=40)
    packed = pack_trace(trace)
    inside = unpack_trace(packed)
    assert len(packed) < 20_000
    assert inside["parts"]["ids"] == trace.parts.ids.tolist()
    assert inside["parts"]["roles"] == trace.parts.roles.tolist()
    assert np.allclose(inside["parts"]["votes"], trace.parts.votes, atol=0.06)
    maps = {"filter": trace.filter_votes, "colour": trace.colour_votes, "combined": trace.combined_votes}
    for name, votes in maps.items():
        steps = np.frombuffer(base64.b64decode(inside["maps"][name]["steps"]), np.uint8).reshape(votes.shape)
        assert np.allclose(steps / 255 * inside["maps"][name]["peak"], np.clip(votes, 0, None), atol=votes.max() / 250)
    json.dumps(inside, allow_nan=False)


def test_a_trace_that_was_packed_before_there_were_colours_can_be_read() -> None:
    trace = some_trace(3, parts=5)
    now = unpack_trace(pack_trace(trace))
    older = unpack_trace(_packed_without_colours(pack_trace(trace)))
    assert set(older["maps"]) == {"filter", "convnet", "combined"}
    assert older["maps"] == {name: now["maps"][name] for name in older["maps"]}
    assert older["parts"] == now["parts"] and older["crop"] == now["crop"]


def _packed_without_colours(packed: bytes) -> bytes:
    """As versions before the colour part packed it: three maps, and no names of them."""
    (crop_length,) = struct.unpack("<I", packed[-4:])
    content = zlib.decompress(packed[crop_length:-4])
    (length,) = struct.unpack_from("<I", content)
    header, rest = json.loads(content[4 : 4 + length]), content[4 + length :]
    place, cells = header.pop("maps").index("colour"), math.prod(header["cells"])
    del header["peaks"][place]
    text = json.dumps(header).encode()
    shorter = struct.pack("<I", len(text)) + text + rest[: place * cells] + rest[(place + 1) * cells :]
    return packed[:crop_length] + zlib.compress(shorter) + packed[-4:]


@pytest.mark.parametrize("cut", [0, 3, 50, -1])
def test_a_damaged_trace_is_said(cut: int) -> None:
    packed = pack_trace(some_trace(3, parts=5))
    with pytest.raises(FormatError, match="damaged"):
        unpack_trace(packed[:cut])


def test_rows_survive_json() -> None:
    row = Row.from_trace(7, some_trace(3, parts=5))
    again = Row.from_dict(json.loads(json.dumps(row.to_dict())))
    assert again.roles == row.roles and again.events == row.events and again.state == row.state
    assert again.box.xywh == pytest.approx(row.box.xywh, abs=1e-3)


def test_a_row_keeps_where_to_begin_anew() -> None:
    trace = some_trace(3, parts=5)
    same, other = Row.from_trace(7, trace), Row.from_trace(7, replace(trace, tracked=Box(10, 20, 30, 40)))
    assert same.tracked is None and same.start == same.box
    values = json.loads(json.dumps(other.to_dict()))
    assert Row.from_dict(values).start == other.start == Box(10, 20, 30, 40)
    del values["tracked"]  # as rows of before
    assert Row.from_dict(values).start.xywh == pytest.approx(other.box.xywh, abs=1e-3)


def test_another_process_sees_every_change_at_once(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    project = add_project(first)
    target = first.add_target(project, "dog")
    first.draw(target.id, 4, Box(1, 2, 3, 4))
    assert second.drawn(target.id) == {4: Box(1, 2, 3, 4)}
    assert second.rows(target.id) == [Row.by_hand(4, Box(1, 2, 3, 4))]
    first.delete_project(project)
    assert second.projects() == [] and second.rows(target.id) == []
    first.close()
    second.close()


def test_a_failed_change_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    target = store.add_target(add_project(store)).id
    good, bad = Row.by_hand(1, Box(1, 2, 3, 4)), Row.by_hand(2, Box(float("nan"), 2, 3, 4))
    with pytest.raises(ValueError, match="JSON"):
        store.put([(target, good, b"x"), (target, bad, b"x")])
    assert store.rows(target) == [] and store.inside(target, 1) is None
    store.close()


def test_names_are_cleaned_and_unique(tmp_path: Path) -> None:
    store = Store(tmp_path)
    project = add_project(store)
    assert store.add_target(project, "  a  b\x00 ").name == "a b"
    first, second = store.add_target(project), store.add_target(project)
    assert first.name != second.name and first.colour != second.colour
    with pytest.raises(TargetNameError):
        store.rename_target(project, second.id, first.name, "#123456")
    with pytest.raises(TargetNameError, match="needs a name"):
        store.rename_target(project, second.id, " \n ", "#123456")
    store.close()


def test_the_data_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STP_STUDIO_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("STP_STUDIO_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "tracking-parts" / "studio"
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot keep"):
        Store(tmp_path / "file")


GOOD = {"format": FORMAT, "name": "x", "video": "0", "frame": 3, "targets": []}
TARGET = {"name": "dog", "colour": "#123456", "drawn": {"1": [1, 2, 3, 4]}, "rows": []}


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {**GOOD, "format": "other"},
        {**GOOD, "frame": "x"},
        {**GOOD, "targets": [{**TARGET, "colour": "red; background: url(x)"}]},
        {**GOOD, "targets": [{**TARGET, "drawn": {"1": [1, 2, float("inf"), 4]}}]},
        {**GOOD, "targets": [{**TARGET, "rows": [{"frame": 1}]}]},
    ],
)
def test_project_files_that_are_none_are_refused(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "x.stp"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", json.dumps(content))
    with pytest.raises(FormatError), open_project_file(path):
        pass


def test_names_in_a_project_file_are_never_paths(tmp_path: Path) -> None:
    path = tmp_path / "x.stp"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", json.dumps({**GOOD, "targets": [TARGET]}))
        archive.writestr("../../evil", "x")
        archive.writestr("inside/0/../../evil", "x")
        archive.writestr("inside/0/5", b"pack")
    with open_project_file(path) as opened:
        assert dict(opened.insides(0)) == {5: b"pack"}
        assert opened.project.targets[0].drawn == {1: Box(1, 2, 3, 4)}
    assert not (tmp_path.parent.parent / "evil").exists()


def test_what_belongs_to_something_deleted_is_one_error_of_ours(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(TargetNameError, match="no such project or target any more"):
        store.add_target("deleted", "ball")
    with pytest.raises(TargetNameError, match="any more"):
        store.draw(99, 0, Box(1, 2, 3, 4))
    store.close()
