"""Which groups belong together."""

import pytest

from aquamend.analysis.groups import are_strata, repeat_scenarios


@pytest.mark.parametrize(
    ("groups", "strata"),
    [
        ([{"factor": "common cause"}, {"factor": "combined"}], True),
        ([{"factor": "combined"}], False),  # one group is all there is
        ([{"n": 3}, {"n": 4}], False),
        ([{"setting": "standard"}, {"setting": "chain graph"}], False),
        ([{"factor": "combined", "n": 3}, {"factor": "combined", "n": 4}], False),
        ([{}, {"factor": "combined"}], False),
        ([], False),
    ],
)
def test_only_kinds_of_scenarios_are_worth_a_mean_together(groups, strata):
    assert are_strata(groups) is strata


def test_settings_repeat_scenarios_and_sizes_do_not():
    assert repeat_scenarios([{"setting": "standard"}, {"setting": "chain graph"}])
    assert not repeat_scenarios([{"n": 3}, {"n": 4}])
    assert not repeat_scenarios([{"setting": "standard"}])
