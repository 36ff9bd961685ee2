"""``python -m benchmarks.studio_screenshots``: the pictures of the studio in ``docs/studio``, made by using it."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from benchmarks.studio_process import StudioProcess
from benchmarks.videos import RABBIT, ROOT

LAPTOP: ViewportSize = {"width": 1366, "height": 768}
TABLET: ViewportSize = {"width": 820, "height": 1180}
PATIENCE = 600_000
FLOWERS = (360, 100, 75, 75)  # a second target, in the first frame; the rabbit gets up before it


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio_screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "studio")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, StudioProcess(Path(data)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport=LAPTOP, color_scheme="light", accept_downloads=True)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(server.address)
        take_all(page, lambda name: _shot(page, options.out / f"{name}.jpg"))
        browser.close()
    return 0


def take_all(page: Page, take: Callable[[str], object]) -> None:
    """Every state of the page, in the order in which a person meets them."""
    expect(page.locator("#open-clip")).to_be_visible()
    page.wait_for_timeout(500)
    take("start")
    page.locator("#open-clip").click()
    expect(page.locator("#position")).to_have_text("frame 0 of 131", timeout=PATIENCE)
    expect(page.locator("#busy")).to_be_hidden(timeout=PATIENCE)
    page.wait_for_timeout(1500)
    take("empty")
    _, start, box = RABBIT
    page.keyboard.press("Home")
    for _ in range(start // 10):
        page.keyboard.press("Shift+ArrowRight")
    drag_box(page, (int(box.x), int(box.y), int(box.w), int(box.h)))
    name = page.locator("#targets input[type=text]")
    name.fill("rabbit")
    name.press("Enter")
    page.wait_for_timeout(800)
    take("drawn")
    page.locator("#track").click()
    expect(page.locator("#position")).to_have_text(re.compile(r"frame ([6-9]\d|1\d\d) of"), timeout=PATIENCE)
    take("tracking")
    page.locator("#track").click()
    expect(page.locator("#track")).to_have_text("Go on", timeout=PATIENCE)
    page.wait_for_timeout(800)
    take("paused")
    page.locator("#track").click()
    expect(page.locator("#track")).to_have_text("Track", timeout=PATIENCE)
    page.locator("#timeline").focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_timeout(1500)
    take("tracked")
    page.keyboard.press("Home")
    page.locator("#add").click()
    drag_box(page, FLOWERS)
    page.wait_for_timeout(800)
    page.keyboard.press("Space")
    expect(page.locator("#track")).to_have_text("Pause", timeout=PATIENCE)
    expect(page.locator("#track")).to_have_text("Track", timeout=PATIENCE)
    page.wait_for_timeout(4000)  # until the last words at the bottom are gone
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.wait_for_timeout(1500)
    take("uncertain")
    page.locator("#export").click()
    page.wait_for_timeout(300)
    take("export")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_timeout(300)
    take("keyboard")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.wait_for_timeout(1000)
    take("dark")
    page.set_viewport_size(TABLET)
    page.wait_for_timeout(1000)
    take("tablet")


def _shot(page: Page, path: Path) -> None:
    shown = re.match(r"frame \d+", page.locator("#position").text_content() or "")
    if shown and page.locator("#step").is_enabled():  # while it tracks the picture is of the frame before
        expect(page.locator("#boxes")).to_have_attribute("aria-label", re.compile(rf"{shown[0]}\b"), timeout=PATIENCE)
    page.screenshot(path=path, type="jpeg", quality=85, animations="disabled")


def drag_box(page: Page, box: tuple[int, int, int, int]) -> None:
    """Draw a box, given in pixels of the clip."""
    page.wait_for_timeout(800)
    area = page.locator("#boxes").bounding_box()
    assert area is not None
    zoom, (x, y, w, h) = area["width"] / 1280, box
    page.mouse.move(area["x"] + x * zoom, area["y"] + y * zoom)
    page.mouse.down()
    page.mouse.move(area["x"] + (x + w) * zoom, area["y"] + (y + h) * zoom, steps=5)
    page.mouse.up()


if __name__ == "__main__":
    sys.exit(main())
