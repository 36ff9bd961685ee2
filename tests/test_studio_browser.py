"""The studio in a real browser, as a person uses it. Needs Chromium; skipped where there is none."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, WebSocketRoute, expect, sync_playwright

import studio_that_waits
from benchmarks.studio_process import StudioProcess
from browser import find_browser
from tracking_parts.io.video import open_source

EXECUTABLE = find_browser()
pytestmark = [
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium here: install the package chromium"),
    pytest.mark.network,
    pytest.mark.timeout(600),
]
HEAD = (392, 250, 132, 160)  # the rabbit's, in frame 20
SLOW = 100_000  # milliseconds, for a machine that does other work too

WATCH_LONG_TASKS = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: "longtask", buffered: false });
"""

# Words that come and go by themselves are written down: a busy machine may look too late.
WATCH_TOASTS = """
window.said = [];
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const added of addedNodes) window.said.push(added.textContent);
}).observe(document.getElementById("toasts"), { childList: true });
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StudioProcess]:
    """A studio that is paused before it is through, however fast the machine is."""
    monkeypatch.setattr("benchmarks.studio_process.START", studio_that_waits.START)
    with StudioProcess(tmp_path / "data", "--threads", "1") as running:
        yield running


@pytest.fixture
def page(chromium: Browser, server: StudioProcess) -> Iterator[Page]:
    """A page that complains about every error in its console."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith((server.address, "blob:", "data:")) else problems.append(request.url)
        ),
    )
    opened.goto(server.address)
    yield opened
    context.close()
    assert problems == []


def open_clip(page: Page) -> None:
    page.get_by_role("button", name="Try the sample clip").click()
    expect(page.locator("#position")).to_have_text("frame 0 of 131", timeout=SLOW)
    expect(page.locator("#busy")).to_be_hidden()


def go_to(page: Page, frame: int) -> None:
    page.locator("#timeline").focus()
    page.keyboard.press("Home")
    for _ in range(frame // 10):
        page.keyboard.press("Shift+ArrowRight")
    for _ in range(frame % 10):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#boxes")).to_have_attribute("aria-label", re.compile(rf"frame {frame}\b"), timeout=SLOW)


def drag_box(page: Page, box: tuple[int, int, int, int]) -> None:
    area = page.locator("#boxes").bounding_box()
    assert area is not None
    zoom = area["width"] / 1280
    x, y, w, h = box
    page.mouse.move(area["x"] + x * zoom, area["y"] + y * zoom)
    page.mouse.down()
    page.mouse.move(area["x"] + (x + w / 2) * zoom, area["y"] + (y + h / 2) * zoom)
    page.mouse.move(area["x"] + (x + w) * zoom, area["y"] + (y + h) * zoom)
    page.mouse.up()


def rows(page: Page) -> dict[int, dict[str, Any]]:
    """What the server has kept of the only target, by frame."""
    project = page.url.split("project=")[1]
    content = json.loads(page.request.get(f"{page.url.split('#')[0]}api/projects/{project}/rows").text())
    (only,) = content.values()
    return {row["frame"]: row for row in only["rows"]}


def said(page: Page, words: str) -> None:
    """Wait until the page has said something; after ``WATCH_TOASTS``."""
    page.wait_for_function("words => window.said.some((each) => new RegExp(words).test(each))", arg=words, timeout=SLOW)


def reached(page: Page, frame: int) -> None:
    """Wait until the page shows a frame at or beyond this one while it tracks: the last one would mean it is over."""
    expect(page.locator("#position")).to_have_text(
        re.compile(rf"frame ({'|'.join(map(str, range(frame, 131)))}) of"), timeout=SLOW
    )


def exported(page: Page, label: str, folder: Path) -> Path:
    page.get_by_role("button", name="Export").click()
    page.get_by_label(label).check()
    with page.expect_download(timeout=SLOW) as download:
        page.locator("#export-go").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_draw_track_correct_export_reload(page: Page, tmp_path: Path) -> None:
    open_clip(page)
    go_to(page, 20)
    drag_box(page, HEAD)
    expect(page.locator("#targets .chip")).to_have_text("drawn", timeout=SLOW)
    page.evaluate(WATCH_LONG_TASKS)
    page.get_by_role("button", name="Track").click()
    expect(page.locator("#track")).to_have_text("Pause", timeout=SLOW)
    expect(page.locator("#speed")).to_have_text(re.compile(r"\d fps"), timeout=SLOW)
    reached(page, 80)
    longest = page.evaluate("window.longest")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#track")).to_have_text("Go on", timeout=SLOW)
    tracked = rows(page)
    assert len(tracked) >= 60 and set(tracked) == set(range(20, 20 + len(tracked)))
    assert timeline_is_filled(page)
    # A page that hangs; how smooth it is on a machine to itself, benchmarks.studio_page measures.
    assert longest < 2000, f"a task of {longest} ms in the page's main thread"

    paused_at = max(tracked)
    area = page.locator("#boxes").bounding_box()
    assert area is not None
    zoom, (x, y, w, h) = area["width"] / 1280, tracked[paused_at]["box"]
    page.mouse.move(area["x"] + (x + w / 2) * zoom, area["y"] + (y + h / 2) * zoom)
    page.mouse.down()
    page.mouse.move(area["x"] + (x + w / 2 + 12) * zoom, area["y"] + (y + h / 2 + 6) * zoom, steps=4)
    page.mouse.up()
    expect(page.locator("#targets .chip")).to_have_text("drawn", timeout=SLOW)
    corrected = rows(page)
    assert corrected[paused_at]["origin"] == "hand"
    assert corrected[paused_at]["box"][0] == pytest.approx(x + 12, abs=1.5)
    assert {frame: row for frame, row in corrected.items() if frame < paused_at} == {
        frame: row for frame, row in tracked.items() if frame < paused_at
    }
    page.locator("#track").click()
    expect(page.locator("#track")).to_have_text("Track", timeout=SLOW)
    assert set(rows(page)) == set(range(20, 132))
    expect(page.locator("#maps")).to_be_visible()
    expect(page.locator("#roles tr")).to_have_count(4)

    cvat = ET.parse(exported(page, "CVAT", tmp_path)).getroot()
    assert len(cvat.findall("./track/box")) == 112
    with open_source(exported(page, "Annotated video", tmp_path)) as frames:
        assert sum(1 for _ in frames) == 132

    before = rows(page)
    page.reload()
    expect(page.locator("#position")).to_have_text("frame 131 of 131", timeout=SLOW)
    expect(page.locator("#targets .chip")).to_have_count(1)
    expect(page.locator("#boxes")).to_have_attribute("aria-label", re.compile("object 1 at"), timeout=SLOW)
    assert rows(page) == before and timeline_is_filled(page)

    page.locator("#undo").click()
    expect(page.locator("#position")).to_have_text(f"frame {paused_at} of 131", timeout=SLOW)
    expect(page.locator("#targets .chip")).not_to_have_text("drawn", timeout=SLOW)
    assert rows(page)[paused_at]["box"] == tracked[paused_at]["box"]
    page.keyboard.press("Control+Shift+z")
    expect(page.locator("#targets .chip")).to_have_text("drawn", timeout=SLOW)


def timeline_is_filled(page: Page) -> bool:
    """Whether at least half of a line through the timeline has the colour of a state."""
    script = """() => {
      const canvas = document.getElementById("timeline");
      const row = Math.round(10 * devicePixelRatio);
      const pixels = canvas.getContext("2d").getImageData(0, row, canvas.width, 1).data;
      let coloured = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        const [red, green, blue] = pixels.slice(i, i + 3);
        if (Math.max(red, green, blue) - Math.min(red, green, blue) > 60) coloured += 1;
      }
      return coloured / canvas.width;
    }"""
    return bool(page.evaluate(script) > 0.4)


def test_everything_by_keyboard(page: Page, tmp_path: Path) -> None:
    page.locator("#open-clip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#position")).to_have_text("frame 0 of 131", timeout=SLOW)
    expect(page.locator("#busy")).to_be_hidden()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#position")).to_have_text("frame 20 of 131")
    page.keyboard.press("b")
    expect(page.locator("#targets .chip")).to_have_text("drawn", timeout=SLOW)
    for _ in range(9):
        page.keyboard.press("Control+ArrowLeft")
    expect(page.locator("#boxes")).to_have_attribute("aria-label", re.compile("at 460, 270"), timeout=SLOW)
    page.keyboard.press("Control+z")  # one step back; on a slow machine the keys may have rested in between
    expect(page.locator("#boxes")).not_to_have_attribute("aria-label", re.compile("at 460, 270"), timeout=SLOW)
    page.keyboard.press("Control+Shift+z")
    expect(page.locator("#boxes")).to_have_attribute("aria-label", re.compile("at 460, 270"), timeout=SLOW)
    page.keyboard.press("t")
    expect(page.locator("#track")).to_have_text("Go on", timeout=SLOW)
    expect(page.locator("#position")).to_have_text("frame 21 of 131", timeout=SLOW)
    # Looking elsewhere just before must not keep the page from following the tracker.
    page.keyboard.press("Home")
    page.locator("#timeline").focus()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    reached(page, 24)
    page.keyboard.press("Space")
    expect(page.locator("#track")).to_have_text("Go on", timeout=SLOW)
    page.keyboard.press("Escape")
    expect(page.locator("#track")).to_have_text("Track", timeout=SLOW)
    page.keyboard.press("?")
    expect(page.locator("#help-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#export-dialog")).to_be_visible()
    with page.expect_download(timeout=SLOW) as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "Big_Buck_Bunny_cvat.xml"
    page.evaluate(WATCH_TOASTS)
    page.keyboard.press("r")
    said(page, "A corrected box teaches the tracker.")
    expect(page.locator("#correcting")).to_have_value("teach")
    page.keyboard.press("c")
    page.keyboard.press("n")
    said(page, "uncertain|Confirmed")


class HeldSocket:
    """The tab's socket: what it asked, and the answers, which may be held back."""

    def __init__(self, page: Page) -> None:
        self.asked: list[str] = []
        self._holding = False
        self._held: list[str | bytes] = []
        page.route_web_socket("**/socket*", self._take)
        page.reload()

    def hold(self) -> None:
        self._holding = True

    def let_go(self) -> None:
        self._holding = False
        while self._held:
            self._page.send(self._held.pop(0))

    def _take(self, page: WebSocketRoute) -> None:
        self._page, self._server = page, page.connect_to_server()
        page.on_message(self._ask)
        self._server.on_message(self._answer)

    def _ask(self, message: str | bytes) -> None:
        name = json.loads(message)["do"]
        if name != "show":  # told when the page has rested on a frame for a while
            self.asked.append(name)
        self._server.send(message)

    def _answer(self, message: str | bytes) -> None:
        if self._holding:
            self._held.append(message)
        else:
            self._page.send(message)


@pytest.mark.parametrize(("drawn_by", "tracked_by"), [("drag", "button"), ("drag", "Space"), ("b", "Space")])
def test_a_box_that_is_on_its_way_is_tracked(page: Page, drawn_by: str, tracked_by: str) -> None:
    """Whoever is faster than the server's answers gets one target, and no complaint that there is no box."""
    socket = HeldSocket(page)
    open_clip(page)
    page.evaluate(WATCH_TOASTS)
    socket.hold()
    if drawn_by == "drag":
        drag_box(page, HEAD)
    else:
        page.keyboard.press(drawn_by)
    if tracked_by == "button":
        page.get_by_role("button", name="Track").click()
    else:
        page.keyboard.press(tracked_by)
    assert page.evaluate("document.querySelectorAll('#targets .chip').length") == 0, "the server has not answered"
    socket.let_go()
    expect(page.locator("#track")).to_have_text("Pause", timeout=SLOW)
    assert socket.asked == ["add_target", "draw", "track"] and page.evaluate("window.said") == []
    page.locator("#track").click()
    expect(page.locator("#track")).to_have_text("Go on", timeout=SLOW)

    # A box that the keys have moved is kept when they rest, or when it is needed.
    page.evaluate(
        """() => {
          const left = new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true });
          document.getElementById("boxes").dispatchEvent(left);
          document.getElementById("track").click();
        }"""
    )
    expect(page.locator("#track")).to_have_text("Track", timeout=SLOW)
    assert socket.asked[3:] == ["pause", "draw", "track"] and page.evaluate("window.said") == []
    assert [row["origin"] for row in rows(page).values()].count("hand") == 2


@pytest.mark.parametrize(("width", "dark"), [(1366, False), (820, True)])
def test_nothing_sticks_out_and_all_has_a_name(page: Page, width: int, dark: bool) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if dark else "light")
    open_clip(page)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, canvas[tabindex]')].filter((one) => one.offsetParent && "
        "!(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.title)).map((one) => one.outerHTML)"
    )
    dark_now = page.evaluate("document.documentElement.dataset.theme")
    assert wide <= 0 and nameless == [] and dark_now == ("dark" if dark else "light")


def test_an_absent_camera_is_said(chromium: Browser, server: StudioProcess) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.address)
    expect(page.locator("#open-clip")).to_be_visible()
    if page.locator("#open-camera").is_disabled():
        expect(page.locator("#camera-words")).to_have_text("There is none on the computer that runs the studio.")

    def with_camera(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(json={**answer.json(), "cameras": ["77"]})

    page.route("**/api/start", with_camera)
    page.reload()
    page.locator("#open-camera").click()  # it was there when the page was loaded
    expect(page.locator(".toast.problem")).to_have_text("there is no camera 77 on this computer", timeout=SLOW)
    expect(page.locator("#opening")).to_be_hidden()
    context.close()


def test_a_second_tab_does_not_disturb_the_first(page: Page) -> None:
    open_clip(page)
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.locator("#question")).to_contain_text("open in another tab", timeout=SLOW)
    second.get_by_role("button", name="Work on a copy").click()
    expect(second.locator("#title")).to_have_text("Big Buck Bunny (copy)", timeout=SLOW)
    assert second.url != page.url
    expect(second.locator("#boxes")).to_have_attribute("aria-label", "Video, frame 0", timeout=SLOW)  # it has its size
    drag_box(second, HEAD)
    expect(second.locator("#targets .chip")).to_have_text("drawn", timeout=SLOW)
    expect(page.locator("#targets .chip")).to_have_count(0)
