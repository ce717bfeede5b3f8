"""docs/problem-format.md shows sound problems and leaves no key out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aquamend.problem import Plan
from aquamend.problem_file import parse_problem, problem_to_data, schema
from aquamend.problem_file.text import yaml_data

PAGE = (Path(__file__).parents[2] / "docs" / "problem-format.md").read_text(encoding="utf-8")
FORMAT_1, FORMAT_2, CAUSES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SECTIONS = [
    schema.PROBLEM, schema.BELIEF, schema.ACTION, schema.OPERATION, schema.PROBE, schema.HYPOTHESIS, schema.KERNEL,
    schema.ALARM, schema.DECLARATION, schema.RESTART, schema.PLAN, schema.COVERAGE, schema.GROUP, schema.CAUSE,
    schema.STATE, schema.EFFECT, schema.COMPENSATION,
]  # fmt: skip


def test_the_first_example_is_sound_and_costs_what_the_page_says():
    problem = parse_problem(yaml_data(FORMAT_1))
    assert problem.graph.correction_cost(["weight", "choice"]) == 9.0


def test_the_second_example_is_sound_and_means_what_the_page_says():
    problem = parse_problem(yaml_data(FORMAT_2))
    prior, residual = problem.model.prior, [belief.residual for belief in problem.graph.beliefs]
    assert prior @ problem.failed == pytest.approx([0.3, 0.3, 0.1])
    assert prior @ problem.failed @ residual == pytest.approx(31.0)
    assert isinstance(problem.restart, Plan)
    assert prior @ problem.restart.loss == pytest.approx(23.6)
    assert prior @ problem.accuracy == pytest.approx([0.882, 0.901, 1.0, 1.0])
    assert [plan.last_resort for plan in problem.plans] == [False, True]
    assert problem_to_data(problem)["format"] == "aquamend-problem/2"


def test_the_example_with_causes_is_sound_and_means_what_the_page_says():
    model = parse_problem(yaml_data(CAUSES)).model
    assert len(model.names) == 10
    assert model.names[:6] == ("nothing", "slipped", "shelf=moved", "shelf=gone", "misread", "slipped + shelf=moved")
    assert model.left_out == pytest.approx(0.1 * 0.05 * 0.2 + 0.1 * 0.01 * 0.02)
    assert f"{1 - model.left_out:.4f}" in PAGE


@pytest.mark.parametrize("key", sorted({key for section in SECTIONS for key in section}))
def test_every_key_stands_in_a_table(key):
    assert re.search(rf"^\|[^|]*`{key}`", PAGE, re.MULTILINE)


@pytest.mark.parametrize("key", sorted({name for s in SECTIONS for name, key in s.items() if key.since > 1}))
def test_every_key_of_format_2_stands_in_the_part_on_format_2(key):
    assert re.search(rf"^\|[^|]*`{key}`", PAGE.partition("## Format 2")[2], re.MULTILINE)
