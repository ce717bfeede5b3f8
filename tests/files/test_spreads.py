"""A file whose truths nobody knows yet, with kernels and effects that follow them."""

import json
import math

import numpy as np
import pytest

from aquamend import AquaMend, InformationState, Observation
from aquamend.files import parse_problem, problem_to_data, read_problem
from aquamend.problem.model.kernels import Outcomes

TEXT = """
format: aquamend-problem/1
name: pour into the least full cup
beliefs:
  - {name: level_A, residual: 10, declared: 18.0, tolerance: 3.0}
  - {name: level_B, residual: 10, declared: 30.0, tolerance: 3.0}
  - {name: target, residual: 80, declared: A}
  - {name: camera, residual: 40, declared: sound}
actions:
  - {name: grasp, undo: 4.0, status: executed}
probes:
  - {name: look_A, cost: 0.2, source: camera}
  - {name: weigh_A, cost: 0.6}
  - {name: read_tag, cost: 0.3}
edges:
  - [look_A, level_A, detection]
  - [weigh_A, level_A, detection]
  - [read_tag, target, detection]
  - [level_A, target, inference]
  - [target, grasp, belief_to_action]
hypotheses:
  - {name: nothing, prior: 0.4, cause: false_alarm}
  - {name: water_in_A, prior: 0.4, truth: {level_A: {normal: [40, 14]}}, cause: external}
  - {name: camera_off, prior: 0.2, truth: {camera: biased}, cause: self_error}
effects:
  - {when: level_A > level_B, truth: {target: B}}
kernels:
  look_A: {gaussian: {default: [level_A, 2.0], camera_off: [level_A + 9, 2.0]}}
  weigh_A: {gaussian: {default: [level_A, 0.7]}}
  read_tag: {of: target, right: 0.9, none: 0.08}
alarm:
  likelihood: {nothing: 0.2, water_in_A: 0.9, camera_off: 0.7}
restart: 20.0
"""


@pytest.fixture(scope="module")
def problem():
    return read_problem(TEXT)


def levels():
    every = [40.0 + 2.0 * k for k in range(-21, 22)]
    return [value for value in every if abs(value - 18.0) > 3.0]


def test_every_value_is_a_hypothesis_that_shares_the_prior(problem):
    names = problem.model.names
    assert names[:2] == ("nothing", "water_in_A (level_A=-2)")
    assert len(names) == 2 + len(levels())
    weights = np.array([math.exp(-0.5 * ((value - 40.0) / 14.0) ** 2) for value in levels()])
    assert problem.model.prior[1:-1] == pytest.approx(0.4 * weights / weights.sum())


def test_the_target_follows_from_the_levels(problem):
    target = problem.graph.beliefs[2]
    for hypothesis in problem.model.hypotheses:
        level = hypothesis.truth.get("level_A", 18.0)
        assert hypothesis.true_of(target) == ("B" if level > 30.0 else "A")


def test_likelihoods_follow_the_truth(problem):
    at_40 = problem.model.hypothesis_index["water_in_A (level_A=40)"]
    wide = math.sqrt(0.7**2 + 4.0 / 12.0)
    ratio = np.divide(*problem.model.channels["weigh_A"].likelihood(40.0)[[at_40, 0]])
    expected = (0.7 / wide) * math.exp(0.5 * (22.0 / 0.7) ** 2)
    assert ratio > 1e6 or ratio == pytest.approx(expected)
    tag = problem.model.channels["read_tag"]
    assert isinstance(tag, Outcomes)
    assert tag.outcomes == ("A", "B", "none")
    assert tag.table[at_40] == pytest.approx([0.02, 0.9, 0.08])


def test_two_instruments_are_judged_by_the_same_unknown_amount(problem):
    state = InformationState.alarmed(problem)
    state = state.after(Observation("look_A", 49.0)).after(Observation("weigh_A", 40.0))
    assert state.posterior[problem.model.hypothesis_index["camera_off"]] < 1e-6
    off = InformationState.alarmed(problem).after(Observation("look_A", 27.0)).after(Observation("weigh_A", 18.2))
    assert off.posterior[problem.model.hypothesis_index["camera_off"]] > 0.99
    assert AquaMend().next_step(off) is not None


def test_weights_may_have_numbers_for_keys_in_json():
    data = json.loads(json.dumps(problem_data({"values": {"40": 3, "45": 1}})))
    assert parse_problem(data).model.prior[1:3] == pytest.approx([0.3, 0.1])


def test_text_is_read_as_written_where_text_is_declared():
    data = problem_data(40)
    data["hypotheses"].append({"name": "odd", "prior": 0.0, "truth": {"target": 7}})
    assert parse_problem(data).model.hypotheses[-1].truth == {"target": "7"}


def test_what_a_spread_stands_for_can_be_written_and_read_again(problem):
    again = parse_problem(problem_to_data(problem))
    assert again.model.names == problem.model.names
    assert np.allclose(again.model.prior, problem.model.prior)


def problem_data(truth):
    return {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "level", "declared": 18, "tolerance": 3}, {"name": "target", "declared": "A"}],
        "hypotheses": [
            {"name": "fine", "prior": 0.6},
            {"name": "added", "prior": 0.4, "truth": {"level": truth}},
        ],
    }


@pytest.mark.parametrize("truth", [40, "40", {"values": ["40"]}, {"values": {"40": 1}}, {"values": {40: 1}}])
def test_values_are_read_as_numbers_where_a_number_is_declared(truth):
    model = parse_problem(problem_data(truth)).model
    assert model.hypotheses[1].truth == {"level": 40.0}
    assert isinstance(model.hypotheses[1].truth["level"], float)


def test_one_number_written_in_two_ways_is_given_twice(faults_of):
    (fault,) = faults_of(problem_data({"values": {"40": 1, "40.0": 2}}))
    assert fault.startswith("hypotheses[1].truth.level.values: it gives a number more than once")


def test_what_is_not_a_number_is_a_fault_where_a_number_is_declared(faults_of):
    assert faults_of(problem_data("much"))[0].startswith("hypotheses[1].truth.level: 'much' is not a number")
    assert faults_of(problem_data({"values": ["much"]}))[0].startswith("hypotheses[1].truth.level.values[0]: 'much' is")


def test_a_statement_has_a_value_as_its_belief_has():
    data = problem_data(40) | {"declarations": [{"name": "full", "belief": "target", "value": 7}]}
    assert parse_problem(data).model.declarations[0].value == "7"
