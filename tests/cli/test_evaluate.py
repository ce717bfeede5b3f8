import json

import pytest


def test_following_a_policy_to_the_end_costs_what_the_tree_says(run, lid):
    result = run("evaluate", lid, "--policy", "no-reprobe,aquamend", "--json")
    assert result.exit_code == 0
    at_once, looking = (json.loads(line) for line in result.stdout.splitlines())
    assert at_once == {
        "file": lid, "policy": "no-reprobe", "expected_loss": 3.0, "expected_probes": 0.0, "expected_undone": 1.0,
        "success": 1.0, "residual": 0.0, "escalated": 0.0, "left_wrong": {},
    }  # fmt: skip
    # "No" (0.38) rolls back; "yes" (0.62) continues, and is right in 0.54 of all cases.
    assert looking == {
        "file": lid, "policy": "aquamend", "expected_loss": pytest.approx(2.44), "expected_probes": 1.0,
        "expected_undone": pytest.approx(0.38), "success": pytest.approx(0.92),
        "residual": pytest.approx(0.8), "escalated": 0.0, "left_wrong": {"lid": pytest.approx(0.08)},
    }  # fmt: skip


def test_lines_go_by_file_and_then_by_policy(run, problem, write):
    files = [write(problem, name) for name in ("z.json", "a.json")]
    lines = run("evaluate", *files, "--policy", "exact, greedy", "--json").stdout.splitlines()
    found = [(data["file"], data["policy"]) for data in map(json.loads, lines)]
    assert found == [(file, policy) for file in files for policy in ("exact", "greedy")]


def test_an_infinite_loss_is_written_as_text(run, problem, write):
    problem["beliefs"][0]["may_keep"] = False
    problem["actions"][0]["reversible"] = False
    assert json.loads(run("evaluate", write(problem), "--json").stdout)["expected_loss"] == "inf"


def test_the_table_ranks_policies_and_marks_all_that_tie(run, lid):
    result = run("evaluate", lid, "--policy", "no-reprobe,aquamend,exact")
    rows = [line.split() for line in result.stdout.splitlines() if line.endswith("%")]
    assert [row[:3] for row in rows] == [
        ["▶", "aquamend", "2.44"],
        ["▶", "exact", "2.44"],
        ["no-reprobe", "3.00", "0"],
    ]
    assert "What aquamend leaves wrong costs 0.8 s on average, less than correcting it would: lid" in " ".join(
        result.stdout.split()
    )
    assert "a tie is a tie" in result.stdout


def test_a_policy_that_refuses_does_not_stop_the_others(run, lid):
    result = run("evaluate", lid, "--policy", "structured,exact", "--json")
    assert result.exit_code == 2
    assert "policy structured" in result.stderr
    assert [json.loads(line)["policy"] for line in result.stdout.splitlines()] == ["exact"]


def test_nobody_is_crowned_where_a_policy_could_not_be_evaluated(run, lid):
    result = run("evaluate", lid, "--policy", "structured,exact,no-reprobe")
    assert result.exit_code == 2
    assert "▶" not in result.stdout
    assert "No best is named: structured could not be evaluated." in result.stdout


def test_the_names_of_policies_are_readable_at_50_columns(run, lid):
    text = run("evaluate", lid, "--policy", "troubleshooting,all-candidates,rollback-only", columns=50).stdout
    assert all(name in text for name in ("troubleshooting", "all-candidates", "rollback-only"))
    assert max(map(len, text.splitlines())) <= 50


def test_values_that_may_be_wrong_count_against_success(run, cups):
    found = json.loads(run("evaluate", cups, "--policy", "no-reprobe", "--json").stdout)
    assert found["success"] < 1.0


def test_a_policy_that_takes_too_long_can_be_given_up(run, lid):
    result = run("evaluate", lid, "--policy", "greedy,no-reprobe", "--deadline", "0")
    assert result.exit_code == 2
    assert (
        "policy greedy: not finished after 0 s, with 0% of the probability followed to the end; its expected loss is at"
        in result.stderr
    )
    assert run("evaluate", lid, "--policy", "greedy,exact", "--deadline", "60").exit_code == 0


def test_probes_that_read_numbers_are_sampled_with_an_interval(run, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [3, 1]}}
    path = write(problem)
    result = run("evaluate", path, "--policy", "aquamend,no-reprobe", "--json", "--episodes", "500")
    assert result.exit_code == 0
    looking, at_once = (json.loads(line) for line in result.stdout.splitlines())
    assert looking["episodes"] == 500
    low, high = looking["interval"]
    assert low < looking["expected_loss"] < high < at_once["expected_loss"]
    assert "interval" not in at_once
    text = run("evaluate", path, "--policy", "aquamend,no-reprobe,all-candidates", "--episodes", "500").stdout
    assert text.count("▶") == 2, "aquamend and all-candidates are one"
    assert "± is a 95 % interval over 500 sampled recoveries" in text


def test_nobody_is_crowned_where_exact_cannot_be_evaluated(run, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [3, 1]}}
    result = run("evaluate", write(problem), "--policy", "exact,aquamend", "--episodes", "300")
    assert result.exit_code == 2
    assert "▶" not in result.stdout
    assert "No best is named: exact could not be evaluated." in result.stdout


def test_sampling_that_takes_too_long_is_given_up(run, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [3, 1]}}
    result = run("evaluate", write(problem), "--policy", "greedy", "--deadline", "0")
    assert result.exit_code == 2
    assert "give it a longer --deadline" in result.stderr
