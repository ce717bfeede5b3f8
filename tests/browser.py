"""A headless Chromium to look at pages with, driven by Playwright: Debian's, since nothing is downloaded here."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.waiting import PATIENCE_S

expect.set_options(timeout=60_000)
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on the path; .ci/packages installs one")
    os.environ.pop("DISPLAY", None)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@contextmanager
def page_at(
    browser: Browser, url: str, *, width: int = 1000, height: int = 640, before: str = "", **media: Any
) -> Iterator[Page]:
    """Open an address in a window of a size, and wait until its script has run."""
    context = browser.new_context(viewport={"width": width, "height": height}, **media)
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    _HEARD[page] = heard = ([], [])
    page.on("pageerror", lambda error: heard[0].append(str(error)))
    page.on("console", lambda message: heard[0].append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: heard[1].append(request.url))
    if before:
        page.add_init_script(before)
    page.goto(url)
    page.locator("body[data-ready=yes]").wait_for(state="attached")
    try:
        yield page
    finally:
        context.close()
        del _HEARD[page]


def reach(page: Page, selector: str, *, most: int = 120) -> None:
    """Press Tab until an element that the selector finds has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is out of reach of the keyboard")


def until(page: Page, expression: str) -> None:
    """Wait for a JavaScript expression to become true, whatever the page allows to be evaluated."""
    for _ in range(int(PATIENCE_S / 0.02)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{expression} never became true; the page said {said_wrong(page)}")


def said_wrong(page: Page) -> list[str]:
    """Return the errors and warnings of a page."""
    return _HEARD[page][0]


def requests(page: Page) -> list[str]:
    """Return what a page has asked for."""
    return _HEARD[page][1]


_HEARD: dict[Page, tuple[list[str], list[str]]] = {}
