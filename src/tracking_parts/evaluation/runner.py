"""Many trackers over many sequences, in a pool of processes, resumable.

The work is trackers x sequences. Each finished sequence is one file, written whole or not at all, so a second run on
the same folder does only what is missing, and a sequence that raises costs nothing but itself::

    OUT/<tracker>/run.json                          settings, seed, versions, machine
    OUT/<tracker>/<sequence>/<sequence>_001.txt     VOT's layout, see evaluation.trajectory
    OUT/<tracker>/<sequence>/<sequence>_001_time.txt
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracking_parts.errors import ConfigError, TrackingPartsError
from tracking_parts.evaluation.protocol import VOT2016, ResetProtocol
from tracking_parts.evaluation.provenance import claim_folder
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.trackers import TrackerSpec, choose_tracker
from tracking_parts.evaluation.trajectory import Trajectory, read_trajectory, write_trajectory
from tracking_parts.io.sequences import Sequence, find_sequences


@dataclass(frozen=True, slots=True)
class Task:
    """One tracker over one sequence."""

    tracker: str
    sequence: Sequence
    result_path: Path
    protocol: ResetProtocol
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task."""

    tracker: str
    sequence: str
    status: Literal["done", "skipped", "raised"]
    frames: int = 0
    failures: int = 0
    frames_per_second: float = float("nan")
    error: str = ""  # one line
    details: str = ""  # the traceback, where the error is not one of ours


ProgressCallback = Callable[[Outcome, int, int], None]  # the outcome, how many are finished, how many there are


def result_path(out_folder: Path, spec: TrackerSpec, sequence_name: str) -> Path:
    return out_folder / spec.folder_name / sequence_name / f"{sequence_name}_001.txt"


def run(
    specs: Iterable[str],
    data_folder: Path | str,
    out_folder: Path | str,
    processes: int = 1,
    threads: int | None = None,
    seed: int = 0,
    sequences: Iterable[str] | None = None,
    protocol: ResetProtocol = VOT2016,
    on_progress: ProgressCallback | None = None,
) -> list[Outcome]:
    """Run every tracker over every sequence (or those named) and return what became of each, finished ones included.

    ``threads`` is each process's budget for torch and OpenCV; by default the machine's cores are shared out evenly.
    Results depend on the number of threads in the last digits, so it is written beside them.
    """
    if processes < 1 or (threads is not None and threads < 1):
        raise ConfigError("processes and threads must be at least 1")
    thread_budget = threads if threads is not None else max(1, (os.cpu_count() or 1) // processes)
    chosen = select_sequences(Path(data_folder), sequences)
    tasks = []
    for text in dict.fromkeys(specs):
        choice = choose_tracker(text, seed)  # a wrong name is told before hours of work, not after
        claim_folder(Path(out_folder) / choice.spec.folder_name, choice, seed, protocol, thread_budget)
        for sequence in chosen:
            path = result_path(Path(out_folder), choice.spec, sequence.name)
            tasks.append(Task(text, sequence, path, protocol, seed))
    return _run_tasks(tasks, processes, thread_budget, on_progress or (lambda outcome, done, total: None))


def select_sequences(data_folder: Path, names: Iterable[str] | None) -> list[Sequence]:
    """The sequences of a data folder, or those named, in the order of the folder."""
    found = find_sequences(data_folder)
    if names is None:
        return found
    wanted = set(names)
    unknown = wanted - {sequence.name for sequence in found}
    if unknown:
        raise ConfigError(f"no such sequence in {data_folder}: {', '.join(sorted(unknown))}")
    return [sequence for sequence in found if sequence.name in wanted]


def _run_tasks(tasks: list[Task], processes: int, threads: int, on_progress: ProgressCallback) -> list[Outcome]:
    outcomes: list[Outcome] = []

    def finish(outcome: Outcome) -> None:
        outcomes.append(outcome)
        on_progress(outcome, len(outcomes), len(tasks))

    missing: list[Task] = []
    for task in tasks:
        if task.result_path.exists():
            finish(_outcome(task, read_trajectory(task.result_path), "skipped"))
        else:
            missing.append(task)
    if missing:
        _run_in_pool(missing, min(processes, len(missing)), threads, finish)
    return outcomes


def _run_in_pool(tasks: list[Task], processes: int, threads: int, finish: Callable[[Outcome], None]) -> None:
    # Spawned, never forked: a fork of a process whose torch or OpenCV threads are running may hang.
    # The longest first: else the last worker drags one long sequence while the others idle.
    tasks = sorted(tasks, key=lambda task: -len(task.sequence.frames))
    pool = ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_limit_threads, initargs=(threads,)
    )
    try:
        futures = {pool.submit(run_task, task): task for task in tasks}
        for future in as_completed(futures):
            finish(_result_of(future, futures[future]))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result_of(future: Future[Outcome], task: Task) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        # The pool cannot say whose process died; all that was under way is reported, and a second run does it again.
        return Outcome(task.tracker, task.sequence.name, "raised", error="a worker process died; run again to continue")


def _limit_threads(threads: int) -> None:
    import cv2
    import torch

    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)


def run_task(task: Task) -> Outcome:
    """Run one task in this process and write its result. Errors become part of the outcome."""
    try:
        with closing(choose_tracker(task.tracker, task.seed)) as choice:
            trajectory = run_reset(choice.factory, task.sequence, task.protocol)
        write_trajectory(task.result_path, trajectory)
    except TrackingPartsError as error:
        return Outcome(task.tracker, task.sequence.name, "raised", error=str(error))
    except Exception as error:  # a peer may raise anything; the other sequences must go on
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        return Outcome(task.tracker, task.sequence.name, "raised", error=line, details=traceback.format_exc())
    return _outcome(task, trajectory, "done")


def _outcome(task: Task, trajectory: Trajectory, status: Literal["done", "skipped"]) -> Outcome:
    return Outcome(
        tracker=task.tracker,
        sequence=task.sequence.name,
        status=status,
        frames=len(trajectory),
        failures=len(trajectory.failures),
        frames_per_second=trajectory.frames_per_second,
    )
