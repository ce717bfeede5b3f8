"""D_i: the executed actions that rest on a belief."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.errors import UnknownName
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph


def pouring(**changes):
    """Return level → target → grasp → (planned) lift → pour, and wipe after grasp."""
    given = {
        "beliefs": [Belief("level"), Belief("target"), Belief("idle")],
        "actions": [
            Action("pour", undo=8, executed=True),
            Action("grasp", undo=4, executed=True),
            Action("lift", undo=1, executed=False),
            Action("wipe", undo=2, executed=True),
        ],
        "probes": [Probe("look", 0.1)],
        "edges": [
            ("look", "level", "detection"),
            ("level", "target", "inference"),
            ("target", "grasp", "belief_to_action"),
            ("grasp", "lift", "action_causal"),
            ("lift", "pour", "action_causal"),
            ("grasp", "wipe", "temporal"),
        ],
    }
    return RecoveryGraph(**{**given, **changes})


def test_downstream_follows_inference_causal_and_temporal_edges_and_passes_through_planned_actions():
    assert pouring().downstream("level") == ("pour", "grasp", "wipe")


def test_downstream_comes_in_action_order_whatever_the_order_of_the_paths():
    assert pouring().downstream("target") == ("pour", "grasp", "wipe")


def test_a_planned_action_is_in_no_downstream_set_and_cancelled_for_nothing():
    graph = pouring()
    assert "lift" not in graph.downstream("level")
    assert graph.rollback_cost(["lift"]) == 0
    assert graph.rollback_cost(["lift", "grasp"]) == 4


def test_a_belief_on_which_nothing_rests_is_corrected_for_nothing():
    graph = pouring()
    assert graph.downstream("idle") == ()
    assert graph.correction_cost(["idle"]) == 0


def test_edges_run_one_way():
    graph = pouring(edges=[("level", "target", "inference"), ("level", "grasp", "belief_to_action")])
    assert graph.downstream("level") == ("grasp",)
    assert graph.downstream("target") == ()


def test_an_unknown_belief_lists_the_valid_ones():
    with pytest.raises(UnknownName, match=r"'lvl'.*'level', 'target', 'idle'") as error:
        pouring().downstream("lvl")
    assert error.value.valid == ("level", "target", "idle")


def test_an_unknown_action_lists_the_valid_ones():
    with pytest.raises(UnknownName, match=r"action 'poor'.*'pour', 'grasp', 'lift', 'wipe'"):
        pouring().rollback_cost(["grasp", "poor"])


def test_supporting_probes_reach_through_beliefs_and_direct_ones_do_not():
    graph = pouring()
    assert graph.direct_probes == {"level": ("look",), "target": (), "idle": ()}
    assert graph.supporting_probes == {"level": ("look",), "target": ("look",), "idle": ()}


def test_a_probe_reads_the_values_of_what_it_detects_and_not_of_what_it_only_helps_to_aggregate():
    graph = RecoveryGraph(
        [Belief("level"), Belief("total")],
        (),
        [Probe("look", 0.1), Probe("weigh", 0.1)],
        [("look", "level", "detection"), ("look", "total", "aggregation"), ("weigh", "total", "detection")],
    )
    assert graph.detecting_probes == {"level": ("look",), "total": ("weigh",)}
    assert graph.direct_probes == {"level": ("look",), "total": ("look", "weigh")}


def test_support_reaches_through_inference_and_aggregation_of_beliefs():
    graph = RecoveryGraph(
        [Belief("level"), Belief("total"), Belief("target"), Belief("idle")],
        (),
        [Probe("look", 0.1)],
        [("look", "level", "detection"), ("level", "total", "aggregation"), ("total", "target", "inference")],
    )
    assert graph.supporting_probes == {"level": ("look",), "total": ("look",), "target": ("look",), "idle": ()}


@settings(max_examples=60, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_downstream_is_what_a_search_from_the_belief_reaches(random_problem, reachable, rng):
    graph = random_problem(rng).graph
    for belief in graph.beliefs:
        assert set(graph.downstream(belief.name)) == reachable(graph, belief.name)


@settings(max_examples=100, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_a_closure_is_the_union_of_its_members_and_its_cost_is_subadditive(random_problem, rng):
    graph = random_problem(rng, exact=True).graph
    names = [belief.name for belief in graph.beliefs]
    one = [name for name in names if rng.random() < 0.5]
    two = [name for name in names if rng.random() < 0.5]
    union = set(graph.closure(one)) | set(graph.closure(two))
    assert set(graph.closure([*one, *two])) == union
    both = graph.correction_cost([*one, *two])
    assert max(graph.correction_cost(one), graph.correction_cost(two)) <= both
    assert both <= graph.correction_cost(one) + graph.correction_cost(two)
    assert graph.correcting(one) == (graph.closure(one), graph.correction_cost(one))
    assert graph.leading_to_executed & {*names} == {name for name in names if graph.downstream(name)}
    assert graph.leading_to_executed >= graph.executed_index.keys()
