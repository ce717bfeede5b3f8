"""The problems that the benchmark times, each a pure function of its sizes and a seed."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aquamend.belief import InformationState
from aquamend.files import load_problem
from aquamend.problem import Plan, Problem
from aquamend.problem.building import RootCause, joint_model
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import (
    Coverage,
    Declaration,
    Discrete,
    FitGroup,
    Gaussian,
    Hypotheses,
    Hypothesis,
    JointModel,
)
from aquamend_lab.benchmarks.pouring_suites import POURING_SUITES

EXAMPLES = Path(__file__).parent.parent / "examples"


def decision_call(seed: int = 0) -> Problem:
    """The paper's decision size: 72 hypotheses, 4 probes of 115 branches, 8 declarations, 50 terminal decisions."""
    rng = np.random.default_rng(seed)
    n_hypotheses, n_probes, n_outcomes = 72, 4, 115
    names = [f"h{i}" for i in range(n_hypotheses)]
    prior = rng.dirichlet(np.ones(n_hypotheses))
    beliefs = [Belief(f"b{i}", residual=10.0) for i in range(8)]
    failed = rng.random((n_hypotheses, 8)) < 0.3
    groups = tuple(FitGroup(name, tuple(f"p{i}" for i in range(n_probes)), (0.0,), (0.0,)) for name in ("one", "two"))
    return Problem(
        graph=RecoveryGraph(
            beliefs,
            probes=[Probe(f"p{i}", cost=0.2) for i in range(n_probes)],
            edges=[(f"p{i}", f"b{i}", "detection") for i in range(n_probes)],
        ),
        model=JointModel(
            hypotheses=[
                Hypothesis(name, float(p), tuple(f"b{j}" for j in np.flatnonzero(row)))
                for name, p, row in zip(names, prior, failed, strict=True)
            ],
            kernels={
                f"p{i}": Discrete(
                    [f"y{o}" for o in range(n_outcomes)], rng.dirichlet(np.ones(n_outcomes), n_hypotheses)
                )
                for i in range(n_probes)
            },
            declarations=[
                Declaration(f"d{j}", f"b{j}", invalid_in=tuple(itertools.compress(names, failed[:, j])))
                for j in range(8)
            ],
        ),
        plans=[Plan(f"u{k}", rng.uniform(5.0, 90.0, n_hypotheses)) for k in range(50)],
        corrections=False,
        coverage=Coverage("T1", ("T1",), groups, (0.0,), (0.0,)),
    )


def one_change(
    n: int,
    seed: int = 0,
    *,
    accuracy: float = 1.0,
    uses: float = 1,
    shared: bool = False,
    values: bool = False,
    residual: float = 12.0,
) -> Problem:
    """Like the paper's M1-Depth chains: exactly one of n beliefs changed; optionally noisy, repeatable, sharing undo.

    Residuals are three times the paper's, with which stopping at once is best from ten beliefs on.
    With ``values``, beliefs declare one, and correcting one declares another: what it has changed to.
    """
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.75, 1.25, n)
    weight /= weight.sum()
    graph = _chains(n, rng, cost=0.3 + 1.5 / n, residual=residual, uses=uses, shared=shared)
    if values:
        graph = replace(graph, beliefs=[replace(b, declared="as it was") for b in graph.beliefs])
    rows = np.where(np.eye(n, dtype=bool)[:, :, None], [1 - accuracy, accuracy], [accuracy, 1 - accuracy])
    return Problem(
        graph,
        JointModel(
            [
                Hypothesis(f"changed {i}", float(weight[i]), truth={f"b{i}": "changed"})
                if values
                else Hypothesis(f"changed {i}", float(weight[i]), (f"b{i}",))
                for i in range(n)
            ],
            {f"p{i}": Discrete(["no", "yes"], rows[:, i]) for i in range(n)},
        ),
        restart=99.0,
    )


def independent(n: int, seed: int = 0, *, accuracy: float = 0.9, uses: float = 1) -> Problem:
    """n independent beliefs that share what undoing costs: 2^n hypotheses."""
    rng = np.random.default_rng(seed)
    graph = _chains(n, rng, cost=0.4, residual=6.0, uses=uses, shared=True)
    q = rng.uniform(0.1, 0.4, n)
    patterns = np.array(list(itertools.product((0, 1), repeat=n)))
    prior = np.where(patterns == 1, q, 1 - q).prod(axis=1)
    return Problem(
        graph,
        JointModel(
            [
                Hypothesis("".join(map(str, row)), float(p), tuple(f"b{i}" for i in np.flatnonzero(row)))
                for row, p in zip(patterns, prior, strict=True)
            ],
            {
                f"p{i}": Discrete(
                    ["no", "yes"],
                    np.where(patterns[:, [i]] == 1, [[1 - accuracy, accuracy]], [[accuracy, 1 - accuracy]]),
                )
                for i in range(n)
            },
        ),
        restart=99.0,
    )


def _chains(
    n: int, rng: np.random.Generator, *, cost: float, residual: float, uses: float, shared: bool
) -> RecoveryGraph:
    """probe_i -> belief_i -> action_i, and if shared, action_i -> joint_{i // 2} as well."""
    actions = [Action(f"a{i}", undo=float(rng.uniform(1.8, 2.2)), executed=True) for i in range(n)]
    edges = [(f"p{i}", f"b{i}", "detection") for i in range(n)]
    edges += [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)]
    if shared:
        actions += [Action(f"joint{i}", undo=1.0, executed=True) for i in range(math.ceil(n / 2))]
        edges += [(f"a{i}", f"joint{i // 2}", "action_causal") for i in range(n)]
        edges += [(f"a{i}", f"joint{(i + 1) % n // 2}", "action_causal") for i in range(n) if i % 2]
    return RecoveryGraph(
        beliefs=[Belief(f"b{i}", residual=residual) for i in range(n)],
        actions=actions,
        probes=[Probe(f"p{i}", cost=cost * float(rng.uniform(0.97, 1.03)), max_uses=uses) for i in range(n)],
        edges=edges,
    )


def sharing(n: int, n_probes: int, shared: str) -> Problem:
    """n beliefs of which one or (few enough) two have failed, and probes that read numbers.

    ``shared``: "nothing", "one" operation that every belief needs, or "neighbours", each two of which share one.
    """
    actions = [Action(f"a{i}", undo=2.0 + 0.01 * i, executed=True) for i in range(n)]
    edges = [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)]
    edges += [(f"p{i}", f"b{i}", "detection") for i in range(n_probes)]
    joint = {"nothing": 0, "one": 1, "neighbours": n}[shared]
    actions += [Action(f"joint{i}", undo=1.0, executed=True) for i in range(joint)]
    pairs = {(i, j % joint) for i in range(n) for j in (i, i + 1)} if joint else set()
    edges += [(f"b{i}", f"joint{j}", "belief_to_action") for i, j in sorted(pairs)]
    failed: list[tuple[str, ...]] = [(), *((f"b{i}",) for i in range(n))]
    if n < 30:
        failed += list(itertools.combinations([f"b{i}" for i in range(n)], 2))
    prior = np.array([n / (n + 1) ** len(own) for own in failed])
    names = [" and ".join(own) or "nothing" for own in failed]
    kernels = {
        f"p{i}": Gaussian({name: (float(f"b{i}" in own), 0.5) for name, own in zip(names, failed, strict=True)})
        for i in range(n_probes)
    }
    return Problem(
        RecoveryGraph(
            [Belief(f"b{i}", residual=40.0 + i) for i in range(n)],
            actions,
            [Probe(f"p{i}", cost=0.1) for i in range(n_probes)],
            edges,
        ),
        JointModel(
            [Hypothesis(*own) for own in zip(names, (prior / prior.sum()).tolist(), failed, strict=True)], kernels
        ),
        restart=200.0,
    )


def many_beliefs(n: int, n_edges: int, seed: int = 0, *, values: bool = False) -> Problem:
    """n beliefs over n executed actions with random dependences: one minimum cut, optionally with values to declare."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.column_stack([rng.integers(0, n, n_edges), rng.integers(0, n, n_edges)]), axis=0)
    beliefs = [Belief(f"b{i}", residual=float(r)) for i, r in enumerate(rng.exponential(10.0, n))]
    half = rng.permutation(n)[: n // 2]
    if values:
        beliefs = [replace(b, declared="as it was") for b in beliefs]
        some, every = ({beliefs[i].name: "changed" for i in which} for which in (half, range(n)))
        hypotheses = [Hypothesis("these", 0.5, truth=some), Hypothesis("all", 0.5, truth=every)]
    else:
        names = [belief.name for belief in beliefs]
        hypotheses = [Hypothesis("these", 0.5, tuple(names[i] for i in half)), Hypothesis("all", 0.5, tuple(names))]
    return Problem(
        RecoveryGraph(
            beliefs,
            actions=[Action(f"a{i}", undo=float(c), executed=True) for i, c in enumerate(rng.lognormal(1.0, 0.6, n))],
            edges=[(f"b{i}", f"a{j}", "belief_to_action") for i, j in pairs],
        ),
        JointModel(hypotheses),
    )


@dataclass(frozen=True)
class Arrays:
    """Random numbers for n hypotheses: what a caller would bring along."""

    prior: NDArray[np.float64]
    failed: NDArray[np.bool_]
    rows: NDArray[np.float64]

    @classmethod
    def drawn(cls, n: int, outcomes: int, seed: int = 0) -> Arrays:
        rng = np.random.default_rng(seed)
        return cls(rng.dirichlet(np.ones(n)), rng.random((10, n)) < 0.2, rng.dirichlet(np.ones(outcomes), (4, n)))


def many_hypotheses(drawn: Arrays) -> Problem:
    """Return a problem of these hypotheses: 10 beliefs, 4 probes."""
    names, outcomes = [f"b{j}" for j in range(10)], [f"y{o}" for o in range(drawn.rows.shape[2])]
    return Problem(
        RecoveryGraph(
            [Belief(name, residual=8.0) for name in names],
            actions=[Action(f"a{j}", undo=2.0, executed=True) for j in range(10)],
            probes=[Probe(f"p{i}", cost=0.1) for i in range(4)],
            edges=[
                *((f"p{i}", f"b{i}", "detection") for i in range(4)),
                *((f"b{j}", f"a{j}", "belief_to_action") for j in range(10)),
                *((f"b{j}", f"a{(j + 1) % 10}", "belief_to_action") for j in range(10)),
            ],
        ),
        JointModel(
            Hypotheses(drawn.prior, dict(zip(names, drawn.failed, strict=True))),
            {f"p{i}": Discrete(outcomes, rows) for i, rows in enumerate(drawn.rows)},
        ),
        restart=60.0,
    )


def many_causes(n: int, together: int) -> Problem:
    """n causes, so many of them at once at most; each makes one belief fail, and four are probed."""
    beliefs = [Belief(f"b{i}", residual=20.0) for i in range(n)]
    graph = RecoveryGraph(
        beliefs,
        [Action(f"a{i}", undo=2.0, executed=True) for i in range(n)],
        [Probe(f"p{i}", cost=0.1) for i in range(4)],
        [
            *((f"b{i}", f"a{i}", "belief_to_action") for i in range(n)),
            *((f"p{i}", f"b{i}", "detection") for i in range(4)),
        ],
    )
    causes = [RootCause.single(f"c{i}", 0.02, failed=[f"b{i}"]) for i in range(n)]
    kernels = {f"p{i}": Discrete(["no", "yes"], {"default": [0.9, 0.1], f"c{i}": [0.1, 0.9]}) for i in range(4)}
    return Problem(graph, joint_model(graph, causes, together=together, kernels=kernels))


@cache
def robot_alarms() -> tuple[InformationState, ...]:
    """The states after the alarms of the pouring robot's first suite, each scene played until its alarm."""
    suite = POURING_SUITES[0]
    return tuple(suite.make(0, k).state for k in range(suite.scenarios))


def shipped() -> list[tuple[str, Problem]]:
    """The problems of the examples, each under the path of its file."""
    files = sorted([*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.json"), *EXAMPLES.glob("worked/*.yaml")])
    return [(str(file.relative_to(EXAMPLES.parent)), load_problem(file)) for file in files]


def tiger() -> Problem:
    """Two doors: listening costs 1 and is right with 85 %; the wrong door costs 110 more than the right one."""
    hear = Discrete(["left", "right"], np.array([[0.85, 0.15], [0.15, 0.85]]))
    return Problem(
        RecoveryGraph(
            [Belief("left is safe", 110.0, declared="safe")],
            probes=[Probe("listen", cost=1.0, max_uses=40)],
            edges=[("listen", "left is safe", "detection")],
        ),
        JointModel(
            [Hypothesis("right", 0.5), Hypothesis("left", 0.5, truth={"left is safe": "tiger"})], {"listen": hear}
        ),
    )


def two_at_once(n: int) -> Problem:
    """n causes of which at most two are present, each with a belief of its own and a probe that may run once."""
    prior = 0.02 + 0.001 * np.arange(n)
    present = [np.flatnonzero(row) for row in np.eye(n)] + [
        np.array(pair) for pair in itertools.combinations(range(n), 2)
    ]
    present = [np.array([], dtype=int), *present]
    weight = np.array([np.prod(np.where(np.isin(np.arange(n), own), prior, 1 - prior)) for own in present])
    weight = weight * np.where([len(own) == 0 for own in present], 0.1, 0.9)  # the alarm
    rows = np.array([[[0.1, 0.9] if i in own else [0.95, 0.05] for own in present] for i in range(n)])
    return Problem(
        RecoveryGraph(
            [Belief(f"b{i}", 20.0 + i) for i in range(n)],
            [Action(f"a{i}", undo=3.0, executed=True) for i in range(n)],
            probes=[Probe(f"p{i}", cost=0.4) for i in range(n)],
            edges=[(f"p{i}", f"b{i}", "detection") for i in range(n)]
            + [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n)],
        ),
        JointModel(
            [
                Hypothesis(" and ".join(f"c{i}" for i in own) or "nothing", float(w), tuple(f"b{i}" for i in own))
                for own, w in zip(present, weight / weight.sum(), strict=True)
            ],
            {f"p{i}": Discrete(["ok", "bad"], rows[i]) for i in range(n)},
        ),
        restart=80.0,
        escalate=200.0,
    )


def anything(seed: int) -> Problem:
    """A random problem of any size: up to 20,000 hypotheses, groups that share undoing, probes of every kind."""
    rng = np.random.default_rng((seed, 77))
    n_beliefs, n_probes = int(rng.integers(2, 19)), int(rng.integers(1, 11))
    n_hypotheses = int(10 ** rng.uniform(0.7, 4.3))
    failed = rng.random((n_hypotheses, n_beliefs)) < rng.uniform(0.05, 0.4)
    names = [f"h{s}" for s in range(n_hypotheses)]
    probes = [
        Probe(f"p{m}", cost=float(rng.uniform(0.1, 1.0)), max_uses=float(rng.choice([1, 1, 1, 2, 5, math.inf])))
        for m in range(n_probes)
    ]
    about = rng.integers(0, n_beliefs, n_probes)
    supported = rng.random() < 0.2
    return Problem(
        graph=RecoveryGraph(
            [Belief(f"b{i}", float(rng.uniform(5, 40)), needs_support=supported and i == 0) for i in range(n_beliefs)],
            [Action(f"a{i}", undo=float(rng.uniform(1, 5)), executed=True) for i in range(n_beliefs)]
            + [Action(f"s{k}", undo=float(rng.uniform(1, 5)), executed=True) for k in range(3)],
            probes=probes,
            edges=[(f"p{m}", f"b{about[m]}", "detection") for m in range(n_probes)]
            + [(f"b{i}", f"a{i}", "belief_to_action") for i in range(n_beliefs)]
            + [(f"a{i}", f"s{rng.integers(3)}", "action_causal") for i in range(n_beliefs) if rng.random() < 0.5],
        ),
        model=JointModel(
            [
                Hypothesis(name, float(p), tuple(f"b{i}" for i in np.flatnonzero(row)))
                for name, p, row in zip(names, rng.dirichlet(np.ones(n_hypotheses)), failed, strict=True)
            ],
            {probe.name: _any_kernel(rng, failed[:, about[m]]) for m, probe in enumerate(probes)},
        ),
        restart=float(rng.uniform(20, 80)),
        escalate=100.0,
    )


def _any_kernel(rng: np.random.Generator, failed: np.ndarray) -> Discrete | Gaussian:
    """A probe that tells whether a belief failed; readings may have a law of their own for every hypothesis."""
    if rng.random() < 0.4:
        spread = float(rng.choice([0.0, 0.0, 1.0])) * rng.normal(size=len(failed))
        return Gaussian(np.column_stack([3.0 * failed + spread, np.full(len(failed), rng.uniform(0.5, 2.0))]))
    n_outcomes = int(rng.integers(2, 7))
    return Discrete([f"y{o}" for o in range(n_outcomes)], rng.dirichlet(np.ones(n_outcomes), 2)[failed.astype(int)])
