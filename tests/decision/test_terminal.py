"""V_stop and the decision that attains it, against enumeration of all correction sets."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken
from aquamend.decision import (
    Continue,
    Escalate,
    NewDeclaration,
    Restart,
    RollBack,
    best_terminal,
    correction,
    price,
)
from aquamend.decision.endings import endings_of
from aquamend.decision.terminal import (
    best_value,
    completed,
    correction_stops,
    decided_after,
    declarable,
    listed_endings,
    may_be_kept,
)
from aquamend.errors import UnknownName
from aquamend.planning.bounds import worst_loss
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Declaration, Discrete, Hypothesis, JointModel, Outcomes


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


@settings(max_examples=120, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
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
    assert correction(lid(), set()).loss == pytest.approx(4.0)
    assert correction(lid(), {"lid"}).loss == 3.0
    assert correction(lid(reversible=False), {"lid"}).loss == math.inf
    assert correction(lid(may_keep=False), set()).loss == math.inf
    assert correction(lid(may_keep=False, q=0.0), set()).loss == 0.0


@pytest.mark.parametrize("use", [price, completed])
def test_a_value_for_a_belief_that_is_none_is_reported(lid, use):
    with pytest.raises(UnknownName, match=r"unknown belief 'lip'; valid names: 'lid'; did you mean 'lid'\?"):
        use(lid(), RollBack(("lid",), declare=(NewDeclaration("lip", "on"),)))


def test_correcting_nothing_is_to_continue_and_correcting_undoes_the_closure(lid):
    assert correction(lid(), ()).decision == Continue()
    assert correction(lid(), ["lid"]).decision == RollBack(("lid",), ("lift",))
    with pytest.raises(UnknownName, match=r"belief 'lip'.*'lid'"):
        correction(lid(), ["lip"])


@settings(max_examples=60, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_the_alternatives_shown_begin_with_the_best_correction_and_never_beat_it(random_problem, rng):
    state = InformationState.start(random_problem(rng, exact=True))
    shown = correction_stops(state)
    assert shown == sorted(shown, key=lambda stop: stop.loss)
    best = best_terminal(state)
    assert all(stop.loss >= best.loss for stop in shown)
    if isinstance(best.decision, RollBack | Continue) and math.isfinite(best.loss):
        assert shown[0] == best


def test_the_alternatives_shown_are_admissible_and_begin_with_the_best_also_where_values_are_needed(walked):
    for seed in range(120):
        state = walked(seed)
        shown = correction_stops(state)
        best = best_terminal(state)
        assert all(math.isfinite(stop.loss) and stop.loss >= best.loss - 1e-9 for stop in shown), seed
        assert all(price(state, stop.decision) == stop for stop in shown), seed
        if isinstance(best.decision, RollBack | Continue):
            assert shown[0].loss == pytest.approx(best.loss), seed


# What a decision costs.

NOBODY = np.zeros(0, dtype=bool)


def everything_listed(state):
    endings = endings_of(state.problem)
    return listed_endings(endings, spoken(endings.support, state), most=10**6)


def test_best_price_and_list_agree_with_rules_of_support_too(walked):
    """Every ending is linear in the posterior, and admissible where its clauses hold, which is checked by hand.

    A decision is listed once with evidence and once where it cannot be wrong, and costs the less of the two.
    """
    unsupported = supported = 0
    for seed in range(400):
        state = walked(seed)
        endings, best = endings_of(state.problem), best_terminal(state)
        assert price(state, best.decision).loss == best.loss, seed
        possible = state.posterior > 0
        losses = {}
        for ending in listed_endings(endings, spoken(endings.support, state), most=10**6):
            holds = all((clause @ state.posterior < REJECT_AT).any() for clause in ending.support)
            loss = float(state.posterior[possible] @ ending.loss[possible]) if holds else math.inf
            losses[ending.decision] = min(loss, losses.get(ending.decision, math.inf))
            unsupported += not holds
            supported += holds and bool(ending.support)
        for decision, loss in losses.items():
            assert price(state, decision).loss == pytest.approx(loss), (seed, decision)
        assert best.loss == pytest.approx(min(losses.values(), default=math.inf)), seed
    assert min(unsupported, supported) > 100


def test_what_is_decided_after_an_answer_is_best_where_that_answer_leads(walked):
    compared = 0
    for seed in range(60):
        state = walked(seed)
        for view in state.legal:
            if isinstance(view.channel, Outcomes):
                for outcome, decided in zip(view.channel.outcomes, decided_after(state, view.name), strict=True):
                    after = state.after(Observation(view.name, outcome))
                    assert (decided is None) == (after.contradiction is not None), seed
                    if decided is not None:
                        assert decided[1].loss == pytest.approx(best_terminal(after).loss), seed
                        compared += 1
    assert compared > 100


def test_a_decision_of_least_loss_is_one_of_those_listed(walked):
    for seed in range(80):
        state = walked(seed)
        best = best_terminal(state)
        listed = everything_listed(state)
        if math.isfinite(best.loss):
            assert any(price(state, e.decision).loss == pytest.approx(best.loss) for e in listed), seed


def test_leaving_out_what_is_beaten_everywhere_loses_no_least_loss(walked):
    for seed in range(100):
        state = walked(seed)
        endings = endings_of(state.problem)
        possible = state.posterior > 0
        every, kept = (
            listed_endings(endings, spoken(endings.support, state), most=10**6, possible=given)
            for given in (None, possible)
        )
        least = [np.min([e.loss[possible] for e in listed], axis=0, initial=math.inf) for listed in (every, kept)]
        np.testing.assert_allclose(least[1], least[0], err_msg=str(seed))
        assert len(kept) <= len(every)


def test_no_ending_that_is_finite_costs_more_than_a_recovery_may_at_most(walked):
    for seed in range(200):
        problem = walked(seed).problem
        without_probing = replace(problem, sensing_budget=0.0)
        endings = endings_of(problem)
        everybody = np.ones(len(endings.support.probe), dtype=bool)
        for ending in listed_endings(endings, everybody, most=10**6):
            assert ending.loss[np.isfinite(ending.loss)].max(initial=0.0) <= worst_loss(without_probing) + 1e-9, seed


def test_too_many_correction_sets_are_not_listed(lid):
    state = lid(escalate=9.0)
    endings = endings_of(state.problem)
    assert listed_endings(endings, NOBODY, most=1) is None
    listed = listed_endings(endings, NOBODY, most=2)
    assert [e.decision for e in listed] == [Continue(), RollBack(("lid",), ("lift",)), Escalate()]
    assert [e.loss.tolist() for e in listed] == [[0.0, 10.0], [3.0, 3.0], [9.0, 9.0]]


def test_undoing_more_than_the_closure_is_paid_for():
    graph = RecoveryGraph(
        [Belief("x", 5.0)],
        [Action("ax", undo=2.0, executed=True), Action("other", undo=4.0, executed=True)],
        (),
        [("x", "ax", "belief_to_action")],
    )
    model = JointModel([Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, ("x",))])
    state = InformationState.start(Problem(graph, model))
    assert price(state, RollBack(("x",))).recovery == 2.0
    assert price(state, RollBack(("x",), ("ax", "other"))).recovery == 6.0
    assert price(state, RollBack((), ("other",))).loss == pytest.approx(4.0 + 2.5)


def test_an_ending_that_is_not_given_costs_everything(lid):
    assert price(lid(), Restart()).loss == math.inf
    assert price(lid(), Escalate()).loss == math.inf
    assert price(lid(restart=7.0), Restart()).loss == 7.0
    assert price(lid(escalate=8.0), Escalate()).loss == 8.0
    assert price(lid(restart=7.0, reversible=False), Restart()).loss == math.inf
    with pytest.raises(UnknownName, match="plan 'swap'"):
        price(lid(), RollBack((), plan="swap"))


def test_a_last_resort_counts_only_where_nothing_else_is_admissible(lid):
    stop_safely = Plan("stop safely", np.array([1.0, 2.0]), last_resort=True)
    assert best_terminal(lid(plans=[stop_safely])).decision == RollBack(("lid",), ("lift",))
    stuck = lid(plans=[stop_safely], may_keep=False, reversible=False)
    assert best_terminal(stuck).decision.plan == "stop safely"
    assert best_terminal(stuck).loss == pytest.approx(0.6 + 0.8)
    assert best_terminal(lid(plans=[stop_safely], may_keep=False, reversible=False, escalate=50.0)).loss == 50.0


def test_a_restart_with_losses_of_its_own_is_priced_by_hypothesis(lid):
    state = lid(restart=Plan("afresh", np.array([1.0, 4.0])))
    assert best_terminal(state).decision == Restart()
    assert best_terminal(state).loss == pytest.approx(0.6 + 1.6)


# A correction needs a value that is true somewhere, and a value may need evidence.

NAMES = ("same", "more", "most")
ANY = Discrete(["any"], {name: [1.0] for name in NAMES})


def cup(*, prior=(0.5, 0.3, 0.2), values=(None, 45.0, 60.0), kernel=ANY, uses=1, declarations=(), source=None, **level):
    """Return a cup declared to hold 18 g, which may hold 45 g or 60 g; undoing the pour costs 2 and an error 10.

    The scale may be broken, and is where the cup holds most.
    """
    graph = RecoveryGraph(
        [Belief("level", 10.0, declared=18.0, **level), Belief("scale", 0.0)],
        [Action("pour", undo=2.0, executed=True)],
        [Probe("weigh", 0.1, source=source, max_uses=uses), Probe("look", 0.1)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    hypotheses = [
        Hypothesis(name, p, ("scale",) if name == "most" else (), truth={} if value is None else {"level": value})
        for name, p, value in zip(NAMES, prior, values, strict=True)
    ]
    look = Discrete(["y", "n"], {"same": [0.9, 0.1], "more": [0.2, 0.8], "most": [0.0, 1.0]})
    model = JointModel(hypotheses, {"weigh": kernel, "look": look}, declarations=declarations)
    return InformationState.start(Problem(graph, model, escalate=50.0))


WEIGHED = Observation("weigh", "any")
BACKED = [Declaration("level of A", "level", support=("weigh",))]


def declaring(value):
    return RollBack(("level",), ("pour",), (NewDeclaration("level", value),))


def saying(same, more, most=None):
    """Return a scale that answers "this" so often under each hypothesis, and otherwise "that"."""
    shares = (same, more, more if most is None else most)
    return Discrete(["this", "that"], {name: [p, 1.0 - p] for name, p in zip(NAMES, shares, strict=True)})


THIS = Observation("weigh", "this")


def test_a_correction_costs_what_is_left_wrong_of_the_value_declared():
    """Keeping costs 10 · 0.8; declaring 45 g costs 2 + 10 · 0.5."""
    stop = best_terminal(cup(prior=(0.2, 0.5, 0.3)))
    assert stop.decision == declaring(45.0)
    assert (stop.recovery, stop.residual) == (2.0, pytest.approx(5.0))


def test_the_declared_value_is_never_declared_again():
    """It is right in half of all cases, and still correcting means declaring 45 g, which is so in three of ten."""
    for may_keep in (True, False):
        state = cup(may_keep=may_keep)
        assert correction(state, ["level"]).decision == declaring(45.0)
        assert correction(state, ["level"]).loss == pytest.approx(2.0 + 7.0)
        assert price(state, declaring(18.0)).loss == math.inf
        assert all(value.value != 18.0 for value, _ in declarable(state, 0))
    assert best_terminal(cup()).decision == Continue()


def test_where_only_the_declared_value_is_ever_true_there_is_nothing_to_declare():
    state = cup(values=(None, 18.0, 18.0), prior=(0.2, 0.4, 0.4))
    assert correction(state, ["level"]).loss == pytest.approx(2.0)  # and nothing is wrong to begin with
    lost = replace(state.problem.model, hypotheses=[Hypothesis("same", 0.4), Hypothesis("more", 0.6, ("level",)),
                                                    Hypothesis("most", 0.0)])  # fmt: skip
    assert correction(InformationState.start(replace(state.problem, model=lost)), ["level"]).loss == math.inf


def test_an_answer_that_tells_nothing_changes_neither_the_decision_nor_its_loss():
    for needs_support in (False, True):
        state = cup(needs_support=needs_support)
        assert best_terminal(state.after(WEIGHED)) == best_terminal(state)
        assert declarable(state.after(WEIGHED), 0) == declarable(state, 0)


def test_a_value_that_may_not_be_declared_costs_everything_and_without_one_the_best_is_declared():
    state = cup()
    for value in (18.0, 46.0, "45", "any"):
        assert price(state, declaring(value)).loss == math.inf
    assert price(state, RollBack(("level",))).loss == pytest.approx(2.0 + 7.0)
    assert price(state, declaring(60.0)).loss == pytest.approx(2.0 + 8.0)


@pytest.mark.parametrize(
    ("prior", "values", "best"),
    [
        ((0.2, 0.4, 0.4), (None, 45.0, 60.0), 45.0),
        ((0.2, 0.4, 0.4), (None, 60.0, 45.0), 60.0),
        ((0.2, 0.4 - 1e-12, 0.4 + 1e-12), (None, 45.0, 60.0), 60.0),
        ((0.0, 0.5, 0.5), (None, 45.0, 60.0), 45.0),
        ((0.4, 0.3, 0.3), (60.0, 45.0, 46.0), 45.0),  # 46 is within tolerance of 45, so each is right of both
        ((0.1, 0.1, 0.8), (47.0, 45.0, 46.0), 46.0),  # right of all three, and the others of two
        ((0.3, 0.3, 0.4), (47.0, 45.0, 60.0), 60.0),
    ],
)
def test_the_value_declared_is_the_least_probably_wrong_the_first_of_equals(prior, values, best):
    """Probabilities have no ties: a difference of 1e-12 decides, and only rounding does not."""
    state = cup(prior=prior, values=values, tolerance=1.5)
    wrong = {value.value: wrong for value, wrong in declarable(state, 0)}
    assert best_value(state, 0)[0].value == best
    assert wrong[best] == pytest.approx(min(wrong.values()), abs=1e-15)
    assert best_terminal(cup(prior=prior, values=values, tolerance=1.5, may_keep=False)).decision == declaring(best)


def test_a_belief_that_needs_support_is_neither_kept_nor_corrected_without_evidence():
    state = cup(needs_support=True, prior=(0.8, 0.1, 0.1), kernel=saying(0.9, 0.1))
    assert best_terminal(state).decision == Escalate()
    assert price(state, Continue()).loss == math.inf
    assert price(state, declaring(45.0)).loss == math.inf
    weighed = state.after(THIS)
    assert best_terminal(weighed).decision == Continue()
    assert price(weighed, Continue()).loss == pytest.approx(10 * 0.02 / 0.74)


@pytest.mark.parametrize(("where_wrong", "speaks"), [(0.25, True), (0.2, True), (0.2501, False), (0.5, False)])
def test_an_answer_speaks_for_a_value_if_it_is_twice_as_likely_where_that_is_right(where_wrong, speaks):
    state = cup(needs_support=True, prior=(0.9, 0.05, 0.05), kernel=saying(0.5, where_wrong)).after(THIS)
    assert math.isfinite(price(state, Continue()).loss) == speaks
    assert may_be_kept(state, 0) == speaks


def test_where_a_value_is_wrong_an_answer_is_as_likely_as_on_average_there_at_the_alarm():
    """Under "more" it is 0.1, under "most" 0.8; at 9 to 1 that is 0.17 on average, at 1 to 9 it is 0.73."""
    for more, most, speaks in ((0.09, 0.01, True), (0.01, 0.09, False)):
        state = cup(needs_support=True, prior=(0.9, more, most), kernel=saying(0.5, 0.1, 0.8))
        assert may_be_kept(state.after(THIS), 0) == speaks
        # Another probe rules "most" out: what the scale has said is judged by the alarm all the same.
        looked = state.after(Observation("look", "y")).after(THIS)
        assert looked.posterior[2] == 0.0
        assert may_be_kept(looked, 0) == speaks


def test_an_answer_speaks_for_one_value_and_is_no_evidence_for_another():
    """Heavy: 0.7 where 45 g is true against 0.15 where not; 60 g, with 0.3, is as likely as 45 g by then."""
    kernel = saying(0.1, 0.7, 0.3)
    state = cup(needs_support=True, prior=(0.6, 0.3, 0.1), kernel=kernel).after(THIS)
    assert [value.value for value, _ in declarable(state, 0)] == [45.0]
    assert best_terminal(state).decision == declaring(45.0)
    assert price(state, declaring(60.0)).loss == math.inf
    assert price(state, Continue()).loss == math.inf


def test_answers_of_one_probe_speak_together_and_those_of_two_each_for_itself():
    """One answer is 1.5 times as likely where 18 g is right, two of them 2.25 times."""
    state = cup(needs_support=True, prior=(0.8, 0.1, 0.1), kernel=saying(0.6, 0.4), uses=2)
    assert not may_be_kept(state.after(THIS), 0)
    assert may_be_kept(state.after(THIS).after(THIS), 0)
    assert not may_be_kept(state.after(THIS).after(Observation("weigh", "that")), 0)
    # What was seen through another probe is not in what this one says.
    assert not may_be_kept(state.after(Observation("look", "y")).after(THIS), 0)


def test_the_support_of_a_declaration_is_evidence_for_any_value_before_any_answer():
    kept = cup(needs_support=True, prior=(0.8, 0.1, 0.1), declarations=BACKED)
    assert best_terminal(kept).decision == Continue()
    other = cup(needs_support=True, prior=(0.1, 0.8, 0.1), declarations=BACKED)
    assert best_terminal(other).decision == declaring(45.0)
    assert best_terminal(other.after(WEIGHED)).decision == declaring(45.0)


def test_what_is_wrong_with_one_half_or_more_is_not_supported_by_any_evidence():
    """With 0.5, 0.3, 0.2 the old value is rejected; every other is wrong with more than one half."""
    state = cup(needs_support=True, declarations=BACKED)
    assert best_terminal(state).decision == Escalate()
    assert best_value(state, 0) is None
    for more, open_ in ((0.5, False), (0.5 + 0.5e-9, False), (0.5 + 2e-9, True)):
        state = cup(needs_support=True, declarations=BACKED, prior=(0.0, more, 1.0 - more))
        assert (best_terminal(state).decision == declaring(45.0)) == open_


def test_what_cannot_be_wrong_needs_no_evidence_and_what_hardly_can_does():
    assert best_terminal(cup(needs_support=True, prior=(1.0, 0.0, 0.0))).decision == Continue()
    assert best_terminal(cup(needs_support=True, prior=(0.0, 1.0, 0.0))).decision == declaring(45.0)
    for rare in (1e-6, 1e-15, 1e-300):
        assert best_terminal(cup(needs_support=True, prior=(1.0 - rare, rare, 0.0))).decision == Escalate()
        assert best_terminal(cup(needs_support=True, prior=(rare, 1.0 - rare, 0.0))).decision == Escalate()


@pytest.mark.parametrize(("broken", "usable"), [(0.3, True), (0.499, True), (0.5, False), (0.6, False)])
def test_evidence_whose_source_is_rejected_supports_nothing(broken, usable):
    """The scale is broken where the cup holds 60 g, which is not what is kept: 18 and 60 are within tolerance."""
    level = {"needs_support": True, "tolerance": 50.0, "values": (None, 100.0, 60.0)}
    prior = (0.9 - broken, 0.1, broken)
    state = cup(prior=prior, source="scale", declarations=BACKED, **level)
    assert may_be_kept(state, 0) == usable
    answered = cup(prior=prior, source="scale", kernel=saying(0.9, 0.1, 0.9), **level).after(THIS)
    assert may_be_kept(answered, 0) == (answered.failure_probabilities[1] < 0.5)


def test_a_belief_that_may_not_be_kept_is_corrected_by_another_value_at_its_residual_as_given():
    stop = best_terminal(cup(may_keep=False))
    assert stop.decision == declaring(45.0)
    assert stop.loss == pytest.approx(2.0 + 7.0)
    assert best_terminal(cup(may_keep=False, prior=(1.0, 0.0, 0.0))).decision == Continue()


def test_a_repair_needs_no_support(lid):
    state = lid(needs_support=True, escalate=50.0)
    assert best_terminal(state).decision == RollBack(("lid",), ("lift",))
    assert price(state, Continue()).loss == math.inf


def test_once_the_model_is_contradicted_every_value_is_taken_to_be_wrong():
    kernel = Discrete(["any", "never"], {name: [1, 0] for name in NAMES})
    never = Observation("weigh", "never")
    stop = best_terminal(cup(kernel=kernel).after(never))
    assert (stop.decision, stop.loss) == (Continue(), 10.0)
    stop = best_terminal(cup(kernel=kernel, may_keep=False).after(never))
    assert (stop.decision, stop.loss) == (declaring(45.0), 12.0)
    assert (
        best_terminal(cup(kernel=kernel, needs_support=True, declarations=BACKED).after(never)).decision == Escalate()
    )


# Against the reference.


def test_every_value_that_may_be_declared_is_one_that_the_reference_allows_and_the_best_is_the_best(referenced):
    compared = barred = 0
    for seed in range(cases(150, 400)):
        state, reference = referenced(seed)
        seen = tuple(sorted((o.probe, o.outcome) for o in state.evidence))
        for i, belief in enumerate(state.problem.graph.beliefs):
            if not belief.declares:
                continue
            allowed = [(said["value"], risk) for said, risk in reference.values(belief.name, seen)]
            ours = [(value.value, wrong) for value, wrong in declarable(state, i)]
            assert len(ours) == len(allowed), (seed, belief.name)
            for (value, wrong), (theirs, risk) in zip(ours, allowed, strict=True):
                assert value == (theirs if isinstance(theirs, str) else pytest.approx(theirs)), (seed, belief.name)
                assert wrong == pytest.approx(risk, abs=1e-12), (seed, belief.name)
            best = best_value(state, i)
            assert (best is None) == (not allowed), seed
            if best is not None:
                first = min(allowed, key=lambda pair: pair[1])
                assert best[1] == pytest.approx(first[1], abs=1e-12), seed
                compared += 1
            barred += len(allowed) < len(state.problem.new_values[i])
    assert compared > 100
    assert barred > 20
