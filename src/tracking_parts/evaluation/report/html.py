"""Content as one HTML page that needs nothing else: no script, font, style or picture from outside.

Everything that comes from files and names is escaped here or in ``svg``; nothing else writes markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from tracking_parts.evaluation.report.content import (
    Cell,
    Chart,
    Facts,
    Gallery,
    Key,
    Notice,
    Part,
    Picture,
    Row,
    Section,
    Table,
    as_cell,
)
from tracking_parts.evaluation.report.style import style_sheet
from tracking_parts.evaluation.report.svg import colour_class, shorten, sign_shape

NAV_LETTERS = 50
MANY_COLUMNS = 4  # from so many on a table is wider than a phone

# Nothing may be fetched, whatever a name or a file tries; pictures are data URIs, styles are inline.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def html_page(title: str, lead: str, sections: Sequence[Section], footer: str) -> str:
    """The whole page."""
    anchors = unique_anchors([section.title for section in sections])
    links = "".join(
        f'<li><a href="#{anchor}">{escape(shorten(section.title, NAV_LETTERS))}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    body = "".join(_section(section, anchor) for anchor, section in zip(anchors, sections, strict=True))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style_sheet()}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="page">
<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>
<nav aria-label="Contents"><div><p>Contents</p><ol>{links}</ol></div></nav>
<main id="content">{body}</main>
<footer>{escape(footer)}</footer>
</div>
</body>
</html>
"""


def unique_anchors(titles: Sequence[str]) -> list[str]:
    """Names to link to: from the titles, and numbered where two would be the same.

    >>> unique_anchors(["Speed", "Speed", "<b>"])
    ['speed', 'speed-2', 'b']
    """
    anchors: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        name, count = plain, 1
        while name in anchors or name == "content":
            count += 1
            name = f"{plain}-{count}"
        anchors.append(name)
    return anchors


def _section(section: Section, anchor: str) -> str:
    heading = f'<h2 id="{anchor}-heading">{escape(section.title)}</h2>'
    parts = "".join(_part(part, 3) for part in section.parts)
    return f'<section id="{anchor}" aria-labelledby="{anchor}-heading">{heading}{parts}</section>'


def _part(part: Part, level: int) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"
    if isinstance(part, Notice):
        return f'<p class="notice">{escape(part.text)}</p>'
    if isinstance(part, Facts):
        pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in part.pairs)
        return f"<dl>{pairs}</dl>"
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Chart):
        return _chart(part)
    if isinstance(part, Gallery):
        return _gallery(part)
    inner = "".join(_part(one, min(level + 1, 6)) for one in part.parts)
    return f"<h{level}>{escape(part.title)}</h{level}>{inner}"


def _table(table: Table) -> str:
    head = "".join(_head_cell(as_cell(name), index < table.names) for index, name in enumerate(table.head))
    rows = "".join(_row(row, table.names) for row in table.rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    hint = '<p class="hint">The table scrolls sideways →</p>' if len(table.head) > MANY_COLUMNS else ""
    return (
        f'<figure class="table"><p class="title">{escape(table.caption)}</p>{hint}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
        + "</figure>"
    )


def _head_cell(cell: Cell, is_name: bool) -> str:
    kind = ' class="name"' if is_name else ' class="tracker"' if cell.slot is not None else ""
    return f'<th scope="col"{kind}>{_cell_text(cell)}</th>'


def _row(row: Row, names: int) -> str:
    written = []
    for index, cell in enumerate(map(as_cell, row.cells)):
        badge = f' <span class="mark">{escape(row.mark)}</span>' if row.mark and index == 0 else ""
        written.append(_name_cell(cell, badge) if index < names else _figure_cell(cell, badge))
    return f"<tr>{''.join(written)}</tr>"


def _name_cell(cell: Cell, badge: str) -> str:
    return f'<th scope="row">{_cell_text(cell)}{badge}</th>'


def _figure_cell(cell: Cell, badge: str) -> str:
    classes = [name for name, wanted in (("best", cell.best), ("heat", cell.strength is not None)) if wanted]
    named = f' class="{" ".join(classes)}"' if classes else ""
    # At most .4: the text on it must keep its contrast.
    shade = f' style="--strength:{0.4 * min(max(cell.strength, 0), 1):.2f}"' if cell.strength is not None else ""
    return f"<td{named}{shade}>{_cell_text(cell)}{badge}</td>"


def _cell_text(cell: Cell) -> str:
    detail = f'<span class="detail">{escape(cell.detail)}</span>' if cell.detail else ""
    return f"{_signed(cell.text, cell.slot)}{detail}"


def _signed(text: str, slot: int | None) -> str:
    """Text, after the tracker's sign where it belongs to one; long names may break after their punctuation."""
    words = re.sub(r"([:?=,/_]|&amp;|(?<!\d)\.|\.(?!\d))(?=\w)", r"\1<wbr>", escape(text))  # never within a number
    return words if slot is None else f'<span class="who">{key_sign(slot)}<span>{words}</span></span>'


def key_sign(slot: int) -> str:
    """A tracker's sign, to stand before its name."""
    return (
        f'<svg class="key" viewBox="-6 -6 12 12" aria-hidden="true">'
        f'{sign_shape(slot, (0.0, 0.0), 4.5)} class="sign {colour_class(slot)}"/></svg>'
    )


def _chart(chart: Chart) -> str:
    legend = "".join(_legend_entry(key) for key in chart.legend)
    kind = "legend when-narrow" if chart.names_in_wide else "legend"
    listed = f'<ul class="{kind}">{legend}</ul>' if legend else ""
    return (
        f'<figure class="chart"><div class="wide">{chart.svg}</div><div class="narrow">{chart.svg_narrow}</div>'
        f"{listed}<figcaption>{escape(chart.caption)}</figcaption></figure>"
    )


def _legend_entry(key: Key) -> str:
    return f"<li>{_signed(key.label, key.slot)}</li>"


def _gallery(gallery: Gallery) -> str:
    pictures = "".join(f"<li>{_picture(picture)}</li>" for picture in gallery.pictures)
    return f'<p class="title">{escape(gallery.caption)}</p><ul class="gallery">{pictures}</ul>'


def _picture(picture: Picture) -> str:
    width, height = picture.size_wh
    return (
        f'<figure><img src="{escape(picture.uri)}" width="{width}" height="{height}" loading="lazy" '
        f'alt="{escape(picture.description)}">'
        f"<figcaption>{_signed(picture.caption, picture.slot)}</figcaption></figure>"
    )
