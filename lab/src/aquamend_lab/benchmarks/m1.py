"""M1: small random recovery graphs, solvable exactly (the paper's appendix on benchmark generation).

The paper gives sizes, wiring, type ratio, the family of costs, how many beliefs failed and how many alarms are false.
What it leaves open is fixed here on principle, once, before any policy was run:

* log-normal costs centred on the logarithmic middle of [0.5, 5], with sigma 0.5, so that few are clipped;
* a restart redoes every probe and every executed action;
* three beliefs at least are task-critical, so that one, two and three failures are equally likely on every graph;
  with six nodes that makes three beliefs, two probes and one action, and rollbacks always share something;
* a belief can fail only if it is task-critical (Z_i means "requires correction"); its residual is one to three times
  what correcting it costs, which is the paper's own condition for its oracle to be a lower bound;
* a probe of one belief tells whether it failed; a probe of several tells only whether all of them still hold;
* the hidden set is drawn first, then a monitor's score for every belief; the public posterior is Bayes' rule on both,
  so what is true is distributed exactly as the policies believe;
* the alarm names its triggers: the beliefs whose score speaks for a failure, or the one with the highest score;
* in correlated mode, beliefs joined by an inference edge or a shared probe are four times likelier to fail together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend_lab.benchmarks.m1_graph import random_graph
from aquamend_lab.benchmarks.scenario import Scenario, generator, truths_of_model

NAME = "m1-v2"

SIZES = (6, 8, 10, 12)
WIRINGS = ("out-degree", "erdos-renyi")
MODES = ("independent", "correlated")

FALSE_ALARMS = 0.2 / 1.2
"""A fifth as many false alarms on top of the real failures."""
MOST_FAILED = 3
MONITOR_D_PRIME = 1.0
"""How many standard deviations apart the monitor's scores of failed and sound beliefs lie."""
JOINT_ODDS = 4.0
"""How much likelier a joined pair is to fail together, in correlated mode."""


def make(seed: int, number: int) -> Scenario:
    """Return one M1 scenario; sizes, wirings and modes take turns, so that every seed holds all of them equally."""
    rng = generator(NAME, seed, number)
    nodes = SIZES[number % 4]
    wiring = WIRINGS[number // 4 % 2]
    mode = MODES[number // 8 % 2]
    graph = random_graph(rng, nodes=nodes, wiring=wiring, critical=MOST_FAILED)
    sets = failure_sets(graph)
    prior = _prior(graph, sets, mode)
    truth = int(rng.choice(len(sets), p=prior))
    score = _scores(rng, graph, sets[truth])
    state = InformationState.alarmed(_problem(graph, sets, prior, score, mode))
    possible = truths_of_model(state, NAME, seed, number)
    return Scenario(
        suite=NAME,
        seed=seed,
        number=number,
        state=state,
        truths=tuple(replace(t, weight=1.0) for t in possible if t.hypothesis == truth),
        possible=possible,
        features={"nodes": nodes, "beliefs": len(graph.beliefs), "wiring": wiring, "mode": mode},
    )


def failure_sets(graph: RecoveryGraph, most: int = MOST_FAILED) -> list[tuple[str, ...]]:
    """Return every set of at most three task-critical beliefs, the empty one first."""
    critical = [belief.name for belief in graph.beliefs if belief.residual > 0]
    return [s for k in range(min(most, len(critical)) + 1) for s in itertools.combinations(critical, k)]


def _prior(graph: RecoveryGraph, sets: Sequence[tuple[str, ...]], mode: str) -> np.ndarray:
    """Return the probability of every failure set: first how many failed, then which."""
    sizes = np.array([len(s) for s in sets])
    share = [FALSE_ALARMS, *([(1 - FALSE_ALARMS) / MOST_FAILED] * MOST_FAILED)]
    weight = np.ones(len(sets))
    if mode == "correlated":
        pairs = joined_pairs(graph)
        weight = np.array([JOINT_ODDS ** sum(pair <= set(s) for pair in pairs) for s in sets])
    per_size = np.bincount(sizes, weights=weight)
    prior = np.asarray(share)[sizes] * weight / per_size[sizes]
    return np.asarray(prior / prior.sum())


def joined_pairs(graph: RecoveryGraph) -> list[frozenset[str]]:
    """Return the pairs of beliefs with an inference edge between them or a probe in common, each once."""
    beliefs = [belief.name for belief in graph.beliefs]
    edges = {(edge[0], edge[1]) for edge in graph.edges}
    probes = {name: set(graph.direct_probes[name]) for name in beliefs}
    return [
        frozenset((a, b))
        for a, b in itertools.combinations(beliefs, 2)
        if (a, b) in edges or (b, a) in edges or probes[a] & probes[b]
    ]


def _scores(rng: np.random.Generator, graph: RecoveryGraph, failed: tuple[str, ...]) -> dict[str, float]:
    """Return the monitor's score of every belief: the logarithm of how much likelier it is if that has failed."""
    names = [belief.name for belief in graph.beliefs]
    centre = np.array([MONITOR_D_PRIME / 2 if name in failed else -MONITOR_D_PRIME / 2 for name in names])
    return dict(zip(names, (MONITOR_D_PRIME * rng.normal(centre, 1.0)).tolist(), strict=True))


def _alarm(names: Sequence[str], sets: Sequence[tuple[str, ...]], score: dict[str, float]) -> Alarm:
    """Return the alarm: how likely its scores are under every failure set, scaled to at most one, and its triggers."""
    log = np.array([math.fsum(score[name] for name in s) for s in sets])
    triggers = [name for name in score if score[name] > 0.0] or [max(score, key=score.__getitem__)]
    return Alarm(dict(zip(names, np.exp(log - log.max()).tolist(), strict=True)), triggers)


def _problem(
    graph: RecoveryGraph, sets: Sequence[tuple[str, ...]], prior: np.ndarray, score: dict[str, float], mode: str
) -> Problem:
    names = ["nothing failed", *(" + ".join(s) for s in sets[1:])]
    # Failures that spread along shared evidence are what a biased measurement leaves behind.
    cause = Cause.EXTERNAL if mode == "independent" else Cause.SELF_ERROR
    hypotheses = [
        Hypothesis(name, float(p), s, cause if s else Cause.FALSE_ALARM)
        for name, p, s in zip(names, prior, sets, strict=True)
    ]
    measured = {
        probe.name: {b.name for b in graph.beliefs if probe.name in graph.direct_probes[b.name]}
        for probe in graph.probes
    }
    kernels = {}
    for probe, beliefs in measured.items():
        off = np.array([float(not beliefs.isdisjoint(s)) for s in sets])
        kernels[probe] = Discrete(("holds", "off"), np.column_stack([1 - off, off]))
    return Problem(
        graph,
        JointModel(hypotheses, kernels, _alarm(names, sets, score)),
        restart=math.fsum([*(a.undo or 0.0 for a in graph.actions), *(p.cost for p in graph.probes)]),
        name=NAME,
    )
