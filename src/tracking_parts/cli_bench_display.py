"""What ``stp bench`` prints: progress on stderr, tables on stdout."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tracking_parts.cli_display import complain, output_console
from tracking_parts.evaluation.progress import RunProgress, TrackerProgress
from tracking_parts.evaluation.report.content import Cell, as_cell
from tracking_parts.evaluation.report.content import Table as ReportTable
from tracking_parts.evaluation.runner import Outcome, Plan
from tracking_parts.stopping import Stopped

if TYPE_CHECKING:
    from tracking_parts.evaluation.paper_plan import Estimate


class BenchDisplay:
    """A live table, one row per tracker, where there is a terminal; else a line per finished sequence.

    Pass ``plan`` and ``show`` to the runner as ``on_plan`` and ``on_progress``.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._progress: RunProgress | None = None
        self._live: Live | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=2)

    def __enter__(self) -> BenchDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._live is not None:
            self._live.stop()
        if isinstance(error, Stopped):
            error.hint = "finished sequences are kept, and the same command goes on from there"

    def plan(self, plan: Plan) -> None:
        """Called by the runner when it knows what is to be done; a second run of the same command starts afresh."""
        self._progress = RunProgress(plan)

    def show(self, outcome: Outcome, done: int, total: int) -> None:
        """Called by the runner whenever a sequence is finished."""
        if self._progress is not None:
            self._progress.add(outcome)
        if self._live is None or outcome.status == "raised":
            # soft_wrap: without a terminal rich would break lines at 80 columns.
            self._console.print(Text(f"{done}/{total} {describe(outcome)}"), soft_wrap=True)

    def _table(self) -> Table:
        return progress_table(self._progress) if self._progress is not None else Table(box=None)


def progress_table(progress: RunProgress) -> Table:
    """The state of a run for a terminal."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("tracker", overflow="fold")
    for name in ("done", "failures", "raised", "fps", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = list(progress.trackers.values())
    for row in rows:
        table.add_row(*_progress_cells(row, progress.seconds_left(row)), end_section=row is rows[-1])
    table.add_row(*_progress_cells(progress.total(), progress.total_seconds_left()))
    return table


def _progress_cells(row: TrackerProgress, seconds_left: float) -> list[Text]:
    failures = "–" if row.failures is None else str(row.failures)
    speed = "–" if math.isnan(row.frames_per_second) else f"{row.frames_per_second:.1f}"
    cells = [row.tracker, f"{row.done}/{row.total}", failures, str(row.raised) if row.raised else "", speed]
    return [Text(cell) for cell in (*cells, _duration(seconds_left))]


def describe(outcome: Outcome) -> str:
    """One line about a finished sequence.

    >>> describe(Outcome("identity", "bag", "done", repetition=2, frames=12, failures=1))
    'identity bag (2): 1 failure in 12 frames'
    """
    again = f" ({outcome.repetition})" if outcome.repetition > 1 else ""
    head = f"{outcome.tracker} {outcome.sequence}{again}:"
    if outcome.status == "raised":
        return f"{head} raised {outcome.error}"
    failures = "1 failure in " if outcome.failures == 1 else f"{outcome.failures} failures in "
    found = "" if outcome.failures is None else failures
    speed = "" if math.isnan(outcome.frames_per_second) else f", {outcome.frames_per_second:.1f} fps"
    earlier = " (done before)" if outcome.status == "skipped" else ""
    return f"{head} {found}{outcome.frames} frames{speed}{earlier}"


def report_outcomes(outcomes: Sequence[Outcome], out: Path) -> bool:
    """Say what raised, and how much is there; whether all is."""
    raised = [outcome for outcome in outcomes if outcome.status == "raised"]
    for outcome in raised:
        if outcome.details:
            typer.echo(outcome.details, err=True)
        again = f" ({outcome.repetition})" if outcome.repetition > 1 else ""
        complain(f"{outcome.tracker} on {outcome.sequence}{again}: {outcome.error}")
    typer.echo(f"{len(outcomes) - len(raised)} of {len(outcomes)} results are in {out}")
    return not raised


def print_table(table: ReportTable) -> None:
    """A table of a report on stdout, its small print in brackets."""
    shown = Table(box=SIMPLE_HEAD, title=Text(table.caption), title_justify="left")
    for index, head in enumerate(table.head):
        is_name = index < table.names
        shown.add_column(
            Text(_cell_words(head)), justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name
        )
    for row in table.rows:
        name, *figures = row.cells
        marked = f"{_cell_words(name)} ({row.mark})" if row.mark else _cell_words(name)
        shown.add_row(Text(marked), *map(_cell_text, figures))
    console = output_console()
    console.print(shown)
    for note in table.notes:
        console.print(Text(note))


def _cell_text(cell: Cell | str) -> Text:
    return Text(_cell_words(cell), "bold" if as_cell(cell).best else "")


def _cell_words(cell: Cell | str) -> str:
    cell = as_cell(cell)
    return f"{cell.text} {cell.detail}" if cell.detail else cell.text


def print_estimates(estimates: Sequence[Estimate], processes: int) -> None:
    """What a long run will take, on stderr."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("tracker", overflow="fold")
    for name in ("data", "sequences", "frames", "fps", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in estimates:
        speed = "–" if math.isnan(one.frames_per_second) else f"{one.frames_per_second:.1f}"
        cells = [
            one.tracker,
            one.data_set,
            str(one.sequences),
            str(one.frames),
            speed,
            _duration(one.seconds / processes),
        ]
        table.add_row(*map(Text, cells))
    seconds = [one.seconds / processes for one in estimates]
    known = sum(second for second in seconds if not math.isnan(second))
    console = Console(stderr=True, highlight=False)
    console.print(table)
    unknown = sum(map(math.isnan, seconds))
    more = f", and {unknown} of which nobody can tell" if unknown else ""
    console.print(Text(f"left to do: about {_duration(known)} with {processes} at once{more}"), soft_wrap=True)


def command_line() -> str:
    """The command that was given, to be written into a report."""
    return shlex.join(["stp", *sys.argv[1:]])


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds; a dash where they are not known."""
    return "–" if math.isnan(seconds) else str(timedelta(seconds=round(seconds)))
