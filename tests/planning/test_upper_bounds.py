"""No search promises worse than a policy that it can follow: one step ahead always, others where they are given."""

import itertools
import math
import random

import numpy as np

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend.files import parse_problem
from aquamend.planning.limits import Limits
from aquamend.planning.search import METHODS, search
from aquamend.policies import AquaMend, Certified, Greedy, Lookahead, evaluate
from aquamend.policies.evaluation import upper_bound
from tests.reference.generator import extra_problem, random_problem, valued_problem
from tests.tiers import cases


def causes(n: int) -> InformationState:
    """At most two of n causes are present; each has a belief, and a probe that may run once and errs now and then."""
    present = [(), *((i,) for i in range(n)), *itertools.combinations(range(n), 2)]
    weight = np.array([0.03 ** len(own) * (0.1 if not own else 0.9) for own in present])
    rows = np.array([[[0.1, 0.9] if i in own else [0.95, 0.05] for own in present] for i in range(n)])
    graph = RecoveryGraph(
        [Belief(f"b{i}", 20.0 + i) for i in range(n)],
        [Action(f"a{i}", undo=3.0, executed=True) for i in range(n)],
        probes=[Probe(f"p{i}", cost=0.4) for i in range(n)],
        edges=[(f"p{i}", f"b{i}", "detection") for i in range(n)]
        + [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)],
    )
    hypotheses = [
        Hypothesis(f"h{own}", float(w), tuple(f"b{i}" for i in own))
        for own, w in zip(present, weight / weight.sum(), strict=True)
    ]
    kernels = {f"p{i}": Discrete(["ok", "bad"], rows[i]) for i in range(n)}
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=80.0))


def test_where_many_causes_come_two_at_once_no_upper_bound_is_above_one_step_ahead() -> None:
    state = causes(cases(12, 16))
    one_step = evaluate(AquaMend(), state).expected_loss
    found = search(state, Limits(gap=0.0, memory=cases(20, 100) * 1e6)).bounds
    assert found.lower < found.upper <= one_step + 1e-9


def test_no_upper_bound_is_above_one_step_ahead_where_no_table_fits() -> None:
    for seed in range(cases(100, 1500)):
        data = (random_problem, valued_problem, extra_problem)[seed % 3](random.Random(seed))
        state = InformationState.alarmed(parse_problem(data))
        one_step = evaluate(AquaMend(), state).expected_loss
        evidence = [m for m in METHODS if type(m).__name__ in ("OneStep", "Evidence")]
        found = search(state, Limits(gap=0.0, memory=1e6), methods=evidence).bounds
        slack = 1e-7 * (1.0 + one_step) if math.isfinite(one_step) else 0.0
        assert found.upper <= one_step + slack, seed


def test_a_policy_that_is_given_is_an_upper_bound() -> None:
    for n, policy in itertools.product((5, 8), (Greedy(), Lookahead(2))):
        state = causes(n)
        costs = evaluate(policy, state).expected_loss
        plan = upper_bound(policy, state)
        assert plan is not None
        assert plan.bounds.upper == costs
        assert Certified(gap=0.0, memory=1.0, beside=(policy,)).bounds(causes(n)).upper <= costs + 1e-9


def test_a_policy_that_cannot_be_followed_in_time_bounds_nothing() -> None:
    assert upper_bound(Greedy(), causes(8), deadline_s=0.0) is None
