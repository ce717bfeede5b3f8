"""Holes in what a model says of instruments and of support."""

import copy

import pytest

from aquamend.belief import InformationState
from aquamend.files import parse_problem
from aquamend.lint import Severity, findings

LEVEL = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "level", "residual": 10, "declared": 18, "tolerance": 3}],
    "actions": [{"name": "pour", "undo": 4, "status": "executed"}],
    "probes": [{"name": "weigh", "cost": 0.5}],
    "edges": [["weigh", "level", "detection"], ["level", "pour", "belief_to_action"]],
    "hypotheses": [
        {"name": "same", "prior": 0.6},
        {"name": "more", "prior": 0.4, "truth": {"level": {"uniform": [30, 50], "step": 2}}},
    ],
    "kernels": {"weigh": {"gaussian": {"default": ["level", 0.7]}}},
    "restart": 30,
}
NAMES = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "who", "residual": 100, "declared": "ann", "needs_support": True}],
    "actions": [{"name": "page", "undo": 5, "status": "executed"}],
    "probes": [{"name": "badge", "cost": 1}],
    "edges": [["badge", "who", "detection"], ["who", "page", "belief_to_action"]],
    "hypotheses": [{"name": "fine", "prior": 0.9}, {"name": "swapped", "prior": 0.1, "truth": {"who": "bob"}}],
    "kernels": {"badge": {"of": "who", "right": 0.98}},
    "declarations": [{"name": "it is ann", "belief": "who", "support": ["badge"]}],
    "restart": 60,
}


def found(data, **changes):
    """Return the findings of a problem with some changes, by their codes."""
    data = copy.deepcopy(data)
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = data
        for key in keys:
            place = place[int(key) if key.isdigit() else key]
        place[last] = value
    return {finding.code: finding for finding in findings(InformationState.alarmed(parse_problem(data)))}


@pytest.mark.parametrize("problem", [LEVEL, NAMES])
def test_a_sound_model_has_none_of_them(problem):
    holes = {"no-support", "plan-further", "another-quantity", "spread-within-noise", "no-tolerance"}
    assert not holes & found(problem).keys()


def test_support_that_is_missing_at_the_alarm_is_named_with_its_price():
    finding = found(NAMES, declarations=[])["no-support"]
    assert finding.severity is Severity.WARNING
    assert finding.where == "beliefs.who"
    # Keeping would cost 10 and correcting to bob 5 + 90; without support the only ending is the restart.
    assert finding.cost == pytest.approx(60 - 10)
    assert "'who' needs support and has none at the alarm" in finding.message


def test_support_that_is_missing_and_changes_nothing_is_only_noted():
    finding = found(NAMES, declarations=[], restart=8)["no-support"]
    assert (finding.severity, finding.cost) == (Severity.NOTE, 0.0)
    assert "at this alarm that costs nothing" in finding.message


def test_looks_that_pay_only_together_are_found():
    """Two beliefs without support: one look opens neither keeping all nor correcting all, two looks do."""
    data = copy.deepcopy(NAMES)
    data["beliefs"].append({"name": "room", "residual": 100, "declared": "4", "needs_support": True})
    data["actions"].append({"name": "ride", "undo": 5, "status": "executed"})
    data["probes"].append({"name": "sign", "cost": 1})
    data["edges"] += [["sign", "room", "detection"], ["room", "ride", "belief_to_action"]]
    data["hypotheses"] = [
        {"name": "fine", "prior": 0.8},
        {"name": "swapped", "prior": 0.1, "truth": {"who": "bob"}},
        {"name": "lost", "prior": 0.1, "truth": {"room": "5"}},
    ]
    data["kernels"]["sign"] = {"of": "room", "right": 0.98}
    data["declarations"] = []
    finding = found(data)["plan-further"]
    assert "no single probe pays, and several together save" in finding.message
    assert "`exact`" in finding.message
    assert 0 < finding.cost < 60


def test_a_reading_far_from_every_truth_may_be_of_another_quantity():
    finding = found(LEVEL, kernels={"weigh": {"gaussian": {"default": [0.001, 0.0007], "more": [0.04, 0.0007]}}})
    assert (
        "'weigh' reads 0.001 to 0.04, and 'level' is 18 to 50: another quantity" in finding["another-quantity"].message
    )


def test_a_spread_no_wider_than_the_noise_is_named():
    finding = found(LEVEL, kernels={"weigh": {"gaussian": {"default": ["level", 25]}}})["spread-within-noise"]
    assert finding.severity is Severity.NOTE
    assert "no reading tells these 11 values apart" in finding.message


def test_a_tolerance_of_zero_under_noise_is_named():
    data = copy.deepcopy(LEVEL)
    del data["beliefs"][0]["tolerance"]
    assert "give it a tolerance" in found(data)["no-tolerance"].message


def test_an_outcome_named_like_a_value_that_its_rows_do_not_follow_is_named():
    never = {"outcomes": ["ann", "bob", "none"], "likelihood": {"fine": [0, 0, 1], "swapped": [0, 0, 1]}}
    finding = found(NAMES, kernels={"badge": never})["unfollowed-value"]
    assert "'badge' answers 'ann', a value of 'who', with 0% where that is true and with 0% where it is not" in (
        finding.message
    )
    right = {"outcomes": ["ann", "bob"], "likelihood": {"fine": [0.9, 0.1], "swapped": [0.1, 0.9]}}
    assert "unfollowed-value" not in found(NAMES, kernels={"badge": right})


def test_warnings_come_before_notes():
    severities = [f.severity for f in found(NAMES, declarations=[], probes__0__cost=90).values()]
    assert severities == sorted(severities, key=lambda s: s is Severity.NOTE)
