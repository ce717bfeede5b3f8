"""Causes in a file, and tables given by rules."""

import copy

import numpy as np
import pytest

from aquamend import InformationState, best_terminal
from aquamend.files import parse_problem, problem_to_data
from aquamend.files.problem_file import fully_listed


def test_hypotheses_follow_from_causes(causes):
    problem = parse_problem(causes)
    assert len(problem.model.names) == 1 + 4 + (2 + 2 + 1)
    assert problem.model.left_out == pytest.approx(0.1 * (0.05 * 0.2 + 0.01 * 0.02))
    index = problem.model.hypothesis_index
    assert problem.failed[index["shelf=gone + heavy"]].tolist() == [1, 1, 1]
    assert problem.plans[0].loss[index["misread + heavy"]] == np.inf
    assert problem.restart.loss[index["shelf=gone"]] == 40
    assert problem.declarations[0].invalid_in == tuple(n for n in problem.model.names if "misread" in n or "gone" in n)


def test_a_problem_of_causes_is_the_problem_of_its_listed_hypotheses(causes):
    problem = parse_problem(causes)
    assert problem_to_data(problem) == causes
    data = fully_listed(problem)
    assert "causes" not in data
    same = parse_problem(data)
    assert best_terminal(InformationState.alarmed(same)) == best_terminal(InformationState.alarmed(problem))


def test_listed_hypotheses_may_have_defaults_and_rules_on_beliefs(sound_2):
    full = parse_problem(copy.deepcopy(sound_2))
    sound_2["kernels"]["look"]["likelihood"] = {
        "nothing": [0.75, 0.25], "level": [0.125, 0.875], "camera": [0.5, 0.5], "default": [1, 0],
    }  # fmt: skip
    sound_2["plans"][1]["loss"] = {"default": 70, "level & target": "inf", "scale_off": 70.5}
    short = parse_problem(sound_2)
    assert fully_listed(short) == fully_listed(full) == problem_to_data(full)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda d: d["causes"][1].pop("prior"),
            "causes[1].prior: it is missing; add the key 'prior', 'rate' or 'states'",
        ),
        (lambda d: d["causes"][0].update(prior=0.1), "causes[0].prior: the cause has states too"),
        (
            lambda d: d["causes"][1].update(failed=["cod"]),
            "causes[1].failed[0]: 'cod' is not a belief; did you mean 'code'?",
        ),
        (lambda d: d["causes"][1].update(truth={"place": 1}), "causes[1].truth.place: 'place' declares no value"),
        (
            lambda d: d["causes"][1].update(failed=["weight"], truth={"weight": 1}),
            "causes[1].failed[0]: 'weight' is given in truth too",
        ),
        (lambda d: d.update(hypotheses=[]), "causes: there are hypotheses too; keep one of the two"),
        (lambda d: d.pop("causes"), "hypotheses: it is missing; add the key 'hypotheses' or 'causes'"),
        (lambda d: d.update(together=0), "together: 0 leaves no cause"),
        (lambda d: d.update(effects=[{"when": "hevy", "failed": ["code"]}]), "effects[0].when: 'hevy' names no cause"),
        (
            lambda d: d["kernels"]["scan"]["likelihood"].update(heavy=[0, 1]),
            "kernels.scan.likelihood: 'shelf=gone & not misread' and 'heavy' both hold under 'shelf=gone + heavy'",
        ),
        (
            lambda d: d["kernels"]["scan"]["likelihood"].update(mesread=[0, 1]),
            "kernels.scan.likelihood.mesread: 'mesread' names no cause, belief or hypothesis; did you mean 'misread'?",
        ),
        (
            lambda d: d["kernels"]["scan"]["likelihood"].update(misread=[0.5, 0.4]),
            "kernels.scan.likelihood.misread: [0.5, 0.4] sums to 0.9",
        ),
        (
            lambda d: d["kernels"]["range"]["gaussian"].pop("default"),
            "kernels.range.gaussian: nothing is said of hypothesis 'misread'; add a rule for it, or a default",
        ),
        (lambda d: d["alarm"].update(likelihood={"nothing": 0.1}), "alarm.likelihood: nothing is said of hypothesis"),
        (
            lambda d: d["plans"][0].update(loss={"shlef": 3, "default": 1}),
            "plans[0].loss.shlef: 'shlef' names no cause",
        ),
        (
            lambda d: d["declarations"][0].update(invalid_in=["x"]),
            "declarations[0].invalid_in[0]: 'x' is not a hypothesis",
        ),
    ],
)
def test_a_fault_says_where_and_what(causes, faults_of, change, said):
    change(causes)
    faults = faults_of(causes)
    assert len([f for f in faults if f.startswith(said)]) == 1, faults
    assert all("hypotheses[" not in fault for fault in faults), "generated hypotheses have no place in the file"


def test_delay_compensations_and_persistent_errors_are_read(causes):
    causes["delay"] = 2
    causes["actions"][0] |= {"takes": 3, "redo": 1, "redo_takes": 0.5, "undo_succeeds": 0.5}
    causes["probes"][0] |= {"takes": 0.25, "max_uses": 2, "persistent": 0.5}
    causes["plans"][0]["takes"] = 5
    causes["compensations"] = [{"name": "send another", "cost": 4, "takes": 1, "correct": ["code"], "succeeds": 0.75}]
    problem = parse_problem(causes)
    drive = problem.graph.actions[0]
    assert (drive.undo, drive.redo, drive.undo_succeeds) == (18, 2, 0.5)
    assert problem.graph.probes[0].cost == 1.5
    assert [plan.name for plan in problem.plans] == ["by hand", "send another", "send another and correct place"]
    assert problem.plans[0].loss.min() == 40
    assert problem.plans[1].loss[0] == 6
    assert "nothing, scan keeps saying right" in problem.model.names


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(delay=-1), "delay: -1 is not a loss"),
        (lambda d: d["actions"][0].update(undo_succeeds=0), "actions[0].undo_succeeds: 0.0 is not a chance"),
        (
            lambda d: d["probes"][1].update(persistent=1, max_uses=2),
            "probes[1].persistent: 1 leaves a normal distribution",
        ),
        (
            lambda d: d.update(compensations=[{"name": "by hand", "cost": 1, "correct": ["code"]}]),
            "compensations[0].name: 'by hand' is given twice",
        ),
    ],
)
def test_what_recovery_costs_may_be_wrong_too(causes, faults_of, change, said):
    change(causes)
    assert any(fault.startswith(said) for fault in faults_of(causes)), faults_of(causes)
