"""One classification: what the mean says, what the ranks say, and where they disagree."""

import math

import pytest
from tests.lab.analysis.test_comparison import paired

from aquamend_lab.analysis.comparison import ComparisonVerdict, Conclusion, verdict_of


@pytest.mark.parametrize(
    ("theirs", "finding", "better"),
    [
        ([0.0] * 5, Conclusion.TIE, None),
        ([1.0 + i for i in range(9)], Conclusion.CLEAR, "first"),
        ([-0.1] * 20 + [5.0] * 10, Conclusion.MEAN_ONLY, "first"),
        ([0.1] * 90 + [-5.0] * 2, Conclusion.RANKS_ONLY, "first"),
        ([-0.1] * 90 + [5.0] * 10, Conclusion.OPPOSED, "first"),
        ([1.0, -1.0, 2.0, -2.5], Conclusion.OPEN, None),
        (["inf", 1.0], Conclusion.INFINITE, "first"),
    ],
)
def test_a_comparison_with_zeros_is_classified_and_turned_round_names_the_other(theirs, finding, better):
    ours = [0.0] * len(theirs)
    assert verdict_of(paired(ours, theirs)) == ComparisonVerdict(finding, better)
    assert verdict_of(paired(theirs, ours)) == ComparisonVerdict(finding, better and "second")


def test_infinities_on_both_sides_favour_nobody():
    assert verdict_of(paired(["inf", 1.0], [1.0, "inf"])) == ComparisonVerdict(Conclusion.BOTH_INFINITE)


def test_without_pairs_there_is_nothing_to_find():
    assert verdict_of(paired([None], [1.0])) == ComparisonVerdict(Conclusion.NO_PAIRS)


def test_as_many_wins_as_losses_are_judged_by_their_ranks_alike_from_both_sides():
    ours, theirs = [0.0] * 20, [10.0] * 10 + [-0.1] * 10
    assert verdict_of(paired(ours, theirs)).better == "first"
    assert verdict_of(paired(theirs, ours)).better == "second"


def test_an_infinite_mean_is_not_called_a_difference_of_means():
    found = paired([math.inf] + [0.0] * 20, [1.0] * 21)
    assert verdict_of(found) == ComparisonVerdict(Conclusion.INFINITE, "second")
