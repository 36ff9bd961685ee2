"""Traces on disk: exact round trips, whole at any moment, clear words about damage."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from traces_for_viewers import some_trace
from tracking_parts.errors import FormatError
from tracking_parts.io.trace_files import TraceWriter, read_trace, traced_frames
from tracking_parts.trace import FrameTrace, PartsTrace


def assert_same(one: FrameTrace, other: FrameTrace) -> None:
    for field in fields(FrameTrace):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if isinstance(first, np.ndarray):
            assert first.dtype == second.dtype, field.name
            np.testing.assert_array_equal(first, second, err_msg=field.name)
        elif isinstance(first, PartsTrace):
            for inner in fields(PartsTrace):
                a, b = getattr(first, inner.name), getattr(second, inner.name)
                assert a.dtype == b.dtype, inner.name
                np.testing.assert_array_equal(a, b, err_msg=inner.name)
        elif isinstance(first, float) and np.isnan(first):
            assert np.isnan(second)
        else:
            assert first == second and type(first) is type(second), field.name


@pytest.mark.parametrize(
    "trace",
    [some_trace(), some_trace(0, parts=0, convnet_votes=False), replace(some_trace(), events=("ünïcode → 31", ""))],
    ids=["usual", "empty", "words"],
)
def test_round_trip(tmp_path: Path, trace: FrameTrace) -> None:
    with TraceWriter(tmp_path) as writer:
        writer.write(trace)
    assert_same(read_trace(tmp_path, trace.frame_index), trace)


def test_summary_is_strict_json_and_there_after_each_frame(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        for index in range(3):
            writer.write(replace(some_trace(index), part_agreement=float("nan")))
            lines = (tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()
            assert [json.loads(line, parse_constant=pytest.fail)["frame"] for line in lines] == list(range(index + 1))
    assert json.loads(lines[-1])["part_agreement"] is None
    assert json.loads(lines[-1])["gold"] == some_trace(2).role_counts()["gold"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000.npz", "000001.npz", "000002.npz", "trace.jsonl"]


def test_a_new_run_removes_the_frames_of_an_older_one_and_nothing_else(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        for index in range(4):
            writer.write(some_trace(index))
    (tmp_path / "notes.npz").write_bytes(b"mine")
    with TraceWriter(tmp_path) as writer:
        writer.write(some_trace(1))
    assert traced_frames(tmp_path) == [1]
    assert (tmp_path / "notes.npz").read_bytes() == b"mine"


def test_the_output_folder_of_a_run_will_do(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "trace") as writer:
        writer.write(some_trace(12))
    assert read_trace(str(tmp_path), 12).frame_index == 12


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no trace folder"):
        read_trace(tmp_path / "nowhere", 0)
    with pytest.raises(FormatError, match="no traced frame"):
        read_trace(tmp_path, 0)
    with TraceWriter(tmp_path) as writer:
        writer.write(some_trace(5))
        writer.write(some_trace(6))
    with pytest.raises(FormatError, match=r"no trace of frame 9 in .* 2 frames from 5 to 6"):
        read_trace(tmp_path, 9)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def test_a_trace_of_before_there_were_colours_has_no_votes_of_them(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        writer.write(some_trace(5))
    arrays = _arrays(tmp_path / "000005.npz")
    del arrays["colour_votes"]
    np.savez(tmp_path / "000005.npz", **arrays)  # type: ignore[arg-type]
    read = read_trace(tmp_path, 5)
    assert_same(read, replace(some_trace(5), colour_votes=np.zeros_like(read.combined_votes)))


@pytest.mark.parametrize("damage", ["cut", "text", "missing", "shapes", "crop", "state", "objects"])
def test_damage_is_a_format_error(tmp_path: Path, damage: str) -> None:
    with TraceWriter(tmp_path) as writer:
        writer.write(some_trace(5))
    path = tmp_path / "000005.npz"
    arrays = _arrays(path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-300])
    elif damage == "text":
        path.write_text("no archive")
    else:
        if damage == "missing":
            del arrays["polygon"]
        elif damage == "shapes":
            arrays["parts.roles"] = arrays["parts.roles"][:3]
        elif damage == "crop":
            arrays["crop"] = arrays["crop"][:5]
        elif damage == "state":
            arrays["state"] = np.array("sleeping")
        else:
            arrays["box"] = np.array([{"a": 1}], dtype=object)  # would need pickle to be read
        np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="is damaged"):
        read_trace(tmp_path, 5)
