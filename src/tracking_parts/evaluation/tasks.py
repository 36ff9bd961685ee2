"""The unit of work of a benchmark: one tracker, one sequence, one repetition; wherever an engine runs it."""

from __future__ import annotations

import os
import sys
import time
import traceback
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2

from tracking_parts.errors import TrackingPartsError
from tracking_parts.evaluation.claims import claim
from tracking_parts.evaluation.one_pass import run_one_pass
from tracking_parts.evaluation.protocol import Protocol, ResetProtocol
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.trackers import choose_tracker
from tracking_parts.evaluation.trajectory import Trajectory, read_trajectory, write_trajectory
from tracking_parts.io.sequences import Sequence
from tracking_parts.threads import use_threads


@dataclass(frozen=True, slots=True)
class Task:
    """One tracker over one sequence. ``seed`` is this repetition's own; ``threads`` the budget of the process that runs
    it, None to leave that as it is.
    """

    tracker: str
    sequence: Sequence
    result_path: Path
    protocol: Protocol
    seed: int
    repetition: int = 1
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task. ``busy``: another run is at work on it; the runner asks again and never reports this."""

    tracker: str
    sequence: str
    status: Literal["done", "skipped", "raised", "busy"]
    repetition: int = 1
    frames: int = 0
    failures: int | None = None  # None where the protocol knows no failures
    frames_per_second: float = float("nan")  # of the tracker alone
    seconds: float = 0.0  # of the whole task, reading and writing included
    error: str = ""  # one line
    details: str = ""  # the traceback, where the error is not one of ours


def run_task(task: Task) -> Outcome:
    """Run one task in this process and write its result, unless it is there or being made. Errors become part of the
    outcome.
    """
    try:
        with claim(task.result_path) as is_ours:
            if not is_ours:
                return Outcome(task.tracker, task.sequence.name, "busy", task.repetition)
            if task.result_path.exists():  # another run finished it between our look and our turn
                return skipped(task)
            return _run_claimed(task)
    except TrackingPartsError as error:
        return raised(task, str(error))
    except Exception as error:  # a peer may raise anything; the other sequences must go on
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        return raised(task, line, traceback.format_exc())


def _run_claimed(task: Task) -> Outcome:
    began = time.perf_counter()
    with closing(choose_tracker(task.tracker, task.seed)) as choice:
        if task.threads is not None:
            limit_threads(task.threads)
        if isinstance(task.protocol, ResetProtocol):
            trajectory = run_reset(choice.factory, task.sequence, task.protocol)
        else:
            trajectory = run_one_pass(choice.factory, task.sequence, task.protocol)
    write_trajectory(task.result_path, trajectory)
    return _finished(task, trajectory, "done", time.perf_counter() - began)


def skipped(task: Task) -> Outcome:
    """The outcome of a task whose result was made before; one that cannot be of this sequence is not taken for it."""
    try:
        trajectory = read_trajectory(task.result_path)
    except TrackingPartsError as error:
        return raised(task, str(error))
    if len(trajectory) != len(task.sequence):
        lengths = f"{len(trajectory)} frames, the sequence {len(task.sequence)}"
        return raised(task, f"{task.result_path} has {lengths}: it was made on other data")
    return _finished(task, trajectory, "skipped", sum(trajectory.seconds))


def raised(task: Task, error: str, details: str = "") -> Outcome:
    return Outcome(task.tracker, task.sequence.name, "raised", task.repetition, error=error, details=details)


def _finished(task: Task, trajectory: Trajectory, status: Literal["done", "skipped"], seconds: float) -> Outcome:
    return Outcome(
        tracker=task.tracker,
        sequence=task.sequence.name,
        status=status,
        repetition=task.repetition,
        frames=len(trajectory),
        failures=len(trajectory.failures) if isinstance(task.protocol, ResetProtocol) else None,
        frames_per_second=trajectory.frames_per_second,
        seconds=seconds,
    )


def limit_threads(threads: int) -> None:
    """Give this process its budget for OpenCV and torch.

    Most peers need no torch, and importing it takes longer than many a sequence; should a tracker import it later,
    torch reads its budget from the environment.
    """
    cv2.setNumThreads(threads)
    if "torch" in sys.modules:
        use_threads(threads)
    else:
        os.environ["OMP_NUM_THREADS"] = str(threads)
