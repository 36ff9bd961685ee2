"""Where the time goes: charged to the right stage, the work counted right, the tracker none the wiser."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor

from cli_helpers import make_video
from core_helpers import follow, random_weights, small_config, small_tracker
from synthetic import SyntheticSequence
from tracking_parts import SourceError, Tracker, TrackerConfig, cli
from tracking_parts.features import FeatureExtractor, TorchTrunk
from tracking_parts.io.video import FrameSource
from tracking_parts.profiling.figures import Distribution, Profile
from tracking_parts.profiling.gemm import measure_gemm_peak
from tracking_parts.profiling.operations import CountedEngine, counted_operations, trunk_operations
from tracking_parts.profiling.picture import MOST_BARS, draw_profile
from tracking_parts.profiling.stages import (
    GROUPS,
    LEARNING_STEPS,
    STEPS,
    Amounts,
    Stage,
    StageMeter,
    metered_steps,
    run_metered,
)
from tracking_parts.profiling.video import count_operations, profile_video
from tracking_parts.threads import trunk_threads
from tracking_parts.vgg import layers_up_to

CPU = torch.device("cpu")
SVG = "{http://www.w3.org/2000/svg}"


def source_of(sequence: SyntheticSequence, count: int | None = None) -> FrameSource:
    return cast(FrameSource, iter(sequence.frames[:count]))


@contextmanager
def opened(sequence: SyntheticSequence, count: int | None = None) -> Iterator[FrameSource]:
    yield source_of(sequence, count)


def frame_of(**seconds: float) -> Amounts:
    return {stage: seconds.get(stage.name.lower(), 0.0) for stage in Stage}


def made_profile(frames: list[Amounts]) -> Profile:
    work = [frame_of(trunk=4e9, parts=1e9)] * len(frames)
    made_with = {"source": "a & b", "profile": "fast", "engine": "torch", "threads": 1}
    whole = 0.5 + sum(sum(frame.values()) for frame in frames)
    return Profile(made_with, frame_of(trunk=0.3, other=0.2), tuple(frames), tuple(work), 1e11, 1.5, whole)


# --------------------------------------------------------------------------- stages
class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def read(self) -> float:
        return self.now


def test_a_stage_is_charged_for_what_it_does_itself() -> None:
    clock = Clock()
    meter = StageMeter(clock.read)
    clock.now += 7  # nobody's
    with meter.stage(Stage.OTHER):
        clock.now += 1
        with meter.stage(Stage.PROJECT):
            clock.now += 2
            with meter.stage(Stage.TRUNK):
                clock.now += 4
            clock.now += 8
        with pytest.raises(ZeroDivisionError), meter.stage(Stage.VOTE):
            clock.now += 16
            raise ZeroDivisionError
        clock.now += 32
    assert meter.take() == frame_of(other=33, project=10, trunk=4, vote=16)
    assert meter.take() == frame_of()


def test_every_stage_belongs_to_one_group() -> None:
    assert sorted(stage for stages in GROUPS.values() for stage in stages) == sorted(Stage)
    assert set(Stage) == {*STEPS.values(), *LEARNING_STEPS.values(), Stage.DECODE, Stage.OTHER}


@pytest.mark.parametrize("update", ["hcf", "parallel"])
def test_watching_changes_nothing(update: str, moving_object: SyntheticSequence) -> None:
    with small_tracker(u=3) as plain:
        expected = [result.box for result in follow(plain, moving_object, 8)]
    with small_tracker(u=3, update=update) as tracker:
        before = dict(vars(tracker))
        with metered_steps(tracker, StageMeter(Clock().read)):
            assert vars(tracker).keys() == before.keys() | STEPS.keys()
            assert vars(tracker._learner).keys() >= LEARNING_STEPS.keys()
            found = [result.box for result in follow(tracker, moving_object, 8)]
        assert {name: vars(tracker)[name] for name in vars(tracker) if name in STEPS} == {
            "_extract": before["_extract"]
        }
        assert vars(tracker)["_learner"] is before["_learner"]
        assert vars(tracker._learner).keys().isdisjoint(LEARNING_STEPS)
    if update == "hcf":  # trained in the background, boxes depend on when
        assert found == expected
    assert len(found) == len(expected)


def test_every_step_is_charged(moving_object: SyntheticSequence) -> None:
    ticks = iter(range(10**9))
    with small_tracker(u=3) as tracker:
        frames = run_metered(
            tracker, moving_object.frames, moving_object.boxes[0], StageMeter(lambda: float(next(ticks)))
        )
    assert len(frames) == len(moving_object.frames)
    assert {stage for frame in frames[1:] for stage in Stage if frame[stage] > 0} == set(Stage)
    learning = [frame[Stage.LEARN_CONVNET] for frame in frames[1:]]
    assert learning[2] == learning[5] > learning[1]  # every U frames


# --------------------------------------------------------------------------- floating-point work
@pytest.mark.parametrize("taps", [("conv1_2",), ("conv2_1", "conv3_3"), ("conv4_3",)])
def test_the_trunks_work_is_what_torch_counts(taps: tuple[str, ...]) -> None:
    trunk = TorchTrunk(random_weights(), taps, CPU)
    with counted_operations() as counter:
        trunk(torch.rand(2, 3, 32, 48))
        assert counter.read() == 2 * trunk_operations(layers_up_to(taps), (32, 48))


class Unseen:
    """An engine that works where torch cannot see."""

    name = "unseen"

    def __init__(self, trunk: TorchTrunk, seen: Tensor) -> None:
        self._maps = trunk(seen)

    def __call__(self, rgb: Tensor) -> dict[str, Tensor]:
        return self._maps

    def expect_batches(self) -> None:
        raise NotImplementedError

    def side_by_side(self) -> AbstractContextManager[bool]:
        raise NotImplementedError


def test_engines_are_charged_alike() -> None:
    taps, picture = ("conv2_1",), torch.rand(1, 3, 32, 32)
    trunk = TorchTrunk(random_weights(), taps, CPU)
    expected = trunk(picture)["conv2_1"]
    for engine in (trunk, Unseen(trunk, picture)):
        with counted_operations() as counter:
            counted = CountedEngine(engine, layers_up_to(taps), counter)
            assert counted.name == engine.name
            assert torch.equal(counted(picture)["conv2_1"], expected)
            assert counter.read() == trunk_operations(layers_up_to(taps), (32, 32))


def test_solvers_and_transforms_count() -> None:
    matrix = torch.eye(12) * 3
    with counted_operations() as counter:
        torch.cholesky_inverse(torch.linalg.cholesky(matrix))
        assert counter.read() == 12**3
    with counted_operations() as counter:
        torch.fft.rfft2(torch.rand(3, 16, 32))
        assert counter.read() == pytest.approx(2.5 * 3 * 16 * 32 * math.log2(16 * 32))


def test_counting_covers_the_stages_and_leaves_the_tracker(moving_object: SyntheticSequence) -> None:
    with small_tracker(u=3, narrow_search=0.0) as tracker:
        engine = tracker._extract.engine
        frames = count_operations(tracker, source_of(moving_object, 6), moving_object.boxes[0])
        assert tracker._extract.engine is engine
        taps = tracker._extract.taps
    one_pass = trunk_operations(layers_up_to(taps), (64, 64))
    assert [frame[Stage.TRUNK] for frame in frames[1:]] == [one_pass] * 5
    assert all(frame[Stage.PARTS] > 0 and frame[Stage.CONVNET] > 0 for frame in frames[1:])
    assert all(frame[Stage.DECODE] == frame[Stage.CROP] == 0 for frame in frames)
    assert frames[3][Stage.LEARN_PARTS] > 0 == frames[1][Stage.LEARN_PARTS]
    assert frames[4][Stage.LEARN_CONVNET] > 0 == frames[1][Stage.LEARN_CONVNET]  # from the frame after on, in pieces
    assert frames[4][Stage.LEARN_PARTS] == 0


def test_the_peak_is_a_speed() -> None:
    assert 1e6 < measure_gemm_peak(0.02, sizes=(64, 128)) < 1e15


def test_the_extractor_knows_its_taps() -> None:
    assert FeatureExtractor(random_weights(), ["conv2_1", "conv1_1"], CPU).taps == ("conv2_1", "conv1_1")


# --------------------------------------------------------------------------- figures
def test_distribution() -> None:
    found = Distribution.of([float(value) for value in range(101)])
    assert (found.mean, found.median, found.p95, found.p99, found.worst) == (50, 50, 95, 99, 100)


def test_figures_of_a_profile() -> None:
    profile = made_profile([frame_of(trunk=0.05, parts=0.05), frame_of(trunk=0.05, parts=0.05, learn_parts=0.1)])
    assert profile.fps == pytest.approx(3 / 0.8)
    assert profile.frame_time.mean == pytest.approx(0.15) and profile.frame_time.worst == pytest.approx(0.2)
    stages = {one.stage: one for one in profile.stages}
    assert sum(one.share_of_time for one in stages.values()) == pytest.approx(1)
    assert stages[Stage.TRUNK].speed == pytest.approx(8e10)
    assert stages[Stage.TRUNK].share_of_peak == pytest.approx(0.8)
    assert stages[Stage.LEARN_PARTS].seconds.mean == pytest.approx(0.05)
    assert stages[Stage.BOX].share_of_peak == 0
    assert profile.total.operations == pytest.approx(5e9)
    values = json.loads(json.dumps(profile.to_dict()))
    assert values["frame_seconds"]["p99_over_median"] == pytest.approx(0.199 / 0.15)
    assert values["seconds_by_frame"]["learning: parts"] == [0, 0.1]
    assert values["stages"]["trunk"]["share_of_peak"] == pytest.approx(0.8)


def test_profile_of_a_video(moving_object: SyntheticSequence) -> None:
    peaks = iter([2e9, 3e9])
    profile = profile_video(
        lambda: small_tracker(u=3),
        lambda: opened(moving_object, 6),
        moving_object.boxes[0],
        made_with={"source": "moving"},
        measure_peak=lambda: next(peaks),
    )
    assert profile.peak == 3e9
    assert len(profile.frames) == len(profile.operations) == 5
    assert profile.whole_seconds > 0 and profile.start_seconds > 0 and min(profile.frame_seconds) > 0
    assert profile.made_with["source"] == "moving" and profile.made_with["engine"] in ("torch", "ncnn")
    assert profile.made_with["threads"] == trunk_threads()
    with pytest.raises(SourceError, match="at least two frames"):
        profile_video(small_tracker, lambda: opened(moving_object, 1), moving_object.boxes[0], measure_peak=lambda: 1.0)


# --------------------------------------------------------------------------- picture
def bars_of(profile: Profile) -> list[ElementTree.Element]:
    rectangles = ElementTree.fromstring(draw_profile(profile)).iter(f"{SVG}rect")
    return [one for one in rectangles if ", of it " in (one.findtext(f"{SVG}title") or "")]


def test_the_picture_stacks_every_frame() -> None:
    profile = made_profile([frame_of(trunk=0.03, parts=0.01), frame_of(trunk=0.03, learn_parts=0.05)])
    bars = bars_of(profile)
    assert [bar.get("class") for bar in bars] == ["stage-trunk", "stage-parts", "stage-trunk", "stage-learn-parts"]
    tops, heights = ([float(bar.get(side) or "") for bar in bars] for side in ("y", "height"))
    assert tops[0] == pytest.approx(tops[1] + heights[1], abs=0.2)  # parts stand on the trunk
    assert heights[1] / heights[0] == pytest.approx(1 / 3, abs=0.01)
    assert "a &amp; b · fast · engine torch · 1 thread · 3 frames" in draw_profile(profile)


def test_long_bars_are_cut_and_say_so() -> None:
    frames = [frame_of(trunk=0.03)] * 300 + [frame_of(trunk=3.0)]
    picture = ElementTree.fromstring(draw_profile(made_profile(frames)))
    cut = [one for one in picture.iter(f"{SVG}path") if one.get("class") == "cut"]
    assert [one.findtext(f"{SVG}title") for one in cut] == ["frame 301: 3000 ms"]
    assert all(float(one.get("y") or "0") >= 0 for one in picture.iter(f"{SVG}rect"))


def test_of_a_long_video_the_slowest_frames_show() -> None:
    frames = [frame_of(trunk=0.03)] * (2 * MOST_BARS)
    frames[501] = frame_of(vote=0.04)
    picture = draw_profile(made_profile(frames))
    assert len(bars_of(made_profile(frames))) == MOST_BARS
    assert "every bar is the slowest of 2 frames" in picture and "of it vote 40 ms" in picture


# --------------------------------------------------------------------------- the command
@pytest.fixture
def small_tracker_in_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: TrackerConfig, device: str, seed: int, engine: str) -> Tracker:
        return Tracker(small_config(alpha=config.alpha), seed=seed, weights=random_weights(), engine=engine)

    monkeypatch.setattr("tracking_parts.cli_run.make_tracker", make)


@pytest.mark.usefixtures("small_tracker_in_command")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    video, out = make_video(tmp_path / "clip.mp4", 8), tmp_path / "out"
    options = ["--box", "10,12,13,13", "--frames", "5", "--start", "1", "--engine", "torch", "--threads", "1"]
    assert cli.run(["profile", str(video), *options, "--set", "alpha=0.7", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    for stage in Stage:
        assert stage.value in shown.out
    assert "fps over 5 frames" in shown.out and "99th over median" in shown.out and "engine torch" in shown.out
    values = json.loads((out / "profile.json").read_text())
    assert values["frames"] == 5 and values["config"]["alpha"] == 0.7 and values["engine"] == "torch"
    assert values["source"] == "clip" and values["threads"] == 1 and len(values["seconds_by_frame"]["trunk"]) == 4
    ElementTree.parse(out / "profile.svg")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["0", "--box", "1,2,30,40"], "0 is no file or folder"),
        (["CLIP"], "say --box"),
        (["CLIP", "--box", "1,2,30,40", "--engine", "abacus"], "abacus"),
        (["CLIP", "--box", "1,2,30,40", "--set", "nonsense=1"], "unknown setting nonsense"),
    ],
)
def test_bad_input(arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = make_video(tmp_path / "clip.mp4", 3)
    out = tmp_path / "out"
    given = [str(clip) if word == "CLIP" else word for word in arguments]
    assert cli.run(["profile", *given, "--out", str(out)]) == 2
    assert complaint.lower() in capsys.readouterr().err.lower()
    assert not out.exists()
