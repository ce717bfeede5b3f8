"""How the policies compare: nobody beats the exact plan, and horizons meet at both ends."""

import math
import random

import pytest
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.decision import Reprobe, best_terminal
from aquamend.decision.detection import LosslessScreen
from aquamend.policies import POLICIES, AquaMend, Exact, Lookahead, Structured, evaluate, policy_named
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel, Outcomes
from aquamend_lab.pouring.model.alarm_problem import PosteriorSetting, distorted

EVERYBODY = [name for name in POLICIES if name not in ("structured", "exact")] + ["lookahead-2", "lookahead-3"]


def test_no_policy_loses_less_than_the_exact_one(random_problem):
    strictly, count = dict.fromkeys(EVERYBODY, 0), cases(90, 300)
    for seed in range(count):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        best = evaluate(Exact(), state).expected_loss
        for name in EVERYBODY:
            loss = evaluate(policy_named(name), state).expected_loss
            assert loss >= best - 1e-9, (seed, name)
            strictly[name] += loss > best + 1e-6
    # The comparison has teeth only where somebody does lose.
    losers = [name for name in EVERYBODY if name.startswith(("no-", "g", "t", "d", "r"))]
    assert all(strictly[name] > count / 30 for name in losers), strictly
    assert strictly["aquamend"] > count / 100


def test_stopping_now_costs_what_the_best_stop_says(random_problem):
    for seed in range(100):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        evaluation = evaluate(policy_named("no-reprobe"), state)
        assert evaluation.expected_loss == pytest.approx(best_terminal(state).loss)
        assert evaluation.expected_probes == 0


def test_aquamend_never_does_worse_than_stopping_now(random_problem):
    for seed in range(150):
        state = InformationState.alarmed(random_problem(random.Random(seed), probes=4))
        assert evaluate(AquaMend(), state).expected_loss <= best_terminal(state).loss + 1e-9, seed


def test_looking_one_ahead_is_aquamend_at_every_state_it_reaches(random_problem):
    for seed in range(100):
        states = [InformationState.alarmed(random_problem(random.Random(seed), gaussian=seed % 4 == 0))]
        while states:
            state = states.pop()
            step = AquaMend().next_step(state)
            assert Lookahead(1).next_step(state) == step, seed
            assert AquaMend(LosslessScreen()).next_step(state) == step, seed
            channel = state.problem.model.channels[step.probe] if isinstance(step, Reprobe) else None
            if isinstance(channel, Outcomes):
                chances = zip(channel.outcomes, state.posterior @ channel.table, strict=True)
                states += [state.after(Observation(step.probe, outcome)) for outcome, p in chances if p > 0]


def test_looking_far_enough_ahead_is_exact(random_problem):
    for seed in range(80):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        uses = int(sum(probe.max_uses for probe in state.problem.graph.probes))
        best = evaluate(Exact(), state).expected_loss
        assert evaluate(Lookahead(uses + 1), state).expected_loss == pytest.approx(best), seed
        assert Exact().bounds(state).upper == pytest.approx(best), seed
        assert Exact().bounds(state).lower == pytest.approx(best), seed


def test_the_bounds_of_a_policy_hold_the_optimal_loss_between_them(random_problem):
    for seed in range(100):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        best = evaluate(Exact(), state).expected_loss
        for policy in (AquaMend(), Lookahead(2)):
            bounds = policy.bounds(state)
            assert bounds.lower <= best + 1e-9, seed
            assert bounds.upper >= best - 1e-9, seed


def test_one_exact_policy_serves_many_problems_and_states(random_problem):
    """The plan it keeps must not leak from one problem, or one posterior, to another."""
    shared = Exact()
    for seed in range(60):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        assert shared.next_step(state) == Exact().next_step(state), seed
        other = InformationState.start(state.problem)
        assert shared.next_step(other) == Exact().next_step(other), seed
        assert shared.next_step(state) == Exact().next_step(state), seed
        for setting in PosteriorSetting:
            bent = distorted(state, setting)
            assert shared.next_step(bent) == Exact().next_step(bent), (seed, setting)
            shared.next_step(state)


# Proposition 1.


def structured_problem(rng, n):
    """Return independent beliefs with disjoint closures and a perfect probe each; no budget, no shared terminal."""
    names = [f"b{i}" for i in range(n)]
    q = {name: rng.choice([rng.uniform(0.02, 0.98), rng.uniform(0.02, 0.3)]) for name in names}
    beliefs = [Belief(name, rng.uniform(0, 12), may_keep=rng.random() < 0.7) for name in names]
    undo = {name: rng.uniform(0, 8) for name in names}
    cost = {name: rng.choice([rng.uniform(0, 1), rng.uniform(0, 4)]) for name in names}
    graph = RecoveryGraph(
        beliefs,
        [Action(f"a {name}", undo=undo[name], executed=True) for name in names],
        [Probe(f"p {name}", cost[name]) for name in names],
        [e for name in names for e in ((f"p {name}", name, "detection"), (name, f"a {name}", "belief_to_action"))],
    )
    hypotheses, kernels = [], {f"p {name}": {} for name in names}
    for pattern in range(2**n):
        failed = [name for i, name in enumerate(names) if pattern >> i & 1]
        prior = math.prod(q[name] if name in failed else 1 - q[name] for name in names)
        hypotheses.append(Hypothesis(f"h{pattern}", prior, failed))
        for name in names:
            kernels[f"p {name}"][f"h{pattern}"] = [float(name not in failed), float(name in failed)]
    model = JointModel(hypotheses, {probe: Discrete(["ok", "bad"], rows) for probe, rows in kernels.items()})
    local = []
    for belief in beliefs:
        p, b, r = q[belief.name], undo[belief.name], cost[belief.name]
        keep = belief.residual if belief.may_keep else math.inf
        local.append(min(p * keep, b, r + p * min(b, keep)))
    return InformationState.alarmed(Problem(graph, model)), math.fsum(local)


@pytest.mark.parametrize("seed", range(60))
def test_the_three_way_rule_is_the_exact_optimum_and_the_sum_of_the_local_minima(seed):
    rng = random.Random(seed)
    state, expected = structured_problem(rng, rng.randint(1, 4))
    assert evaluate(Structured(), state).expected_loss == pytest.approx(expected, abs=1e-8)
    assert evaluate(Exact(), state).expected_loss == pytest.approx(expected, abs=1e-8)
    assert evaluate(AquaMend(use_structured_branch=True), state).expected_loss == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("extra", ["noisy probe of its own", "probe of a belief beyond suspicion"])
def test_the_structured_rule_refuses_where_a_cheaper_probe_it_does_not_consider_tells_of_a_suspect(extra):
    own = extra == "noisy probe of its own"
    graph = RecoveryGraph(
        [Belief("b", 100.0), Belief("c", 1.0)],
        [Action("a", undo=10.0, executed=True)],
        [Probe("sharp", 4.0), Probe("extra", 0.01)],
        [("sharp", "b", "detection"), ("extra", "b" if own else "c", "detection"), ("b", "a", "belief_to_action")],
    )
    sharp = Discrete(["y", "n"], {"ok": [1, 0], "bad": [0, 1]})
    noisy = Discrete(["y", "n"], {"ok": [0.99, 0.01], "bad": [0.01, 0.99]})
    model = JointModel(
        [Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, ("b",))], {"sharp": sharp, "extra": noisy if own else sharp}
    )
    state = InformationState.alarmed(Problem(graph, model))
    branch = AquaMend(use_structured_branch=True)
    assert evaluate(branch, state).expected_loss <= evaluate(Exact(), state).expected_loss + 1e-9
