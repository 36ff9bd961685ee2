"""Videos from which the object is truly absent, and what is told of a tracker that watches them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import benchmarks.absence
import torture.absence
from benchmarks.absence import figures, gather, main, table
from benchmarks.absence_cases import Case, cases_of, evidence_of, found_at, judge, learned_digest
from benchmarks.absent import ABSENT_FOR, KINDS, LENGTH, Absence, make_absent
from benchmarks.scenes import Scene, drawn_scene, sequence_scene
from benchmarks.textures import paste, random_texture
from core_helpers import random_weights, real_weights, small_config, small_tracker
from synthetic import moving_boxes, render_sequence, write_vot_folder
from tracking_parts import Box, Result, State, Tracker
from tracking_parts.io.sequences import read_sequence

SIZE = (160, 120)


def scene(interior: int, name: str = "scene") -> Scene:
    """The same scene but for what the object looks like inside."""
    random = np.random.default_rng(5)
    background, texture = random_texture(random, *SIZE), random_texture(random, 24, 20)
    texture[3:-3, 3:-3] = random_texture(np.random.default_rng(interior), 18, 14)
    boxes = moving_boxes(LENGTH, Box(30, 40, 24, 20), (0.15, 0.05))
    return Scene(name, [paste(background, texture, box) for box in boxes], boxes)


OTHER = drawn_scene(9, LENGTH, SIZE)


def made(kind: str, interior: int = 1) -> Absence:
    absence = make_absent(scene(interior), kind, OTHER)
    assert absence is not None
    return absence


# --------------------------------------------------------------------------- the videos
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_object_is_left_while_it_is_absent(kind: str) -> None:
    """Two objects that differ inside leave the same pictures; before and after they do not."""
    one, two = made(kind, 1), made(kind, 2)
    same = [np.array_equal(a, b) for a, b in zip(one.frames, two.frames, strict=True)]
    assert one.back - one.gone == ABSENT_FOR
    assert all(same[one.gone : one.back])
    assert not any(same[: one.seen]) and not any(same[one.shown :])


@pytest.mark.parametrize("kind", KINDS)
def test_the_object_comes_back_whole_elsewhere_and_where_it_is_said_to_be(kind: str) -> None:
    one, two = made(kind, 1), made(kind, 2)
    differs = np.any(one.frames[one.shown] != two.frames[one.shown], axis=2)
    rows, columns = np.nonzero(differs)
    box = one.boxes[one.shown]
    assert box.x + 2 <= columns.min() <= box.x + 6 and box.y + 2 <= rows.min() <= box.y + 6
    assert box.x + box.w - 6 <= columns.max() <= box.x + box.w and box.y + box.h - 6 <= rows.max() <= box.y + box.h
    last = one.boxes[one.seen - 1]
    assert np.hypot(box.centre[0] - last.centre[0], box.centre[1] - last.centre[1]) > 0.5 * np.sqrt(box.area)


def test_until_it_goes_nothing_is_changed() -> None:
    original = scene(1)
    for kind in set(KINDS) - {"pan"}:
        absence = made(kind)
        assert all(np.array_equal(a, b) for a, b in zip(absence.frames[:30], original.frames[:30], strict=True))


def test_an_object_that_fills_the_picture_cannot_be_panned_away_but_be_hidden() -> None:
    boxes = [Box(10, 10, 140, 100)] * LENGTH
    large = Scene("large", [random_texture(np.random.default_rng(0), *SIZE)] * LENGTH, boxes)
    assert make_absent(large, "pan", OTHER) is None
    absence = make_absent(large, "occluder", OTHER)
    assert absence is not None and not np.array_equal(absence.frames[absence.gone], large.frames[0])


def test_a_short_scene_turns_round() -> None:
    whole = scene(1)
    short = Scene("short", whole.frames[:32], whole.boxes[:32])
    absence = make_absent(short, "black", OTHER)
    assert absence is not None and len(absence.frames) == len(absence.boxes) == LENGTH - 12


def test_a_sequence_ends_where_its_object_is_not_visible(tmp_path: Path) -> None:
    rendered = render_sequence(moving_boxes(6))
    lines = [*(",".join(map(str, box.xywh)) for box in rendered.boxes[:4]), "nan,nan,nan,nan", "1,1,5,5"]
    found = sequence_scene(read_sequence(write_vot_folder(tmp_path / "a", rendered, lines)), 100)
    assert (len(found.frames), found.name) == (4, "a")
    assert found.boxes[3].overlap(rendered.boxes[3]) > 0.99


# --------------------------------------------------------------------------- what is told
def answers(absence: Absence, away: str, back_on: int) -> list[Result]:
    """On the object while it is seen and from ``back_on`` on, saying ``away`` in between."""
    states = {"t": State.TRACKING, "u": State.UNCERTAIN, "L": State.LOST}
    results = []
    for index, box in enumerate(absence.boxes):
        on_it = index < absence.gone or index >= back_on
        said = states[away[index - absence.gone]] if absence.gone <= index < absence.back else State.TRACKING
        where = box if on_it else Box(0, 0, 5, 5)
        results.append(Result(where, where.polygon, 0.9 if on_it else 0.1, said))
    return results


def test_when_it_was_said_to_be_lost_and_found() -> None:
    absence = made("black")
    config = small_config()
    case = judge(absence, answers(absence, "u" * 14 + "L" * 26, absence.back + 3), config)
    assert (case.lost_at, case.lost_in_time, case.found_at, case.followed, case.in_reach) == (15, True, 4, True, True)
    late = judge(absence, answers(absence, "u" * 15 + "L" * 25, absence.back + 18), config)
    assert (late.lost_at, late.lost_in_time, late.found_at) == (16, False, None)
    never = judge(absence, answers(absence, "t" * 40, absence.back), config)
    assert (never.lost_at, never.lost_in_time, never.found_at, never.states) == (None, False, 1, "t" * 40)


def test_a_glimpse_is_not_found() -> None:
    assert found_at([0.9, 0.9, 0.1, 0.9]) is None
    assert found_at([0.1, 0.31, 0.31, 0.31]) == 2


def test_what_comes_back_far_away_does_not_count() -> None:
    absence = made("black")
    far = replace(absence, boxes=[*absence.boxes[:-20], *[Box(120, 90, 24, 20)] * 20])
    case = judge(far, answers(far, "L" * 40, 10**6), small_config())
    assert not case.in_reach
    told = {figure.name: figure for figure in figures([case])}
    assert told["said lost within 15 frames"].verdict == "met"
    assert "0 cases" in told["found again within 20 frames"].measured


def case_with(lost: bool, found: bool, unsure: tuple[int, ...] = ()) -> Case:
    absence = made("cut")
    answered = answers(absence, "L" * 40 if lost else "t" * 40, absence.back if found else 10**6)
    return replace(judge(absence, answered, small_config()), learned=unsure, learned_unsure=unsure)


def test_the_figures_are_met_or_missed() -> None:
    good = [case_with(True, True)] * 9 + [case_with(False, False)]
    assert [figure.verdict for figure in figures(good)] == ["met", "met", "", "met"]
    bad = [case_with(True, True, (3,))] * 6 + [case_with(False, False)] * 4
    assert [figure.verdict for figure in figures(bad)] == ["missed", "missed", "", "missed"]
    assert "| cut | 10 | 60% | 40% | 6 | 10 | 60% |" in table(bad)
    unfollowed = replace(good[0], followed=False)
    assert figures([*good, unfollowed])[0].measured == "90% of 10 cases"


# --------------------------------------------------------------------------- with a tracker
def test_the_digest_changes_when_and_only_when_something_is_learned() -> None:
    video = scene(1)
    tracker = small_tracker(uncertain_below=0.25)  # random weights tell black from a texture badly
    tracker.init(video.frames[0], video.boxes[0])
    before = learned_digest(tracker.state())
    assert learned_digest(tracker.state()) == before
    frozen = tracker.update(np.zeros_like(video.frames[0]))
    assert frozen.state is not State.TRACKING
    assert learned_digest(tracker.state()) == before
    assert tracker.update(video.frames[1]).state is State.TRACKING
    assert learned_digest(tracker.state()) != before
    assert set(evidence_of(tracker)) >= {"part_agreement", "filter_strength"}


@pytest.mark.timeout(600)
def test_a_tracker_that_learns_while_unsure_is_caught() -> None:
    config = small_config(freeze_when_unsure=False)
    (case,) = cases_of(scene(1), OTHER, Tracker(config, weights=random_weights()), ["black"])
    assert case.learned_unsure and set(case.learned_unsure) <= set(case.learned)
    (frozen,) = cases_of(scene(1), OTHER, small_tracker(), ["black"])
    assert frozen.learned_unsure == ()
    assert frozen.followed and len(frozen.states) == len(frozen.confidences) == ABSENT_FOR


@pytest.mark.timeout(600)
def test_what_is_tracked_once_for_all_kinds_gives_what_each_alone_would() -> None:
    together = list(cases_of(scene(1), OTHER, small_tracker(), ["black", "cut"]))
    assert together[1] == next(cases_of(scene(1), OTHER, small_tracker(), ["cut"]))
    assert together == list(cases_of(scene(1), OTHER, small_tracker(), ["black", "cut"]))  # nothing is left to chance


@pytest.mark.timeout(600)
def test_the_part_of_the_torture(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_scene(*arguments: object) -> Iterator[Scene]:
        yield scene(1)

    monkeypatch.setattr(torture.absence, "Tracker", lambda seed: small_tracker(seed=seed))
    monkeypatch.setattr(torture.absence, "clip_scenes", one_scene)
    monkeypatch.setattr(torture.absence, "drawn_scenes", lambda *arguments: iter(()))
    monkeypatch.setattr(torture.absence, "use_threads", lambda: None)
    monkeypatch.setattr(torture.absence, "KINDS", ("black", "cut"))
    first = list(torture.absence.absence(0.0))
    assert [trial.what for trial in first] == ["black: learn nothing while unsure"] and first[0].survived
    monkeypatch.setattr(torture.absence, "ENOUGH", 2)
    everything = list(torture.absence.absence(1e6, seed=1))
    assert len(everything) == 2 + 3


def test_a_case_that_learned_while_unsure_is_lost() -> None:
    assert not torture.absence.idle_trial(case_with(True, True, (7,))).survived
    lost = [trial.what for trial in torture.absence.share_trials([case_with(False, True)]) if not trial.survived]
    assert lost == ["said lost within 15 frames"]


@pytest.mark.network
@pytest.mark.timeout(600)
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real_weights()  # skips where there are none
    monkeypatch.setattr(benchmarks.absence, "clip_scenes", lambda count: iter(()))
    write_vot_folder(tmp_path / "data" / "moving", render_sequence(moving_boxes(40, step=(0.5, 0.2))))
    out = tmp_path / "absence.json"
    told = main([f"--data={tmp_path / 'data'}", "--drawn=0", "--kinds", "black", "--threads=1", f"--out={out}"])
    assert told == 0
    assert "moving" in capsys.readouterr().out
    (case,) = json.loads(out.read_text(encoding="utf-8"))["cases"]
    assert (case["source"], case["kind"], len(case["confidences"])) == ("sequence", "black", ABSENT_FOR)
    assert len(case["evidence"]) == LENGTH - 12 - 1


def test_every_scene_is_cut_to_another() -> None:
    scenes = [("a", scene(1, "first")), ("b", scene(2, "second"))]
    assert [case.scene for _, case in gather(scenes, small_tracker(), ["black"])] == ["first", "second"]
