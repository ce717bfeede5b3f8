"""Holes in what a model says of instruments and of support: where a reading means less than its author thought."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from aquamend.belief import InformationState
from aquamend.belief.support import evidence_on
from aquamend.decision import TIE, best_terminal
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import probe_values
from aquamend.errors import TooLarge
from aquamend.lint.finding import Finding, Severity, amount
from aquamend.planning.exact import solve
from aquamend.planning.lookahead import lookahead_losses
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.text import listed, named, percent

MOST_CELLS = 100_000
"""Evidence states that are priced to find out whether looks pay together."""
FAR_SD = 6.0
"""Standard deviations between a reading and every truth, beyond which it is taken for another quantity."""


def lacking_support(state: InformationState) -> Iterator[Finding]:
    """Yield beliefs that need support and have none at the alarm, priced by what lifting the need would save."""
    problem, graph = state.problem, state.problem.graph
    bare = [
        belief.name
        for i, belief in enumerate(graph.beliefs)
        if belief.needs_support and not state.evidence and not evidence_on(state, i, problem.failed[:, i])
        and state.failure_probabilities[i] > 0.0
    ]  # fmt: skip
    if not bare:
        return
    endings = endings_of(problem)
    sums = (state.posterior @ endings.features)[None, :]
    lifted = float(endings.values(sums, np.ones(len(endings.support.probe), dtype=bool), relaxed=True)[0])
    stop = best_terminal(state).loss
    cost = stop - lifted if math.isfinite(stop) else math.inf
    need = "needs support and has none" if len(bare) == 1 else "need support and have none"
    said = (
        f"{listed([repr(name) for name in bare])} {need} at the alarm: nothing may be kept or declared before a probe"
    )
    said += " speaks for it"
    remedy = "name in `declarations` the probes it was made from, or plan further than one probe"
    if cost > TIE:
        price, severity = f"that costs {amount(state, cost)}", Severity.WARNING
    else:
        price, severity = "at this alarm that costs nothing: no other ending would lose less", Severity.NOTE
    yield Finding("no-support", f"beliefs.{bare[0]}", f"{said}; {price}: {remedy}", max(0.0, cost), severity)


def pays_together(state: InformationState) -> Iterator[Finding]:
    """Yield where no probe pays alone, and several together do."""
    values = probe_values(state)
    alone = min(values.stop_loss, float(values.expected_loss.min(initial=math.inf)))
    if not state.legal or alone < values.stop_loss - TIE:
        return
    found = _planned(state)
    if found is None or not found[0] < alone - max(TIE, 1e-3 * min(alone, 1e300)):
        return
    planned, probe, policy = found
    saved = alone - planned
    said = f"no single probe pays, and several together save {amount(state, saved)}, {probe!r} first"
    yield Finding("plan-further", f"probes.{probe}", f"{said}: plan further, with {policy}", saved, Severity.WARNING)


def _planned(state: InformationState) -> tuple[float, str, str] | None:
    """Return what planning further promises, with which probe first and by which policy; None where nobody can say."""
    table = solve(state, most_cells=MOST_CELLS)
    if table is not None:
        losses = table.probe_losses()
        first = int(losses.argmin()) if len(losses) else 0
        return (table.loss, table.sensing.probes[first], "`exact`") if len(losses) else None
    try:
        losses = lookahead_losses(state, 2)
    except TooLarge:
        return None
    return float(losses.min()), state.legal_probes[int(losses.argmin())], "`lookahead-2`"


def odd_instruments(state: InformationState) -> Iterator[Finding]:
    """Yield probes whose rows do not fit the values of the beliefs that they are said to read."""
    problem, graph = state.problem, state.problem.graph
    for belief, probes in graph.detecting_probes.items():
        i = graph.belief_index[belief]
        for probe in probes if i in problem.truth else ():
            channel = problem.model.channels[probe]
            if isinstance(channel, Readings) and not isinstance(graph.beliefs[i].declared, str):
                yield from _another_quantity(state, i, probe, channel)
                yield from _within_noise(state, i, probe, channel)
                yield from _exact_number(state, i, probe)
            elif isinstance(channel, Outcomes):
                yield from _unfollowed(state, i, probe, channel)


def _at_stake(state: InformationState, belief: int) -> float:
    """Return what the belief may cost at the alarm."""
    residual, q = state.problem.graph.beliefs[belief].residual, float(state.failure_probabilities[belief])
    return residual * q if q > 0.0 else 0.0


def _another_quantity(state: InformationState, i: int, probe: str, channel: Readings) -> Iterator[Finding]:
    truth = state.problem.truth[i].astype(float)
    mean = np.array([channel.weight[own] @ channel.mean[own] for own in _own(channel)])[channel.of]
    sd = np.array([channel.sd[own].max() for own in _own(channel)])[channel.of]
    known = np.isfinite(truth)
    tolerance = state.problem.graph.beliefs[i].tolerance
    far = np.abs(mean - truth) > FAR_SD * sd + tolerance
    apart = known.any() and (mean[known].min() > truth[known].max() or mean[known].max() < truth[known].min())
    if apart and far[known].all():
        name = state.problem.graph.beliefs[i].name
        said = (
            f"{probe!r} reads {mean[known].min():g} to {mean[known].max():g}, and {name!r} is {truth[known].min():g} to"
        )
        said += f" {truth[known].max():g}: another quantity, or another unit?"
        yield Finding("another-quantity", f"kernels.{probe}", said, _at_stake(state, i), Severity.WARNING)


def _own(channel: Readings) -> list[np.ndarray]:
    return [np.flatnonzero(channel.owner == label) for label in range(channel.n_labels)]


def _within_noise(state: InformationState, i: int, probe: str, channel: Readings) -> Iterator[Finding]:
    truth, declared = state.problem.truth[i].astype(float), state.problem.in_force(i)
    others = np.unique(truth[np.isfinite(truth) & (truth != declared)])
    if len(others) > 2 and others[-1] - others[0] < channel.sharpest:
        name = state.problem.graph.beliefs[i].name
        said = f"what may be true of {name!r}, {others[0]:g} to {others[-1]:g}, lies within the noise of {probe!r} (sd"
        said += f" {channel.sharpest:g}): no reading tells these {len(others)} values apart, and one would do as well"
        yield Finding("spread-within-noise", f"kernels.{probe}", said, _at_stake(state, i), Severity.NOTE)


def _exact_number(state: InformationState, i: int, probe: str) -> Iterator[Finding]:
    belief = state.problem.graph.beliefs[i]
    if belief.tolerance == 0.0:
        said = (
            f"{belief.name!r} has a tolerance of 0, and {probe!r} reads a number with noise: the least difference is a"
        )
        said += " failure, and no number that is declared stays right; give it a tolerance"
        yield Finding("no-tolerance", f"beliefs.{belief.name}", said, _at_stake(state, i), Severity.WARNING)


def _unfollowed(state: InformationState, i: int, probe: str, channel: Outcomes) -> Iterator[Finding]:
    truth, weight = state.problem.truth[i], state.problem.model.prior
    words = np.array([None if v is None or v != v else named(v) for v in truth.tolist()], dtype=object)
    for k, outcome in enumerate(channel.outcomes):
        right, wrong = (words == outcome) & (weight > 0.0), (words != outcome) & (weight > 0.0)
        if not right.any() or not wrong.any():
            continue
        column = channel.table[:, k]
        if_right, if_wrong = (float(weight[w] @ column[w] / weight[w].sum()) for w in (right, wrong))
        if if_right <= if_wrong:
            name = state.problem.graph.beliefs[i].name
            said = f"{probe!r} answers {outcome!r}, a value of {name!r}, with {percent(if_right)} where that is true"
            said += f" and with {percent(if_wrong)} where it is not: it does not follow the belief; write `of: {name}`?"
            yield Finding("unfollowed-value", f"kernels.{probe}", said, _at_stake(state, i), Severity.WARNING)
            return
