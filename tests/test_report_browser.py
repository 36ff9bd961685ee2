"""The report in a real browser: nothing sticks out of a phone, nothing is fetched, nothing complains.

Needs Chromium (Debian's package ``chromium``); skipped where there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from report_helpers import LOST, ONE_PASS, RESET, STILL, renamed, run_trackers
from synthetic import SyntheticSequence, write_vot_folder
from tracking_parts.evaluation.report import Row, Section, Table, write_report

if sys.platform == "win32":
    pytest.skip("pipes with chosen numbers are Unix's", allow_module_level=True)

from browser import Browser, find_browser

EXECUTABLE = find_browser()
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium here: install the package chromium")
LONG = "stp:default?" + "&".join(f"a_long_setting_{index}=0.125" for index in range(8))
UNBROKEN = "x" * 200

# Elements that reach beyond the window although no container of theirs scrolls.
STICKING_OUT = """[...document.querySelectorAll('body *')].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1 && !one.closest('.scroll, svg, .skip');
}).map(one => one.outerHTML.slice(0, 120))"""

# Words of the visible charts that are cut off by the edge of their picture.
CUT_OFF = """[...document.querySelectorAll('.chart svg[role=img] text')].filter(one => {
  const box = one.getBoundingClientRect(), frame = one.closest('svg').getBoundingClientRect();
  return box.width > 0 && (box.left < frame.left - 2 || box.right > frame.right + 2
    || box.top < frame.top - 2 || box.bottom > frame.bottom + 2);
}).map(one => one.textContent.slice(0, 120))"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    assert EXECUTABLE is not None
    with Browser(EXECUTABLE, tmp_path / "profile") as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, moving_object: SyntheticSequence) -> list[Path]:
    """Both kinds of report, on trackers and a sequence with names that are hard to place."""
    folder = tmp_path_factory.mktemp("reports")
    for name in ("moving", "again"):
        write_vot_folder(folder / "data" / name, moving_object)
        (folder / "data" / name / "camera_motion.label").write_text("1\n" * 6 + "0\n" * 6)
    wide = Table("Many columns", tuple(f"column {index}" for index in range(20)), (Row(("1.234",) * 20, "measured"),))
    extra = [Section(UNBROKEN, (UNBROKEN, wide))]
    written = []
    for protocol in (RESET, ONE_PASS):
        still, lost = run_trackers(folder / "data", folder / protocol.name, protocol, (STILL, LOST))
        named = [renamed(one, name, {"again": LONG}) for one in (still, lost) for name in (LONG, UNBROKEN, "a", "b")]
        to = folder / f"{protocol.name}.html"
        written += write_report(named, protocol, to, against="a", title=UNBROKEN, command=LONG, extra_sections=extra)
    return [path for path in written if path.suffix == ".html"]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_or_is_cut_off(browser: Browser, reports: list[Path], width: int) -> None:
    for path in reports:
        browser.open(path, width)
        assert browser.evaluate("innerWidth") == width
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate(STICKING_OUT) == []
        assert browser.evaluate(CUT_OFF) == []
        scrolled = "[...document.querySelectorAll('.scroll')].some(one => one.scrollWidth > one.clientWidth)"
        assert browser.evaluate(scrolled), "the wide table scrolls in its own container"


def test_nothing_is_fetched_and_nothing_complains(browser: Browser, reports: list[Path]) -> None:
    for path in reports:
        browser.open(path, 1280)
        browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        asked = {event["request"]["url"].split(",")[0] for event in browser.seen("Network.requestWillBeSent")}
        assert asked - {"data:image/jpeg;base64", "data:"} == {path.as_uri()}
        assert browser.evaluate("[...document.images].filter(one => one.complete && !one.naturalWidth).length") == 0
        for complaint in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            assert browser.seen(complaint) == []


def test_a_fetch_would_be_seen_and_is_forbidden(browser: Browser, reports: list[Path], tmp_path: Path) -> None:
    """The test above can fail: a picture from elsewhere is noticed, and the page's own policy stops it."""
    elsewhere = tmp_path / "elsewhere.png"
    elsewhere.write_bytes(b"")
    page = tmp_path / "changed.html"
    picture = f'<img src="{elsewhere.as_uri()}" alt="x">'
    page.write_text(reports[0].read_text("utf-8").replace("<main ", f"{picture}<main "), "utf-8")
    browser.open(page, 1280)
    assert any("Content Security Policy" in event["entry"]["text"] for event in browser.seen("Log.entryAdded"))


def test_dark_light_and_paper_have_their_colours(browser: Browser, reports: list[Path]) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    browser.open(reports[0], 1280)
    assert browser.evaluate(background) == "rgb(255, 255, 255)"
    browser.open(reports[0], 1280, dark=True)
    assert browser.evaluate(background) == "rgb(20, 23, 27)"
    browser.open(reports[0], 1280, dark=True, media="print")
    assert browser.evaluate(background) == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_the_contents_stay_in_sight_on_a_desk(browser: Browser, reports: list[Path]) -> None:
    top = "document.querySelector('nav > div').getBoundingClientRect().top"
    browser.open(reports[0], 1280)
    browser.evaluate("window.scrollTo({top: 3000, behavior: 'instant'})")
    assert browser.evaluate("scrollY") == 3000
    assert 0 <= browser.evaluate(top) < 100
    browser.open(reports[0], 390)
    browser.evaluate("window.scrollTo({top: 3000, behavior: 'instant'})")
    assert browser.evaluate(top) < 0


def test_a_chart_is_shown_once(browser: Browser, reports: list[Path]) -> None:
    shown = "[...document.querySelectorAll('.{0}')].every(one => one.getBoundingClientRect().width {1} 0)"
    for width, visible, hidden in ((1280, "wide", "narrow"), (390, "narrow", "wide")):
        browser.open(reports[0], width)
        assert browser.evaluate(shown.format(visible, ">")) and browser.evaluate(shown.format(hidden, "=="))
