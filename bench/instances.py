"""The problems that the benchmark times, each a pure function of its sizes and a seed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.model import Alarm, Coverage, Declaration, Discrete, FitGroup, Gaussian, Hypothesis, JointModel
from aquamend.problem import Plan, Problem

SUPPORTED = Correction.SUPPORTED


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
    n: int, seed: int = 0, *, accuracy: float = 1.0, uses: float = 1, shared: bool = False, values: bool = False
) -> Problem:
    """The paper's M1-Depth chains: exactly one of n beliefs changed; optionally noisy, repeatable, sharing undo.

    With ``values``, beliefs declare one, and correcting one declares another, which may be wrong too.
    """
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.75, 1.25, n)
    weight /= weight.sum()
    graph = _chains(n, rng, cost=0.3 + 1.5 / n, residual=4.0, uses=uses, shared=shared)
    if values:
        beliefs = [replace(b, correction=SUPPORTED, declared="as it was") for b in graph.beliefs]
        graph = replace(graph, beliefs=beliefs, probes=[replace(p, accuracy=0.98) for p in graph.probes])
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


def many_beliefs(n: int, n_edges: int, seed: int = 0, *, values: bool = False) -> Problem:
    """n beliefs over n executed actions with random dependences: one minimum cut, optionally with values to declare."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.column_stack([rng.integers(0, n, n_edges), rng.integers(0, n, n_edges)]), axis=0)
    beliefs = [Belief(f"b{i}", residual=float(r)) for i, r in enumerate(rng.exponential(10.0, n))]
    half = rng.permutation(n)[: n // 2]
    if values:
        beliefs = [replace(b, correction=SUPPORTED, declared="as it was") for b in beliefs]
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


def many_hypotheses(n: int, seed: int = 0) -> Problem:
    """n hypotheses over 10 beliefs with 4 probes of 8 outcomes."""
    rng = np.random.default_rng(seed)
    failed = rng.random((n, 10)) < 0.2
    prior = rng.dirichlet(np.ones(n))
    kernels = {f"p{i}": Discrete([f"y{o}" for o in range(8)], rng.dirichlet(np.ones(8), n)) for i in range(4)}
    names = [f"b{j}" for j in range(10)]
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
            [
                Hypothesis(f"h{k}", float(p), tuple(itertools.compress(names, row)))
                for k, (p, row) in enumerate(zip(prior, failed, strict=True))
            ],
            kernels,
        ),
        restart=60.0,
    )


def pouring_robot() -> Problem:
    """The pouring robot's kind of problem: 12 changes of the world × 6 of the camera, values, support, 6 + 2 probes."""
    cups, level = "ABC", {"A": 20.0, "B": 30.0, "C": 40.0}
    changes: list[tuple[str, dict[str, float], dict[str, str]]] = [("nothing", {}, {})]
    changes += [(f"{grams:g} g into {cup}", {cup: grams}, {}) for cup in cups for grams in (8.0, 25.0)]
    changes += [(f"{a} and {b} swapped", {}, {a: b, b: a}) for a, b in ("AB", "AC", "BC")]
    changes += [("8 g into A, swapped with B", {"A": 8.0}, {"A": "B", "B": "A"}), ("15 g out of C", {"C": -15.0}, {})]
    faults = {"sound": (0.0, 1.0), "low": (-9.0, 1.0), "high": (9.0, 1.0), "blurred": (0.0, 5.0), "stale": (0.0, 1.0),
              "off": (20.0, 2.0)}  # fmt: skip
    beliefs = [Belief(f"amount {c}", 10.0, correction=SUPPORTED, declared=level[c], tolerance=3.0) for c in cups]
    beliefs += [Belief(f"place {c}", 20.0, correction=SUPPORTED, declared=c) for c in cups]
    beliefs += [Belief("target", 80.0, correction=SUPPORTED, declared="A", needs_support=True)]
    beliefs += [Belief("camera", 40.0, correction=SUPPORTED, declared="sound")]
    probes = [Probe(f"look {c}", 0.2, "vision", source="camera", accuracy=0.98) for c in cups]
    probes += [Probe(f"weigh {c}", 0.6, "scale", accuracy=0.99) for c in cups]
    probes += [Probe("locate", 0.2, "vision", accuracy=0.99), Probe("time stamp", 0.1, "clock", accuracy=0.95)]
    edges = [(f"{verb} {c}", f"amount {c}", "detection") for verb in ("look", "weigh") for c in cups]
    edges += [("locate", f"place {c}", "detection") for c in cups] + [("time stamp", "camera", "detection")]
    edges += [(f"amount {c}", "target", "inference") for c in cups]
    edges += [(f"place {c}", "move", "belief_to_action") for c in cups]
    edges += [("target", "move", "belief_to_action"), ("target", "pour", "belief_to_action"),
              ("move", "pour", "action_causal")]  # fmt: skip
    actions = [Action("grasp", undo=4.0, executed=True), Action("move", undo=5.5, executed=True),
               Action("pour", undo=30.0, executed=True)]  # fmt: skip
    hypotheses, looks, weighs, locates, stamps = [], {}, {}, {}, {}
    for change, added, places in changes:
        for fault, (bias, blur) in faults.items():
            name = f"{change}, camera {fault}"
            amounts = {c: level[c] + added.get(c, 0.0) for c in cups}
            least = min(cups, key=amounts.__getitem__)
            truth: dict[str, str | float] = {f"amount {c}": amounts[c] for c in added}
            truth |= {f"place {c}": p for c, p in places.items()}
            truth |= {"target": least} if least != "A" else {}
            truth |= {"camera": fault} if fault != "sound" else {}
            prior = (0.5 if change == "nothing" else 0.5 / 11) * (0.7 if fault == "sound" else 0.06)
            hypotheses.append(Hypothesis(name, prior, truth=truth))
            seen = level if fault == "stale" else amounts
            looks[name] = [(seen[places.get(c, c)] + bias, 1.5 * blur) for c in cups]
            weighs[name] = [(amounts[places.get(c, c)], 0.7) for c in cups]
            locates[name] = [0.02, 0.98] if places else [0.98, 0.02]
            stamps[name] = [0.05, 0.95] if fault == "stale" else [0.99, 0.01]
    kernels: dict[str, Discrete | Gaussian] = {
        f"{verb} {c}": Gaussian({name: rows[i] for name, rows in table.items()})
        for verb, table in (("look", looks), ("weigh", weighs)) for i, c in enumerate(cups)
    }  # fmt: skip
    kernels |= {"locate": Discrete(["as declared", "moved"], locates), "time stamp": Discrete(["new", "old"], stamps)}
    names = [probe.name for probe in probes]
    declarations = [Declaration(b.name, b.name, support=[p for p, t, _ in edges if t == b.name]) for b in beliefs[:6]]
    declarations += [Declaration("target", "target", support=names[:3]), Declaration("camera", "camera")]
    alarm = Alarm({h.name: 0.9 if h.truth else 0.1 for h in hypotheses}, ["target"])
    groups = tuple(FitGroup(name, tuple(names), (0.0,), (0.0,)) for name in ("one", "two"))
    return Problem(
        RecoveryGraph(beliefs, actions, probes, edges), JointModel(hypotheses, kernels, alarm, declarations),
        restart=72.6, escalate=150.0, coverage=Coverage("early", ("early",), groups, (0.0,), (0.0,)), unit="s",
    )  # fmt: skip
