import math
from pathlib import Path

import pytest

from aquamend.errors import InvalidRun, UnknownName
from aquamend_lab.analysis.comparison import adjusted, compare, side
from aquamend_lab.analysis.comparison_text import as_data, detectable, left_out, p_text, verdict
from aquamend_lab.analysis.statistics import holm, paired_bootstrap, signed_rank, smallest_detectable_difference
from aquamend_lab.analysis.table import table_of
from aquamend_lab.records import Run


def record(policy, scenario, loss, *, seed=0, group=None, **fields):
    return {
        "suite": "m1-v2", "scenario": scenario, "seed": seed, "policy": policy, "group": group or {}, "loss": loss,
        **fields,
    }  # fmt: skip


def table(records, suite="m1-v2", folder="runs/one"):
    return table_of(Run(Path(folder), {"suite": suite}, list(records), [], []))


def paired(ours, theirs, *, metric="loss", drivers=5, **fields):
    """Return the comparison of two lists of losses."""
    records = [
        record(name, i, loss, **fields) for name, side in (("a", ours), ("b", theirs)) for i, loss in enumerate(side)
    ]
    run = table(records)
    (found,) = compare(side(run, "a"), side(run, "b"), metric=metric, drivers=drivers)
    return found


def test_differences_are_first_minus_second_so_negative_favours_the_first():
    found = paired([1.0, 2.0, 3.0, 9.0], [2.0, 2.0, 5.0, 8.0])
    assert (found.pairs, found.wins, found.ties, found.losses) == (4, 2, 1, 1)
    assert found.mean_difference == -0.5


def test_the_statistics_are_those_of_the_differences():
    found = paired([1.0, 2.0, 3.0, 9.0], [2.0, 2.0, 5.0, 8.0])
    differences = [-1.0, 0.0, -2.0, 1.0]
    assert found.p_value == signed_rank(differences).p_value
    assert found.interval == paired_bootstrap(differences)


def test_a_difference_beyond_nine_decimals_is_a_tie():
    found = paired([1.0, 1.0], [1.0 + 1e-12, 1.0])
    assert (found.wins, found.ties, found.drivers) == (0, 2, ())
    assert verdict(found) == "A tie: all 2 differences are zero."


def test_pairs_share_seed_and_scenario_whatever_the_order_of_the_records():
    records = [record("a", 1, 1.0), record("a", 0, 2.0), record("a", 0, 7.0, seed=1)]
    records += [record("b", 0, 7.0, seed=1), record("b", 0, 2.5), record("b", 1, 1.25)]
    run = table(records)
    (found,) = compare(side(run, "a"), side(run, "b"))
    assert [(d.seed, d.scenario, d.difference) for d in found.drivers] == [(0, 0, -0.5), (0, 1, -0.25)]


def test_kinds_are_compared_together_first_and_then_one_by_one():
    records = [
        record(name, i, loss + i, group={"factor": "ab"[i % 2]})
        for name, loss in (("a", 1.0), ("b", 2.0))
        for i in range(6)
    ]
    run = table(records)
    found = compare(side(run, "a"), side(run, "b"))
    assert [(one.group, one.pairs) for one in found] == [(None, 6), ({"factor": "a"}, 3), ({"factor": "b"}, 3)]
    family = holm({str(i): one.p_value for i, one in enumerate(found)})
    assert [one.p_holm for one in found] == list(family.values())


def in_units(*units, kind="problem", metric="loss", losses=(1.0, 2.0), **fields):
    """Return what two policies lose on two scenarios of each of several problems, each in its unit."""
    records = [
        record(name, k, loss, group={"problem": f"p{k}"}, seed=seed, expected_risk=loss, **fields)
        for name, loss in zip("ab", losses, strict=True)
        for k in range(len(units))
        for seed in range(2)
    ]
    unit = {"problem": {f"p{k}": unit for k, unit in enumerate(units)}}
    manifest = {"suite": "folder", "groups": {"problem": kind}, "unit": unit}
    run = table_of(Run(Path("runs/folder"), manifest, records, [], []))
    return compare(side(run, "a"), side(run, "b"), metric=metric)


@pytest.mark.parametrize("groups", [{"n": "size"}, {"n": "setting"}, {"n": "problem"}])
def test_what_was_varied_on_purpose_is_never_taken_together(groups):
    records = [record(name, i, 1.0 + i, group={"n": i % 2}) for name in "ab" for i in range(6)]
    run = table_of(Run(Path("runs/one"), {"suite": "m1-v2", "groups": groups}, records, [], []))
    assert [one.group for one in compare(side(run, "a"), side(run, "b"))] == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize("kind", ["problem", "size", "kind", "stratum"])
def test_losses_in_different_units_are_never_taken_together_whatever_a_suite_declares(kind):
    found = in_units("min", "EUR", "s", kind=kind)
    assert [(one.group, one.unit) for one in found] == [
        ({"problem": "p0"}, "min"), ({"problem": "p1"}, "EUR"), ({"problem": "p2"}, "s"),
    ]  # fmt: skip
    assert verdict(found[1]).startswith("a loses 1 EUR less on average")


def test_kinds_in_one_unit_are_taken_together_in_that_unit():
    whole, *_ = in_units("min", "min", kind="kind")
    assert (whole.group, whole.unit, whole.pairs) == (None, "min", 4)


def test_what_is_expected_on_one_problem_is_exact_and_no_sample():
    (found,) = in_units("min", metric="expected_risk")
    assert (found.pairs, found.mean_difference, found.interval, found.p_value) == (1, -1.0, None, None)
    assert verdict(found) == "a has 1 min less expected risk, exactly."
    (same,) = in_units("min", metric="expected_risk", losses=(2.0, 2.0))
    assert verdict(same) == "Exactly the same."


def test_refusals_and_missing_records_are_left_out_and_counted():
    records = [record("a", i, 1.0) for i in range(3)]
    records += [record("b", 0, 2.0), record("b", 1, None, error="too large")]
    run = table(records)
    (found,) = compare(side(run, "a"), side(run, "b"))
    assert (found.pairs, found.unpaired, found.first_errors, found.second_errors) == (1, 2, 0, 1)
    assert (
        left_out(found) == "2 of 3 scenarios lack one of the two numbers (b refused or failed on 1) and are left out."
    )


def test_the_metric_may_be_the_expected_risk():
    records = [record("a", 0, 9.0, expected_risk=1.0), record("b", 0, 9.0, expected_risk=3.0)]
    run = table(records)
    (found,) = compare(side(run, "a"), side(run, "b"), metric="expected_risk")
    assert found.mean_difference == -2.0
    assert verdict(found).startswith("a has 2 less expected risk on average")


def test_without_the_metric_there_is_nothing_to_compare():
    found = paired([1.0], [2.0], metric="expected_risk")
    assert (found.pairs, found.unpaired, found.mean_difference, found.interval, found.p_value) == (
        0,
        1,
        None,
        None,
        None,
    )
    assert verdict(found) == "No scenario could be compared."


def test_drivers_are_the_largest_differences_with_their_share_and_steps():
    found = paired([1.0, 4.0, 2.0], [2.0, 1.0, 2.0], drivers=2, steps=["p1: off"])
    assert [(d.scenario, d.difference, d.share) for d in found.drivers] == [(1, 3.0, 0.75), (0, -1.0, 0.25)]
    assert found.drivers[0].first_steps == ("p1: off",)
    assert (found.drivers[0].first, found.drivers[0].second) == (4.0, 1.0)


def test_two_infinite_losses_tie():
    found = paired(["inf", 1.0], ["inf", 2.0])
    assert (found.wins, found.ties, found.mean_difference) == (1, 1, -0.5)


def test_an_infinite_loss_against_a_finite_one_is_a_loss_without_a_share():
    found = paired(["inf", 1.0], [2.0, 2.0])
    assert (found.losses, found.mean_difference) == (1, math.inf)
    assert found.drivers[0].share is None
    assert verdict(found).startswith("a has infinite realised loss where b has not; 0 of 2 scenarios tie.")
    assert as_data(found)["mean_difference"] == "inf"


def test_infinities_on_both_sides_leave_no_mean():
    found = paired(["inf", 1.0], [2.0, "inf"])
    assert (found.mean_difference, found.interval) == (None, None)
    assert "each have infinite realised loss" in verdict(found)


def test_significance_is_not_claimed_at_five_percent_or_more():
    found = paired([1.0] * 5 + [9.0], [2.0] * 5 + [1.0])
    assert found.p_value > 0.05
    assert verdict(found) == (
        "b loses 0.5 less on average; 0 of 6 scenarios tie. "
        "That may be chance (exact p = 0.5312): no difference is established."
    )


def test_significance_is_claimed_below_five_percent():
    found = paired([2.0] * 6 + [1.0], [1.0] * 6 + [1.0])  # 2 / 2^6
    assert verdict(found) == (
        "b loses 0.857 less on average; 1 of 7 scenarios ties. "
        "The difference is statistically significant (exact p = 0.0312)."
    )


def test_what_is_not_significant_after_correction_is_not_claimed():
    one = paired([2.0] * 6, [1.0] * 6)
    family = adjusted([one, one])
    assert [f.p_holm for f in family] == [0.0625, 0.0625]
    assert "no difference is established (exact p = 0.0625 after Holm's correction)" in verdict(family[0])


def test_ranks_that_point_the_other_way_than_the_mean_are_not_passed_off_as_its_significance():
    found = paired([0.0] * 20 + [40.0], [1.0] * 20 + [0.0])
    assert verdict(found) == (
        "b loses 0.952 less on average; 0 of 21 scenarios tie. But scenario by scenario a has less on 20 "
        "and more on 1, and the ranks favour it (exact p = 0.0002); the interval of the average includes zero."
    )
    turned = verdict(paired([1.0] * 20 + [0.0], [0.0] * 20 + [40.0]))
    assert turned.startswith("a loses 0.952 less on average; 0 of 21 scenarios tie. But scenario by scenario b")


def test_ranks_may_favour_who_wins_less_often():
    found = paired([0.0] * 7 + [5.0] * 8, [9.0 + i for i in range(7)] + [5.0 - 0.1 * i for i in range(1, 9)])
    assert (found.wins, found.losses) == (7, 8)
    positive, negative = found.rank_sums
    assert negative > positive


def test_data_have_the_rank_sums_and_the_finding():
    data = as_data(paired([1.0, 2.0, 4.0], [2.0, 2.0, 1.0]))
    assert (data["rank_sums"], data["finding"], data["group"]) == ([2.0, 1.0], "open", None)
    assert data["first"] == {"policy": "a", "run": "runs/one"}
    assert not {"policies", "runs"} & set(data)


def test_estimators_are_compared_by_how_far_they_are_off():
    records = [record(name, 0, None, exact=4.0, estimate=value) for name, value in (("a", 3.0), ("b", 6.0))]
    run = table(records)
    (found,) = compare(side(run, "a"), side(run, "b"), metric="error")
    assert (found.drivers[0].first, found.drivers[0].second, found.mean_difference) == (1.0, 2.0, -1.0)


def test_scenarios_without_a_group_among_others_are_a_group_of_their_own():
    run = table([record(name, i, 1.0, group={"n": 3} if i else None) for name in "ab" for i in range(2)])
    assert [one.group for one in compare(side(run, "a"), side(run, "b"))] == [{}, {"n": 3}]


def test_a_policy_the_run_lacks_is_named_with_those_it_has():
    with pytest.raises(UnknownName, match="unknown policy 'c'; valid names: 'a'"):
        side(table([record("a", 0, 1.0)]), "c")


def test_runs_of_different_suites_are_not_compared():
    first = side(table([record("a", 0, 1.0)]), "a")
    second = side(table([record("a", 0, 1.0)], suite="other-v1", folder="runs/two"), "a")
    with pytest.raises(InvalidRun, match="runs/two: its suite is 'other-v1', that of runs/one is 'm1-v2'"):
        compare(first, second)


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "< 0.0001"), (2.02e-5, "< 0.0001"), (0.04567, "0.0457"), (1.0, "1.0000"), (None, "–")]
)
def test_p_values_show_the_digits_that_matter(p, text):
    assert p_text(p) == text


def test_a_comparison_says_what_it_could_have_detected():
    differences = [1.0, -2.0, 3.0, 0.0, -1.5, 2.5]
    found = paired(differences, [0.0] * 6)
    assert found.detectable == smallest_detectable_difference(differences)  # (2.571 + 0.920) · 2.049 / √6
    assert detectable(found) == "Pairs as scattered as these show a true mean difference of 2.92 four times in five."
    assert as_data(found)["detectable"] == found.detectable
    assert detectable(paired([1.0, 1.0], [2.0, 2.0])) == ""


def test_one_part_of_the_loss_may_be_left_out_of_a_comparison():
    parts = {"sensing": 1.0, "rollback": 2.0, "residual": 0.0}
    records = [
        record(name, i, 3.0 + noise + extra, **parts | {"continuation": noise, "sensing": 1.0 + extra})
        for name, extra in (("a", 0.0), ("b", 0.5))
        for i, noise in enumerate((5.0, 50.0, 20.0) if name == "a" else (40.0, 2.0, 30.0))
    ]
    run = table(records)
    (whole,) = compare(side(run, "a"), side(run, "b"))
    (rest,) = compare(side(run, "a"), side(run, "b"), metric="loss_without_continuation")
    assert (rest.mean_difference, rest.interval) == (-0.5, (-0.5, -0.5))
    assert whole.interval.low < 0.0 < whole.interval.high
    assert rest.detectable < 1e-9 < whole.detectable


def test_a_metric_that_there_is_not_is_reported():
    run = table([record("a", 0, 1.0)])
    with pytest.raises(UnknownName, match="unknown metric 'luck'; valid names: 'expected_risk', 'loss'"):
        compare(side(run, "a"), side(run, "a"), metric="luck")
