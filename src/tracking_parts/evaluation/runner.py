"""Many trackers over many sequences, on any engine, resumable.

The work is trackers x sequences x repetitions. Each finished sequence is one file, written whole or not at all, so a
second run on the same folder does only what is missing, and a sequence that raises, or takes its process with it, costs
nothing but itself. Two runs on the same folder at once share the work: see :mod:`tracking_parts.evaluation.claims`::

    OUT/<tracker>/run.json                          settings, seed, versions, machine
    OUT/<tracker>/<sequence>/<sequence>_001.txt     VOT's layout, see evaluation.trajectory; _002 is the 2nd repetition
    OUT/<tracker>/<sequence>/<sequence>_001_time.txt
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.claims import is_claimed
from tracking_parts.evaluation.engines import Engine, open_engine
from tracking_parts.evaluation.protocol import Protocol, load_protocol
from tracking_parts.evaluation.provenance import claim_folder, describe_run
from tracking_parts.evaluation.tasks import Outcome, Task, run_task, skipped
from tracking_parts.evaluation.trackers import TrackerSpec, choose_tracker
from tracking_parts.io.sequences import Sequence, find_sequences

__all__ = ["Outcome", "Plan", "Task", "result_path", "run", "run_task", "select_sequences"]

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be done, finished tasks included, and how many tasks are done at once."""

    tasks: tuple[Task, ...]
    workers: int


PlanCallback = Callable[[Plan], None]
ProgressCallback = Callable[[Outcome, int, int], None]  # the outcome, how many are finished, how many there are


def result_path(out_folder: Path, spec: TrackerSpec, sequence_name: str, repetition: int = 1) -> Path:
    return out_folder / spec.folder_name / sequence_name / f"{sequence_name}_{repetition:03d}.txt"


def run(
    specs: Iterable[str],
    data_folder: Path | str,
    out_folder: Path | str,
    processes: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    sequences: Iterable[str] | None = None,
    protocol: Protocol | str = "vot2016",
    repetitions: int = 1,
    engine: str = "local",
    address: str | None = None,
    on_plan: PlanCallback | None = None,
    on_progress: ProgressCallback | None = None,
) -> list[Outcome]:
    """Run every tracker over every sequence (or those named) and return what became of each, finished ones included.

    ``processes`` is how many tasks run at once: 1 if it is not given, on Ray as many as its nodes have room for.
    ``threads`` is each one's budget for torch and OpenCV; by default the machine's cores are shared out evenly, and a
    task on Ray has 1 unless ``processes`` is given. Results depend on it in the last digits, so it is written beside
    them.

    Repetition r runs with ``seed + r - 1``, whatever the tracker: one without randomness repeats itself, which is for
    the caller to know, and tells how steady its speed is.
    """
    if repetitions < 1 or any(number is not None and number < 1 for number in (processes, threads)):
        raise ConfigError("processes, threads and repetitions must be at least 1")
    if threads is None:
        is_open_ended = engine == "ray" and processes is None
        threads = 1 if is_open_ended else max(1, (os.cpu_count() or 1) // (processes or 1))
    closed_engine = open_engine(engine, processes, threads, address)  # wrong names are told before hours of work
    rules = load_protocol(protocol) if isinstance(protocol, str) else protocol
    chosen = select_sequences(Path(data_folder), sequences)
    tasks: list[Task] = []
    for text in dict.fromkeys(specs):
        choice = choose_tracker(text, seed)
        its_tasks = []
        for repetition in range(1, repetitions + 1):
            for one in chosen:
                path = result_path(Path(out_folder), choice.spec, one.name, repetition)
                its_tasks.append(Task(text, one, path, rules, seed + repetition - 1, repetition, threads))
        claim_folder(
            Path(out_folder) / choice.spec.folder_name,
            describe_run(choice, seed, rules, threads, engine),
            adds_results=not all(task.result_path.exists() for task in its_tasks),
        )
        tasks += its_tasks
    return _run_tasks(tasks, closed_engine, on_plan or (lambda plan: None), on_progress or (lambda *_: None))


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


def _run_tasks(
    tasks: list[Task],
    closed_engine: AbstractContextManager[Engine],
    on_plan: PlanCallback,
    on_progress: ProgressCallback,
) -> list[Outcome]:
    outcomes: list[Outcome] = []

    def finish(outcome: Outcome) -> None:
        outcomes.append(outcome)
        on_progress(outcome, len(outcomes), len(tasks))

    is_made = [task.result_path.exists() for task in tasks]
    made = [task for task, its in zip(tasks, is_made, strict=True) if its]
    missing = [task for task, its in zip(tasks, is_made, strict=True) if not its]
    with ExitStack() as stack:
        engine = stack.enter_context(closed_engine) if missing else None
        on_plan(Plan(tuple(tasks), min(engine.workers, len(missing)) if engine else 0))
        for task in made:
            finish(skipped(task))
        if engine is not None:
            _run_missing(missing, engine, finish)
    return outcomes


def _run_missing(tasks: list[Task], engine: Engine, finish: Callable[[Outcome], None]) -> None:
    """Run all of these. Those that another run is at work on are waited for, and done here should it give up."""
    # The longest first: else the last worker drags one long sequence while the others idle.
    ready = sorted(tasks, key=lambda task: -len(task.sequence.frames))
    elsewhere: list[Task] = []
    while ready or elsewhere:
        elsewhere += _run_batch(ready, engine, finish)
        made = [task for task in elsewhere if task.result_path.exists()]
        for task in made:
            finish(skipped(task))
        ready = [task for task in elsewhere if task not in made and not is_claimed(task.result_path)]
        elsewhere = [task for task in elsewhere if task not in made and task not in ready]
        if elsewhere and not ready:
            logger.info("waiting for %d results that another run is making", len(elsewhere))
            time.sleep(LOOK_AGAIN_SECONDS)


def _run_batch(tasks: list[Task], engine: Engine, finish: Callable[[Outcome], None]) -> list[Task]:
    """Run these, and return those that another run is at work on."""
    busy: set[tuple[str, str, int]] = set()

    def hear(outcome: Outcome) -> None:
        if outcome.status == "busy":
            busy.add((outcome.tracker, outcome.sequence, outcome.repetition))
        else:
            finish(outcome)

    if tasks:
        engine.run(tasks, hear)
    return [task for task in tasks if (task.tracker, task.sequence.name, task.repetition) in busy]
