"""Workers that are killed, runs that are killed, and two runs at once: with real processes and real signals."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_processes import PATIENCE_SECONDS, bench_process, is_alive, signs, wait_until
from tracking_parts.evaluation.claims import claim, claim_path, is_claimed
from tracking_parts.evaluation.engines.local import LocalEngine
from tracking_parts.evaluation.protocol import load_protocol
from tracking_parts.evaluation.runner import Outcome, Task, run, run_task
from tracking_parts.io.sequences import read_sequence

WAITS = "trackers_for_tests:WaitsWhileHeld"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and locks of POSIX")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the trackers leave signs of life; all the workers of the test know it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("STP_TEST_FOLDER", str(folder))
    return folder


def left_behind(out: Path) -> list[str]:
    """Hidden files: claims, and results half written."""
    return [path.name for path in out.rglob(".*")]


def results_in(out: Path) -> set[str]:
    return {path.name for path in out.rglob("*_001.txt")}


def in_background(action: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


# A worker dies


def test_a_killed_worker_costs_only_a_second_try(vot_data: Path, tmp_path: Path, scratch: Path) -> None:
    (scratch / "hold").touch()
    killed: list[int] = []

    def kill_one() -> None:
        wait_until(lambda: len(signs(scratch)) == 2, "both sequences were started")
        killed.append(signs(scratch)[0])
        os.kill(killed[0], signal.SIGKILL)
        (scratch / "hold").unlink()

    killer = in_background(kill_one)
    outcomes = run([WAITS], vot_data, tmp_path / "out", processes=2, threads=1)
    killer.join(PATIENCE_SECONDS)
    assert [one.status for one in outcomes] == ["done", "done"]
    started = signs(scratch)
    assert len(started) == 3 and started.count(killed[0]) == 1, "the other sequence was not disturbed"
    assert results_in(tmp_path / "out") == {"moving_001.txt", "growing_001.txt"}
    assert left_behind(tmp_path / "out") == []


def test_a_task_that_kills_every_worker_is_given_up(vot_data: Path, tmp_path: Path, scratch: Path) -> None:
    trackers = ["trackers_for_tests:Dies", "trackers_for_tests:DiesOnce"]
    outcomes = {one.tracker: one for one in run(trackers, vot_data, tmp_path / "out", sequences=["moving"], threads=1)}
    given_up, retried = (outcomes[name] for name in trackers)
    assert (given_up.status, given_up.error) == ("raised", "its worker died 3 times, the last time with exit code 3")
    assert retried.status == "done"
    assert left_behind(tmp_path / "out") == []


# A run dies


def test_an_exception_ends_the_workers(vot_data: Path, tmp_path: Path, scratch: Path) -> None:
    tasks = [
        Task(tracker, read_sequence(vot_data / name), tmp_path / f"{name}_001.txt", load_protocol("vot2016"), 0)
        for name, tracker in (("moving", WAITS), ("growing", "trackers_for_tests:Dies"))
    ]
    (scratch / "hold").touch()

    def refuse(outcome: Outcome) -> None:
        wait_until(lambda: len(signs(scratch)) == 1, "the other sequence was started")
        raise ZeroDivisionError(outcome.error)

    with pytest.raises(ZeroDivisionError, match="died 3 times"):
        LocalEngine(2).run(tasks, refuse)
    assert not any(map(is_alive, signs(scratch)))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_ends_leaves_no_orphans_and_is_continued(
    vot_data: Path, tmp_path: Path, scratch: Path, end: signal.Signals
) -> None:
    (scratch / "hold").touch()
    with bench_process(WAITS, vot_data, tmp_path / "out", processes=2) as process:
        wait_until(lambda: len(signs(scratch)) == 2, "both sequences were started")
        if end == signal.SIGINT:
            os.killpg(process.pid, end)  # as a terminal does: to the workers, too
        else:
            process.send_signal(end)
        process.wait(PATIENCE_SECONDS)
        workers = set(signs(scratch))
        wait_until(lambda: not any(map(is_alive, workers)), "the workers were gone")
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert complaints.count("Traceback") == (1 if end == signal.SIGINT else 0), "no worker complains"
    assert results_in(tmp_path / "out") == set()
    (scratch / "hold").unlink()
    outcomes = run([WAITS], vot_data, tmp_path / "out", sequences=["moving"], threads=1)
    assert [one.status for one in outcomes] == ["done"]


# Two runs at once


def test_two_runs_share_the_work(vot_data: Path, tmp_path: Path, scratch: Path) -> None:
    """Both end with everything there, and nothing was done twice."""
    (scratch / "hold").touch()
    out = tmp_path / "out"
    with bench_process(WAITS, vot_data, out, 1) as first, bench_process(WAITS, vot_data, out, 1) as second:
        wait_until(lambda: len(signs(scratch)) == 2, "each had a sequence of its own")
        assert len(set(signs(scratch))) == 2
        (scratch / "hold").unlink()
        said = [process.communicate(timeout=PATIENCE_SECONDS) for process in (first, second)]
    assert [problems for _, problems in said] == ["", ""]
    statuses = [dict(part.split("=") for part in words.strip().split(",")) for words, _ in said]
    assert [sorted(one) for one in statuses] == [["growing", "moving"]] * 2
    for name in ("growing", "moving"):
        assert sorted(one[name] for one in statuses) == ["done", "skipped"]
    assert len(signs(scratch)) == 2 and left_behind(out) == []


def test_what_another_run_gives_up_is_done_here(vot_data: Path, tmp_path: Path, scratch: Path) -> None:
    (scratch / "hold").touch()
    out = tmp_path / "out"
    with bench_process(WAITS, vot_data, out, 2) as other:
        wait_until(lambda: len(signs(scratch)) == 2, "the other run was at work on everything")
        outcomes: list[Outcome] = []
        ours = in_background(lambda: outcomes.extend(run([WAITS], vot_data, out, threads=1)))
        ours.join(3.0)
        assert ours.is_alive() and len(signs(scratch)) == 2, "it waits, and does nothing twice"
        other.kill()
        wait_until(lambda: len(signs(scratch)) == 3, "the work was taken over")
        (scratch / "hold").unlink()
        ours.join(PATIENCE_SECONDS)
    assert [one.status for one in outcomes] == ["done", "done"]


def test_what_another_run_finishes_is_taken_as_it_is(
    vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"], threads=1)
    made, hidden = out / "identity" / "moving" / "moving_001.txt", tmp_path / "hidden.txt"
    made.rename(hidden)
    with claim(made) as is_ours:
        assert is_ours

        def finish_elsewhere(seconds: float) -> None:
            hidden.rename(made)

        monkeypatch.setattr("tracking_parts.evaluation.runner.time.sleep", finish_elsewhere)
        (outcome,) = run(["identity"], vot_data, out, sequences=["moving"], threads=1)
    assert (outcome.status, outcome.frames) == ("skipped", 12)


# Claims


def test_a_claim_is_one_persons(tmp_path: Path) -> None:
    result = tmp_path / "new" / "moving_001.txt"
    with claim(result) as first, claim(result) as second:
        assert (first, second) == (True, False)
        assert is_claimed(result)
    assert not is_claimed(result)
    assert list(tmp_path.iterdir()) == [], "nor is a folder left in which nothing was put"


def test_a_claim_can_be_waited_for(tmp_path: Path) -> None:
    result, heard = tmp_path / "run.json", threading.Event()

    def wait_for_it() -> None:
        with claim(result, wait=True) as is_ours:
            assert is_ours
            heard.set()

    with claim(result):
        waiting = in_background(wait_for_it)
        assert not heard.wait(0.3)
    waiting.join(PATIENCE_SECONDS)
    assert heard.is_set()


def test_a_dead_ones_claim_is_nobodys(tmp_path: Path) -> None:
    result = tmp_path / "moving_001.txt"
    claim_path(result).touch()
    assert not is_claimed(result)
    assert not claim_path(result).exists()


def test_a_file_system_without_locks_is_worked_on_all_the_same(
    vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    path = tmp_path / "out" / "moving_001.txt"
    task = Task("identity", read_sequence(vot_data / "moving"), path, load_protocol("vot2016"), 0)
    assert run_task(task).status == "done"
    assert run_task(task).status == "skipped"
    assert left_behind(tmp_path / "out") == []
