"""Threads: how they wait, and how many there are."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cv2
import pytest
import torch

from core_helpers import random_weights, small_config
from synthetic import SyntheticSequence
from tracking_parts import BusyError, Tracker
from tracking_parts.features import TorchTrunk
from tracking_parts.threads import (
    MOST_THREADS,
    OneAtATime,
    Watch,
    _alone,
    available_processors,
    default_threads,
    in_forked_child,
    one_after_another,
    side_by_side,
    threads_after_fork,
    trunk_threads,
    use_threads,
    wait_briefly,
    with_idle_hands,
    work_alone,
)
from tracking_parts.trunk_engines import Maps, installed_engines

POLICY = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def test_threads_wait_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in POLICY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    wait_briefly()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert 0 < int(os.environ["GOMP_SPINCOUNT"]) < 100_000


@pytest.mark.parametrize("name", POLICY)
def test_who_has_set_a_policy_keeps_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in POLICY:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(name, "77")
    before = dict(os.environ)
    wait_briefly()
    assert dict(os.environ) == before


def test_no_more_threads_than_serve_one_crop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= default_threads() <= min(MOST_THREADS, available_processors())
    monkeypatch.setattr("tracking_parts.threads.available_processors", lambda: 64)
    assert default_threads() == MOST_THREADS
    monkeypatch.setattr("tracking_parts.threads.available_processors", lambda: 0)
    assert default_threads() == 1


def test_the_trunk_has_several_threads_and_the_rest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trunk_threads() == 1  # nobody has said: as many as torch has
    use_threads(3)
    assert (trunk_threads(), torch.get_num_threads(), cv2.getNumThreads()) == (3, 1, 3)
    monkeypatch.setattr("tracking_parts.threads.default_threads", lambda: 2)
    use_threads()
    assert (trunk_threads(), torch.get_num_threads()) == (2, 1)


def test_torch_as_engine_has_them_while_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    trunk = TorchTrunk(random_weights(), ("conv1_1",), torch.device("cpu"))
    inner = trunk._maps

    def watched(rgb: torch.Tensor) -> Maps:
        seen.append(torch.get_num_threads())
        return inner(rgb)

    monkeypatch.setattr(trunk, "_maps", watched)
    use_threads(2)
    trunk(torch.rand(1, 3, 16, 16))
    assert seen == [2] and torch.get_num_threads() == 1


@pytest.mark.parametrize("engine", installed_engines())
def test_how_many_there_are_changes_no_bit(engine: str, moving_object: SyntheticSequence) -> None:
    if engine == "torch":
        pytest.skip("torch's convolutions may sum in another order")
    answers = []
    for count in (1, 2, 3):
        use_threads(count)
        with Tracker(small_config(u=3), weights=random_weights(), engine=engine) as tracker:
            tracker.init(moving_object.frames[0], moving_object.boxes[0])
            answers.append([tracker.update(frame) for frame in moving_object.frames[1:]])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("engine", installed_engines())
def test_looks_for_another_size_are_taken_side_by_side(engine: str, moving_object: SyntheticSequence) -> None:
    """Where the engine can, and nobody else is at work; the answers are the same."""
    answers, hands = [], []
    for count in (1, 2):
        use_threads(count)
        config = small_config(resize_below=1.0, resize_every=1, resize_gain=1.0)
        with Tracker(config, weights=random_weights(), engine=engine) as tracker:
            tracker.init(moving_object.frames[0], moving_object.boxes[0])
            answers.append([tracker.update(frame) for frame in moving_object.frames[1:8]])
            looks = [partial(met, threading.Barrier(count))] * count
            hands.append(len(set(tracker._read_all(looks))) if engine == "ncnn" else count)  # type: ignore[arg-type]
            with one_after_another():
                assert set(tracker._read_all([threading.get_ident] * 2)) == {threading.get_ident()}  # type: ignore
    assert hands == [1, 2]
    assert answers[0] == answers[1] or engine == "torch"  # whose convolutions may sum in another order


# --------------------------------------------------------------------------- a machine that others use
class Machine:
    """Says what time was spent by whom; a second passes between two looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processors: int, allowed: int) -> None:
        self._file = tmp_path / "stat"
        self.clock = 0.0
        monkeypatch.setattr("tracking_parts.threads.SYSTEM_TIMES", self._file)
        monkeypatch.setattr("tracking_parts.threads._watch", None)
        monkeypatch.setattr("tracking_parts.threads.available_processors", lambda: allowed)
        monkeypatch.setattr(os, "cpu_count", lambda: processors)
        monkeypatch.setattr(time, "monotonic", lambda: self.clock)
        monkeypatch.setattr(os, "times", lambda: (self.clock, 0.0, 0.0, 0.0, 0.0))  # this process is always busy
        self.spend(0.0)

    def spend(self, by_others: float, nicely: float = 0.0, seconds: float = 1.0) -> None:
        self.clock += seconds
        ticks = os.sysconf("SC_CLK_TCK")
        user = round((self.clock + by_others) * ticks)
        self._file.write_text(f"cpu  {user} {round(nicely * ticks)} 0 99999 7 0 0 0 0 0\ncpu0 1 2 3\n")


@pytest.mark.parametrize(
    ("processors", "allowed", "by_others", "nicely", "expected"),
    [
        (2, 2, 0.0, 0.0, 2),
        (2, 2, 0.3, 0.0, 2),
        (2, 2, 1.0, 0.0, 1),
        (2, 2, 5.0, 0.0, 1),
        (2, 2, 0.0, 2.0, 2),  # what runs with low priority gives way
        (8, 8, 5.0, 0.0, 3),
        (8, 2, 5.0, 0.0, 2),  # there is room for others where this process may not run
    ],
)
def test_processors_that_others_use_are_left_to_them(
    processors: int,
    allowed: int,
    by_others: float,
    nicely: float,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    machine = Machine(monkeypatch, tmp_path, processors, allowed)
    wait_briefly()
    machine.spend(by_others, nicely)
    assert default_threads() == expected


def test_a_moment_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, 2, 2)
    assert default_threads() == 2  # nobody watched
    wait_briefly()
    machine.spend(5.0, seconds=0.1)
    assert default_threads() == 2


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, tmp_path, 2, 2)
    machine._file.write_text("what else")
    wait_briefly()
    assert default_threads() == 2
    machine._file.unlink()
    assert Watch.begin() is None


def test_a_second_thread_is_refused_while_the_first_is_at_work() -> None:
    turn, refused = OneAtATime(), []

    def intrude() -> None:
        try:
            with turn:
                pass
        except BusyError as error:
            refused.append(str(error))

    with turn:
        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
        for free in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn))):
            with free:
                pass
    assert len(refused) == 1
    intrude()
    assert len(refused) == 1


def test_an_error_ends_the_turn() -> None:
    turn = OneAtATime()
    with pytest.raises(KeyError), turn:
        raise KeyError
    with turn:
        pass


def test_a_forked_child_computes_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the process only takes itself for one; that real children go on is tested with the odd inputs."""
    assert not in_forked_child()
    turn = OneAtATime()
    use_threads(2)
    torch.set_num_threads(2)
    threads_after_fork()
    assert (trunk_threads(), torch.get_num_threads()) == (2, 2)
    with turn:  # held by a thread that a fork leaves behind
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert in_forked_child()
        with turn:
            assert trunk_threads() == torch.get_num_threads() == cv2.getNumThreads() == 1
        turn._lock.acquire()


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    use_threads(2)
    yield
    use_threads(None)
    torch.set_num_threads(before)


def met(other: threading.Barrier) -> int:
    """Returns only if somebody else is here at the same time."""
    other.wait(timeout=20)
    return threading.get_ident()


def test_tasks_run_side_by_side(two_threads: None) -> None:
    barrier = threading.Barrier(2)
    assert len(set(side_by_side([lambda: met(barrier), lambda: met(barrier)]))) == 2
    assert side_by_side([partial(pow, number, 2) for number in range(20)]) == [n**2 for n in range(20)]


def test_every_task_computes_with_one_thread_and_as_its_caller_does(two_threads: None) -> None:
    def task(barrier: threading.Barrier) -> tuple[int, bool]:
        barrier.wait(timeout=20)
        return torch.get_num_threads(), torch.is_inference_mode_enabled()

    for inferring in (False, True):
        barrier = threading.Barrier(2)
        with torch.inference_mode(inferring):
            assert side_by_side([partial(task, barrier)] * 2) == [(1, inferring)] * 2


def test_hands_compute_with_as_many_threads_as_who_asks_now(two_threads: None) -> None:
    """They keep what they were told when torch had more."""

    def threads(barrier: threading.Barrier) -> int:
        barrier.wait(timeout=20)
        return torch.get_num_threads()

    for count in (2, 1, 2, 1):
        torch.set_num_threads(count)
        assert side_by_side([partial(threads, threading.Barrier(2))] * 2, hands=2) == [count] * 2


def test_nobody_lends_a_hand_that_is_not_there(two_threads: None) -> None:
    def idle_hands() -> int:
        assert side_by_side([]) == []
        return 0 if _alone.team is None else _alone.team.idle

    assert side_by_side([idle_hands], hands=1) == [0]
    barrier = threading.Barrier(2)

    def both_at_work() -> int:
        barrier.wait(timeout=20)
        idle = idle_hands()
        barrier.wait(timeout=20)
        return idle

    assert side_by_side([both_at_work] * 2, hands=2) == [0, 0]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_task_that_fails(failing: int, two_threads: None) -> None:
    def task(number: int) -> int:
        if number == failing:
            raise ArithmeticError(f"task {number}")
        return number

    with pytest.raises(ArithmeticError, match=f"task {failing}"):
        side_by_side([partial(task, number) for number in range(3)])
    assert side_by_side([lambda: 1, lambda: 2]) == [1, 2]


def test_who_works_alone_does_one_thing_after_the_other(two_threads: None) -> None:
    tasks = [threading.get_ident] * 3
    with one_after_another():
        assert set(side_by_side(tasks)) == {threading.get_ident()}
    found: list[set[int]] = []

    def beside_others() -> None:
        work_alone()
        found.append(set(side_by_side(tasks)))

    thread = threading.Thread(target=beside_others)
    thread.start()
    thread.join()
    assert found == [{thread.ident}]


def test_hands_that_find_nothing_left_help_with_the_tasks_of_tasks(two_threads: None) -> None:
    def long_task(other_is_done: threading.Event) -> set[int]:
        assert other_is_done.wait(timeout=20)
        for _ in range(2000):  # until the idle one has lent its hand
            barrier = threading.Barrier(2)
            found = set(side_by_side([partial(met_or_alone, barrier)] * 2))
            if len(found) == 2:
                return found
        return found

    def met_or_alone(barrier: threading.Barrier) -> int:
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(timeout=0.05)
        return threading.get_ident()

    for order in (1, -1):  # the long one is the caller's, or the helper's
        done, began = threading.Event(), threading.Barrier(2)

        def short(done: threading.Event = done, began: threading.Barrier = began) -> set[int]:
            began.wait(timeout=20)
            done.set()
            return set()

        def long(done: threading.Event = done, began: threading.Barrier = began) -> set[int]:
            began.wait(timeout=20)
            return long_task(done)

        assert sorted(len(found) for found in side_by_side([long, short][::order])) == [0, 2]


def test_while_all_are_busy_nobody_helps(two_threads: None) -> None:
    began, ended = threading.Barrier(2), threading.Barrier(2)

    def busy() -> set[int]:
        began.wait(timeout=20)
        found = set(side_by_side([threading.get_ident] * 3))
        ended.wait(timeout=20)
        return found

    assert [len(found) for found in side_by_side([busy, busy])] == [1, 1]


def test_what_shares_its_own_work_out_runs_beside_others_only_in_a_team(two_threads: None) -> None:
    assert with_idle_hands([threading.get_ident] * 3) == [threading.get_ident()] * 3
    assert side_by_side([partial(with_idle_hands, [lambda: 1, lambda: 2])] * 2) == [[1, 2]] * 2


def test_a_failure_among_the_tasks_of_tasks_is_told_and_no_hand_is_lost(two_threads: None) -> None:
    def failing() -> int:
        raise ArithmeticError("deep")

    for _ in range(20):
        with pytest.raises(ArithmeticError, match="deep"):
            side_by_side([lambda: side_by_side([failing, lambda: 1])[0], lambda: 0])
    barrier = threading.Barrier(2)
    assert len(set(side_by_side([lambda: met(barrier), lambda: met(barrier)]))) == 2


def test_as_many_hands_as_the_caller_says(two_threads: None) -> None:
    assert set(side_by_side([threading.get_ident] * 3, hands=1)) == {threading.get_ident()}
    barrier = threading.Barrier(3)
    assert len(set(side_by_side([lambda: met(barrier)] * 3, hands=3))) == 3


def test_where_torch_has_several_threads_itself_it_is_left_to_it(two_threads: None) -> None:
    torch.set_num_threads(2)
    assert set(side_by_side([threading.get_ident] * 3)) == {threading.get_ident()}
