"""``aquamend decide --alarm``, ``--silent`` and ``--no-alarm``."""

import json

import pytest
from tests.belief.test_alarms import data

from aquamend.belief import InformationState
from aquamend.files import parse_problem


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "robot.json"
    path.write_text(json.dumps(data()))
    return str(path)


def marginals(problem, *rung, silent=()):
    state = InformationState.alarmed(problem, rung, silent=silent)
    return dict(zip(problem.graph.belief_index, map(pytest.approx, state.failure_probabilities), strict=True))


def test_decide_hears_the_monitors_that_are_named(decided, file):
    problem = parse_problem(data())
    assert decided(file)["marginals"] == marginals(problem)
    said = decided(file, "--alarm", "scan", "--silent", "lift", "--alarm", "scan")
    assert said["marginals"] == marginals(problem, "scan", "scan", silent=["lift"])
    assert said["alarms"] == [
        {"alarm": "scan", "rang": True}, {"alarm": "scan", "rang": True}, {"alarm": "lift", "rang": False},
    ]  # fmt: skip


def test_the_text_names_what_rang_and_what_stayed_silent(run, file):
    said = run("decide", file, "--alarm", "scan", "--silent", "lift").stdout
    assert "alarm scan on map · lift stayed silent" in said


def test_the_only_alarm_has_rung_unless_it_is_denied(decided, tmp_path):
    one = data(alarms={"scan": {"likelihood": {"map": 0.9, "default": 0.05}}})
    path = tmp_path / "one.json"
    path.write_text(json.dumps(one))
    problem = parse_problem(one)
    assert decided(str(path))["marginals"] == marginals(problem, "scan")
    assert decided(str(path), "--alarm", "scan")["marginals"] == marginals(problem, "scan")
    assert decided(str(path), "--no-alarm")["marginals"] == marginals(problem)
    silent = decided(str(path), "--no-alarm", "--silent", "scan")
    assert silent["marginals"] == marginals(problem, silent=["scan"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--alarm", "lift", "--alarm", "lift"], "alarms.lift.again"),
        (["--alarm", "lift", "--silent", "lift"], "keep one of the two"),
        (["--alarm", "lift", "--no-alarm"], "exclude each other"),
        (["--alarm", "lft"], "did you mean 'lift'?"),
        (["--silent", "torque"], "unknown alarm 'torque'"),
    ],
)
def test_what_cannot_be_is_refused(run, file, options, said):
    result = run("decide", file, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_evaluate_starts_where_the_monitors_lead(run, file):
    (line,) = run("evaluate", file, "--policy", "no-reprobe", "--json", "--alarm", "lift").stdout.splitlines()
    (quiet,) = run("evaluate", file, "--policy", "no-reprobe", "--json", "--no-alarm").stdout.splitlines()
    assert json.loads(line)["expected_loss"] != json.loads(quiet)["expected_loss"]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ({"alarm": {"likelihood": {"default": 1}}}, "alarms: there is an `alarm` too"),
        ({"alarms": {"scan": {"likelihood": {"mop": 0.9, "default": 0.1}}}}, "alarms.scan.likelihood.mop"),
        ({"alarms": {"scan": {"likelihood": {"default": 2}}}}, "alarms.scan.likelihood"),
        ({"alarms": {"scan": {"suspects": ["mop"], "likelihood": {"default": 1}}}}, "alarms.scan.suspects[0]"),
        ({"alarms": {"scan": {"likelihood": {"default": 0}}}}, "must be possible"),
        ({"alarms": {"scan": {"likely": {"default": 0}}, "b": 3}}, "alarms.scan"),
        ({"alarms": [1]}, "alarms"),
    ],
)
def test_faults_of_alarms_are_reported_with_their_places(run, tmp_path, rest, said):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data(**rest)))
    result = run("validate", str(path))
    assert result.exit_code == 2
    assert said in result.stderr


def test_what_the_monitors_said_counts_in_graphs_and_exports_too(run, file):
    def start(*options):
        return next(line for line in run("export", file, *options).stdout.splitlines() if line.startswith("start:"))

    problem = parse_problem(data())
    state = InformationState.alarmed(problem, ["scan"], silent=["lift"])
    numbers = [float(number) for number in start("--alarm", "scan", "--silent", "lift").split()[1:]]
    assert [number for number in numbers if number > 0] == pytest.approx(state.posterior)
    assert start() != start("--alarm", "scan")
    drawn = run("graph", file, "--alarm", "scan", "--silent", "lift").stdout
    assert f"suspected: {state.failure_probabilities[0]:.0%}" in drawn
