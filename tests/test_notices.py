"""Whose libraries the pages' scripts contain is said in NOTICE, and their licences stand in the scripts."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
BUILT = [
    path
    for package in ("src", "lab/src")
    for path in sorted((ROOT / package).rglob("assets/*.js"))
    if path.read_text(encoding="utf-8").startswith("/*!")
]


def contained(script):
    """Return the name and the licence of every library in a built script, by its head."""
    head = script.read_text(encoding="utf-8").partition("*/")[0]
    return re.findall(r"^(\S+) [\d.]+ \(([^)]+)\):$", head, re.MULTILINE)


@pytest.mark.parametrize("script", BUILT, ids=lambda path: path.name)
def test_notice_names_every_library_in_a_script_with_its_licence(script):
    assert contained(script)
    for name, licence in contained(script):
        assert re.search(
            rf"^  {re.escape(name)} +{re.escape(licence)} +in .*\b{script.name}\b", NOTICE, re.MULTILINE
        ), name


def test_notice_names_no_library_that_no_script_contains():
    named = re.findall(r"^  (\S+) ", NOTICE, re.MULTILINE)
    assert set(named) == {name for script in BUILT for name, _ in contained(script)}
