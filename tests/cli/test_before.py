"""``aquamend decide --before``: may this action be done now?"""

import json
import re
from pathlib import Path

import pytest

from aquamend.decision.steps import Advice

ROOT = Path(__file__).parents[2]
DELIVERY = "examples/delivery_robot.yaml"
PAGE = (ROOT / "docs" / "problem-format.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def pouring(tmp_path, **rest):
    """Return a file in which a cup may be gone before pouring, with nothing done yet that rests on it."""
    file = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "cup", "residual": 30}, {"name": "door", "residual": 50, "may_keep": False}],
        "actions": [{"name": "pour", "reversible": False}, {"name": "leave"}],
        "probes": [{"name": "look", "cost": 1}],
        "edges": [
            ["look", "cup", "detection"],
            ["cup", "pour", "belief_to_action"],
            ["door", "leave", "belief_to_action"],
        ],
        "hypotheses": [
            {"name": "fine", "prior": 0.8},
            {"name": "gone", "prior": 0.1, "failed": ["cup"]},
            {"name": "shut", "prior": 0.1, "failed": ["door"]},
        ],
        "kernels": {"look": {"outcomes": ["y", "n"], "likelihood": {"default": [1, 0], "gone": [0, 1]}}},
        "alarm": {"likelihood": {"default": 0.1, "gone": 0.9}},
        "escalate": 20,
    } | rest
    path = tmp_path / "pour.json"
    path.write_text(json.dumps(file))
    return str(path)


def test_only_beliefs_that_lead_to_the_action_count_and_no_alarm_has_rung(decided, tmp_path):
    said = decided(pouring(tmp_path), "--before", "pour")
    assert said["alarms"] == []
    assert said["marginals"] == {"cup": pytest.approx(0.1), "door": pytest.approx(0.1)}
    assert said["stop"] == {"kind": "continue", "correct": [], "undo": [], "loss": pytest.approx(3.0)}
    assert (said["before"], said["advice"]) == ("pour", "go on")
    assert said["probes"][0]["expected_loss"] == pytest.approx(1 + 0.1 * 20)


def test_a_failure_that_may_not_be_kept_and_cannot_be_repaired_is_handed_over(decided, tmp_path):
    said = decided(pouring(tmp_path), "--before", "leave", "--policy", "no-reprobe")
    assert (said["step"], said["advice"]) == ({"kind": "escalate", "loss": 20.0}, "ask")


def test_an_answer_or_a_plan_changes_what_is_advised(decided, tmp_path):
    file = pouring(tmp_path)
    assert decided(file, "--before", "pour", "--observe", "look=n")["advice"] == "ask"
    assert decided(file, "--before", "pour", "--observe", "look=y")["advice"] == "go on"
    fetched = [{"name": "fetch a cup", "cost": 4, "correct": ["cup"]}]
    said = decided(pouring(tmp_path, compensations=fetched), "--before", "pour", "--observe", "look=n")
    assert (said["stop"]["plan"], said["stop"]["loss"], said["advice"]) == ("fetch a cup", 4.0, "go back")


def test_a_belief_with_a_value_is_declared_again_before_the_action(decided):
    twice = ["--observe", "read_badge=nurse_31"] * 2
    said = decided(DELIVERY, "--before", "hand_over", *twice, "--policy", "aquamend")
    assert (said["step"]["correct"], said["step"]["undo"]) == (["recipient"], ["open_drawer"])
    assert said["step"]["declare"] == {"recipient": {"value": "nurse_31"}}
    assert said["advice"] == Advice.GO_BACK


def test_silence_and_age_count(decided):
    asked = (DELIVERY, "--before", "hand_over", "--policy", "aquamend")
    assert decided(*asked)["advice"] == "measure first"
    assert decided(*asked, "--age", "60")["advice"] == "go on"
    silent = [part for name in ("scan_match", "barometer", "door_camera") for part in ("--silent", name)]
    assert decided(*asked, *silent)["advice"] == "go on"


def test_the_default_plans_several_looks_before_what_cannot_be_undone(decided):
    said = decided(DELIVERY, "--before", "hand_over", "--age", "60")
    assert (said["advice"], said["step"]) == ("measure first", {"kind": "reprobe", "probe": "match_scan"})
    assert said["note"] == "Three looks together pay; fewer do not."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--before", "drive_to_ward"], "'drive_to_ward' is executed already"),
        (["--before", "hand_ovr"], "did you mean 'hand_over'?"),
        (["--before", "hand_over", "--alarm", "barometer"], "keep one of the two"),
        (["--age", "recipient"], "is no age"),
        (["--age", "=3"], "is no age"),
        (["--age", "-1"], "is no age"),
        (["--age", "nan"], "is no age"),
        (["--age", "recipent=3"], "did you mean 'recipient'?"),
    ],
)
def test_what_cannot_be_asked_is_refused(run, options, said):
    result = run("decide", DELIVERY, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["decide", "lint", "validate", "plan", "evaluate", "graph", "export"])
def test_an_age_where_nothing_ages_is_warned_of(run, command):
    result = run(command, "examples/pouring.yaml", "--age", "120")
    assert result.exit_code == 0
    assert "examples/pouring.yaml: warning: --age changes nothing, since nothing ages here" in result.stderr


def test_an_age_that_counts_is_not_warned_of(run):
    assert "warning" not in run("validate", DELIVERY, "--age", "120").stderr


def test_the_text_of_the_page_is_what_is_printed(run):
    shown = re.search(
        r"\$ aquamend decide examples/delivery_robot\.yaml --before hand_over\n(.*?)```", PAGE, re.DOTALL
    )[1]
    assert run("decide", DELIVERY, "--before", "hand_over").stdout.startswith(shown)


def test_what_the_check_costs_by_a_policy_can_be_evaluated(run, decided):
    asked = (DELIVERY, "--before", "hand_over")
    found = json.loads(run("evaluate", *asked, "--policy", "best", "--json").stdout)
    assert found["expected_loss"] == pytest.approx(decided(*asked)["bounds"]["upper"])


def test_the_check_can_be_drawn_and_given_to_other_solvers(run):
    before = ("--before", "hand_over")
    assert 'label="deliver a drug: run probe read_badge"' in run("graph", DELIVERY, *before).stdout
    assert 'label="deliver a drug: continue as is"' in run("graph", DELIVERY, *before, "--silent", "barometer",
                                                           "--age", "60").stdout  # fmt: skip
    exported = run("export", DELIVERY, *before).stdout
    costs = re.findall(r"R: stop1_continue : h\d+_shelf_moved__\S+ : \* : \* (\S+)", exported)
    assert set(costs) == {"-60.0"}, "what leads to it costs"


def test_what_cannot_be_corrected_says_why(run, tmp_path):
    said = run("decide", pouring(tmp_path), "--before", "pour").stdout
    assert "impossible: nothing to undo" in said
    assert "Not available: roll back cup (nothing that was done rests on it)" in said


def test_how_old_beliefs_are_is_said_where_it_matters(run, decided, lid):
    said = decided(DELIVERY, "--before", "hand_over", "--age", "map=7200")
    assert said["ages"] == {"map": 7200.0, "recipient": 3600.0}
    assert "ages" not in decided(lid)
    text = run("decide", DELIVERY, "--before", "hand_over", "--age", "map=7200").stdout
    assert "measured so long ago: map 7,200 · recipient 3,600" in text
