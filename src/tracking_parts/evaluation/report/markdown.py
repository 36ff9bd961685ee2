"""The same content as Markdown: prose, tables, and charts from files of their own; of photographs only the words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from tracking_parts.evaluation.report.content import Cell, Chart, Facts, Gallery, Notice, Part, Section, Table, as_cell


def markdown_page(
    title: str, lead: str, sections: Sequence[Section], footer: str, charts: Mapping[Chart, str] | None = None
) -> str:
    """``charts``: where each chart's picture is; of one that has none, what it shows is said."""
    blocks = [f"# {plain(title)}", plain(lead)]
    for section in sections:
        blocks += _section(section, 2, charts or {})
    return "\n\n".join([*blocks, plain(footer)]) + "\n"


def plain(words: str) -> str:
    """Text that Markdown shows as it is, on one line: no markup, no HTML, no end of a table's cell.

    >>> plain("a|b <i>")
    'a\\\\|b &lt;i>'
    """
    one_line = " ".join(words.split())
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", one_line.replace("&", "&amp;").replace("<", "&lt;"))


def markdown_table(table: Table) -> str:
    """One table with its caption and notes."""
    ruler = ["---" if index < table.names else "---:" for index in range(len(table.head))]
    lines = [_line([_cell(as_cell(name)) or " " for name in table.head]), _line(ruler)]
    for row in table.rows:
        cells = [_cell(as_cell(cell)) for cell in row.cells]
        if row.mark and cells:
            cells[0] += f" ({plain(row.mark)})"
        lines.append(_line(cells))
    notes = [f"- {plain(note)}" for note in table.notes]
    return "\n\n".join(block for block in (f"**{plain(table.caption)}**", "\n".join(lines), "\n".join(notes)) if block)


def _section(section: Section, level: int, charts: Mapping[Chart, str]) -> list[str]:
    blocks = [f"{'#' * level} {plain(section.title)}"]
    for part in section.parts:
        blocks += _part(part, level, charts)
    return blocks


def _part(part: Part, level: int, charts: Mapping[Chart, str]) -> list[str]:
    if isinstance(part, str):
        return [plain(part)]
    if isinstance(part, Notice):
        return [f"> {plain(part.text)}"]
    if isinstance(part, Facts):
        return ["\n".join(f"- {plain(name)}: {plain(value)}" for name, value in part.pairs)]
    if isinstance(part, Table):
        return [markdown_table(part)]
    if isinstance(part, Chart):
        return _chart(part, charts.get(part))
    if isinstance(part, Gallery):
        captions = "; ".join(plain(picture.caption) for picture in part.pictures)
        return [f"*Pictures in the HTML page:* {plain(part.caption)}: {captions}"]
    return _section(part, min(level + 1, 6), charts)


def _chart(chart: Chart, path: str | None) -> list[str]:
    if path is None:
        return [f"*Chart in the HTML page:* {plain(chart.caption)}"]
    link = quote(path, errors="surrogateescape")  # a page's name may hold what is no text
    return [f"![{plain(chart.caption)}]({link})", f"*{plain(chart.caption)}*"]


def _cell(cell: Cell) -> str:
    text = f"**{plain(cell.text)}**" if cell.best and cell.text else plain(cell.text)
    return f"{text} ({plain(cell.detail)})" if cell.detail else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
