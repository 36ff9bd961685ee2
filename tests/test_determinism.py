"""The same seed gives the same boxes, bit for bit: again, in another process, and with one thread or two each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from core_helpers import follow, small_tracker
from synthetic import SyntheticSequence
from torture.determinism import boxes_of_process
from tracking_parts.config import PROFILES

QUICK: dict[str, dict[str, Any]] = {"paper": {"epochs": 1, "first_frames": 2}}


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_seed_gives_the_same_answers(profile: str, threads: int, moving_object: SyntheticSequence) -> None:
    runs = []
    for seed in (5, 5, 6):
        with small_tracker(profile, seed=seed, u=3, **QUICK.get(profile, {})) as tracker:
            runs.append(repr(follow(tracker, moving_object)))
    assert runs[0] == runs[1]
    if profile == "paper":
        assert runs[2] != runs[0], "there is something random that the seed decides"


def test_a_tracker_forgets_what_it_followed_before(moving_object: SyntheticSequence) -> None:
    tracker = small_tracker(u=3)
    first = repr(follow(tracker, moving_object))
    tracker.init(moving_object.frames[3], moving_object.boxes[1])
    tracker.update(moving_object.frames[4])
    assert repr(follow(tracker, moving_object)) == first


@pytest.mark.network
@pytest.mark.timeout(600)
@pytest.mark.parametrize("profile", ["default", "fast"])
def test_other_processes_find_the_same(profile: str, threads: int) -> None:
    alone, after_others = (boxes_of_process(profile, threads, before) for before in (False, True))
    assert alone == after_others
