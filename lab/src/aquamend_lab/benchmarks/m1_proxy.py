"""The proxy study: three cheap estimates of residual rollback risk against its exact value.

Posterior states on M1's random graphs. *Independent* states multiply the beliefs' own failure probabilities;
*correlated* ones move that weight, among the sets of each size, towards joined pairs by M1's joint odds. *Small*
support is the paper's: at most 2⁵ failure sets, which a beam of 32 holds entirely. *Large* support has 8 to 12 beliefs,
256 to 4,096 sets, where the beam must choose. *Failed* is the mean number of failed beliefs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.rollback_risk import (
    beam_rollback_risk,
    exact_rollback_risk,
    independent_rollback_risk,
    monte_carlo_rollback_risk,
)
from aquamend.errors import UnknownName
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.model import Hypothesis, JointModel
from aquamend_lab.benchmarks.m1 import JOINT_ODDS, MODES, MONITOR_D_PRIME, SIZES, WIRINGS, joined_pairs, random_graph
from aquamend_lab.benchmarks.scenario import generator
from aquamend_lab.benchmarks.suite import Played
from aquamend_lab.records import SIZE

NAME = "m1-proxy-v2"
ESTIMATORS = ("independent", "beam-32", "monte-carlo-500")

SMALL = 4800
"""Scenarios a seed with the paper's support; those after them have a larger one."""
LARGE = 480
LARGE_SIZES = (20, 24, 30)
MEAN_FAILED = {"1.67": 2.0 / 1.2, "0.8": 0.8, "0.4": 0.4}
"""Expected numbers of failed beliefs: M1's, false alarms included, and rarer ones, since the error of the
independence proxy follows the base rate, which the paper does not give."""
MOST_LIKELY_RATE = 0.5

DESCRIPTION = (
    "Three estimates of residual rollback risk U (marginals as if independent, a beam of 32 failure sets, 500 "
    "posterior samples) against its exact value, on independent and correlated posterior states, with supports that "
    "fit the beam and supports that do not."
)


class ProxySuite:
    """The estimators take the policies' place; there is nothing to act on and nobody to score."""

    name = NAME
    description = DESCRIPTION
    scenarios = SMALL + LARGE
    seeds = 5
    policies = ESTIMATORS
    groups: ClassVar[Mapping[str, str]] = {"mode": SIZE, "support": SIZE, "failed": SIZE}
    styles: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "independent": {"title": "Independence", "colour": "#d55e00", "marker": "o"},
        "beam-32": {"title": "Beam-32", "colour": "#0077bb", "marker": "s"},
        "monte-carlo-500": {"title": "Monte Carlo (500)", "colour": "#009e73", "marker": "v"},
    }

    def check_policies(self, names: list[str]) -> None:
        """Raise where a name is no estimator."""
        for name in names:
            if name not in ESTIMATORS:
                raise UnknownName("estimator", name, ESTIMATORS)

    def play(self, seed: int, number: int, policies: tuple[str, ...]) -> Played:
        """Return one record an estimator for one posterior state."""
        state, group = posterior_state(seed, number)
        exact = exact_rollback_risk(state)
        charges = state.problem.graph.belief_charges
        label = {"suite": NAME, "scenario": number, "seed": seed, "group": group}
        shared = {"exact": exact, "disjoint": all(a & b == 0 for a, b in itertools.combinations(charges, 2))}
        records = [
            label | {"policy": name, "estimate": _estimate(state, name, seed, number)} | shared for name in policies
        ]
        return Played(records)


def posterior_state(seed: int, number: int) -> tuple[InformationState, dict[str, Any]]:
    """Return one posterior state of the study and the group it belongs to."""
    rng = generator(NAME, seed, number)
    mode = MODES[number % 2]
    large = number >= SMALL
    sizes = LARGE_SIZES if large else SIZES
    graph = random_graph(rng, nodes=sizes[number // 2 % len(sizes)], wiring=WIRINGS[number // 8 % 2])
    patterns = np.array(list(itertools.product((0.0, 1.0), repeat=len(graph.beliefs))))
    failed = [*MEAN_FAILED][number // 16 % len(MEAN_FAILED)]
    return _state(graph, patterns, _mass(rng, graph, patterns, mode, MEAN_FAILED[failed])), {
        "mode": mode,
        "support": "large" if large else "small",
        "failed": failed,
    }


def _mass(
    rng: np.random.Generator, graph: RecoveryGraph, patterns: np.ndarray, mode: str, mean_failed: float
) -> np.ndarray:
    """Return a posterior over all failure patterns: a base rate, a monitor's scores, and joint odds if correlated."""
    n = len(graph.beliefs)
    rate = min(mean_failed / n, MOST_LIKELY_RATE)
    failed = rng.random(n) < rate
    score = rng.normal(np.where(failed, MONITOR_D_PRIME / 2, -MONITOR_D_PRIME / 2), 1.0)
    log_odds = np.log(rate / (1 - rate)) + MONITOR_D_PRIME * score
    log = patterns @ log_odds
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    return _correlated(graph, patterns, mass) if mode == "correlated" else np.asarray(mass)


def _correlated(graph: RecoveryGraph, patterns: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the mass moved towards joined pairs among the sets of each size, so that as many fail as before."""
    joint = np.zeros(len(patterns))
    for pair in joined_pairs(graph):
        a, b = sorted(graph.belief_index[name] for name in pair)
        joint += patterns[:, a] * patterns[:, b]
    size = patterns.sum(axis=1).astype(int)
    weight = mass * JOINT_ODDS**joint
    return np.asarray(weight * (np.bincount(size, mass) / np.bincount(size, weight))[size])


def _state(graph: RecoveryGraph, patterns: np.ndarray, mass: np.ndarray) -> InformationState:
    names = [belief.name for belief in graph.beliefs]
    hypotheses = [
        Hypothesis(f"h{i}", float(p), tuple(itertools.compress(names, row)))
        for i, (p, row) in enumerate(zip(mass, patterns > 0, strict=True))
    ]
    bare = RecoveryGraph(graph.beliefs, graph.actions, (), [e for e in graph.edges if e[0] not in graph.probe_index])
    return InformationState.start(Problem(bare, JointModel(hypotheses)))


def _estimate(state: InformationState, name: str, seed: int, number: int) -> float:
    match name:
        case "independent":
            return independent_rollback_risk(state)
        case "beam-32":
            return beam_rollback_risk(state, width=32)
        case _:
            # A stream of its own, so that the draws do not depend on how the state was made.
            return monte_carlo_rollback_risk(state, rng=generator(f"{NAME} draws", seed, number), samples=500)
