"""The benchmark of learning: its costs are exact, more records help, and the page has its table."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from aquamend.belief import InformationState
from aquamend.files import parse_problem
from aquamend.policies import Best, evaluate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench():
    spec = spec_from_file_location("bench_learning", ROOT / "bench" / "learning.py")
    module = module_from_spec(spec)
    sys.modules["bench_learning"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bench_learning"]


def test_what_deciding_costs_is_what_evaluation_says_and_nothing_costs_less_than_the_true_numbers(bench):
    for seed in range(4):
        numbers = bench.true_numbers(np.random.default_rng(seed))
        true, guess = (parse_problem(bench.file_of(n)) for n in (numbers, bench.guessed(numbers)))
        exact = evaluate(Best(), InformationState.alarmed(true)).expected_loss
        assert bench.cost_of_deciding(true, true) == pytest.approx(exact)
        assert bench.cost_of_deciding(guess, true) >= exact - 1e-9


def test_a_thousand_alarms_alone_are_enough(bench):
    found = [bench.site("alarm-only", 1000, seed) for seed in range(5)]
    true = sum(one.true for one in found)
    assert sum(one.learned for one in found) < 1.01 * true < sum(one.guess for one in found)


def test_what_is_learned_from_the_newer_half_alone_is_nearer_to_the_present(bench):
    found = [bench.site("drifting", 400, seed) for seed in range(6)]
    assert sum(one.newer for one in found) < sum(one.learned for one in found)
    assert sum(one.noticed for one in found) >= 3


def test_the_page_has_a_row_for_every_kind_of_site_and_size(bench):
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (few records|drifting|alarm-only) \| ([\d,]+) \|", text, re.MULTILINE)
    assert rows == [(kind, f"{n:,}") for kind, sizes in bench.KINDS.items() for n in sizes]
