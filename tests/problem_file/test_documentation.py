"""docs/problem-format.md shows a sound problem and leaves no key out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aquamend.problem_file import parse_problem, schema
from aquamend.problem_file.yaml_text import yaml_data

PAGE = (Path(__file__).parents[2] / "docs" / "problem-format.md").read_text(encoding="utf-8")
SECTIONS = [
    schema.PROBLEM, schema.BELIEF, schema.ACTION, schema.OPERATION, schema.PROBE, schema.HYPOTHESIS, schema.KERNEL,
    schema.ALARM, schema.DECLARATION,
]  # fmt: skip


def test_the_example_is_sound_and_costs_what_the_page_says():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    problem = parse_problem(yaml_data(example))
    assert problem.graph.correction_cost(["weight", "choice"]) == 9.0


@pytest.mark.parametrize("key", sorted({key for section in SECTIONS for key in section}))
def test_every_key_stands_in_a_table(key):
    assert re.search(rf"^\|[^|]*`{key}`", PAGE, re.MULTILINE)
