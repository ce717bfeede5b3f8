"""Paired comparisons: who is compared, and what is said of it."""

import pytest
from tests.analysis.report.conftest import losses

from aquamend.analysis.report.grid import grid_of
from aquamend.analysis.report.paired import comparisons, in_words, paired_table, verdict


def compared(run, metric="loss"):
    return comparisons(run, grid_of(run).policies, metric=metric)


def test_aquamend_meets_every_policy_but_itself_and_the_oracles(m1):
    assert [one.second for one in compared(m1)] == ["exact", "all-candidates", "restart"]


def test_a_tie_is_called_a_tie(m1):
    twin = next(one for one in compared(m1) if one.second == "all-candidates")
    assert verdict(twin) == "tie on every scenario"
    assert "AquaMend ties on every scenario with AquaMend, all candidates" in in_words([twin], metric="loss")


def test_few_scenarios_tell_nothing_apart(m1):
    exact = next(one for one in compared(m1) if one.second == "exact")
    assert verdict(exact) == "not told apart"


def test_a_clear_difference_has_a_direction(make):
    better = make(losses("aquamend", [1.0] * 12), losses("restart", [2.0 + i for i in range(12)]))
    assert verdict(compared(better)[0]) == "lower"
    worse = make(losses("aquamend", [99.0] * 12), losses("restart", [2.0 + i for i in range(12)]))
    assert in_words(compared(worse), metric="loss") == "AquaMend has higher realised loss than Restart."


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ([-0.1] * 20 + [5.0] * 10, "mean lower, ranks not told apart"),
        ([-0.1] * 90 + [5.0] * 10, "mean lower, but higher more often"),
        ([0.1] * 90 + [-5.0] * 2, "lower more often, means not told apart"),
    ],
)
def test_mean_and_ranks_are_not_passed_off_as_each_other(make, theirs, said):
    run = make(losses("aquamend", [0.0] * len(theirs)), losses("greedy", theirs))
    assert verdict(compared(run)[0]) == said
    assert "not told apart from" not in in_words(compared(run), metric="loss")
    assert in_words(compared(run), metric="loss").endswith("than Greedy re-probe.")


def test_p_values_are_adjusted_over_the_policies_of_a_group(m1):
    found = compared(m1)
    assert min(one.p_holm / one.p_value for one in found) >= 1.0
    restart = next(one for one in found if one.second == "restart")
    assert restart.p_holm == min(1.0, 3 * restart.p_value)


def test_groups_have_families_of_their_own_and_stand_apart(depth):
    table = paired_table(compared(depth), metric="loss")
    assert [row[0].text for row in table.rows] == ["all", "n = 3", "n = 4"]
    assert (table.header, table.breaks) == (1, {1, 2})


def test_a_run_without_aquamend_compares_nothing(make):
    assert compared(make(losses("exact", [1.0]), losses("restart", [2.0]))) == []


def test_scenarios_that_only_one_side_has_are_counted(make):
    run = make(losses("aquamend", [1.0, 2.0]), losses("restart", [3.0]))
    table = paired_table(compared(run), metric="loss")
    assert (table.columns[-1].title, table.rows[0][-1].text) == ("unpaired", "1")
