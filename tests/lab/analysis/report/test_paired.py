"""Paired comparisons: who is compared, and what is said of it."""

import pytest
from tests.lab.analysis.report.conftest import losses

from aquamend_lab.analysis.comparison import verdict_of
from aquamend_lab.analysis.report.paired import (
    comparisons,
    comparisons_in_words,
    over_all,
    paired_table,
    verdict_in_brief,
)
from aquamend_lab.analysis.table import table_of


def compared(run):
    return comparisons(table_of(run), metric="loss")


def said(one):
    return verdict_in_brief(verdict_of(one))


def test_aquamend_meets_every_policy_but_itself_and_the_oracles(m1):
    assert [one.second for one in compared(m1)] == ["exact", "all-candidates", "restart"]


def test_a_tie_is_called_a_tie(m1):
    twin = next(one for one in compared(m1) if one.second == "all-candidates")
    assert said(twin) == "tie on every scenario"
    assert "AquaMend ties on every scenario with AquaMend, all candidates" in comparisons_in_words([twin])


def test_few_scenarios_tell_nothing_apart(m1):
    exact = next(one for one in compared(m1) if one.second == "exact")
    assert said(exact) == "no difference established"


def test_a_clear_difference_has_a_direction(make):
    better = make(losses("aquamend", [1.0] * 12), losses("restart", [2.0 + i for i in range(12)]))
    assert said(compared(better)[0]) == "lower"
    worse = make(losses("aquamend", [99.0] * 12), losses("restart", [2.0 + i for i in range(12)]))
    assert comparisons_in_words(compared(worse)) == "AquaMend has higher realised loss than Restart."


@pytest.mark.parametrize(
    ("theirs", "words", "sentence"),
    [
        (
            [-0.1] * 20 + [5.0] * 10,
            "lower on average only",
            "On average AquaMend has lower realised loss than Greedy re-probe, but scenario by scenario no difference "
            "is established.",
        ),
        (
            [-0.1] * 90 + [5.0] * 10,
            "lower on average, higher scenario by scenario",
            "On average AquaMend has lower realised loss than Greedy re-probe, but scenario by scenario higher.",
        ),
        (
            [0.1] * 90 + [-5.0] * 2,
            "lower scenario by scenario only",
            "Scenario by scenario AquaMend has lower realised loss than Greedy re-probe, but on average no difference "
            "is established.",
        ),
        (
            ["inf", 1.0],
            "finite where the other is infinite",
            "On some scenarios realised loss is infinite for Greedy re-probe but not for AquaMend.",
        ),
    ],
)
def test_mean_and_ranks_are_not_passed_off_as_each_other(make, theirs, words, sentence):
    run = make(losses("aquamend", [0.0] * len(theirs)), losses("greedy", theirs))
    (found,) = compared(run)
    assert (said(found), comparisons_in_words([found])) == (words, sentence)


def test_p_values_are_adjusted_over_the_policies_of_a_group(m1):
    found = compared(m1)
    assert min(one.p_holm / one.p_value for one in found) >= 1.0
    restart = next(one for one in found if one.second == "restart")
    assert restart.p_holm == min(1.0, 3 * restart.p_value)


def test_groups_have_families_of_their_own_and_stand_apart(depth):
    table = paired_table(compared(depth))
    assert [row[0].text for row in table.rows] == ["n = 3", "n = 4"]
    assert (table.header, table.breaks) == (1, {1})


def test_a_run_without_aquamend_compares_the_first_policy_that_is_not_told_the_truth(make):
    run = make(losses("oracle", [0.5]), losses("exact", [1.0]), losses("restart", [2.0]))
    assert [(one.first, one.second) for one in compared(run)] == [("exact", "restart")]
    assert paired_table(compared(run)).columns[1].title == "Exact adaptive"


def test_where_a_suite_has_one_group_it_is_all_there_is_and_sizes_are_never_taken_together(make, depth):
    only = make(*([line | {"group": {"n": 6}} for line in losses(name, [1.0])] for name in ("aquamend", "exact")))
    assert [one.group for one in over_all(compared(only))] == [{"n": 6}]
    assert over_all(compared(depth)) == []


def test_scenarios_that_only_one_side_has_are_counted(make):
    run = make(losses("aquamend", [1.0, 2.0]), losses("restart", [3.0]))
    table = paired_table(compared(run))
    assert (table.columns[-1].title, table.rows[0][-1].text) == ("unpaired", "1")


def test_a_comparison_on_fewer_scenarios_says_on_how_many(make):
    run = make(losses("aquamend", [1.0, 2.0, 3.0]), losses("exact", [1.0, 2.0]), losses("restart", [1.0, 2.0, 3.0]))
    assert comparisons_in_words(compared(run)) == (
        "AquaMend ties on every scenario with Restart. "
        "AquaMend ties on every scenario with Exact adaptive (on the 2 scenarios that both have)."
    )


def test_families_are_corrected_apart_and_named(stress):
    whole = over_all(compared(stress))
    table = paired_table(whole)
    assert [[cell.text for cell in row[:2]] for row in table.rows] == [
        ["designated", "Restart"], ["traditional", "Blind retry"], ["ours", "No re-probe"],
    ]  # fmt: skip
    assert (table.header, table.breaks) == (1, {1, 2})
    assert "policies of the same family" in table.caption
    assert all(one.p_holm == one.p_value for one in whole)  # each is alone in its family


def test_settings_repeat_the_same_scenarios_so_they_are_never_tested_together(make):
    def lines(name):
        return [line | {"group": {"setting": f"s{line['scenario'] % 2}"}} for line in losses(name, [1.0, 2.0])]

    assert [one.group for one in compared(make(lines("aquamend"), lines("greedy")))] == [
        {"setting": "s0"}, {"setting": "s1"},
    ]  # fmt: skip
