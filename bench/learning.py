"""On which sites learning works: what decisions cost by a learned model, beside those by the true numbers.

.venv/bin/python bench/learning.py [--sites 40]     prints the table of docs/learning.md

A site has three causes, each of which makes a belief wrong, three probes with outcomes and an alarm. Its true numbers
are drawn at random; the file that is learned into has the same round guesses for every site. What deciding by a model
costs on an alarm is computed exactly, under the true numbers: every answer of every probe is followed.
"""

from __future__ import annotations

import argparse
import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.belief import InformationState, Observation
from aquamend.decision.steps import Continue, Reprobe, RollBack, Step
from aquamend.files import parse_problem
from aquamend.learning import Record, drifts, learned
from aquamend.policies import Best
from aquamend.problem import Problem

Floats = NDArray[np.float64]
BELIEFS = ("pose", "code", "grip")
CAUSES = ("slip", "swap", "worn")
PROBES = ("scan", "read", "feel")
KINDS: Mapping[str, Sequence[int]] = {
    "few records": (10, 30, 100),
    "drifting": (400, 2000),
    "alarm-only": (30, 100, 1000),
}
ALLOWED = 1.05
"""What is aimed at, times the loss by the true numbers."""


def file_of(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a site with these numbers."""
    kernels = {
        probe: {"outcomes": ["fits", "differs"], "likelihood": {"default": rows[0], belief: rows[1]}}
        for probe, belief, rows in zip(PROBES, BELIEFS, numbers["rows"], strict=True)
    }
    return {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": b, "residual": r} for b, r in zip(BELIEFS, numbers["residuals"], strict=True)],
        "actions": [
            {"name": f"do_{b}", "undo": u, "status": "executed"} for b, u in zip(BELIEFS, numbers["undo"], strict=True)
        ],
        "probes": [{"name": p, "cost": c, "max_uses": 2} for p, c in zip(PROBES, numbers["costs"], strict=True)],
        "edges": [[p, b, "detection"] for p, b in zip(PROBES, BELIEFS, strict=True)]
        + [[b, f"do_{b}", "belief_to_action"] for b in BELIEFS],
        "causes": [
            {"name": c, "prior": p, "failed": [b]}
            for c, b, p in zip(CAUSES, BELIEFS, numbers["priors"], strict=True)
        ],
        "kernels": kernels,
        "alarm": {"likelihood": {"nothing": numbers["alarm"][0], "default": numbers["alarm"][1]}},
        "escalate": 60,
    }  # fmt: skip


def true_numbers(rng: np.random.Generator) -> dict[str, Any]:
    """Return the numbers of a site, as they are."""
    rows = []
    for _ in PROBES:
        falsely, missed = rng.uniform(0.02, 0.25), rng.uniform(0.05, 0.4)
        rows.append(([1 - falsely, falsely], [missed, 1 - missed]))
    return {
        "residuals": rng.uniform(10, 60, 3).tolist(),
        "undo": rng.uniform(2, 20, 3).tolist(),
        "costs": rng.uniform(0.3, 3, 3).tolist(),
        "priors": priors(rng),
        "rows": rows,
        "alarm": [float(np.exp(rng.uniform(math.log(0.01), math.log(0.2)))), float(rng.uniform(0.5, 0.95))],
    }


def priors(rng: np.random.Generator) -> list[float]:
    """Return how probable the causes are, from one in 50 to one in three."""
    return [float(p) for p in np.exp(rng.uniform(math.log(0.02), math.log(0.33), 3))]


def guessed(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what somebody would write down: the prices are known, all else is a round guess."""
    return {**numbers, "priors": [0.1] * 3, "rows": [([0.8, 0.2], [0.2, 0.8])] * 3, "alarm": [0.1, 0.8]}


def drawn(
    numbers: Mapping[str, Any], n: int, rng: np.random.Generator, *, alarms: bool, first: int = 0
) -> list[Record]:
    """Return so many records of a site, of alarms alone or of all times."""
    model, found = parse_problem(file_of(numbers)).model, list[Record]()
    chance = model.prior * (model.alarm_likelihood if alarms else 1.0)
    for i, s in enumerate(rng.choice(len(chance), n, p=chance / chance.sum()), start=first):
        rang = alarms or bool(rng.random() < model.alarm_likelihood[s])
        said = {probe: (channel.sample(int(s), rng),) for probe, channel in model.channels.items()}
        found.append(Record(model.names[int(s)], said, alarm=rang, when=float(i)))
    return found


def cost_of_deciding(by: Problem, true: Problem) -> float:
    """Return what one alarm costs, by the true numbers, where each step is chosen by a model."""
    mass = true.model.prior * true.model.alarm_likelihood
    return _followed(InformationState.alarmed(by), true, mass / mass.sum())


def _followed(state: InformationState, true: Problem, mass: Floats) -> float:
    step = Best().next_step(state)
    if not isinstance(step, Reprobe):
        return float(mass @ _loss(step, true))
    probe, channel = true.graph.probes[true.graph.probe_index[step.probe]], true.model.channels[step.probe]
    total = probe.cost * float(mass.sum())
    for k, outcome in enumerate(channel.outcomes):  # type: ignore[union-attr]  # all probes of a site have outcomes
        after = mass * channel.table[:, k]  # type: ignore[union-attr]
        if after.sum() > 0.0:
            total += _followed(state.after(Observation(step.probe, outcome)), true, after)
    return total


def _loss(step: Step, true: Problem) -> Floats:
    """Return what ending so costs under each hypothesis."""
    graph = true.graph
    if not isinstance(step, Continue | RollBack):
        return np.full(len(true.model.prior), true.escalate_loss)
    correct = step.correct if isinstance(step, RollBack) else ()
    left = np.array([0.0 if belief.name in correct else belief.residual for belief in graph.beliefs])
    return np.asarray(graph.correction_cost(correct) + true.failed @ left)


@dataclass(frozen=True)
class Site:
    """What learning did on one site."""

    true: float
    """What an alarm costs by the true numbers; the least that it can cost."""
    guess: float
    learned: float
    newer: float | None = None
    """Learned from the newer half alone."""
    noticed: bool = False
    """Whether a change was noticed."""


def site(kind: str, n: int, seed: int) -> Site:
    """Return what learning from so many records did on the site of this number."""
    rng = np.random.default_rng(seed)
    numbers = true_numbers(rng)
    guess = file_of(guessed(numbers))
    if kind == "drifting":
        later = {**numbers, "priors": priors(rng)}
        records = [
            *drawn(numbers, n // 2, rng, alarms=True), *drawn(later, n - n // 2, rng, alarms=True, first=n // 2)
        ]  # fmt: skip
        true = parse_problem(file_of(later))
        newer = cost_of_deciding(learned(guess, records[n // 2 :], intervals=False).problem, true)
        noticed = any(said.startswith("what was found") for said in drifts(records))
    else:
        records, true = drawn(numbers, n, rng, alarms=kind == "alarm-only"), parse_problem(file_of(numbers))
        newer, noticed = None, any(True for _ in drifts(records))
    found = learned(copy.deepcopy(guess), records, intervals=False).problem
    costs = [cost_of_deciding(by, true) for by in (true, parse_problem(guess), found)]
    return Site(*costs, newer, noticed)


def ratio(over: Sequence[float], under: Sequence[float]) -> tuple[float, float, float]:
    """Return the ratio of two mean costs, with a 95 % interval over sites (bootstrap)."""
    a, b, rng = np.array(over), np.array(under), np.random.default_rng(0)
    rows = rng.integers(0, len(a), (4000, len(a)))
    low, high = np.quantile(a[rows].mean(axis=1) / b[rows].mean(axis=1), [0.025, 0.975])
    return float(a.mean() / b.mean()), float(low), float(high)


def table(sites: int) -> Iterator[str]:
    """Yield the table, row by row."""
    yield "| sites | records | by the guesses | learned | within 5 % | newer half alone | a change was noticed |"
    yield "|---|---:|---:|---:|---|---:|---:|"
    for kind, sizes in KINDS.items():
        for n in sizes:
            found = [site(kind, n, 1000 * k + n) for k in range(sites)]
            true = [one.true for one in found]
            guess, own = ratio([one.guess for one in found], true), ratio([one.learned for one in found], true)
            newer = [one.newer for one in found if one.newer is not None]
            late = f"{ratio(newer, true)[0]:.3f}" if newer else "–"
            within = "yes" if own[0] <= ALLOWED else "no"
            noticed = sum(one.noticed for one in found) / sites
            interval = f"{own[0]:.3f} ({own[1]:.3f} to {own[2]:.3f})"
            yield f"| {kind} | {n:,} | {guess[0]:.3f} | {interval} | {within} | {late} | {noticed:.0%} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=40, help="of each kind and size")
    for row in table(parser.parse_args().sites):
        print(row, flush=True)


if __name__ == "__main__":
    main()
