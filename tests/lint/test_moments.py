"""Monitors that tell nothing, rates that never count, actions that nothing leads to."""

from pathlib import Path

from aquamend.belief import InformationState
from aquamend.files import load_problem, parse_problem
from aquamend.lint import findings

ROOT = Path(__file__).parents[2]


def found(**rest):
    """Return the findings of a problem in which a cup may be gone, by code."""
    file = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "cup", "residual": 30}],
        "actions": [{"name": "pour", "reversible": False}],
        "probes": [{"name": "look", "cost": 1}],
        "edges": [["cup", "pour", "belief_to_action"], ["look", "cup", "detection"]],
        "causes": [{"name": "taken", "rate": 0.01, "failed": ["cup"]}],
        "age": 60,
        "kernels": {"look": {"outcomes": ["y", "n"], "likelihood": {"default": [0.9, 0.1], "cup": [0.2, 0.8]}}},
        "escalate": 20,
    } | rest
    return {one.code: one for one in findings(InformationState.alarmed(parse_problem(file)))}


def test_a_monitor_that_rings_whatever_is_true_never_matters():
    alarms = {"bell": {"likelihood": {"default": 0.3}}, "scan": {"likelihood": {"cup": 0.9, "default": 0.1}}}
    finding = found(alarms=alarms)["monitor-never-matters"]
    assert (finding.where, finding.severity) == ("alarms.bell.likelihood", "warning")
    assert "'bell' rings with 30% whatever is true" in finding.message
    assert "monitor-never-matters" in found(alarm={"likelihood": {"default": 0.3}})


def test_a_monitor_given_by_causes_blames_again_what_was_corrected():
    alarms = {"a": {"likelihood": {"taken": 0.9, "default": 0.1}}, "b": {"likelihood": {"cup": 0.9, "default": 0.1}}}
    assert found(alarms=alarms)["monitor-by-cause"].where == "alarms.a.likelihood"
    assert "monitor-by-cause" not in found(alarm=alarms["a"]), "most files have one alarm, and it rings once"


def test_a_rate_that_never_counts_is_reported():
    assert "'taken' has a rate and cannot have come" in found(age=0)["rate-never-counts"].message
    assert "rate-never-counts" in found(causes=[{"name": "taken", "rate": 0, "failed": ["cup"]}])
    assert "rate-never-counts" not in found()


def test_an_irreversible_action_that_nothing_leads_to_is_reported():
    assert found(edges=[["look", "cup", "detection"]])["nothing-leads-to"].where == "actions[0]"
    assert "nothing-leads-to" not in found()
    assert "nothing-leads-to" not in found(edges=[["look", "cup", "detection"]], actions=[{"name": "pour", "undo": 1}])


def test_nothing_is_odd_about_the_delivery():
    assert findings(InformationState.alarmed(load_problem(ROOT / "examples" / "delivery_robot.yaml"))) == []
