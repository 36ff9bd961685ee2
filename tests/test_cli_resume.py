"""``stp track --resume`` with the stand-in for the tracker; with the real one it is in test_faults_kills.py."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from cli_helpers import FakeTracker, make_folder, use_fake_tracker
from tracking_parts import cli
from tracking_parts.checkpoints import FOLDER
from tracking_parts.tracker_state import TrackerState


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTracker:
    fake = use_fake_tracker(monkeypatch)

    def save(path: Path) -> None:
        TrackerState({"frame_index": fake._count}, {}).save(path)

    monkeypatch.setattr(fake, "save", save)
    return fake


def track(folder: Path, out: Path, *options: str) -> int:
    return cli.run(["track", str(folder), "--box", "9,9,9,9", "--out", str(out), "--format", "csv", *options])


def texts_in(out: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in out.glob("boxes*")}


def test_a_run_that_was_stopped_is_resumed_and_its_files_are_whole(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "f", 12)
    assert track(folder, tmp_path / "whole", "--trace") == 0
    fake.signal_at = (5, signal.SIGTERM)
    out = tmp_path / "out"
    assert track(folder, out, "--trace") == 143
    assert (out / FOLDER / "state.safetensors").is_file()
    fake.signal_at = None
    assert track(folder, out, "--trace", "--resume") == 0
    assert "stp: resuming after frame 5" in capsys.readouterr().err
    assert texts_in(out) == texts_in(tmp_path / "whole")
    assert (out / "trace" / "trace.jsonl").read_text() == (tmp_path / "whole/trace/trace.jsonl").read_text()
    assert not (out / FOLDER).exists(), "a run that is through needs no checkpoint"


def test_a_resumed_run_that_is_stopped_at_once_can_be_resumed_again(fake: FakeTracker, tmp_path: Path) -> None:
    folder, out = make_folder(tmp_path / "f", 12), tmp_path / "out"
    fake.signal_at = (8, signal.SIGINT)
    assert track(folder, out) == 130
    fake.signal_at = (10, signal.SIGINT)
    assert track(folder, out, "--resume") == 130
    fake.signal_at = None
    assert track(folder, out, "--resume") == 0
    assert [json.loads(line)["frame"] for line in (out / "boxes.jsonl").read_text().splitlines()] == list(range(12))


def test_without_a_checkpoint_it_starts_afresh(
    fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder(tmp_path / "f", 6), tmp_path / "out"
    assert track(folder, out, "--resume") == 0
    assert "nothing to resume: starting afresh" in capsys.readouterr().err
    fake.signal_at = (3, signal.SIGINT)
    assert track(folder, out, "--checkpoint", "0") == 130
    assert "--resume" not in capsys.readouterr().err
    assert not (out / FOLDER).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", "4"], "cannot resume: seed differ"),
        (["--set", "alpha=1", "--start", "1"], "cannot resume: start, config differ"),
        (["--rerun-save"], "cannot resume a recording for rerun"),
    ],
)
def test_another_run_is_not_resumed(
    options: list[str], words: str, fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = make_folder(tmp_path / "f", 8), tmp_path / "out"
    fake.signal_at = (3, signal.SIGINT)
    assert track(folder, out) == 130
    assert track(folder, out, "--resume", *options) == 2
    assert words in capsys.readouterr().err


def test_a_camera_cannot_be_resumed(fake: FakeTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracking_parts.cli_run import TrackRequest
    from tracking_parts.output_files import OutputChoice

    outputs = OutputChoice(tmp_path)
    assert TrackRequest("0", (), outputs).is_live and TrackRequest("rtsp://a/b", (), outputs).is_live
    assert not TrackRequest("0.mp4", (), outputs).is_live


def test_a_damaged_checkpoint_is_named(fake: FakeTracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = make_folder(tmp_path / "f", 8), tmp_path / "out"
    fake.signal_at = (3, signal.SIGINT)
    assert track(folder, out) == 130
    rows = out / FOLDER / "rows.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:2]))
    assert track(folder, out, "--resume") == 2
    assert "is damaged: it has 2 rows and not 4" in capsys.readouterr().err


def test_a_checkpoint_that_cannot_be_saved_does_not_stop_the_run(
    fake: FakeTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fake, "save", full)
    assert track(make_folder(tmp_path / "f", 6), tmp_path / "out", "--checkpoint", "0.000001") == 0
    assert "what --resume goes on from was not saved: " in capsys.readouterr().err
