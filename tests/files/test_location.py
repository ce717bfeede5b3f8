"""Faults come with the line and the column they stand at."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.errors import Fault, InvalidProblem
from aquamend.files import read_problem
from aquamend.files.problem_file import located

YAML = """format: aquamend-problem/1
beliefs:
  - {name: "a.b", residual: -1}
  - name: c
    residul: 3
hypotheses:
  - {name: h, prior: 1}
kernels:
  p.q:
    outcomes: [x, y]
    likelihood:
      h: [0.5, 0.4]
probes:
  - {name: p.q, cost: 1}
"""


def marks(text):
    with pytest.raises(InvalidProblem) as caught:
        read_problem(text)
    return {fault.where: (fault.line, fault.column) for fault in caught.value.faults}


def test_a_value_a_key_and_a_name_with_dots_are_found():
    assert marks(YAML) == {
        "beliefs[0].residual": (3, 29),
        "beliefs[1].residul": (5, 14),
        "kernels.p.q.likelihood.h": (12, 7),
    }


def test_json_has_lines_too_also_with_tabs():
    text = json.dumps({"format": "aquamend-problem/1", "beliefs": [{"name": "a", "residual": -1}]}, indent="\t")
    found = marks(text)
    assert found["beliefs[0].residual"] == (6, 16)
    assert found["hypotheses"] == (1, 1), "what is missing is missing in the whole"


def test_a_fault_of_the_syntax_has_its_line_once():
    (fault,) = marks("beliefs: [").items()
    assert fault[0] == f"line {fault[1][0]}, column {fault[1][1]}"


@settings(max_examples=200, deadline=None)
@given(
    st.text("abc[].01\\{}:- \n", max_size=20),
    st.sampled_from([YAML, "{", "[1, 2]", "x", "", "&a [*a]", "a: &b {c: *b}"]),
)
def test_any_place_in_any_text_is_looked_for_in_peace(where, text):
    (fault,) = located([Fault(where, "wrong", "right it")], text)
    assert fault.where == where
