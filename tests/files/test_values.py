"""What the values of a sound file mean, and what is assumed where none is given."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from aquamend.files import load_problem, parse_problem
from aquamend.problem.model import Cause, Discrete, FitGroup, Gaussian, Mixture, Samples


def test_reads_every_section(sound):
    problem = parse_problem(sound)
    assert (problem.name, problem.unit) == ("move the lightest box", "s")
    assert [belief.residual for belief in problem.graph.beliefs] == [10.0, math.inf]
    assert [action.executed for action in problem.graph.actions] == [True, True, False]
    assert [probe.max_uses for probe in problem.graph.probes] == [2, math.inf]
    assert problem.graph.correction_cost(["weight"]) == 6.5
    assert problem.model.alarm_likelihood is not None
    assert problem.model.channels["look"].table[1].tolist() == [0.1, 0.9]
    assert [d.version for d in problem.declarations] == [2]
    assert (problem.sensing_budget, problem.restart, problem.escalate) == (3.0, 20.0, 60.0)


def test_what_is_left_out_has_its_default():
    problem = parse_problem(
        {
            "format": "aquamend-problem/1",
            "beliefs": [{"name": "b"}],
            "actions": [{"name": "a"}],
            "probes": [{"name": "p", "cost": 1}],
            "hypotheses": [{"name": "h", "prior": 1}],
            "kernels": {"p": {"outcomes": ["o"], "likelihood": {"h": [1]}}},
            "declarations": [{"name": "d", "belief": "b"}],
        }
    )
    (belief,), (action,), (probe,) = problem.graph.beliefs, problem.graph.actions, problem.graph.probes
    (hypothesis,), (declaration,) = problem.model.hypotheses, problem.model.declarations
    assert (belief.residual, belief.may_keep) == (0.0, True)
    assert (action.undo, action.executed, action.reversible) == (None, False, True)
    assert (probe.max_uses, probe.modality) == (1, None)
    assert (hypothesis.failed, hypothesis.cause) == ((), Cause.UNKNOWN)
    assert (declaration.version, declaration.support, declaration.invalid_in) == (1, (), None)
    assert (problem.sensing_budget, problem.restart, problem.escalate) == (math.inf, None, None)


def test_numbers_of_numpy_are_numbers(sound):
    sound["beliefs"][0]["residual"] = np.int64(7)
    sound["restart"] = np.float64(2.5)
    problem = parse_problem(sound)
    assert (problem.graph.beliefs[0].residual, problem.restart) == (7.0, 2.5)


YAML = """
format: aquamend-problem/1
beliefs: [{name: b, residual: %s}]
probes: [{name: p, cost: 1e-3}]
hypotheses: [{name: 0.50, prior: 1}]
kernels: {p: {outcomes: [%s], likelihood: {0.50: [%s]}}}
"""


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("inf", math.inf), (".inf", math.inf), ("+.INF", math.inf), ("'inf'", math.inf), ("1e-3", 0.001), ("1.", 1.0),
        (".5", 0.5), ("+3", 3.0), ("010", 10.0), ("0o10", 8.0), ("0x1F", 31.0), ("1E5", 1e5), ("12", 12.0),
    ],
)  # fmt: skip
def test_yaml_numbers_are_those_of_the_core_schema(tmp_path, written, means):
    path = tmp_path / "problem.yaml"
    path.write_text(YAML % (written, "o", "1"))
    assert load_problem(path).graph.beliefs[0].residual == means


@pytest.mark.parametrize(
    "written", ["1_000", "1:30", "2020-01-01", "'5'", "nan", ".nan", "~", "1e999", "9" * 5000, "Yes"]
)
def test_yaml_numbers_are_nothing_else(faults_in, written):
    (fault,) = faults_in(YAML % (written, "o", "1"))
    assert fault.startswith("beliefs[0].residual: ")


def test_outcomes_and_names_are_kept_as_written(tmp_path):
    outcomes = ["yes", "no", "on", "off", "y", "0", "1.50", "1e-3", "true", "2020-01-01", "007", "12:30"]
    path = tmp_path / "problem.yaml"
    path.write_text(YAML % ("1", ", ".join(outcomes), ", ".join(["1", *["0"] * 11])))
    problem = load_problem(path)
    assert list(problem.model.kernels["p"].outcomes) == outcomes
    assert problem.model.hypotheses[0].name == "0.50"


def test_json_numbers_and_booleans_name_outcomes_as_written(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(
        '{"format": "aquamend-problem/1", "beliefs": [{"name": "b", "residual": Infinity}],'
        ' "probes": [{"name": 1, "cost": 0}], "hypotheses": [{"name": 2.50, "prior": 1.0}],'
        ' "kernels": {"1": {"outcomes": [0, true, 0.10], "likelihood": {"2.50": [1, 0, 0]}}}}'
    )
    problem = load_problem(path)
    assert list(problem.model.kernels["1"].outcomes) == ["0", "true", "0.10"]
    assert problem.graph.beliefs[0].residual == math.inf


def test_reads_what_is_said_of_values(sound_2):
    problem = parse_problem(sound_2)
    level, target, camera, lid = problem.graph.beliefs
    assert (level.declared, level.tolerance) == (18.5, 3.0)
    assert (target.declared, target.needs_support, camera.declared) == ("A", True, "sound")
    assert (lid.declared, lid.tolerance, lid.needs_support) == (None, 0.0, False)
    assert problem.graph.probes[0].source == "camera"
    assert problem.failed.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert [(d.value, d.invalid_in) for d in problem.declarations] == [("A", ("refilled",)), ("on", ("scale_off",))]
    assert [type(kernel) for kernel in problem.model.kernels.values()] == [Discrete, Gaussian, Mixture, Samples]
    assert problem.model.kernels["weigh"].outliers == 0.01
    assert not problem.corrections
    assert problem.coverage.covers("look") is False
    assert problem.coverage.groups[0] == FitGroup("near", ("look", "weigh"), (18.0, 30.5), (2.0,))


def test_plans_and_a_restart_of_its_own_are_priced_by_hypothesis(sound_2):
    sound_2["plans"][1]["loss"] = {"default": 70, "refilled": "inf"}
    problem = parse_problem(sound_2)
    by_hand, stop = problem.plans
    assert (by_hand.name, by_hand.loss.tolist(), by_hand.correct, by_hand.undo) == (
        "by hand", [25.0] * 4, ("lid",), ("pour",),
    )  # fmt: skip
    assert (by_hand.last_resort, stop.last_resort) == (False, True)
    assert stop.loss.tolist() == [70.0, math.inf, 70.0, 70.0]
    assert problem.restart_plan.loss.tolist() == [20.0, 30.0, 20.0, 20.0]
    assert (problem.restart_plan.correct, problem.restart_plan.undo) == (("level", "target"), ("pour",))


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("A", "A"), ("18", 18.0), ("'18'", "18"), ("1e-3", 0.001), ("0.50", 0.5), ("-4", -4.0), ("true", "true"),
        ("False", "false"), ("no", "no"), ("2020-01-01", "2020-01-01"), ("'null'", "null"), ("inf", math.inf),
        (".inf", math.inf), ("''", ""),
    ],
)  # fmt: skip
def test_a_value_is_a_number_or_text(tmp_path, written, means):
    path = tmp_path / "problem.yaml"
    path.write_text(
        f"format: aquamend-problem/1\nbeliefs: [{{name: b, declared: {written}}}]\n"
        f"hypotheses: [{{name: h, prior: 1, truth: {{b: {written}}}}}]\n"
    )
    problem = load_problem(path)
    declared = problem.graph.beliefs[0].declared
    assert (declared, type(declared)) == (means, type(means))
    assert problem.model.hypotheses[0].truth == {"b": means}
    assert not problem.failed.any()


@pytest.mark.parametrize(("truth", "failed"), [(21.0, 0), (21.0001, 1), (15, 0)])
def test_a_number_fails_beyond_its_tolerance(truth, failed):
    problem = parse_problem(
        {
            "format": "aquamend-problem/1",
            "beliefs": [{"name": "b", "declared": 18, "tolerance": 3}],
            "hypotheses": [{"name": "h", "prior": 1, "truth": {"b": truth}}],
        }
    )
    assert problem.failed.tolist() == [[failed]]


@pytest.mark.slow
def test_a_hundred_thousand_hypotheses_load(tmp_path):
    count = 100_000
    rows = {f"h{i}": [0.25, 0.75] for i in range(count)}
    data = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "b"}],
        "probes": [{"name": "p", "cost": 1}, {"name": "q", "cost": 1}],
        "hypotheses": [{"name": name, "prior": 1 / count, "failed": ["b"]} for name in rows],
        "kernels": {name: {"outcomes": ["low", "high"], "likelihood": rows} for name in ("p", "q")},
    }
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(data))
    assert len(load_problem(path).model.hypotheses) == count
