"""Evidence that no hypothesis allows: every policy ends the recovery conservatively."""

import random

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Reprobe, RollBack, best_terminal
from aquamend.policies import POLICIES, AquaMend, policy_named
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Gaussian, Hypothesis, JointModel, Outcomes

EVERYBODY = [*POLICIES, "lookahead-1", "lookahead-3"]


def contradicted(outcome="never"):
    graph = RecoveryGraph(
        [Belief("x", 5.0), Belief("y", 4.0)],
        [Action("ax", undo=2.0, executed=True), Action("ay", undo=6.0, executed=True)],
        [Probe("look", 0.1, max_uses=5), Probe("weigh", 0.1, max_uses=5)],
        [("look", "x", "detection"), ("x", "ax", "belief_to_action"), ("y", "ay", "belief_to_action")],
    )
    kernels = {
        "look": Discrete(["usual", "odd", "never"], {"ok": [0.9, 0.1, 0], "bad": [0.2, 0.8, 0]}),
        "weigh": Gaussian({"ok": (0.0, 1.0), "bad": (1.0, 1.0)}, outliers=0.0),
    }
    model = JointModel([Hypothesis("ok", 0.9), Hypothesis("bad", 0.1, ("x",))], kernels)
    state = InformationState.alarmed(Problem(graph, model, escalate=50.0))
    return state.after(Observation("look", outcome)) if outcome == "never" else state.after(Observation("weigh", 99.0))


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("outcome", ["never", "99 g"])
def test_no_policy_probes_or_raises_once_the_evidence_contradicts_the_model(name, outcome):
    state = contradicted(outcome)
    assert state.contradiction is not None
    step = policy_named(name).next_step(state)
    assert not isinstance(step, Reprobe)


@pytest.mark.parametrize(
    "name", [name for name in EVERYBODY if name not in ("rollback-only", "veritrace", "restart", "linear-chain")]
)
def test_the_decision_is_the_best_one_if_everything_has_failed(name):
    assert policy_named(name).next_step(contradicted()) == RollBack(("x",), ("ax",))


def test_rollback_only_then_suspects_everything():
    assert policy_named("rollback-only").next_step(contradicted()) == RollBack(("x", "y"), ("ax", "ay"))


def test_the_bounds_of_a_contradicted_state_are_its_worst_case_loss():
    bounds = AquaMend().bounds(contradicted())
    assert bounds.lower == bounds.upper == 2.0 + 4.0


def test_random_contradictions_are_survived_by_every_policy(random_problem):
    met = 0
    for seed in range(400):
        state = InformationState.alarmed(random_problem(random.Random(seed), gaussian=seed % 2 == 0))
        for probe in state.legal_probes:
            channel = state.problem.model.channels[probe]
            if not isinstance(channel, Outcomes):
                continue
            chances = zip(channel.outcomes, state.posterior @ channel.table, strict=True)
            outcome = next((o for o, p in chances if p == 0.0), None)
            if outcome is None:
                continue
            met += 1
            after = state.after(Observation(probe, outcome))
            for name in EVERYBODY:
                step = policy_named(name).next_step(after)
                assert not isinstance(step, Reprobe), (seed, name)
            assert best_terminal(after).loss >= 0
    assert met > 30
