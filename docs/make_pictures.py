"""Draw the README's picture from the real output: `.venv/bin/python docs/make_pictures.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from aquamend import AquaMend, InformationState, load_problem
from aquamend.explanation.as_text import print_decision
from aquamend.explanation.report import decision_report

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


if __name__ == "__main__":
    DECIDE.write_text(decide(), encoding="utf-8")
