"""Persistent errors: a probe that, asked again, may merely err as it did before.

A share ρ of a probe's error is the same at every use; the rest is independent given the truth. One answer alone is as
it was. What stays the same becomes part of the hypothesis: given the finer hypotheses answers are independent again, so
every price and plan stays exact, at the cost of more hypotheses. What it is depends on the kind of kernel.

* The *part* that the first answer came from: an outcome, one normal distribution of a mixture, one of the samples. With
  probability ρ the probe keeps to it. s splits into "s" with prior p(s)(1 − ρ) and, for every part of weight w, "s,
  look keeps saying y" with prior p(s) ρ w, under which it answers from that part alone.
* Of a normal distribution, which has one part, an *offset* with the share ρ of its variance, so that any two readings
  are correlated by ρ: N(μ, σ²) = ∫ N(μ + √ρ σ x, (1 − ρ) σ²) N(x; 0, 1) dx, summed over x up to 6 at even steps. After
  n readings x has the variance v = (1 − ρ) / (1 − ρ + n ρ), and with steps of √v their joint density is off by a factor
  of 1 ± 2 exp(−2π²) = 1 ± 5e-9 (Poisson's summation formula). n is how often the probe may be used, and 10 at most:
  after more readings, the offset is one of those values.

Glitches stay independent of each other: what comes back is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from aquamend.errors import Fault, InvalidProblem
from aquamend.problem import Plan, Problem
from aquamend.problem.model import Alarm, Discrete, Gaussian, Hypothesis, JointModel, Mixture, Outcomes, Readings
from aquamend.problem.model.joint_model import Grown
from aquamend.problem.model.kernels import Channel, Kernel, rows_of, with_rows
from aquamend.problem.model.kernels.kernel import in_order_of_names

MOST_HYPOTHESES = 100_000
MOST_OF_A_NORMAL = 0.99
"""The largest share of a normal distribution that may persist: the offsets grow more as it nears 1."""
REACH_SD, MOST_READINGS = 6.0, 10


class _Part(NamedTuple):
    """What a hypothesis splits into."""

    share: float
    suffix: str
    """What is said of it beside the hypothesis; nothing where uses are independent."""
    row: Any
    """How the probe answers: probabilities of outcomes, or rows of weight, mean and standard deviation."""


def with_persistent_errors(problem: Problem, shares: Mapping[str, float]) -> Problem:
    """Return the problem in which this share of each of these probes' error is the same at every use.

    A probe that may be used once alone, or whose share is 0, changes nothing.
    """
    for probe, share in shares.items():
        spec = problem.graph.probes[problem.graph.probe_index[probe]]
        if share > 0.0 and spec.max_uses > 1:
            problem = _split(problem, probe, share)
    return problem


def _split(problem: Problem, probe: str, share: float) -> Problem:
    model, kernel, channel = problem.model, problem.model.kernels[probe], problem.model.channels[probe]
    if isinstance(kernel, Gaussian) and share > MOST_OF_A_NORMAL:
        where = f"probes[{problem.graph.probe_index[probe]}].persistent"
        said = f"{share:g} leaves a normal distribution next to nothing that differs between uses"
        raise InvalidProblem([Fault(where, said, f"give at most {MOST_OF_A_NORMAL:g}, or let it be used once")])
    uses = min(problem.graph.probes[problem.graph.probe_index[probe]].max_uses, MOST_READINGS)
    split = (
        (s, part)
        for s, prior in enumerate(model.prior.tolist())
        for part in _split_of(kernel, channel, s, share, uses, possible=prior > 0.0)
    )
    parts = list(islice(split, MOST_HYPOTHESES + 1))
    if len(parts) > MOST_HYPOTHESES:
        said = f"errors that persist make more than {MOST_HYPOTHESES:,} hypotheses of {len(model.names):,}"
        raise InvalidProblem([Fault("probes", said, "let fewer probes be persistent, or give fewer hypotheses")])
    hypotheses = [_part_of(model, s, part, probe) for s, part in parts]
    origin, new = np.array([s for s, _ in parts]), [hypothesis.name for hypothesis in hypotheses]
    kernels = {name: _repeated(kernel, model, origin, new) for name, kernel in model.kernels.items()}
    rows = dict(zip(new, (part.row for _, part in parts), strict=True))
    if isinstance(channel, Outcomes):
        kernels[probe] = Discrete(channel.outcomes, rows, channel.numbers)
    elif isinstance(channel, Readings):
        kernels[probe] = Mixture(rows, channel.outliers)
    grown = (
        *model.grown,
        Grown(f"the error of {probe} that persists, one for each it may be", len(model.names), len(new)),
    )
    split_problem = _renamed(problem, hypotheses, kernels, origin, new)
    return replace(split_problem, model=replace(split_problem.model, grown=grown))


def _part_of(model: JointModel, s: int, part: _Part, probe: str) -> Hypothesis:
    whole = model.hypotheses[s]
    name = f"{whole.name}, {probe} {part.suffix}" if part.suffix else whole.name
    prior = float(model.prior[s]) * part.share
    return replace(whole, name=name, prior=prior, part_of=whole.part_of or whole.name)


def _split_of(
    kernel: Kernel, channel: Channel, s: int, share: float, uses: float, *, possible: bool
) -> Iterator[_Part]:
    """Yield what a hypothesis splits into: one of prior 0 stays whole, for the values that are true under it."""
    row = _row(channel, s)
    if not possible:
        yield _Part(1.0, "", row)
        return
    parts = _offsets(row, share, uses) if isinstance(kernel, Gaussian) else _parts(channel, row, share)
    yield from (part for part in parts if part.share > 0.0)


def _row(channel: Channel, s: int) -> list[Any]:
    """Return how the probe answers under a hypothesis, as in `_Part`."""
    row: list[Any] = []
    if isinstance(channel, Outcomes):
        row = channel.table[s].tolist()
    elif isinstance(channel, Readings):
        own = channel.owner == channel.of[s]
        row = np.column_stack([channel.weight[own], channel.mean[own], channel.sd[own]]).tolist()
    return row


def _parts(channel: Channel, row: list[Any], share: float) -> Iterator[_Part]:
    """Yield the hypothesis whose answers are independent, and one for each part that the probe may keep to."""
    kept: list[tuple[float, str, Any]]
    if isinstance(channel, Outcomes):
        sure = np.eye(len(row)).tolist()
        kept = [(p, f"keeps saying {channel.outcomes[k]}", sure[k]) for k, p in enumerate(row)]
    elif len(row) == 1:  # whichever part it keeps to, it is this one
        yield _Part(1.0, "", row)
        return
    else:
        kept = [(w, f"keeps to part {k}", [[1.0, mean, sd]]) for k, (w, mean, sd) in enumerate(row, start=1)]
    yield _Part(1.0 - share, "", row)
    yield from (_Part(share * weight, suffix, answers) for weight, suffix, answers in kept)


def _offsets(row: list[Any], share: float, uses: float) -> Iterator[_Part]:
    """Yield a hypothesis for each offset that a normal distribution's readings may have in common."""
    ((_, mean, sd),) = row
    step = math.sqrt((1.0 - share) / (1.0 - share + uses * share))
    x = step * np.arange(-math.ceil(REACH_SD / step), math.ceil(REACH_SD / step) + 1)
    weights, rest = np.exp(-0.5 * x * x), math.sqrt(1.0 - share) * sd
    for weight, offset in zip((weights / weights.sum()).tolist(), (math.sqrt(share) * sd * x).tolist(), strict=True):
        yield _Part(weight, f"is off by {offset:+.6g}", [[1.0, mean + offset, rest]])


def _renamed(
    problem: Problem, hypotheses: list[Hypothesis], kernels: dict[str, Kernel], origin: Any, new: Sequence[str]
) -> Problem:
    """Return the problem with all that it says of hypotheses said of those that they were split into."""
    model = problem.model
    of: dict[str, list[str]] = {name: [] for name in model.names}
    for s, name in zip(origin.tolist(), new, strict=True):
        of[model.names[s]].append(name)

    def spread(row: Mapping[str, float]) -> dict[str, float]:
        own = {name: value for old, value in row.items() for name in of.get(old, ())}
        return own | {key: value for key, value in row.items() if key not in of}

    def plan(ending: Plan) -> Plan:
        return replace(ending, loss=np.asarray(ending.loss)[origin])

    def rung(alarm: Alarm) -> Alarm:
        again = None if alarm.again is None else spread(alarm.again)
        by = [None if said is None else said.taken(origin, new) for said in (alarm.conditions, alarm.again_by)]
        return replace(alarm, likelihood=spread(alarm.likelihood), again=again, conditions=by[0], again_by=by[1])

    alarm, alarms = model.alarm and rung(model.alarm), {name: rung(one) for name, one in model.alarms.items()}
    declarations = [
        d if d.invalid_in is None else replace(d, invalid_in=tuple(n for old in d.invalid_in for n in of[old]))
        for d in model.declarations
    ]
    return replace(
        problem,
        model=JointModel(hypotheses, kernels, alarm, declarations, model.left_out, alarms=alarms),
        restart=plan(problem.restart) if isinstance(problem.restart, Plan) else problem.restart,
        plans=tuple(map(plan, problem.plans)),
    )


def _repeated(kernel: Kernel, model: JointModel, origin: Any, new: Sequence[str]) -> Kernel:
    rows = in_order_of_names(rows_of(kernel), model.names)
    return with_rows(kernel, {name: rows[s] for name, s in zip(new, origin.tolist(), strict=True)})
