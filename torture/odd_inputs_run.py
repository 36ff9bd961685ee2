"""Gives odd inputs to one tracker in a process of its own, which may crash or hang.

``python -m torture.odd_inputs_run csrt apart "Boxes: with NaN"`` plays cases, each in a forked child, and prints a line
of JSON after each of them.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from torture.odd_case import Case, Kind, Outcome, judge, judge_error
from torture.odd_cases import all_cases
from torture.odd_child import answers_in_time, in_child
from torture.odd_players import player_maker
from torture.odd_scene import Player

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds of computing, or of waiting without, for a case in a child
LONG_PATIENCE = 150.0  # the same for a process, which may have to wait for its child twice
MEMORY = 12 << 30  # bytes of address space: a tracker that asks for more is refused it, and this machine lives on


def play(case: Case, make: Callable[[], Player], own: type[Exception] | None) -> Outcome:
    """One case, here and now."""
    try:
        return judge(case, case.play(make()))
    except ModuleNotFoundError as error:
        return Outcome(Kind.ABSENT, f"{error.name} is not installed")
    except TimeoutError as error:
        return Outcome(Kind.HANGS, str(error))
    except ChildProcessError as error:
        return Outcome(Kind.CRASHES, str(error))
    except Exception as error:
        return judge_error(error, own)


def play_apart(case: Case, make: Callable[[], Player], own: type[Exception] | None) -> Outcome:
    """One case in a forked child; whoever does not answer is asked once more, as the machine may have been busy."""
    for attempt in (1, 2):
        try:
            outcome: Outcome = in_child(lambda: play(case, make, own), PATIENCE)
            return outcome
        except ChildProcessError as error:
            return Outcome(Kind.CRASHES, str(error))
        except TimeoutError as error:
            hung = Outcome(Kind.HANGS, f"{error}, asked {attempt} times")
    return hung


def run_cases(tracker: str, keys: Sequence[str], together: bool = False) -> Iterator[tuple[str, Outcome]]:
    """The outcome of each case in another process; ``together``: as many in one as it survives."""
    cases = all_cases()
    wanted = [key for key in keys if tracker == "ours" or not cases[key].ours_only]
    yield from ((key, Outcome(Kind.ABSENT)) for key in keys if key not in wanted)
    alone = [key for key in wanted if cases[key].alone]
    shared = [key for key in wanted if key not in alone]
    while shared:
        told = 0
        for key, outcome in _run_process(tracker, shared, together):
            yield key, outcome
            told += 1
        shared = shared[told:]
    for key in alone:
        yield from _run_process(tracker, [key], together=True)


def _run_process(tracker: str, keys: Sequence[str], together: bool) -> Iterator[tuple[str, Outcome]]:
    """Outcomes until the process ends; if a case ends it, that case is the last."""
    command = [sys.executable, "-m", "torture.odd_inputs_run", tracker, "together" if together else "apart", *keys]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OPENCV_LOG_LEVEL": "SILENT"}
    if any(all_cases()[key].alone for key in keys):
        environment["OMP_NUM_THREADS"] = "2"  # threads are what a fork leaves behind
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=environment
    )
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        for key in keys:
            if not answers_in_time(process.pid, lambda step: _has_one(lines, step), LONG_PATIENCE):
                yield key, Outcome(Kind.HANGS, f"no answer within {LONG_PATIENCE:g} s")
                return
            line = lines.get()
            if line is None:
                yield key, _how_it_died(process.wait())
                return
            values = json.loads(line)
            yield key, Outcome(Kind(values["kind"]), values["detail"])
    finally:
        process.kill()
        process.wait()
        reader.join()
        if process.stdout is not None:
            process.stdout.close()


def _has_one(lines: queue.Queue[str | None], seconds: float) -> bool:
    """Waits for a line, and leaves it there; a queue has no such call."""
    end = time.monotonic() + seconds
    while lines.empty() and time.monotonic() < end:
        time.sleep(0.01)
    return not lines.empty()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            lines.put(line)
    lines.put(None)


def _how_it_died(code: int) -> Outcome:
    if code < 0:
        return Outcome(Kind.CRASHES, signal.Signals(-code).name)
    return Outcome(Kind.CRASHES, f"exit code {code}")


def main() -> None:
    """Play the cases named on the command line."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tracker, how, *keys = sys.argv[1:]
    make, own = player_maker(tracker)
    for key in keys:
        outcome = (play if how == "together" else play_apart)(all_cases()[key], make, own)
        print(json.dumps({"kind": outcome.kind.value, "detail": outcome.detail}), flush=True)


if __name__ == "__main__":
    main()
