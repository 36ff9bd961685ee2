"""Every odd input has a documented outcome, and the page that documents them is true."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_helpers import random_weights, real_weights, small_config
from torture import odd_inputs, odd_inputs_table
from torture.odd_case import Case, Expect, Kind, Outcome, judge, judge_error
from torture.odd_cases import all_cases
from torture.odd_child import in_child
from torture.odd_inputs_run import play, run_cases
from torture.odd_players import Ours
from torture.odd_scene import Answer, Seen, moving_scene
from tracking_parts import InvalidBoxError, Tracker, TrackingPartsError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "robustness.md"
CASES = all_cases()
IN_PROCESS = [key for key, case in CASES.items() if not case.alone]
ALONE = [key for key, case in CASES.items() if case.alone]
COMMITTED, VERSIONS = odd_inputs_table.load()


def small_player() -> Ours:
    return Ours(config=small_config(), weights=random_weights(), engine="torch")


@pytest.mark.parametrize("key", [key for key in IN_PROCESS if not key.startswith("OpenCV")])
def test_every_case_is_right_on_a_small_tracker(key: str) -> None:
    """Random weights tell textures apart badly, so that the object may be lost; what is refused is refused alike."""
    outcome = play(CASES[key], small_player, TrackingPartsError)
    committed = COMMITTED["ours"][key]
    if committed.kind is Kind.REFUSES or outcome.kind is Kind.REFUSES:
        assert outcome == committed
    assert outcome.survived, outcome


@pytest.mark.network
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", dict.fromkeys(case.group for case in CASES.values()))
def test_the_table_is_true_for_ours(group: str) -> None:
    """With the published weights and the default settings."""
    real_weights()
    pattern = Tracker()
    for key in (key for key in IN_PROCESS if CASES[key].group == group):
        outcome = play(CASES[key], lambda: Ours(pattern.another()), TrackingPartsError)
        assert outcome.kind is Kind.ABSENT or outcome == COMMITTED["ours"][key], key
        assert odd_inputs.is_right(key, outcome), key


@pytest.mark.network
@pytest.mark.timeout(600)
def test_forked_children_go_on() -> None:
    real_weights()
    for key, outcome in run_cases("ours", ALONE):
        assert outcome == COMMITTED["ours"][key]
        assert odd_inputs.is_right(key, outcome), key


def test_every_committed_outcome_of_ours_is_right() -> None:
    assert list(COMMITTED["ours"]) == list(CASES)
    assert all(odd_inputs.is_right(key, outcome) for key, outcome in COMMITTED["ours"].items())


def test_all_trackers_were_given_the_same_cases() -> None:
    assert set(COMMITTED) >= {"ours", "csrt", "kcf", "mil"}
    for tracker, found in COMMITTED.items():
        assert list(found) == list(CASES), tracker
        assert found["Ordinary: a box and frames as they should be"].kind is Kind.FOLLOWS, tracker


def test_the_page_shows_what_is_committed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert odd_inputs_table.insert(page, odd_inputs_table.render(COMMITTED, VERSIONS)) == page


def test_the_readme_gives_the_same_counts() -> None:
    readme = " ".join((PAGE.parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert odd_inputs_table.in_words(COMMITTED) in readme


def test_only_the_part_between_the_marks_is_replaced() -> None:
    page = f"before\n{odd_inputs_table.BEGIN}\nold\n{odd_inputs_table.END}\nafter\n"
    section = f"{odd_inputs_table.BEGIN}\nnew\n{odd_inputs_table.END}"
    assert odd_inputs_table.insert(page, section) == f"before\n{section}\nafter\n"
    assert odd_inputs_table.insert("before\n", section) == f"before\n\n{section}\n"


# ---------------------------------------------------------------------- the judge itself
def nothing(player: object) -> Seen:
    raise NotImplementedError


HERE, ELSEWHERE = (10.0, 10.0, 20.0, 20.0), (200.0, 100.0, 20.0, 20.0)


@pytest.mark.parametrize(
    ("expect", "answer", "truth", "kind"),
    [
        (Expect.FOLLOW, Answer(True, HERE), HERE, Kind.FOLLOWS),
        (Expect.FOLLOW, Answer(True, ELSEWHERE), HERE, Kind.WRONG),
        (Expect.FOLLOW, Answer(False, ELSEWHERE), HERE, Kind.SAYS_LOST),
        (Expect.ANSWER, Answer(True, ELSEWHERE), None, Kind.ANSWERS),
        (Expect.ANSWER, Answer(True, (math.nan, 1, 2, 3)), None, Kind.WRONG),
        (Expect.ANSWER, Answer(True, (1, 1, 0, 3)), None, Kind.WRONG),
        (Expect.ANSWER, Answer(True, (1000, 1, 9, 9)), None, Kind.WRONG),
        (Expect.ANSWER, Answer(True, HERE, "tracking", 1.5), None, Kind.WRONG),
        (Expect.REFUSE, Answer(True, HERE), None, Kind.WRONG),
        (Expect.DOUBT, Answer(True, HERE, "tracking"), None, Kind.WRONG),
        (Expect.DOUBT, Answer(True, HERE, "uncertain"), None, Kind.ANSWERS),
    ],
)
def test_answers_are_judged(expect: Expect, answer: Answer, truth: tuple[float, ...] | None, kind: Kind) -> None:
    seen = Seen(answer, (truth[0], truth[1], truth[2], truth[3]) if truth else None)
    assert judge(Case("group", "name", expect, nothing), seen).kind is kind


def test_only_own_errors_of_one_line_are_refusals() -> None:
    assert judge_error(InvalidBoxError("no box"), TrackingPartsError) == Outcome(
        Kind.REFUSES, "InvalidBoxError: no box"
    )
    assert judge_error(InvalidBoxError("no\nbox"), TrackingPartsError).kind is Kind.FOREIGN
    assert judge_error(ValueError("no box"), TrackingPartsError).kind is Kind.FOREIGN
    assert judge_error(ValueError("no box"), None).kind is Kind.REFUSES


def test_a_child_that_dies_or_hangs_is_told_from_one_that_answers() -> None:
    assert in_child(lambda: 7, 60) == 7
    with pytest.raises(ChildProcessError, match="SIGKILL"):
        in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), 60)
    with pytest.raises(TimeoutError):
        in_child(lambda: time.sleep(600), 0.2)
    with pytest.raises(InvalidBoxError, match="no box"):
        in_child(_raise_no_box, 60)


def _raise_no_box() -> None:
    raise InvalidBoxError("no box")


def test_the_part_of_the_torture_counts_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(tracker: str, keys: list[str], together: bool) -> Iterator[tuple[str, Outcome]]:
        yield keys[0], Outcome(Kind.FOLLOWS, "tracking")
        yield keys[1], Outcome(Kind.CRASHES, "SIGSEGV")

    monkeypatch.setattr(odd_inputs, "run_cases", played)
    assert [trial.survived for trial in odd_inputs.odd_inputs(60)] == [True, False]
    assert len(list(odd_inputs.odd_inputs(0))) == 1


def test_the_scene_moves() -> None:
    scene = moving_scene()
    assert (scene.frames[0] != scene.frames[1]).any()
    assert scene.boxes[0] != scene.boxes[1]
