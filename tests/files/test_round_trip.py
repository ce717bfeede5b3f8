"""Writing a problem and reading it back changes nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.codec.plain_text import core_scalar, json_data, yaml_data
from aquamend.files import load_problem, parse_problem, problem_to_data
from aquamend.files.problem_file import fully_listed
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import (
    Cause,
    Coverage,
    Declaration,
    Discrete,
    FitGroup,
    Gaussian,
    Hypothesis,
    JointModel,
    Kernel,
    Mixture,
    Samples,
)
from aquamend.problem.model.kernels import DEFAULT_OUTLIERS


def test_data_comes_back_as_it_was(sound):
    assert problem_to_data(parse_problem(sound)) == sound | {
        "actions": [
            {"name": "grasp", "undo": 4.0, "status": "executed"},
            {"name": "carry", "operations": ["back", "open"], "status": "executed"},
            {"name": "stack", "undo": 2.5},
        ],
        "hypotheses": [{"name": "nothing", "prior": 0.6, "cause": "false_alarm"}, *sound["hypotheses"][1:]],
    }


def test_data_with_values_come_back_as_they_were(sound_2):
    assert problem_to_data(parse_problem(sound_2)) == sound_2


def test_a_loss_by_rules_comes_back_as_it_was_written(sound_2):
    sound_2["restart"]["loss"] = {"default": 20, "refilled": 30}
    sound_2["plans"][0]["loss"] = {"default": 25}
    written = problem_to_data(parse_problem(sound_2))
    assert written == sound_2
    assert fully_listed(parse_problem(sound_2))["restart"]["loss"] == {
        "nothing": 20, "refilled": 30, "camera_off": 20, "scale_off": 20,
    }  # fmt: skip


@pytest.mark.parametrize(("suffix", "write"), [(".json", json.dumps), (".yaml", yaml.safe_dump)])
def test_a_written_file_reads_back_the_same(tmp_path, sound, sound_2, suffix, write):
    for problem in map(parse_problem, (sound, sound_2)):
        data = problem_to_data(problem)
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


def survives(problem: Problem) -> Problem:
    """Check that the data of a problem stay the same through JSON and YAML; return the problem read back."""
    data = problem_to_data(problem)
    again = parse_problem(data)
    assert problem_to_data(again) == data
    assert problem_to_data(parse_problem(json_data(json.dumps(data)))) == data
    assert problem_to_data(parse_problem(yaml_data(yaml.safe_dump(data, allow_unicode=True)))) == data
    return again


@given(problems())
def test_every_problem_survives_json_and_yaml(problem):
    assert problem_to_data(problem)["format"] == "aquamend-problem/1"
    survives(problem)


# PyYAML writes some texts without quotes that are numbers in YAML 1.2, such as 1e-3.
texts = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=6).filter(
    lambda text: not text or core_scalar(text) == text
)
values = texts | st.floats(-1e100, 1e100)
losses = st.lists(costs, min_size=3, max_size=3).map(np.array)


@st.composite
def plans(draw: st.DrawFn, name: str, correct: str, undo: str) -> Plan:
    some = draw(st.sampled_from([(), (correct,)])), draw(st.sampled_from([(), (undo,)]))
    return Plan(name, draw(losses | costs.map(lambda cost: np.full(3, cost))), *some, draw(st.booleans()))


@st.composite
def kernels(draw: st.DrawFn, names: list[str]) -> Kernel:
    outliers = st.sampled_from([DEFAULT_OUTLIERS, 0.0, 0.25])
    reading, sd = st.floats(-1e9, 1e9), st.floats(1e-3, 1e9)

    def rows(row: st.SearchStrategy) -> st.SearchStrategy:
        return st.fixed_dictionaries(dict.fromkeys(names, row))

    components = st.lists(st.tuples(st.just(0.5), reading, sd), min_size=2, max_size=2)
    readings = st.lists(reading, min_size=2, max_size=3, unique=True)
    return draw(
        st.builds(Discrete, st.just(["low", "high"]), rows(st.just((0.25, 0.75))))
        | st.builds(Gaussian, rows(st.tuples(reading, sd)), outliers)
        | st.builds(Mixture, rows(components), outliers)
        | st.builds(Samples, rows(readings), st.none() | sd, outliers)
    )


@st.composite
def valued_problems(draw: st.DrawFn) -> Problem:
    """Problems with values, plans and coverage, each part there or not."""
    b, c, a, p, q = draw(st.lists(names, min_size=5, max_size=5, unique=True))
    hypotheses = draw(st.lists(names, min_size=3, max_size=3, unique=True))
    valued = st.builds(
        Belief, st.just(b), declared=values, tolerance=costs,
        needs_support=st.booleans(),
    )  # fmt: skip
    graph = RecoveryGraph(
        [draw(valued), Belief(c, needs_support=True)],
        [Action(a, undo=1.0, executed=True)],
        [Probe(p, 1.0, source=draw(st.sampled_from([None, b, c]))), Probe(q, 0.5)],
        [(p, b, "detection")],
    )
    declared = graph.beliefs[0].declared
    alike = values.filter(lambda value: isinstance(value, str) == isinstance(declared, str))
    truths = [draw(st.just({}) | alike.map(lambda value: {b: value})) for _ in hypotheses]
    stated = Declaration("d", b, support=[p]), Declaration("d", c, 2, draw(values), [hypotheses[0]])
    model = JointModel(
        [Hypothesis(name, 0.25 * (1 + (i == 0)), [c] * (i == 1), truth=truths[i]) for i, name in enumerate(hypotheses)],
        {p: draw(kernels(hypotheses)), q: draw(kernels(hypotheses))},
        declarations=draw(st.sampled_from([(), stated])),
    )
    numbers = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2).map(tuple)
    group = st.builds(FitGroup, names, st.sampled_from([(), (p,), (p, "elsewhere")]), numbers, st.just(()))
    some_names, groups = st.lists(names, max_size=2).map(tuple), st.lists(group, max_size=2).map(tuple)
    return Problem(
        graph,
        model,
        restart=draw(st.none() | costs | plans("restart", c, a)),
        plans=[draw(plans(name, b, a)) for name in draw(st.lists(names, max_size=2, unique=True))],
        corrections=draw(st.booleans()),
        coverage=draw(st.none() | st.builds(Coverage, names, some_names, groups, numbers)),
    )


@settings(max_examples=50, deadline=None)
@given(valued_problems())
def test_every_problem_with_values_survives_json_and_yaml(problem):
    again = survives(problem)
    for table in ("failed", "invalid"):
        assert np.array_equal(getattr(again, table), getattr(problem, table))
    for old, new in zip((*problem.plans, problem.restart_plan), (*again.plans, again.restart_plan), strict=True):
        assert (old is None) == (new is None)
        assert old is None or np.array_equal(old.loss, new.loss)
    assert again.coverage == problem.coverage


def test_an_infinite_value_and_a_lone_hypothesis_called_default_come_back():
    graph = RecoveryGraph([Belief("b", declared=math.inf), Belief("c", declared=-math.inf)])
    model = JointModel([Hypothesis("default", 0.5, truth={"b": 3.0}), Hypothesis("other", 0.5)])
    again = survives(Problem(graph, model, plans=[Plan("p", np.array([1.0, 2.0]))]))
    assert again.plans[0].loss.tolist() == [1.0, 2.0]
    assert [belief.declared for belief in again.graph.beliefs] == [math.inf, -math.inf]


def test_a_problem_built_from_arrays_is_written_by_name():
    graph = RecoveryGraph([Belief("b", declared=3)], probes=[Probe("p", np.float64(1.0))])
    model = JointModel(
        [Hypothesis("h", 0.5), Hypothesis("k", 0.5)], {"p": Gaussian(np.array([[1.0, 2.0], [3.0, 4.0]]))}
    )
    data = problem_to_data(Problem(graph, model, restart=Plan("again", np.array([1.0, math.inf]))))
    assert data["kernels"] == {"p": {"gaussian": {"h": [1, 2], "k": [3, 4]}}}
    assert data["restart"] == {"loss": {"h": 1, "k": "inf"}}
    assert json.loads(json.dumps(data)) == data
