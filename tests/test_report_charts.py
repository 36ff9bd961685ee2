"""Charts as files of their own beside the Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.report.chart_files import chart_paths, standalone
from tracking_parts.evaluation.report.content import Chart, Key, Section
from tracking_parts.evaluation.report.markdown import markdown_page
from tracking_parts.evaluation.report.page import write_page
from tracking_parts.evaluation.report.svg import Drawing

SVG = "{http://www.w3.org/2000/svg}"


def chart(words: str = "a chart", *keys: Key, named: bool = False) -> Chart:
    drawing = Drawing(300, 200, words, "what it shows")
    drawing.path([(0, 0), (300, 200)], "curve s1")
    return Chart(drawing.svg(), drawing.svg(), words, keys, named)


def texts(svg: str) -> list[str | None]:
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_file_has_its_style_its_legend_and_room_for_it() -> None:
    hostile = "<b>&\"'"
    svg = standalone(chart("one", Key("stp:default", 0), Key(hostile, 1)))
    root = ElementTree.fromstring(svg)
    assert texts(svg) == ["stp:default", hostile]
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width == 300 and height > 200
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"
    lowest = max(float(element.attrib["y"]) for element in root.iter(f"{SVG}text"))
    assert 200 < lowest < height
    (style,) = root.iter(f"{SVG}style")
    assert style.text is not None and ".s1{--c:" in style.text and ".curve{" in style.text
    assert re.search(r"https?://(?!www\.w3\.org/2000/svg)", svg) is None


def test_a_chart_that_names_its_trackers_has_no_second_legend() -> None:
    svg = standalone(chart("one", Key("stp:default", 0), named=True))
    assert texts(svg) == []
    assert ElementTree.fromstring(svg).attrib["height"] == "200"


def test_what_describes_a_chart_comes_first() -> None:
    children = [element.tag for element in ElementTree.fromstring(standalone(chart("one")))]
    assert children[:4] == [f"{SVG}style", f"{SVG}title", f"{SVG}desc", f"{SVG}rect"]


def test_markdown_shows_every_chart_once_written(tmp_path: Path) -> None:
    inner = Section("inner", (chart("second"), chart("first")))
    sections = [Section("outer", (chart("first"), "words", inner))]
    page, markdown = write_page(tmp_path / "out" / "my page.html", "t", "l", sections)
    links = re.findall(r"!\[(.*?)\]\((.*?)\)", markdown.read_text())
    assert links == [
        ("first", "my%20page-charts/01.svg"),
        ("second", "my%20page-charts/02.svg"),
        ("first", "my%20page-charts/01.svg"),
    ]
    written = sorted((page.parent / "my page-charts").iterdir())
    assert [path.name for path in written] == ["01.svg", "02.svg"]
    assert "second" in written[1].read_text()


def test_a_page_whose_name_is_no_text_has_charts_too() -> None:
    one = chart()
    sections = [Section("s", (one,))]
    paths = chart_paths(sections, Path("a\udcff.html"))
    assert "](a%FF-charts/01.svg)" in markdown_page("t", "l", sections, "f", paths)


def test_without_files_a_chart_is_told_in_words() -> None:
    sections = [Section("s", (chart("what it shows"),))]
    assert "*Chart in the HTML page:* what it shows" in markdown_page("t", "l", sections, "f")
    assert list(chart_paths(sections, Path("r.html")).values()) == ["r-charts/01.svg"]


def test_a_refused_page_writes_no_chart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        write_page(tmp_path / "page.txt", "t", "l", [Section("s", (chart(),))])
    assert not list(tmp_path.iterdir())


def test_a_picture_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size"):
        standalone(Chart("<svg></svg>", "<svg></svg>", "c"))
