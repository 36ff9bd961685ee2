"""What the command prints: progress on stderr, answers on stdout. Without a terminal: plain lines, no control codes."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from tracking_parts.result import State

if TYPE_CHECKING:
    from tracking_parts.config import TrackerConfig
    from tracking_parts.io.download import Progress as DownloadProgress
    from tracking_parts.io.weights import Provenance
    from tracking_parts.tracking import RunReport, Step

_PLAIN_SECONDS = 5.0  # between two plain lines of progress
_PLAIN_WIDTH = 160  # rich assumes 80 columns without a terminal, and would break paths
_FPS_WINDOW = 30  # frames over which the speed shown is averaged
_STATE_STYLES = {State.TRACKING: "green", State.UNCERTAIN: "yellow", State.LOST: "red"}


def output_console() -> Console:
    """Stdout. Made anew for each use: the streams may have been replaced."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def _progress_console() -> Console:
    return Console(stderr=True, highlight=False)


def _is_live(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


class _Speed:
    """Frames per second over the last few frames."""

    def __init__(self) -> None:
        self._times: deque[float] = deque([time.perf_counter()], maxlen=_FPS_WINDOW)

    def tick(self) -> float:
        self._times.append(time.perf_counter())
        elapsed = self._times[-1] - self._times[0]
        return (len(self._times) - 1) / elapsed if elapsed > 0 else 0.0


@contextmanager
def tracking_progress(name: str, total: int | None) -> Iterator[Callable[[Step], None]]:
    """Shows each step: a live bar in a terminal, a line now and then elsewhere."""
    console = _progress_console()
    if not _is_live(console):
        plain = _PlainSteps(console, name, total)
        yield plain.show
        plain.flush()
        return
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeRemainingColumn(),
        console=console,
    )
    with bar:
        yield _live_steps(bar, bar.add_task(name, total=total, facts=""))


def _live_steps(bar: Progress, task: TaskID) -> Callable[[Step], None]:
    speed = _Speed()

    def show(step: Step) -> None:
        result = step.result
        style = _STATE_STYLES[result.state]
        facts = f"{speed.tick():5.1f} fps  [{style}]{result.state} {result.confidence:.2f}[/{style}]"
        bar.update(task, advance=1, facts=facts)

    return show


class _PlainSteps:
    """A line now and then, and one for the last frame."""

    def __init__(self, console: Console, name: str, total: int | None) -> None:
        self._console, self._name, self._total = console, name, total
        self._speed = _Speed()
        self._done = 0
        self._shown_at = -float("inf")
        self._pending = ""

    def show(self, step: Step) -> None:
        self._done += 1
        counted = f"{self._done} of {self._total}" if self._total else f"{self._done} so far"
        facts = f"{self._speed.tick():.1f} fps, {step.result.state}, confidence {step.result.confidence:.2f}"
        self._pending = f"{self._name}: frame {step.index} ({counted}), {facts}"
        if time.perf_counter() - self._shown_at >= _PLAIN_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._pending:
            self._console.print(Text(self._pending), soft_wrap=True)
        self._pending = ""
        self._shown_at = time.perf_counter()


@contextmanager
def download_progress() -> Iterator[DownloadProgress]:
    """A bar per file in a terminal, two lines per file elsewhere; nothing at all if nothing is fetched."""
    console = _progress_console()
    if not _is_live(console):
        yield _plain_downloads(console)
        return
    bar = Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=console)
    tasks: dict[str, TaskID] = {}

    def show(description: str, done: int, total: int | None) -> None:
        if description not in tasks:
            tasks[description] = bar.add_task(description, total=total)
        bar.update(tasks[description], completed=done, total=total)

    with bar:
        yield show


def _plain_downloads(console: Console) -> DownloadProgress:
    begun: set[str] = set()
    finished: set[str] = set()

    def show(description: str, done: int, total: int | None) -> None:
        if description not in begun:
            begun.add(description)
            size = f" ({total / 1e6:.0f} MB)" if total else ""
            console.print(Text(f"{description}{size} ..."), soft_wrap=True)
        if total and done >= total and description not in finished:
            finished.add(description)
            console.print(Text(f"{description}: done"), soft_wrap=True)

    return show


def print_report(report: RunReport, paths: Sequence[tuple[str, Path]]) -> None:
    """The small table at the end of a run."""
    rows: dict[str, str] = {}
    first, last = report.first_index, report.next_index - 1
    rows["frames"] = f"{report.frames} (numbers {first} to {last})"
    alone = f"tracker alone {report.tracker_fps:.1f} fps after a start of {report.start_seconds:.1f} s"
    rows["speed"] = f"{report.fps:.1f} fps; {alone}"
    answers = sum(report.states.values())
    shares = (f"{state} {count / answers:.0%}" for state, count in report.states.items())
    rows["states"] = ", ".join(shares)
    _print_rows({**rows, **{what: str(path) for what, path in paths}})


def print_provenance(path: Path, provenance: Provenance) -> None:
    """Where the weights are and where they came from."""
    facts = {name.replace("_", " "): str(value) for name, value in dataclasses.asdict(provenance).items() if value}
    _print_rows({"weights": str(path), **facts})


def _print_rows(rows: Mapping[str, str]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(value))
    output_console().print(table)


def say_light_trunk_is_made() -> None:
    """Before it is: it takes a while, once."""
    words = "making the light trunk from these weights and three clips (2 MB): once, some seconds"
    _progress_console().print(words, soft_wrap=True)


def print_light_trunk(path: Path) -> None:
    """Where it is and how it was made."""
    from tracking_parts.light_weights import light_metadata

    metadata = light_metadata(path)
    sizes = ", ".join(
        f"{layer} {channels or 'all'}" + (f" by {rank}" if rank else "")
        for layer, (channels, rank) in json.loads(metadata["sizes"]).items()
    )
    rows = {"light trunk": str(path), "method": f"{metadata['method']}, {metadata['pictures']}", "outputs": sizes}
    _print_rows({**rows, "made from": metadata["made_from"], "tensors sha256": metadata["tensors_sha256"]})


def print_settings(configs: Mapping[str, TrackerConfig]) -> None:
    """One row per setting, one column per profile; values that differ from the first profile's stand out."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column("setting", no_wrap=True, style="bold")
    for name in configs:
        table.add_column(name, no_wrap=True)
    table.add_column("meaning", overflow="fold")
    for setting in dataclasses.fields(next(iter(configs.values()))):
        values = [getattr(config, setting.name) for config in configs.values()]
        cells = [Text(_value_words(value), style="" if value == values[0] else "bold yellow") for value in values]
        choices = f" ({', '.join(setting.metadata['choices'])})" if setting.metadata["choices"] else ""
        table.add_row(setting.name, *cells, Text(setting.metadata["meaning"] + choices))
    output_console().print(table)


def _value_words(value: Any) -> str:
    """As it is written after --set."""
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def complain(message: str) -> None:
    """One line on stderr, whatever the message holds."""
    typer.echo(f"stp: {' '.join(message.split())}", err=True)
