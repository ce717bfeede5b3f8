"""The paper's numbers one by one beside ours: what counts as reproduced, and how the page says it."""

from pathlib import Path

import pytest

from aquamend_lab.analysis.paper import PAPER_TABLES, Agreement, checked_tables
from aquamend_lab.analysis.report.rendering import paper_beside, paper_markdown, with_tables
from aquamend_lab.records import load_run

RESULTS = Path(__file__).parents[4] / "results"


def standings(run, family, **group):
    found = next(table for table in paper_beside([run]) if table.table.family == family)
    return {
        (row.policy, check.metric): check
        for row in found.rows
        for check in row.checks
        if group.items() <= dict(row.group).items()
    }


def test_losses_are_multiples_of_aquamends_and_its_own_is_not_compared(m1):
    found = standings(m1, "m1")
    exact = found["exact", "expected_risk"]
    assert exact.multiple
    assert exact.paper == pytest.approx(9.253 / 9.290)
    assert ("aquamend", "expected_risk") not in found
    assert found["veritrace", "expected_risk"].standing is Agreement.ABSENT, "nobody played it"


def test_what_is_near_is_reproduced_what_has_a_reason_differs_and_the_rest_is_open(proxies):
    found = standings(proxies, "m1-proxy", failed="1.67")
    assert {check.standing for check in found.values()} >= {Agreement.REPRODUCED, Agreement.DIFFERS}
    for (policy, _), check in found.items():
        if check.ours is None:
            continue
        near = abs(check.ours - check.paper) <= max(check.paper / 7, 0.01)
        assert (check.standing is Agreement.REPRODUCED) == near
        assert bool(check.why) == (not near and policy in ("independent", "monte-carlo"))


def test_a_row_of_one_stage_is_beside_all_of_ours_at_that_stage():
    run = load_run(RESULTS / "pouring-v3")
    found = standings(run, "pouring", stage="early")
    ours = [r for r in run.records if r["policy"] == "aquamend" and r["group"]["stage"] == "early"]
    assert len(ours) == 16
    assert found["aquamend", "decisions"].ours == sum(r["decisions"] for r in ours)
    assert all(check.standing is not Agreement.ABSENT for check in found.values())


def test_every_table_of_the_paper_stands_there_once_whether_or_not_its_suite_was_run(m1):
    tables = checked_tables({})
    rows = [table.table.rows for table in tables]
    assert all(one not in rows[:k] for k, one in enumerate(rows))
    assert all(table.rows in rows for table in PAPER_TABLES)
    page = paper_markdown([m1])
    assert "`t4`, not run" in page
    assert "### M1 table" in page
    assert "### T4 table" not in page


def test_the_first_sentence_counts_every_number_once(m1):
    page = paper_markdown([m1])
    tables = [table for table in paper_beside([m1]) if table.suite]
    numbers = sum(table.numbers for table in tables)
    assert page.startswith(f"**Of {numbers} numbers in 1 of the paper's tables, ")
    assert numbers == sum(table.count(standing) for table in tables for standing in Agreement)


def test_a_page_has_the_rows_between_its_markers_and_stays_as_it_is_without(m1):
    page = "a\n<!-- paper:begin -->\nold\n<!-- paper:end -->\nb\n"
    written = with_tables(page, [m1])
    assert "old" not in written
    assert written.startswith("a\n<!-- paper:begin -->\n**Of ")
    assert with_tables(written, [m1]) == written
    assert with_tables("nothing", [m1]) == "nothing"
