"""Threads: how they wait, and how many there are."""

from __future__ import annotations

import os

import cv2
import pytest
import torch

from tracking_parts.threads import MOST_THREADS, available_processors, default_threads, use_threads, wait_briefly

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
