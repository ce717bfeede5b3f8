"""Persistent errors: a probe that, asked again, may merely repeat itself.

With probability ρ, a probe gives the same answer however often it is asked; else its answers are independent given the
truth. One answer alone is as it was. Whether the probe repeats itself, and what it then says, becomes part of the
hypothesis: s splits into "s" with prior p(s)(1 − ρ) and, for every outcome y, "s, look keeps saying y" with prior
p(s) ρ P(y | s), under which it says y for certain. Given these, answers are independent again, so that every price and
plan stays exact, at the cost of more hypotheses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aquamend.errors import Fault, InvalidProblem
from aquamend.model import Discrete, Hypothesis, JointModel, Outcomes
from aquamend.model.kernels import Kernel
from aquamend.problem import Plan, Problem

MOST_HYPOTHESES = 100_000


def with_persistent_errors(problem: Problem, shares: Mapping[str, float]) -> Problem:
    """Return the problem in which each of these probes repeats its first answer with the probability given.

    Only probes with outcomes can; one that may be used once alone, or whose share is 0, changes nothing.
    """
    for probe, share in shares.items():
        spec = problem.graph.probes[problem.graph.probe_index[probe]]
        if share > 0.0 and spec.max_uses > 1:
            problem = _split(problem, probe, share)
    return problem


def _split(problem: Problem, probe: str, share: float) -> Problem:
    model, channel = problem.model, problem.model.channels[probe]
    if not isinstance(channel, Outcomes):
        where = f"probes[{problem.graph.probe_index[probe]}].persistent"
        said = "the probe reads a number, which no reading repeats exactly"
        raise InvalidProblem([Fault(where, said, "give it outcomes, or add a cause under which it reads wrongly")])
    n_outcomes, names = len(channel.outcomes), model.names
    prior = model.prior[:, None] * np.hstack([np.full((len(names), 1), 1.0 - share), share * channel.table])
    origin, kept = np.nonzero(prior > 0.0)
    if len(origin) > MOST_HYPOTHESES:
        said = f"repeated answers make {len(origin):,} hypotheses of {len(names):,}"
        raise InvalidProblem([Fault("probes", said, "let fewer probes be persistent, or give fewer hypotheses")])
    new = [
        names[s] if k == 0 else f"{names[s]}, {probe} keeps saying {channel.outcomes[k - 1]}"
        for s, k in zip(origin.tolist(), kept.tolist(), strict=True)
    ]
    hypotheses = [
        replace(model.hypotheses[s], name=name, prior=float(prior[s, k]))
        for name, s, k in zip(new, origin.tolist(), kept.tolist(), strict=True)
    ]
    table = np.vstack(
        [channel.table[s] if k == 0 else np.eye(n_outcomes)[k - 1] for s, k in zip(origin, kept, strict=True)]
    )
    kernels = {name: _repeated(kernel, model, origin, new) for name, kernel in model.kernels.items()}
    kernels[probe] = Discrete(channel.outcomes, dict(zip(new, table.tolist(), strict=True)))
    return _renamed(problem, hypotheses, kernels, origin, new)


def _renamed(
    problem: Problem, hypotheses: list[Hypothesis], kernels: dict[str, Kernel], origin: Any, new: Sequence[str]
) -> Problem:
    """Return the problem with all that it says of hypotheses said of those that they were split into."""
    model, graph = problem.model, problem.graph
    of: dict[str, list[str]] = {name: [] for name in model.names}
    for s, name in zip(origin.tolist(), new, strict=True):
        of[model.names[s]].append(name)

    def spread(row: Mapping[str, float]) -> dict[str, float]:
        own = {name: value for old, value in row.items() for name in of.get(old, ())}
        return own | {key: value for key, value in row.items() if key not in of}

    def plan(given: Plan) -> Plan:
        return replace(given, loss=np.asarray(given.loss)[origin])

    alarm = model.alarm
    if alarm is not None:
        again = None if alarm.again is None else spread(alarm.again)
        alarm = replace(alarm, likelihood=spread(alarm.likelihood), again=again)
    declarations = [
        d if d.invalid_in is None else replace(d, invalid_in=tuple(n for old in d.invalid_in for n in of[old]))
        for d in model.declarations
    ]
    probes = [replace(p, accuracy=spread(p.accuracy)) if isinstance(p.accuracy, Mapping) else p for p in graph.probes]
    return replace(
        problem,
        graph=replace(graph, probes=probes),
        model=JointModel(hypotheses, kernels, alarm, declarations, model.left_out),
        restart=plan(problem.restart) if isinstance(problem.restart, Plan) else problem.restart,
        plans=tuple(map(plan, problem.plans)),
    )


def _repeated(kernel: Kernel, model: JointModel, origin: Any, new: Sequence[str]) -> Kernel:
    given = {
        key: {name: value[model.names[s]] for name, s in zip(new, origin.tolist(), strict=True)}
        if isinstance(value, Mapping)
        else value
        for key, value in kernel.to_data(model.names).items()
    }
    return type(kernel).from_data(**given)
