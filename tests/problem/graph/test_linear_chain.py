"""The linear-chain view: an early belief takes the whole executed suffix with it."""

import math
import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.problem.graph import Action, Belief, RecoveryGraph


def three_steps(*extra, last=None):
    return RecoveryGraph(
        beliefs=[Belief("first"), Belief("second"), Belief("third")],
        actions=[
            Action("a1", undo=1, executed=True),
            Action("planned", undo=50),
            Action("a2", undo=2, executed=True),
            last or Action("a3", undo=4, executed=True),
        ],
        edges=[
            ("first", "a1", "belief_to_action"),
            ("second", "a2", "belief_to_action"),
            ("third", "a3", "belief_to_action"),
            *extra,
        ],
    )


def test_every_downstream_set_becomes_the_executed_suffix_from_its_earliest_member():
    chain = three_steps().linear_chain()
    assert chain.downstream("first") == ("a1", "a2", "a3")
    assert chain.downstream("second") == ("a2", "a3")
    assert chain.downstream("third") == ("a3",)
    assert chain.correction_cost(["first"]) == 7


def test_the_fine_graph_is_left_as_it_was():
    graph = three_steps()
    graph.linear_chain()
    assert graph.downstream("first") == ("a1",)


def test_the_chain_runs_in_causal_order_where_the_listing_disagrees():
    chain = three_steps(("a3", "a1", "action_causal")).linear_chain()
    # a1 waits for a3, so the order executed is a2, a3, a1
    assert set(chain.downstream("second")) == {"a1", "a2", "a3"}
    assert set(chain.downstream("third")) == {"a1", "a3"}
    assert set(chain.downstream("first")) == {"a1"}


def test_an_edge_that_is_there_already_is_not_added_again():
    chain = three_steps(("a1", "a2", "action_causal")).linear_chain()
    assert [edge[:2] for edge in chain.edges].count(("a1", "a2")) == 1


def test_an_irreversible_last_action_makes_every_earlier_correction_infeasible_in_the_chain_only():
    graph = three_steps(last=Action("a3", executed=True, reversible=False))
    assert graph.correction_cost(["first"]) == 1
    assert graph.linear_chain().correction_cost(["first"]) == math.inf


@settings(max_examples=150, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_the_chain_holds_the_fine_downstream_sets_and_is_ordered_by_inclusion(random_problem, rng):
    graph = random_problem(rng).graph
    chain = graph.linear_chain()
    suffixes = []
    for belief in graph.beliefs:
        fine, coarse = set(graph.downstream(belief.name)), set(chain.downstream(belief.name))
        assert fine <= coarse
        assert bool(fine) == bool(coarse)
        suffixes.append(coarse)
        assert chain.linear_chain().downstream(belief.name) == chain.downstream(belief.name)
    suffixes.sort(key=len)
    assert all(small <= large for small, large in pairwise(suffixes))
