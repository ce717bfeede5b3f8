"""Estimates are what priors and records make of them, and their intervals hold the truth as often as they say."""

import numpy as np
import pytest

from aquamend.learning import Part, cost, mixtures, moments, normal, rate, shares


def test_shares_are_counts_and_what_was_thought_before():
    found = shares([6, 2, 0], [0.2, 0.3, 0.5], strength=2.0)
    assert [e.value for e in found] == pytest.approx([6.4 / 10, 2.6 / 10, 1.0 / 10])
    assert all(e.low < e.value < e.high for e in found)
    assert found[0].records == 8


def test_without_records_everything_is_as_it_was_thought():
    assert [e.value for e in shares([0, 0], [0.3, 0.7])] == pytest.approx([0.3, 0.7])
    assert rate(0, 0, 0.25).value == pytest.approx(0.25)
    assert (normal([], 5.0, 2.0).mean.value, normal([], 5.0, 2.0).sd.value) == (5.0, 2.0)
    assert cost([], 7.0).value == 7.0


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    inside = {"rate": 0, "mean": 0, "sd": 0}
    for _ in range(300):
        readings = rng.normal(10.0, 2.0, 20)
        estimate = normal(readings, 9.0, 3.0)
        inside["mean"] += estimate.mean.low < 10.0 < estimate.mean.high
        inside["sd"] += estimate.sd.low < 2.0 < estimate.sd.high
        share = rate(rng.binomial(30, 0.3), 30, 0.5)
        inside["rate"] += share.low < 0.3 < share.high
    assert all(count > 0.9 * 300 for count in inside.values()), inside


def test_many_readings_outweigh_a_wrong_guess():
    rng = np.random.default_rng(2)
    estimate = normal(rng.normal(50.0, 4.0, 2000), 0.0, 1.0)
    assert estimate.mean.value == pytest.approx(50.0, abs=0.5)
    assert estimate.sd.value == pytest.approx(4.0, abs=0.5)


def test_glitches_are_told_from_readings():
    rng = np.random.default_rng(3)
    groups = [rng.normal(0.0, 1.0, 400), rng.normal(10.0, 1.0, 400)]
    groups[0][:20] = rng.uniform(-300, 300, 20)
    ((first,), _), share = mixtures(groups, [[Part(1.0, 0.0, 2.0)], [Part(1.0, 9.0, 2.0)]])
    assert first.mean.value == pytest.approx(0.0, abs=0.2)
    assert first.sd.value == pytest.approx(1.0, abs=0.2)
    assert share.low < 20 / 800 < share.high


def test_costs_have_an_interval_that_is_never_negative():
    found = cost([0.1, 0.2, 3.0], 1.0)
    assert found.value == pytest.approx((2.0 + 3.3) / 5)
    assert found.low >= 0.0


def test_moments_are_those_of_the_values_alone():
    found = moments([1.0, 2.0, 6.0])
    assert (found.mean.value, found.mean.records) == (3.0, 3)
    assert found.sd.value == pytest.approx((14.0 / 3.0) ** 0.5)


def test_the_scatter_about_what_was_to_be_expected_has_the_bias_in_it():
    errors = [1.0, 3.0]
    assert moments(errors).sd.value == 1.0
    assert moments(errors, about=0.0).sd.value == pytest.approx(5.0**0.5)


def test_intervals_of_moments_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(4)
    inside = {"mean": 0, "sd": 0, "about": 0}
    for _ in range(300):
        values = rng.normal(0.0, 2.0, 12)
        free, about = moments(values), moments(values, about=0.0).sd
        inside["mean"] += free.mean.low < 0.0 < free.mean.high
        inside["sd"] += free.sd.low < 2.0 < free.sd.high
        inside["about"] += about.low < 2.0 < about.high
    assert all(0.92 * 300 < count < 0.98 * 300 for count in inside.values()), inside


def test_of_one_value_the_spread_is_unknown_and_of_none_everything_is():
    assert moments([5.0]).sd.high == np.inf
    with pytest.raises(ValueError, match="no values"):
        moments([])
