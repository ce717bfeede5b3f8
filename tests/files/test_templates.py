"""A problem that was read from a file is written in its words: causes, rules and spreads stay, changes are made."""

import copy
import json
import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import generator
from tests.tiers import cases

from aquamend import InformationState, best_terminal, policy_named
from aquamend.codec.plain_text import data_at, json_data, yaml_data
from aquamend.files import load_problem, parse_problem, problem_to_data
from aquamend.files.decision_format import decision_json
from aquamend.files.problem_file import fully_listed
from aquamend.policies.decision_report import decision_report
from aquamend.problem import Problem
from aquamend.problem.model import Outcomes
from aquamend.recovery import Tracker

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted([*EXAMPLES.rglob("*.yaml"), *EXAMPLES.glob("*.json")])
WORDS = ("causes", "together", "effects", "hypotheses", "kernels", "alarm", "compensations", "delay")


def alike(one: Problem, other: Problem, *, words: bool = True) -> None:
    """Check that two problems are the same, by every table that decisions are made from.

    Without its words, the causes, a problem no longer says how much they left out.
    """
    assert one.model.names == other.model.names
    assert np.array_equal(one.model.prior, other.model.prior)
    for table in ("failed", "invalid"):
        assert np.array_equal(getattr(one, table), getattr(other, table)), table
    for i in one.truth:
        assert [v if v == v else None for v in one.truth[i]] == [v if v == v else None for v in other.truth[i]]
    for belief in range(len(one.graph.beliefs)):
        values = [[(new.value, new.wrong.tolist()) for new in p.new_values[belief]] for p in (one, other)]
        assert values[0] == values[1]
    for name, channel in one.model.channels.items():
        answers = channel.outcomes if isinstance(channel, Outcomes) else [-1.0, 0.5, 18.0, 40.0]
        assert getattr(other.model.channels[name], "outcomes", answers) == answers
        for answer in answers:
            assert np.array_equal(channel.likelihood(answer), other.model.channels[name].likelihood(answer)), name
    assert one.graph.charges == other.graph.charges
    assert one.graph.belief_charges == other.graph.belief_charges
    assert one.graph.actions == other.graph.actions
    assert [plan.loss.tolist() for plan in one.plans] == [plan.loss.tolist() for plan in other.plans]
    assert other.model.left_out == (one.model.left_out if words else 0.0)
    assert one.declarations == other.declarations
    states = InformationState.alarmed(one), InformationState.alarmed(other)
    assert np.array_equal(states[0].posterior, states[1].posterior)
    assert states[0].legal_probes == states[1].legal_probes
    assert best_terminal(states[0]) == best_terminal(states[1])


def read_back(problem: Problem) -> dict:
    """Check that a problem survives being written and read, as JSON and as YAML; return its data."""
    data = problem_to_data(problem)
    again = parse_problem(data)
    alike(problem, again, words="causes" in data)
    assert problem_to_data(again) == data
    for text in (json.dumps(data), yaml.safe_dump(data, allow_unicode=True)):
        parsed = json_data(text) if text.startswith("{") else yaml_data(text)
        assert problem_to_data(parse_problem(parsed)) == data
    return data


@pytest.mark.parametrize("path", FILES, ids=[file.stem for file in FILES])
def test_every_example_is_written_in_its_own_words(path):
    said = data_at(path)
    if not isinstance(said, dict) or "format" not in said:
        pytest.skip("it is no problem")
    data = read_back(load_problem(path))
    assert set(data) <= set(said)
    for key in WORDS:
        assert (key in data) == (key in said), key
    for cause, own in zip(data.get("causes", ()), said.get("causes", ()), strict=True):
        assert json.loads(json.dumps(cause)) == own
    for probe, kernel in data["kernels"].items():
        assert kernel.keys() == said["kernels"][probe].keys()
        assert kernel.get("likelihood", {}) == said["kernels"][probe].get("likelihood", {})


def problem_of(kind: str, seed: int) -> dict:
    rng = random.Random(seed)
    if kind == "valued":
        return generator.valued_problem(rng, gaussian=seed % 3 == 0)
    return getattr(generator, f"{kind}_problem")(rng)


kinds = st.sampled_from(["valued", "extra", "random", "ruled"])


@settings(max_examples=cases(60, 1500), deadline=None)
@given(kinds, st.integers(0, 10**6))
def test_every_random_problem_is_written_in_its_own_words(kind, seed):
    said = problem_of(kind, seed)
    data = read_back(parse_problem(said))
    for key in WORDS:
        assert bool(data.get(key)) == bool(said.get(key)), key


@settings(max_examples=cases(60, 1500), deadline=None)
@given(kinds, st.integers(0, 10**6))
def test_a_problem_in_the_middle_of_a_task_is_read_back_as_it_is(kind, seed):
    said, rng = problem_of(kind, seed), random.Random(seed)
    for action in said["actions"]:
        action.setdefault("undo", 1.0) if "operations" not in action else None
        action["status"] = "planned"
    for plan in said.get("plans", ()):
        plan.pop("undo", None)
    said.pop("compensations", None)
    problem = parse_problem(said)
    tracker = Tracker(problem)
    for action in problem.graph.actions:
        if rng.random() < 0.5:
            tracker.done(action.name)
    for i, belief in enumerate(problem.graph.beliefs):
        values = [new.value for new in problem.new_values[i] if new.value is not None]
        if values and rng.random() < 0.6:
            tracker.declare(belief.name, rng.choice(values), evidence=[problem.graph.probes[0].name])
    now = tracker.problem()
    now = replace(now, sensing_budget=2.5, name="later")
    read_back(now)


def test_what_a_moment_changes_is_changed_and_the_causes_stay(causes):
    causes["kernels"]["scan"]["likelihood"] = [["misread", [0.1, 0.9]], ["default", [0.96, 0.04]]]
    tracker = Tracker(parse_problem(causes))
    tracker.done("drive")
    tracker.declare("weight", 20, evidence=["scan"])
    data = read_back(tracker.problem())
    assert data["causes"] == causes["causes"]
    assert data["kernels"] == causes["kernels"]
    assert data["alarm"] == causes["alarm"]
    assert data["beliefs"][2]["declared"] == 20
    assert data["effects"][0] == {"when": "not shelf=gone & not heavy", "truth": {"weight": 10}}
    assert data["actions"] == [{"name": "drive", "undo": 12, "status": "executed"}]


def test_a_template_with_causes_serves_other_values(causes):
    data = problem_to_data(parse_problem(causes))
    data["beliefs"][2]["declared"] = 15
    causes["beliefs"][2]["declared"] = 15
    alike(parse_problem(data), parse_problem(causes))


def test_what_takes_time_is_written_with_the_time_it_takes(sound):
    sound |= {"delay": 0.5}
    sound["actions"][0] |= {"takes": 3, "redo": 1, "redo_takes": 2}
    sound["probes"][0]["takes"] = 4
    problem = parse_problem(sound)
    graph = problem.graph
    dearer = replace(graph.actions[0], undo=7.0)
    data = read_back(replace(problem, graph=replace(graph, actions=(dearer, *graph.actions[1:]))))
    assert data["actions"][0] == {"name": "grasp", "undo": 7, "status": "executed", "redo": 1, "redo_takes": 2}
    assert data["probes"][0] == {"name": "look", "cost": 0.25, "modality": "vision", "max_uses": 2, "takes": 4}


def test_where_the_file_has_no_words_for_it_everything_is_listed(causes):
    problem = parse_problem(causes)
    model = problem.model
    other = replace(model, hypotheses=[replace(h, prior=1 / len(model.names)) for h in model.hypotheses])
    changed = replace(problem, model=replace(other, left_out=0.0, grown=()))
    data = problem_to_data(changed)
    assert data == fully_listed(changed)
    assert "causes" not in data
    alike(parse_problem(data), changed)


def test_a_kernel_that_was_replaced_is_listed_and_the_rest_stays(causes):
    problem = parse_problem(causes)
    rows = dict.fromkeys(problem.model.names, (0.5, 0.5))
    kernels = {**problem.model.kernels, "scan": replace(problem.model.kernels["scan"], likelihood=rows)}
    data = read_back(replace(problem, model=replace(problem.model, kernels=kernels)))
    assert data["causes"] == causes["causes"]
    assert data["kernels"]["range"] == causes["kernels"]["range"]
    assert len(data["kernels"]["scan"]["likelihood"]) == len(problem.model.names)


def test_errors_that_persist_are_written_as_such(sound):
    sound["probes"][0]["persistent"] = 0.5
    problem = parse_problem(sound)
    assert len(problem.model.names) > 3
    data = read_back(problem)
    assert data["probes"][0]["persistent"] == 0.5
    assert data["hypotheses"][1:] == sound["hypotheses"][1:]
    used = replace(problem.graph.probes[0], max_uses=1)  # one use less, and nothing persists any more
    later = replace(problem, graph=replace(problem.graph, probes=(used, *problem.graph.probes[1:])))
    assert len(read_back(later)["hypotheses"]) == len(problem.model.names)


def test_text_that_looks_like_a_number_stays_text(sound_2):
    sound_2["beliefs"][1]["declared"] = "4.50"
    sound_2["hypotheses"][1]["truth"] = {"level": 45, "target": "4.5"}
    data = read_back(parse_problem(sound_2))
    assert data["hypotheses"][1]["truth"] == {"level": 45, "target": "4.5"}


def test_a_problem_with_its_words_can_be_copied_and_pickled(causes):
    text = yaml.safe_dump(causes).replace("prior: 0.1", "prior: 0.10")
    problem = parse_problem(yaml_data(text))
    for copied in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), copy.copy(problem)):
        assert problem_to_data(copied) == problem_to_data(problem) == causes


def test_decisions_are_those_of_the_problem_that_was_written(causes):
    reports = [
        decision_json(decision_report(InformationState.alarmed(p), policy_named("aquamend"), name="aquamend"), file="f")
        for p in (parse_problem(causes), parse_problem(problem_to_data(parse_problem(causes))))
    ]
    assert reports[0] == reports[1]
