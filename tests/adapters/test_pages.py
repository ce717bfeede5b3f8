"""The pages of the adapters run from top to bottom as they are printed, and get to a recovery in one screen."""

from pathlib import Path

import pytest
from tests.test_docs import BLOCK, run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"behaviour-trees.md": "trees", "gymnasium.md": "gym", "recordings.md": "recordings", "agents.md": "mcp"}
"""Page and extra."""
ALL = {**PAGES, "fleets.md": "postgres"}
"""Also those that need a server."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(page, capsys)


@pytest.mark.parametrize(("page", "extra"), ALL.items())
def test_a_page_gets_from_the_installation_to_a_recovery_in_one_screen(page, extra):
    text = (DOCS / page).read_text(encoding="utf-8")
    install = text.index(f"pip install 'aquamend[{extra}]'")
    first = next(block for block in BLOCK.finditer(text) if block[1] == "python")
    assert install < first.start()
    assert text[install : first.end()].count("\n") <= 62
    assert "finished" in text[first.start() : first.end() + 100]  # that is what it prints
