"""The JSON Schema is what the reader reads: it allows what is sound, and refuses keys and kinds that are none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.waiting import PATIENCE_S

from aquamend.codec.plain_text import data_at
from aquamend.files import format as file_format
from aquamend.files import problem_schema

EXAMPLES = sorted(
    path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.suffix in (".json", ".yaml")
)
SCHEMA = problem_schema()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float)}
SAYS_NOTHING = {"$schema", "$defs", "title", "description", "then", "else"}


def allowed(data: Any, rule: Any) -> bool:
    """Return whether data satisfy a schema; knows no keyword that the problem file's schema does without."""
    if isinstance(rule, bool):
        return rule
    return all(KEYWORDS[key](data, rule) for key in rule if key not in SAYS_NOTHING)


def is_type(data: Any, name: str) -> bool:
    if name == "integer":
        return is_type(data, "number") and float(data).is_integer()
    return isinstance(data, TYPES[name]) and (name == "boolean" or not isinstance(data, bool))


def types_allowed(data: Any, rule: Any) -> bool:
    names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    return any(is_type(data, name) for name in names)


def keys_allowed(data: Any, rule: Any) -> bool:
    if not isinstance(data, dict):
        return True
    others = [value for key, value in data.items() if key not in rule.get("properties", {})]
    return all(allowed(value, rule["additionalProperties"]) for value in others)


KEYWORDS: dict[str, Any] = {
    "$ref": lambda data, rule: allowed(data, SCHEMA["$defs"][rule["$ref"].removeprefix("#/$defs/")]),
    "type": types_allowed,
    "enum": lambda data, rule: data in rule["enum"],
    "const": lambda data, rule: data == rule["const"],
    "anyOf": lambda data, rule: any(allowed(data, one) for one in rule["anyOf"]),
    "if": lambda data, rule: allowed(data, rule["then" if allowed(data, rule["if"]) else "else"]),
    "properties": lambda data, rule: (
        not isinstance(data, dict)
        or all(allowed(data[key], one) for key, one in rule["properties"].items() if key in data)
    ),
    "required": lambda data, rule: not isinstance(data, dict) or all(key in data for key in rule["required"]),
    "additionalProperties": keys_allowed,
    "items": lambda data, rule: not isinstance(data, list) or all(allowed(one, rule["items"]) for one in data),
    "prefixItems": lambda data, rule: (
        not isinstance(data, list)
        or all(allowed(one, inner) for one, inner in zip(data, rule["prefixItems"], strict=False))
    ),
    "minItems": lambda data, rule: not isinstance(data, list) or len(data) >= rule["minItems"],
    "maxItems": lambda data, rule: not isinstance(data, list) or len(data) <= rule["maxItems"],
    "minimum": lambda data, rule: not is_type(data, "number") or data >= rule["minimum"],
    "maximum": lambda data, rule: not is_type(data, "number") or data <= rule["maximum"],
    "pattern": lambda data, rule: not isinstance(data, str) or re.search(rule["pattern"], data) is not None,
}


def test_the_text_for_editors_is_the_schema():
    assert json.loads(file_format.schema_text(file_format.problem_schema())) == SCHEMA


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_allowed(path):
    assert allowed(data_at(path), SCHEMA)


def test_the_sound_problems_are_allowed(sound, sound_2, causes):
    assert allowed(sound, SCHEMA)
    assert allowed(sound_2, SCHEMA)
    assert allowed(causes, SCHEMA)


def mappings(data: Any, where: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return every mapping with keys of the format's own, by its place; not those from names to values."""
    by_name = where.endswith(("kernels", "likelihood", "gaussian", "mixture", "samples", "truth", "loss"))
    found = [(where, data)] if isinstance(data, dict) and not by_name else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return found + [pair for key, value in items for pair in mappings(value, f"{where}.{key}")]


def test_an_unknown_key_is_refused_wherever_it_stands(sound, sound_2):
    for data in (sound, sound_2):
        for where, mapping in mappings(data):
            mapping["colour"] = "red"
            assert not allowed(data, SCHEMA), where
            del mapping["colour"]
        assert allowed(data, SCHEMA)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "aquamend-problem/3"), ("beliefs", {}), ("beliefs", [{}]), ("beliefs", [{"name": " "}]),
        ("beliefs", [{"name": "b", "residual": "10"}]), ("beliefs", [{"name": "b", "residual": -1}]),
        ("beliefs", [{"name": "b", "declared": None}]), ("beliefs", [{"name": "b", "may_keep": "no"}]),
        ("actions", [{"name": "a", "status": "done"}]), ("edges", [["a", "b"]]), ("edges", [["a", "b", "leads to"]]),
        ("probes", [{"name": "p"}]), ("probes", [{"name": "p", "cost": 1, "max_uses": 1.5}]),
        ("hypotheses", [{"name": "h", "prior": 2}]),
        ("kernels", {"p": {}}), ("kernels", {"p": {"outcomes": ["y"]}}), ("kernels", {"p": {"mixture": {"h": [1]}}}),
        ("kernels", {"p": {"outcomes": ["y"], "likelihood": {"h": [1]}, "gaussian": {"h": [0, 1]}}}),
        ("alarm", {}), ("restart", {"correct": []}), ("restart", True), ("escalate", None), ("plans", [{"name": "p"}]),
        ("corrections", 0), ("coverage", {"stage": "T1"}),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_refused(sound_2, faults_of, key, value):
    sound_2[key] = value
    assert not allowed(sound_2, SCHEMA)
    assert faults_of(sound_2)


@pytest.mark.parametrize("key", ["format", "beliefs", "hypotheses"])
def test_a_missing_key_is_refused(sound, key):
    del sound[key]
    assert not allowed(sound, SCHEMA)


def described(rule: Any) -> list[str]:
    """Return the description of every key in a schema, however deep."""
    if isinstance(rule, list):
        return [text for inner in rule for text in described(inner)]
    if not isinstance(rule, dict):
        return []
    own = [one["description"] for one in rule.get("properties", {}).values()]
    return own + [text for inner in rule.values() for text in described(inner)]


def test_every_key_is_described_by_a_sentence():
    for text in described(SCHEMA):
        assert re.fullmatch(r"[A-Z][^\n]{8,128}\.", text), text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draw=st.data())
def test_what_the_reader_accepts_is_allowed(sound_text, sound_2_text, causes_text, faults_of, draw):
    data = json.loads(draw.draw(st.sampled_from([sound_text, sound_2_text, causes_text])))
    at: Any = data
    while isinstance(at, (dict, list)) and at:
        parent, key = at, draw.draw(st.sampled_from(list(at) if isinstance(at, dict) else list(range(len(at)))))
        at = parent[key]
    parent[key] = draw.draw(
        st.sampled_from(["inf", "A", "", True, 0, 1, 0.5, -1, None, [], {}]) | st.integers() | st.floats(-9, 9)
    )
    if not faults_of(data):
        assert allowed(data, SCHEMA)


NEW_KERNEL = """
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar
from aquamend.codec import Name, Number
from aquamend.problem.model import kernels

@dataclass
class Constant:
    constant: Sequence[Name]
    shift: Number = 0.0
    rows: Annotated[dict, kernels.discrete_outcomes.ROWS] = field(default_factory=dict)
    table: ClassVar[str] = "rows"
    def faults(self, where, names): return ()

kernels.KERNELS = (*kernels.KERNELS, Constant)
for name in ("format", "draft", "problem_file"):
    importlib.reload(importlib.import_module(f"aquamend.files.{name}"))
from aquamend.files.problem_file import parse_problem
from aquamend.files.problem_file import problem_to_data

data = {
    "format": "aquamend-problem/1",
    "name": "any",
    "beliefs": [{"name": "b"}],
    "probes": [{"name": "p", "cost": 1}],
    "hypotheses": [{"name": "h", "prior": 1}],
    "kernels": {"p": {"constant": ["yes"], "shift": 2, "rows": {"h": [1]}}},
}
assert problem_to_data(parse_problem(data)) == data
"""


def test_a_new_kind_of_kernel_needs_nothing_here():
    done = subprocess.run(
        [sys.executable, "-c", NEW_KERNEL], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
