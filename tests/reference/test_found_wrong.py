"""Problems that were once answered wrongly, each with the answer by hand."""

import math

import pytest

from aquamend import InformationState, best_terminal
from aquamend.decision import Continue, RollBack
from aquamend.decision.structured import violations
from aquamend.decision.terminal import price
from aquamend.errors import InvalidProblem, TooLarge
from aquamend.export.pomdp import pomdp_of
from aquamend.lint import findings
from aquamend.policies import evaluate, policy_named
from aquamend.problem_file import read_problem


def state_of(text):
    return InformationState.alarmed(read_problem("format: aquamend-problem/2\n" + text))


def test_an_undo_that_costs_nothing_goes_with_a_compensation():
    state = state_of("""
beliefs: [{name: b0, residual: 50}, {name: b1, residual: 30}]
actions: [{name: a0, undo: 100, status: executed}, {name: a1, undo: 0, status: executed}]
edges: [[b0, a0, belief_to_action], [b1, a1, belief_to_action]]
hypotheses: [{name: h, prior: 1, failed: [b0, b1]}]
compensations: [{name: make up, cost: 1, correct: [b0]}]
""")
    assert best_terminal(state).loss == 1.0
    assert evaluate(policy_named("exact"), state).expected_loss == 1.0


def test_a_value_that_is_surely_right_is_not_passed_over_for_one_that_hardly_ever_fails():
    state = state_of("""
beliefs: [{name: level, residual: inf, correction: supported, declared: 10, tolerance: 3}]
hypotheses:
  - {name: as_declared, prior: 0.998999999999}
  - {name: a_little_more, prior: 0.001, truth: {level: 12}}
  - {name: more, prior: 1.0e-12, truth: {level: 13.5}}
restart: 1000
""")
    stop = best_terminal(state)
    assert stop.loss == 0.0
    assert isinstance(stop.decision, RollBack)
    assert [new.value for new in stop.decision.declare] == [12.0]


def test_where_there_are_no_corrections_none_has_a_price():
    state = state_of("""
beliefs: [{name: b, residual: 5}]
hypotheses: [{name: h, prior: 1, failed: [b]}]
corrections: false
restart: 17
""")
    assert price(state, RollBack(("b",))).loss == price(state, Continue()).loss == math.inf
    assert best_terminal(state).loss == 17.0
    assert "corrections" in violations(state)[0]


NO_WAY_OUT = """
beliefs: [{name: b, residual: 1, may_keep: false}]
actions: [{name: a, status: executed, reversible: false}]
edges: [[b, a, belief_to_action]]
"""


def test_a_robust_policy_without_any_ending_escalates():
    state = state_of(NO_WAY_OUT + "hypotheses: [{name: h, prior: 1, failed: [b]}]\n")
    assert math.isinf(policy_named("robust-0.1").weighed(state).worst)


def test_where_every_decision_is_infinite_none_is_said_to_cost_more():
    rare = "hypotheses: [{name: ok, prior: 0.999}, {name: bad, prior: 0.001, failed: [b]}]\n"
    state = state_of(NO_WAY_OUT + rare + "alarm: {likelihood: {ok: 0.0001, bad: 1}}\n")
    assert not [found for found in findings(state) if "nan" in str(found)]


def test_time_on_an_action_that_operations_undo_is_refused():
    with pytest.raises(InvalidProblem, match=r"actions\[0\].takes: .* give `takes` to the operations instead"):
        state_of("""
beliefs: [{name: b, residual: 100}]
operations: [{name: o, cost: 1}]
actions: [{name: a, status: executed, operations: [o], takes: 50}]
edges: [[b, a, belief_to_action]]
delay: 1
hypotheses: [{name: h, prior: 1, failed: [b]}]
""")


PERSISTENT = """
beliefs: [{name: target, residual: 10, correction: supported, declared: A}]
probes: [{name: look, cost: 1, max_uses: 2, persistent: 0.5}]
edges: [[look, target, detection]]
hypotheses:
  - {name: fine, prior: 0.5}
  - {name: moved, prior: 0.5, truth: {target: B}}
  - {name: never, prior: 0, truth: {target: C}}
"""


@pytest.mark.parametrize(
    "kernel",
    [
        "{outcomes: [x, y], likelihood: {fine: [0.9, 0.1], moved: [0.2, 0.8], never: [0.5, 0.5]}}",
        "{gaussian: {fine: [1, 1], moved: [2, 1], never: [3, 1]}}",
        "{mixture: {fine: [[0.5, 1, 1], [0.5, 2, 1]], moved: [[1, 2, 1]], never: [[1, 3, 1]]}}",
    ],
)
def test_an_error_that_persists_leaves_values_of_prior_0_to_declare(kernel):
    problem = state_of(f"{PERSISTENT}kernels: {{look: {kernel}}}\n").problem
    assert "C" in [value.value for value in problem.values_of(0)]
    assert problem.model.prior.sum() == pytest.approx(1.0)


def test_a_probe_of_a_million_uses_is_refused_before_they_are_counted():
    state = state_of("""
beliefs: [{name: b, residual: 100}]
probes: [{name: look, cost: 1, max_uses: 1000000}]
edges: [[look, b, detection]]
hypotheses: [{name: ok, prior: 0.5}, {name: bad, prior: 0.5, failed: [b]}]
kernels: {look: {outcomes: [x, y], likelihood: {ok: [0.9, 0.1], bad: [0.2, 0.8]}}}
""")
    with pytest.raises(TooLarge, match="lower max_uses"):
        pomdp_of(state)
