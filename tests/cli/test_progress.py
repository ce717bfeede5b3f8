"""Long searches tell how far they have come, and an interrupt prints what they have reached."""

import json
from collections.abc import Iterator

import pytest

from aquamend.belief import InformationState
from aquamend.cli import output
from aquamend.planning import search
from aquamend.planning.limits import Limits
from aquamend.planning.search import BoundMethod, CertifiedPlan, Evidence, OneStep, ReadingsBound
from aquamend.policies import Certified, evaluation


class Interrupted:
    """A search that somebody loses patience with after two rounds."""

    def __init__(self, method: BoundMethod) -> None:
        self.method = method

    def accepts(self, state: InformationState) -> bool:
        return self.method.accepts(state)

    def improve(self, state: InformationState, limits: Limits) -> Iterator[CertifiedPlan]:
        rounds = self.method.improve(state, limits)
        yield next(rounds)
        yield next(rounds)
        raise KeyboardInterrupt


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(search, "METHODS", (OneStep(), Interrupted(Evidence()), Interrupted(ReadingsBound())))


@pytest.mark.usefixtures("impatient")
def test_an_interrupted_decision_is_printed_with_the_bounds_reached(run):
    result = run("decide", "examples/pouring.yaml", "--policy", "certified", "--json")
    assert result.exit_code == 130
    assert "interrupted; the bounds are those reached by then" in result.stderr
    bounds = json.loads(result.stdout)["bounds"]
    # The optimum is 23.4; one step ahead alone has 28.4, and two rounds of the search need not have bettered that yet.
    assert 20.0 < bounds["lower"] < 23.4 < bounds["upper"] < 28.4


@pytest.mark.usefixtures("impatient")
def test_an_interrupted_evaluation_says_what_the_policy_costs_at_least(run):
    result = run("evaluate", "examples/stale_map.yaml", "--policy", "certified", "--json")
    assert result.exit_code == 2
    assert "interrupted, with " in result.stderr
    assert "its expected loss is at least " in result.stderr


def test_a_long_search_tells_its_bounds(run, monkeypatch):
    monkeypatch.setattr(output, "QUIET_S", 0.0)
    monkeypatch.setattr(output, "EVERY_S", 0.0)
    monkeypatch.setattr(output, "SELDOM_S", 0.0)
    result = run("decide", "examples/pouring.yaml", "--policy", "certified", "--gap", "0.5")
    assert result.exit_code == 0
    assert "decide examples/pouring.yaml: between " in result.stderr
    assert "Ctrl-C ends it" in result.stderr


def test_a_long_evaluation_tells_how_much_is_followed(run, monkeypatch):
    monkeypatch.setattr(output, "QUIET_S", 0.0)
    monkeypatch.setattr(output, "EVERY_S", 0.0)
    monkeypatch.setattr(output, "SELDOM_S", 0.0)
    result = run("evaluate", "examples/stale_map.yaml", "--policy", "aquamend")
    assert result.exit_code == 0
    assert "evaluate aquamend: 1 evidence states, 0.0% of the probability at an end" in result.stderr


def test_what_an_unfinished_evaluation_says_is_below_the_loss_of_the_policy(make_problem_state):
    exact = evaluation.evaluate(Certified(), make_problem_state).expected_loss
    following = evaluation._Following(Certified(), make_problem_state.problem, None)
    following.layer = {(): (make_problem_state, 1.0)}
    for _ in range(3):
        assert following.unfinished("so far").lower <= exact + 1e-9
        if following.layer:
            following._visit_next()
        following.layer = following.layer or following.following


@pytest.fixture
def make_problem_state() -> InformationState:
    from aquamend.files import load_problem

    return InformationState.alarmed(load_problem("examples/stale_map.yaml"))
