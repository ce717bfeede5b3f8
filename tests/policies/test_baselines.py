"""The policies AquaMend is compared with, on problems that show what each of them ignores."""

import math

import numpy as np
import pytest

from aquamend.benchmarks.contestants import Oracle
from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Alarm, Discrete, Hypothesis, JointModel
from aquamend.policies import (
    AlwaysRestart,
    Decoupled,
    Greedy,
    NoReprobe,
    RollbackOnly,
    Troubleshooting,
    evaluate,
    policy_named,
)
from aquamend.problem import Plan, Problem

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


def test_rollback_only_undoes_all_that_is_suspected_at_any_price():
    assert RollbackOnly().next_step(state(arm=500.0)) == BOTH
    assert RollbackOnly().next_step(state(prior=(1, 0, 0), suspects=())) == Continue()
    flagged = RollbackOnly().next_step(state(prior=(1, 0, 0), suspects=("x", "idle")))
    assert flagged == RollBack(("x", "idle"), ("ax",))
    assert RollbackOnly().next_step(state(reversible=False)) == Escalate()


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


def test_a_free_informative_probe_comes_first_for_greedy():
    assert Greedy().next_step(state(cost=(0.1, 0.0), sharp=(1.0, 0.6))) == Reprobe("py")


def test_troubleshooting_builds_its_repair_greedily_and_misses_what_pays_only_together():
    """The joint optimum corrects both for 4; neither is worth 4 alone, so greedy repair begins with none."""
    assert Troubleshooting().next_step(state(cost=(9.0, 9.0))) == Continue()


def test_troubleshooting_repairs_a_belief_for_nothing_once_its_operation_is_paid():
    repaired = Troubleshooting().next_step(state(prior=(0.2, 0.6, 0.2), cost=(9.0, 9.0)))
    assert repaired == BOTH


def test_troubleshooting_looks_where_one_observation_pays_for_itself():
    assert Troubleshooting().next_step(state(prior=(0.5, 0.5, 0.0))) == Reprobe("px")
    assert Troubleshooting().next_step(state(prior=(0.5, 0.5, 0.0), cost=(2.5, 2.5))) == RollBack(("x",), ("ax",))


def test_troubleshooting_restarts_or_escalates_where_that_is_cheaper():
    assert Troubleshooting().next_step(state(cost=(9.0, 9.0), restart=5.0)) == Restart()
    assert Troubleshooting().next_step(state(cost=(9.0, 9.0), escalate=5.0)) == Escalate()


@pytest.mark.parametrize("policy", [Decoupled(), Greedy(), Troubleshooting(), NoReprobe(), RollbackOnly()])
def test_where_nothing_is_feasible_everybody_escalates(policy):
    graph = RecoveryGraph(
        [Belief("x", math.inf)],
        [Action("pour", executed=True, reversible=False)],
        (),
        [("x", "pour", "belief_to_action")],
    )
    model = JointModel([Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, ("x",))])
    assert policy.next_step(InformationState.alarmed(Problem(graph, model))) == Escalate()


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


@pytest.mark.parametrize("name", ["aquamend", "troubleshooting", "decoupled", "rollback-only", "no-reprobe"])
def test_where_only_plans_end_a_recovery_every_policy_takes_one(name):
    assert only_plans(policy_named(name)) == RollBack(("x",), ("ax",), plan="wash")


def test_the_oracle_takes_the_plan_that_is_best_for_what_failed():
    assert only_plans(Oracle(("x",))) == RollBack(("x",), ("ax",), plan="wash")
    assert only_plans(Oracle(())) == RollBack((), (), plan="wait")


def test_troubleshooting_weighs_plans_beside_its_repairs():
    state = InformationState.alarmed(
        Problem(
            RecoveryGraph(
                [Belief("x", 10.0)], [Action("ax", undo=3.0, executed=True)], [], [("x", "ax", "belief_to_action")]
            ),
            JointModel([Hypothesis("fine", 0.5), Hypothesis("bad", 0.5, ("x",))]),
            plans=[Plan("wash", np.array([0.5, 2.0]), ("x",))],
        )
    )
    assert Troubleshooting().next_step(state) == RollBack(("x",), plan="wash")


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
