"""Charts as picture files of their own, for Markdown: on white, with their colours and their legend in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from tracking_parts.evaluation.report.content import Chart, Key, Section
from tracking_parts.evaluation.report.style import LIGHT, style_sheet
from tracking_parts.evaluation.report.svg import colour_class, sign_shape

LINE = 22.0  # pixels of the legend, one tracker a line
VIEW = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" role="img">')


def charts_in(sections: Sequence[Section]) -> Iterator[Chart]:
    """All charts, in the order of the page."""
    for section in sections:
        for part in section.parts:
            if isinstance(part, Chart):
                yield part
            elif isinstance(part, Section):
                yield from charts_in([part])


def chart_paths(sections: Sequence[Section], page: Path) -> dict[Chart, str]:
    """Where each chart's file is, seen from the page's folder: ``paper-charts/01.svg`` for ``paper.html``."""
    charts = list(dict.fromkeys(charts_in(sections)))
    return {chart: f"{page.stem}-charts/{number:02}.svg" for number, chart in enumerate(charts, start=1)}


def chart_files(paths: Mapping[Chart, str], page: Path) -> dict[Path, str]:
    """The files themselves."""
    return {page.parent / path: standalone(chart) for chart, path in paths.items()}


def standalone(chart: Chart) -> str:
    """The wide picture, with the names of the trackers under it unless it has them itself."""
    found = VIEW.match(chart.svg)
    if found is None:
        raise ValueError("a chart's picture must begin with its size")
    width, height = float(found[1]), float(found[2])
    keys = () if chart.names_in_wide else chart.legend
    legend = "".join(_entry(key, height + LINE * (index + 0.5)) for index, key in enumerate(keys))
    whole = height + LINE * len(keys)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="{width:g}" height="{whole:g}" '
        f'viewBox="0 0 {width:g} {whole:g}"><style>{_style()}</style>'
    )
    inner = chart.svg[found.end() :].removesuffix("</svg>")
    title, picture = inner[: _end_of_words(inner)], inner[_end_of_words(inner) :]
    return f'{head}{title}<rect width="100%" height="100%" class="paper"/>{picture}{legend}</svg>\n'


def _end_of_words(inner: str) -> int:
    """What describes a picture must come first in it."""
    return inner.index("</desc>") + len("</desc>") if "</desc>" in inner else 0


def _entry(key: Key, middle: float) -> str:
    shape = sign_shape(key.slot, (56.0, middle), 4.5)
    return (
        f'{shape} class="sign {colour_class(key.slot)}"/><text x="68" y="{middle + 4:.1f}">{escape(key.label)}</text>'
    )


def _style() -> str:
    """The part of the page's style that is about charts; by daylight, whatever the reader's screen prefers."""
    rules = [rule for rule in style_sheet().split("\n") if rule.startswith(CHART_RULES)]
    slots = "".join(f".s{slot}{{--c:{colour}}}" for slot, colour in enumerate(LIGHT))
    colours = ".chart{--paper:#fff;--soft:#f4f5f7;--ink:#1b1e23;--muted:#565c66;--rule:#d9dce1;font-family:sans-serif}"
    return "".join([colours, ".paper{fill:#fff}", slots, *rules])


CHART_RULES = (
    ".chart text",
    ".chart .tick",
    ".chart .name",
    ".chart .axis",
    ".grid",
    ".base",
    ".range",
    ".curve",
    ".band",
    ".leader",
    ".whisker",
    ".sign",
    ".bar",
    ".faint",
)
