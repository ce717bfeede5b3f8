"""One name means one thing: no two files, folders or public classes of the two packages share one."""

import ast
from collections import defaultdict
from pathlib import Path

from aquamend.cli.main import added_commands, own_commands

ROOT = Path(__file__).parent.parent
FILES = sorted(path for folder in ("src", "lab/src") for path in (ROOT / folder).rglob("*.py"))
SHARED = {
    "cli": "each package has its commands there",
    "model": "a joint model: that of any problem, and the pouring robot's own",
    "studio": "the laboratory's part of the command: what a run shows in the studio",
}
"""Names that stand for the same thing in two places, and why."""


def test_no_two_files_or_folders_share_a_name():
    """A command's file is named after it, and a folder's main file after the folder: neither counts twice."""
    places = defaultdict(set)
    for path in FILES:
        if path.name == "__init__.py":
            places[path.parent.name].add(path.parent)
        elif path.stem != "__main__" and path.parent.name not in ("cli", path.stem):
            places[path.stem].add(path)
    twice = {name for name, found in places.items() if len(found) > 1}
    assert twice - SHARED.keys() == set()


def test_no_two_files_of_commands_share_a_name():
    stems = [path.stem for path in FILES if path.parent.name == "cli" and path.stem != "__init__"]
    assert {stem for stem in stems if stems.count(stem) > 1} <= SHARED.keys()


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_command_that_is_added_has_the_name_of_another():
    assert added_commands(()).keys().isdisjoint(own_commands())


def test_architecture_names_what_is_shared():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page.partition("### Names")[2] for name in SHARED)
