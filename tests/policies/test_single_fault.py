"""The textbook troubleshooter: single fault, repairs by probability over cost, one observation ahead; by hand."""

import math

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack, price
from aquamend.policies import SingleFaultTroubleshooting, evaluate
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel


def device(faults, *, both=0.0, shared=None, cost=9.0, residual=10.0, may_keep=True, **rest):
    """Return beliefs that fail one at a time: name → (probability, cost of undoing); "both" fails the first two."""
    names = list(faults)
    fine = 1.0 - both - math.fsum(p for p, _ in faults.values())
    failed = {"fine": (), **{name: (name,) for name in names}, "both": tuple(names[:2])}
    prior = {"fine": fine, **{name: p for name, (p, _) in faults.items()}, "both": both}
    actions = [
        Action(f"undo {name}", executed=True, **({"undo": undo} if shared is None else {"operations": ("arm",)}))
        for name, (_, undo) in faults.items()
    ]
    graph = RecoveryGraph(
        [Belief(name, residual, may_keep) for name in names],
        actions,
        [Probe(f"look at {name}", cost) for name in names],
        [e for n in names for e in ((f"look at {n}", n, "detection"), (n, f"undo {n}", "belief_to_action"))],
        [] if shared is None else [Operation("arm", shared)],
    )
    kernels = {
        f"look at {name}": Discrete(["good", "bad"], {h: [name not in f, name in f] for h, f in failed.items()})
        for name in names
    }
    model = JointModel([Hypothesis(h, p, failed[h]) for h, p in prior.items()], kernels)
    return InformationState.alarmed(Problem(graph, model, **rest))


def step(*args, **kwargs):
    return SingleFaultTroubleshooting().next_step(device(*args, **kwargs))


def test_one_fault_is_the_three_way_rule():
    """Leave 5, repair 4, look 0.5 + 0.5 · 4: what the rule of Proposition 1 compares."""
    assert step({"a": (0.5, 4.0)}, cost=0.5) == Reprobe("look at a")
    assert step({"a": (0.5, 4.0)}, cost=2.0) == RollBack(("a",), ("undo a",))
    assert step({"a": (0.3, 4.0)}, cost=2.0) == Continue()


def test_all_repairs_that_the_sequence_would_try_are_committed_to():
    """First a (0.5 / 4), then b (0.3 / 4): 4 + 0.3 · 4 = 5.2; a alone 4 + 0.3 · 10 = 7; nothing 8."""
    assert step({"a": (0.5, 4.0), "b": (0.3, 4.0)}) == RollBack(("a", "b"), ("undo a", "undo b"))


def test_the_sequence_ends_where_a_repair_costs_more_than_what_it_could_save():
    """Trying b after a would cost 0.3 · 12 more to save 0.3 · 10."""
    assert step({"a": (0.5, 4.0), "b": (0.3, 12.0)}) == RollBack(("a",), ("undo a",))


def test_the_likeliest_per_cost_comes_first_and_is_what_is_paid_for_certain():
    """Cheap b first: 1 + 0.5 · 4 = 3; a first would be 4 + 0.3 · 1 = 4.3. So a service call at 3.5 is too dear."""
    faults = {"a": (0.5, 4.0), "b": (0.3, 1.0)}
    assert step(faults, escalate=3.5) == RollBack(("a", "b"), ("undo a", "undo b"))
    assert step(faults, escalate=2.9) == Escalate()


def test_service_is_called_at_once_or_not_at_all():
    """a and b: 4 + 0.3 · 9 = 6.7; a alone 4 + 0.3 · 10 = 7."""
    faults = {"a": (0.6, 4.0), "b": (0.3, 9.0)}
    assert step(faults, escalate=6.6) == Escalate()
    assert step(faults, escalate=6.8) == RollBack(("a", "b"), ("undo a", "undo b"))


def test_operations_that_repairs_share_are_counted_for_each():
    """Both for 4, really; it expects 4 + 0.3 · 4 = 5.2 and so prefers service at 5.1."""
    faults = {"a": (0.3, None), "b": (0.3, None)}
    assert step(faults, shared=4.0, escalate=5.1) == Escalate()
    assert step(faults, shared=4.0, escalate=5.3) == RollBack(("a", "b"), ("undo a", "undo b"))
    assert price(device(faults, shared=4.0), RollBack(("a", "b"))).loss == 4.0


def test_two_faults_at_once_are_not_thought_of():
    """Half the time both have failed: it takes that for impossible, sees nothing wrong, and goes on."""
    blind = device({"a": (0.0, 1.0), "b": (0.0, 1.0)}, both=0.5)
    assert SingleFaultTroubleshooting().next_step(blind) == Continue()
    assert evaluate(SingleFaultTroubleshooting(), blind).expected_loss == pytest.approx(10.0)


def test_evidence_that_only_two_faults_explain_leads_to_the_best_ending():
    known = device({"a": (0.2, 1.0), "b": (0.0, 1.0)}, both=0.5, cost=0.1).after(Observation("look at b", "bad"))
    assert SingleFaultTroubleshooting().next_step(known) == RollBack(("a", "b"), ("undo a", "undo b"))


def test_a_belief_that_may_not_be_kept_is_repaired_looked_at_or_serviced_but_never_left():
    assert step({"a": (0.01, 40.0)}, may_keep=False) == Reprobe("look at a")
    assert step({"a": (0.01, 40.0)}, may_keep=False, cost=50.0) == RollBack(("a",), ("undo a",))
    assert step({"a": (0.01, 40.0)}, may_keep=False, cost=50.0, restart=30.0) == Restart()


def test_a_failure_explained_by_another_is_the_same_fault_and_repaired_with_it():
    graph = RecoveryGraph(
        [Belief("level", 10.0), Belief("target", 80.0)],
        [Action("grasp", undo=4.0, executed=True)],
        [],
        [("level", "target", "inference"), ("target", "grasp", "belief_to_action")],
    )
    water = Hypothesis("water", 0.5, ("level", "target"))
    state = InformationState.alarmed(Problem(graph, JointModel([Hypothesis("fine", 0.5), water])))
    assert SingleFaultTroubleshooting().next_step(state) == RollBack(("level", "target"), ("grasp",))


def test_readings_are_weighed_like_outcomes():
    from aquamend.problem.model import Gaussian

    graph = RecoveryGraph(
        [Belief("b", 10.0)],
        [Action("a", undo=4.0, executed=True)],
        [Probe("weigh", 0.1)],
        [("weigh", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    kernel = Gaussian({"ok": (0.0, 1.0), "bad": (6.0, 1.0)})
    model = JointModel([Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, ("b",))], {"weigh": kernel})
    state = InformationState.alarmed(Problem(graph, model))
    assert SingleFaultTroubleshooting().next_step(state) == Reprobe("weigh")
    assert SingleFaultTroubleshooting().next_step(state.after(Observation("weigh", 6.2))) == RollBack(("b",), ("a",))
    assert np.isfinite(price(state, Continue()).loss)
