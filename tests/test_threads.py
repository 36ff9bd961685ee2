"""Threads: how they wait, and how many there are."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import cv2
import pytest
import torch

from tracking_parts import BusyError
from tracking_parts.threads import (
    MOST_THREADS,
    OneAtATime,
    available_processors,
    default_threads,
    in_forked_child,
    threads_after_fork,
    use_threads,
    wait_briefly,
)

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


def test_threads_are_given_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads(), cv2.getNumThreads()
    try:
        use_threads(1)
        assert (torch.get_num_threads(), cv2.getNumThreads()) == (1, 1)
        monkeypatch.setattr("tracking_parts.threads.default_threads", lambda: 2)
        use_threads()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before[0])
        cv2.setNumThreads(before[1])


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
    before = torch.get_num_threads(), cv2.getNumThreads()
    try:
        use_threads(2)
        threads_after_fork()
        assert torch.get_num_threads() == 2
        with turn:  # held by a thread that a fork leaves behind
            monkeypatch.setattr(os, "getpid", lambda: -1)
            assert in_forked_child()
            with turn:
                assert torch.get_num_threads() == 1
                assert cv2.getNumThreads() == 1
            turn._lock.acquire()
    finally:
        torch.set_num_threads(before[0])
        cv2.setNumThreads(before[1])
