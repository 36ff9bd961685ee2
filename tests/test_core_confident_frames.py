"""Highly confident frames: causal verdicts, strategies, memory; and the confidence that users see."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core_helpers import small_config, training_frame
from tracking_parts.confidence import Evidence, StateMonitor, confidence
from tracking_parts.confident_frames import (
    BestShare,
    ConfidentFrames,
    TrainingFrame,
    WithinRadius,
    choose_frames,
    confidence_rule,
)
from tracking_parts.config import TrackerConfig
from tracking_parts.result import State

DISTANCES = st.lists(st.floats(0, 30), min_size=1, max_size=60)


def frames(count: int, start: int = 0) -> list[TrainingFrame]:
    return [training_frame(torch.zeros(1, 2, 2), (0.0, 0.0), index) for index in range(start, start + count)]


def indices(chosen: list[TrainingFrame]) -> list[int]:
    return [frame.frame_index for frame in chosen]


# ---------------------------------------------------------------------- verdicts
@given(DISTANCES, DISTANCES, st.floats(0.01, 1))
def test_later_frames_never_change_a_verdict(past: list[float], future: list[float], share: float) -> None:
    short, long = BestShare(share), BestShare(share)
    alone = [short.judge(distance) for distance in past]
    together = [long.judge(distance) for distance in past + future]
    assert together[: len(past)] == alone


@given(DISTANCES, st.floats(0.01, 1))
def test_verdict_is_the_rank_among_past_frames(distances: list[float], share: float) -> None:
    rule = BestShare(share)
    for count, distance in enumerate(distances, start=1):
        nearer = sum(other < distance for other in distances[: count - 1])
        assert rule.judge(distance) == (nearer < share * count)


@pytest.mark.parametrize("seed", range(3))
def test_about_the_papers_share_of_random_frames(seed: int) -> None:
    rule = BestShare(0.11)
    verdicts = [rule.judge(distance) for distance in np.random.default_rng(seed).exponential(size=3000)]
    assert np.mean(verdicts[300:]) == pytest.approx(0.11, abs=0.02)


def test_absolute_rule() -> None:
    rule = WithinRadius(1.5)
    assert [rule.judge(distance) for distance in (0.0, 1.5, 1.6)] == [True, True, False]


def test_the_configuration_names_the_rule() -> None:
    share = confidence_rule(small_config(confident_rule="best_share", confident_share=0.5))
    assert isinstance(share, BestShare)
    assert [share.judge(distance) for distance in (1.0, 2.0, 3.0)] == [True, False, False]
    radius = confidence_rule(small_config(confident_rule="within_radius", confident_radius=2.0))
    assert isinstance(radius, WithinRadius)
    assert radius.judge(2.0)


# ---------------------------------------------------------------------- strategies
VERDICTS = [True, False, False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("hcf", [0, 3, 6]), ("parallel", [0, 3, 6]), ("full", list(range(8))), ("none", [])],
)
def test_strategies(strategy: str, expected: list[int]) -> None:
    waiting = list(zip(frames(8), VERDICTS, strict=True))
    assert indices(choose_frames(strategy, waiting, np.random.default_rng(0))) == expected


@given(st.lists(st.booleans(), max_size=20), st.integers(0, 100))
def test_random_takes_as_many_as_hcf(verdicts: list[bool], seed: int) -> None:
    waiting = list(zip(frames(len(verdicts)), verdicts, strict=True))
    chosen = indices(choose_frames("random", waiting, np.random.default_rng(seed)))
    assert len(chosen) == sum(verdicts)
    assert chosen == sorted(set(chosen))


def test_random_draws_from_all_frames() -> None:
    waiting = list(zip(frames(8), VERDICTS, strict=True))
    random = np.random.default_rng(0)
    drawn = {index for _ in range(60) for index in indices(choose_frames("random", waiting, random))}
    assert drawn == set(range(8))


# ---------------------------------------------------------------------- memory
def test_memory_keeps_the_first_and_the_last_chosen_frames() -> None:
    memory = ConfidentFrames("hcf", first_count=2, recent_count=3, seed=0)
    for frame in frames(2):
        assert not memory.has_all_first
        memory.add_first(frame)
    assert memory.has_all_first
    for start in (10, 20):
        for frame, verdict in zip(frames(8, start), VERDICTS, strict=True):
            memory.add(frame, verdict)
        assert len(memory.waiting) == 8
        assert memory.choose() == 3
        assert not memory.waiting
    assert indices(memory.first) == [0, 1]
    assert indices(list(memory.recent)) == [20, 23, 26]
    assert memory.choose() == 0


def test_lottery_goes_on_from_its_saved_state() -> None:
    def draw(memory: ConfidentFrames) -> list[int]:
        for frame, verdict in zip(frames(8), VERDICTS, strict=True):
            memory.add(frame, verdict)
        memory.choose()
        return indices(list(memory.recent)[-3:])

    first, second = (ConfidentFrames("random", 1, 50, seed) for seed in (1, 2))
    draw(first)
    second.random_state = first.random_state
    assert [draw(first) for _ in range(4)] == [draw(second) for _ in range(4)]


# ---------------------------------------------------------------------- confidence and state
def evidence(
    part_agreement: float = 0.8, distance: float = 1.0, filter_strength: float = 0.6, convnet_strength: float = 0.7
) -> Evidence:
    return Evidence(
        part_agreement=part_agreement,
        pathway_distance=distance,
        filter_strength=filter_strength,
        convnet_strength=convnet_strength,
        filter_peak=1.0,
        convnet_peak=1.0,
    )


@given(st.floats(0, 1), st.floats(0, 100), st.floats(-5, 5), st.floats(-50, 50))
def test_confidence_lies_in_the_unit_range(agreement: float, distance: float, filters: float, convnet: float) -> None:
    assert 0 <= confidence(evidence(agreement, distance, filters, convnet), small_config()) <= 1


def test_agreement_raises_confidence_and_distance_lowers_it() -> None:
    config = small_config()
    base = confidence(evidence(), config)
    assert confidence(evidence(part_agreement=0.2), config) < base
    assert confidence(evidence(distance=5.0), config) < base
    heard = config.override(confidence_weights=(-2.4, 3.2, -0.5, 1.0, 2.6))  # F_t has no weight of its own by default
    assert confidence(evidence(filter_strength=0.1), heard) < confidence(evidence(), heard)
    assert confidence(evidence(convnet_strength=0.1), config) < base
    assert 0 < confidence(evidence(distance=math.nan), config) < 1  # the ConvNetPart does not vote yet


TRACKING, UNCERTAIN, LOST = State.TRACKING, State.UNCERTAIN, State.LOST


def states_after(confidences: Sequence[float], config: TrackerConfig) -> list[State]:
    monitor, states = StateMonitor(), []
    for value in confidences:
        monitor = monitor.after(value, config)
        states.append(monitor.state)
    return states


def test_states_over_a_run_of_confidences() -> None:
    config = small_config(uncertain_below=0.4, lost_below=0.15, lost_after=3, unusual_below=0.0, found_above=0.0)
    run = [
        (0.9, TRACKING),
        (0.4, TRACKING),  # the threshold itself is still good
        (0.3, UNCERTAIN),
        (0.1, UNCERTAIN),
        (0.1, UNCERTAIN),
        (0.15, UNCERTAIN),  # not missing: the count starts again
        (0.1, UNCERTAIN),
        (0.1, UNCERTAIN),
        (0.1, LOST),
        (0.1, LOST),
        (0.3, UNCERTAIN),  # something is there again
        (0.1, UNCERTAIN),
        (0.1, UNCERTAIN),
        (0.1, LOST),
        (0.8, TRACKING),
    ]
    assert states_after([value for value, _ in run], config) == [state for _, state in run]


def test_what_is_far_below_the_usual_is_missing() -> None:
    """The same confidence is good for an object that never had more."""
    config = small_config(uncertain_below=0.1, lost_below=0.1, unusual_below=0.4, found_above=0.4, lost_after=4)
    assert states_after([0.9] * 5 + [0.3] * 5, config)[5:] == [UNCERTAIN] * 3 + [LOST] * 2
    assert states_after([0.5] * 5 + [0.3] * 5, config) == [TRACKING] * 10


def test_the_usual_follows_slowly_and_only_while_tracking() -> None:
    config = small_config(uncertain_below=0.1, lost_below=0.1, unusual_below=0.4, found_above=0.4, lost_after=4)
    fading = [0.9 * 0.98**index for index in range(100)]  # down to 0.12, never far below the level of the last frames
    assert states_after(fading, config) == [TRACKING] * 100
    monitor = StateMonitor(usual=0.9)
    for _ in range(50):
        monitor = monitor.after(0.2, config)
    assert monitor.usual == 0.9 and monitor.state is LOST


def test_once_missing_more_is_asked() -> None:
    config = small_config(
        uncertain_below=0.1, lost_below=0.1, unusual_below=0.3, found_above=0.6, doubt_after=3, lost_after=5
    )
    middling = 0.45  # above three tenths of the usual, below six tenths
    assert states_after([0.9] * 3 + [0.1] * 2 + [middling], config)[-1] is TRACKING
    assert states_after([0.9] * 3 + [0.1] * 3 + [middling] * 3, config)[-3:] == [UNCERTAIN, LOST, LOST]
    assert states_after([0.9] * 3 + [0.1] * 9 + [0.8], config)[-1] is TRACKING
