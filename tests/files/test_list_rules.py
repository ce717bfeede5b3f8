"""Wherever a table by conditions stands, it may be a list of pairs, of which the first that holds decides."""

import copy

import numpy as np
import pytest
from tests.files.conftest import SOUND

from aquamend.errors import InvalidProblem
from aquamend.files import parse_problem, read_problem


def holds_alike(one, other):
    """Whether two problems say the same of every hypothesis."""
    assert one.model.names == other.model.names
    assert np.array_equal(one.model.prior, other.model.prior)
    assert np.array_equal(one.model.alarm_likelihood, other.model.alarm_likelihood)
    for probe, channel in one.model.channels.items():
        answers = channel.outcomes if hasattr(channel, "outcomes") else [0.0, 1.3, 50.0]
        for answer in answers:
            assert np.array_equal(channel.likelihood(answer), other.model.channels[probe].likelihood(answer))
    for plan, same in zip((*one.plans, one.restart_plan), (*other.plans, other.restart_plan), strict=True):
        assert np.array_equal(plan.loss, same.loss)


def in_pairs(table):
    """Return a mapping by name as a list of pairs."""
    return [[condition, row] for condition, row in table.items()]


def test_every_table_by_name_may_be_a_list_of_pairs(sound, sound_2):
    for data in (sound, sound_2):
        listed = copy.deepcopy(data)
        for kernel in listed["kernels"].values():
            kernel.update({key: in_pairs(rows) for key, rows in kernel.items() if isinstance(rows, dict)})
        for plan in [*listed.get("plans", []), listed["restart"], listed.get("alarm", {})]:
            for key in ("loss", "likelihood"):
                if isinstance(plan, dict) and isinstance(plan.get(key), dict):
                    plan[key] = in_pairs(plan[key])
        if "alarm" in data:
            data["alarm"]["again"] = dict.fromkeys(data["alarm"]["likelihood"], 0.5)
            listed["alarm"]["again"] = [["default", 0.5]]
        holds_alike(parse_problem(listed), parse_problem(data)) if "alarm" in data else parse_problem(listed)


def test_overlapping_rules_decide_from_the_top_in_every_table(causes):
    causes["kernels"]["scan"]["likelihood"] = [["heavy", [0, 1]], ["misread", [0.5, 0.5]], ["default", [1, 0]]]
    causes["kernels"]["range"]["gaussian"] = [["place | heavy", [1.7, 0.4]], ["nothing", [9, 9]], ["default", [1, 1]]]
    causes["alarm"]["likelihood"] = [["misread & heavy", 0.25], ["heavy", 0.5], ["default", 0.75]]
    causes["plans"][0]["loss"] = [["heavy", 1], ["misread", "inf"], ["default", 2]]
    problem = parse_problem(causes)
    index = problem.model.hypothesis_index
    both, heavy, misread = (index[name] for name in ("misread + heavy", "heavy", "misread"))
    scan = problem.model.channels["scan"].table
    assert scan[[both, heavy, misread], 1].tolist() == [1.0, 1.0, 0.5]
    assert np.unique(problem.model.channels["range"].mean).tolist() == [1.0, 1.7, 9.0]
    assert problem.model.alarm_likelihood[[both, heavy, misread]].tolist() == [0.25, 0.5, 0.75]
    assert problem.plans[0].loss[[both, heavy, misread]].tolist() == [1.0, 1.0, np.inf]


def test_the_prior_of_a_cause_may_be_a_list_too(causes):
    causes["causes"][1]["prior"] = [["shelf=moved | shelf=gone", 0.5], ["shelf", 0.25], ["default", 0.125]]
    listed = parse_problem(causes)
    causes["causes"][1]["prior"] = {"shelf": 0.5, "default": 0.125}
    assert np.array_equal(listed.model.prior, parse_problem(causes).model.prior)


def test_a_prior_by_a_list_speaks_of_causes_listed_before_alone(causes, faults_of):
    causes["causes"][1]["prior"] = [["default", 0.1], ["heavy", 0.5]]
    assert faults_of(causes)[0].startswith("causes[1].prior[1]: 'heavy' is none of those; give conditions on causes")
    causes["causes"][1]["prior"] = [["shelf", 0.1], ["default", 1.5]]
    assert faults_of(causes)[0].startswith("causes[1].prior[1][1]: 1.5 is not a probability")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([["refilled", [1, 0]], ["default", [0.5]]], "kernels.look.likelihood[1]: [0.5] has 1 numbers; give 2"),
        ([["refiled", [1, 0]], ["default", [1, 0]]],
         "kernels.look.likelihood[0]: 'refiled' names no cause, belief or hypothesis; did you mean 'refilled'?"),
        ([["refilled", [1, 0]]], "kernels.look.likelihood: nothing is said of hypothesis 'nothing', nor of 1 more"),
        ([["refilled"], ["default", [1, 0]]], "kernels.look.likelihood[0]: ['refilled'] has 1 entries"),
        ([["refilled", [1, "x"]], ["default", [1, 0]]], "kernels.look.likelihood[0][1][1]: the text 'x'"),
        ([[["a"], [1, 0]], ["default", [1, 0]]], "kernels.look.likelihood[0][0]: ['a'] is not text"),
        ([["refilled", [0.5, 0.4]], ["default", [1, 0]]], "kernels.look.likelihood[0]: [0.5, 0.4] sums to 0.9"),
        (["refilled", [1, 0]], "kernels.look.likelihood[0]: 'refilled' is not a list"),
        (3, "kernels.look.likelihood: 3 is not a mapping, nor a list of rules"),
    ],
)  # fmt: skip
def test_a_fault_in_a_list_says_which_rule(sound, faults_of, value, said):
    sound["kernels"]["look"]["likelihood"] = value
    faults = faults_of(sound)
    assert faults[0].startswith(said), faults
    assert len({fault.partition(":")[0] for fault in faults}) == len(faults)


def test_a_fault_in_a_list_is_found_in_the_text():
    text = """format: aquamend-problem/1
beliefs: [{name: b}]
probes: [{name: p, cost: 1}]
hypotheses: [{name: h, prior: 1}]
kernels:
  p:
    outcomes: [x, y]
    likelihood:
      - [h, [1, 0]]
      - [bb, [0.5, 0.5]]
      - [default, [0.5, 0.4]]
"""
    with pytest.raises(InvalidProblem) as caught:
        read_problem(text)
    assert [fault.line for fault in caught.value.faults] == [11]
    with pytest.raises(InvalidProblem) as caught:
        read_problem(text.replace("0.4", "0.5"))
    assert [fault.line for fault in caught.value.faults] == [10]


def test_a_sound_problem_reads_as_one(sound):
    assert sound == SOUND
