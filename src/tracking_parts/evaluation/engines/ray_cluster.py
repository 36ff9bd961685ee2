"""Tasks on a Ray cluster. Results come by a shared folder, whose path, like the data's, is the same on every node.

Ray itself notices killed workers and lost nodes and runs their tasks again elsewhere.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.engines import MOST_DEATHS
from tracking_parts.evaluation.tasks import Outcome, Task, raised, run_task

# For a Ray that we start: it reports nothing to anybody, and leaves the choice of accelerators as it is.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class RayEngine:
    """A connection to the cluster at ``address``, or a Ray of our own on this machine.

    As many tasks at once as the nodes have room for, each of ``threads`` processors, or at most ``most_at_once``.
    A connection that the caller made before is used and left open.
    """

    def __init__(self, address: str | None, most_at_once: int | None, threads: int) -> None:
        self._address = address
        self._most_at_once = most_at_once
        self._threads = threads
        self._ray = import_ray()
        self._is_ours = False

    def __enter__(self) -> RayEngine:
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._connect()
        try:
            self._check_room()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            self._ray.shutdown()  # ends the tasks under way, too

    @property
    def workers(self) -> int:
        room = sum(int(processors // self._threads) for processors in self._processors())
        return room if self._most_at_once is None else min(room, self._most_at_once)

    def run(self, tasks: Sequence[Task], finish: Callable[[Outcome], None]) -> None:
        remote = self._ray.remote(run_remotely).options(
            num_cpus=self._threads, max_retries=MOST_DEATHS - 1, scheduling_strategy="SPREAD"
        )
        search_path = self._ray.put([str(Path(folder).absolute()) for folder in sys.path])
        queue = deque(tasks)
        under_way: dict[Any, Task] = {}
        try:
            while queue or under_way:
                while queue and (self._most_at_once is None or len(under_way) < self._most_at_once):
                    task = with_absolute_paths(queue.popleft())
                    under_way[remote.remote(task, search_path)] = task
                for ready in self._ray.wait(list(under_way), num_returns=1)[0]:
                    finish(self._outcome(ready, under_way.pop(ready)))
        finally:
            for reference in under_way:
                self._ray.cancel(reference, force=True)

    def _outcome(self, reference: Any, task: Task) -> Outcome:
        exceptions = self._ray.exceptions
        try:
            outcome: Outcome = self._ray.get(reference)
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError):
            return raised(task, f"its worker died {MOST_DEATHS} times")
        except exceptions.RayError as error:
            return raised(task, f"Ray: {type(error).__name__}", str(error))
        return outcome

    def _connect(self) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if self._address is None:
            for name, value in QUIET.items():
                os.environ.setdefault(name, value)
            processes = self._most_at_once or max(1, (os.cpu_count() or 1) // self._threads)
            options |= {"num_cpus": processes * self._threads, "include_dashboard": False}
        try:
            self._ray.init(address=self._address or "local", **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = f"at {self._address}" if self._address else "on this machine"
            raise ConfigError(f"no Ray {where}: {' '.join(str(error).split())[:200]}") from error

    def _check_room(self) -> None:
        """A task that fits no node would wait for ever."""
        largest = max(self._processors(), default=0)
        if largest < self._threads:
            raise ConfigError(f"threads is {self._threads}, but Ray's largest node has {largest:g} processors")

    def _processors(self) -> list[float]:
        return [float(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]]


def import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ConfigError('the engine ray needs Ray: pip install "tracking-parts[ray]"') from error


def run_remotely(task: Task, search_path: list[str]) -> Outcome:
    """A task in a worker of Ray's, which finds the caller's own trackers where the caller does."""
    sys.path.extend(folder for folder in search_path if folder not in sys.path)
    return run_task(task)


def with_absolute_paths(task: Task) -> Task:
    """Workers of a cluster start in folders of their own."""
    frames = [path.absolute() for path in task.sequence.frames]
    return replace(task, sequence=replace(task.sequence, frames=frames), result_path=task.result_path.absolute())
