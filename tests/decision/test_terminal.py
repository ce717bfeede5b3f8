"""V_stop and the decision that attains it, against enumeration of all correction sets."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from aquamend.decision.terminal import completed, correction_stops, listed_endings
from aquamend.errors import UnknownName
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.inference.state import REJECT_AT
from aquamend.model import Declaration, Discrete, Hypothesis, JointModel
from aquamend.modelling.left_out import worst_loss
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
def test_a_value_for_a_belief_that_is_none_is_told(lid, use):
    with pytest.raises(UnknownName, match=r"unknown belief 'lip'; valid names: 'lid'; did you mean 'lid'\?"):
        use(lid(), RollBack(("lid",), declare=(NewDeclaration("lip"),)))


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


def test_the_price_of_the_best_stop_is_its_loss_and_no_listed_ending_beats_it(walked):
    """Every ending is linear in the posterior, and admissible where its clauses hold, which is checked by hand."""
    unsupported = supported = 0
    for seed in range(400):
        state = walked(seed)
        endings, best = endings_of(state.problem), best_terminal(state)
        assert price(state, best.decision).loss == best.loss, seed
        possible = state.posterior > 0
        losses = [math.inf]
        for ending in listed_endings(endings, state.answered, most=10**6):
            holds = all((clause @ state.posterior < REJECT_AT).any() for clause in ending.support)
            loss = float(state.posterior[possible] @ ending.loss[possible]) if holds else math.inf
            assert price(state, ending.decision).loss == pytest.approx(loss), (seed, ending.decision)
            losses.append(loss)
            unsupported += not holds
            supported += holds and bool(ending.support)
        assert best.loss == pytest.approx(min(losses)), seed
    assert min(unsupported, supported) > 100


def test_a_decision_of_least_loss_is_one_of_those_listed(walked):
    for seed in range(80):
        state = walked(seed)
        best = best_terminal(state)
        listed = listed_endings(endings_of(state.problem), state.answered, most=10**6)
        if math.isfinite(best.loss):
            assert any(price(state, e.decision).loss == pytest.approx(best.loss) for e in listed), seed


def test_leaving_out_what_is_beaten_everywhere_loses_no_least_loss(walked):
    for seed in range(100):
        state = walked(seed)
        endings = endings_of(state.problem)
        possible = state.posterior > 0
        every, kept = (
            listed_endings(endings, state.answered, most=10**6, possible=given) for given in (None, possible)
        )
        least = [np.min([e.loss[possible] for e in listed], axis=0, initial=math.inf) for listed in (every, kept)]
        np.testing.assert_allclose(least[1], least[0], err_msg=str(seed))
        assert len(kept) <= len(every)


def test_no_ending_that_is_finite_costs_more_than_a_recovery_may_at_most(walked):
    for seed in range(200):
        problem = walked(seed).problem
        without_probing = replace(problem, sensing_budget=0.0)
        everybody = np.ones(len(problem.graph.probes), dtype=bool)
        for ending in listed_endings(endings_of(problem), everybody, most=10**6):
            assert ending.loss[np.isfinite(ending.loss)].max(initial=0.0) <= worst_loss(without_probing) + 1e-9, seed


def test_too_many_correction_sets_are_not_listed(lid):
    state = lid(escalate=9.0)
    endings = endings_of(state.problem)
    assert listed_endings(endings, state.answered, most=1) is None
    listed = listed_endings(endings, state.answered, most=2)
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


# A correction needs a value, and a value needs evidence.


def cup(*, prior=(0.5, 0.3, 0.2), accuracy=0.9, declarations=(), source=None, **level):
    """Return a cup declared to hold 18 g, which may hold 45 g or 60 g; undoing the pour costs 2 and an error 10."""
    graph = RecoveryGraph(
        [Belief("level", 10.0, correction="supported", declared=18.0, **level), Belief("scale", 0.0)],
        [Action("pour", undo=2.0, executed=True)],
        [Probe("weigh", 0.1, accuracy=accuracy, source=source)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    hypotheses = [
        Hypothesis(name, p, truth={} if value is None else {"level": value})
        for name, p, value in zip(("same", "more", "most"), prior, (None, 45.0, 60.0), strict=True)
    ]
    kernel = Discrete(["any"], {name: [1.0] for name in ("same", "more", "most")})
    model = JointModel(hypotheses, {"weigh": kernel}, declarations=declarations)
    return InformationState.start(Problem(graph, model, escalate=50.0))


WEIGHED = Observation("weigh", "any")


def test_a_correction_costs_what_is_left_wrong_of_the_value_declared():
    """Keeping costs 10 · 0.8; declaring 45 g costs 2 + 10 · 0.5."""
    stop = best_terminal(cup(prior=(0.2, 0.5, 0.3)))
    assert stop.decision == RollBack(("level",), ("pour",), (NewDeclaration("level", 45.0),))
    assert (stop.recovery, stop.residual) == (2.0, pytest.approx(5.0))


def test_a_correction_that_would_declare_the_old_value_again_is_not_worth_its_undoing():
    assert best_terminal(cup()).decision == Continue()
    assert correction(cup(), ["level"]).loss == pytest.approx(2.0 + 5.0)


def test_what_a_probe_read_may_be_declared_once_it_has_answered():
    assert best_terminal(cup()).loss == pytest.approx(5.0)
    stop = best_terminal(cup().after(WEIGHED))
    assert stop.decision == RollBack(("level",), ("pour",), (NewDeclaration("level", read_by="weigh"),))
    assert stop.loss == pytest.approx(2.0 + 1.0)


def test_a_value_that_may_not_be_declared_costs_everything_and_without_one_the_best_is_declared():
    state = cup()
    for new in (NewDeclaration("level", read_by="weigh"), NewDeclaration("level", 46.0), NewDeclaration("level", "45")):
        assert price(state, RollBack(("level",), (), (new,))).loss == math.inf
    assert price(state, RollBack(("level",))).loss == pytest.approx(2.0 + 5.0)
    assert price(state, RollBack(("level",), (), (NewDeclaration("level", 60.0),))).loss == pytest.approx(2.0 + 8.0)


def test_a_belief_that_needs_support_is_neither_kept_nor_corrected_without_evidence():
    state = cup(needs_support=True, prior=(0.8, 0.1, 0.1))
    assert best_terminal(state).decision == Escalate()
    assert price(state, Continue()).loss == math.inf
    weighed = state.after(WEIGHED)
    assert best_terminal(weighed).decision == Continue()
    assert price(weighed, Continue()).loss == pytest.approx(2.0)


def test_the_support_of_a_declaration_is_evidence_before_any_answer():
    declared = [Declaration("level of A", "level", support=("weigh",))]
    assert best_terminal(cup(needs_support=True, prior=(0.8, 0.1, 0.1), declarations=declared)).decision == Continue()


def test_a_value_is_supported_only_while_probably_right():
    """With 0.5, 0.3, 0.2 the old value is rejected; every other is wrong with more than one half."""
    declared = [Declaration("level of A", "level", support=("weigh",))]
    assert best_terminal(cup(needs_support=True, declarations=declared)).decision == Escalate()
    read = cup(needs_support=True, declarations=declared).after(WEIGHED)
    assert best_terminal(read).decision.declare == (NewDeclaration("level", read_by="weigh"),)
    rough = cup(needs_support=True, declarations=declared, accuracy=0.5).after(WEIGHED)
    assert best_terminal(rough).decision == Escalate()


def test_a_belief_that_may_not_be_kept_is_corrected_by_another_value_or_not_at_all():
    stop = best_terminal(cup(may_keep=False))
    assert stop.decision == RollBack(("level",), ("pour",), (NewDeclaration("level", 45.0),))
    assert stop.loss == pytest.approx(2.0 + 7.0)
    assert price(cup(may_keep=False), RollBack(("level",), (), (NewDeclaration("level", 18.0),))).loss == math.inf


def test_an_assured_correction_needs_no_support(lid):
    state = lid(needs_support=True, escalate=50.0)
    assert best_terminal(state).decision == RollBack(("lid",), ("lift",))
    assert price(state, Continue()).loss == math.inf


def test_once_the_model_is_contradicted_a_reading_is_as_wrong_as_it_can_be():
    """The scale trusts no source and is right in at least 9 of 10; all else is taken to be wrong."""
    graph = RecoveryGraph(
        [Belief("level", 10.0, correction="supported", declared=18.0)],
        [Action("pour", undo=2.0, executed=True)],
        [Probe("weigh", 0.1, accuracy={"default": 1.0, "more": 0.9}, max_uses=2)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    kernel = Discrete(["any", "never"], {"same": [1, 0], "more": [1, 0]})
    model = JointModel([Hypothesis("same", 0.9), Hypothesis("more", 0.1, truth={"level": 45.0})], {"weigh": kernel})
    state = InformationState.start(Problem(graph, model)).after(Observation("weigh", "never"))
    assert state.contradiction is not None
    stop = best_terminal(state)
    assert stop.decision == RollBack(("level",), ("pour",), (NewDeclaration("level", read_by="weigh"),))
    assert stop.loss == pytest.approx(2.0 + 1.0)
