"""A probe is legal only while what it requires is executed and what it forbids is not, everywhere."""

import itertools
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from aquamend import Action, InformationState, Observation, Reprobe, policy_named
from aquamend.cli.main import app
from aquamend.errors import IllegalProbe, InvalidProblem
from aquamend.files import parse_problem
from aquamend.files.decision_format import decision_json
from aquamend.files.graph_text import marked_graph
from aquamend.lint import findings
from aquamend.policies import evaluate
from aquamend.policies.decision_report import decision_report
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.story.reasons import unavailable

CUP = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "level", "residual": 40}],
    "actions": [
        {"name": "fill", "undo": 1, "status": "executed"},
        {"name": "lift", "undo": 5, "status": "executed"},
        {"name": "pour", "undo": 9},
    ],
    "probes": [
        {"name": "weigh", "cost": 0.1, "forbids": ["lift"]},
        {"name": "look", "cost": 1, "requires": ["fill"]},
        {"name": "taste", "cost": 0.1, "requires": ["pour", "fill"], "forbids": ["lift"]},
    ],
    "edges": [["level", "lift", "belief_to_action"], *([probe, "level", "detection"] for probe in ("weigh", "look"))],
    "hypotheses": [{"name": "fine", "prior": 0.5}, {"name": "spilt", "prior": 0.5, "failed": ["level"]}],
    "kernels": {
        "weigh": {"outcomes": ["full", "less"], "likelihood": {"fine": [1, 0], "spilt": [0, 1]}},
        "look": {"outcomes": ["full", "less"], "likelihood": {"fine": [0.9, 0.1], "spilt": [0.2, 0.8]}},
        "taste": {"outcomes": ["full", "less"], "likelihood": {"fine": [1, 0], "spilt": [0, 1]}},
    },
}  # fmt: skip


@pytest.fixture
def cup() -> dict:
    return json.loads(json.dumps(CUP))


def with_status(problem: Problem, executed: set[str]) -> Problem:
    """Return the problem with just these actions executed."""
    actions = [replace(action, executed=action.name in executed) for action in problem.graph.actions]
    return replace(problem, graph=replace(problem.graph, actions=actions))


def test_it_is_legal_just_while_the_actions_stand_as_it_needs():
    problem = parse_problem(CUP)
    names = [action.name for action in problem.graph.actions]
    for executed in itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(4)):
        done = set(executed)
        wanted = [p["name"] for p in CUP["probes"]
                  if done.issuperset(p.get("requires", ())) and done.isdisjoint(p.get("forbids", ()))]  # fmt: skip
        assert list(InformationState.start(with_status(problem, done)).legal_probes) == wanted


def test_why_it_is_not_legal_is_said_in_words():
    state = InformationState.start(parse_problem(CUP))
    assert state.why_illegal("look") == ""
    assert state.why_illegal("weigh") == "possible once lift is undone"
    assert state.why_illegal("taste") == "possible once pour is done and lift is undone"
    with pytest.raises(IllegalProbe, match="probe 'weigh' is not legal here: possible once lift is undone"):
        state.after(Observation("weigh", "full"))
    assert state.after(Observation("weigh", "full", unasked=True)).posterior.tolist() == [1.0, 0.0]


def test_an_irreversible_action_says_that_it_stays(cup):
    cup["actions"][1] = {"name": "lift", "reversible": False, "status": "executed"}
    assert InformationState.start(parse_problem(cup)).why_illegal("weigh") == (
        "possible once lift is undone, which it cannot be"
    )


@pytest.mark.parametrize(
    "policy",
    ["aquamend", "all-candidates", "lookahead-3", "exact", "certified", "greedy", "decoupled", "power-per-cost",
     "troubleshooting", "greedy-repair", "lossless"],
)  # fmt: skip
def test_policies_and_their_values_are_those_without_the_probes_that_are_not_possible(cup, policy):
    problem = parse_problem(cup)
    for probe in ("weigh", "taste"):
        cup["probes"] = [entry for entry in cup["probes"] if entry["name"] != probe]
        cup["kernels"].pop(probe)
        cup["edges"] = [edge for edge in cup["edges"] if edge[0] != probe]
    less = parse_problem(cup)
    rule = policy_named(policy)
    step = rule.next_step(InformationState.start(problem))
    assert step == rule.next_step(InformationState.start(less))
    assert evaluate(rule, problem) == evaluate(rule, less)


def test_bounds_count_on_no_probe_that_is_not_possible(cup):
    state = InformationState.start(parse_problem(cup))
    bounds = decision_report(state, policy_named("exact"), name="exact").bounds
    cup["probes"][0].pop("forbids")
    easier = decision_report(InformationState.start(parse_problem(cup)), policy_named("exact"), name="exact").bounds
    assert easier.upper < bounds.lower  # a perfect look for a tenth: it would have shown


def test_the_decision_says_when_a_probe_will_be_possible():
    report = decision_report(InformationState.start(parse_problem(CUP)), policy_named("aquamend"), name="aquamend")
    probes = {probe["probe"]: probe for probe in decision_json(report, file="cup.yaml")["probes"]}
    assert probes["weigh"]["legal"] is False
    assert probes["weigh"]["why_illegal"] == "possible once lift is undone"
    assert "why_illegal" not in probes["look"]
    assert ("probe weigh", "possible once lift is undone") in [(u.what, u.why) for u in unavailable(report)]


def test_the_command_says_it_too(tmp_path):
    file = tmp_path / "cup.json"
    file.write_text(json.dumps(CUP))
    assert "possible once lift is undone" in CliRunner().invoke(app, ["decide", str(file)]).output
    refused = CliRunner().invoke(app, ["decide", str(file), "--observe", "weigh=full"])
    assert refused.exit_code == 2
    assert "possible once lift is undone" in " ".join(refused.output.split())


def test_the_graph_shows_what_a_probe_waits_for():
    state = InformationState.start(parse_problem(CUP))
    graph = marked_graph(state, Reprobe("look"))
    assert {(link.source, link.label, link.target) for link in graph.links if link.line == "dotted"} == {
        ("weigh", "once undone", "lift"), ("look", "once done", "fill"),
        ("taste", "once done", "pour"), ("taste", "once done", "fill"), ("taste", "once undone", "lift"),
    }  # fmt: skip
    assert {node.name: node.notes for node in graph.nodes}["weigh"] == ("possible once lift is undone",)
    assert "possible once lift is undone" in graph.as_dot()


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"requires": ["flil"]}, "probes[1].requires[0]: 'flil' is not an action; did you mean 'fill'?"),
        ({"forbids": ["level"]}, "probes[1].forbids[0]: 'level' is not an action"),
        ({"requires": ["fill", "lift"], "forbids": ["pour", "lift"]},
         "probes[1].forbids[1]: 'lift' is required too, so that the probe is never possible; keep one of the two"),
        ({"requires": "fill"}, "probes[1].requires: 'fill' is not a list"),
    ],
)  # fmt: skip
def test_a_fault_says_where_and_what(cup, probe, said):
    cup["probes"][1] = {"name": "look", "cost": 1, **probe}
    with pytest.raises(InvalidProblem) as caught:
        parse_problem(cup)
    (fault,) = map(str, caught.value.faults)
    assert fault.startswith(said)


def test_an_action_that_could_not_be_read_is_not_called_unknown(cup):
    cup["actions"][0] = {"name": 3.5, "undo": "x", "status": "executed", "nmae": 1}
    cup["actions"][2] = "pour"
    with pytest.raises(InvalidProblem) as caught:
        parse_problem(cup)
    assert not [fault for fault in caught.value.faults if "is not an action" in fault.problem]


def codes(data: dict) -> dict[str, str]:
    return {f.where: f.code for f in findings(InformationState.start(parse_problem(data))) if "possible" in f.code}


def test_lint_names_probes_that_can_never_run(cup):
    assert codes(cup) == {"probes.taste": "not-possible-here"}
    cup["probes"][1]["forbids"] = ["pour"]
    cup["probes"][1]["requires"] = ["lift"]
    assert codes(cup) == {"probes.taste": "not-possible-here"}
    cup["edges"].append(["pour", "lift", "action_causal"])
    assert codes(cup) == {"probes.taste": "not-possible-here", "probes.look": "never-possible"}
    cup["sensing_budget"] = 0.05
    assert codes(cup)["probes.weigh"] == "never-possible"


def test_lint_names_a_probe_that_an_irreversible_action_has_put_an_end_to(cup):
    cup["actions"][1] = {"name": "lift", "reversible": False, "status": "executed"}
    cup["probes"].pop()
    cup["kernels"].pop("taste")
    assert codes(cup) == {"probes.weigh": "not-possible-here"}


def test_a_graph_made_in_python_is_judged_alike():
    graph = RecoveryGraph([], [Action("lift", undo=1.0)], [])
    assert graph.why_impossible == {}
