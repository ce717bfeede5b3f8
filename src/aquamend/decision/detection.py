"""How well probes test declarations (C_s, Eq. 6), and screens that use it to leave probes out.

The power screen may drop the best probe; it applies only where calibration records cover the situation, and otherwise
keeps everything. The lossless screen never changes the decision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, cast

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState, rejected
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken
from aquamend.caching import computed_once
from aquamend.decision.branches import Branches, branches_of
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import clairvoyant_loss
from aquamend.problem.model.kernels import Outcomes, Readings


@dataclass(frozen=True, slots=True)
class Detection:
    """How well one probe tests one declaration in force, by the model; None where unavailable."""

    power: float | None
    """C_s: probability of rejecting the declaration if it is invalid."""
    false_positive_rate: float | None
    """Probability of rejecting it if it is valid; no significance level is promised."""


def detection(state: InformationState) -> dict[str, tuple[Detection, ...]]:
    """Return, for every legal probe, how it tests each declaration in force at the threshold of one half.

    A condition of probability zero makes the rate unavailable rather than zero.
    """
    branches, invalid = tested_branches(state), state.problem.invalid
    power = _rejection_rates(state, branches, invalid)
    false_positive = _rejection_rates(state, branches, 1.0 - invalid)
    return {
        probe: tuple(Detection(_available(p), _available(f)) for p, f in zip(ps, fs, strict=True))
        for probe, ps, fs in zip(branches.probes, power, false_positive, strict=True)
    }


@computed_once
def tested_branches(state: InformationState) -> Branches:
    """Return the branches of all legal probes, readings cut where a declaration comes to be rejected."""
    return branches_of(state, state.legal_probes, decisions=False, verdicts=True)


@computed_once
def detection_power(state: InformationState) -> Floats:
    """Return C_s of every legal probe for every declaration in force, ``(n_legal, n_declarations)``; NaN if none.

    Quickly, for choosing between probes: readings are sampled on a fixed grid, and a verdict that changes between two
    of them is taken to do so where a straight line would: right to about a hundredth, where ``detection`` is exact.
    """
    if all(isinstance(view.channel, Outcomes) for view in state.legal):  # nothing to sample: exact in one product
        return _rejection_rates(state, tested_branches(state), state.problem.invalid)
    joint = state.posterior[:, None] * np.column_stack([state.problem.invalid, np.ones(len(state.posterior))])
    caught = np.zeros((len(state.legal), joint.shape[1] - 1))
    reading = [i for i, view in enumerate(state.legal) if isinstance(view.channel, Readings)]
    caught[reading] = _caught_reading([cast(Readings, state.legal[i].channel) for i in reading], joint)
    for i, view in enumerate(state.legal):
        if isinstance(view.channel, Outcomes):
            after = view.channel.table.T @ joint
            caught[i] = (after[:, :-1] * (after[:, :-1] >= REJECT_AT * after[:, -1:])).sum(axis=0)
    total = joint[:, :-1].sum(axis=0)
    return np.where(total > 0.0, caught / np.where(total > 0.0, total, 1.0), np.nan)


def _caught_reading(channels: Sequence[Readings], joint: Floats) -> Floats:
    """Return the probability that each declaration is invalid and rejected after one use, ``(n_channels, n_declared)``.

    All channels side by side, each from the first to the last reading at which a component has any weight; between two
    readings a density is taken for a straight line.
    """
    *first, size = accumulate([0, *(len(channel.sketched[0]) for channel in channels)])
    at, step = np.empty((joint.shape[1], size)), np.zeros(size)
    for channel, start, end in zip(channels, first, [*first[1:], size], strict=True):
        grid, density = channel.sketched
        np.matmul(channel.gathered(joint).T, density.T, out=at[:, start:end])
        step[start : end - 1] = np.diff(grid)
    within = (at[:-1, :-1] + at[:-1, 1:]) * (0.5 * step[:-1])
    margin = at[:-1] / np.where(at[-1] > 0.0, at[-1], 1.0) - REJECT_AT
    over = np.maximum(margin, 0.0)
    under = over - margin
    above, below = over[:, :-1] + over[:, 1:], under[:, :-1] + under[:, 1:]
    share = above / np.where(above + below > 0.0, above + below, 1.0)
    return np.asarray(np.add.reduceat(within * share, first, axis=1).T)


def _rejection_rates(state: InformationState, branches: Branches, condition: Floats) -> Floats:
    """Return Pr(q_b^v after the answer ≥ ½ | condition), shape ``(n_probes, n_declarations)``."""
    invalid = state.problem.invalid
    if not branches.probes:
        return np.zeros((0, invalid.shape[1]))
    # Transposed, so that all runs along the branches.
    joint_invalid = (state.posterior * invalid.T) @ branches.likelihood.T
    mass = branches.likelihood @ state.posterior
    rejects = (joint_invalid >= REJECT_AT * mass) & (mass > 0)
    joint = joint_invalid if condition is invalid else (state.posterior * condition.T) @ branches.likelihood.T
    caught = np.add.reduceat(joint * rejects, branches.first, axis=1).T
    total = state.posterior @ condition
    return np.where(total > 0.0, caught / np.where(total > 0.0, total, 1.0), np.nan)


def _available(rate: float) -> float | None:
    return None if math.isnan(rate) else min(1.0, max(0.0, float(rate)))


class Screen(Protocol):
    """Something that says whether it applies at a state, and which probes to keep there."""

    def covers(self, state: InformationState) -> bool:
        """Whether the screen applies to all legal probes of this state."""

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the legal probes to evaluate, in graph order."""


@dataclass(frozen=True, slots=True)
class PowerScreen:
    """Keep, for every declaration awaiting detection, the probe with the most power per cost.

    Probes that re-estimation or the replacement of an evidence source needs are kept as well: those that measure a
    belief whose declaration is already rejected, and those of another modality than a rejected declaration's sources.
    Applies where the coverage that travels with the problem says so.
    """

    def covers(self, state: InformationState) -> bool:
        """Whether every legal probe is covered; one that is not makes the screen step aside."""
        coverage, legal = state.problem.coverage, state.legal_probes
        return coverage is not None and bool(legal) and all(coverage.covers(probe) for probe in legal)

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the union of the per-declaration maximisers and of what a rejected declaration needs."""
        score = power_per_cost(state)
        best = score.max(axis=0, initial=0.0)
        first = (score >= best * (1 - 1e-12)).argmax(axis=0) if len(score) else np.zeros(len(best), dtype=np.intp)
        legal, q = state.legal_probes, state.posterior @ state.problem.invalid
        kept: set[str] = set()
        declarations = zip(state.problem.declarations, q.tolist(), best.tolist(), first.tolist(), strict=True)
        for declaration, doubt, power, probe in declarations:
            if rejected(doubt):
                kept |= _needed_after_rejection(state, declaration.belief, declaration.support)
            elif power > 0.0:
                kept.add(legal[probe])
        return tuple(probe for probe in legal if probe in kept)


def power_per_cost(state: InformationState) -> Floats:
    """Return C_s over cost of every legal probe for every declaration; infinite for a free one, zero for no power."""
    power = detection_power(state)
    cost = np.array([view.cost for view in state.legal])[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(power > 0.0, power / cost, 0.0)


def _needed_after_rejection(state: InformationState, belief: str, support: Sequence[str]) -> set[str]:
    graph = state.problem.graph
    modality = {probe.name: probe.modality for probe in graph.probes}
    bearing = set(graph.supporting_probes[belief])
    distrusted = {modality[probe] for probe in support}
    other = {probe for probe in bearing if modality[probe] is None or modality[probe] not in distrusted}
    return (set(graph.direct_probes[belief]) | other) & set(state.legal_probes)


@dataclass(frozen=True, slots=True)
class LosslessScreen:
    """Drop probes that cost at least what perfect information is worth; never changes the decision.

    No policy loses less than the clairvoyant, so no probe brings more than V_stop less the clairvoyant loss.
    """

    def covers(self, state: InformationState) -> bool:
        """Return whether the bound is available: always, unless the evidence contradicts the model."""
        return state.contradiction is None

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the probes cheaper than the value of perfect information."""
        worth = value_of_perfect_information(state)
        return tuple(view.name for view in state.legal if view.cost < worth)


def value_of_perfect_information(state: InformationState) -> float:
    """Return V_stop − Σ_s p(s) min_u ℓ(u, s), or more; infinite where V_stop is."""
    endings = endings_of(state.problem)
    stop = float(endings.values((state.posterior @ endings.features)[None, :], spoken(endings.support, state))[0])
    return math.inf if math.isinf(stop) else stop - clairvoyant_loss(state)
