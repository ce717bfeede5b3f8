"""The paper's numbers are the paper's, under the names our suites use."""

import pytest

from aquamend.analysis.paper import PAPER_TABLES, differences_from_paper, family_order, holm_family, paper_table


@pytest.mark.parametrize(
    ("policy", "loss", "risk"),
    [("exact", 8.560, 9.253), ("aquamend", 8.594, 9.290), ("rollback-only", 18.323, 18.226), ("oracle", 7.406, None)],
)
def test_m1_is_as_printed(policy, loss, risk):
    row = paper_table("m1-v1").row(policy, {})
    assert (row.loss, row.expected_risk) == (loss, risk)


@pytest.mark.parametrize(
    ("suite", "column", "total"),
    [
        ("m1-v1", "loss", 100.998), ("m1-v1", "expected_risk", 97.674), ("m1-v1", "gap_to_oracle", 34.344),
        ("m1-depth-v1", "success", 8.8), ("m1-depth-v1", "loss", 58.946), ("m1-depth-v1", "expected_risk", 58.946),
        ("m1-depth-v1", "decision_ms", 188.716), ("m1-depth-v1", "peak_kib", 4762.6),
        ("m1-proxy-v1", "normalised_error", 0.607),
        ("t4-v2", "success", 7.148), ("t4-v2", "loss", 197.28), ("t4-v2", "probes", 15.16), ("t4-v2", "undone", 13.36),
        ("t4-v2", "zero_rollback_rate", 9.0),
        ("t4-stress-v2", "success", 4.607), ("t4-stress-v2", "loss", 523.52), ("t4-stress-v2", "probes", 21.72),
        ("t4-stress-v2", "undone", 22.12), ("t4-stress-v2", "over_budget_rate", 0.808),
        ("t4-irreversible-v2", "loss", 12.04), ("t4-irreversible-v2", "escalation_rate", 2.0),
        ("t4-ablation-v2", "loss", 86.814), ("t4-ablation-v2", "success", 7.227),
        ("t4-settings-v2", "loss", 38.33), ("t4-settings-v2", "success", 5.435),
    ],
)  # fmt: skip
def test_every_column_adds_up_as_printed(suite, column, total):
    values = [getattr(row, column) for row in paper_table(suite).rows]
    assert sum(value for value in values if value is not None) == pytest.approx(total, abs=1e-9)


def test_the_gaps_of_m1_are_the_differences_to_its_oracle():
    rows = paper_table("m1-v1").rows
    assert [row.gap_to_oracle for row in rows] == [pytest.approx(row.loss - 7.406, abs=1e-9) for row in rows]


def test_m1_depth_is_as_printed():
    row = paper_table("m1-depth-v1").row("lookahead-3", {"n": 5})
    assert (row.success, row.expected_risk, row.decision_ms, row.peak_kib) == (0.400, 3.815, 10.646, 358.9)


def test_proxy_errors_belong_to_the_small_support_and_to_any_number_of_samples():
    table = paper_table("m1-proxy-v1")
    small = {"mode": "correlated", "support": "small"}
    assert table.row("independent", small).normalised_error == 0.29028
    assert table.row("monte-carlo-500", small).normalised_error == 0.01557
    assert table.row("independent", small | {"support": "large"}) is None


def test_a_policy_the_paper_did_not_run_has_no_row():
    assert paper_table("m1-v1").row("lookahead-3", {}) is None


def test_a_new_version_of_a_suite_keeps_its_table_and_another_suite_has_none():
    assert paper_table("m1-v1") is paper_table("m1-v2")
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
        ("t4-v2", "rewind", 0.204, 39.64), ("t4-v2", "greedy", 0.999, 6.09),
        ("t4-stress-v2", "power-per-cost", 0.976, 12.47),
        ("t4-ablation-v2", "no-reprobe", 0.213, 38.157), ("t4-conflict-v2", "power-per-cost", 0.425, None),
        ("t4-ties-v2", "power-per-cost", 0.025, None), ("t4-closure-v2", "power-per-cost", 0.780, None),
        ("t4-ablation-v2", "aquamend", 0.708, 10.335),
    ],
)  # fmt: skip
def test_t4_is_as_printed(suite, policy, success, loss):
    row = paper_table(suite).row(policy, {})
    assert (row.success, row.loss) == (success, loss)


def test_a_factor_and_a_setting_have_rows_of_their_own():
    assert paper_table("t4-stress-v2").row("decoupled", {"factor": "common cause"}).loss == 79.95
    assert paper_table("t4-settings-v2").row("power-per-cost", {"setting": "noisy probes"}).loss == 9.830


@pytest.mark.parametrize(
    ("suite", "policy", "family"),
    [
        ("t4-stress-v2", "lookahead-2", "designated"), ("t4-stress-v2", "restart", "designated"),
        ("t4-stress-v2", "troubleshooting", "traditional"), ("t4-stress-v2", "no-reprobe", "ours"),
        ("t4-v2", "restart", "paper’s"), ("t4-v2", "tms-revision", "paper’s"), ("t4-v2", "rollback-only", "ours"),
        ("m1-v1", "restart", ""), ("t4-ablation-v2", "no-attribution", ""),
    ],
)  # fmt: skip
def test_a_comparison_belongs_to_the_family_that_the_paper_designates(suite, policy, family):
    assert holm_family(suite, policy) == family
    assert family in family_order(suite)


def test_the_stress_families_have_four_and_five_policies():
    rows = [row.policy for row in paper_table("t4-stress-v2").rows if not row.group]
    families = [holm_family("t4-stress-v2", policy) for policy in rows if policy not in ("oracle", "power-per-cost")]
    assert (families.count("designated"), families.count("traditional")) == (4, 5)
