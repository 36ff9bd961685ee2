"""Bad input: one clear line on stderr, exit code 2, never a traceback, and no files left behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli_helpers import make_folder, make_video, use_fake_tracker
from tracking_parts import cli
from tracking_parts.errors import WeightsError


def error_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command complains with."""
    assert cli.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("stp: ")
    return line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    use_fake_tracker(monkeypatch)
    return str(make_folder(tmp_path / "frames", 3))


BOX = ["--box", "9,9,9,9"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--box", "1,2,3"], "four numbers x,y,w,h, not '1,2,3'"),
        (["--box", "1,2,3,4,5"], "four numbers"),
        (["--box", "a,b,c,d"], "four numbers"),
        (["--box", ""], "four numbers"),
        (["--box", "nan,2,3,4"], "not finite"),
        (["--box", "1,2,inf,4"], "not finite"),
        (["--box", "10,10,0,5"], "empty"),
        (["--box", "10,10,5,-3"], "empty"),
        (["--box", "500,10,20,20"], "outside the frame"),
        (["--box", "-90,-90,20,20"], "outside the frame"),
        ([], "--box x,y,w,h"),
        ([*BOX, "--profile", "quick"], "unknown profile 'quick'"),
        ([*BOX, "--set", "colour=3"], "unknown setting colour"),
        ([*BOX, "--set", "alpha"], "name=value"),
        ([*BOX, "--set", "alpha=9"], "alpha = 9"),
        ([*BOX, "--set", "alpha=high"], "alpha"),
        ([*BOX, "--format", "yaml"], "unknown format 'yaml': there are otb"),
        ([*BOX, "--device", "abacus"], "the device 'abacus' cannot be used here"),
        ([*BOX, "--threads", "0"], "--threads"),
        ([*BOX, "--threads", "two"], "--threads"),
        ([*BOX, "--start", "-1"], "--start"),
        ([*BOX, "--start", "2", "--end", "2"], "--end 2 leaves no frame after --start 2"),
        ([*BOX, "--start", "30"], "30"),
        ([*BOX, "--sneed", "3"], "--sneed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    out = tmp_path / "out"
    assert words in error_line(["track", folder, "--out", str(out), *options], capsys)
    assert not list(out.glob("boxes*")) and not list(out.glob("*.mp4"))


def test_missing_source(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing.mp4" in error_line(["track", str(tmp_path / "nothing.mp4"), *BOX], capsys)


def test_broken_source(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(make_video(tmp_path / "good.mp4", 4).read_bytes()[:60])
    assert "broken.mp4" in error_line(["track", str(broken), *BOX, "--out", str(tmp_path / "o")], capsys)
    broken.write_text("this is no video")
    assert "broken.mp4" in error_line(["track", str(broken), *BOX, "--out", str(tmp_path / "o")], capsys)


def test_folder_without_pictures(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty" in error_line(["track", str(tmp_path / "empty"), *BOX, "--out", str(tmp_path / "o")], capsys)


def test_a_first_picture_that_is_broken(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (Path(folder) / "0000.png").write_bytes(b"no picture")
    assert "0000.png" in error_line(["track", folder, *BOX, "--out", str(tmp_path / "o")], capsys)


def test_out_is_a_file(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in error_line(["track", folder, *BOX, "--out", str(tmp_path / "file")], capsys)
    assert "file" in error_line(["track", folder, *BOX, "--out", str(tmp_path / "file" / "inner")], capsys)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_out_cannot_be_written(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert "Permission denied" in error_line(["track", folder, *BOX, "--out", str(locked)], capsys)
    assert "Permission denied" in error_line(["track", folder, *BOX, "--out", str(locked / "inner")], capsys)


def test_out_that_refuses_is_noticed_before_tracking(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    assert "Permission denied" in error_line(["track", folder, *BOX, "--out", str(tmp_path / "out")], capsys)


def test_a_file_that_cannot_be_written_is_noticed_before_tracking(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "boxes.jsonl").mkdir(parents=True)
    assert "boxes.jsonl" in error_line(["track", folder, *BOX, "--out", str(tmp_path / "out")], capsys)


def test_explain_without_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no trace folder" in error_line(["explain", str(tmp_path / "x"), "--frame", "1"], capsys)
    assert "no traced frame" in error_line(["explain", str(tmp_path), "--frame", "1"], capsys)
    assert "--frame" in error_line(["explain", str(tmp_path)], capsys)


def test_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown profile 'quick'" in error_line(["profiles", "quick"], capsys)
    assert "dance" in error_line(["dance"], capsys)
    assert "SOURCE" in error_line(["track"], capsys)


def test_weights_that_cannot_be_had(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STP_CACHE", str(tmp_path / "cache"))
    assert "none.npz" in error_line(["weights", "--source", str(tmp_path / "none.npz")], capsys)

    def refuse(source: str | None = None, *, progress: object = None) -> None:
        raise WeightsError("no weights:\nconnect, or say stp weights --source PATH")

    monkeypatch.setattr("tracking_parts.io.weights.load_weights", refuse)
    line = error_line(["weights"], capsys)
    assert line == "stp: no weights: connect, or say stp weights --source PATH"
