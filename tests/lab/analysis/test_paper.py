"""The paper's numbers are the paper's, under the names our suites use."""

import pytest

from aquamend_lab.analysis.paper import PAPER_TABLES, differences_from_paper, family_order, holm_family, paper_table
from aquamend_lab.analysis.statistics import holm


@pytest.mark.parametrize(
    ("policy", "loss", "risk"),
    [("exact", 8.560, 9.253), ("aquamend", 8.594, 9.290), ("veritrace", 18.323, 18.226), ("oracle", 7.406, None)],
)
def test_m1_is_as_printed(policy, loss, risk):
    row = paper_table("m1-v2").row(policy, {})
    assert (row.get("mean_loss"), row.get("expected_risk")) == (loss, risk)


@pytest.mark.parametrize(
    ("suite", "column", "total"),
    [
        ("m1-v2", "mean_loss", 100.998), ("m1-v2", "expected_risk", 97.674), ("m1-v2", "gap_to_oracle", 34.344),
        ("m1-depth-v1", "success", 8.8), ("m1-depth-v1", "mean_loss", 58.946), ("m1-depth-v1", "expected_risk", 58.946),
        ("m1-depth-v1", "decision_ms", 188.716), ("m1-depth-v1", "peak_kib", 4762.6),
        ("m1-proxy-v2", "normalised_error", 3 * 0.607),
        ("t4-v3", "success", 7.148), ("t4-v3", "mean_loss", 197.28), ("t4-v3", "probes", 15.16),
        ("t4-v3", "undone", 13.36), ("t4-v3", "zero_rollback_rate", 9.0),
        ("pouring-v3", "success", 4.625), ("pouring-v3", "mean_loss", 395.155), ("pouring-v3", "sensing", 2.463),
        ("pouring-v3", "rollback", 58.111), ("pouring-v3", "continuation", 238.644), ("pouring-v3", "residual", 95.938),
        ("pouring-v3", "saving", 1.094), ("pouring-v3", "probes", 3.876), ("pouring-v3", "rollbacks", 6.093),
        ("pouring-v3", "branches", 59554), ("q1-v3", "mean_loss", 321.805),
        ("pouring-80-v3", "normalised_loss", 382.07),
        ("t4-stress-v3", "success", 4.607), ("t4-stress-v3", "mean_loss", 523.52), ("t4-stress-v3", "probes", 21.72),
        ("t4-stress-v3", "undone", 22.12), ("t4-stress-v3", "over_budget_rate", 0.808),
        ("t4-irreversible-v3", "mean_loss", 12.04), ("t4-irreversible-v3", "escalation_rate", 2.0),
        ("t4-ablation-v3", "mean_loss", 86.814), ("t4-ablation-v3", "success", 7.227),
        ("t4-settings-v3", "mean_loss", 38.33), ("t4-settings-v3", "success", 5.435),
    ],
)  # fmt: skip
def test_every_column_adds_up_as_printed(suite, column, total):
    values = [row.get(column) for row in paper_table(suite).rows]
    assert sum(value for value in values if value is not None) == pytest.approx(total, abs=1e-9)


def test_the_gaps_of_m1_are_the_differences_to_its_oracle():
    rows = paper_table("m1-v2").rows
    assert [row.get("gap_to_oracle") for row in rows] == [
        pytest.approx(row.get("mean_loss") - 7.406, abs=1e-9) for row in rows
    ]


def test_m1_depth_is_as_printed():
    row = paper_table("m1-depth-v1").row("lookahead-3", {"n": 5})
    assert tuple(map(row.get, ("success", "expected_risk", "decision_ms", "peak_kib"))) == (0.400, 3.815, 10.646, 358.9)


def test_proxy_errors_belong_to_the_small_support_and_to_any_number_of_samples():
    table = paper_table("m1-proxy-v2")
    small = {"mode": "correlated", "support": "small", "failed": "1.67"}
    assert table.row("independent", small).get("normalised_error") == 0.29028
    assert table.row("independent", small | {"failed": "0.8"}).get("normalised_error") == 0.29028
    assert table.row("monte-carlo-500", small).get("normalised_error") == 0.01557
    assert table.row("independent", small | {"support": "large"}) is None


def test_a_policy_the_paper_did_not_run_has_no_row():
    assert paper_table("m1-v2").row("lookahead-3", {}) is None


def test_a_new_version_of_a_suite_keeps_its_table_and_another_suite_has_none():
    assert paper_table("m1-v2") is paper_table("m1-v9")
    assert paper_table("m1-depth-scaled-v1") is None
    assert differences_from_paper("m1-depth-scaled-v1") == ()


def test_every_table_of_the_paper_says_why_ours_differ():
    assert all(differences_from_paper(table.family) for table in PAPER_TABLES)


def test_no_table_has_a_row_twice():
    for table in PAPER_TABLES:
        names = [(row.policy, tuple(row.group.items())) for row in table.rows]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("suite", "policy", "success", "loss"),
    [
        ("t4-v3", "veritrace", 0.204, 39.64), ("t4-v3", "greedy", 0.999, 6.09),
        ("t4-stress-v3", "aquamend-two-step", 0.976, 12.47),
        ("t4-ablation-v3", "no-reprobe", 0.213, 38.157), ("t4-conflict-v3", "aquamend-two-step", 0.425, None),
        ("t4-ties-v3", "aquamend-two-step", 0.025, None), ("t4-closure-v3", "aquamend-two-step", 0.780, None),
        ("t4-ablation-v3", "aquamend", 0.708, 10.335),
    ],
)  # fmt: skip
def test_t4_is_as_printed(suite, policy, success, loss):
    row = paper_table(suite).row(policy, {})
    assert (row.get("success"), row.get("mean_loss")) == (success, loss)


def test_a_factor_and_a_setting_have_rows_of_their_own():
    assert paper_table("t4-stress-v3").row("decoupled", {"factor": "common cause"}).get("mean_loss") == 79.95
    assert paper_table("t4-settings-v3").row("aquamend-two-step", {"setting": "noisy probes"}).get("mean_loss") == 9.830


@pytest.mark.parametrize(
    ("suite", "policy", "family"),
    [
        ("t4-stress-v3", "lookahead-2", "designated"), ("t4-stress-v3", "restart", "designated"),
        ("t4-stress-v3", "troubleshooting-1", "traditional"), ("t4-stress-v3", "greedy-no-budget", "designated"),
        ("t4-stress-v3", "greedy", "ours"), ("t4-stress-v3", "no-reprobe", "ours"),
        ("t4-v3", "restart", "paper’s"), ("t4-v3", "tms-revision", "paper’s"), ("t4-v3", "rollback-only", "ours"),
        ("m1-v2", "restart", ""), ("t4-ablation-v3", "no-attribution", ""),
    ],
)  # fmt: skip
def test_a_comparison_belongs_to_the_family_that_the_paper_designates(suite, policy, family):
    assert holm_family(suite, policy) == family
    assert family in family_order(suite)


def test_the_stress_families_have_four_and_five_policies():
    rows = [row.policy for row in paper_table("t4-stress-v3").rows if not row.group]
    families = [holm_family("t4-stress-v3", policy) for policy in rows if policy not in ("oracle", "aquamend-two-step")]
    assert (families.count("designated"), families.count("traditional")) == (4, 5)


@pytest.mark.parametrize("policy", ["aquamend", "troubleshooting", "no-reprobe", "restart", "linear-chain"])
def test_the_parts_of_an_execution_level_loss_make_up_the_loss(policy):
    row = paper_table("pouring-v3").row(policy, {})
    parts = sum(row.get(key) for key in ("sensing", "rollback", "continuation", "residual"))
    assert parts == pytest.approx(row.get("mean_loss"), abs=0.002)


def test_the_savings_follow_from_the_operational_costs():
    """A ratio of sums: over 32 scenes each, so of means too."""
    table = paper_table("pouring-v3")
    spent = {
        row.policy: row.get("mean_loss") - row.get("residual") for row in table.rows if row.get("residual") is not None
    }
    for policy, cost in spent.items():
        assert table.row(policy, {}).get("saving") == pytest.approx(1.0 - cost / spent["restart"], abs=0.001)


def test_the_paired_differences_are_those_of_the_means():
    table = paper_table("pouring-v3")
    ours = table.row("aquamend", {}).get("mean_loss")
    for policy, pair in table.pairs.items():
        assert pair.difference == pytest.approx(ours - table.row(policy, {}).get("mean_loss"), abs=0.002)
        assert pair.low < pair.difference < pair.high


def test_the_four_comparisons_of_the_execution_level_are_one_family():
    policies = ("troubleshooting", "no-reprobe", "restart", "linear-chain")
    assert {holm_family("pouring-v3", policy) for policy in policies} == {"paper’s"}
    assert {holm_family("pouring-v3", policy) for policy in ("all-candidates", "certified")} == {"ours"}
    raw = dict(zip(policies, (0.465318, 0.116669, 0.0000202344, 0.025822), strict=True))
    printed = paper_table("pouring-v3").pairs
    assert holm(raw) == {policy: pytest.approx(printed[policy].p_holm, rel=1e-4) for policy in policies}
