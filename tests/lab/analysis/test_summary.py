import json
import math
from pathlib import Path

import pytest

from aquamend.errors import InvalidRun
from aquamend_lab.analysis.metrics import METRICS, Summary, as_data, summarise, summarise_together
from aquamend_lab.analysis.statistics import Interval, ratio_bootstrap
from aquamend_lab.analysis.table import table_of
from aquamend_lab.records import Run


def record(policy="aquamend", scenario=0, seed=0, *, loss=3.0, group=None, **fields):
    return {
        "suite": "m1-v2", "scenario": scenario, "seed": seed, "policy": policy, "group": group or {}, "loss": loss,
        "success": 1.0, "expected_risk": loss, "sensing": 1.0, "rollback": 2.0, "continuation": 0.0, "residual": 0.0,
        "probes": 1, "undone": 0, "ending": "roll_back", "false_alarm": False, **fields,
    }  # fmt: skip


def refusal(policy="aquamend", scenario=0, seed=0, **fields):
    empty = dict.fromkeys(["loss", "success", "expected_risk", "sensing", "rollback", "continuation", "residual"])
    return record(policy, scenario, seed, **{**empty, "probes": None, "undone": None, "error": "too large", **fields})


def table(*records, timings=(), **manifest):
    return table_of(Run(Path("somewhere"), {"suite": "m1-v2", **manifest}, list(records), [], list(timings)))


def only(*records, **options) -> Summary:
    (found,) = summarise(table(*records, **options))
    return found


def test_groups_come_as_they_appear_and_policies_as_the_manifest_lists_them():
    records = [
        record(policy, scenario, group={"n": n})
        for scenario, n in enumerate((6, 3))
        for policy in ("extra", "restart", "aquamend")
    ]
    found = summarise(table(*records, policies=["aquamend", "never-run", "restart"]))
    assert [(s.group["n"], s.policy) for s in found] == [
        (n, policy) for n in (6, 3) for policy in ("aquamend", "restart", "extra")
    ]


def test_scenarios_count_seeds_apart_and_numbers_are_means():
    found = only(record(seed=0, loss=2.0, probes=1), record(seed=1, loss=5.0, probes=2, success=0.5))
    assert (found["scenarios"], found["errors"]) == (2, 0)
    assert (found["success"], found["mean_loss"], found["expected_risk"], found["probes"]) == (0.75, 3.5, 3.5, 1.5)


def test_a_refusal_counts_as_a_scenario_and_as_no_success_and_leaves_the_means_alone():
    found = only(record(loss=2.0), refusal(scenario=1))
    assert (found["scenarios"], found["errors"], found["success"], found["mean_loss"]) == (2, 1, 0.5, 2.0)


def test_a_policy_that_refused_everything_has_no_loss():
    found = only(refusal())
    assert (found["success"], found["mean_loss"], found.interval("mean_loss"), found["saving"]) == (
        0.0,
        None,
        None,
        None,
    )


def test_a_number_that_some_records_lack_is_unavailable():
    found = only(record(loss=2.0), record(scenario=1, loss=4.0, expected_risk=None))
    assert (found["mean_loss"], found["expected_risk"], found.interval("expected_risk")) == (3.0, None, None)


def test_an_infinite_loss_makes_the_mean_infinite():
    found = only(record(loss="inf"), record(scenario=1))
    assert found["mean_loss"] == math.inf
    assert as_data(found)["mean_loss"] == "inf"


def test_intervals_hold_the_mean():
    found = only(*(record(scenario=i, loss=float(i % 7)) for i in range(50)))
    assert found.interval("mean_loss").low < found["mean_loss"] < found.interval("mean_loss").high


def test_saving_is_against_restart_on_the_scenarios_that_both_finished():
    found = summarise(
        table(
            record("aquamend", 0, sensing=1.0, rollback=1.5, continuation=0.5, residual=50.0),
            record("aquamend", 1, sensing=0.0, rollback=900.0),
            record("restart", 0, sensing=0.0, rollback=1.0, continuation=3.0),
            refusal("restart", 1),
        )
    )
    assert [s["saving"] for s in found] == [0.25, 0.0]


NORMALISED = {"probe": 1.0, "rollback": 3.0, "unit_s": 0.2}


def test_a_normalised_loss_counts_probes_and_rollbacks_and_takes_a_restart_for_its_usual_time():
    restarts = [
        record(
            "restart", i, sensing=0.0, rollback=took, probes=0, rollbacks=2, ending="restart", success=good, residual=r
        )
        for i, (took, good, r) in enumerate([(10.0, 1.0, 0.0), (14.0, 1.0, 0.0), (90.0, 0.0, 20.0)])
    ]
    ours = [record("aquamend", i, probes=2, rollbacks=i, residual=10.0 * (i == 2)) for i in range(3)]
    found = {s.policy: s for s in summarise(table(*ours, *restarts, normalised=NORMALISED))}
    assert found["aquamend"]["normalised_loss"] == pytest.approx(2.0 + 3.0 + 10.0 / 3)
    assert found["restart"]["normalised_loss"] == pytest.approx(12.0 / 0.2 + 20.0 / 3), "the failed one is not usual"
    assert found["aquamend"]["normalised_saving"] == pytest.approx(1 - (5 + 10 / 3) / (60 + 20 / 3))
    assert found["restart"]["normalised_saving"] == 0.0


def test_without_prices_or_a_restart_that_succeeded_there_is_no_normalised_loss():
    assert only(record(rollbacks=1))["normalised_loss"] is None
    assert only(record(rollbacks=1), normalised={"probe": 1.0})["normalised_loss"] is None
    failed = record("restart", ending="restart", success=0.0, rollbacks=1)
    assert only(failed, normalised=NORMALISED)["normalised_loss"] is None


def test_without_restart_there_is_no_saving():
    assert only(record())["saving"] is None


def test_zero_rollback_is_over_false_alarms_only():
    found = only(
        record(scenario=0, undone=0, false_alarm=True),
        record(scenario=1, undone=0, false_alarm=True, success=0.0),
        record(scenario=2, undone=3, false_alarm=True),
        record(scenario=3, undone=0, false_alarm=False),
        record(scenario=4, undone=0, false_alarm=None),
    )
    assert found["zero_rollback_rate"] == pytest.approx(2 / 3)
    assert found["zero_rollback_and_success_rate"] == pytest.approx(1 / 3)


def test_a_restart_on_a_false_alarm_is_no_zero_rollback():
    assert only(record("restart", undone=0, false_alarm=True, ending="restart"))["zero_rollback_rate"] == 0.0


def test_without_false_alarms_zero_rollback_is_unavailable():
    assert only(record())["zero_rollback_rate"] is None


def test_timings_are_medians_of_what_was_timed():
    timings = [
        {"suite": "m1-v2", "scenario": i, "seed": 0, "policy": policy, "decision_ms": ms, "peak_kib": None}
        for policy, times in (("aquamend", (1.0, 9.0, 2.0)), ("restart", (100.0,)))
        for i, ms in enumerate(times)
    ]
    found = only(*(record(scenario=i) for i in range(5)), timings=timings)
    assert (found["decision_ms"], found["peak_kib"]) == (2.0, None)


def test_estimators_are_summarised_by_their_error():
    def estimate(scenario, exact, estimate, disjoint):
        return {
            "suite": "m1-proxy-v2", "scenario": scenario, "seed": 0, "policy": "beam-32",
            "group": {"mode": "correlated"}, "exact": exact, "estimate": estimate, "disjoint": disjoint,
        }  # fmt: skip

    found = only(estimate(0, 1.0, 2.0, False), estimate(1, 3.0, 3.0, True), estimate(2, 2.0, 1.5, True))
    assert (found["mean_absolute_error"], found["normalised_error"]) == (0.5, 0.25)
    assert found.interval("normalised_error") == ratio_bootstrap([1.0, 0.0, 0.5], [1.0, 3.0, 2.0])
    assert found["disjoint_states"] == 2
    assert found["disjoint_mean_absolute_error"] == 0.25
    assert found["disjoint_normalised_error"] == pytest.approx(0.1)
    assert (found["success"], found["mean_loss"], found["saving"], found["zero_rollback_rate"]) == (
        None,
        None,
        None,
        None,
    )


def test_data_has_the_same_keys_for_every_suite_and_null_where_unavailable():
    data = as_data(only(record(group={"n": 6}, scenario=4)))
    assert list(data)[:8] == [
        "suite", "group", "unit", "policy", "scenarios", "errors", "missing", "success",
    ]  # fmt: skip
    assert set(data) == {"suite", "group", "unit", "policy", *METRICS} | {
        f"{key}_interval" for key in ("success", "mean_loss", "expected_risk", "normalised_error", "normalised_loss")
    }
    assert (data["group"], data["mean_loss"], data["mean_loss_interval"]) == ({"n": 6}, 3.0, [3.0, 3.0])
    assert data["saving"] is None
    assert data["normalised_error"] is None
    json.dumps(data, allow_nan=False)


def test_an_infinite_end_of_an_interval_is_written_as_text():
    summary = only(*(record(scenario=i, loss="inf" if i == 0 else 1.0) for i in range(3)))
    assert summary.interval("mean_loss") == Interval(1.0, math.inf)
    assert as_data(summary)["mean_loss_interval"] == [1.0, "inf"]


def test_a_run_without_records_has_no_summaries():
    assert summarise(table()) == []


@pytest.mark.parametrize("bad", ["much", [1.0], "nan"])
def test_what_is_no_number_is_reported_with_its_scenario(bad):
    with pytest.raises(InvalidRun, match=r"^somewhere: scenario 7, seed 2, aquamend: '\w+' is .* no number"):
        as_data(only(record(scenario=7, seed=2, loss=bad)))


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [("loss", "-inf", "less than anything"), ("success", 1.5, "not between 0 and 1"), ("undone", 10**400, "no number")],
)
def test_what_cannot_have_been_measured_is_reported_with_its_folder(field, value, fault):
    with pytest.raises(InvalidRun, match=rf"^somewhere: scenario 0, seed 0, aquamend: '{field}' is .*{fault}"):
        as_data(only(record(**{"expected_risk": None, field: value})))


def test_scenarios_that_another_policy_has_and_this_one_lacks_are_missing():
    found = summarise(table(record("a", 0), record("a", 1), record("b", 0), refusal("b", 1), record("c", 1)))
    assert [(s.policy, s.missing) for s in found] == [("a", 0), ("b", 1), ("c", 1)]


def test_the_gap_to_the_oracle_needs_the_same_scenarios():
    records = [record("oracle", i, loss=1.0) for i in range(2)] + [record("a", i, loss=3.0) for i in range(2)]
    found = summarise(table(*records, record("b", 0, loss=3.0), record("c", 1), refusal("c", 0)))
    assert [s["gap_to_oracle"] for s in found] == [0.0, 2.0, None, None]


def test_handing_over_is_counted_where_every_record_has_one_ending():
    endings = ("escalate", "roll_back", "escalate", "continue")
    assert only(*(record(scenario=i, ending=ending) for i, ending in enumerate(endings)))["escalation_rate"] == 0.5
    assert only(record(ending="escalate"), record(scenario=1, ending=None))["escalation_rate"] is None


def test_only_records_with_a_budget_can_go_over_it():
    over = (True, False, False, None)
    assert only(*(record(scenario=i, over_budget=o) for i, o in enumerate(over)))["over_budget_rate"] == 1 / 3
    assert only(record(over_budget=None))["over_budget_rate"] is None


def causes(policy="aquamend"):
    message = (("external", "external"), ("self_error", "external"), ("false_alarm", "false_alarm"))
    return [record(policy, i, cause=cause, attributed=attributed) for i, (cause, attributed) in enumerate(message)]


def test_attribution_is_scored_over_the_causes_that_occur_and_over_all_four():
    found = only(*causes())
    assert found["attribution_precision"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert found["attribution_recall"] == pytest.approx(2 / 3)
    assert found["attribution_precision_strict"] == pytest.approx(1.5 / 4)
    assert found["attribution_recall_strict"] == pytest.approx(2 / 4)
    assert found["causes"] == 2


def test_who_is_told_the_truth_or_does_not_say_has_no_attribution():
    assert only(*causes("oracle"))["attribution_precision"] is None
    assert only(*causes(), record(scenario=9))["attribution_recall"] is None


def test_an_unresolved_attribution_names_no_cause():
    found = only(*causes(), record(scenario=9, cause="external", attributed="unresolved"))
    assert found["attribution_precision"] == only(*causes())["attribution_precision"]
    assert found["attribution_recall"] < only(*causes())["attribution_recall"]
    with pytest.raises(InvalidRun, match="cause 'unresolved'"):
        as_data(only(record(cause="unresolved", attributed="external")))


def test_a_cause_that_there_is_not_is_reported_with_its_record():
    with pytest.raises(InvalidRun, match=r"scenario 0, seed 0, aquamend: cause 'martians', attributed 'external'"):
        as_data(only(record(cause="martians", attributed="external")))


def test_groups_taken_together_are_one_summary_a_policy_over_all_scenarios():
    records = [
        record(policy, scenario, loss=loss, group={"factor": factor})
        for policy, losses in (("aquamend", (1.0, 2.0, 6.0)), ("restart", (4.0, 4.0, 4.0)))
        for scenario, (factor, loss) in enumerate(zip(("a", "b", "b"), losses, strict=True))
    ]
    found = summarise_together(table(*records))
    assert [(s.policy, s.group, s["scenarios"], s["mean_loss"]) for s in found] == [
        ("aquamend", {}, 3, 3.0), ("restart", {}, 3, 4.0),
    ]  # fmt: skip
    assert [s["mean_loss"] for s in summarise(table(*records)) if s.policy == "aquamend"] == [1.0, 4.0]


def test_a_refusal_is_a_failure_in_the_interval_of_success_too():
    assert only(record(), refusal(scenario=1)).interval("success") == Interval(0.0, 1.0)
    assert only(record(), record(scenario=1)).interval("success") == Interval(1.0, 1.0)
