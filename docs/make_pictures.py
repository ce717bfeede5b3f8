"""Draw the README's pictures from the real output: `.venv/bin/python docs/make_pictures.py`, with Chromium at hand."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from aquamend import AquaMend, InformationState, load_problem
from aquamend.policies.decision_report import decision_report
from aquamend.story.decision_in_terminal import print_decision

ROOT = Path(__file__).parent.parent


DECIDE = ROOT / "docs" / "images" / "decide.svg"


def decide() -> str:
    """Return what `aquamend decide examples/pouring.yaml` shows, as a picture."""
    console = Console(record=True, width=92, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    state = InformationState.alarmed(load_problem(ROOT / "examples" / "pouring.yaml"))
    print_decision(decision_report(state, AquaMend(), name="aquamend"), console, file="examples/pouring.yaml")
    svg = console.export_svg(title="aquamend decide examples/pouring.yaml", theme=DIMMED_MONOKAI, unique_id="decide")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # a page must not fetch fonts from elsewhere
    return svg.replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")


STUDIO = ROOT / "docs" / "images" / "studio.png"


def studio() -> bytes:
    """Return what `aquamend studio examples/worked/warehouse.yaml` shows first, as a picture."""
    from playwright.sync_api import sync_playwright

    from aquamend.policies import policy_named
    from aquamend.studio.start import opened, studio_html

    text = (ROOT / "examples" / "worked" / "warehouse.yaml").read_text(encoding="utf-8")
    html = studio_html(opened(text, file="warehouse.yaml", policy=policy_named("best"), name="best"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_content(html)
        page.locator("body[data-ready=yes]").wait_for(state="attached")
        picture = page.screenshot()
        browser.close()
    return picture


if __name__ == "__main__":
    DECIDE.write_text(decide(), encoding="utf-8")
    if shutil.which("chromium"):
        STUDIO.write_bytes(studio())
