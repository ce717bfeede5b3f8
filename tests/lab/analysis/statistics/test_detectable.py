import math

import numpy as np
import pytest

from aquamend_lab.analysis.statistics import smallest_detectable_difference


def test_it_is_the_difference_that_a_test_of_the_mean_finds_four_times_in_five():
    """Simulated: pairs with that true mean are found at the 5 % level in about 80 % of the runs."""
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(7)
    noise = rng.normal(size=32)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 3.0
    found = smallest_detectable_difference(noise)
    draws = rng.normal(found, 3.0, size=(4000, 32))
    assert np.mean(ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.03)


def test_ten_times_the_scenes_show_a_difference_a_third_as_large():
    values = np.tile([-1.0, 1.0, 3.0, -3.0], 8)
    ratio = smallest_detectable_difference(values) / smallest_detectable_difference(np.tile(values, 10))
    assert ratio == pytest.approx(math.sqrt(10.0), rel=0.05)


def test_a_stricter_level_or_more_power_needs_a_larger_difference():
    values = [0.0, 1.0, 2.0, 5.0]
    usual = smallest_detectable_difference(values)
    assert smallest_detectable_difference(values, level=0.05 / 4) > usual
    assert smallest_detectable_difference(values, power=0.9) > usual


def test_where_there_is_no_spread_to_go_by_it_is_unavailable():
    assert smallest_detectable_difference([1.0]) is None
    assert smallest_detectable_difference([1.0, math.inf]) is None
    assert smallest_detectable_difference([1.0, 1.0]) == 0.0


@pytest.mark.parametrize(("option", "message"), [({"level": 0.0}, "level is 0.0"), ({"power": 1.0}, "power is 1.0")])
def test_what_is_no_share_is_refused(option, message):
    with pytest.raises(ValueError, match=message):
        smallest_detectable_difference([1.0, 2.0], **option)
