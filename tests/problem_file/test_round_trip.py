"""Writing a problem and reading it back changes nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.model import Cause, Declaration, Discrete, Gaussian, Hypothesis, JointModel
from aquamend.problem import Plan, Problem
from aquamend.problem_file import load_problem, parse_problem, problem_to_data
from aquamend.problem_file.text import json_data
from aquamend.problem_file.yaml_text import yaml_data


def test_data_comes_back_as_it_was(sound):
    assert problem_to_data(parse_problem(sound)) == sound | {
        "actions": [
            {"name": "grasp", "undo": 4.0, "status": "executed"},
            {"name": "carry", "operations": ["back", "open"], "status": "executed"},
            {"name": "stack", "undo": 2.5},
        ]
    }


@pytest.mark.parametrize(("suffix", "write"), [(".json", json.dumps), (".yaml", yaml.safe_dump)])
def test_a_written_file_reads_back_the_same(tmp_path, sound, suffix, write):
    data = problem_to_data(parse_problem(sound))
    path = tmp_path / f"problem{suffix}"
    path.write_text(write(data))
    assert problem_to_data(load_problem(path)) == data


names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).filter(str.strip)
costs = st.floats(0, 1e100) | st.just(math.inf)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Problems with every kind of odd name and number that the format can hold."""
    nodes = draw(st.lists(names, min_size=5, max_size=5, unique=True))
    words = draw(st.lists(names, min_size=4, max_size=4, unique=True))
    graph = RecoveryGraph(
        beliefs=[Belief(nodes[0], draw(costs), draw(st.booleans())), Belief(nodes[1])],
        actions=[Action(nodes[2], undo=draw(costs), executed=True, reversible=draw(st.booleans()))],
        probes=[Probe(nodes[3], draw(st.floats(0, 1e9)), words[0], draw(st.sampled_from([0, 1, 3, math.inf]))),
                Probe(nodes[4], 0.0)],
        edges=[(nodes[3], nodes[0], "detection"), (nodes[0], nodes[2], "belief_to_action")],
        operations=[Operation(words[1], draw(costs))],
    )  # fmt: skip
    prior = draw(st.floats(0, 1))
    model = JointModel(
        [Hypothesis(words[2], prior, [nodes[0]], draw(st.sampled_from(Cause))), Hypothesis(words[3], 1 - prior)],
        {nodes[3]: Discrete(words[:2], np.array([[prior, 1 - prior], [0.5, 0.5]])),
         nodes[4]: Gaussian({words[2]: (draw(st.floats(-1e9, 1e9)), 1.0), words[3]: (0, 0.1)})},
        declarations=[Declaration(words[0], nodes[1], version=7, invalid_in=[words[2]], support=[nodes[4]])],
    )  # fmt: skip
    return Problem(graph, model, draw(costs), draw(st.none() | costs), draw(st.none() | costs), unit=words[0])


@given(problems())
def test_every_problem_survives_json_and_yaml(problem):
    data = problem_to_data(problem)
    assert problem_to_data(parse_problem(data)) == data
    assert problem_to_data(parse_problem(json_data(json.dumps(data)))) == data
    assert problem_to_data(parse_problem(yaml_data(yaml.safe_dump(data, allow_unicode=True)))) == data


def test_plans_cannot_be_written(sound):
    problem = parse_problem(sound)
    with pytest.raises(ValueError, match="no plans"):
        problem_to_data(replace(problem, plans=[Plan("wait", np.zeros(3))]))


def test_declared_values_cannot_be_written(sound):
    problem = parse_problem(sound)
    declared = replace(problem.model, declarations=[Declaration("d", "weight", value="12 g")])
    with pytest.raises(ValueError, match="declaration 'd' has a value"):
        problem_to_data(replace(problem, model=declared))
