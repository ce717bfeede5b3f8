"""Maximum-weight closure by minimum cut, against enumeration."""

import random

import numpy as np
import pytest
from tests.decision.requiring import closed_sets, random_pairs, requirements
from tests.tiers import cases

from aquamend.decision import min_cut
from aquamend.decision.min_cut import best_closures, by_maximum_flow, kernel, whole_numbers


def best_closure(weight, needs):
    return best_closures(weight[None, :], needs)[0]


def smallest_best(n, pairs, weight):
    """Return the inclusion-smallest among the heaviest closed sets; the weights must add up exactly."""
    total = {chosen: sum(w for w, c in zip(weight, chosen, strict=True) if c) for chosen in closed_sets(n, pairs)}
    best = [chosen for chosen, value in total.items() if value == max(total.values())]
    return min(best, key=sum)


def test_the_cut_is_the_smallest_heaviest_closed_set_on_random_instances(solver):
    for seed in range(cases(600, 4000)):
        rng = random.Random(seed)
        n = rng.randint(1, 6)
        pairs = random_pairs(rng, n)
        weight = [[rng.randint(-8, 8) / 4 for _ in range(n)] for _ in range(rng.randint(1, 5))]
        chosen = best_closures(np.array(weight), requirements(n, pairs))
        for own, row in zip(chosen.tolist(), weight, strict=True):
            assert tuple(own) == smallest_best(n, pairs, row), seed


def random_network(seed):
    """Return more than can be enumerated: layers of what may gain and of what costs, and weights of every size."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 12, rng.integers(2, 5))
    ends = np.cumsum([0, *widths])
    pairs = [
        (a, b)
        for k in range(len(widths) - 1)
        for a in range(ends[k], ends[k + 1])
        for b in range(ends[k + 1], ends[-1])
        if rng.random() < 0.3
    ]
    n, rows = int(ends[-1]), int(rng.integers(1, 9))
    size = 10.0 ** rng.integers(-9, 9, n) if seed % 3 == 0 else np.ones(n)
    weight = size * rng.choice([-1.5, -1.0, 1.0, 0.5, 0.0], (rows, n)) * rng.integers(1, 4, (rows, n))
    weight[:, ends[1] :] = -np.abs(weight[:, ends[1] :])
    return weight if seed % 2 else weight * rng.random(n), requirements(n, pairs)


def test_the_compiled_kernel_and_scipy_return_the_same_sets():
    compiled = kernel()
    if compiled is None:
        pytest.skip("the kernel was not built: no C compiler was found when AquaMend was installed")
    selected = 0
    for seed in range(cases(500, 5000)):
        weight, needs = random_network(seed)
        whole = whole_numbers(weight)
        chosen = compiled(whole, needs)
        np.testing.assert_array_equal(chosen, by_maximum_flow(whole, needs), err_msg=str(seed))
        selected += bool(chosen.any())
    assert selected > 200


def test_many_rows_are_solved_in_pieces(solver, monkeypatch):
    weight, needs = random_network(5)
    rows = np.tile(weight, (40, 1))
    whole = best_closures(rows, needs)
    monkeypatch.setattr(min_cut, "AT_ONCE", 1)
    np.testing.assert_array_equal(best_closures(rows, needs), whole)
    assert whole.any()


def test_what_rounding_alone_may_make_is_a_tie_where_that_is_asked_for(solver):
    needs = requirements(3, [(0, 2), (1, 2)])
    for gain, tie, selects in ((1.0 + 1e-12, 1e-9, False), (1.0 + 1e-12, 0.0, True), (1.0 + 1e-8, 1e-9, True)):
        chosen = best_closures(np.array([[1.0, gain, -2.0]]), needs, tie=tie)
        assert chosen.all() == chosen.any() == selects


def test_rounding_to_whole_numbers_is_always_against_selecting():
    weight = np.array([[1 / 3, 1 / 3, -1 / 3, -1e20, 0.0]])
    whole = whole_numbers(weight)
    unit = 2.0**-48
    assert (whole[0, :3] * unit <= weight[0, :3]).all()
    assert (whole[0, :3] * unit >= weight[0, :3] - unit).all()
    assert whole[0, 3] <= -whole[0, :2].sum()
    assert whole[0, 4] == 0


@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-9])
def test_gains_far_below_the_largest_one_are_still_told_apart(spread, solver):
    """Rounding to 32 bits cannot see them at first; only the finer scales can."""
    for seed in range(100):
        rng = random.Random(seed)
        weight = [1e4, -1.0, *(rng.choice([-1, 1]) * rng.randint(1, 9) * spread for _ in range(4))]
        pairs = [(0, 1), *((a + 2, b + 2) for a, b in random_pairs(rng, 4))]
        small = smallest_best(4, [(a - 2, b - 2) for a, b in pairs[1:]], [round(w / spread) for w in weight[2:]])
        chosen = best_closure(np.array(weight), requirements(6, pairs))
        assert tuple(chosen.tolist()) == (True, True, *small), seed


def test_an_exact_tie_selects_nothing(solver):
    assert not best_closure(np.array([1.0, -1.0]), requirements(2, [(0, 1)])).any()
    thirds = np.array([1 / 3, 1 / 3, 1 / 3, -1.0])
    assert not best_closure(thirds, requirements(4, [(0, 3), (1, 3), (2, 3)])).any()


def test_nothing_profitable_selects_nothing(solver):
    assert not best_closure(np.array([-1.0, 0.0]), requirements(2, [(1, 0)])).any()
    assert best_closure(np.zeros(0), requirements(0, [])).shape == (0,)


def test_a_cost_beyond_the_integer_range_is_only_too_dear(solver):
    chosen = best_closure(np.array([1.0, -1e15, 2.0]), requirements(3, [(0, 1)]))
    assert chosen.tolist() == [False, False, True]


def test_a_long_chain_is_solved(solver):
    n = 1500
    weight = np.where(np.arange(n) == 0, n * 1.0, -0.5)
    chain = [(i, i + 1) for i in range(n - 1)]
    assert best_closure(weight, requirements(n, chain)).all()
    weight[0] = 0.5 * (n - 1) - 0.25
    assert not best_closure(weight, requirements(n, chain)).any()


def test_the_largest_and_the_smallest_numbers_are_told_apart(solver):
    needs = requirements(4, [(0, 3), (1, 3), (2, 3)])
    for size in (1e308, 1.0, 1e-300):
        weight = np.array([[1.0, 1.0, 1.0, -1.5], [1.0, 0.0, 0.25, -1.5], [1.7, 1.7, 1.7, -1.7]]) * size
        assert best_closures(weight, needs).all(axis=1).tolist() == [True, False, True]
        assert not best_closures(weight, needs)[1].any()
    assert best_closures(np.array([[1e-300, 0.0, 1e-300, -1e308]]), needs).sum() == 0
