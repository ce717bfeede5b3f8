"""M1: small random graphs, solvable exactly (the paper's appendix on benchmark generation); M1-Depth; and M1-Proxy.

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

M1-Depth is the paper's planning diagnostic: exactly one of n beliefs changed, and probes pay only in sequence. Two
suites. ``m1-depth-v1`` is the paper's: probe costs around 0.3 + 1.5/n, n from 3 to 6. There the price of finding
the change grows with n until, beyond six, not looking is best for everybody. ``m1-depth-scaled-v1`` keeps the purpose
at any n: finding the change costs 1.75 in expectation, so that a complete search followed by one rollback (about 3.75)
always beats accepting the loss (4), and no short horizon sees it.

The public posterior differs from uniform by weights in [0.75, 1.25]; every hidden realisation is played and weighted.

M1-Proxy compares three cheap estimates of residual rollback risk with its exact value, on posterior states over M1's
random graphs. *Independent* states multiply the beliefs' own failure probabilities; *correlated* ones move that weight,
among the sets of each size, towards joined pairs by M1's joint odds. *Small* support is the paper's: at most 2⁵ failure
sets, which a beam of 32 holds entirely. *Large* support has 8 to 12 beliefs, 256 to 4,096 sets, where the beam must
choose. *Failed* is the mean number of failed beliefs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend_lab.benchmarks.scenario import Scenario, generator, truths_of_model
from aquamend_lab.benchmarks.suite import Played, RecoverySuite
from aquamend_lab.records import SIZE

COST_LOW, COST_HIGH = 0.5, 5.0
COST_MU, COST_SIGMA = math.log(COST_LOW * COST_HIGH) / 2, 0.5
ROLLBACK_RATIO = (2.0, 5.0)
"""Mean rollback cost over mean probe cost; drawn again for every graph."""
EDGE_PROBABILITIES = (0.15, 0.25)
OUT_DEGREES = (1, 2, 3)
CRITICAL = 0.8
"""Probability that a belief is task-critical, beyond those that have to be."""
RESIDUAL_RATIO = (1.0, 3.0)
"""Residual of a critical belief over the cost of correcting it."""

Pairs = dict[str, list[str]]


def random_graph(rng: np.random.Generator, *, nodes: int, wiring: str, critical: int = 1) -> RecoveryGraph:
    """Return a random recovery graph in which every belief has a probe and an executed action that rests on it.

    ``critical`` is how many beliefs are task-critical at least.
    """
    n_probes = round(0.4 * nodes)
    n_beliefs = max(critical, n_probes)
    n_actions = nodes - n_probes - n_beliefs
    probes = [f"p{i + 1}" for i in range(n_probes)]
    beliefs = [f"b{i + 1}" for i in range(n_beliefs)]
    actions = [f"a{i + 1}" for i in range(n_actions)]
    allowed: Pairs = dict.fromkeys(probes, beliefs)
    allowed |= {belief: [*beliefs[i + 1 :], *actions] for i, belief in enumerate(beliefs)}
    allowed |= {action: actions[i + 1 :] for i, action in enumerate(actions)}
    chosen = _by_out_degree(rng, allowed) if wiring == "out-degree" else _erdos_renyi(rng, allowed)
    _mend(rng, chosen, probes, beliefs, actions)
    edges = [(source, target, _kind(source, target, chosen)) for source in allowed for target in chosen[source]]
    ratio = rng.uniform(*ROLLBACK_RATIO)
    undo, cost = ratio * _costs(rng, n_actions), _costs(rng, n_probes)
    graph = RecoveryGraph(
        beliefs=[Belief(name) for name in beliefs],
        actions=[Action(name, undo=float(c), executed=True) for name, c in zip(actions, undo, strict=True)],
        probes=[Probe(name, cost=float(c)) for name, c in zip(probes, cost, strict=True)],
        edges=edges,
    )
    return _with_residuals(rng, graph, critical)


def _by_out_degree(rng: np.random.Generator, allowed: Pairs) -> Pairs:
    """Give every node one, two or three successors, as far as there are any."""
    chosen: Pairs = {}
    for source, targets in allowed.items():
        wanted = min(int(rng.choice(OUT_DEGREES)), len(targets))
        picked = rng.permutation(len(targets))[:wanted]
        chosen[source] = [targets[i] for i in sorted(picked.tolist())]
    return chosen


def _erdos_renyi(rng: np.random.Generator, allowed: Pairs) -> Pairs:
    """Draw every allowed edge with the same probability."""
    p = float(rng.choice(EDGE_PROBABILITIES))
    return {
        source: [target for target, draw in zip(targets, rng.random(len(targets)), strict=True) if draw < p]
        for source, targets in allowed.items()
    }


def _mend(rng: np.random.Generator, chosen: Pairs, probes: list[str], beliefs: list[str], actions: list[str]) -> None:
    """Give a probe to every belief that lacks one, and an action to every belief that nothing executed rests on.

    Without this four in ten graphs fall apart into beliefs that share nothing, which leaves little to plan.
    """
    for belief in beliefs:
        if not any(belief in chosen[probe] for probe in probes):
            chosen[probes[int(rng.integers(len(probes)))]].append(belief)
    acted = set(actions)
    for belief in reversed(beliefs):  # sources after what they reach
        if acted.isdisjoint(chosen[belief]):
            chosen[belief].append(actions[int(rng.integers(len(actions)))])
        acted.add(belief)


def _kind(source: str, target: str, chosen: Pairs) -> str:
    match source[0], target[0]:
        case "p", _:
            return "detection" if len(chosen[source]) == 1 else "aggregation"
        case "b", "b":
            return "inference"
        case "b", _:
            return "belief_to_action"
        case _:
            return "action_causal"


def _costs(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.clip(rng.lognormal(COST_MU, COST_SIGMA, n), COST_LOW, COST_HIGH)


def _with_residuals(rng: np.random.Generator, graph: RecoveryGraph, least: int) -> RecoveryGraph:
    """Return the graph with a residual on every task-critical belief, in proportion to what correcting it costs."""
    critical = rng.random(len(graph.beliefs)) < CRITICAL
    critical[rng.permutation(len(critical))[:least]] = True
    ratio = rng.uniform(*RESIDUAL_RATIO, len(graph.beliefs))
    residual = np.where(critical, ratio * [graph.correction_cost([b.name]) for b in graph.beliefs], 0.0)
    return replace(graph, beliefs=[replace(b, residual=float(r)) for b, r in zip(graph.beliefs, residual, strict=True)])


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
    true = tuple(replace(t, weight=1.0) for t in possible if t.hypothesis == truth)
    features = {"nodes": nodes, "beliefs": len(graph.beliefs), "wiring": wiring, "mode": mode}
    return Scenario(NAME, seed, number, state, true, possible, features=features)


def failure_sets(graph: RecoveryGraph) -> list[tuple[str, ...]]:
    """Return every set of at most three task-critical beliefs, the empty one first."""
    critical = [belief.name for belief in graph.beliefs if belief.residual > 0]
    return [s for k in range(min(MOST_FAILED, len(critical)) + 1) for s in itertools.combinations(critical, k)]


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
    kernels = {}
    for probe in graph.probes:
        measured = {b.name for b in graph.beliefs if probe.name in graph.direct_probes[b.name]}
        off = np.array([float(not measured.isdisjoint(s)) for s in sets])
        kernels[probe.name] = Discrete(("holds", "off"), np.column_stack([1 - off, off]))
    return Problem(
        graph,
        JointModel(hypotheses, kernels, _alarm(names, sets, score)),
        restart=math.fsum([*(a.undo or 0.0 for a in graph.actions), *(p.cost for p in graph.probes)]),
        name=NAME,
    )


M1 = RecoverySuite(
    name=NAME,
    description=(
        "4,000 small random graphs (800 for each of five seeds) with shared rollbacks, false alarms, and independent "
        "or correlated failures, small enough to solve exactly: realised loss on a hidden truth, exact expected risk."
    ),
    scenarios=800,
    seeds=5,
    policies=(
        "oracle", "exact", "lookahead-3", "lookahead-2", "aquamend", "troubleshooting", "troubleshooting-1",
        "greedy-repair", "decoupled", "greedy", "restart", "veritrace", "no-reprobe", "linear-chain",
    ),
    make=make,
)  # fmt: skip


DEPTH_NAME, SCALED_NAME = "m1-depth-v1", "m1-depth-scaled-v1"

DEPTH_SIZES = (3, 4, 5, 6)
SCALED_SIZES = (3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)

WEIGHT = (0.75, 1.25)
PROBE_COST_SPREAD = (0.97, 1.03)
ROLLBACK_COST = (1.8, 2.2)
RESIDUAL = 4.0
RESTART = 99.0
SEARCH_COST = 1.75
"""What finding the change costs in expectation, in the scaled suite."""


def make_depth(seed: int, number: int) -> Scenario:
    """Return one scenario of the paper's diagnostic; its sizes take turns."""
    n = DEPTH_SIZES[number % len(DEPTH_SIZES)]
    return _scenario(DEPTH_NAME, seed, number, n=n, probe_cost=0.3 + 1.5 / n)


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
    name=DEPTH_NAME,
    description=(
        "One of n = 3 … 6 beliefs changed, and probes pay only in sequence: what planning ahead is worth. Every hidden "
        "realisation is played; decision time and memory are measured."
    ),
    scenarios=len(DEPTH_SIZES),
    seeds=500,
    policies=("aquamend", "lookahead-2", "lookahead-3", "exact"),
    make=make_depth,
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


PROXY_NAME = "m1-proxy-v2"
ESTIMATORS = ("independent", "beam-32", "monte-carlo-500")

SMALL = 4800
"""Scenarios a seed with the paper's support; those after them have a larger one."""
LARGE = 480
LARGE_SIZES = (20, 24, 30)
MEAN_FAILED = {"1.67": 2.0 / 1.2, "0.8": 0.8, "0.4": 0.4}
"""Expected numbers of failed beliefs: M1's, false alarms included, and rarer ones, since the error of the
independence proxy follows the base rate, which the paper does not give."""
MOST_LIKELY_RATE = 0.5


class ProxySuite:
    """The estimators take the policies' place; there is nothing to act on and nobody to score."""

    name = PROXY_NAME
    description = (
        "Three estimates of residual rollback risk U (marginals as if independent, a beam of 32 failure sets, 500 "
        "posterior samples) against its exact value, on independent and correlated posterior states, with supports "
        "that fit the beam and supports that do not."
    )
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
        label = {"suite": PROXY_NAME, "scenario": number, "seed": seed, "group": group}
        shared = {"exact": exact, "disjoint": all(a & b == 0 for a, b in itertools.combinations(charges, 2))}
        records = [
            label | {"policy": name, "estimate": _estimate(state, name, seed, number)} | shared for name in policies
        ]
        return Played(records)


def posterior_state(seed: int, number: int) -> tuple[InformationState, dict[str, Any]]:
    """Return one posterior state of the study and the group it belongs to."""
    rng = generator(PROXY_NAME, seed, number)
    mode = MODES[number % 2]
    large = number >= SMALL
    sizes = LARGE_SIZES if large else SIZES
    graph = random_graph(rng, nodes=sizes[number // 2 % len(sizes)], wiring=WIRINGS[number // 8 % 2])
    patterns = np.array(list(itertools.product((0.0, 1.0), repeat=len(graph.beliefs))))
    failed = [*MEAN_FAILED][number // 16 % len(MEAN_FAILED)]
    mass = _mass(rng, graph, patterns, mode, MEAN_FAILED[failed])
    group = {"mode": mode, "support": "large" if large else "small", "failed": failed}
    return _unprobed_state(graph, patterns, mass), group


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


def _unprobed_state(graph: RecoveryGraph, patterns: np.ndarray, mass: np.ndarray) -> InformationState:
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
            return monte_carlo_rollback_risk(state, rng=generator(f"{PROXY_NAME} draws", seed, number), samples=500)
