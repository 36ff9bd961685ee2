"""What ``stp bench`` prints: progress on stderr, tables on stdout."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from tracking_parts.evaluation.runner import Outcome
from tracking_parts.evaluation.scoring import ScoreRow, table_cells


class BenchDisplay:
    """A line per finished sequence, above one live bar where there is a terminal."""

    def __init__(self) -> None:
        # soft_wrap below: without a terminal rich would break lines at 80 columns.
        self._console = Console(stderr=True, highlight=False)
        live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._bar = Progress(
            TextColumn("sequences"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not live,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> BenchDisplay:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, outcome: Outcome, done: int, total: int) -> None:
        """Called by the runner whenever a sequence is finished."""
        if self._task is None:
            self._task = self._bar.add_task("", total=total)
        self._bar.update(self._task, completed=done)
        self._console.print(Text(f"{done}/{total} {describe(outcome)}"), soft_wrap=True)


def describe(outcome: Outcome) -> str:
    """One line about a finished sequence."""
    head = f"{outcome.tracker} {outcome.sequence}:"
    if outcome.status == "raised":
        return f"{head} raised {outcome.error}"
    failures = "1 failure" if outcome.failures == 1 else f"{outcome.failures} failures"
    speed = "" if math.isnan(outcome.frames_per_second) else f", {outcome.frames_per_second:.1f} fps"
    earlier = " (done before)" if outcome.status == "skipped" else ""
    return f"{head} {failures} in {outcome.frames} frames{speed}{earlier}"


def score_table(rows: Sequence[ScoreRow]) -> Table:
    """The scores for a terminal."""
    head, *body = table_cells(rows)
    table = Table(box=SIMPLE_HEAD)
    for name in head:
        table.add_column(
            name, justify="left" if name in ("tracker", "sequence") else "right", no_wrap=name != "tracker"
        )
    for cells in body:
        table.add_row(*map(Text, cells))
    return table
