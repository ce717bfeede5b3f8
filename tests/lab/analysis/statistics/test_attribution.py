import pytest

from aquamend_lab.analysis.statistics import attribution_scores

LABELS = ("external", "self_error", "false_alarm", "unknown")


def scores(truths, attributed):
    found = attribution_scores(truths, attributed, labels=LABELS)
    return found.precision, found.recall, found.precision_strict, found.recall_strict


def test_all_right_is_one_over_the_labels_that_occur_and_less_over_all_four():
    truths = ["external", "self_error", "false_alarm"]
    assert scores(truths, truths) == (1.0, 1.0, 0.75, 0.75)


def test_the_papers_strict_averages_follow_from_its_others_with_one_label_of_four_unsupported():
    assert (pytest.approx(0.745, abs=6e-4), pytest.approx(0.714, abs=6e-4)) == (0.994 * 3 / 4, 0.952 * 3 / 4)


def test_averages_weigh_labels_and_not_cases():
    truths = ["external"] * 8 + ["self_error"] * 2
    attributed = ["external"] * 8 + ["external", "self_error"]
    precision, recall, *_ = scores(truths, attributed)
    assert precision == pytest.approx((8 / 9 + 1) / 2)
    assert recall == pytest.approx((1 + 1 / 2) / 2)


def test_a_label_that_occurs_but_is_never_attributed_has_no_precision_and_counts_as_zero():
    assert scores(["external", "self_error"], ["external", "external"]) == (0.25, 0.5, 0.125, 0.25)


def test_attributing_what_never_occurs_costs_the_true_label_its_recall():
    assert scores(["external", "external"], ["external", "unknown"]) == (1.0, 0.5, 0.25, 0.125)


def test_attributing_nothing_costs_the_true_label_its_recall_and_nobody_precision():
    assert scores(["external", "external"], ["external", None]) == (1.0, 0.5, 0.25, 0.125)


def test_nothing_to_score_is_unavailable():
    assert attribution_scores([], [], labels=LABELS) is None


def test_a_strange_label_is_named():
    with pytest.raises(ValueError, match=r"'martians' is no label; give some of external, self_error"):
        scores(["external"], ["martians"])


def test_every_truth_needs_an_attribution():
    with pytest.raises(ValueError, match="truths has 2 values but attributed has 1"):
        scores(["external", "external"], ["external"])
