"""Groups of beliefs that share operations: listed closures, minimum cuts, and enumeration."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from tests.decision.requiring import closed_sets, random_pairs, requirements
from tests.tiers import cases

from aquamend.belief import InformationState
from aquamend.decision import closures
from aquamend.decision.closures import CutGroup, grouped
from aquamend.decision.endings import endings_of
from aquamend.decision.steps import Continue, RollBack
from aquamend.decision.terminal import best_terminal, correction
from aquamend.problem.graph import Action, Belief, Operation, RecoveryGraph


def test_a_group_with_forced_beliefs_is_solved_in_all_branches_as_by_enumeration(solver):
    for seed in range(cases(300, 1000)):
        rng = random.Random(seed)
        members, n, branches = rng.randint(1, 3), 6, rng.randint(1, 4)
        pairs = random_pairs(rng, n)
        cost = [0.0] * members + [rng.randint(0, 8) / 4 for _ in range(n - members)]
        gain = np.array(
            [[rng.choice([math.inf, *(rng.randint(0, 12) / 4 for _ in range(3))]) for _ in range(branches)]
             for _ in range(members)]
        )  # fmt: skip
        group = CutGroup(np.arange(members), requirements(n, pairs), np.array(cost))
        loss, corrected = group.best(gain)
        np.testing.assert_array_equal(group.losses(gain[:, 0], corrected[:, :1]), loss[:1])
        for k in range(branches):
            losses = {}
            for chosen in closed_sets(n, pairs):
                kept = sum(g for g, c in zip(gain[:, k], chosen, strict=False) if not c)
                losses[chosen] = kept + sum(k for k, c in zip(cost, chosen, strict=True) if c)
            assert loss[k] == min(losses.values()), seed
            best = min((chosen for chosen, value in losses.items() if value == loss[k]), key=sum)
            assert corrected[:, k].tolist() == list(best[:members]), seed


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
    assert listed == {(False, False): 0.0, (True, True): 2.0}
    assert shared.own.tolist() == [0.0, 1.0]
    assert {*map(tuple, shared.covers(4).T.tolist())} == {(False, False), (True, False), (True, True)}
    assert shared.n_closures == 3
    assert shared.covers(2) is None
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
def test_every_group_is_priced_as_by_trying_all_sets(random_problem, monkeypatch, most, solver):
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
            total += float(cut.best(gain[cut.members][:, None])[0][0])
        assert total == pytest.approx(min(losses)), seed
    assert (cuts > 30) == (most == 1)


def test_the_smallest_set_is_corrected_of_those_whose_losses_are_equal(random_problem, monkeypatch, solver):
    """Against trying all sets; gains and costs are quarters, so that many losses are equal but for rounding."""
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    tied = cut = 0
    for seed in range(cases(300, 3000)):
        problem = random_problem(random.Random(seed), exact=True, beliefs=5)
        state = InformationState.start(problem)
        cut += bool(endings_of(problem).groups.cuts)
        names = [belief.name for belief in problem.graph.beliefs]
        sets = [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]
        losses = np.array([correction(state, chosen).loss for chosen in sets])
        stop = best_terminal(state)
        assert stop.loss <= losses.min() + 1e-9, seed
        if isinstance(stop.decision, (RollBack, Continue)):
            corrected = getattr(stop.decision, "correct", ())
            equal = [chosen for chosen, loss in zip(sets, losses, strict=True) if loss <= losses.min() + 1e-9]
            assert len(corrected) == len(equal[0]), (seed, corrected, equal)
            tied += len({len(chosen) for chosen in equal}) > 1
    assert cut > 50
    assert tied > 20
