"""The one list of metrics: whatever the paper prints, and whatever is compared, is in it."""

from aquamend_lab.analysis.metrics import COMPARABLE, METRICS
from aquamend_lab.analysis.paper import PAPER_TABLES


def test_every_number_of_the_paper_is_a_metric_that_says_what_the_paper_calls_it():
    printed = {key for table in PAPER_TABLES for row in table.rows for key in row.values}
    assert printed <= set(METRICS)
    assert all(METRICS[key].beside.startswith("paper’s ") for key in printed)


def test_what_is_compared_scenario_by_scenario_is_a_column_and_less_of_it_is_better():
    assert list(COMPARABLE)[:2] == ["expected_risk", "loss"]  # the exact one first
    assert all(metric.column == name and metric.good != "high" for name, metric in COMPARABLE.items())


def test_a_metric_is_listed_under_its_key():
    assert all(key == metric.key for key, metric in METRICS.items())
