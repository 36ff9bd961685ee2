"""The command with a fast stand-in for the tracker: files, tables, endings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

import tracking_parts
from cli_helpers import FakeTracker, make_folder, make_video, use_fake_tracker
from tracking_parts import cli
from tracking_parts.config import PROFILES, TrackerConfig
from tracking_parts.io.track_files import TRACK_FORMATS
from tracking_parts.io.video import open_source
from tracking_parts.output_files import _NAMES
from tracking_parts.threads import trunk_threads
from tracking_parts.versions import versions


def frames_in(path: Path) -> int:
    with open_source(path) as source:
        return sum(1 for _ in source)


def boxes_in(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "boxes.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTracker:
    return use_fake_tracker(monkeypatch)


# --------------------------------------------------------------------------- stp track
def test_track_writes_everything_that_was_asked_for(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video, out = make_video(tmp_path / "clip.mp4", 12), tmp_path / "out"
    formats = [word for name in TRACK_FORMATS for word in ("--format", name)]
    options = ["--box", "10,12,20,16", "--out", str(out), "--trace", "--save-state", "--contact-sheet", *formats]
    assert (
        cli.run(
            ["track", str(video), *options, "--set", "alpha=0.7", "--seed", "5", "--label", "cup", "--engine", "torch"]
        )
        == 0
    )

    assert [row["frame"] for row in boxes_in(out)] == list(range(12))
    assert boxes_in(out)[0]["box"] == [10, 12, 20, 16]
    assert frames_in(out / "annotated.mp4") == 12
    assert len((out / "boxes_otb.txt").read_text().splitlines()) == 12
    assert len((out / "boxes_vot.txt").read_text().splitlines()) == 12
    assert len((out / "boxes_mot.txt").read_text().splitlines()) == 12
    assert len((out / "boxes.csv").read_text().splitlines()) == 13
    assert len(ElementTree.parse(out / "boxes_cvat.xml").findall(".//box")) >= 12
    assert len(list((out / "trace").glob("*.npz"))) == 12
    assert cv2.imread(str(out / "contact_sheet.png")) is not None
    assert (out / "state.safetensors").exists()

    settings = json.loads((out / "config.json").read_text())
    assert settings["config"]["alpha"] == 0.7 and settings["seed"] == 5 and settings["engine"] == "torch"
    assert settings["box"] == [10, 12, 20, 16] and settings["source"] == str(video)
    assert TrackerConfig.from_dict(settings["config"]).alpha == 0.7
    assert settings["versions"] == versions()
    assert fake.config is not None and fake.config.alpha == 0.7 and fake.seed == 5
    assert fake.closed

    shown = capsys.readouterr()
    assert "12 (numbers 0 to 11)" in shown.out and "fps" in shown.out
    assert "tracking 67%, uncertain 25%, lost 8%" in shown.out
    for name in (*_NAMES.values(), "annotated.mp4", "contact_sheet.png", "config.json", "state.safetensors", "trace"):
        assert str(out / name) in shown.out, name
    assert "\x1b" not in shown.out + shown.err  # no control codes without a terminal
    assert "clip: frame 11 (12 " in shown.err.splitlines()[-1]


def test_every_format_has_a_file_name() -> None:
    assert set(_NAMES) == set(TRACK_FORMATS)
    assert len(set(_NAMES.values())) == len(_NAMES)


def test_what_was_not_asked_for_is_not_written(fake: FakeTracker, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        cli.run(["track", str(make_folder(tmp_path / "f", 3)), "--box", "8,8,9,9", "--out", str(out), "--no-video"])
        == 0
    )
    assert sorted(path.name for path in out.iterdir()) == ["boxes.jsonl", "config.json"]


def test_start_and_end_keep_the_numbers_of_the_source(fake: FakeTracker, tmp_path: Path) -> None:
    video, out = make_video(tmp_path / "clip.mp4", 10), tmp_path / "out"
    options = ["--start", "3", "--end", "7", "--trace", "--no-video"]
    assert cli.run(["track", str(video), "--box", "9,9,9,9", "--out", str(out), *options]) == 0
    assert [row["frame"] for row in boxes_in(out)] == [3, 4, 5, 6]
    assert sorted(path.name for path in (out / "trace").glob("*.npz"))[0] == "000003.npz"


def test_cvat_counts_in_the_whole_source(fake: FakeTracker, tmp_path: Path) -> None:
    """Of a part, too: the box is taken away after its last frame, unless that is the source's last one."""
    source = str(make_folder(tmp_path / "clip", 10))
    for end, hidden in (("7", ["7"]), ("10", [])):
        out = tmp_path / end
        options = ["--start", "5", "--end", end, "--format", "cvat", "--no-video"]
        assert cli.run(["track", source, "--box", "9,9,9,9", "--out", str(out), *options]) == 0
        root = ElementTree.parse(out / "boxes_cvat.xml")
        assert root.findtext("meta/task/size") == "10"
        boxes = [(box.get("frame"), box.get("outside")) for box in root.findall(".//box")]
        shown = [str(index) for index in range(5, int(end))]
        assert [frame for frame, _ in boxes] == shown + hidden
        assert [boxes[-1]] == [(frame, "1") for frame in hidden] or not hidden


def test_a_sequence_starts_from_its_ground_truth(fake: FakeTracker, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "seq", 4)
    (folder / "groundtruth.txt").write_text("".join(f"{5 + i},6,20,10\n" for i in range(4)))
    assert cli.run(["track", str(folder), "--out", str(tmp_path / "a"), "--no-video"]) == 0
    assert boxes_in(tmp_path / "a")[0]["box"] == [5, 6, 20, 10]
    assert cli.run(["track", str(folder), "--out", str(tmp_path / "b"), "--no-video", "--start", "2"]) == 0
    assert boxes_in(tmp_path / "b")[0]["box"] == [7, 6, 20, 10]
    assert cli.run(["track", str(folder), "--out", str(tmp_path / "c"), "--no-video", "--box", "1,2,30,40"]) == 0
    assert boxes_in(tmp_path / "c")[0]["box"] == [1, 2, 30, 40]


def test_grey_and_16_bit_pictures_are_tracked_and_drawn_on(fake: FakeTracker, tmp_path: Path) -> None:
    folder = tmp_path / "grey"
    folder.mkdir()
    for index in range(3):
        cv2.imwrite(str(folder / f"{index}.png"), np.full((48, 64), 200 * 256, np.uint16))
    assert cli.run(["track", str(folder), "--box", "9,9,9,9", "--out", str(tmp_path / "out")]) == 0
    assert frames_in(tmp_path / "out" / "annotated.mp4") == 3


def test_threads_are_set(fake: FakeTracker, tmp_path: Path) -> None:
    options = ["--box", "9,9,9,9", "--out", str(tmp_path / "out"), "--no-video", "--threads", "3"]
    assert cli.run(["track", str(make_folder(tmp_path / "f", 2)), *options]) == 0
    assert trunk_threads() == 3
    assert json.loads((tmp_path / "out" / "config.json").read_text())["threads"] == 3


def test_a_video_that_breaks_midway_keeps_what_was_tracked(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder(tmp_path / "f", 6), tmp_path / "out"
    (folder / "0004.png").write_bytes(b"no picture")
    options = ["--box", "9,9,9,9", "--out", str(out), "--format", "cvat", "--save-state"]
    assert cli.run(["track", str(folder), *options]) == 1
    assert len(boxes_in(out)) == 4
    assert frames_in(out / "annotated.mp4") == 4
    assert ElementTree.parse(out / "boxes_cvat.xml").findall(".//box")
    shown = capsys.readouterr()
    (line,) = [line for line in shown.err.splitlines() if line.startswith("stp:")]
    picture = folder / "0004.png"
    assert line == (
        f"stp: stopped at frame 4: f broke: {picture} is damaged or no image; the files hold frames 0 to 3; "
        "--resume goes on from there"
    )
    assert "4 (numbers 0 to 3)" in shown.out


def test_frames_that_change_size_end_the_run_like_a_break(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder(tmp_path / "f", 4), tmp_path / "out"
    cv2.imwrite(str(folder / "0002.png"), np.zeros((30, 30, 3), np.uint8))
    assert cli.run(["track", str(folder), "--box", "9,9,9,9", "--out", str(out)]) == 1
    assert "stopped at frame 2" in capsys.readouterr().err
    assert len(boxes_in(out)) == 2


def test_a_full_disk_ends_the_run_like_a_break(
    fake: FakeTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tracking_parts.io.trace_files import TraceWriter

    whole = TraceWriter.write

    def full(self: TraceWriter, trace: tracking_parts.FrameTrace) -> None:
        if trace.frame_index == 3:
            raise OSError(28, "No space left on device", "trace")
        whole(self, trace)

    monkeypatch.setattr(TraceWriter, "write", full)
    options = ["--box", "9,9,9,9", "--out", str(tmp_path / "out"), "--trace"]
    assert cli.run(["track", str(make_folder(tmp_path / "f", 5)), *options]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert "stopped at frame 3" in line and "No space left" in line


def test_a_state_that_cannot_be_saved_costs_nothing_else(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / "state.safetensors").mkdir(parents=True)
    options = ["--box", "9,9,9,9", "--out", str(out), "--save-state", "--no-video"]
    assert cli.run(["track", str(make_folder(tmp_path / "f", 3)), *options]) == 1
    shown = capsys.readouterr()
    assert "3 (numbers 0 to 2)" in shown.out and "tracker's state" not in shown.out
    assert shown.err.splitlines()[-1].startswith("stp: the tracker's state was not saved: ")


def test_a_defect_shows_its_traceback(fake: FakeTracker, tmp_path: Path) -> None:
    fake.fail_at = 2
    with pytest.raises(ZeroDivisionError):
        cli.run(["track", str(make_folder(tmp_path / "f", 5)), "--box", "9,9,9,9", "--out", str(tmp_path / "out")])
    assert len(boxes_in(tmp_path / "out")) == 2  # and the files were closed all the same


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_valid_files_and_says_so(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    fake.signal_at = (4, number)
    out = tmp_path / "out"
    options = ["--box", "9,9,9,9", "--out", str(out), "--format", "cvat"]
    assert cli.run(["track", str(make_folder(tmp_path / "f", 40)), *options]) == 128 + number
    assert len(boxes_in(out)) == 5  # the frame in hand is finished
    assert frames_in(out / "annotated.mp4") == 5
    assert ElementTree.parse(out / "boxes_cvat.xml").findall(".//box")
    words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    line = f"stp: {words}; the files hold frames 0 to 4; --resume goes on from there"
    assert capsys.readouterr().err.splitlines()[-1] == line
    assert signal.getsignal(number) == before


def test_a_second_interrupt_stops_at_once(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.signal_at = (4, signal.SIGINT)
    fake.signals = 2
    out = tmp_path / "out"
    assert cli.run(["track", str(make_folder(tmp_path / "f", 40)), "--box", "9,9,9,9", "--out", str(out)]) == 130
    assert len(boxes_in(out)) == 4  # the frame in hand was given up
    assert frames_in(out / "annotated.mp4") == 4
    assert "the files hold frames 0 to 3" in capsys.readouterr().err


# --------------------------------------------------------------------------- the other commands
def test_demo_tracks_the_clip_and_says_where_the_files_are(
    fake: FakeTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = make_video(tmp_path / "clip.mp4", 26)
    monkeypatch.setattr("tracking_parts.io.clips.fetch_clip", lambda name, progress: clip)
    monkeypatch.setattr(cli, "DEMO_BOX", (9.0, 9.0, 9.0, 9.0))
    out = tmp_path / "demo"
    assert cli.run(["demo", "--out", str(out)]) == 0
    assert {"annotated.mp4", "contact_sheet.png", "boxes.jsonl"} <= {path.name for path in out.iterdir()}
    assert boxes_in(out)[0]["frame"] == cli.DEMO_START
    shown = capsys.readouterr().out
    assert str(out / "contact_sheet.png") in shown and str(out / "annotated.mp4") in shown


def test_explain_draws_a_traced_frame(fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    options = ["--box", "9,9,9,9", "--out", str(out), "--trace", "--no-video"]
    assert cli.run(["track", str(make_folder(tmp_path / "f", 4)), *options]) == 0
    capsys.readouterr()
    assert cli.run(["explain", str(out), "--frame", "2"]) == 0
    assert capsys.readouterr().out.strip() == str(out / "explain_000002.png")
    picture = cv2.imread(str(out / "explain_000002.png"))
    assert picture is not None and picture.shape == (900, 1600, 3)
    assert cli.run(["explain", str(out / "trace"), "--frame", "2", "--out", str(tmp_path / "p.jpg")]) == 0
    assert cv2.imread(str(tmp_path / "p.jpg")) is not None


def test_profiles_show_every_setting_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["profiles"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in (*PROFILES, *TrackerConfig.profile("default").to_dict()))
    assert "end_to_end" in shown
    assert cli.run(["profiles", "fast"]) == 0
    shown = capsys.readouterr().out
    assert "paper" not in shown.splitlines()[0] and "fast" in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert tracking_parts.__version__ in capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["track"], ["demo"], ["weights"], ["explain"], ["profiles"], ["bench"]])
def test_help_is_there_and_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: stp" in shown
    assert command in ([], ["bench"]) or "Example" in shown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["track"], "A video, a folder of images, a VOT or OTB sequence folder, or a camera's number. [required]"),
        (["explain"], "The folder of a run that was made with --trace. [required]"),
        (["profiles"], "[NAME] One profile; all three side by side if not given."),
        (["bench", "run"], "identity, or package.module:Class. [required]"),
    ],
)
def test_help_describes_the_arguments(command: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*command, "--help"]) == 0
    panel = capsys.readouterr().out.partition("Arguments")[2].partition("Options")[0]
    assert words in " ".join(panel.replace("│", " ").split())


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 0
    assert "track" in capsys.readouterr().out


def test_the_command_starts_without_torch_or_opencv() -> None:
    code = "import sys, tracking_parts.cli as c; c.run(['--help']); print({'torch', 'cv2', 'av'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
