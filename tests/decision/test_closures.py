"""Groups of beliefs that share operations: listed closures, minimum cuts, and enumeration."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from tests.decision.requiring import closed_sets, random_pairs, requirements

from aquamend.decision import closures
from aquamend.decision.closures import CutGroup, grouped
from aquamend.graph import Action, Belief, Operation, RecoveryGraph


def test_a_group_with_forced_beliefs_and_irreversible_nodes_is_solved_as_by_enumeration():
    infeasible = 0
    for seed in range(1000):
        rng = random.Random(seed)
        members, n = rng.randint(1, 3), 6
        pairs = random_pairs(rng, n)
        cost = [0.0] * members + [rng.randint(0, 8) / 4 for _ in range(n - members)]
        gain = [rng.randint(0, 12) / 4 for _ in range(members)]
        forced = [rng.random() < 0.3 for _ in range(members)]
        gain = [0.0 if f else g for g, f in zip(gain, forced, strict=True)]
        stuck = [False] * members + [rng.random() < 0.1 for _ in range(n - members)]
        feasible = np.array([not any(stuck[b] for b in _closure(pairs, a)) for a in range(n)])
        group = CutGroup(np.arange(members), requirements(n, pairs), np.array(cost), feasible)
        losses = {}
        for chosen in closed_sets(n, pairs):
            if any(c and s for c, s in zip(chosen, stuck, strict=True)):
                continue
            if any(f and not c for f, c in zip(forced, chosen, strict=False)):
                continue
            kept = sum(g for g, c in zip(gain, chosen, strict=False) if not c)
            losses[chosen] = kept + sum(k for k, c in zip(cost, chosen, strict=True) if c)
        loss, corrected = group.best(np.array(gain), np.array(forced))
        assert loss == min(losses.values(), default=math.inf), seed
        if not losses:
            infeasible += 1
            continue
        best = min((chosen for chosen, value in losses.items() if value == loss), key=sum)
        # A member without gain may be in the cut's closure for nothing or not: it changes no loss.
        assert all(c == b for c, b, g in zip(corrected, best, gain, strict=False) if g > 0), seed
    assert infeasible > 10


def _closure(pairs, node):
    found = {node}
    while True:
        grown = found | {b for a, b in pairs if a in found}
        if grown == found:
            return found
        found = grown


def shelf(**changes):
    """Return x and y that share an arm, z on its own, w that nothing rests on, and s that cannot be undone."""
    given = {
        "beliefs": [Belief(name, 1.0) for name in "xyzws"],
        "actions": [
            Action("ax", operations=("arm",), executed=True),
            Action("ay", operations=("arm", "hand"), executed=True),
            Action("az", undo=4.0, executed=True),
            Action("aw", undo=9.0),
            Action("poured", executed=True, reversible=False),
        ],
        "edges": [(f"{name}", f"a{name}", "belief_to_action") for name in "xyzw"]
        + [("s", "poured", "belief_to_action")],
        "operations": [Operation("arm", 2.0), Operation("hand", 1.0)],
    }
    return RecoveryGraph(**{**given, **changes})


def test_beliefs_that_share_no_operation_stand_alone_and_those_no_cost_corrects_are_stuck():
    groups = grouped(shelf(), np.arange(5))
    assert dict(zip(groups.solo.tolist(), groups.solo_cost.tolist(), strict=True)) == {2: 4.0, 3: 0.0}
    assert groups.stuck.tolist() == [4]
    (shared,) = groups.listed
    assert shared.members.tolist() == [0, 1]
    listed = {tuple((shared.keep[:, u] == 0).tolist()): shared.cost[u] for u in range(len(shared.cost))}
    assert listed == {(False, False): 0.0, (True, False): 2.0, (True, True): 3.0}
    assert groups.cuts == ()


def test_positions_are_those_among_the_beliefs_given():
    groups = grouped(shelf(), np.array([4, 2, 0]))
    assert (groups.stuck.tolist(), groups.solo.tolist()) == ([0], [1, 2])


def test_a_group_with_too_many_closures_is_left_to_a_minimum_cut(monkeypatch):
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    groups = grouped(shelf(), np.arange(5))
    assert groups.listed == ()
    assert [cut.members.tolist() for cut in groups.cuts] == [[0, 1]]


@pytest.mark.parametrize("most", [4096, 1])
def test_every_group_is_priced_as_by_trying_all_sets(random_problem, monkeypatch, most):
    """The least cost of covering beliefs and losing the gains of the others, groups together."""
    monkeypatch.setattr(closures, "MOST_CLOSURES", most)
    cuts = 0
    for seed in range(150):
        rng = random.Random(seed)
        graph = random_problem(rng, exact=True).graph
        n = len(graph.beliefs)
        gain = np.array([rng.choice([0.0, math.inf, *(rng.randrange(40) / 4 for _ in range(8))]) for _ in range(n)])
        losses = [
            graph.correction_cost([graph.beliefs[i].name for i in chosen])
            + math.fsum(gain[i] for i in range(n) if i not in chosen)
            for size in range(n + 1)
            for chosen in combinations(range(n), size)
        ]
        groups = grouped(graph, np.arange(n))
        cuts += len(groups.cuts)
        total = float(np.minimum(gain[groups.solo], groups.solo_cost).sum() + gain[groups.stuck].sum())
        total += sum(float(group.losses(np.ones(1), gain[:, None]).min()) for group in groups.listed)
        for cut in groups.cuts:
            own = gain[cut.members]
            total += cut.best(np.where(np.isinf(own), 0.0, own), np.isinf(own))[0]
        assert total == pytest.approx(min(losses)), seed
    assert (cuts > 30) == (most == 1)
