"""The report: one HTML page that needs nothing else, and the same as Markdown beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.protocol import Protocol, ResetProtocol
from tracking_parts.evaluation.report.chart_files import chart_files, chart_paths
from tracking_parts.evaluation.report.content import Section
from tracking_parts.evaluation.report.html import html_page
from tracking_parts.evaluation.report.markdown import markdown_page
from tracking_parts.evaluation.report.one_pass_sections import one_pass_sections
from tracking_parts.evaluation.report.provenance_section import conventions_section, provenance_section
from tracking_parts.evaluation.report.reset_sections import reset_sections
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.io.files import write_atomically
from tracking_parts.versions import versions


def write_report(
    trackers: Sequence[TrackerRuns],
    protocol: Protocol,
    to: Path,
    *,
    against: str | None,
    title: str,
    command: str,
    extra_sections: Sequence[Section] = (),
) -> list[Path]:
    """Write the page to ``to`` and the Markdown beside it; return both paths.

    ``against`` names the tracker that the others are compared with; None takes the best. ``extra_sections`` stand
    between the headline and the details. The order of the trackers decides their colours.
    """
    sections = report_sections(trackers, protocol, against, command, extra_sections)
    return write_page(to, title, f"{_count(len(trackers), 'tracker')}, protocol {protocol.name}", sections)


def write_page(to: Path, title: str, lead: str, sections: Sequence[Section]) -> list[Path]:
    """Any sections as an HTML page, and as Markdown beside it with its charts in a folder; gives the two pages.

    ``lead`` is the line under the title.
    """
    if to.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"a report is an .html file, not {to.name!r}")
    now = datetime.now(timezone.utc).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    lead = f"{lead}, written {now}"
    footer = f"Written by tracking-parts {versions().get('tracking-parts', '(not installed)')}."
    charts = chart_paths(sections, to)
    pages = {
        to: html_page(title, lead, sections, footer),
        to.with_suffix(".md"): markdown_page(title, lead, sections, footer, charts),
    }
    for path, text in {**chart_files(charts, to), **pages}.items():
        write_atomically(path, text.encode("utf-8", "replace"))  # a file's name may hold what is no text
    return list(pages)


def report_sections(
    trackers: Sequence[TrackerRuns],
    protocol: Protocol,
    against: str | None,
    command: str,
    extra_sections: Sequence[Section] = (),
) -> list[Section]:
    """The content of the report, whatever it is rendered as."""
    if not trackers:
        raise FormatError("no results to report on")
    if isinstance(protocol, ResetProtocol):
        headline, *details = reset_sections(trackers, protocol, against)
    else:
        headline, *details = one_pass_sections(trackers, protocol, against)
    first, last = provenance_section(trackers, protocol, command), conventions_section(protocol)
    return [first, headline, *extra_sections, *details, last]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
