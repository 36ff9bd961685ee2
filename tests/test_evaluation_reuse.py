"""Our tracker in a run with restarts: one per sequence, as good as a new one each time, closed at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core_helpers import SMALL, Weights, random_weights
from synthetic import SyntheticSequence, write_vot_folder
from tracking_parts import Box, Result, Tracker
from tracking_parts.evaluation.experiment import EvaluatedTracker
from tracking_parts.evaluation.protocol import load_reset_protocol
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.runner import Task, run_task
from tracking_parts.evaluation.trackers import choose_tracker
from tracking_parts.evaluation.trajectory import Trajectory
from tracking_parts.io.sequences import Sequence, read_sequence

PROTOCOL = replace(load_reset_protocol("vot2016"), skip=1)
VERSIONS: dict[str, dict[str, object]] = {
    "linear": {},
    "end to end": {"convnet": "end_to_end", "convnet_tap": "conv2_1", "epochs": 1, "confident_radius": 100.0},
}


def spec_of(settings: dict[str, object]) -> str:
    return "stp:default?" + "&".join(
        f"{key}={value}" for key, value in {**SMALL, "augment": False, "u": 2, **settings}.items()
    )


class Watched:
    """Counts the trackers made, how often weights were read, and how many trackers still hold an object."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        self.starts = 0
        self.open: set[int] = set()
        init, close = Tracker.init, Tracker.close

        def read_weights() -> Weights:
            self.reads += 1
            return random_weights()

        def counted_init(tracker: Tracker, *arguments: object) -> Result:
            self.starts += 1
            result = init(tracker, *arguments)  # type: ignore[arg-type]
            self.open.add(id(tracker))
            return result

        def counted_close(tracker: Tracker) -> None:
            close(tracker)
            self.open.discard(id(tracker))

        monkeypatch.setattr("tracking_parts.tracker.load_weights", read_weights)
        monkeypatch.setattr(Tracker, "init", counted_init)
        monkeypatch.setattr(Tracker, "close", counted_close)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


@pytest.fixture
def sequence(tmp_path: Path, growing_object: SyntheticSequence) -> Sequence:
    """Seven frames, of which one has its ground truth far away: a failure there, and a second start after it."""
    few = SyntheticSequence(growing_object.frames[:7], growing_object.boxes[:7])
    found = read_sequence(write_vot_folder(tmp_path / "growing", few))
    truths = list(found.ground_truth)
    truths[3] = Box(1, 1, 4, 4).polygon
    return replace(found, ground_truth=tuple(truths))


def run_with_new_trackers(spec: str, sequence: Sequence) -> Trajectory:
    def fresh(sequence: Sequence, index: int) -> EvaluatedTracker:
        return choose_tracker(spec).factory(sequence, index)

    return run_reset(fresh, sequence, PROTOCOL)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reused_tracker_answers_as_a_new_one(version: str, watched: Watched, sequence: Sequence) -> None:
    spec = spec_of(VERSIONS[version])
    reused = run_reset(choose_tracker(spec).factory, sequence, PROTOCOL)
    assert (reused.starts, reused.failures) == ((0, 4), (3,))
    assert (watched.starts, watched.reads) == (2, 1)
    assert run_with_new_trackers(spec, sequence).regions == reused.regions
    assert watched.reads == 3


def test_the_tracker_is_closed_when_the_sequence_ends(watched: Watched, sequence: Sequence, tmp_path: Path) -> None:
    spec = spec_of({"update": "parallel", "confident_radius": 100.0})
    outcome = run_task(Task(spec, sequence, tmp_path / "a_001.txt", PROTOCOL, seed=0))
    assert (outcome.status, watched.starts, watched.reads) == ("done", 2, 1)
    assert watched.open == set()


def test_the_tracker_is_closed_when_the_sequence_breaks(watched: Watched, sequence: Sequence, tmp_path: Path) -> None:
    sequence.frames[6].write_bytes(b"no picture")
    outcome = run_task(Task(spec_of({}), sequence, tmp_path / "a_001.txt", PROTOCOL, seed=0))
    assert (outcome.status, watched.starts) == ("raised", 2)
    assert watched.open == set()
