"""What must hold is checked scenario by scenario, and violations are counted."""

import pytest
from tests.lab.analysis.report.conftest import losses

from aquamend_lab.analysis.report.paired import check_table, order_checks, theorem_verdict
from aquamend_lab.analysis.table import table_of


def checks_of(run):
    return {(check.lower, check.upper): check for check in order_checks(table_of(run))}


def test_a_violation_is_counted_with_its_size_and_place(make):
    run = make(losses("exact", [1.0, 2.5, 3.0]), losses("aquamend", [1.0, 2.0, 2.9]))
    check = checks_of(run)["exact", "aquamend"]
    assert (check.theorem, check.scenarios, check.equal, check.violations) == (True, 3, 1, 2)
    assert check.largest == pytest.approx(0.5)
    assert check.worst == (0, 1)


def test_floating_point_is_no_violation(make):
    run = make(losses("exact", [1.0 + 4e-10]), losses("aquamend", [1.0]))
    assert checks_of(run)["exact", "aquamend"].violations == 0


def test_a_broken_theorem_is_said_aloud(make):
    run = make(losses("exact", [2.0]), losses("restart", [1.0]))
    assert "BROKEN 1 times" in theorem_verdict(order_checks(table_of(run))).items[0]


def test_a_theorem_that_holds_says_in_how_many_comparisons(m1):
    assert "held in all 12 comparisons" in theorem_verdict(order_checks(table_of(m1))).items[0]


def test_what_is_no_theorem_is_reported_as_such(make):
    run = make(losses("lookahead-2", [1.0, 3.25]), losses("aquamend", [1.0, 3.0]))
    check = checks_of(run)["lookahead-2", "aquamend"]
    assert (check.theorem, check.violations, check.largest) == (False, 1, 0.25)
    said = theorem_verdict([check]).items[0]
    assert said.startswith("No theorem")
    assert "failed on 1 of 2 scenarios, by at most 0.250000" in said


def test_the_oracle_is_not_held_to_the_theorem(make):
    run = make(losses("oracle", [0.5]), losses("exact", [1.0]), losses("aquamend", [1.0]))
    assert list(checks_of(run)) == [("exact", "aquamend")]


def test_an_unfinished_exact_search_proves_nothing(make):
    unfinished = [line | {"lower": 0.5, "upper": 2.0} for line in losses("exact", [2.0])]
    assert not order_checks(table_of(make(unfinished, losses("aquamend", [1.0]))))


def test_scenarios_without_a_risk_are_left_out(make):
    run = make(losses("exact", [1.0, None]), losses("aquamend", [1.0, 2.0]))
    assert checks_of(run)["exact", "aquamend"].scenarios == 1


def test_two_infinite_risks_are_equal(make):
    run = make(losses("exact", ["inf"]), losses("aquamend", ["inf"]))
    assert checks_of(run)["exact", "aquamend"].equal == 1


def test_every_check_has_a_row_that_says_which_is_to_be_lower(m1):
    checks = order_checks(table_of(m1))
    assert [column.title for column in check_table(checks).columns[:3]] == ["lower policy", "upper policy", "status"]
    assert len(check_table(checks).rows) == len(checks) == 3
