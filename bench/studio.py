"""How soon the studio answers, measured in a real browser: the first decision on screen, and a knob's move redrawn.

    python bench/studio.py [FILE]

Each page is opened in a fresh context. Times are the browser's own: from the start of the navigation until the first
frame with the decision in it, which stands in the page as it comes (its first contentful paint), and until the whole
studio is drawn and can be used; from the key that turns a knob until after the frame with the new decision.
Medians, with the quickest and the slowest; other work on the machine lengthens them, so its load is said, too.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

PAGES, MOVES = 15, 41
PATIENCE_S = 60.0
FIRST_MS, MOVE_MS = 300, 100
"""What is promised of the medians, on a machine with nothing else to do."""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
PARSED = "performance.getEntriesByType('navigation')[0].domInteractive"
USABLE = "document.body.dataset.shown ?? null"


@contextmanager
def studio_on(file: str) -> Iterator[str]:
    """Start a studio, and yield its address."""
    command = [sys.executable, "-m", "aquamend", "studio", file, "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if "The studio is at" not in line:
                sys.exit(f"the studio does not start: {line}")
            yield line.split()[4]
        finally:
            process.terminate()


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """Open the studio in a fresh context."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(address)
    yield page
    context.close()


def waited(page: Page, expression: str) -> float:
    """Return a number once the page has it."""
    until = time.monotonic() + PATIENCE_S
    while (found := page.evaluate(expression)) is None:
        if time.monotonic() > until:
            sys.exit(f"the page never says {expression}")
        page.wait_for_timeout(10)
    return float(found)


def first_ms(browser: Browser, address: str) -> tuple[float, float]:
    """Return how long after the start of the navigation the decision was painted, and the whole studio was."""
    with opened(browser, address) as page:
        usable, painted = waited(page, USABLE), waited(page, PAINTED)
        whole = painted >= waited(page, PARSED)  # or the frame may have come before the decision was there
        return painted if whole else usable, usable


def moves_ms(browser: Browser, address: str) -> list[float]:
    """Return how long each of some moves of a knob took to be drawn."""
    with opened(browser, address) as page:
        page.locator(".knob input").first.focus()
        page.wait_for_timeout(1_000)
        return [move_ms(page) for _ in range(MOVES)]


def move_ms(page: Page) -> float:
    """Return how long one move of the knob that has the focus takes."""
    page.evaluate("delete document.body.dataset.redrawn")
    page.keyboard.press("ArrowRight")
    return waited(page, "document.body.dataset.redrawn ?? null")


def said(what: str, times: Sequence[float], promised: str = "") -> str:
    """Return a line about some times."""
    middle = statistics.median(times)
    return f"{what}: {middle:.0f} ms at the median of {len(times)} ({min(times):.0f} to {max(times):.0f}){promised}"


def main() -> None:
    """Measure, and print."""
    file = sys.argv[1] if len(sys.argv) > 1 else "examples/pouring.yaml"
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with studio_on(file) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        before = os.getloadavg()[0]
        first_ms(browser, address)
        first, whole = zip(*(first_ms(browser, address) for _ in range(PAGES)), strict=True)
        print(said("first decision on screen", first, f"; {FIRST_MS} is promised"))
        print(said("all of it on screen", whole))
        print(said("a knob's move redrawn", moves_ms(browser, address), f"; {MOVE_MS} is promised"))
        print(f"{file}; load of the machine {before:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        browser.close()


if __name__ == "__main__":
    main()
