"""Which groups belong together."""

import pytest

from aquamend_lab.analysis.table import USUAL_KINDS, pooled, stratified


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
    assert pooled(groups, USUAL_KINDS) is strata


def test_kinds_are_what_a_suite_declares():
    groups = [{"cup": "A"}, {"cup": "B"}]
    assert not pooled(groups, USUAL_KINDS)
    assert pooled(groups, {"cup": "kind"})
    assert not pooled(groups, {"cup": "setting"})


def test_only_what_was_drawn_in_fixed_numbers_is_stratified():
    assert stratified([{"stage": "early"}, {"stage": "late"}], USUAL_KINDS)
    assert not stratified([{"factor": "a"}, {"factor": "b"}], USUAL_KINDS)
    assert not stratified([{"stage": "early"}], USUAL_KINDS)
