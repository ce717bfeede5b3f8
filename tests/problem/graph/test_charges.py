"""What undoing costs: distinct operations once, irreversible ones at no finite price."""

import math
import random
from dataclasses import replace

import pytest

from aquamend.problem.graph import Action, Belief, Operation, RecoveryGraph, recovery_graph


def stacked(*actions, operations=()):
    """Return a graph in which belief i supports action i alone."""
    return RecoveryGraph(
        beliefs=[Belief(f"about {action.name}") for action in actions],
        actions=actions,
        edges=[(f"about {action.name}", action.name, "belief_to_action") for action in actions],
        operations=operations,
    )


ARM = (Operation("lower", 2.0), Operation("open", 0.5))


def test_an_operation_that_two_actions_share_is_charged_once():
    graph = stacked(
        Action("lift", operations=("lower", "open"), executed=True),
        Action("turn", operations=("lower",), executed=True),
        operations=ARM,
    )
    assert graph.correction_cost(["about lift"]) == 2.5
    assert graph.correction_cost(["about turn"]) == 2.0
    assert graph.correction_cost(["about lift", "about turn"]) == 2.5


def test_an_operation_listed_twice_in_one_action_is_charged_once():
    graph = stacked(Action("lift", operations=("lower", "lower"), executed=True), operations=ARM)
    assert graph.correction_cost(["about lift"]) == 2.0
    assert graph.charged(graph.belief_charges[0]) == 2.0


def test_the_charges_of_a_belief_cost_what_its_correction_does(random_problem):
    for seed in range(100):
        graph = random_problem(random.Random(seed)).graph
        for belief, charges in zip(graph.beliefs, graph.belief_charges, strict=True):
            assert graph.charged(charges) == pytest.approx(graph.correction_cost([belief.name])), seed
        assert graph.charged_each(graph.belief_charges).tolist() == [*map(graph.charged, graph.belief_charges)], seed


def test_a_graph_too_large_for_masks_says_the_same_of_every_closure(random_problem, monkeypatch):
    for seed in range(100):
        small = random_problem(random.Random(seed)).graph
        assert small._reach is not None
        with monkeypatch.context() as patch:
            patch.setattr(recovery_graph, "MOST_BITS", -1)
            large = replace(small)
            assert large._reach is None
            assert (*large.belief_charges,) == (*large.belief_charges[:],) == (*small.belief_charges,), seed
            assert large.undo_chances == small.undo_chances
            names = [belief.name for belief in small.beliefs]
            for chosen in ([], *([name] for name in names), names):
                assert large.closure(chosen) == small.closure(chosen), seed


def test_what_no_finite_cost_corrects_is_known_without_its_closure(random_problem):
    stuck = 0
    for seed in range(100):
        graph = random_problem(random.Random(seed)).graph
        endless = {b.name for b in graph.beliefs if math.isinf(graph.correction_cost([b.name]))}
        assert graph.uncorrectable == endless, seed
        stuck += bool(endless)
    assert stuck > 5


def test_an_action_named_twice_is_charged_once():
    graph = stacked(Action("grasp", undo=4.0, executed=True))
    assert graph.rollback_cost(["grasp", "grasp"]) == 4.0


def test_equal_costs_of_different_operations_are_both_charged():
    graph = stacked(Action("grasp", undo=4.0, executed=True), Action("place", undo=4.0, executed=True))
    assert graph.correction_cost(["about grasp", "about place"]) == 8.0


def test_an_operation_named_like_an_action_is_another_charge():
    graph = stacked(
        Action("lower", undo=4.0, executed=True), Action("lift", operations=("lower",), executed=True), operations=ARM
    )
    assert graph.correction_cost(["about lower", "about lift"]) == 6.0


def test_an_executed_irreversible_action_cannot_be_undone_at_any_finite_cost():
    graph = stacked(
        Action("pour", undo=1.0, executed=True, reversible=False),
        Action("spill", operations=("lower",), executed=True, reversible=False),
        Action("grasp", undo=4.0, executed=True),
        operations=ARM,
    )
    assert graph.correction_cost(["about pour"]) == math.inf
    assert graph.correction_cost(["about spill"]) == math.inf
    assert graph.correction_cost(["about grasp", "about pour"]) == math.inf
    assert graph.correction_cost(["about grasp"]) == 4.0
    assert graph.irreversible_executed == ("pour", "spill")


def test_a_planned_irreversible_action_costs_nothing_to_cancel():
    graph = stacked(Action("pour", undo=1.0, reversible=False))
    assert graph.correction_cost(["about pour"]) == 0
    assert graph.irreversible_executed == ()


def test_a_charge_of_an_infinite_cost_is_infinite():
    graph = stacked(Action("pour", undo=math.inf, executed=True))
    assert graph.correction_cost(["about pour"]) == math.inf
    assert graph.irreversible_executed == ()
