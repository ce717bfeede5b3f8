"""Maximum-weight closure by minimum cut, against enumeration."""

import random

import numpy as np
import pytest
from tests.decision.requiring import closed_sets, random_pairs, requirements
from tests.tiers import cases

from aquamend.decision.min_cut import best_closure


def smallest_best(n, pairs, weight):
    """Return the inclusion-smallest among the heaviest closed sets; the weights must add up exactly."""
    total = {chosen: sum(w for w, c in zip(weight, chosen, strict=True) if c) for chosen in closed_sets(n, pairs)}
    best = [chosen for chosen, value in total.items() if value == max(total.values())]
    return min(best, key=sum)


def test_the_cut_is_the_smallest_heaviest_closed_set_on_random_instances():
    for seed in range(cases(600, 2000)):
        rng = random.Random(seed)
        n = rng.randint(1, 6)
        pairs = random_pairs(rng, n)
        weight = [rng.randint(-8, 8) / 4 for _ in range(n)]
        chosen = best_closure(np.array(weight), requirements(n, pairs))
        assert tuple(chosen.tolist()) == smallest_best(n, pairs, weight), seed


@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-9])
def test_gains_far_below_the_largest_one_are_still_told_apart(spread):
    """Rounding to 32 bits cannot see them at first; only the finer scales can."""
    for seed in range(100):
        rng = random.Random(seed)
        weight = [1e4, -1.0, *(rng.choice([-1, 1]) * rng.randint(1, 9) * spread for _ in range(4))]
        pairs = [(0, 1), *((a + 2, b + 2) for a, b in random_pairs(rng, 4))]
        small = smallest_best(4, [(a - 2, b - 2) for a, b in pairs[1:]], [round(w / spread) for w in weight[2:]])
        chosen = best_closure(np.array(weight), requirements(6, pairs))
        assert tuple(chosen.tolist()) == (True, True, *small), seed


def test_an_exact_tie_selects_nothing():
    assert not best_closure(np.array([1.0, -1.0]), requirements(2, [(0, 1)])).any()
    thirds = np.array([1 / 3, 1 / 3, 1 / 3, -1.0])
    chosen = best_closure(thirds, requirements(4, [(0, 3), (1, 3), (2, 3)]))
    assert not chosen.any() or abs(thirds[chosen].sum()) < 1e-15


def test_nothing_profitable_selects_nothing():
    assert not best_closure(np.array([-1.0, 0.0]), requirements(2, [(1, 0)])).any()
    assert best_closure(np.zeros(0), requirements(0, [])).shape == (0,)


def test_a_cost_beyond_the_integer_range_is_only_too_dear():
    chosen = best_closure(np.array([1.0, -1e15, 2.0]), requirements(3, [(0, 1)]))
    assert chosen.tolist() == [False, False, True]


def test_a_long_chain_is_solved():
    n = 1500
    weight = np.where(np.arange(n) == 0, n * 1.0, -0.5)
    chain = [(i, i + 1) for i in range(n - 1)]
    assert best_closure(weight, requirements(n, chain)).all()
    weight[0] = 0.5 * (n - 1) - 0.25
    assert not best_closure(weight, requirements(n, chain)).any()
