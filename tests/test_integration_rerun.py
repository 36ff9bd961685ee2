"""Recordings for rerun's viewer, read back with rerun's own reader."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from cli_helpers import make_folder, make_video, use_fake_tracker
from rerun_reader import STATIC, read_rrd
from traces_for_viewers import some_picture, some_trace
from tracking_parts import Box, Result, State, cli
from tracking_parts.errors import ConfigError, OutputError
from tracking_parts.integrations import rerun as integration
from tracking_parts.integrations.rerun import RerunRecording, layout, places_in_image
from tracking_parts.trace import FrameTrace, PartsTrace
from tracking_parts.viewers.palette import ROLE_NAMES
from tracking_parts.voting import peak

rerun: Any = pytest.importorskip("rerun")

TRACES = (
    replace(some_trace(0, convnet_votes=False), frame_index=7, pathway_distance=float("nan")),
    replace(some_trace(1, state=State.LOST), frame_index=8),
)


def write(path: Path, traces: tuple[FrameTrace, ...] = TRACES, target: str = "cup") -> Path:
    with RerunRecording("clip", (target,), path=path, fps=25.0) as recording:
        for trace in traces:
            recording.write_frame(trace.frame_index, some_picture(64, 48, seed=trace.frame_index))
            recording.write_target(target, trace)
    return path


def picture_in(row: dict[str, Any]) -> Any:
    (content,) = row["EncodedImage:blob"]
    return cv2.imdecode(np.frombuffer(bytes(content), np.uint8), cv2.IMREAD_COLOR)


def map_in(row: dict[str, Any]) -> Any:
    (layout,), (content,) = row["DepthImage:format"], row["DepthImage:buffer"]
    return np.frombuffer(bytes(content), np.float32).reshape(layout["height"], layout["width"])


def test_frames_and_answers(tmp_path: Path) -> None:
    rows = read_rrd(write(tmp_path / "a.rrd"))
    for trace in TRACES:
        index, box = trace.frame_index, trace.result.box
        shown, given = picture_in(rows["/image"][index]), some_picture(64, 48, seed=index)
        assert np.abs(shown.astype(float) - given).mean() < 6  # JPEG's loss; blue and red in their places
        answer = rows["/image/cup/box"][index]
        assert answer["Boxes2D:centers"] == [pytest.approx(box.centre, abs=1e-3)]
        assert answer["Boxes2D:half_sizes"] == [pytest.approx((box.w / 2, box.h / 2), abs=1e-3)]
        assert answer["Boxes2D:labels"] == [f"cup {trace.result.state} {trace.result.confidence:.2f}"]
        (half,) = rows["/image/cup/window"][index]["Boxes2D:half_sizes"]
        assert half == pytest.approx([trace.window.width / 2, trace.window.height / 2])
    assert set(rows["/image"]) == {7, 8}
    seconds = [row["time"].total_seconds() for row in rows["/image"].values()]
    assert seconds == pytest.approx([7 / 25, 8 / 25])


def test_the_polygon_is_there_where_it_says_more_than_the_box(tmp_path: Path) -> None:
    slanted = ((10.0, 5.0), (30.0, 10.0), (25.0, 30.0), (5.0, 25.0))
    turned = replace(TRACES[0], result=Result(Box.around(slanted), slanted, 0.5, State.TRACKING))
    rows = read_rrd(write(tmp_path / "a.rrd", (turned, TRACES[1])))["/image/cup/polygon"]
    assert rows[7]["LineStrips2D:strips"] == [[list(corner) for corner in (*slanted, slanted[0])]]
    assert rows[8]["LineStrips2D:strips"] == []


def test_maps_and_their_peaks(tmp_path: Path) -> None:
    rows = read_rrd(write(tmp_path / "a.rrd"))
    for trace in TRACES:
        for name, votes, centre in (
            ("filter", trace.filter_votes, trace.filter_centre),
            ("convnet", trace.convnet_votes, trace.convnet_centre),
            ("colour", trace.colour_votes, peak(trace.colour_votes)),
            ("combined", trace.combined_votes, trace.centre),
        ):
            assert np.array_equal(map_in(rows[f"/maps/cup/{name}"][trace.frame_index]), votes)
            peaks = rows[f"/maps/cup/{name}/peak"][trace.frame_index]["Points2D:positions"]
            assert peaks == ([pytest.approx(np.add(centre, 0.5), abs=1e-4)] if votes.any() else [])
    assert rows["/maps/cup/convnet/peak"][7]["Points2D:positions"] == []


def test_parts_by_role(tmp_path: Path) -> None:
    rows = read_rrd(write(tmp_path / "a.rrd"))
    for trace in TRACES:
        parts, places = trace.parts, places_in_image(trace)
        for code, name in enumerate(ROLE_NAMES):
            row, chosen = rows[f"/image/cup/parts/{name}"][trace.frame_index], parts.roles == code
            assert chosen.any()
            assert np.allclose(row["Points2D:positions"], places[chosen], atol=1e-3)
            assert row["id"] == parts.ids[chosen].tolist()
            assert row["agreed"] == parts.agreed[chosen].tolist()
            assert row["strength"] == pytest.approx(parts.strengths[chosen].tolist())
            assert [radius == -3.0 for radius in row["Points2D:radii"]] == parts.agreed[chosen].tolist()


def test_a_part_lies_where_its_vote_and_offset_say() -> None:
    trace = TRACES[0]
    vote, offset = trace.parts.votes[3], trace.parts.offsets[3]
    expected = trace.window.image_from_map((float(vote[0] + offset[0]), float(vote[1] + offset[1])))
    assert places_in_image(trace)[3] == pytest.approx(expected, abs=1e-3)
    assert places_in_image(replace(trace, parts=PartsTrace.empty())).shape == (0, 2)


def test_series_have_gaps_where_there_is_no_value(tmp_path: Path) -> None:
    rows = read_rrd(write(tmp_path / "a.rrd"))
    for trace in TRACES:
        wanted = {"confidence": trace.result.confidence, "part_agreement": trace.part_agreement}
        wanted |= {f"parts/{name}": count for name, count in trace.role_counts().items()}
        for name, value in wanted.items():
            assert rows[f"/series/cup/{name}"][trace.frame_index]["Scalars:scalars"] == [pytest.approx(value)]
    distances = rows["/series/cup/pathway_distance"]
    assert set(distances) == {STATIC, 8}
    assert distances[8]["Scalars:scalars"] == [pytest.approx(TRACES[1].pathway_distance)]
    assert distances[STATIC]["SeriesLines:names"] == ["pathway distance"]


def test_changes_of_state_and_learning_are_logged(tmp_path: Path) -> None:
    quiet = tuple(replace(trace, events=()) for trace in (*TRACES, replace(TRACES[1], frame_index=9)))
    rows = read_rrd(write(tmp_path / "a.rrd", quiet))["/log/cup"]
    assert {index: row["TextLog:text"] for index, row in rows.items()} == {7: ["tracking"], 8: ["lost"]}
    learned = (replace(quiet[0], frame_index=6), replace(quiet[0], events=("added 31 candidates",)))
    rows = read_rrd(write(tmp_path / "b.rrd", learned))["/log/cup"]
    assert rows[7]["TextLog:text"] == ["added 31 candidates"]


def test_a_frame_without_parts_clears_those_before(tmp_path: Path) -> None:
    none = replace(TRACES[1], parts=PartsTrace.empty())
    rows = read_rrd(write(tmp_path / "a.rrd", (TRACES[0], none)))
    assert all(rows[f"/image/cup/parts/{name}"][8]["Points2D:positions"] == [] for name in ROLE_NAMES)


def test_the_viewer_gets_a_layout(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rrd")
    chunks = pytest.importorskip("rerun.chunk")
    assert len(chunks.RrdReader(str(path)).blueprints()) == 1


def test_every_map_that_is_written_has_a_view(tmp_path: Path) -> None:
    written = {path for path in read_rrd(write(tmp_path / "a.rrd")) if path.startswith("/maps/")}
    shown = views_in(layout(rerun, ("cup",)).root_container)
    assert {path for path in written if not path.endswith("/peak")} <= {view.origin for view in shown}


def views_in(container: Any) -> list[Any]:
    inner = getattr(container, "contents", None)
    if not isinstance(inner, (list, tuple)):
        return [container]
    return [view for part in inner for view in ([part] if hasattr(part, "origin") else views_in(part))]


@pytest.mark.parametrize("target", ["red car", "a/b", "Größe 3"])
def test_any_name_will_do(tmp_path: Path, target: str) -> None:
    rows = read_rrd(write(tmp_path / "a.rrd", target=target))
    path = f"/image/{rerun.escape_entity_path_part(target)}/box"
    assert rows[path][7]["Boxes2D:labels"][0].startswith(target)


# --------------------------------------------------------------------------- the command
def test_the_command_saves_it_with_the_numbers_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    use_fake_tracker(monkeypatch)
    out = tmp_path / "out"
    options = ["--start", "3", "--end", "8", "--rerun-save", "--no-video", "--label", "cup", "--trace"]
    source = str(make_video(tmp_path / "clip.mp4", 10))
    assert cli.run(["track", source, "--box", "10,12,20,16", "--out", str(out), *options]) == 0
    assert str(out / "recording.rrd") in capsys.readouterr().out
    rows = read_rrd(out / "recording.rrd")
    assert sorted(rows["/image"]) == [3, 4, 5, 6, 7]
    centres = [rows["/image/cup/box"][index]["Boxes2D:centers"][0] for index in range(3, 8)]
    assert centres == [pytest.approx([20 + step / 2, 20]) for step in range(5)]
    assert len(list((out / "trace").glob("*.npz"))) == 5


def test_a_run_that_breaks_keeps_its_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_tracker(monkeypatch)
    folder, out = make_folder(tmp_path / "f", 6), tmp_path / "out"
    (folder / "0004.png").write_bytes(b"no picture")
    assert cli.run(["track", str(folder), "--box", "9,9,9,9", "--out", str(out), "--rerun-save", "--no-video"]) == 1
    assert sorted(read_rrd(out / "recording.rrd")["/image"]) == [0, 1, 2, 3]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


@pytest.mark.filterwarnings("ignore:RRD file has no footer")  # it is ended by a signal
def test_a_viewer_elsewhere_receives_it_while_the_file_is_written(tmp_path: Path) -> None:
    """Rerun's own program stands for the viewer: it writes down what it receives."""
    program = shutil.which("rerun", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("rerun's program is not beside this Python")
    port, received, saved = free_port(), tmp_path / "received.rrd", tmp_path / "saved.rrd"
    command = [program, "--save", str(received), "--port", str(port)]
    # In a home of its own it is on its first run, and sends nothing about its use.
    environment = {**os.environ, "HOME": str(tmp_path)}
    quiet = subprocess.DEVNULL
    viewer = subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        wait_for(port)
        address = f"rerun+http://127.0.0.1:{port}/proxy"
        with RerunRecording("clip", ("cup",), path=saved, viewer=address) as recording:
            for trace in TRACES:
                recording.write_frame(trace.frame_index, some_picture(64, 48))
                recording.write_target("cup", trace)
        time.sleep(1)
    finally:
        os.killpg(viewer.pid, signal.SIGTERM)  # what answers to its name is a script that starts the program
        viewer.wait(20)
    assert sorted(read_rrd(saved)["/image"]) == [7, 8]
    there, here = read_rrd(received)["/image/cup/box"], read_rrd(saved)["/image/cup/box"]
    assert there == here


# --------------------------------------------------------------------------- what can go wrong
def test_without_a_display_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_fake_tracker(monkeypatch)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    out = tmp_path / "out"
    source = str(make_folder(tmp_path / "f", 2))
    assert cli.run(["track", source, "--box", "9,9,9,9", "--out", str(out), "--rerun"]) == 2
    assert "--rerun-save" in capsys.readouterr().err and not out.exists()
    monkeypatch.setenv("DISPLAY", ":0")
    integration.check_rerun(viewer=True)


def test_with_a_display_a_viewer_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, object]] = []
    monkeypatch.setattr(rerun.RecordingStream, "spawn", lambda self, **options: opened.append(options))
    monkeypatch.setattr(rerun, "GrpcSink", lambda: rerun.FileSink(str(tmp_path / "viewer.rrd")))
    with RerunRecording("clip", ("cup",), viewer=True) as recording:
        recording.write_frame(0, some_picture(64, 48))
    assert opened == [{"connect": False}]
    assert sorted(read_rrd(tmp_path / "viewer.rrd")["/image"]) == [0]


def test_without_rerun_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_fake_tracker(monkeypatch)
    monkeypatch.setitem(sys.modules, "rerun", None)
    source = str(make_folder(tmp_path / "f", 2))
    assert cli.run(["track", source, "--box", "9,9,9,9", "--out", str(tmp_path / "o"), "--rerun-save"]) == 2
    assert "tracking-parts[rerun]" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a\.rrd: Is a directory"):
        (tmp_path / "a.rrd").mkdir()
        write(tmp_path / "a.rrd")
    with pytest.raises(ConfigError, match="a file, a viewer or both"):
        RerunRecording("clip")
