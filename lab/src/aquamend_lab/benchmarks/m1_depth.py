"""M1-Depth: exactly one of n beliefs changed, and probes that pay only in sequence (the paper's planning diagnostic).

Two suites. ``m1-depth-v1`` is the paper's: probe costs around 0.3 + 1.5/n, n from 3 to 6. There the price of finding
the change grows with n until, beyond six, not looking is best for everybody. ``m1-depth-scaled-v1`` keeps the purpose
at any n: finding the change costs 1.75 in expectation, so that a complete search followed by one rollback (about 3.75)
always beats accepting the loss (4), and no short horizon sees it.

The public posterior differs from uniform by weights in [0.75, 1.25]; every hidden realisation is played and weighted.
"""

from __future__ import annotations

import numpy as np

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Cause, Discrete, Hypothesis, JointModel
from aquamend_lab.benchmarks.scenario import Scenario, generator, truths_of_model
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.records import SIZE

NAME, SCALED_NAME = "m1-depth-v1", "m1-depth-scaled-v1"

SIZES = (3, 4, 5, 6)
SCALED_SIZES = (3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)

WEIGHT = (0.75, 1.25)
PROBE_COST_SPREAD = (0.97, 1.03)
ROLLBACK_COST = (1.8, 2.2)
RESIDUAL = 4.0
RESTART = 99.0
SEARCH_COST = 1.75
"""What finding the change costs in expectation, in the scaled suite."""


def make(seed: int, number: int) -> Scenario:
    """Return one scenario of the paper's diagnostic; its sizes take turns."""
    n = SIZES[number % len(SIZES)]
    return _scenario(NAME, seed, number, n=n, probe_cost=0.3 + 1.5 / n)


def make_scaled(seed: int, number: int) -> Scenario:
    """Return one scenario of the scaled diagnostic; its sizes take turns."""
    n = SCALED_SIZES[number % len(SCALED_SIZES)]
    return _scenario(SCALED_NAME, seed, number, n=n, probe_cost=SEARCH_COST / expected_probes(n))


def expected_probes(n: int) -> float:
    """Return how many probes one after the other find one change among n equally likely: (n - 1)(n + 2) / 2n.

    The last candidate needs no probe of its own: it is left over when n - 1 have answered "unchanged".
    """
    return (n - 1) * (n + 2) / (2 * n)


def _scenario(suite: str, seed: int, number: int, *, n: int, probe_cost: float) -> Scenario:
    rng = generator(suite, seed, number)
    weight = rng.uniform(*WEIGHT, n)
    weight /= weight.sum()
    probe_costs = probe_cost * rng.uniform(*PROBE_COST_SPREAD, n)
    rollback_costs = rng.uniform(*ROLLBACK_COST, n)
    names = [f"b{i + 1}" for i in range(n)]
    graph = RecoveryGraph(
        beliefs=[Belief(name, residual=RESIDUAL) for name in names],
        actions=[Action(f"a{i + 1}", undo=float(c), executed=True) for i, c in enumerate(rollback_costs)],
        probes=[Probe(f"p{i + 1}", cost=float(c)) for i, c in enumerate(probe_costs)],
        edges=[
            *((f"p{i + 1}", f"b{i + 1}", "detection") for i in range(n)),
            *((f"b{i + 1}", f"a{i + 1}", "belief_to_action") for i in range(n)),
        ],
    )
    changed = np.eye(n)
    model = JointModel(
        [
            Hypothesis(f"{name} changed", float(w), (name,), Cause.EXTERNAL)
            for name, w in zip(names, weight, strict=True)
        ],
        {f"p{i + 1}": Discrete(("holds", "off"), np.column_stack([1 - changed[i], changed[i]])) for i in range(n)},
    )
    state = InformationState.alarmed(Problem(graph, model, restart=RESTART, name=suite))
    possible = truths_of_model(state, suite, seed, number)
    return Scenario(suite, seed, number, state, truths=possible, possible=possible, group={"n": n})


M1_DEPTH = RecoverySuite(
    name=NAME,
    description=(
        "One of n = 3 … 6 beliefs changed, and probes pay only in sequence: what planning ahead is worth. Every hidden "
        "realisation is played; decision time and memory are measured."
    ),
    scenarios=len(SIZES),
    seeds=500,
    policies=("aquamend", "lookahead-2", "lookahead-3", "exact"),
    make=make,
    time_decisions=True,
    groups={"n": SIZE},
)

M1_DEPTH_SCALED = RecoverySuite(
    name=SCALED_NAME,
    description=(
        "The same diagnostic up to n = 20, with probe costs scaled so that searching to the end stays worth it at "
        "every n while no short horizon can see that."
    ),
    scenarios=len(SCALED_SIZES),
    seeds=10,
    policies=("aquamend", "troubleshooting", "greedy-repair", "lookahead-2", "lookahead-3", "certified", "exact"),
    make=make_scaled,
    time_decisions=True,
    groups={"n": SIZE},
)
