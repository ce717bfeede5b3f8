"""The policies AquaMend is compared with, on problems that show what each of them ignores."""

import math

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.policies import (
    AlwaysRestart,
    Decoupled,
    Greedy,
    GreedyRepair,
    NoReprobe,
    PowerPerCost,
    RollbackOnly,
    SingleFaultTroubleshooting,
    Troubleshooting,
    VeriTrace,
    evaluate,
    policy_named,
)
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Declaration, Discrete, Hypothesis, JointModel
from aquamend_lab.benchmarks.play import Oracle

FAILED = {"neither": (), "x": ("x",), "y": ("y",)}


def tells(belief, sharpness):
    rows = {h: [1 - sharpness, sharpness] if belief in f else [sharpness, 1 - sharpness] for h, f in FAILED.items()}
    return Discrete(["good", "bad"], rows)


def state(
    *, prior=(0.4, 0.3, 0.3), arm=4.0, cost=(0.5, 0.5), sharp=(1.0, 1.0), suspects=("x", "y"), reversible=True, **rest
):
    """Return two exclusive failures (residual 10) whose undoings share the one operation ``arm``."""
    graph = RecoveryGraph(
        [Belief("x", 10.0), Belief("y", 10.0), Belief("idle", 10.0)],
        [Action(f"a{n}", operations=("arm",), executed=True, reversible=reversible) for n in "xy"],
        [Probe(f"p{n}", c) for n, c in zip("xy", cost, strict=True)],
        [e for n in "xy" for e in ((f"p{n}", n, "detection"), (n, f"a{n}", "belief_to_action"))],
        [Operation("arm", arm)],
    )
    hypotheses = [Hypothesis(h, p, f) for (h, f), p in zip(FAILED.items(), prior, strict=True)]
    kernels = {f"p{n}": tells(n, s) for n, s in zip("xy", sharp, strict=True)}
    model = JointModel(hypotheses, kernels, Alarm(dict.fromkeys(FAILED, 1.0), suspects))
    return InformationState.alarmed(Problem(graph, model, **rest))


BOTH = RollBack(("x", "y"), ("ax", "ay"))
NOT_PLANNERS = [
    Decoupled(), Greedy(), PowerPerCost(), Troubleshooting(), SingleFaultTroubleshooting(), GreedyRepair(),
    NoReprobe(), RollbackOnly(), VeriTrace(), AlwaysRestart(),
]  # fmt: skip

REPAIRERS = [Troubleshooting(), SingleFaultTroubleshooting(), GreedyRepair()]


def test_rollback_only_undoes_all_that_is_suspected_at_any_price():
    assert RollbackOnly().next_step(state(arm=500.0)) == BOTH
    assert RollbackOnly().next_step(state(prior=(1, 0, 0), suspects=())) == Continue()
    flagged = RollbackOnly().next_step(state(prior=(1, 0, 0), suspects=("x", "idle")))
    assert flagged == RollBack(("x", "idle"), ("ax",))
    assert RollbackOnly().next_step(state(reversible=False)) == Escalate()


def test_veritrace_undoes_and_repairs_what_the_alarm_names_and_nothing_else():
    assert VeriTrace().next_step(state(arm=500.0)) == BOTH
    assert VeriTrace().next_step(state(suspects=("x",))) == RollBack(("x",), ("ax",))
    assert VeriTrace().next_step(state(suspects=())) == BOTH, (
        "an alarm that names none suspects all that may have failed"
    )
    assert VeriTrace().next_step(state(reversible=False)) == Continue()


def test_veritrace_never_declares_another_value_since_it_has_measured_none():
    step = VeriTrace().next_step(valued(p=0.9))
    assert (step.correct, step.declare, step.undo) == ((), (), ("ax",))


def test_restarting_is_all_that_restart_does_and_it_escalates_where_it_cannot():
    assert AlwaysRestart().next_step(state(restart=99.0)) == Restart()
    assert AlwaysRestart().next_step(state()) == Escalate()
    assert AlwaysRestart().next_step(state(restart=99.0, reversible=False)) == Escalate()


def test_no_reprobe_stops_however_cheap_looking_is():
    assert NoReprobe().next_step(state(cost=(0.0, 0.0))) == BOTH


def test_decoupled_pays_the_shared_operation_for_every_belief_and_so_corrects_nothing():
    """Each alone: keep 3 against roll back 4; together they would save 6 for 4."""
    dear = state(cost=(3.0, 3.0))
    assert Decoupled().next_step(dear) == Continue()
    assert NoReprobe().next_step(dear) == BOTH


def test_decoupled_takes_its_cheapest_probe_to_resolve_however_blind():
    """Probe 0.5 + 0.3·4 against keep 3: it looks although the answer tells nothing."""
    assert Decoupled().next_step(state(sharp=(0.5, 0.5))) == Reprobe("px")
    assert Decoupled().next_step(state(cost=(1.9, 1.9))) == Continue()


def test_decoupled_asks_the_cheapest_probe_of_a_belief():
    sharp = Discrete(["good", "bad"], {"ok": [1, 0], "x": [0, 1]})
    graph = RecoveryGraph(
        [Belief("x", 10.0)],
        [Action("ax", undo=4.0, executed=True)],
        [Probe("dear", 0.6), Probe("cheap", 0.5)],
        [("dear", "x", "detection"), ("cheap", "x", "detection"), ("x", "ax", "belief_to_action")],
    )
    model = JointModel([Hypothesis("ok", 0.5), Hypothesis("x", 0.5, ("x",))], {"dear": sharp, "cheap": sharp})
    assert Decoupled().next_step(InformationState.alarmed(Problem(graph, model))) == Reprobe("cheap")


def test_greedy_looks_for_bits_per_cost_and_never_asks_what_they_are_worth():
    assert Greedy().next_step(state(cost=(50.0, 50.0))) == Reprobe("px")
    assert Greedy().next_step(state(cost=(50.0, 40.0))) == Reprobe("py")
    assert Greedy().next_step(state(cost=(50.0, 40.0), sharp=(1.0, 0.6))) == Reprobe("px")
    assert Greedy().next_step(state(sharp=(0.5, 0.5))) == BOTH


def test_greedy_stops_once_nothing_is_left_to_learn():
    known = state().after(Observation("px", "bad"))
    assert Greedy().next_step(known) == RollBack(("x",), ("ax",))


def test_greedy_stops_once_every_suspect_is_rejected_on_evidence_or_all_but_cleared():
    """After a bad answer x has failed with probability 0.54 / 0.58 and y with 0.02 / 0.58, which is below 0.05."""
    looked = state(prior=(0.2, 0.6, 0.2), sharp=(0.9, 0.9)).after(Observation("px", "bad"))
    assert Greedy().next_step(looked) == RollBack(("x", "y"), ("ax", "ay"))
    undecided = state(prior=(0.2, 0.4, 0.4), sharp=(0.9, 0.9)).after(Observation("px", "bad"))  # y: 0.04 / 0.42
    assert Greedy().next_step(undecided) == Reprobe("py")


@pytest.mark.parametrize("policy", [Greedy(), PowerPerCost()])
def test_what_is_at_most_one_in_twenty_is_not_looked_into(policy):
    assert policy.next_step(state(prior=(0.9, 0.05, 0.05), cost=(0.0, 0.0))) == Continue()
    assert policy.next_step(state(prior=(0.89, 0.06, 0.05))) == Reprobe("px")


def test_a_free_informative_probe_comes_first_for_greedy():
    assert Greedy().next_step(state(cost=(0.1, 0.0), sharp=(1.0, 0.6))) == Reprobe("py")


@pytest.mark.parametrize("policy", [Greedy(), PowerPerCost(), GreedyRepair(), Decoupled()])
def test_costs_too_small_to_divide_by_are_no_trouble(policy):
    assert policy.next_step(state(cost=(0.1, 1e-300))) == Reprobe("py" if policy != Decoupled() else "px")
    tiny = policy.next_step(state(cost=(1e-308, 1e-308), arm=1e-300))
    assert isinstance(tiny, Reprobe | RollBack)


def test_power_per_cost_looks_wherever_a_suspected_declaration_can_be_rejected_cheaply():
    """A bad answer of a probe that is right in 60 % leaves q at 0.18 / 0.46, below one half: no power."""
    assert PowerPerCost().next_step(state()) == Reprobe("px")
    assert PowerPerCost().next_step(state(cost=(50.0, 40.0))) == Reprobe("py")
    assert PowerPerCost().next_step(state(cost=(0.9, 0.8), sharp=(1.0, 0.75))) == Reprobe("px")  # 1 / 0.9 to 0.75 / 0.8
    assert PowerPerCost().next_step(state(sharp=(0.6, 0.6))) == BOTH


def test_power_per_cost_goes_on_until_all_are_decided():
    assert PowerPerCost().next_step(state().after(Observation("px", "good"))) == Reprobe("py")
    assert PowerPerCost().next_step(state().after(Observation("px", "bad"))) == RollBack(("x",), ("ax",))


def test_a_rejection_counts_only_with_evidence_since_the_alarm():
    """The alarm alone makes x fail with 0.6: it is looked at once, however little that tells."""
    rejected = state(prior=(0.2, 0.6, 0.2), sharp=(0.5, 0.5))
    assert PowerPerCost().next_step(rejected) == Reprobe("px")
    assert evaluate(PowerPerCost(), rejected).expected_probes == 1.0


def test_greedy_repair_builds_its_plan_belief_by_belief_and_misses_what_pays_only_together():
    """The joint optimum corrects both for 4; neither is worth 4 alone, so greedy repair begins with none."""
    assert GreedyRepair().next_step(state(cost=(9.0, 9.0))) == Continue()


def test_greedy_repair_corrects_a_belief_for_nothing_once_its_operation_is_paid():
    assert GreedyRepair().next_step(state(prior=(0.2, 0.6, 0.2), cost=(9.0, 9.0))) == BOTH


def test_greedy_repair_looks_where_one_observation_pays_for_itself():
    assert GreedyRepair().next_step(state(prior=(0.5, 0.5, 0.0))) == Reprobe("px")
    assert GreedyRepair().next_step(state(prior=(0.5, 0.5, 0.0), cost=(2.5, 2.5))) == RollBack(("x",), ("ax",))


@pytest.mark.parametrize("policy", REPAIRERS)
def test_service_is_called_where_that_is_cheaper(policy):
    assert policy.next_step(state(cost=(9.0, 9.0), restart=3.5)) == Restart()
    assert policy.next_step(state(cost=(9.0, 9.0), escalate=3.5)) == Escalate()


@pytest.mark.parametrize("policy", NOT_PLANNERS)
def test_where_nothing_is_feasible_everybody_escalates(policy):
    graph = RecoveryGraph(
        [Belief("x", math.inf)],
        [Action("pour", executed=True, reversible=False)],
        (),
        [("x", "pour", "belief_to_action")],
    )
    model = JointModel([Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, ("x",))])
    assert policy.next_step(InformationState.alarmed(Problem(graph, model))) == Escalate()


ENDING_BY_PLANS = [
    "aquamend", "aquamend-two-step", "troubleshooting", "troubleshooting-1", "troubleshooting-single-fault",
    "greedy-repair", "decoupled", "greedy", "power-per-cost", "rollback-only", "veritrace", "no-reprobe",
]  # fmt: skip


def only_plans(policy):
    """A problem whose graph offers no correction: a world's own two plans are all there is."""
    problem = Problem(
        RecoveryGraph(
            [Belief("x", 10.0)], [Action("ax", undo=1.0, executed=True)], [], [("x", "ax", "belief_to_action")]
        ),
        JointModel([Hypothesis("fine", 0.5), Hypothesis("bad", 0.5, ("x",))]),
        plans=[Plan("wash", np.array([0.5, 0.5]), ("x",), ("ax",)), Plan("wait", np.array([0.0, 9.0]))],
        corrections=False,
    )
    return policy.next_step(InformationState.alarmed(problem))


@pytest.mark.parametrize("name", ENDING_BY_PLANS)
def test_where_only_plans_end_a_recovery_every_policy_takes_one(name):
    assert only_plans(policy_named(name)) == RollBack(("x",), ("ax",), plan="wash")


def test_the_oracle_takes_the_plan_that_is_best_for_what_failed():
    assert only_plans(Oracle(("x",))) == RollBack(("x",), ("ax",), plan="wash")
    assert only_plans(Oracle(())) == RollBack((), (), plan="wait")


@pytest.mark.parametrize("policy", REPAIRERS)
def test_plans_are_weighed_beside_the_repairs(policy):
    state = InformationState.alarmed(
        Problem(
            RecoveryGraph(
                [Belief("x", 10.0)], [Action("ax", undo=3.0, executed=True)], [], [("x", "ax", "belief_to_action")]
            ),
            JointModel([Hypothesis("fine", 0.5), Hypothesis("bad", 0.5, ("x",))]),
            plans=[Plan("wash", np.array([0.5, 2.0]), ("x",))],
        )
    )
    assert policy.next_step(state) == RollBack(("x",), plan="wash")


def test_decoupled_ends_with_a_probe_that_never_resolves():
    """An aggregate that always answers "off" tells nothing new: running it once more would never end."""
    graph = RecoveryGraph(
        [Belief("x", 10.0), Belief("y", 10.0)],
        [Action("ax", undo=4.0, executed=True), Action("ay", undo=4.0, executed=True)],
        [Probe("both", 0.1, max_uses=math.inf)],
        [("both", "x", "aggregation"), ("both", "y", "aggregation"),
         ("x", "ax", "belief_to_action"), ("y", "ay", "belief_to_action")],
    )  # fmt: skip
    off = Discrete(["holds", "off"], {"x": [0, 1], "y": [0, 1]})
    model = JointModel([Hypothesis("x", 0.5, ("x",)), Hypothesis("y", 0.5, ("y",))], {"both": off})
    seen = evaluate(Decoupled(), InformationState.alarmed(Problem(graph, model)))
    assert seen.expected_probes == 1.0


# Where a correction declares another value.


def valued(*, p=0.4, undo=2.0, may_keep=True, **rest):
    """Return a belief declared A (residual 10) that is really B with probability p, and one exact probe of it."""
    graph = RecoveryGraph(
        [Belief("x", 10.0, may_keep, declared="A")],
        [Action("ax", undo=undo, executed=True)],
        [Probe("weigh", 1.0)],
        [("weigh", "x", "detection"), ("x", "ax", "belief_to_action")],
    )
    kernels = {"weigh": Discrete(["light", "heavy"], {"same": [1, 0], "more": [0, 1]})}
    model = JointModel([Hypothesis("same", 1 - p), Hypothesis("more", p, truth={"x": "B"})], kernels)
    return InformationState.alarmed(Problem(graph, model, **rest))


def test_rollback_only_declares_the_best_value_it_has_and_never_the_old_one():
    for p in (0.1, 0.6, 0.9):
        assert RollbackOnly().next_step(valued(p=p)) == RollBack(("x",), ("ax",), (NewDeclaration("x", "B"),))


def test_decoupled_pays_for_the_closure_and_for_what_the_new_value_leaves():
    """Roll back: 2 + 10 · 0.6 against keep 4; the probe, taken to settle it: 1 + 0.4 · 2."""
    assert Decoupled().next_step(valued()) == Reprobe("weigh")
    assert Decoupled().next_step(valued(sensing_budget=0.5)) == Continue()
    likely = valued(p=0.7, sensing_budget=0.5)  # keep 7 against 2 + 10 · 0.3
    assert Decoupled().next_step(likely) == RollBack(("x",), ("ax",), (NewDeclaration("x", "B"),))


def test_decoupled_declares_what_must_be_true():
    sure = RollBack(("x",), ("ax",), (NewDeclaration("x", "B"),))
    assert Decoupled().next_step(valued().after(Observation("weigh", "heavy"))) == sure
    assert Decoupled().next_step(valued().after(Observation("weigh", "light"))) == Continue()


def test_where_a_belief_lacks_support_decoupled_and_rollback_only_hand_over():
    belief = Belief("x", 10.0, declared="A", needs_support=True)
    graph = RecoveryGraph([belief], [Action("ax", undo=1.0, executed=True)], (), [("x", "ax", "belief_to_action")])
    model = JointModel([Hypothesis("same", 0.9), Hypothesis("more", 0.1, truth={"x": "B"})])
    stuck = InformationState.alarmed(Problem(graph, model, restart=5.0, escalate=30.0))
    assert [policy.next_step(stuck) for policy in (Decoupled(), RollbackOnly())] == [Escalate()] * 2
    assert [policy.next_step(stuck) for policy in REPAIRERS] == [Restart()] * 3


def test_a_last_resort_takes_the_place_of_a_person_who_is_not_there():
    stop = Plan("stop safely", np.array([40.0, 50.0]), last_resort=True)
    assert AlwaysRestart().next_step(valued(plans=[stop])) == RollBack((), (), plan="stop safely")
    assert AlwaysRestart().next_step(valued(plans=[stop], escalate=90.0)) == Escalate()


def test_a_restart_may_have_a_loss_for_each_hypothesis():
    plan = Plan("restart", np.array([5.0, np.inf]), ("x",), ("ax",))
    assert AlwaysRestart().next_step(valued(restart=plan, escalate=9.0)) == Escalate()
    light = valued(restart=plan, escalate=9.0).after(Observation("weigh", "light"))
    assert AlwaysRestart().next_step(light) == Restart()


@pytest.mark.parametrize("policy", REPAIRERS)
def test_a_repair_costs_what_its_new_value_leaves_too(policy):
    """Repair for 2 + 10 · 0.6 against leaving 4; after a sharp answer, 0.4 · 2 instead."""
    assert policy.next_step(valued()) == Reprobe("weigh")
    assert policy.next_step(valued(sensing_budget=0.5)) == Continue()
    declared = (NewDeclaration("x", "B"),)
    assert policy.next_step(valued().after(Observation("weigh", "heavy"))) == RollBack(("x",), ("ax",), declared)


@pytest.mark.parametrize("policy", [Troubleshooting(), GreedyRepair()])
def test_an_answer_that_leaves_only_a_last_resort_is_foreseen_at_what_that_costs(policy):
    """After "heavy" the belief may neither be kept nor undone, and stopping safely costs 2."""
    belief = Belief("x", 10.0, declared="A", needs_support=True)
    graph = RecoveryGraph(
        [belief],
        [Action("pour", executed=True, reversible=False)],
        [Probe("weigh", 0.5)],
        [("weigh", "x", "detection"), ("x", "pour", "belief_to_action")],
    )
    kernels = {"weigh": Discrete(["light", "heavy"], {"same": [1, 0], "more": [0, 1]})}
    model = JointModel(
        [Hypothesis("same", 0.6), Hypothesis("more", 0.4, truth={"x": "B"})],
        kernels,
        declarations=[Declaration("x", "x", support=["weigh"])],
    )
    stop = Plan("stop safely", np.array([2.0, 2.0]), last_resort=True)
    state = InformationState.alarmed(Problem(graph, model, plans=[stop]))
    assert policy.next_step(state) == Reprobe("weigh")  # 0.5 + 0.4 · 2 against 0.4 · 10
    assert policy.next_step(state.after(Observation("weigh", "heavy"))) == RollBack((), (), plan="stop safely")
