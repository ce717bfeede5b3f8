"""No test can hang: whoever waits for another process, thread or event says for how long."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
STARTS = {"run", "call", "check_call", "check_output"}


def endless(source):
    """Return the lines that wait for a process, a thread or an event without saying for how long."""
    tree = ast.parse(source)
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and id(node) not in awaited and _waits(node) and not _says_how_long(node)
    ]


def _waits(call):
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Name) and function.value.id == "subprocess":
        return function.attr in STARTS
    joins = function.attr == "join" and not call.args  # that of texts has an argument
    return function.attr in ("communicate", "wait") or joins


def _says_how_long(call):
    named = any(keyword.arg == "timeout" for keyword in call.keywords)
    return named or (call.func.attr in ("wait", "join") and bool(call.args))


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.relative_to(TESTS).as_posix())
def test_whoever_waits_says_for_how_long(path):
    assert endless(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("subprocess.run(['true'])", [1]),
        ("subprocess.run(['true'], timeout=3)", []),
        ("\nprogram.communicate()", [2]),
        ("program.wait(5)", []),
        ("event.wait()", [1]),
        ("thread.join()", [1]),
        ("', '.join(names)", []),
        ("await event.wait()", []),
    ],
)
def test_what_waits_without_end_is_found(source, lines):
    wrapped = f"async def test():\n {source}" if source.startswith("await") else source
    assert endless(wrapped) == lines
