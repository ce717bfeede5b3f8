"""V_stop and the decision that attains it, against enumeration of all correction sets."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.decision import Continue, Escalate, Restart, RollBack, best_terminal
from aquamend.decision import terminal_table as compiled
from aquamend.decision.terminal import correction_alternatives, stop_after_correcting
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Discrete, Hypothesis, JointModel
from aquamend.problem import Plan, Problem


def named(decision):
    """Return a decision as the enumeration names it."""
    match decision:
        case RollBack():
            return decision.correct
        case Continue():
            return ()
        case Restart():
            return "restart"
        case Escalate():
            return "escalate"


@settings(max_examples=300, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_the_best_stop_is_the_first_least_of_all_correction_sets_restart_and_escalation(
    random_problem, enumerated_stop, rng
):
    """Dyadic numbers make ties exact, so the decision itself is determined: fewest beliefs, then graph order."""
    state = InformationState.start(random_problem(rng, exact=True))
    loss, decision = enumerated_stop(state)
    stop = best_terminal(state)
    assert stop.loss == loss
    assert named(stop.decision) == decision
    if isinstance(stop.decision, RollBack):
        assert stop.decision.undo == state.problem.graph.closure(stop.decision.correct)


def test_the_best_stop_is_the_enumerated_one_on_many_ragged_problems(random_problem, enumerated_stop):
    for seed in range(400):
        state = InformationState.alarmed(random_problem(random.Random(seed), beliefs=6))
        loss, decision = enumerated_stop(state)
        assert best_terminal(state).loss == pytest.approx(loss, rel=1e-12, abs=1e-9), seed
        assert named(best_terminal(state).decision) == decision, seed


def test_cutting_decides_as_listing_does(random_problem, monkeypatch):
    """The same problems twice: closures listed, and solved by minimum cut."""
    cut = 0
    for seed in range(300):
        states = []
        for most in (4096, 0):
            with monkeypatch.context() as patch:
                patch.setattr(compiled, "MOST_CLOSURES", most)
                problem = random_problem(random.Random(seed), exact=seed % 2 == 0, beliefs=6)
                compiled.terminal_table(problem)
                compiled.worst_case_table(problem)
            states.append(InformationState.alarmed(problem))
        listed, solved = states
        assert not compiled.terminal_table(listed.problem).cuts
        cut += bool(compiled.terminal_table(solved.problem).cuts)
        assert best_terminal(solved).loss == pytest.approx(best_terminal(listed).loss, rel=1e-12, abs=1e-9), seed
        assert best_terminal(solved).decision == best_terminal(listed).decision, seed
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(listed.posterior)), size=5)
        np.testing.assert_allclose(
            compiled.terminal_table(solved.problem).values(weights @ compiled.terminal_table(solved.problem).features),
            compiled.terminal_table(listed.problem).values(weights @ compiled.terminal_table(listed.problem).features),
            rtol=1e-9,
        )
    assert cut > 90


@settings(max_examples=150, deadline=None)
@given(rng=st.randoms(use_true_random=False), t=st.floats(0, 1))
def test_the_value_of_stopping_is_concave_in_the_posterior(random_problem, rng, t):
    table = compiled.terminal_table(random_problem(rng))
    n = len(table.features)
    p, q = (np.array([rng.choice([0.0, rng.random()]) for _ in range(n)]) + 1e-3 for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    mixed, at_p, at_q = table.values(np.array([t * p + (1 - t) * q, p, q]) @ table.features)
    if math.isfinite(mixed):
        assert mixed >= t * at_p + (1 - t) * at_q - 1e-9


@settings(max_examples=50, deadline=None)
@given(rng=st.randoms(use_true_random=False), mass=st.floats(1e-6, 1e3))
def test_the_value_of_an_unnormalised_branch_is_its_weight_times_its_value(random_problem, rng, mass):
    problem = random_problem(rng)
    table, state = compiled.terminal_table(problem), InformationState.alarmed(problem)
    (value,) = table.values((mass * state.posterior @ table.features)[None, :])
    assert value == pytest.approx(mass * best_terminal(state).loss, rel=1e-9, abs=1e-9 * mass)


def test_many_branches_are_priced_as_one_by_one(random_problem):
    table = compiled.terminal_table(random_problem(random.Random(5)))
    weights = np.random.default_rng(0).dirichlet(np.ones(len(table.features)), size=2 * compiled.ROWS_AT_ONCE + 7)
    sums = weights @ table.features
    np.testing.assert_array_equal(table.values(sums)[::500], [table.values(row[None, :])[0] for row in sums[::500]])


# By hand.


@pytest.mark.parametrize(
    ("q", "undo", "correct"),
    [(0.4, 3.0, True), (0.3, 3.0, False), (0.29, 3.0, False), (0.31, 3.0, True), (1e-3, 0.0, True), (0.0, 0.0, False)],
)
def test_a_belief_is_corrected_where_that_costs_less_than_its_expected_residual_and_a_tie_keeps_it(
    lid, q, undo, correct
):
    stop = best_terminal(lid(q=q, undo=undo))
    assert stop.decision == (RollBack(("lid",), ("lift",)) if correct else Continue())
    assert stop.loss == pytest.approx(min(undo, 10 * q))
    assert (stop.recovery, stop.residual) == ((undo, 0.0) if correct else (0.0, pytest.approx(10 * q)))


def test_a_tie_within_a_billionth_keeps_and_beyond_it_corrects(lid):
    assert best_terminal(lid(q=0.5, undo=5.0 - 5e-10)).decision == Continue()
    assert best_terminal(lid(q=0.5, undo=5.0 - 5e-9)).decision == RollBack(("lid",), ("lift",))


def test_a_correction_wins_a_tie_with_restart_and_restart_one_with_escalation(lid):
    assert best_terminal(lid(undo=3.0, restart=3.0, escalate=3.0)).decision == RollBack(("lid",), ("lift",))
    assert best_terminal(lid(undo=3.5, restart=3.0, escalate=3.0)).decision == Restart()
    assert best_terminal(lid(undo=3.5, escalate=3.0)).decision == Escalate()


def test_a_belief_that_may_not_be_kept_is_corrected_at_any_finite_price(lid):
    assert best_terminal(lid(q=1e-6, may_keep=False, undo=500.0)).loss == 500.0
    assert best_terminal(lid(q=1e-6, may_keep=False, undo=500.0, residual=0.0)).loss == 500.0
    assert best_terminal(lid(q=0.0, may_keep=False, undo=500.0)).decision == Continue()


def test_an_infinite_residual_reads_as_may_not_keep(lid):
    assert best_terminal(lid(q=1e-6, residual=math.inf)).loss == 3.0
    assert best_terminal(lid(q=0.0, residual=math.inf)).loss == 0.0


def test_where_nothing_is_finite_the_decision_is_to_escalate_at_infinite_loss(lid):
    stop = best_terminal(lid(may_keep=False, reversible=False, restart=5.0))
    assert (stop.decision, stop.loss) == (Escalate(), math.inf)


def test_an_irreversible_action_leaves_keeping_or_escalating(lid):
    assert best_terminal(lid(reversible=False)).decision == Continue()
    assert best_terminal(lid(reversible=False, restart=1.0)).decision == Continue()
    assert best_terminal(lid(reversible=False, escalate=3.9)).decision == Escalate()


def pair(*, share, q=(0.4, 0.4)):
    """Return two beliefs of exclusive failures whose undoings share one operation of cost ``share``."""
    graph = RecoveryGraph(
        [Belief("x", 5.0), Belief("y", 5.0)],
        [Action(name, operations=("arm",), executed=True) for name in ("ax", "ay")],
        (),
        [("x", "ax", "belief_to_action"), ("y", "ay", "belief_to_action")],
        [Operation("arm", share)],
    )
    hypotheses = [Hypothesis("hx", q[0], ("x",)), Hypothesis("hy", q[1], ("y",)), Hypothesis("ok", 1 - sum(q))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses)))


def test_two_beliefs_pay_together_for_an_operation_that_neither_is_worth_alone():
    stop = best_terminal(pair(share=3.0))
    assert stop.decision == RollBack(("x", "y"), ("ax", "ay"))
    assert stop.loss == 3.0


def test_a_belief_without_risk_is_left_out_of_a_closure_it_is_covered_by():
    stop = best_terminal(pair(share=1.0, q=(0.5, 0.0)))
    assert stop.decision == RollBack(("x",), ("ax",))


def test_a_shared_closure_worth_exactly_its_cost_is_left_alone():
    assert best_terminal(pair(share=4.0)).decision == Continue()
    assert best_terminal(pair(share=3.99)).decision == RollBack(("x", "y"), ("ax", "ay"))


def test_equal_plans_resolve_to_the_first_given(lid):
    plans = [Plan("left", np.full(2, 1.0)), Plan("right", np.full(2, 1.0))]
    assert best_terminal(lid(plans=plans)).decision.plan == "left"
    assert best_terminal(lid(plans=plans[::-1])).decision.plan == "right"


def test_a_plan_of_the_world_competes_and_a_correction_wins_the_tie(lid):
    cheaper = lid(plans=[Plan("swap cups", np.array([1.0, 2.0]), ("lid",), ("lift",))])
    stop = best_terminal(cheaper)
    assert stop.decision == RollBack(("lid",), ("lift",), plan="swap cups")
    assert stop.loss == pytest.approx(0.6 * 1 + 0.4 * 2)
    assert best_terminal(lid(plans=[Plan("same", np.full(2, 3.0))])).decision.plan is None


def test_a_plan_is_inadmissible_while_a_hypothesis_that_forbids_it_is_possible(lid):
    plan = Plan("drive on", np.array([0.0, math.inf]))
    assert best_terminal(lid(plans=[plan], q=1e-9, residual=math.inf)).loss == 3.0
    assert best_terminal(lid(plans=[plan], q=0.0, corrections=False)).decision.plan == "drive on"


def test_without_corrections_the_plans_are_all_there_is(lid):
    stop = best_terminal(lid(plans=[Plan("slow", np.full(2, 50.0))], corrections=False))
    assert (stop.decision.plan, stop.loss) == ("slow", 50.0)
    assert best_terminal(lid(corrections=False)).decision == Escalate()
    assert best_terminal(lid(corrections=False, restart=7.0)).decision == Restart()


def test_a_contradicted_model_takes_every_belief_to_have_failed():
    """x would cost 5 to keep and 2 to correct; y, which no hypothesis fails, 4 to keep and 6 to correct."""
    graph = RecoveryGraph(
        [Belief("x", 5.0), Belief("y", 4.0)],
        [Action("ax", undo=2.0, executed=True), Action("ay", undo=6.0, executed=True)],
        [Probe("p", 0.1)],
        [("x", "ax", "belief_to_action"), ("y", "ay", "belief_to_action")],
    )
    kernel = Discrete(["usual", "never"], {"ok": [1, 0], "hx": [1, 0]})
    model = JointModel([Hypothesis("ok", 0.9), Hypothesis("hx", 0.1, ("x",))], {"p": kernel})
    state = InformationState.alarmed(Problem(graph, model, escalate=6.5))
    assert best_terminal(state).decision == Continue()
    stop = best_terminal(state.after(Observation("p", "never")))
    assert stop.decision == RollBack(("x",), ("ax",))
    assert (stop.recovery, stop.residual) == (2.0, 4.0)


def test_a_contradicted_model_judges_a_plan_by_its_worst_hypothesis(lid):
    kernel = Discrete(["usual", "never"], {"on": [1, 0], "off": [1, 0]})

    def stop(*losses):
        state = lid({"p": kernel}, plans=[Plan("plan", np.array(losses))])
        return best_terminal(state.after(Observation("p", "never")))

    assert stop(0.0, 2.9).loss == 2.9
    assert stop(0.0, 3.1).decision == RollBack(("lid",), ("lift",))
    assert stop(0.0, math.inf).decision == RollBack(("lid",), ("lift",))


def test_correcting_a_set_prices_that_set_and_no_other(lid):
    assert stop_after_correcting(lid(), set()).loss == pytest.approx(4.0)
    assert stop_after_correcting(lid(), {"lid"}).loss == 3.0
    assert stop_after_correcting(lid(reversible=False), {"lid"}).loss == math.inf
    assert stop_after_correcting(lid(may_keep=False), set()).loss == math.inf
    assert stop_after_correcting(lid(may_keep=False, q=0.0), set()).loss == 0.0


@settings(max_examples=60, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_the_alternatives_shown_begin_with_the_best_correction_and_never_beat_it(random_problem, rng):
    state = InformationState.start(random_problem(rng, exact=True))
    shown = correction_alternatives(state)
    assert shown == sorted(shown, key=lambda stop: stop.loss)
    best = best_terminal(state)
    assert all(stop.loss >= best.loss for stop in shown)
    if isinstance(best.decision, RollBack | Continue):
        assert shown[0] == best
