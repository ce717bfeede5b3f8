"""docs/problem-format.md shows sound problems and leaves no key out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aquamend.codec.records import entries
from aquamend.graph import Belief
from aquamend.model import Alarm, Coverage, Declaration, FitGroup, Hypothesis, Normal, OneOf, Uniform
from aquamend.model.kernels import KERNELS
from aquamend.modelling import CauseState, Effect
from aquamend.problem import Plan
from aquamend.problem_file import format as file_format
from aquamend.problem_file import parse_problem
from aquamend.problem_file.text import yaml_data

PAGE = (Path(__file__).parents[2] / "docs" / "problem-format.md").read_text(encoding="utf-8")
FORMAT_1, FORMAT_2, CAUSES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SECTIONS = [
    file_format.ProblemFile, Belief, file_format.TimedAction, file_format.TimedOperation, file_format.TimedProbe,
    Hypothesis, *KERNELS, Alarm, Declaration, file_format.WrittenPlan, Coverage, FitGroup, file_format.WrittenCause,
    CauseState, Effect, file_format.TimedCompensation, Normal, Uniform, OneOf,
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
    assert [plan.last_resort for plan in problem.plans] == [False, True]


def test_the_example_with_causes_is_sound_and_means_what_the_page_says():
    model = parse_problem(yaml_data(CAUSES)).model
    assert len(model.names) == 10
    assert model.names[:6] == ("nothing", "slipped", "shelf=moved", "shelf=gone", "misread", "slipped + shelf=moved")
    assert model.left_out == pytest.approx(0.1 * 0.05 * 0.2 + 0.1 * 0.01 * 0.02)
    assert f"{1 - model.left_out:.4f}" in PAGE


@pytest.mark.parametrize("key", sorted({key for section in SECTIONS for key in entries(section)}))
def test_every_key_stands_in_a_table(key):
    assert re.search(rf"^\|[^|]*`{key}`", PAGE, re.MULTILINE)
