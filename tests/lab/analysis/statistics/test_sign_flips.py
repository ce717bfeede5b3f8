import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend_lab.analysis import statistics
from aquamend_lab.analysis.statistics import lower_tail, tail_by_recursion, tail_by_transform

SHARES = (0.5, 0.47, 0.4, 0.25, 0.1)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("tied", [False, True])
def test_recursion_and_transform_give_the_same_tail(share, tied):
    ranks = np.sort(np.random.default_rng(1).integers(1, 150, 300)) if tied else np.arange(1, 601)
    bound = int(share * ranks.sum())
    assert tail_by_transform(ranks, bound) == pytest.approx(tail_by_recursion(ranks, bound), rel=1e-11)


@settings(deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.floats(0.0, 0.5))
def test_both_ways_agree_on_few_ranks_with_many_ties(ranks, share):
    array = np.sort(np.array(ranks))
    bound = int(share * sum(ranks))
    assert tail_by_transform(array, bound) == pytest.approx(tail_by_recursion(array, bound), rel=1e-9)


def test_equal_ranks_are_a_binomial():
    assert lower_tail(np.full(4, 5), 5) == pytest.approx(5 / 16)


def test_ranks_above_the_bound_must_all_stay_out():
    assert lower_tail(np.array([2, 4, 6, 8]), 2) == pytest.approx(2 / 16)


def test_a_tail_deep_below_the_smallest_probability_of_a_path_keeps_its_digits():
    ranks = np.arange(1, 1201)
    bound = ranks.sum() // 50
    expected = tail_by_recursion(ranks, bound)
    assert 0.0 < expected < 1e-250
    assert tail_by_transform(ranks, bound) == pytest.approx(expected, rel=1e-11)


def test_large_problems_leave_the_recursion(monkeypatch):
    ranks = np.arange(2, 202, 2)
    plain = lower_tail(ranks, 4000)
    monkeypatch.setattr(statistics, "MOST_UPDATES", 10)
    monkeypatch.setattr(statistics, "tail_by_recursion", None)
    assert lower_tail(ranks, 4000) == pytest.approx(plain, rel=1e-12)


def test_the_size_of_the_pieces_does_not_show(monkeypatch):
    ranks = np.arange(1, 201)
    whole = tail_by_transform(ranks, 9000)
    monkeypatch.setattr(statistics, "CELLS", 1000)
    assert tail_by_transform(ranks, 9000) == whole
