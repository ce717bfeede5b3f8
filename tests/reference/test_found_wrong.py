"""Problems that were once answered wrongly, each with the answer by hand, through the commands that people use."""

import json

import pytest
from tests.reference.brute_force import Reference
from typer.testing import CliRunner

from aquamend.cli.main import app

FORMAT = {"format": "aquamend-problem/1"}


@pytest.fixture
def run(tmp_path):
    """Return a function that writes a problem and runs a command on it."""

    def make(problem, command, *options):
        path = tmp_path / "problem.json"
        path.write_text(json.dumps(FORMAT | problem))
        return CliRunner().invoke(app, [command, str(path), *options])

    return make


@pytest.fixture
def said(run):
    """Return a function that gives the JSON lines of a command."""

    def make(problem, command, *options):
        ran = run(problem, command, *options, "--json")
        assert ran.exit_code == 0, f"{ran.output}\n{ran.exception!r}"
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return make


BROKEN_READER = {
    "name": "a badge reader that never reads",
    "beliefs": [{"name": "recipient", "residual": 1500, "declared": "nurse_17", "needs_support": True}],
    "actions": [{"name": "page", "undo": 5, "status": "executed"}],
    "probes": [{"name": "scan_badge", "cost": 1}],
    "edges": [["scan_badge", "recipient", "detection"], ["recipient", "page", "belief_to_action"]],
    "hypotheses": [
        {"name": "fine", "prior": 0.7},
        {"name": "swapped", "prior": 0.3, "truth": {"recipient": "nurse_22"}},
    ],
    "kernels": {
        "scan_badge": {
            "outcomes": ["nurse_17", "nurse_22", "none"],
            "likelihood": {"fine": [0, 0, 1], "swapped": [0, 0, 1]},
        }
    },
    "escalate": 400,
}


def test_a_reader_that_never_reads_is_worth_nothing(said):
    (decided,) = said(BROKEN_READER, "decide", "--policy", "aquamend")
    assert (decided["step"]["kind"], decided["stop"]["loss"]) == ("escalate", 400)
    assert decided["probes"][0]["net_benefit"] == pytest.approx(-1)
    for line in said(BROKEN_READER, "evaluate", "--policy", "aquamend,exact"):
        assert (line["expected_loss"], line["success"]) == (400, 0)


def test_its_only_answer_speaks_for_nobody(said):
    (decided,) = said(BROKEN_READER, "decide", "--policy", "aquamend", "--observe", "scan_badge=none")
    assert (decided["stop"]["kind"], decided["stop"]["loss"]) == ("escalate", 400)


TRAP = {
    "name": "two switches, one look that tells nothing",
    "beliefs": [{"name": name, "residual": 20, "declared": "good"} for name in "ab"],
    "actions": [{"name": f"use_{name}", "undo": 1, "status": "executed"} for name in "ab"],
    "probes": [{"name": "bar", "cost": 1}],
    "edges": [
        ["bar", "a", "detection"],
        ["bar", "b", "detection"],
        ["a", "use_a", "belief_to_action"],
        ["b", "use_b", "belief_to_action"],
    ],
    "hypotheses": [
        {"name": "a_bad", "prior": 0.5, "truth": {"a": "bad"}},
        {"name": "b_bad", "prior": 0.5, "truth": {"b": "bad"}},
    ],
    "kernels": {"bar": {"outcomes": ["x", "y"], "likelihood": {"a_bad": [0.5, 0.5], "b_bad": [0.5, 0.5]}}},
    "escalate": 40,
}


def test_noise_has_no_benefit(said):
    (decided,) = said(TRAP, "decide", "--policy", "aquamend")
    assert (decided["step"]["kind"], decided["stop"]["loss"]) == ("continue", pytest.approx(20))
    assert decided["probes"][0]["net_benefit"] == pytest.approx(-1)
    for line in said(TRAP, "evaluate", "--policy", "aquamend,exact"):
        assert (line["expected_loss"], line["success"]) == (pytest.approx(20), 0)


NO_SUPPORT = {
    "name": "nothing pays until three have been looked at",
    "beliefs": [
        {"name": "floor", "residual": 240, "declared": "4", "needs_support": True},
        {"name": "drawer", "residual": 900, "declared": "2", "needs_support": True},
        {"name": "recipient", "residual": 1500, "declared": "nurse_17", "needs_support": True},
    ],
    "actions": [
        {"name": name, "undo": undo, "status": "executed"} for name, undo in (("ride", 40), ("open", 10), ("page", 5))
    ],
    "probes": [
        {"name": "read_sign", "cost": 2},
        {"name": "read_label", "cost": 1},
        {"name": "scan_badge", "cost": 6},
    ],
    "edges": [
        ["read_sign", "floor", "detection"],
        ["read_label", "drawer", "detection"],
        ["scan_badge", "recipient", "detection"],
        ["floor", "ride", "belief_to_action"],
        ["drawer", "open", "belief_to_action"],
        ["recipient", "page", "belief_to_action"],
    ],
    "hypotheses": [
        {"name": "fine", "prior": 0.7},
        {"name": "at_3", "prior": 0.1, "truth": {"floor": "3"}},
        {"name": "other_drawer", "prior": 0.1, "truth": {"drawer": "3"}},
        {"name": "shift_change", "prior": 0.1, "truth": {"recipient": "nurse_22"}},
    ],
    "kernels": {
        "read_sign": {"of": "floor", "right": 0.97},
        "read_label": {"of": "drawer", "right": 0.98},
        "scan_badge": {"of": "recipient", "right": 0.99},
    },
    "restart": 300,
    "escalate": 700,
}


def test_three_looks_together_pay_where_none_does_alone(said):
    lines = said(NO_SUPPORT, "evaluate", "--policy", "aquamend,lookahead-2,lookahead-3,exact")
    assert [line["expected_loss"] for line in lines] == pytest.approx([300, 300, 50.016418, 50.016418])
    assert Reference(NO_SUPPORT).optimum() == pytest.approx(50.016418)


ZERO_UNDO = {
    "beliefs": [{"name": "b0", "residual": 50}, {"name": "b1", "residual": 30}],
    "actions": [
        {"name": "a0", "undo": 100, "status": "executed"},
        {"name": "a1", "undo": 0, "status": "executed"},
    ],
    "edges": [["b0", "a0", "belief_to_action"], ["b1", "a1", "belief_to_action"]],
    "hypotheses": [{"name": "h", "prior": 1, "failed": ["b0", "b1"]}],
    "compensations": [{"name": "make up", "cost": 1, "correct": ["b0"]}],
}


def test_an_undo_that_costs_nothing_goes_with_a_compensation(said):
    (decided,) = said(ZERO_UNDO, "decide", "--policy", "aquamend")
    assert decided["stop"]["loss"] == 1
    assert decided["bounds"] == {"lower": 1, "upper": 1}
    (line,) = said(ZERO_UNDO, "evaluate", "--policy", "exact")
    assert (line["expected_loss"], line["success"]) == (1, 1)


SURELY_RIGHT = {
    "name": "a value that is surely right is passed over",
    "beliefs": [{"name": "level", "residual": "inf", "declared": 10, "tolerance": 3}],
    "hypotheses": [
        {"name": "as_declared", "prior": 0.998999999999},
        {"name": "a_little_more", "prior": 0.001, "truth": {"level": 12}},
        {"name": "more", "prior": 1.0e-12, "truth": {"level": 13.5}},
    ],
    "restart": 1000,
}


def test_a_value_that_is_surely_right_is_not_passed_over_for_one_that_hardly_ever_fails(said):
    (decided,) = said(SURELY_RIGHT, "decide", "--policy", "aquamend")
    assert (decided["stop"]["kind"], decided["stop"]["loss"]) == ("roll_back", 0)
    assert decided["stop"]["declare"] == {"level": {"value": 12.0}}
    assert decided["bounds"] == {"lower": 0, "upper": 0}


NO_CORRECTIONS = {
    "beliefs": [{"name": "b", "residual": 5}],
    "hypotheses": [{"name": "h", "prior": 1, "failed": ["b"]}],
    "corrections": False,
    "restart": 17,
}


def test_where_there_are_no_corrections_none_is_made(said, run):
    (decided,) = said(NO_CORRECTIONS, "decide", "--policy", "aquamend")
    assert (decided["step"]["kind"], decided["stop"]["loss"]) == ("restart", 17)
    assert decided["bounds"] == {"lower": 17, "upper": 17}
    assert [line["expected_loss"] for line in said(NO_CORRECTIONS, "evaluate", "--policy", "aquamend,exact")] == [
        17,
        17,
    ]
    refused = run(NO_CORRECTIONS, "decide", "--policy", "structured", "--json")
    assert refused.exit_code == 2
    assert "corrections" in refused.output


NO_WAY_OUT = {
    "beliefs": [{"name": "b", "residual": 1, "may_keep": False}],
    "actions": [{"name": "a", "status": "executed", "reversible": False}],
    "edges": [["b", "a", "belief_to_action"]],
    "hypotheses": [{"name": "h", "prior": 1, "failed": ["b"]}],
}


@pytest.mark.parametrize("policy", ["aquamend", "exact", "robust-0.1"])
def test_without_any_ending_the_decision_is_to_escalate_at_infinity(said, policy):
    (decided,) = said(NO_WAY_OUT, "decide", "--policy", policy)
    assert (decided["step"]["kind"], decided["stop"]["kind"], decided["stop"]["loss"]) == (
        "escalate",
        "escalate",
        "inf",
    )


def test_where_every_decision_is_infinite_none_is_said_to_cost_more(run):
    rare = {
        "hypotheses": [{"name": "ok", "prior": 0.999}, {"name": "bad", "prior": 0.001, "failed": ["b"]}],
        "alarm": {"likelihood": {"ok": 0.0001, "bad": 1}},
    }
    ran = run(NO_WAY_OUT | rare, "lint")
    assert ran.exit_code in (0, 2)
    assert ran.exception is None or isinstance(ran.exception, SystemExit)
    assert "nan" not in ran.output


TAKES_IGNORED = {
    "beliefs": [{"name": "b", "residual": 100}],
    "operations": [{"name": "o", "cost": 1}],
    "actions": [{"name": "a", "status": "executed", "operations": ["o"], "takes": 50}],
    "edges": [["b", "a", "belief_to_action"]],
    "delay": 1,
    "hypotheses": [{"name": "h", "prior": 1, "failed": ["b"]}],
}


def test_time_on_an_action_that_operations_undo_is_refused(run):
    ran = run(TAKES_IGNORED, "validate")
    assert ran.exit_code == 2
    assert "actions[0].takes" in ran.output


PERSISTENT = {
    "beliefs": [{"name": "target", "residual": 10, "declared": "A", "may_keep": False}],
    "probes": [{"name": "look", "cost": 1, "max_uses": 2, "persistent": 0.5}],
    "edges": [["look", "target", "detection"]],
    "hypotheses": [
        {"name": "lost", "prior": 0.5, "failed": ["target"]},
        {"name": "fine", "prior": 0.5},
        {"name": "never", "prior": 0, "truth": {"target": "C"}},
    ],
}


@pytest.mark.parametrize(
    "kernel",
    [
        {"outcomes": ["x", "y"], "likelihood": {"lost": [0.9, 0.1], "fine": [0.2, 0.8], "never": [0.5, 0.5]}},
        {"gaussian": {"lost": [1, 1], "fine": [2, 1], "never": [3, 1]}},
        {"mixture": {"lost": [[0.5, 1, 1], [0.5, 2, 1]], "fine": [[1, 2, 1]], "never": [[1, 3, 1]]}},
    ],
    ids=["outcomes", "gaussian", "mixture"],
)
def test_an_error_that_persists_leaves_a_value_of_prior_0_to_declare(said, kernel):
    """C is surely wrong, and all that may be declared of what may not be kept."""
    (decided,) = said(PERSISTENT | {"kernels": {"look": kernel}}, "decide", "--policy", "aquamend")
    assert decided["stop"]["declare"] == {"target": {"value": "C"}}
    assert decided["stop"]["loss"] == pytest.approx(10)


def test_a_probe_of_a_million_uses_is_refused_before_they_are_counted(run):
    many = {
        "beliefs": [{"name": "b", "residual": 100}],
        "probes": [{"name": "look", "cost": 1, "max_uses": 1000000}],
        "edges": [["look", "b", "detection"]],
        "hypotheses": [{"name": "ok", "prior": 0.5}, {"name": "bad", "prior": 0.5, "failed": ["b"]}],
        "kernels": {"look": {"outcomes": ["x", "y"], "likelihood": {"ok": [0.9, 0.1], "bad": [0.2, 0.8]}}},
    }
    ran = run(many, "export")
    assert ran.exit_code == 2
    assert "lower max_uses" in ran.output
