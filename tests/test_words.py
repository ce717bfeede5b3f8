"""Ordinary English: words that stopped readers stay out of code, help and pages, and out of names most of all."""

import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
NOT_OURS = ("results/", "requirements/", "src/aquamend/story/assets/", "src/aquamend/studio/assets/")
READ = (".py", ".md", ".ts", ".tsx", ".yaml", ".j2", ".css")
LISTED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
TRACKED = LISTED.stdout.splitlines()
FILES = [ROOT / name for name in TRACKED if name.endswith(READ) and not name.startswith(NOT_OURS)]

SAY_INSTEAD = {
    r"a row an? (?:policy|group|suite)": "a row for each",
    r"anew": "again",
    r"complaints": "faults",
    r"heedless": "one step at a time",
    r"hefts": "weighs by hand",
    r"nought": "nothing, or 0",
    r"remembered|remembering": "kept",
    r"spoken for": "supported",
    r"unbearable": "too costly",
}
NO_NAMES = {"told", "given", "looks", "remembered", "heedless", "occupation", "complaints", "hefts", "nought"}
"""What says nothing of what it names."""


@pytest.mark.skipif(not FILES, reason="only in a checkout")
@pytest.mark.parametrize("words", SAY_INSTEAD)
def test_words_that_stop_a_reader_stay_out(words):
    found = []
    for path in FILES:
        if path.name not in ("test_words.py", "CHANGELOG.md"):
            text = path.read_text(encoding="utf-8")
            found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in re.finditer(rf"\b(?:{words})\b", text)]
    assert found == [], f"say {SAY_INSTEAD[words]!r}"


def names_in(path):
    """Return the names that a file of Python uses, without what it imports from hypothesis."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.skipif(not FILES, reason="only in a checkout")
def test_names_say_what_they_name():
    packages = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(ROOT / "src")]
    packages += [path for path in FILES if path.suffix == ".py" and path.is_relative_to(ROOT / "lab" / "src")]
    found = {str(path.relative_to(ROOT)): odd for path in packages if (odd := names_in(path) & NO_NAMES)}
    assert found == {}


def test_every_word_of_the_glossary_stands_there_once():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [
        word
        for row in re.findall(r"^\| (\*\*.*?) \|", page, re.MULTILINE)
        for word in re.findall(r"\*\*(.+?)\*\*", row)
    ]
    assert len(words) > 40
    assert len(set(words)) == len(words)
