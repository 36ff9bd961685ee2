"""Our side of TraX, the workspace for VOT's toolkit, and the toolkit's own test of the tracker."""

from __future__ import annotations

import configparser
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from synthetic import Image, SyntheticSequence, write_vot_folder
from tracking_parts.cli_vot import vot_app
from tracking_parts.errors import ConfigError, FormatError, OutputError, SourceError
from tracking_parts.geometry import Box
from tracking_parts.integrations import vot
from tracking_parts.integrations.vot_workspace import init_workspace, with_section
from tracking_parts.result import Result, State
from vot_toolkit import ROOT, run_vot, toolkit_python

SLANTED = ((14.0, 8.0), (32.0, 14.0), (26.0, 32.0), (8.0, 26.0))


@pytest.fixture
def trax() -> Any:
    return pytest.importorskip("trax")


class Follower:
    """Remembers what it is given; answers with a box that moves by 1 pixel, and a slanted polygon."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.frames: list[Image] = []

    def init(self, frame: Image, box: Box) -> Result:
        self.boxes.append(box)
        return self.update(frame)

    def update(self, frame: Image) -> Result:
        self.frames.append(frame)
        box = Box(self.boxes[-1].x + len(self.frames), 5, 20, 10)
        return Result(box, SLANTED, 0.75, State.TRACKING)


class ScriptedClient:
    """The client's side of a session: requests in order, and the answers to them."""

    def __init__(self, requests: list[Any]) -> None:
        self._requests: Iterator[Any] = iter(requests)
        self.answers: list[tuple[Any, dict[str, str]]] = []

    def wait(self) -> Any:
        return next(self._requests)

    def status(self, objects: list[tuple[Any, dict[str, str]]]) -> None:
        assert len(objects) == 1
        self.answers.append(objects[0])


def start(trax: Any, region: Any, image: Any) -> Any:
    return trax.server.Request(trax.TraxStatus.INITIALIZE, {"color": image}, [(region, {})], None)


def frame(trax: Any, image: Any) -> Any:
    return trax.server.Request(trax.TraxStatus.FRAME, {"color": image}, None, None)


def goodbye(trax: Any) -> Any:
    return trax.server.Request(trax.TraxStatus.QUIT, None, None, None)


def picture() -> Image:
    return np.arange(12 * 16 * 3, dtype=np.uint8).reshape(12, 16, 3)


def test_a_session(trax: Any) -> None:
    image = trax.MemoryImage.create(picture())
    rectangle = trax.Rectangle.create(3, 4, 20, 10)
    client, tracker = ScriptedClient([start(trax, rectangle, image), frame(trax, image), goodbye(trax)]), Follower()
    vot.answer_requests(client, tracker, "same", "area")
    assert tracker.boxes == [Box(3, 4, 20, 10)]
    assert [region.bounds() for region, _ in client.answers] == [(4, 5, 20, 10), (5, 5, 20, 10)]
    assert [told for _, told in client.answers] == [{"confidence": "0.750000"}] * 2


@pytest.mark.parametrize(
    ("kind", "given", "answered"),
    [
        ("same", "rectangle", "rectangle"),
        ("same", "polygon", "polygon"),
        ("polygon", "rectangle", "polygon"),
        ("rectangle", "polygon", "rectangle"),
    ],
)
def test_kind_of_the_answers(trax: Any, kind: vot.RegionKind, given: str, answered: str) -> None:
    regions = {"rectangle": trax.Rectangle.create(3, 4, 20, 10), "polygon": trax.Polygon.create(list(SLANTED))}
    image = trax.MemoryImage.create(picture())
    client = ScriptedClient([start(trax, regions[given], image), goodbye(trax)])
    vot.answer_requests(client, Follower(), kind, "area")
    [(region, _)] = client.answers
    assert region.type == answered
    if answered == "polygon":
        assert list(region) == list(SLANTED)


def test_boxes_to_start_from(trax: Any) -> None:
    slanted = trax.Polygon.create(list(SLANTED))
    assert vot.box_from_region(slanted, "enclosing") == Box(8, 8, 24, 24)
    by_area = vot.box_from_region(slanted, "area")
    assert by_area.centre == (20, 20)
    assert by_area.area == pytest.approx(360)  # of the square with sides (18, 6) and (-6, 18)
    outline = trax.Polygon.create([(0, 0), (6, 0), (9, 4), (6, 8), (0, 8)])
    assert vot.box_from_region(outline, "area") == Box(0, 0, 9, 8)
    with pytest.raises(FormatError, match="special"):
        vot.box_from_region(trax.Special.create(0), "area")


def test_images_in_all_forms(trax: Any, tmp_path: Path) -> None:
    bgr = picture()
    path = tmp_path / "frame.png"
    cv2.imwrite(str(path), bgr)
    as_pixels = trax.MemoryImage.create(np.ascontiguousarray(bgr[:, :, ::-1]))
    for image in (trax.FileImage.create(str(path)), trax.BufferImage.create(path.read_bytes()), as_pixels):
        assert np.array_equal(vot.read_image({"color": image}), bgr)
    with pytest.raises(SourceError, match=r"nowhere\.png"):
        vot.read_image({"color": trax.FileImage.create(str(tmp_path / "nowhere.png"))})
    with pytest.raises(FormatError, match="but depth"):
        vot.read_image({"depth": as_pixels})


def test_one_object_only(trax: Any) -> None:
    rectangle = trax.Rectangle.create(3, 4, 20, 10)
    with pytest.raises(FormatError, match="2 objects"):
        vot.the_only([(rectangle, {}), (rectangle, {})])


def test_unknown_choices_are_told() -> None:
    with pytest.raises(ConfigError, match="circle"):
        vot.check_choices("circle", "area")
    with pytest.raises(ConfigError, match="huge"):
        vot.check_choices("same", "huge")


def test_without_trax_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trax", None)
    with pytest.raises(ConfigError, match=r"tracking-parts\[vot\]"):
        vot.serve(Follower())


@contextmanager
def served() -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    """Our command in a process of its own, and TraX's own client connected to it."""
    client_module = pytest.importorskip("trax.client")
    command = [sys.executable, "-m", "tracking_parts.cli_vot", "serve", "--profile", "fast", "--threads", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        streams = (process.stdin.fileno(), process.stdout.fileno())
        yield client_module.Client(stream=streams, log=lambda text: None), process  # it cannot do without a log


def test_a_session_with_a_real_client(trax: Any, tmp_path: Path, moving_object: SyntheticSequence) -> None:
    """Start, frames, start again as after a failure, goodbye."""
    folder = write_vot_folder(tmp_path / "moving", moving_object) / "color"
    images = [{"color": trax.FileImage.create(str(path))} for path in sorted(folder.iterdir())]
    with served() as (client, process):
        assert client.tracker_name == "stp" and not client.get("multiobject")
        for _ in range(2):
            client.initialize(images[0], [(trax.Rectangle.create(*moving_object.boxes[0].xywh), {})], {})
            for index in (1, 2, 3):
                [(region, told)], _ = client.frame(images[index], {}, [])
                assert Box(*region.bounds()).overlap(moving_object.boxes[index]) > 0.5
                assert 0 < float(told["confidence"]) <= 1
        client.quit()
    assert process.returncode == 0


def test_what_goes_wrong_reaches_the_client_and_stderr(trax: Any) -> None:
    with served() as (client, process):
        with pytest.raises(trax.TraxException):
            client.initialize(
                {"color": trax.FileImage.create("/nowhere.png")}, [(trax.Rectangle.create(1, 1, 9, 9), {})], {}
            )
        assert process.stderr is not None
        last = process.stderr.read().decode().splitlines()[-1]
    assert last == "stp: the client's image cannot be read: /nowhere.png"
    assert process.returncode == 2


# ---------------------------------------------------------------------- the workspace
def read_trackers(folder: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(folder / "trackers.ini", encoding="utf-8")
    return parser


def test_workspace_of_a_protocol(tmp_path: Path) -> None:
    report = init_workspace(tmp_path / "ws", label="mine", arguments=["--set", "alpha=1"], protocol="vot2017")
    assert [path.name for path in report.written] == ["trackers.ini", "stack.yaml", "config.yaml"]
    section = read_trackers(tmp_path / "ws")["mine"]
    assert section["protocol"] == "trax"
    command = shlex.split(section["command"])
    assert command[0] == sys.executable
    assert command[-4:] == ["--label", "mine", "--set", "alpha=1"]
    stack = yaml.safe_load((tmp_path / "ws" / "stack.yaml").read_text(encoding="utf-8"))
    assert "dataset" not in stack  # the toolkit would fetch it
    baseline = stack["experiments"]["baseline"]
    assert (baseline["type"], baseline["skip_initialize"], baseline["failure_overlap"]) == ("supervised", 5, 0.0)
    assert {"type": "supervised_eao_score", "low": 100, "high": 356} in baseline["analyses"]
    [missing] = report.missing
    assert str(tmp_path / "ws" / "sequences" / "list.txt") in missing


def test_workspace_with_data(tmp_path: Path, vot_data: Path) -> None:
    """The synthetic folder has no file ``sequence``, which the toolkit would need: we say so."""
    report = init_workspace(tmp_path / "ws", data=vot_data)
    config = yaml.safe_load((tmp_path / "ws" / "config.yaml").read_text(encoding="utf-8"))
    assert config["sequences"] == str(vot_data)
    assert len(report.missing) == 2
    for name, text in zip(("moving", "growing"), report.missing, strict=True):
        assert str(vot_data / name / "sequence") in text


def test_data_that_are_not_there_are_told_and_not_made(tmp_path: Path) -> None:
    report = init_workspace(tmp_path / "ws", data=tmp_path / "typo")
    assert str(tmp_path / "typo" / "list.txt") in report.missing[0]
    assert not (tmp_path / "typo").exists()


def test_nothing_is_replaced_without_force(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    init_workspace(folder, arguments=["--profile", "fast"])
    (folder / "stack.yaml").write_text("title: mine\n", encoding="utf-8")
    with pytest.raises(OutputError, match="'stp' already"):
        init_workspace(folder)
    second = init_workspace(folder, label="second")
    assert {path.name for path in second.kept} == {"stack.yaml", "config.yaml"}
    assert read_trackers(folder).sections() == ["stp", "second"]
    assert (folder / "stack.yaml").read_text(encoding="utf-8") == "title: mine\n"
    forced = init_workspace(folder, force=True)
    assert not forced.kept
    assert "fast" not in read_trackers(folder)["stp"]["command"]
    assert set(read_trackers(folder).sections()) == {"stp", "second"}
    assert "supervised" in (folder / "stack.yaml").read_text(encoding="utf-8")


def test_other_trackers_and_comments_stay() -> None:
    ini = "# ours\n[other]\ncommand = x\n\n[stp]\ncommand = old\n"
    assert with_section(ini, "stp", "[stp]\ncommand = new\n", force=True) == (
        "# ours\n[other]\ncommand = x\n\n[stp]\ncommand = new\n"
    )
    assert with_section("", "stp", "[stp]\n", force=False) == "[stp]\n"


def test_bad_labels_and_protocols_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="my tracker"):
        init_workspace(tmp_path, label="my tracker")
    with pytest.raises(ConfigError, match="no resets"):
        init_workspace(tmp_path, protocol="ope")
    assert not list(tmp_path.iterdir())


def test_command_that_writes_a_workspace(tmp_path: Path) -> None:
    options = ["--profile", "fast", "--set", "alpha=1", "--threads", "2", "--region", "polygon"]
    done = CliRunner().invoke(vot_app, ["init", str(tmp_path / "ws"), *options])
    assert done.exit_code == 0, done.output
    assert f"vot evaluate --workspace {tmp_path / 'ws'} stp" in done.output
    assert "still missing" in done.output
    command = shlex.split(read_trackers(tmp_path / "ws")["stp"]["command"])
    served = "--profile fast --set alpha=1 --seed 0 --threads 2 --region polygon --init-box area"
    assert " ".join(command).endswith(f"serve --label stp {served}")
    again = CliRunner().invoke(vot_app, ["init", str(tmp_path / "ws"), "--label", "two"])
    assert "kept" in again.output


def test_a_wrong_setting_is_told_at_once(tmp_path: Path) -> None:
    done = CliRunner().invoke(vot_app, ["init", str(tmp_path / "ws"), "--set", "alpah=1"])
    assert isinstance(done.exception, ConfigError)
    assert not (tmp_path / "ws").exists()


@pytest.mark.timeout(600)
def test_the_toolkits_own_test(trax: Any, tmp_path: Path) -> None:
    """``vot test``: 50 frames of the toolkit's own synthetic sequence."""
    toolkit_python()
    init_workspace(tmp_path, arguments=["--profile", "fast", "--threads", "1"])
    said = run_vot("--registry", str(tmp_path), "test", "stp")
    assert "Test concluded successfuly" in said, said[-3000:]
    assert said.count("confidence=") >= 50
