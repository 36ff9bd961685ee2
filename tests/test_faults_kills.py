"""Processes that are really killed, a few times each; ``python -m torture`` does it hundreds of times."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from torture.kills import BenchKills, TrackKills
from torture.trials import Trial
from torture.warm import WarmCommands

pytestmark = [
    pytest.mark.network,  # for the weights
    pytest.mark.timeout(900),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals"),
]
EACH = 5
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


@pytest.fixture(scope="module")
def commands() -> Iterator[WarmCommands]:
    with WarmCommands() as started:
        yield started


@pytest.fixture(scope="module")
def track(commands: WarmCommands, tmp_path_factory: pytest.TempPathFactory) -> TrackKills:
    return TrackKills(commands, tmp_path_factory.mktemp("track"), random.Random(0))


@pytest.fixture(scope="module")
def bench(commands: WarmCommands, tmp_path_factory: pytest.TempPathFactory) -> BenchKills:
    return BenchKills(commands, tmp_path_factory.mktemp("bench"), random.Random(0))


def lost(trials: Iterator[Trial]) -> list[Trial]:
    return [trial for trial in trials if not trial.survived]


@pytest.mark.parametrize("kind", SIGNALS)
def test_a_tracking_run_that_is_stopped_leaves_valid_files_and_is_resumed(
    track: TrackKills, kind: signal.Signals
) -> None:
    for number in range(EACH):
        assert lost(track.trial(kind, resume=number % 2 == 0)) == []


@pytest.mark.parametrize("kind", SIGNALS)
def test_a_benchmark_that_is_stopped_is_continued(bench: BenchKills, kind: signal.Signals) -> None:
    for _ in range(EACH):
        assert lost(bench.trial(kind)) == []


def test_the_words_and_the_code_of_a_run_that_is_stopped(track: TrackKills, tmp_path: Path) -> None:
    """In the middle of tracking, not at any moment."""
    for kind, words in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
        code, lines = track.stop_in_the_middle(kind, tmp_path / kind.name)
        assert code == 128 + kind
        assert lines == [f"stp: {words}; {lines[0].split('; ', 1)[1]}"]
        assert "the files hold frames 0 to" in lines[0] and "--resume goes on from there" in lines[0]
