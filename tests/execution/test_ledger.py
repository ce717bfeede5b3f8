"""The ledger: everything once, at the graph's price, and an honest end."""

import math

import pytest

from aquamend import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.errors import UnknownName
from aquamend.execution import Charge, Ledger, charged

GRAPH = RecoveryGraph(
    [Belief("level", 10.0), Belief("target", 80.0, may_keep=False)],
    [
        Action("lift", executed=True, operations=("lower", "open")),
        Action("pour", executed=True, operations=("lower",)),
        Action("spill", undo=1.0, executed=True, reversible=False),
        Action("place", undo=2.0),
    ],
    [Probe("look", 0.5), Probe("weigh", 0.7)],
    [("look", "level", "detection"), ("level", "lift", "belief_to_action")],
    [Operation("lower", 2.0), Operation("open", 1.0)],
)


def test_a_probe_is_paid_each_time_and_its_uses_are_told_apart():
    ledger = Ledger(GRAPH)
    assert [ledger.run_probe(name) for name in ("look", "weigh", "look")] == [(0, 1), (1, 1), (0, 2)]
    assert charged(ledger.receipts, Charge.SENSING) == pytest.approx(1.7)


def test_shared_operations_are_paid_once_and_actions_told_in_graph_order():
    ledger = Ledger(GRAPH)
    assert ledger.undo(["pour", "lift"]) == ("lift", "pour")
    assert [r.what for r in ledger.receipts] == ["undo: lower", "undo: open"]


def test_what_is_left_costs_its_residual_and_is_no_success():
    outcome = Ledger(GRAPH).ended((), ["level"])
    assert (charged(outcome.receipts), outcome.uncorrected, outcome.success) == (10.0, ("level",), False)
    assert charged(Ledger(GRAPH).ended((), ["target"]).receipts) == math.inf


def test_a_new_value_that_is_wrong_costs_its_residual_even_of_what_may_not_be_kept():
    outcome = Ledger(GRAPH).ended((), ["level"], ["target"])
    assert [(r.what, r.cost) for r in outcome.receipts] == [("level", 10.0), ("target", 80.0)]
    assert (outcome.uncorrected, outcome.success) == (("level", "target"), False)


def test_an_end_with_nothing_left_is_a_success_unless_it_was_infeasible():
    assert Ledger(GRAPH).ended((), ()).success
    ledger = Ledger(GRAPH)
    assert not ledger.ended(ledger.undo(["spill"]), ()).success


def test_handing_over_costs_its_price_alone():
    outcome = Ledger(GRAPH).handed_over(30.0, ["target"])
    assert (charged(outcome.receipts), outcome.uncorrected, outcome.success) == (30.0, ("target",), False)


def test_names_that_are_not_there_are_told():
    with pytest.raises(UnknownName, match="unknown probe 'peek'"):
        Ledger(GRAPH).run_probe("peek")
    with pytest.raises(UnknownName, match="executed action 'place'"):
        Ledger(GRAPH).undo(["place"])
