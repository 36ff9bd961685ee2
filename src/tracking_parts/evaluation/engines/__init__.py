"""Where tasks run: in processes of this machine (``local``), or on a Ray cluster (``ray``).

An engine is entered, asked for any number of batches, and left; leaving it, by an exception too, ends its workers. A
task whose worker dies is given to another one, twice at most: see ``MOST_DEATHS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.tasks import Outcome, Task

EngineName = Literal["local", "ray"]
MOST_DEATHS = 3  # a task that took so many workers with it is given up


class Engine(Protocol):
    """Runs tasks somewhere. ``workers`` is how many at once."""

    @property
    def workers(self) -> int: ...

    def run(self, tasks: Sequence[Task], finish: Callable[[Outcome], None]) -> None:
        """Run all of these, in this order as far as possible; ``finish`` hears of each, in this thread."""
        ...


def open_engine(
    name: str, processes: int | None, threads: int, address: str | None = None
) -> AbstractContextManager[Engine]:
    """The engine of that name, to be entered; ``processes`` is None for as many tasks at once as are sensible, and
    ``threads`` what each of them is given room for.
    """
    from tracking_parts.evaluation.engines.local import LocalEngine
    from tracking_parts.evaluation.engines.ray_cluster import RayEngine

    if name == "ray":
        return RayEngine(address, processes, threads)
    if name != "local":
        raise ConfigError(f"unknown engine {name!r}: choose local or ray")
    if address is not None:
        raise ConfigError(f"address {address!r}: only the engine ray has one")
    return LocalEngine(processes or 1)
