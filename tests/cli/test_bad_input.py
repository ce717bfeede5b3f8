import json

import pytest


def assert_refused(result, *parts, stdout=""):
    assert result.exit_code == 2
    assert result.stdout == stdout
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize("command", ["validate", "decide", "evaluate"])
def test_every_fault_of_every_file_is_listed(run, problem, write, command):
    problem["beliefs"][0]["residual"] = -1
    problem["hypotheses"][0]["prior"] = 0.5
    first = write(problem, "first.json")
    second = write({"format": "nonsense"}, "second.json")
    result = run(command, first, second, "/no/such/file.yaml")
    assert_refused(result, f"{first}: beliefs[0].residual: ", "-1", f"{second}: ", "/no/such/file.yaml")
    assert "0.9" in result.stderr, "the priors' sum is said"


@pytest.mark.parametrize("command", ["decide", "evaluate"])
def test_sound_files_are_worked_on_beside_a_bad_one(run, lid, command):
    result = run(command, "/no/such/file", lid, "--json")
    assert result.exit_code == 2
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == [lid]
    assert "/no/such/file" in result.stderr


@pytest.mark.parametrize("command", ["decide", "evaluate", "graph"])
def test_an_unknown_policy_is_answered_with_the_known_ones(run, lid, command):
    assert_refused(run(command, lid, "--policy", "magic"), "'magic'", "'aquamend'", "'lookahead-K'", "'exact'")


@pytest.mark.parametrize(
    "asked",
    [
        ("decide", "--deadline"), ("decide", "--gap"), ("decide", "--surprising"), ("evaluate", "--deadline"),
        ("plan", "--seconds"), ("serve", "--seconds"),
    ],
)  # fmt: skip
def test_an_option_that_is_no_number_is_refused(run, lid, asked):
    command, option = asked
    result = run(command, lid, option, "nan")
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("look", "PROBE=OUTCOME"),
        ("=yes", "PROBE=OUTCOME"),
        ("look=", "PROBE=OUTCOME"),
        ("lok=yes", "unknown probe 'lok'; valid names: 'look'"),
        ("look=maybe", "'maybe'; valid names: 'yes', 'no'"),
    ],
)
@pytest.mark.parametrize("command", ["decide", "graph"])
def test_an_observation_that_cannot_be_meant_is_refused(run, lid, command, given, said):
    assert_refused(run(command, lid, "--observe", given), said)


def test_a_misspelt_outcome_is_refused_after_contradicting_evidence_too(run, problem, write):
    problem["probes"][0]["max_uses"] = 3
    problem["kernels"]["look"]["likelihood"] = {"on": [1, 0], "off": [0, 1]}
    given = [arg for outcome in ("yes", "no", "maybe") for arg in ("--observe", f"look={outcome}")]
    assert_refused(run("decide", write(problem), *given), "'maybe'")


def test_a_probe_cannot_have_answered_more_often_than_it_may_run(run, lid):
    assert_refused(run("decide", lid, "--observe", "look=no", "--observe", "look=no"), "'look' is not legal here")


@pytest.mark.parametrize("reading", ["high", "nan", "inf"])
def test_a_gaussian_probe_needs_a_finite_number(run, problem, write, reading):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [2, 1]}}
    assert_refused(run("decide", write(problem), "--observe", f"look={reading}"), "finite number", "'look'")


def test_a_probe_whose_name_has_an_equals_sign_can_answer(run, problem, write):
    text = json.dumps(problem).replace('"look"', '"x=1"')
    assert run("decide", write(json.loads(text)), "--observe", "x=1=yes").exit_code == 0


def test_structured_refuses_and_names_the_assumption_and_the_belief(run, lid):
    assert_refused(run("decide", lid, "--policy", "structured"), "Assumption 3", "'lid'", lid)


def test_evaluate_refuses_exact_where_it_would_run_probes_that_read_numbers(run, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [9, 1]}}
    assert_refused(run("evaluate", write(problem), "--policy", "exact"), "read numbers", "'look'", "policy exact")


def test_evaluate_takes_gaussian_files_for_policies_that_run_no_such_probe(run, problem, write):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [9, 1]}}
    result = run("evaluate", write(problem), "--policy", "no-reprobe", "--json")
    assert (result.exit_code, json.loads(result.stdout)["expected_probes"]) == (0, 0.0)


@pytest.mark.parametrize("policy", ["aquamend", "greedy", "lookahead-2"])
def test_search_limits_are_refused_where_nothing_searches(run, lid, policy):
    result = run("decide", lid, "--deadline", "1", "--policy", policy)
    assert_refused(result, "use --policy best or --policy exact or --policy certified", f"'{policy}'")


@pytest.mark.parametrize("args", [["--gap", "many"], ["--deadline", "-1"], ["--frobnicate"], []])
def test_misuse_of_the_command_line_exits_with_2(run, lid, args):
    files = [lid] if args else []
    assert_refused(run("decide", *files, *(args and ["--policy", "exact", *args])), "Usage: ")


def test_validate_tells_programs_what_is_wrong_too(run, problem, write, lid):
    problem["beliefs"][0]["residual"] = -1
    bad = write(problem, "bad.json")
    result = run("validate", lid, bad, "--json")
    assert result.exit_code == 2
    good_line, bad_line = (json.loads(line) for line in result.stdout.splitlines())
    assert good_line == {"file": lid, "valid": True, "faults": [], "hypotheses": 2}
    assert bad_line["valid"] is False
    assert bad_line["faults"][0]["where"] == "beliefs[0].residual"
    assert set(bad_line["faults"][0]) == {"where", "problem", "remedy", "line", "column"}


def test_validate_says_what_a_sound_file_holds(run, lid):
    result = run("validate", lid)
    assert result.exit_code == 0
    assert result.stdout == f"{lid}: valid (1 belief, 2 actions, 1 probe, 2 hypotheses)\n"


def test_a_fault_is_followed_by_where_it_stands(run, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "format: aquamend-problem/1\nbeliefs:\n- {name: b, residual: -1}\nhypotheses: [{name: h, prior: 1}]\n"
    )
    result = run("validate", str(path))
    assert_refused(result, f"{path}: beliefs[0].residual: -1.0 is not a loss;", f"({path}:3:23)")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--policy", "aquamnd"], "did you mean 'aquamend'?"),
        (["--observe", "lok=yes"], "did you mean 'look'?"),
        (["--observe", "look=yse"], "did you mean 'yes'?"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(run, lid, args, said):
    assert_refused(run("decide", lid, *args), said)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.999, "probes[0].persistent: 0.999 leaves a normal distribution next to nothing"),
        (1.5, "probes[0].persistent: 1.5 is not a probability"),
        ("often", "probes[0].persistent: the text 'often' is not a number"),
        (None, "probes[0].persistent"),
    ],
)
def test_an_error_that_cannot_persist_is_refused(run, problem, write, share, said):
    problem["probes"][0] |= {"max_uses": 4, "persistent": share}
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 1], "off": [3, 1]}}
    assert_refused(run("decide", write(problem)), said)
