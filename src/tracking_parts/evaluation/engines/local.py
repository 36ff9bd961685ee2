"""A pool of processes on this machine, of which any may die.

The standard pool breaks as a whole when one process is killed: by the kernel for want of memory, or by a crash in
native code. Here a death costs the task under way, which is tried again in a new process, and disturbs no other.
Workers are spawned, never forked: a fork of a process whose torch or OpenCV threads are running may hang.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from tracking_parts.evaluation.claims import is_claimed
from tracking_parts.evaluation.engines import MOST_DEATHS
from tracking_parts.evaluation.tasks import Outcome, Task, raised, run_task

LOOK_AGAIN_SECONDS = 2.0
PATIENCE_SECONDS = 5.0


@dataclass
class Worker:
    """A process with a task of its own from the start; it says when it is ready to be sent that task."""

    process: SpawnProcess
    connection: Connection
    task: Task

    @classmethod
    def start(cls, task: Task) -> Worker:
        context = multiprocessing.get_context("spawn")
        ours, its = context.Pipe()
        process = context.Process(target=work, args=(its,), name="stp bench worker")
        process.start()
        its.close()  # else its end would not close when it dies
        return cls(process, ours, task)

    def send_task(self) -> None:
        with suppress(OSError):  # dead: seen at the next look
            self.connection.send(self.task)

    def message(self) -> Outcome | None:
        """What the worker said last; None for being ready. EOFError where it is dead."""
        try:
            message = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        return message if isinstance(message, Outcome) else None

    def retire(self) -> None:
        """No more work: it ends when its pipe closes."""
        self.connection.close()
        self._bury()

    def kill(self) -> None:
        self.process.terminate()
        self.connection.close()
        self._bury()
        is_claimed(self.task.result_path)  # looking removes what a killed worker's claim left on disk

    def _bury(self) -> None:
        self.process.join(PATIENCE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def how_it_died(self) -> str:
        self._bury()
        code = self.process.exitcode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class LocalEngine:
    """At most ``workers`` processes at a time, made when there is work and replaced when they die."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: workers do not outlive a batch."""

    def run(self, tasks: Sequence[Task], finish: Callable[[Outcome], None]) -> None:
        queue = deque(tasks)
        deaths: Counter[Path] = Counter()
        crew: list[Worker] = []
        try:
            while queue or crew:
                while queue and len(crew) < self.workers:
                    with _interrupts_held_back():  # until it is in the crew, nobody would end it
                        crew.append(Worker.start(queue.popleft()))
                for worker in _wait_for_any(crew):
                    try:
                        outcome = worker.message()
                    except EOFError:
                        crew.remove(worker)
                        self._mourn(worker, deaths, queue, finish)
                        continue
                    if outcome is not None:
                        finish(outcome)
                        if not queue:
                            crew.remove(worker)
                            worker.retire()
                            continue
                        worker.task = queue.popleft()
                    worker.send_task()
        finally:
            for worker in crew:
                worker.process.terminate()  # all at once, before waiting for each
            for worker in crew:
                worker.kill()

    def _mourn(
        self, worker: Worker, deaths: Counter[Path], queue: deque[Task], finish: Callable[[Outcome], None]
    ) -> None:
        task, cause = worker.task, worker.how_it_died()
        worker.kill()
        deaths[task.result_path] += 1
        if deaths[task.result_path] < MOST_DEATHS:
            queue.append(task)  # last: what killed it, mostly a want of memory, may have passed by then
        else:
            finish(raised(task, f"its worker died {MOST_DEATHS} times, the last time with {cause}"))


def _wait_for_any(crew: Sequence[Worker]) -> list[Worker]:
    """Those that said something or died.

    A dead worker's pipe stays open while a process that its tracker forked lives on, so the processes themselves are
    looked at from time to time.
    """
    ready = wait([worker.connection for worker in crew], LOOK_AGAIN_SECONDS)
    if ready:
        return [worker for worker in crew if worker.connection in ready]
    dead = [worker for worker in crew if not worker.process.is_alive() and not worker.connection.poll()]
    for worker in dead:
        worker.connection.close()
    return dead


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal. A process started in here never hears it, not even while it imports:
    we end the workers ourselves.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work(connection: Connection) -> None:
    """What a worker does until its pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            connection.send(run_task(connection.recv()))


def _end_with_parent() -> None:
    """A killed parent cannot tell its workers to stop; in the middle of a task they would go on for hours."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
