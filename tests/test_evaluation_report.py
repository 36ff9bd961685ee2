"""The report: what stands in it, that it needs nothing else, and that no name can break it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from report_helpers import HOSTILE, LOST, ONE_PASS, PERFECT, RESET, STILL, Page, renamed, run_trackers
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.report import Cell, Chart, Notice, Row, Section, Table, write_report
from tracking_parts.evaluation.report.content import as_cell
from tracking_parts.evaluation.report.html import html_page
from tracking_parts.evaluation.report.markdown import markdown_table
from tracking_parts.evaluation.report.page import report_sections, write_page
from tracking_parts.evaluation.report.provenance_section import data_set_name, warnings
from tracking_parts.evaluation.report.reset_sections import reliability
from tracking_parts.evaluation.report.score_tables import score_tables
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.evaluation.statistics import Interval, headline_intervals


@pytest.fixture
def trackers(vot_data: Path, tmp_path: Path) -> list[TrackerRuns]:
    """One that is always right, one that stands still, one that fails whenever it is asked."""
    labels = "".join("1\n" if index < 6 else "0\n" for index in range(12))
    (vot_data / "moving" / "occlusion.label").write_text(labels)
    return run_trackers(vot_data, tmp_path / "out", RESET)


def write(trackers: list[TrackerRuns], folder: Path, against: str | None = None, *extra: Section) -> tuple[Page, str]:
    paths = write_report(
        trackers, RESET, folder / "r.html", against=against, title="A test", command="stp x", extra_sections=extra
    )
    assert [path.name for path in paths] == ["r.html", "r.md"]
    return Page(paths[0].read_text("utf-8")), paths[1].read_text("utf-8")


def row_of(page: Page, name: str, columns: int) -> list[str]:
    return next(row for row in page.rows if row[0] == name and len(row) == columns)


def test_the_headline_holds_the_measured_figures(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, markdown = write(trackers, tmp_path)
    expected = headline_intervals(trackers[1].groups, RESET.eao_interval, RESET.burn_in)
    cells = row_of(page, STILL, 7)
    assert cells[1] == f"{expected.eao.value:.3f}{expected.eao.low:.3f}–{expected.eao.high:.3f}"
    assert cells[2].startswith(f"{expected.accuracy.value:.3f}")
    # Of twelve frames it fails in the second, starts three later, and so on: at 1, 5 and 9, in both sequences.
    lost = row_of(page, LOST, 7)
    assert (lost[3], lost[4], lost[5]) == ("66–6", "3.003.00–3.00", "25.00025.000–25.000")
    assert row_of(page, PERFECT, 7)[1].startswith("1.000")
    assert f"| {LOST.replace('_', chr(92) + '_')} | " in markdown
    assert "6 (6–6)" in markdown


def test_bold_is_the_best_and_only_among_several(trackers: list[TrackerRuns]) -> None:
    def best(chosen: list[TrackerRuns]) -> list[tuple[str, int]]:
        rows = score_tables(chosen, RESET)[0].rows
        return [
            (row.cells[0].text, index)
            for row in rows
            for index, cell in enumerate(row.cells)
            if isinstance(cell, Cell) and isinstance(row.cells[0], Cell) and cell.best
        ]

    assert {(PERFECT, 1), (PERFECT, 2), (PERFECT, 3)} <= set(best(trackers))
    assert (LOST, 3) not in best(trackers)
    assert best(trackers[:1]) == []


def test_the_page_needs_nothing_else(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, _ = write(trackers, tmp_path)
    assert "://" not in page.source and "@import" not in page.source and "url(" not in page.source
    for element in page.elements:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            value = element.attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/jpeg;base64,")) or value == "data:,"
    assert not page.all("script", "iframe", "object", "embed")
    policy = next(one for one in page.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in (policy.attributes["content"] or "")


def test_the_page_can_be_found_way_around_in(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, _ = write(trackers, tmp_path)
    levels = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(names) == len(set(names))
    links = {(element.attributes["href"] or "")[1:] for element in page.all("a")}
    assert links <= set(names) and {"headline-figures", "expected-overlap", "failures", "speed"} <= links
    assert {element.attributes.get("scope") for element in page.all("th")} == {"col", "row"}
    assert page.all("img") and all(element.attributes.get("alt") for element in page.all("img"))
    pictures = re.findall(r'<svg viewBox="[^"]*" role="img"><title>([^<]+)</title><desc>([^<]+)</desc>', page.source)
    assert len(pictures) == page.source.count('role="img"') > 0


def test_hostile_names_stay_text(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    hostile = {"machine": {"processor": HOSTILE}, "versions": {HOSTILE: HOSTILE}, "seed": HOSTILE, "started": HOSTILE}
    named = [
        replace(renamed(one, f"{index}{HOSTILE}", {"moving": HOSTILE}), description=hostile)
        for index, one in enumerate(trackers)
    ]
    table = Table.of(HOSTILE, [HOSTILE, HOSTILE], [[HOSTILE, Cell(HOSTILE, HOSTILE)]], HOSTILE)
    extra = Section(HOSTILE, (HOSTILE, Notice(HOSTILE), replace(table, rows=(replace(table.rows[0], mark=HOSTILE),))))
    paths = write_report(
        named, RESET, tmp_path / "r.html", against=None, title=HOSTILE, command=HOSTILE, extra_sections=[extra]
    )
    page, markdown = Page(paths[0].read_text("utf-8")), paths[1].read_text("utf-8")
    assert not page.all("script") and "x" not in {element.attributes.get("src") for element in page.all("img")}
    assert not [name for element in page.elements for name in element.attributes if name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") > 20
    assert "<script" not in markdown and "<img" not in markdown
    for block in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block
    assert "\n# x" not in markdown


def test_a_name_that_is_no_text_can_be_written(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, _ = write([renamed(trackers[0], "broken \udcff name")], tmp_path)
    assert "broken ? name" in page.text


def test_the_peer_is_the_one_named_or_the_best(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, _ = write(trackers, tmp_path, STILL)
    assert f"Against {STILL}" in page.text and "No peer was named" not in page.text
    assert len(row_of(page, PERFECT, 8)) == 8
    page, _ = write(trackers, tmp_path)
    assert f"Against {PERFECT}" in page.text and "No peer was named" in page.text
    folder = trackers[2].folder.name
    assert f"Against {LOST}" in write(trackers, tmp_path, folder)[0].text
    with pytest.raises(ConfigError, match="no tracker 'nobody'"):
        write(trackers, tmp_path, "nobody")


def test_differences_point_to_the_better_tracker(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    sections = report_sections([trackers[0], trackers[2]], RESET, LOST, "")
    paired = next(section for section in sections if section.title == f"Against {LOST}")
    details = next(part for part in paired.parts if isinstance(part, Section))
    chart = details.parts[0]
    assert isinstance(chart, Chart)
    # Three failures fewer on both sequences: bars in the colour of the first tracker only, labelled +3.
    assert chart.svg.count('class="bar s0"') >= 2 and 'class="bar s1"' not in chart.svg
    assert chart.svg.count(">+3<") == 2
    table = next(part for part in paired.parts if isinstance(part, Table))
    assert [cell.text if isinstance(cell, Cell) else cell for cell in table.rows[0].cells][6] == "−6"


def test_one_tracker_on_one_sequence_is_no_comparison(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, markdown = write([trackers[1].only(["growing"])], tmp_path)
    assert "Against" not in page.text and not re.search(r"\bnan\b|\binf\b", page.text + markdown)
    assert "Attributes" not in page.text  # no labels there
    assert re.fullmatch(r"0\.\d{3}", row_of(page, STILL, 7)[1])  # a figure without an interval


def test_different_sequences_are_said_and_compared_where_shared(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    uneven = [trackers[0], trackers[1].only(["moving"])]
    page, _ = write(uneven, tmp_path, PERFECT)
    assert "not run on the same sequences" in page.text
    assert row_of(page, STILL, 8)[1] == "1"
    assert [row for row in page.rows if row[:1] == [STILL] and row[1:3] == ["1", "1"]]
    apart = [trackers[0].only(["growing"]), trackers[1].only(["moving"])]
    assert "share no sequence" in write(apart, tmp_path, PERFECT)[0].text


def test_warnings_are_about_what_was_run(trackers: list[TrackerRuns]) -> None:
    assert [text[:22] for text in warnings(trackers, RESET)] == ["This is a small sample"]
    assert "EAO" in warnings(trackers, RESET)[0] and "EAO" not in warnings(trackers, ONE_PASS)[0]
    elsewhere = replace(trackers[0], description={"machine": {"processor": "other"}, "threads": 2})
    assert any("different machines" in text for text in warnings([elsewhere, trackers[1]], RESET))
    assert any("numbers of threads" in text for text in warnings([elsewhere, trackers[1]], RESET))


def test_repetitions_are_means_and_counted(vot_data: Path, tmp_path: Path) -> None:
    found = run_trackers(vot_data, tmp_path / "out", RESET, (STILL, LOST), repetitions=2)
    page, _ = write(found, tmp_path)
    assert row_of(page, LOST, 7)[3] == "6.06.0–6.0"
    assert "mean over repetitions" in page.text
    assert row_of(page, "moving", 4)[2:] == ["0.0", "3.0"]


def test_attributes_are_those_of_the_labels(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    page, _ = write(trackers, tmp_path)
    rates = [row for row in page.rows if row[0] == "occlusion"]
    # Six frames are labelled; the failures at 1 and 5 are in them.
    assert rates[0] == ["occlusion", "6", "0.00", "0.00", f"{100 * 2 / 6:.2f}"]
    assert len(rates) == 3


def test_extra_sections_stand_after_the_headline_with_their_marks(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    rows = (Row(("STP", "0.31"), "published"), Row((Cell("ours", slot=0), Cell("0.36", best=True)), "measured"))
    extra = Section("Beside the paper", (Table("Table 2", ("tracker", "EAO"), rows, ("a note",)),))
    page, markdown = write(trackers, tmp_path, None, extra)
    titles = re.findall(r"<h2[^>]*>([^<]*)</h2>", page.source)
    assert titles[:3] == ["What was run", "Headline figures", "Beside the paper"]
    assert ["STP published", "0.31"] in page.rows and ["ours measured", "0.36"] in page.rows
    assert "| STP (published) | 0.31 |\n| ours (measured) | **0.36** |" in markdown and "- a note" in markdown


def test_what_was_run_is_said(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    described = {
        "machine": {"processor": "Some CPU", "cores": 4},
        "versions": {"numpy": "9.9"},
        "seed": 7,
        "started": "2026-01-02T04:00:00+01:00",
    }
    page, _ = write([replace(trackers[0], description=described)], tmp_path)
    for words in ("Some CPU, 4 cores", "numpy 9.9", "2026-01-02 03:00 UTC", "2 with 24 frames", "stp x", "skip 3"):
        assert words in page.text
    assert data_set_name(trackers[0].runs[0].sequence) == "data"
    assert str(tmp_path) not in page.source


def test_one_pass_says_where_it_was_lost(vot_data: Path, tmp_path: Path) -> None:
    found = run_trackers(vot_data, tmp_path / "out", ONE_PASS)
    paths = write_report(found, ONE_PASS, tmp_path / "o.html", against=PERFECT, title="t", command="c")
    page = Page(paths[0].read_text("utf-8"))
    perfect, lost = row_of(page, PERFECT, 5), row_of(page, LOST, 5)
    assert perfect[1] == f"{20 / 21:.3f}{20 / 21:.3f}–{20 / 21:.3f}" and perfect[2].startswith("1.000")
    assert lost[2].startswith(f"{1 / 12:.3f}")
    rows = [row for row in page.rows if row[0] == "moving" and len(row) == 4]
    assert rows == [["moving", "never", "never", "2not found again"]]
    assert f"{LOST}: 2 of 2 losses" in page.text and f"{PERFECT}: no losses." in page.text
    assert "lost in frames 2 to 12" in page.text


def test_one_pass_tables_for_the_terminal(vot_data: Path, tmp_path: Path) -> None:
    found = run_trackers(vot_data, tmp_path / "out", ONE_PASS)
    *_, lost, paired = score_tables(found, ONE_PASS, by_sequence=True, against=PERFECT)
    assert lost.caption == "Frame from which the object was lost"
    assert [as_cell(cell).text for cell in lost.rows[0].cells] == ["moving", "never", "never", "2"]
    assert paired.caption == f"Paired differences: tracker minus {PERFECT}"
    texts = [[as_cell(cell).text for cell in row.cells] for row in paired.rows]
    assert [row[0] for row in texts] == [STILL, LOST]
    # Two sequences: four ways of swapping, of which two give the difference found.
    assert texts[1][1:4] == ["2", f"−{20 / 21 * 11 / 12:.3f}", "0.500"]
    alone = [found[0].only(["moving"]), found[1].only(["growing"])]
    (path, _) = write_report(alone, ONE_PASS, tmp_path / "a.html", against=PERFECT, title="t", command="c")
    assert "share no sequence" in Page(path.read_text("utf-8")).text


def test_what_continued_and_what_started_otherwise_is_said(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    later = {"versions": {"numpy": "9.9"}, "machine": {"processor": "Another CPU"}, "threads": 3}
    described = {"versions": {"numpy": "1.1"}, "threads": 3, "protocol": {"init_box": "enclosing"}}
    told = warnings([replace(trackers[0], description={**described, "continued": [later]})], RESET)
    assert any("in part with other versions" in text for text in told)
    assert any("different machines" in text for text in told)
    assert any(f"{PERFECT} (enclosing)" in text for text in told)
    page, _ = write([replace(trackers[0], description={**described, "continued": [later]})], tmp_path)
    assert "numpy 1.1; numpy 9.9" in page.text and "Another CPU" in page.text


def test_tables_for_the_terminal(trackers: list[TrackerRuns]) -> None:
    tables = score_tables(trackers, RESET, by_sequence=True, against=STILL)
    assert [table.caption.split(",")[0] for table in tables] == [
        "All sequences",
        "Failures",
        "Overlap while tracking",
        f"Paired differences: tracker minus {STILL}",
    ]
    assert all(len(row.cells) == len(table.head) for table in tables for row in table.rows)
    assert markdown_table(tables[1]).count("\n| growing | 12 | 0 | ") == 1


def test_reliability_falls_with_failures() -> None:
    turned = reliability(Interval(10.0, 0.0, 20.0))
    assert turned == Interval(math.exp(-3), math.exp(-6), 1.0)


def test_refusals(trackers: list[TrackerRuns], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"an .html file, not 'r.pdf'"):
        write_page(tmp_path / "r.pdf", "t", "l", [])
    with pytest.raises(FormatError, match="no results"):
        write([], tmp_path)
    assert not list(tmp_path.glob("r.*"))


def test_numbers_are_never_broken_but_names_may_be() -> None:
    table = Table.of("speed", ["tracker", "Δ EAO"], [["some.module:Class", "−0.020"]])
    page = html_page("t", "l", [Section("s", (table,))], "f")
    assert "<td>−0.020</td>" in page and "some.<wbr>module:<wbr>Class" in page
