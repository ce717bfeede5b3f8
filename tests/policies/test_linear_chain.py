"""The linear-chain control: the same decision rule, with rollbacks that take the whole suffix."""

from dataclasses import replace

import pytest

from aquamend import (
    Action,
    Belief,
    Discrete,
    Hypothesis,
    InformationState,
    JointModel,
    NewDeclaration,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
)
from aquamend.decision import RollBack
from aquamend.policies import AquaMend, LinearChain, evaluate


def two_branches(residual=50.0):
    """Two beliefs with an action each: nothing shared on the fine graph, the first carries the second on the chain."""
    graph = RecoveryGraph(
        [Belief("left", residual), Belief("right", residual)],
        [Action("reach", undo=3.0, executed=True), Action("pour", undo=4.0, executed=True)],
        [Probe("look", 0.5)],
        [
            ("look", "left", "detection"),
            ("left", "reach", "belief_to_action"),
            ("right", "pour", "belief_to_action"),
        ],
    )
    model = JointModel(
        [Hypothesis("fine", 0.5), Hypothesis("moved", 0.5, ("left",))],
        {"look": Discrete(["still", "moved"], {"fine": [1, 0], "moved": [0, 1]})},
    )
    return InformationState.alarmed(Problem(graph, model))


def test_a_rollback_undoes_everything_executed_after_it():
    state = two_branches()
    failed = state.after(Observation("look", "moved"))
    assert AquaMend().next_step(failed) == RollBack(("left",), ("reach",))
    assert LinearChain().next_step(failed) == RollBack(("left",), ("reach", "pour"))


def test_the_longer_rollback_is_paid_for():
    state = two_branches()
    assert evaluate(AquaMend(), state).expected_loss == pytest.approx(0.5 + 0.5 * 3.0)
    chain = evaluate(LinearChain(), state)
    assert chain.expected_loss == pytest.approx(0.5 + 0.5 * 7.0)
    assert chain.expected_undone == pytest.approx(0.5 * 2)


def test_the_chain_is_priced_before_deciding_not_only_after():
    """At a residual of 5 the fine graph corrects for 3; the chain would pay 7 and keeps instead."""
    state = two_branches(residual=5.0).after(Observation("look", "moved"))
    assert isinstance(AquaMend().next_step(state), RollBack)
    assert not isinstance(LinearChain().next_step(state), RollBack)


def test_new_values_are_declared_on_the_chain_too():
    state = two_branches()
    beliefs = [replace(belief, declared="here") for belief in state.problem.graph.beliefs]
    model = replace(
        state.problem.model,
        hypotheses=[Hypothesis("fine", 0.5), Hypothesis("moved", 0.5, truth={"left": "there"})],
    )
    problem = replace(state.problem, graph=replace(state.problem.graph, beliefs=beliefs), model=model)
    failed = InformationState.alarmed(problem).after(Observation("look", "moved"))
    new = (NewDeclaration("left", "there"),)
    assert LinearChain().next_step(failed) == RollBack(("left",), ("reach", "pour"), new)
