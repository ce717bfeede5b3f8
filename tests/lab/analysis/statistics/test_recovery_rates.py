import math

import pytest

from aquamend_lab.analysis.statistics import operational_saving, zero_rollback_and_success_rate, zero_rollback_rate


def test_the_paper_s_saving_is_reproduced():
    assert round(operational_saving([1823.386], [2450.906]), 3) == 0.256


def test_saving_is_a_ratio_of_sums():
    assert operational_saving([1.0, 1.0], [2.0, 8.0]) == pytest.approx(0.8)


def test_spending_more_than_a_restart_is_a_negative_saving():
    assert operational_saving([3.0], [2.0]) == pytest.approx(-0.5)


@pytest.mark.parametrize(("costs", "restart"), [([], []), ([1.0], [0.0]), ([math.inf], [math.inf])])
def test_a_ratio_that_does_not_exist_is_unavailable(costs, restart):
    assert operational_saving(costs, restart) is None


def test_an_infinite_cost_is_an_infinite_overspending():
    assert operational_saving([math.inf], [2.0]) == -math.inf


def test_only_false_alarms_count():
    assert zero_rollback_rate([0, 2, 0, 0], [True, True, False, None]) == 0.5
    assert zero_rollback_and_success_rate([0, 0, 2, 0], [True, True, True, False], [1, 0, 1, 1]) == pytest.approx(1 / 3)


def test_without_false_alarms_the_rates_are_unavailable():
    assert zero_rollback_rate([0, 1], [False, None]) is None
    assert zero_rollback_and_success_rate([], [], []) is None


def test_samples_of_different_length_are_refused():
    with pytest.raises(ValueError, match="costs has 1 values but restart_costs has 2"):
        operational_saving([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="undone has 1 values but false_alarm has 0"):
        zero_rollback_rate([0], [])
    with pytest.raises(ValueError, match="success has 1 values but undone has 2"):
        zero_rollback_and_success_rate([0, 0], [True, True], [1])
