"""The documentation's Python examples run, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_the_pouring_example_recovers_and_pays(capsys):
    text = (ROOT / "docs" / "pouring-task.md").read_text(encoding="utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], "pouring-task.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "sensing" in printed
    assert re.search(r"recovery +undo: measure_A +2\.0", printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_page_links_to_exists(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).exists(), link
