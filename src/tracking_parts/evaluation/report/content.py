"""What a report is made of, before anybody decides how it looks: sections of prose, tables, charts and pictures.

The same content is rendered twice, as HTML and as Markdown. Text in here is plain: the renderers escape it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    ``detail`` is small print under the text, such as an interval. ``strength`` (0 to 1) shades the cell of a heat
    table. ``slot`` is a tracker's number: its colour and sign are shown before the text.
    """

    text: str
    detail: str = ""
    strength: float | None = None
    slot: int | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``mark`` says where its figures come from ("published", "measured") and is shown beside the name."""

    cells: tuple[Cell | str, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, a heading and rows; the first ``names`` columns hold names, the others figures."""

    caption: str
    head: tuple[Cell | str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    names: int = 1

    @classmethod
    def of(cls, caption: str, head: Iterable[Cell | str], rows: Iterable[Iterable[Cell | str]], *notes: str) -> Table:
        """A table of rows without marks.

        >>> Table.of("speed", ["tracker", "fps"], [["csrt", "21"]]).rows[0].cells
        ('csrt', '21')
        """
        return cls(caption, tuple(head), tuple(Row(tuple(cells)) for cells in rows), notes)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a chart's legend."""

    label: str
    slot: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A finished picture in SVG, once for a desk and once for a phone: text must stay readable at both widths."""

    svg: str
    svg_narrow: str
    caption: str
    legend: tuple[Key, ...] = ()
    names_in_wide: bool = False  # the wide picture names the trackers itself and needs no legend


@dataclass(frozen=True, slots=True)
class Picture:
    """A small photograph as a data URI."""

    uri: str
    size_wh: tuple[int, int]
    description: str  # for those who cannot see it
    caption: str
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures side by side."""

    caption: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, such as the seed and the machine."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that must not be overlooked, such as a warning that figures do not compare."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, in order; a ``str`` is a paragraph, a section in a section a subsection."""

    title: str
    parts: tuple[Part, ...]


Part = str | Notice | Facts | Table | Chart | Gallery | Section


def as_cell(cell: Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell
