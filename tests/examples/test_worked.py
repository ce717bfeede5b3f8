"""The worked problems are what their page says."""

import re
from pathlib import Path

import pytest

from aquamend import AquaMend, InformationState, Reprobe, best_terminal, load_problem
from aquamend.codec.plain_text import data_at
from aquamend.decision import probe_values
from aquamend.lint import findings
from aquamend.planning.bounds import effect_of_left_out
from aquamend.problem.model import Outcomes

ROOT = Path(__file__).parents[2]
WORKED = ROOT / "examples" / "worked"
PAGE = (ROOT / "docs" / "worked-problems.md").read_text(encoding="utf-8")
FIRST = {"warehouse.yaml": "ask_stock", "liquid_handler.yaml": "scan_barcodes", "agent.yaml": "check_row_counts"}


def alarmed(name):
    return InformationState.alarmed(load_problem(WORKED / name))


def test_every_worked_problem_is_tested_and_told():
    assert sorted(path.name for path in WORKED.iterdir()) == sorted(FIRST)
    assert all(f"(../examples/worked/{name})" in PAGE for name in FIRST)


@pytest.mark.parametrize("name", sorted(FIRST))
def test_the_first_step_is_the_one_the_page_tells(name):
    assert AquaMend().next_step(alarmed(name)) == Reprobe(FIRST[name])
    assert "hypotheses" not in data_at(WORKED / name)


def test_the_warehouse_fits_in_eighty_lines_and_has_the_numbers_of_the_page():
    text = (WORKED / "warehouse.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert f"{len(text.splitlines())} lines" in PAGE
    data = data_at(WORKED / "warehouse.yaml")
    assert [len(data[key]) for key in ("beliefs", "actions", "probes", "causes")] == [6, 8, 5, 12]
    problem = load_problem(WORKED / "warehouse.yaml")
    assert sum(not isinstance(channel, Outcomes) for channel in problem.model.channels.values()) == 1
    assert f"{len(problem.model.names)} hypotheses" in PAGE
    assert f"{effect_of_left_out(problem).loss:.1f} s" in PAGE


def test_the_numbers_of_the_liquid_handler_are_those_of_the_page():
    state = alarmed("liquid_handler.yaml")
    values = probe_values(state)
    assert f"{best_terminal(state).loss:.1f} EUR" in PAGE
    assert f"brings that to {values.expected_loss.min():.1f}" in PAGE


def test_lint_says_what_the_page_says():
    assert {f.code for f in findings(alarmed("warehouse.yaml"))} == {"left-out", "knifes-edge"}
    assert findings(alarmed("agent.yaml")) == []


def test_the_page_uses_commands_that_exist():
    commands = re.findall(r"^\$ aquamend (\w+) (\S+)", PAGE, re.MULTILINE)
    assert {command for command, _ in commands} == {"validate", "lint", "decide", "evaluate"}
    assert all((ROOT / path).exists() for _, path in commands)
