import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from aquamend_lab.analysis.statistics import SignedRank, doubled_ranks, signed_rank


def by_all_flips(differences: list[int]) -> float:
    """Return the two-sided p-value by going through every choice of signs."""
    magnitudes = [abs(d) for d in differences if d]
    ranks = stats.rankdata(magnitudes) if magnitudes else []
    positive = sum(rank for rank, d in zip(ranks, [d for d in differences if d], strict=True) if d > 0)
    statistic = min(positive, sum(ranks) - positive)
    sums = [sum(chosen) for chosen in itertools.product(*((0.0, rank) for rank in ranks))]
    return min(1.0, 2.0 * sum(total <= statistic for total in sums) / len(sums))


def test_the_paper_s_comparison_with_troubleshooting_is_reproduced():
    positive = {19, 18, 17, 16, 6}  # 76 of 190
    differences = [float(rank if rank in positive else -rank) for rank in range(1, 20)] + [0.0] * 13
    found = signed_rank(differences)
    assert (found.n, found.zeros, found.statistic) == (19, 13, 76.0)
    # Of the 2^19 choices of signs, 121980 have a sum of at most 76. The paper prints 0.465318, which no multiple of
    # 2^-19 rounds to: its last digit is off by one.
    assert found.p_value == 2 * 121980 / 2**19
    assert found.p_value == pytest.approx(0.465318, abs=1.5e-6)


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), max_size=10))
def test_ties_and_zeros_are_conditioned_on_exactly(differences):
    assert signed_rank([float(d) for d in differences]).p_value == pytest.approx(by_all_flips(differences), abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40, unique=True), st.randoms(use_true_random=False))
def test_without_zeros_and_ties_it_is_what_scipy_calls_exact(magnitudes, random):
    differences = [float(m if random.random() < 0.3 else -m) for m in magnitudes]
    theirs = stats.wilcoxon(differences, method="exact")
    ours = signed_rank(differences)
    assert (ours.statistic, ours.p_value) == (theirs.statistic, pytest.approx(theirs.pvalue, rel=1e-9))


@pytest.mark.parametrize("differences", [[], [0.0, -0.0, 4e-10]])
def test_where_nothing_differs_p_is_one(differences):
    assert signed_rank(differences) == SignedRank(0, len(differences), 0.0, 0.0, 1.0)


def test_what_differs_beyond_nine_decimals_is_a_tie():
    assert signed_rank([1.0, 1.0 + 1e-12, -2.0]) == signed_rank([1.0, 1.0, -2.0])


def test_swapping_the_two_sides_swaps_the_rank_sums_and_nothing_else():
    differences = np.random.default_rng(3).normal(0.4, 1.0, 80)
    one, other = signed_rank(differences), signed_rank(-differences)
    assert (one.positive, one.negative) == (other.negative, other.positive)
    assert (one.statistic, one.p_value) == (other.statistic, other.p_value)


def test_the_rank_sums_say_where_the_ranks_point_whatever_the_mean_does():
    found = signed_rank([-1.0, -2.0, -3.0, 100.0])
    assert (found.positive, found.negative, found.statistic) == (4.0, 6.0, 4.0)


def test_an_infinite_difference_ranks_above_all_others():
    assert signed_rank([1.0, 2.0, -math.inf]) == signed_rank([1.0, 2.0, -3.0])


def test_average_ranks_are_kept_whole_by_doubling():
    assert doubled_ranks(np.array([5.0, 1.0, 5.0, 2.0])).tolist() == [7, 2, 7, 4]


def test_thousands_of_pairs_agree_with_the_normal_limit():
    differences = np.random.default_rng(6).normal(0.01, 1.0, 4000)
    approximate = stats.wilcoxon(differences, method="asymptotic", correction=True).pvalue
    assert 0.01 < approximate < 0.99
    assert signed_rank(differences).p_value == pytest.approx(approximate, rel=1e-3)


def test_a_clear_difference_of_thousands_of_pairs_underflows_to_zero_and_not_below():
    assert signed_rank(np.random.default_rng(5).normal(1.0, 1.0, 5000)).p_value == 0.0


def test_a_missing_difference_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"differences\[1\] is NaN; leave out"):
        signed_rank([1.0, math.nan])


def test_a_table_of_differences_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\); give one number a pair"):
        signed_rank(np.ones((2, 2)))
