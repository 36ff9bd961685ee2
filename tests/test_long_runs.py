"""A short share of the long runs; ``python -m torture.long_runs 20000 fast`` prints the figures of a whole one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from torture.long_runs import Figures, is_flat, many_targets, run_in_a_process, side_by_side
from tracking_parts import spare_memory
from tracking_parts.filter_parts.references import ROUND, round_number

pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]  # for the weights


def test_sixteen_objects_have_the_boxes_of_trackers_of_their_own() -> None:
    trial = many_targets(16, frames=6)
    assert trial.survived, trial.detail


def test_trackers_side_by_side_do_not_disturb_each_other() -> None:
    assert [trial.what for trial in side_by_side(4, frames=6) if not trial.survived] == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_long_run_opens_nothing_and_starts_nothing() -> None:
    figures = run_in_a_process(640, "fast", seconds=float("inf"))
    assert figures.frames == 640
    assert figures.open_files[1] <= figures.open_files[0]
    assert figures.threads[1] <= figures.threads[0]
    assert figures.growth < 0.1, "of memory; python -m torture holds it to half of that over 20,000 frames"


def test_growth_is_told() -> None:
    flat = Figures(9000, (400.0, 410.0), (7, 7), (1, 1), (10.0, 10.5))
    assert is_flat(flat) and "+2.5%" in str(flat)
    assert not is_flat(Figures(9000, (400.0, 424.0), (7, 7), (1, 1), (10.0, 10.0)))
    assert not is_flat(Figures(9000, (400.0, 400.0), (7, 8), (1, 1), (10.0, 10.0)))


class Recorder:
    """A C library that only notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *values: self.asked.append((name, values))


def test_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Recorder()
    monkeypatch.setattr(spare_memory, "_glibc", lambda: library)
    for index in range(1, 2 * spare_memory.FRAMES_BETWEEN + 1):
        spare_memory.give_back_memory(index)
    assert library.asked == [("malloc_trim", (0,))] * 2
    monkeypatch.undo()
    spare_memory.give_back_memory(0)  # the real one, where there is one


@pytest.mark.parametrize("variable", [None, "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_large_blocks_are_kept_apart_unless_somebody_decided(
    variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Recorder()
    monkeypatch.setattr(spare_memory, "_glibc", lambda: library)
    for name in [name for name in os.environ if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"]:
        monkeypatch.delenv(name)
    if variable is not None:
        monkeypatch.setenv(variable, "")
    spare_memory._set_apart.cache_clear()
    spare_memory.keep_large_blocks_apart()
    spare_memory.keep_large_blocks_apart()
    assert [name for name, _ in library.asked] == (["mallopt"] * 2 if variable is None else [])
    spare_memory._set_apart.cache_clear()


def test_without_glibc_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spare_memory, "_glibc", lambda: None)
    spare_memory._set_apart.cache_clear()
    spare_memory.keep_large_blocks_apart()
    spare_memory.give_back_memory(0)
    spare_memory._set_apart.cache_clear()


def test_few_numbers_of_filters_are_ever_asked_for() -> None:
    rests = {round_number(count % ROUND) for count in range(1, 601)}
    wholes = {count // ROUND * ROUND for count in range(1, 601)}
    assert len(rests | wholes) < 30
