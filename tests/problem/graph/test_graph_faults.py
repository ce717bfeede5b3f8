"""A graph that cannot be meant is refused, with every fault and its place."""

import math
from itertools import pairwise

import pytest

from aquamend.errors import AquaMendError, InvalidProblem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph


def faults_of(**parts):
    with pytest.raises(InvalidProblem) as error:
        RecoveryGraph(**{"beliefs": [Belief("b")], **parts})
    return error.value.faults


def test_a_cycle_is_named_along_its_edges_without_what_leads_to_it_or_from_it():
    names = ["in", "x", "y", "z", "out"]
    steps = [("in", "x"), ("x", "y"), ("y", "z"), ("z", "x"), ("z", "out")]
    (fault,) = faults_of(beliefs=[Belief(n) for n in names], edges=[(*step, "inference") for step in steps])
    path = fault.problem.removeprefix("the graph has a cycle: ").split(" -> ")
    assert path[0] == path[-1]
    assert sorted(path[1:]) == ["x", "y", "z"]
    assert set(pairwise(path)) <= set(steps)


def test_an_edge_from_a_node_to_itself_is_a_cycle():
    (fault,) = faults_of(edges=[("b", "b", "inference")])
    assert "b -> b" in fault.problem


def test_a_long_cycle_is_shortened():
    names = [f"b{i}" for i in range(100)]
    ring = [(a, b, "inference") for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    (fault,) = faults_of(beliefs=[Belief(n) for n in names], edges=ring)
    assert "92 more" in fault.problem
    assert len(fault.problem) < 200


@pytest.mark.parametrize(
    "parts",
    [
        {"beliefs": [Belief("twice"), Belief("twice")]},
        {"beliefs": [Belief("twice")], "actions": [Action("twice")]},
        {"beliefs": [Belief("b")], "actions": [Action("twice")], "probes": [Probe("twice", 1)]},
    ],
)
def test_a_name_belongs_to_one_node_across_all_types(parts):
    (fault,) = faults_of(**parts)
    assert "'twice' already names" in fault.problem


def test_an_operation_may_be_named_like_a_node_but_not_like_another_operation():
    RecoveryGraph(beliefs=[Belief("b")], operations=[Operation("b", 1.0)])
    (fault,) = faults_of(operations=[Operation("o", 1.0), Operation("o", 2.0)])
    assert fault.where == "operations[1].name"


@pytest.mark.parametrize("bad", [-1.0, math.nan, -math.inf])
@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("beliefs[0].residual", lambda x: {"beliefs": [Belief("b", x)]}),
        ("actions[0].undo", lambda x: {"actions": [Action("a", undo=x)]}),
        ("operations[0].cost", lambda x: {"operations": [Operation("o", x)]}),
        ("probes[0].cost", lambda x: {"probes": [Probe("p", x)]}),
        ("probes[0].max_uses", lambda x: {"probes": [Probe("p", 1.0, max_uses=x)]}),
    ],
)
def test_a_cost_below_zero_or_no_number_is_a_fault(where, parts, bad):
    (fault,) = faults_of(**parts(bad))
    assert fault.where == where
    assert repr(bad) in fault.problem


def test_infinity_is_a_cost_except_of_a_probe():
    RecoveryGraph(
        [Belief("b", math.inf)],
        [Action("a", undo=math.inf)],
        [Probe("p", 0.0, max_uses=math.inf)],
        (),
        [Operation("o", math.inf)],
    )
    (fault,) = faults_of(probes=[Probe("p", math.inf)])
    assert fault.where == "probes[0].cost"


def test_a_fraction_of_a_use_is_a_fault():
    (fault,) = faults_of(probes=[Probe("p", 1.0, max_uses=1.5)])
    assert fault.where == "probes[0].max_uses"


def test_an_action_has_an_undoing_of_its_own_or_operations_but_not_both():
    (fault,) = faults_of(actions=[Action("a", undo=1.0, operations=("o",))], operations=[Operation("o", 1.0)])
    assert "both undo and operations" in fault.problem


def test_an_executed_reversible_action_must_say_what_undoing_it_costs():
    (fault,) = faults_of(actions=[Action("a", executed=True)])
    assert "neither undo nor operations" in fault.problem
    RecoveryGraph([Belief("b")], [Action("a"), Action("c", executed=True, reversible=False)])


def test_an_unknown_operation_lists_the_known_ones():
    (fault,) = faults_of(
        actions=[Action("a", operations=("lift", "lower"), executed=True)], operations=[Operation("lower", 1.0)]
    )
    assert fault.where == "actions[0].operations[0]"
    assert "'lower'" in fault.remedy


@pytest.mark.parametrize("tolerance", [-0.1, math.nan])
def test_a_tolerance_is_a_distance(tolerance):
    (fault,) = faults_of(beliefs=[Belief("b", declared=18.0, tolerance=tolerance)])
    assert fault.where == "beliefs[0].tolerance"
    assert repr(tolerance) in fault.problem


def test_a_declared_number_is_a_number():
    (fault,) = faults_of(beliefs=[Belief("b", declared=math.nan)])
    assert fault.where == "beliefs[0].declared"


def test_a_source_is_a_belief_and_an_unknown_one_lists_them():
    RecoveryGraph([Belief("camera")], (), [Probe("look", 0.1, source="camera")])
    (fault,) = faults_of(beliefs=[Belief("camera")], probes=[Probe("look", 0.1, source="camra")])
    assert fault.where == "probes[0].source"
    assert "'camra' is not a belief" in fault.problem
    assert "'camera'" in fault.remedy


def test_all_faults_are_reported_at_once():
    faults = faults_of(
        beliefs=[Belief("b", -1.0), Belief("b")],
        probes=[Probe("p", -2.0)],
        edges=[("p", "ghost", "detection"), ("b", "b", "inference")],
    )
    assert [fault.where for fault in faults] == [
        "beliefs[1].name", "beliefs[0].residual", "probes[0].cost", "edges[0]", "edges",
    ]  # fmt: skip


def test_the_error_is_a_value_error_and_says_every_fault():
    with pytest.raises(InvalidProblem) as error:
        RecoveryGraph([Belief("b", -1.0), Belief("c", -2.0)])
    assert isinstance(error.value, AquaMendError)
    assert isinstance(error.value, ValueError)
    assert "-1.0" in str(error.value)
    assert "-2.0" in str(error.value)
