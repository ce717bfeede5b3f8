import math
from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import Observation
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.decision.terminal import price
from aquamend.errors import BadStep
from aquamend.problem import Plan
from aquamend.recovery import Charge, Declare, Finish, Follow, HandOver, Measure, Receipt, Redo, Undo, acts_of, charged


def test_a_rollback_undoes_the_latest_first_declares_and_does_again(table):
    state = table().after(Observation("weigh", "40"))
    acts = acts_of(state, RollBack(("cup", "level"), declare=(NewDeclaration("level", 40.0),)))
    assert [str(act) for act in acts] == [
        "undo: clear",
        "undo: back",
        "undo: lower",
        "undo: grasp",
        "declare: cup",
        "declare: level = 40",
        "redo: grasp",
        "redo: lift",
        "redo: move",
        "finish the task",
    ]
    assert acts[0] == Undo("clear", ("move", "lift"), cost=1.0)  # shared, so once
    assert acts[5] == Declare("level", 40.0)
    assert acts[-1] == Finish(("pour",))


def test_a_rollback_costs_what_the_graph_says(table):
    state = table()
    for correct in (("cup",), ("level",), ("cup", "level")):
        undoing = [act for act in acts_of(state, RollBack(correct)) if isinstance(act, Undo)]
        assert math.fsum(act.cost for act in undoing) == pytest.approx(state.problem.graph.correction_cost(correct))


def test_a_rollback_that_says_no_values_declares_the_best_ones(table):
    acts = acts_of(table().after(Observation("weigh", "40")), RollBack(("level",)))
    assert [act for act in acts if isinstance(act, Declare)] == [Declare("level", 40.0)]


def test_the_other_steps(table):
    state = table()
    assert acts_of(state, Reprobe("weigh")) == (Measure("weigh", cost=1.0),)
    assert acts_of(state, Continue()) == (Finish(("pour",)),)
    everything = ("cup", "level"), ("grasp", "lift", "move")
    assert acts_of(state, Restart()) == (Follow("restart", *everything, cost=30.0),)
    assert acts_of(state, Escalate(), reason="lost") == (HandOver("lost", cost=50.0),)
    assert acts_of(state, RollBack(("cup",), plan="own")) == (Follow("own", ("cup",)),)
    assert acts_of(state, Continue(), undone=("move", "lift")) == (Redo("lift"), Redo("move"), Finish(("pour",)))


def test_what_cannot_be_undone_is_marked(table):
    state = table(reversible=False)
    for step in (Continue(), Restart(), RollBack(("cup",), plan="own")):  # each of them ends with the task done
        assert acts_of(state, step)[-1].irreversible
        assert not acts_of(table(), step)[-1].irreversible


def test_a_last_resort_leaves_undone_what_cannot_be_undone(table):
    state = table(reversible=False)
    stand_still = Plan("stand still", np.full(len(state.posterior), 9.0), last_resort=True)
    state = replace(state, problem=replace(state.problem, plans=(stand_still,)))
    assert not acts_of(state, RollBack((), plan="stand still"))[-1].irreversible


def test_something_that_is_no_step_is_refused(table):
    with pytest.raises(BadStep, match="not a step"):
        acts_of(table(), "look")


def test_a_receipt_charges_the_price_unless_told_otherwise():
    act = Undo("lower", ("lift",), cost=0.5)
    assert act.done() == Receipt(Charge.ROLLBACK, "undo: lower", 0.5)
    assert act.failed("stuck", cost=0.1) == Receipt(
        Charge.ROLLBACK, "undo: lower", 0.1, succeeded=False, finding="stuck"
    )


def test_parts_make_up_a_receipt_and_partition_its_cost():
    parts = (Receipt(Charge.SENSING, "look", 0.25), Receipt(Charge.ROLLBACK, "lower", 1.5, succeeded=False))
    receipt = Undo("lower", ("lift",), cost=0.5).failed("stuck", parts=parts)
    assert receipt.cost == 1.75
    assert list(receipt.leaves) == list(parts)
    assert [charged([receipt], charge) for charge in Charge] == [0.25, 1.5, 0, 0]
    assert charged([receipt]) == 1.75


def test_doing_again_is_priced_with_the_undoing_and_charged_as_continuation(table):
    state = table()
    graph = replace(state.problem.graph, actions=[replace(a, redo=0.125) for a in state.problem.graph.actions])
    state = replace(state, problem=replace(state.problem, graph=graph))
    acts = acts_of(state, RollBack(("cup",)))
    undo, redo = ([act for act in acts if isinstance(act, kind)] for kind in (Undo, Redo))
    assert [act.operation for act in undo] == ["clear", "back", "lower", "grasp"]
    assert redo == [Redo(name, cost=0.125) for name in ("grasp", "lift", "move")]
    assert all(act.done().charge is Charge.CONTINUATION for act in redo)
    paid = math.fsum(act.cost for act in (*undo, *redo))
    assert paid == graph.correction_cost(["cup"]) == price(state, RollBack(("cup",))).recovery
    assert graph.rollback_cost(["move"]) == 1.375  # shared or not, each action is done again by itself
