import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.learning.estimates import brier, expected_calibration_error, probability_quality

FORECASTS = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=30)


def test_brier_is_the_mean_squared_distance():
    assert brier([0.9, 0.2, 0.5], [True, False, True]) == pytest.approx((0.01 + 0.04 + 0.25) / 3)


def test_calibration_error_weighs_each_bin_by_its_count():
    # Bin [0.1, 0.2): stated 0.15, happened 1/3 of three; bin [0.9, 1]: stated 0.95, happened always, once.
    found = expected_calibration_error([0.15, 0.15, 0.15, 0.95], [1, 0, 0, 1])
    assert found == pytest.approx((3 * abs(1 / 3 - 0.15) + 0.05) / 4)


def test_a_bin_holds_its_lower_edge_and_the_last_one_holds_one():
    apart = expected_calibration_error([0.25, 0.3], [1, 0])
    assert apart == pytest.approx((0.75 + 0.3) / 2)
    assert expected_calibration_error([0.3, 0.35], [1, 0]) == pytest.approx(0.35 / 2)
    assert expected_calibration_error([0.95, 1.0], [0, 1]) == pytest.approx(0.95 / 2)


def test_an_edge_that_floating_point_misplaces_still_opens_its_bin():
    # 0.29 * 100 is 28.999…, so scaling and cutting off would put 0.29 one bin too low.
    assert expected_calibration_error([0.29, 0.295], [1, 0], bins=100) == pytest.approx(abs(1 - 0.585) / 2)


@settings(deadline=None)
@given(FORECASTS)
def test_one_bin_compares_the_means_and_more_bins_only_add(forecasts):
    stated, happened = [p for p, _ in forecasts], [o for _, o in forecasts]
    one = expected_calibration_error(stated, happened, bins=1)
    assert one == pytest.approx(abs(sum(stated) - sum(happened)) / len(stated), abs=1e-12)
    assert one <= expected_calibration_error(stated, happened, bins=10) + 1e-12


def test_nothing_to_score_is_unavailable():
    assert brier([], []) is None
    assert expected_calibration_error([], []) is None


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"probabilities\[1\] is 1.2; give numbers from 0 to 1"):
        brier([0.5, 1.2], [True, True])
    with pytest.raises(ValueError, match=r"outcomes\[0\] is 2.0"):
        brier([0.5], [2])
    with pytest.raises(ValueError, match="probabilities has 1 values but outcomes has 2"):
        brier([0.5], [True, False])
    with pytest.raises(ValueError, match="bins is 0"):
        expected_calibration_error([0.5], [True], bins=0)


def test_quality_leaves_out_what_has_no_truth_and_says_how_much_that_was():
    found = probability_quality([0.9, 0.2, 0.4], [True, False, None])
    assert (found.queries, found.unknown, found.rate, found.mean) == (2, 1, 0.5, pytest.approx(0.55))
    assert found.brier == brier([0.9, 0.2], [True, False])
    assert found.calibration_error == expected_calibration_error([0.9, 0.2], [True, False])


def test_quality_without_any_truth_is_unavailable_and_not_zero():
    found = probability_quality([0.9], [None])
    assert (found.queries, found.unknown) == (0, 1)
    assert (found.rate, found.mean, found.brier, found.calibration_error) == (None, None, None, None)
