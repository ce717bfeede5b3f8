"""Scenes that were not recovered, and what is to blame."""

import pytest

from aquamend_lab.analysis.report.executions import DECISION, HANDLING, MODEL, SENSING, because_of, failure_table


def record(policy="aquamend", *, success=0.0, left=(), faults=(), doubt=(0.1, 0.1), wrong=(False, False), **rest):
    beliefs = ("amount", "camera")
    return {
        "policy": policy, "seed": 0, "scenario": 7, "group": {"stage": "late", "family": "drift"}, "success": success,
        "loss": 63.26, "ending": "continue", "left": list(left), "faults": list(faults),
        "posterior": {"beliefs": list(beliefs), "at": [[0.5, 0.5], list(doubt)]},
        "declarations": [{"event": b, "when": "old", "so": so} for b, so in zip(beliefs, wrong, strict=True)],
    } | rest  # fmt: skip


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (record(faults=["A received 27 g instead of 20 g"]), HANDLING),
        (record(left=["camera"], doubt=(0.1, 0.9), wrong=(False, False)), SENSING),  # it was right, and is rejected
        (record(left=["amount"], doubt=(0.2, 0.1), wrong=(True, False)), SENSING),  # it was wrong, and is believed
        (record(left=["amount"], doubt=(0.8, 0.1), wrong=(True, False)), DECISION),  # it was known, and was left
        (record(left=["amount"], posterior={"beliefs": ["amount"], "at": [[0.4], None]}), MODEL),
    ],
)
def test_who_is_to_blame_follows_from_the_last_posterior(found, why):
    assert because_of(found) == why


def test_only_what_the_policy_did_not_recover_is_listed_with_who_did():
    records = [
        record(left=["camera"], doubt=(0.1, 0.9)),
        record(success=1.0, scenario=8),
        record("restart", success=1.0),
        record("no-reprobe", left=["camera"]),
    ]
    table = failure_table(records, "aquamend", {(0, 7): "there"})
    assert [cell.text for cell in table.rows[0]] == [
        "0", "7", "late, drift", "camera is wrong", SENSING, "Restart", "63.3",
    ]  # fmt: skip
    assert [cell.link for cell in table.rows[0] if cell.link] == ["there"]
    assert len(table.rows) == 1


def test_nothing_is_shown_where_nothing_failed_or_records_do_not_tell():
    assert failure_table([record(success=1.0)], "aquamend") is None
    assert failure_table([{"policy": "aquamend", "success": 0.0}], "aquamend") is None
