import itertools
import json
import math

import pytest


def test_looking_first_is_worth_it_and_every_number_is_the_one_worked_out_by_hand(decided, lid):
    decision = decided(lid)
    assert decision == {
        "format": "aquamend-decision/1",
        "file": lid,
        "name": "is the lid on",
        "unit": "s",
        "policy": "best",
        "alarms": [],
        "evidence": [],
        "surprises": [],
        "contradiction": None,
        "step": {"kind": "reprobe", "probe": "look"},
        "stop": {"kind": "roll_back", "correct": ["lid"], "undo": ["lift"], "loss": 3.0},
        "answers": [
            {
                "answer": "yes",
                "probability": pytest.approx(0.62),
                "then": {"kind": "continue", "correct": [], "undo": [], "loss": pytest.approx(0.8 / 0.62)},
            },
            {
                "answer": "no",
                "probability": pytest.approx(0.38),
                "then": {"kind": "roll_back", "correct": ["lid"], "undo": ["lift"], "loss": 3.0},
            },
        ],
        "probes": [
            {
                "probe": "look",
                "legal": True,
                "screened_out": False,
                "net_benefit": pytest.approx(0.56),
                "expected_loss": pytest.approx(2.44),
                "power": {"lid": pytest.approx(0.8)},
                "false_positive_rate": {"lid": pytest.approx(0.1)},
            }
        ],
        "marginals": {"lid": pytest.approx(0.4)},
        "attribution": {
            "external": pytest.approx(0.4), "self_error": 0.0, "false_alarm": pytest.approx(0.6), "unknown": 0.0,
        },
        "attributed_to": "false_alarm",
        "bounds": {"lower": pytest.approx(2.44), "upper": pytest.approx(2.44)},
        "counts": {"legal": 1, "evaluated": 1, "screened_out": 0, "branches": 2},
        "declarations": [
            {
                "name": "lid", "version": 1, "belief": "lid", "value": None, "support": [],
                "invalid": pytest.approx(0.4), "usable": False, "in_force": True,
            }
        ],
    }  # fmt: skip


def test_one_step_ahead_is_bounded_by_knowing_everything_after_one_look(decided, lid):
    bounds = decided(lid, "--policy", "aquamend")["bounds"]
    assert bounds == {"lower": pytest.approx(0.5 + 0.4 * 3), "upper": pytest.approx(2.44)}


def test_an_observation_moves_the_posterior_and_uses_the_probe_up(decided, lid):
    decision = decided(lid, "--observe", "look=no")
    assert decision["marginals"]["lid"] == pytest.approx(0.32 / 0.38)
    assert decision["step"] == {"kind": "roll_back", "correct": ["lid"], "undo": ["lift"], "loss": 3.0}
    assert decision["evidence"] == [{"probe": "look", "outcome": "no"}]
    (probe,) = decision["probes"]
    assert probe["legal"] is False
    assert (probe["net_benefit"], probe["expected_loss"], probe["power"]) == (None, None, {"lid": None})


def test_what_readings_lead_to_is_said_by_the_intervals_between_which_they_lie(decided):
    decision = decided("examples/force_sensor_drift.yaml", "--policy", "aquamend")
    answers = decision["answers"]
    assert answers[0]["above"] is answers[-1]["below"] is None
    for one, following in itertools.pairwise(answers):
        assert one["below"] == following["above"]
        assert {**one["then"], "loss": 0} != {**following["then"], "loss": 0}
    (line,) = [line for line in decision["probes"] if line["probe"] == decision["step"]["probe"]]
    cost = line["expected_loss"] - math.fsum(a["probability"] * a["then"]["loss"] for a in answers)
    assert cost == pytest.approx(2.0)


def test_continuing_corrects_and_undoes_nothing(decided, lid):
    decision = decided(lid, "--observe", "look=yes")
    assert decision["step"] == {"kind": "continue", "correct": [], "undo": [], "loss": pytest.approx(0.8 / 0.62)}


def test_observations_fold_in_one_after_the_other(decided, problem, write):
    problem["probes"][0]["max_uses"] = 2
    decision = decided(write(problem), "--observe", "look=no", "--observe", "look=yes")
    assert decision["marginals"]["lid"] == pytest.approx(0.4 * 0.16 / (0.4 * 0.16 + 0.6 * 0.09))
    assert [e["outcome"] for e in decision["evidence"]] == ["no", "yes"]


def test_a_gaussian_reading_is_a_number(decided, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [2, 1]}}
    decision = decided(write(problem), "--observe", "look=1.0")
    assert decision["marginals"]["lid"] == pytest.approx(0.4), "halfway between the means nothing is learnt"
    assert decision["evidence"] == [{"probe": "look", "outcome": 1.0}]


def test_contradicting_evidence_leaves_nothing_but_the_worst_case(decided, problem, write):
    problem["probes"][0]["max_uses"] = 3
    problem["kernels"]["look"]["likelihood"] = {"on": [1, 0], "off": [0, 1]}
    decision = decided(write(problem), "--observe", "look=yes", "--observe", "look=no")
    assert decision["contradiction"] == "look = no"
    assert decision["marginals"] == {"lid": None}
    assert decision["attribution"] == {"external": 0.0, "self_error": 0.0, "false_alarm": 0.0, "unknown": 1.0}
    probe = decision["probes"][0]  # a use is left, but no answer could be interpreted any more
    assert (probe["legal"], probe["net_benefit"], probe["expected_loss"]) == (True, None, None)
    assert decision["step"] == {"kind": "roll_back", "correct": ["lid"], "undo": ["lift"], "loss": 3.0}
    assert decision["bounds"] == {"lower": 3.0, "upper": 3.0}


def test_an_infinite_loss_is_written_as_text(decided, problem, write):
    problem["beliefs"][0]["may_keep"] = False
    problem["actions"][0]["reversible"] = False
    problem["probes"], problem["edges"], problem["kernels"] = [], problem["edges"][1:], {}
    decision = decided(write(problem))
    assert decision["step"] == decision["stop"] == {"kind": "escalate", "loss": "inf"}
    assert decision["bounds"] == {"lower": "inf", "upper": "inf"}


def test_the_benefit_is_unavailable_where_stopping_and_probing_both_cost_infinitely_much(decided, problem, write):
    problem["beliefs"][0]["may_keep"] = False
    problem["actions"][0]["reversible"] = False
    (probe,) = decided(write(problem))["probes"]
    assert (probe["legal"], probe["net_benefit"], probe["expected_loss"]) == (True, None, "inf")


def test_restart_and_escalate_carry_only_their_loss(decided, problem, write):
    problem["restart"] = 1.0
    assert decided(write(problem))["step"] == {"kind": "restart", "loss": 1.0}
    problem["escalate"] = 0.25
    assert decided(write(problem))["step"] == {"kind": "escalate", "loss": 0.25}


def test_power_is_unavailable_for_a_declaration_that_cannot_be_invalid(decided, problem, write):
    problem["declarations"] = [
        {"name": "closed", "belief": "lid", "invalid_in": []},
        {"name": "tight", "belief": "lid", "invalid_in": ["off"], "version": 1},
        {"name": "tight", "belief": "lid", "invalid_in": ["on"], "version": 2},
    ]
    (probe,) = decided(write(problem))["probes"]
    assert probe["power"] == {"closed": None, "tight v1": pytest.approx(0.8), "tight v2": pytest.approx(0.9)}


@pytest.mark.parametrize("policy", ["all-candidates", "lookahead-3", "exact", "no-reprobe", "greedy"])
def test_one_step_values_do_not_depend_on_the_policy(decided, lid, policy):
    decision = decided(lid, "--policy", policy)
    assert decision["policy"] == policy
    assert decision["probes"][0]["expected_loss"] == pytest.approx(2.44)
    assert decision["step"]["kind"] == ("roll_back" if policy == "no-reprobe" else "reprobe")


def test_exact_closes_the_gap_that_one_step_leaves(decided, lid):
    bounds = decided(lid, "--policy", "exact", "--gap", "0", "--deadline", "1")["bounds"]
    assert bounds == {"lower": pytest.approx(2.44), "upper": pytest.approx(2.44)}


def test_robustness_is_the_probability_that_must_move(decided, lid):
    found = decided(lid, "--observe", "look=yes", "--robustness")["robustness"]
    # Continuing costs 10 q and rolling back 3, so it flips at q = 0.3.
    assert found["distance"] == pytest.approx(0.3 - 0.08 / 0.62, abs=1e-6)
    assert found["exact"] is True
    assert "lid" in found["challenger"]


def test_files_keep_their_order_and_the_bytes_do_not_change(run, problem, write):
    names = [write({**problem, "name": name}, f"{name}.json") for name in ("c", "a", "b")]
    first, second = (run("decide", *names, "--json").stdout for _ in range(2))
    assert [json.loads(line)["file"] for line in first.splitlines()] == names
    assert first == second


def test_no_number_is_nan(run, lid):
    line = run("decide", lid, "--json").stdout
    data = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in the output"))
    assert math.isfinite(data["stop"]["loss"])


def test_a_corrected_belief_that_needs_a_value_says_what_is_declared(decided, cups):
    decision = decided(cups, "--observe", "weigh=45", "--policy", "no-reprobe")
    declare = {"level": {"value": 45.0}, "target": {"value": "B"}}
    assert decision["step"] == decision["stop"]
    assert decision["stop"]["kind"] == "roll_back"
    assert (decision["stop"]["correct"], decision["stop"]["undo"]) == (["level", "target"], ["grasp"])
    assert decision["stop"]["declare"] == declare
    # p(more | 45) = 0.294 / (0.294 + 0.01 + 0.01): both new values are wrong in the other two cases.
    more, off = (mass / 0.314 for mass in (0.294, 0.01))
    assert decision["stop"]["loss"] == pytest.approx(4 + (10 + 80) * (1 - more) + 5 * off)


def test_declarations_in_force_come_first_then_what_the_evidence_supports(decided, cups):
    found = decided(cups, "--observe", "weigh=45")["declarations"]
    assert [(d["name"], d["value"], d["version"], d["in_force"]) for d in found] == [
        ("A is least full", "A", 1, True),
        ("A is least full", "B", 2, False),
    ]
    assert set(found[0]) == {"name", "belief", "version", "value", "support", "invalid", "usable", "in_force"}
    assert found[0]["invalid"] == pytest.approx(0.294 / 0.314)
    assert found[1]["invalid"] == pytest.approx(0.02 / 0.314)
    assert found[1]["usable"] is True
    (only,) = decided(cups)["declarations"]
    assert (only["in_force"], only["support"], only["usable"]) == (True, ["look"], True)


def test_an_attribution_without_a_majority_is_unresolved(decided, problem, write):
    problem["hypotheses"][0]["prior"] = 0.4
    problem["hypotheses"].append({"name": "torn", "prior": 0.2, "failed": ["lid"], "cause": "self_error"})
    problem["kernels"]["look"]["likelihood"]["torn"] = [0.2, 0.8]
    assert decided(write(problem))["attributed_to"] == "unresolved"


def test_certified_takes_the_limits_of_its_search(decided, lid):
    bounds = decided(lid, "--policy", "certified", "--gap", "0.5", "--deadline", "5")["bounds"]
    assert bounds["lower"] <= 2.44 + 1e-9 <= bounds["upper"] + 1e-6


def test_a_robust_decision_says_what_safety_costs(run, lid):
    found = json.loads(run("decide", lid, "--policy", "robust-0.2", "--json").stdout)["robust"]
    assert found["radius"] == 0.2
    assert found["worst_loss"] > 2.44
    assert found["price"] >= 0.0
    assert "that safety costs" in run("decide", lid, "--policy", "robust-0.2").stdout.replace("\n", " ")
