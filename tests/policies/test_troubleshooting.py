"""The troubleshooter with the joint posterior: the textbook's case by brute force, and by hand where it goes beyond."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.test_single_fault import device
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.policies import AquaMend, Troubleshooting, evaluate
from aquamend.policies.troubleshooting import _sequences, spoken_at
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Gaussian, Hypothesis, JointModel


def parts(failed, cost, *, residual=1e6, shared=None, **rest):
    """Return beliefs to repair at these costs, whose joint failures are ``{names: probability}``."""
    names = list(cost)
    graph = RecoveryGraph(
        [Belief(name, residual) for name in names],
        [Action(f"undo {n}", executed=True, undo=cost[n]) for n in names]
        if shared is None
        else [Action(f"undo {n}", executed=True, operations=("arm", f"own {n}")) for n in names],
        (),
        [(n, f"undo {n}", "belief_to_action") for n in names],
        [] if shared is None else [Operation("arm", shared), *(Operation(f"own {n}", cost[n]) for n in names)],
    )
    hypotheses = [Hypothesis(" + ".join(f) or "fine", p, f) for f, p in failed.items()]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses), **rest))


def planned(state):
    """Return the order of the repairs, and the expected cost of trying so many of them."""
    found = _sequences(state.problem, state.posterior[None, :], spoken_at(state)[None, :])
    names = [belief.name for belief in state.problem.graph.beliefs]
    return [names[i] for i in found.order[0] if i >= 0], found.expected[0]


def cost_of_repair(order, failed, cost):
    """Return what trying all in this order costs, with a perfect check after each: the textbook's sum."""
    total = 0.0
    for k, name in enumerate(order):
        total += cost[name] * sum(p for f, p in failed.items() if k == 0 or set(f) - set(order[:k]))
    return total


costs = st.floats(0.1, 10.0)


@settings(max_examples=cases(60, 600))
@given(st.lists(st.tuples(st.floats(0.05, 1.0), costs), min_size=1, max_size=5))
def test_with_one_fault_independent_repairs_and_perfect_checks_no_order_is_cheaper(drawn):
    """The theorem of Heckerman, Breese and Rommelse: of all orders, that of probability over cost is cheapest."""
    total = math.fsum(weight for weight, _ in drawn)
    names = [f"part {i}" for i in range(len(drawn))]
    failed = {(name,): weight / total for name, (weight, _) in zip(names, drawn, strict=True)}
    cost = {name: c for name, (_, c) in zip(names, drawn, strict=True)}
    order, expected = planned(parts(failed, cost))
    orders = [cost_of_repair(order, failed, cost) for order in itertools.permutations(names)]
    assert cost_of_repair(order, failed, cost) == pytest.approx(min(orders))
    assert expected[-1] == pytest.approx(min(orders))


@settings(max_examples=cases(60, 600))
@given(st.data())
def test_several_faults_at_once_are_paid_as_far_as_the_check_still_finds_one(data):
    names = [f"part {i}" for i in range(data.draw(st.integers(1, 4)))]
    sets = [f for k in range(len(names) + 1) for f in itertools.combinations(names, k)]
    weight = np.array(data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(sets), max_size=len(sets))))
    failed = dict(zip(sets, (weight / weight.sum()).tolist(), strict=True))
    cost = {name: data.draw(costs) for name in names}
    order, expected = planned(parts(failed, cost, residual=7.0))
    for k in range(len(order) + 1):
        left = 7.0 * sum(p * len(set(f) - set(order[:k])) for f, p in failed.items())
        assert expected[k] == pytest.approx(cost_of_repair(order[:k], failed, cost) + left)


def test_a_swap_of_two_cups_is_believable_and_both_are_corrected():
    """One event, two wrong beliefs: what a troubleshooter that assumes a single fault cannot believe in."""
    state = parts({(): 0.2, ("a", "b"): 0.8}, {"a": 3.0, "b": 3.0}, residual=10.0, restart=40.0)
    assert Troubleshooting().next_step(state) == RollBack(("a", "b"), ("undo a", "undo b"))
    assert evaluate(Troubleshooting(), state).success == pytest.approx(1.0)


def test_declared_levels_that_were_swapped_are_declared_as_they_are():
    graph = RecoveryGraph(
        [Belief("a", 30.0, declared=18.0, tolerance=2.0), Belief("b", 30.0, declared=40.0, tolerance=2.0)],
        [Action("grasp", undo=4.0, executed=True)],
        [Probe("weigh a", 0.5)],
        [("weigh a", "a", "detection"), ("a", "grasp", "belief_to_action"), ("b", "grasp", "belief_to_action")],
    )
    model = JointModel(
        [Hypothesis("nothing", 0.5), Hypothesis("swapped", 0.5, truth={"a": 40.0, "b": 18.0})],
        {"weigh a": Gaussian({"nothing": (18.0, 1.0), "swapped": (40.0, 1.0)})},
    )
    state = InformationState.alarmed(Problem(graph, model, restart=100.0))
    assert Troubleshooting().next_step(state) == Reprobe("weigh a")
    after = Troubleshooting().next_step(state.after(Observation("weigh a", 39.2)))
    assert after == RollBack(("a", "b"), ("grasp",), (NewDeclaration("a", 40.0), NewDeclaration("b", 18.0)))


def test_work_that_an_earlier_repair_has_paid_for_is_free():
    """The arm is lowered once: 4 + 1 for a, then 0.3 · 1 more for b; so service pays at 5.2 and not at 5.4."""
    failed, own = {("a",): 0.7, ("b",): 0.3}, {"a": 1.0, "b": 1.0}
    assert planned(parts(failed, own, shared=4.0))[1][-1] == pytest.approx(5.3)
    assert Troubleshooting().next_step(parts(failed, own, shared=4.0, escalate=5.2)) == Escalate()
    both = RollBack(("a", "b"), ("undo a", "undo b"))
    assert Troubleshooting().next_step(parts(failed, own, shared=4.0, escalate=5.4)) == both


def test_paid_work_changes_which_repair_comes_next():
    """b shares what a has paid for, and goes before c, which would be likelier per cost by itself."""
    graph = RecoveryGraph(
        [Belief(name, 1e6) for name in "abc"],
        [Action(f"undo {n}", executed=True, operations=used) for n, used in
         {"a": ("arm",), "b": ("arm", "own"), "c": ("other",)}.items()],
        (),
        [(n, f"undo {n}", "belief_to_action") for n in "abc"],
        [Operation("arm", 4.0), Operation("own", 1.0), Operation("other", 3.0)],
    )  # fmt: skip
    model = JointModel([Hypothesis(n, p, (n,)) for n, p in {"a": 0.6, "b": 0.2, "c": 0.2}.items()])
    assert planned(InformationState.alarmed(Problem(graph, model)))[0] == ["a", "b", "c"]


def test_what_may_not_be_kept_is_repaired_before_what_is_likelier_per_cost():
    graph = RecoveryGraph(
        [Belief("likely", 1.0), Belief("grip", 1.0, may_keep=False)],
        [Action("a", undo=2.0, executed=True), Action("b", undo=2.0, executed=True)],
        (),
        [("likely", "a", "belief_to_action"), ("grip", "b", "belief_to_action")],
    )
    model = JointModel([Hypothesis("l", 0.9, ("likely",)), Hypothesis("g", 0.1, ("grip",))])
    assert Troubleshooting().next_step(InformationState.alarmed(Problem(graph, model))) == RollBack(("grip",), ("b",))


def test_one_fault_is_the_three_way_rule():
    """Leave 5, repair 4, look 0.5 + 0.5 · 4."""
    assert Troubleshooting().next_step(device({"a": (0.5, 4.0)}, cost=0.5)) == Reprobe("look at a")
    assert Troubleshooting().next_step(device({"a": (0.5, 4.0)}, cost=2.0)) == RollBack(("a",), ("undo a",))
    assert Troubleshooting().next_step(device({"a": (0.3, 4.0)}, cost=2.0)) == Continue()


def test_service_is_called_where_the_repairs_cost_more():
    """a and b: 4 + 0.3 · 9 = 6.7; a alone 4 + 0.3 · 10 = 7."""
    faults = {"a": (0.6, 4.0), "b": (0.3, 9.0)}
    assert Troubleshooting().next_step(device(faults, restart=6.6)) == Restart()
    assert Troubleshooting().next_step(device(faults, restart=6.8)) == RollBack(("a", "b"), ("undo a", "undo b"))


def test_with_one_observation_at_most_the_second_is_not_made():
    first = device({"a": (0.4, 4.0), "b": (0.4, 4.0)}, cost=0.1)
    often, once = Troubleshooting(), Troubleshooting(most_observations=1)
    assert often.next_step(first) == once.next_step(first) == Reprobe("look at a")
    seen = first.after(Observation("look at a", "good"))
    assert often.next_step(seen) == Reprobe("look at b")
    assert once.next_step(seen) == RollBack(("b",), ("undo b",))
    assert evaluate(once, first).expected_probes == pytest.approx(1.0)


@settings(max_examples=cases(40, 400), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_with_a_single_belief_it_decides_as_aquamend_does(seed):
    """Nothing comes after the only repair, so no check is ever counted on."""
    rng = np.random.default_rng(seed)
    p, sharp = rng.uniform(0.05, 0.95), rng.uniform(0.5, 1.0)
    graph = RecoveryGraph(
        [Belief("b", rng.uniform(1.0, 20.0))],
        [Action("a", undo=rng.uniform(0.5, 8.0), executed=True)],
        [Probe("look", rng.uniform(0.1, 3.0), max_uses=2)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    kernel = Discrete(["good", "bad"], {"ok": [sharp, 1 - sharp], "off": [1 - sharp, sharp]})
    model = JointModel([Hypothesis("ok", 1 - p), Hypothesis("off", p, ("b",))], {"look": kernel})
    state = InformationState.alarmed(Problem(graph, model, restart=rng.uniform(5.0, 30.0)))
    assert Troubleshooting().next_step(state) == AquaMend().next_step(state)


def test_costs_too_small_to_divide_by_are_no_trouble():
    state = device({"a": (0.5, 1e-300), "b": (0.3, 1e-308)}, cost=9.0)
    assert Troubleshooting().next_step(state) == RollBack(("a", "b"), ("undo a", "undo b"))


def test_what_is_planned_for_many_branches_is_what_is_planned_for_each(monkeypatch):
    state = device({"a": (0.4, 4.0), "b": (0.2, 2.0), "c": (0.2, 7.0)}, both=0.1, cost=0.2)
    whole = Troubleshooting().next_step(state)
    monkeypatch.setattr("aquamend.policies.troubleshooting.CELLS_AT_ONCE", 1)
    assert Troubleshooting().next_step(state) == whole
