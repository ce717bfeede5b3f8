import math

import numpy as np
import pytest

from aquamend_lab.analysis import statistics
from aquamend_lab.analysis.statistics import (
    Interval,
    paired_bootstrap,
    ratio_bootstrap,
    stratified_bootstrap,
)

DIFFERENCES = np.random.default_rng(0).normal(1.0, 2.0, 32)


def test_it_is_the_percentile_interval_of_pcg64_resamples():
    generator = np.random.Generator(np.random.PCG64(20260923))
    means = DIFFERENCES[generator.integers(0, 32, size=(2000, 32))].mean(axis=1)
    assert paired_bootstrap(DIFFERENCES) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5], method="linear")))


def test_pieces_draw_what_the_whole_would(monkeypatch):
    whole = paired_bootstrap(DIFFERENCES), stratified_bootstrap(DIFFERENCES, [i % 3 for i in range(32)])
    monkeypatch.setattr(statistics, "DRAWS_AT_ONCE", 77)
    assert (paired_bootstrap(DIFFERENCES), stratified_bootstrap(DIFFERENCES, [i % 3 for i in range(32)])) == whole


def test_zero_differences_are_kept():
    assert paired_bootstrap([0.0] * 31 + [32.0]).low == 0.0


def test_another_seed_gives_another_interval():
    assert paired_bootstrap(DIFFERENCES) != paired_bootstrap(DIFFERENCES, seed=1)


def test_strata_fix_what_lies_between_them():
    values, strata = [1.0] * 4 + [5.0] * 4, ["early"] * 4 + ["late"] * 4
    assert stratified_bootstrap(values, strata) == Interval(3.0, 3.0)
    plain = stratified_bootstrap(values, ["all"] * 8)
    assert plain.low < 3.0 < plain.high


def test_one_stratum_is_the_plain_bootstrap():
    expected = paired_bootstrap(DIFFERENCES, resamples=10_000, seed=20260919)
    assert stratified_bootstrap(DIFFERENCES, [None] * 32) == expected


def test_a_ratio_of_means_is_resampled_with_both_its_parts_together():
    above, below = np.random.default_rng(1).uniform(0.0, 1.0, (2, 32))
    drawn = np.random.Generator(np.random.PCG64(20260923)).integers(0, 32, size=(2000, 32))
    ratios = above[drawn].mean(axis=1) / below[drawn].mean(axis=1)
    assert ratio_bootstrap(above, below) == pytest.approx(tuple(np.percentile(ratios, [2.5, 97.5])))
    assert ratio_bootstrap(3.0 * below, below) == pytest.approx((3.0, 3.0))


@pytest.mark.parametrize("below", [[0.0, 1.0], [math.inf, 1.0]])
def test_a_ratio_that_some_resample_does_not_have_is_unavailable(below):
    assert ratio_bootstrap([math.inf if math.isinf(below[0]) else 1.0, 1.0], below) is None


def test_an_infinite_value_reaches_only_the_end_it_pulls():
    assert paired_bootstrap([1.0, 1.0, math.inf]) == Interval(1.0, math.inf)
    assert paired_bootstrap([1.0, 1.0, -math.inf]) == Interval(-math.inf, 1.0)


@pytest.mark.parametrize(
    ("differences", "options", "message"),
    [
        ([], {}, "differences is empty; an interval needs"),
        ([math.inf, -math.inf], {}, "both infinities"),
        ([1.0], {"resamples": 0}, "resamples is 0; give at least 1"),
        ([math.nan], {}, r"differences\[0\] is NaN"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(differences, options, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(differences, **options)


def test_every_value_needs_a_stratum():
    with pytest.raises(ValueError, match="values has 2 values but strata has 1"):
        stratified_bootstrap([1.0, 2.0], ["a"])
