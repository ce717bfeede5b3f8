"""Which node types each kind of edge may join."""

from itertools import product

import pytest

from aquamend.errors import InvalidProblem
from aquamend.problem.graph import Action, Belief, Edge, EdgeKind, Probe, RecoveryGraph

LEGAL = {
    "detection": {("probe", "belief")},
    "aggregation": {("probe", "belief"), ("belief", "belief")},
    "inference": {("belief", "belief")},
    "belief_to_action": {("belief", "action")},
    "action_causal": {("action", "action")},
    "temporal": {("action", "action")},
}
TYPES = ("probe", "belief", "action")


def graph_with(*edges):
    return RecoveryGraph(
        beliefs=[Belief("belief 1"), Belief("belief 2")],
        actions=[Action("action 1"), Action("action 2")],
        probes=[Probe("probe 1", 1.0), Probe("probe 2", 1.0)],
        edges=edges,
    )


@pytest.mark.parametrize(("kind", "source", "target"), list(product(LEGAL, TYPES, TYPES)))
def test_each_kind_joins_its_own_node_types_and_no_others(kind, source, target):
    edge = (f"{source} 1", f"{target} 2", kind)
    if (source, target) in LEGAL[kind]:
        assert graph_with(edge).edges == (Edge(*edge[:2], EdgeKind(kind)),)
    else:
        with pytest.raises(InvalidProblem) as error:
            graph_with(edge)
        (fault,) = error.value.faults
        assert fault.where == "edges[0]"
        assert f"'{source} 1'" in str(fault)
        assert f"'{target} 2'" in str(fault)


def test_an_unknown_kind_lists_the_six():
    with pytest.raises(InvalidProblem) as error:
        graph_with(("probe 1", "belief 1", "detection"), ("belief 1", "belief 2", "causes"))
    (fault,) = error.value.faults
    assert fault.where == "edges[1]"
    assert "'causes'" in fault.problem
    assert all(kind in fault.remedy for kind in LEGAL)


def test_an_unknown_endpoint_names_the_end_and_lists_the_nodes():
    with pytest.raises(InvalidProblem) as error:
        graph_with(("belief 1", "belief 3", "inference"))
    (fault,) = error.value.faults
    assert "target 'belief 3'" in fault.problem
    assert "'belief 2'" in fault.remedy


def test_an_edge_given_twice_is_a_fault_and_another_kind_between_the_same_nodes_is_not():
    causal, temporal = ("action 1", "action 2", "action_causal"), ("action 1", "action 2", "temporal")
    assert len(graph_with(causal, temporal).edges) == 2
    with pytest.raises(InvalidProblem, match="given twice"):
        graph_with(causal, causal)
