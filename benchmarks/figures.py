"""A figure beside what is wanted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES = {"met": "green", "missed": "red"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; ``verdict`` is empty where nothing is wanted, only shown for comparison."""

    name: str
    measured: str
    value: float | None = None
    wanted: str = ""
    verdict: str = ""


def at_least(name: str, value: float, bound: float, measured: str) -> Figure:
    """
    >>> at_least("speed", 1.2, 1.0, "1.20").verdict
    'met'
    """
    return Figure(name, measured, value, f"at least {bound:g}", "met" if value >= bound else "missed")


def at_most(name: str, value: float, bound: float, measured: str) -> Figure:
    """
    >>> at_most("seconds", 3.5, 3.0, "3.5 s").verdict
    'missed'
    """
    return Figure(name, measured, value, f"at most {bound:g}", "met" if value <= bound else "missed")


def missing(name: str, why: str, wanted: str) -> Figure:
    """A figure that could not be taken, said plainly."""
    return Figure(name, "–", None, wanted, why)


def print_figures(figures: Sequence[Figure], console: Console) -> None:
    """The table."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("figure", overflow="fold")
    table.add_column("measured", overflow="fold")
    table.add_column("wanted", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for figure in figures:
        verdict = Text(figure.verdict, style=_STYLES.get(figure.verdict, ""))
        table.add_row(Text(figure.name), Text(figure.measured), Text(figure.wanted), verdict)
    console.print(table)


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [asdict(figure) for figure in figures]
