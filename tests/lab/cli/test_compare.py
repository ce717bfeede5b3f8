import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from aquamend_lab.cli.compare import compare
from aquamend_lab.records import write_lines

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("compare")(compare)
app.callback()(lambda: None)


def record(policy, scenario, loss, **fields):
    return {
        "suite": "m1-v2", "scenario": scenario, "seed": 0, "policy": policy, "group": {}, "loss": loss,
        "steps": [f"{policy} acts"], **fields,
    }  # fmt: skip


@pytest.fixture
def compared():
    """Run the command in this process; 80 columns and no colour."""

    def compared(*args: str, columns: int = 80):
        return CliRunner(env={"COLUMNS": str(columns), "TERM": "dumb"}).invoke(app, ["compare", *args])

    return compared


@pytest.fixture
def make_run(tmp_path, monkeypatch):
    """Write a run under ``runs/`` of a fresh working folder."""
    monkeypatch.chdir(tmp_path)

    def make_run(name, records, suite="m1-v2"):
        folder = Path("runs") / name
        write_lines(folder / "records.jsonl", records)
        manifest = {"format": "aquamend-run/1", "suite": suite, "policies": ["aquamend", "restart"]}
        manifest |= {"scenarios": 8, "seeds": 1}
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        return str(folder)

    return make_run


@pytest.fixture
def one(make_run):
    records = [record("aquamend", i, 2.0) for i in range(8)] + [record("restart", i, 2.0 + i % 4) for i in range(8)]
    return make_run("one", records)


def test_the_text_says_who_loses_less_and_how_surely(one, compared):
    result = compared("aquamend", "restart", "--run", one)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "aquamend against restart realised loss · suite m1-v2 · runs/one" in text
    assert "▶ aquamend loses 1.5 less on average; 2 of 8 scenarios tie." in text
    assert "statistically significant (exact p = 0.0312)" in text
    assert "all 8 6 2 0 −1.50" in text
    assert "Differences are aquamend − restart: negative favours aquamend" in text
    assert "Where the difference comes from: 5 of 6 scenarios, 92% of all difference" in text
    assert "aquamend acts" in text


def test_no_line_is_wider_than_the_terminal(one, compared):
    lines = compared("aquamend", "restart", "--run", one).stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_a_policy_ties_with_itself(one, compared):
    text = compared("aquamend", "aquamend", "--run", one).stdout
    assert "A tie: all 8 differences are zero." in text
    assert "Where the difference comes from" not in text


def test_the_only_run_needs_no_name(one, compared):
    result = compared("aquamend", "restart", "--json")
    assert json.loads(result.stdout)["first"] == {"policy": "aquamend", "run": one}


def test_json_is_one_object_with_all_numbers_and_as_many_drivers_as_asked(one, compared):
    (line,) = compared("aquamend", "restart", "--run", one, "--json", "--drivers", "1").stdout.splitlines()
    data = json.loads(line)
    assert (data["pairs"], data["wins"], data["ties"], data["losses"]) == (8, 6, 2, 0)
    assert (data["mean_difference"], data["p_value"], data["p_holm"]) == (-1.5, 0.03125, 0.03125)
    assert data["interval"][0] < -1.5 < data["interval"][1]
    assert data["drivers"] == [
        {
            "group": {}, "seed": 0, "scenario": 3, "first": 2.0, "second": 5.0, "difference": -3.0, "share": 0.25,
            "first_steps": ["aquamend acts"], "second_steps": ["restart acts"],
        }
    ]  # fmt: skip


def test_two_runs_are_compared_policy_by_policy_as_one_family(one, make_run, compared):
    two = make_run(
        "two",
        [record("restart", i, 9.0) for i in range(8)]
        + [record("aquamend", i, 1.0) for i in range(8)]
        + [record("greedy", 0, 1.0)],
    )
    found = [json.loads(line) for line in compared(one, two, "--json").stdout.splitlines()]
    assert [(data["first"], data["second"]) for data in found] == [
        ({"policy": name, "run": one}, {"policy": name, "run": two}) for name in ("aquamend", "restart")
    ]
    assert [(data["p_value"], data["p_holm"]) for data in found] == [(2 / 2**8, 4 / 2**8)] * 2
    assert "for the 2 comparisons shown" in " ".join(compared(one, two).stdout.split())


def test_one_policy_of_two_runs_may_be_chosen(one, make_run, compared):
    two = make_run("two", [record("aquamend", i, 1.0) for i in range(8)])
    text = compared(one, two, "--policy", "aquamend").stdout
    assert text.startswith("aquamend in runs/one against aquamend in runs/two\n")


def test_the_expected_risk_may_be_compared(make_run, compared):
    make_run("one", [record("aquamend", 0, 9.0, expected_risk=1.0), record("restart", 0, 9.0, expected_risk=4.0)])
    data = json.loads(compared("aquamend", "restart", "--metric", "expected-risk", "--json").stdout)
    assert (data["metric"], data["mean_difference"]) == ("expected_risk", -3.0)


def test_estimators_are_compared_by_their_error_and_only_by_it(make_run, compared):
    make_run("one", [record(name, 0, None, exact=4.0, estimate=e) for name, e in (("beam-32", 4.5), ("other", 6.0))])
    refused = compared("beam-32", "other")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "runs/one compares estimators, which have no loss; give --metric error" in refused.stderr
    data = json.loads(compared("beam-32", "other", "--metric", "error", "--json").stdout)
    assert (data["metric"], data["mean_difference"]) == ("error", -1.5)


def test_groups_that_may_be_taken_together_have_a_line_each_after_all(make_run, compared):
    def lines(key):
        return [record(p, i, loss, group={key: 3 + i}) for p, loss in (("a", 1.0), ("b", 2.0)) for i in range(2)]

    for key, rows in (("factor", ["all", "factor = 3", "factor = 4"]), ("n", ["n = 3", "n = 4"])):
        text = compared("a", "b", "--run", make_run(key, lines(key))).stdout
        shown = [line.split("  ")[1] for line in text.splitlines() if line.startswith(("  all", f"  {key} = "))]
        assert shown[: len(rows)] == rows
        together = key == "factor"
        assert ("These groups are not taken together" in " ".join(text.split())) is not together
        assert ("Where the difference comes from" in text) is together
        assert (f"▶ {key} = 3: a loses 1 less" in text) is not together


def test_policies_of_two_runs_are_compared_where_each_says_of_which(one, make_run, compared):
    two = make_run("two", [record("greedy", i, 1.0) for i in range(8)])
    data = json.loads(compared(f"{one}:aquamend", f"{two}:greedy", "--json").stdout)
    assert (data["first"], data["second"]) == ({"policy": "aquamend", "run": one}, {"policy": "greedy", "run": two})
    assert data["mean_difference"] == 1.0
    text = compared(f"{one}:aquamend", f"{two}:greedy").stdout
    assert text.startswith("aquamend against greedy\n")


def test_one_policy_of_two_runs_is_told_apart_by_its_run(one, make_run, compared):
    two = make_run("two", [record("aquamend", i, 1.0) for i in range(8)])
    assert compared(f"{one}:aquamend", f"{two}:aquamend").stdout.startswith(
        "aquamend in runs/one against aquamend in runs/two\n"
    )


def test_a_policy_may_have_colons_and_slashes_in_its_name(make_run, compared):
    mine = "my.module:Mine(path='a/b')"
    run = make_run("one", [record(mine, 0, 1.0), record("restart", 0, 2.0)])
    for args in ((mine, "restart", "--run", run), (f"{run}:{mine}", f"{run}:restart")):
        assert json.loads(compared(*args, "--json").stdout)["first"]["policy"] == mine


def test_scenarios_that_cannot_be_paired_are_reported(make_run, compared):
    make_run("one", [record("a", 0, 1.0), record("a", 1, 1.0), record("b", 0, 2.0), record("b", 1, None, error="no")])
    text = " ".join(compared("a", "b").stdout.split())
    assert "1 of 2 scenarios lack one of the two numbers (b refused or failed on 1) and are left out." in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["magic", "restart"], "unknown policy 'magic'; valid names: 'aquamend', 'restart'"),
        (["runs/one", "restart"], "'runs/one' is a folder but 'restart' is not"),
        (["restart", "runs/one"], "'runs/one' is a folder but 'restart' is not"),
        (["runs/one", "runs/nowhere"], "runs/nowhere: there is no manifest.json in it"),
        (["runs/one", "runs/one", "--run", "runs/one"], "--run runs/one says where two policies are"),
        (["runs/one", "runs/one", "--policy", "magic"], "unknown policy 'magic'"),
        (["aquamend", "restart", "--policy", "aquamend"], "--policy aquamend goes with two runs"),
        (["runs/one:aquamend", "restart"], "'restart' does not say of which run; give RUN:POLICY for both"),
        (["runs/nowhere:aquamend", "runs/one:restart"], "runs/nowhere: there is no manifest.json in it"),
        (["runs/one:magic", "runs/one:restart"], "unknown policy 'magic'"),
        (["runs/one:aquamend", "runs/one:restart", "--run", "x"], "--run x is said already by RUN:POLICY"),
        (["aquamend", "restart", "--run", "nowhere"], "nowhere: there is no manifest.json in it"),
        (
            ["aquamend", "restart", "--metric", "expected-risk"],
            "no scenario has a number for --metric expected-risk",
        ),
        (["aquamend", "restart", "--metric", "luck"], "luck"),
        (["aquamend", "restart", "--drivers", "-1"], "--drivers"),
    ],
)
def test_what_cannot_be_compared_is_said_with_status_two(one, compared, args, message):
    result = compared(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_one_of_several_runs_must_be_named(one, make_run, compared):
    make_run("two", [])
    result = compared("aquamend", "restart")
    assert result.exit_code == 2
    assert "there are 2: runs/one, runs/two; name one with --run DIR" in result.stderr


def test_without_any_run_one_must_be_named(tmp_path, monkeypatch, compared):
    monkeypatch.chdir(tmp_path)
    assert "there is none; name one with --run DIR" in compared("aquamend", "restart").stderr


def test_runs_of_different_suites_are_refused(one, make_run, compared):
    two = make_run("two", [record("greedy", 0, 1.0)], suite="m1-depth-v1")
    result = compared(one, two)
    assert result.exit_code == 2
    assert "its suite is 'm1-depth-v1', that of runs/one is 'm1-v2'; compare runs of the same suite" in result.stderr


def test_runs_without_a_common_policy_are_refused(one, make_run, compared):
    two = make_run("two", [record("greedy", 0, 1.0)])
    assert "have no policy in common" in compared(one, two).stderr


def test_a_broken_number_is_said_and_not_raised(make_run, compared):
    make_run("one", [record("a", 0, "much"), record("b", 0, 1.0)])
    result = compared("a", "b")
    assert (result.exit_code, result.exception.__class__) == (2, SystemExit)
    assert "runs/one: scenario 0, seed 0, a: 'loss' is 'much', which is no number" in result.stderr


def test_a_part_of_the_loss_may_be_compared(make_run, compared):
    parts = {"sensing": 1.0, "rollback": 2.0, "continuation": 4.0, "residual": 0.0}
    make_run("one", [record(name, 0, 7.0, **parts | {"sensing": cost}) for name, cost in (("a", 1.0), ("b", 3.0))])
    for metric, difference in (("sensing", -2.0), ("loss-without-sensing", 0.0), ("loss-without-rollback", -2.0)):
        data = json.loads(compared("a", "b", "--metric", metric, "--json").stdout)
        assert (data["metric"], data["mean_difference"]) == (metric.replace("-", "_"), difference)


def test_a_sealed_run_that_was_edited_is_refused(make_run, compared):
    folder = Path(make_run("one", []))
    write_lines(folder / "records.jsonl", [record("a", 0, 1.0), record("b", 0, 2.0)], sealed=True)
    manifest = json.loads((folder / "manifest.json").read_text()) | {"format": "aquamend-run/2"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert compared("a", "b").exit_code == 0
    (folder / "records.jsonl").write_text((folder / "records.jsonl").read_text().replace('"loss":2.0', '"loss":0.5'))
    result = compared("a", "b")
    assert result.exit_code == 2
    assert "line 2 is not as it was written: its seal is broken or missing" in result.stderr
