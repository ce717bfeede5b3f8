"""Which probes to evaluate at all: the paper's power screen with its coverage rule, and a lossless one.

The power screen may drop the best probe; it is applied only where fitted records cover the situation, and otherwise
keeps everything. The lossless screen never changes the decision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aquamend.decision.probe_value import branches_of, clairvoyant_loss, detection
from aquamend.decision.terminal_table import terminal_table
from aquamend.inference import InformationState
from aquamend.inference.re_estimation import REJECT_AT

MASS_SCALE_G = 1.0
OFFSET_SCALE_MM = 5.0
MOST_PROTOTYPE_DISTANCE = 6.0
FEWEST_FIT_GROUPS = 2


class Screen(Protocol):
    """Something that says whether it applies at a state, and which probes to keep there."""

    def covers(self, state: InformationState) -> bool:
        """Whether the screen applies to all legal probes of this state."""

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the legal probes to evaluate, in graph order."""


@dataclass(frozen=True, slots=True)
class FitGroup:
    """A group of calibration records that resemble one another."""

    name: str
    probes: tuple[str, ...]
    """Probes the records inform about."""
    prototype_g: tuple[float, ...]
    """Typical quantities, in grams."""
    prototype_mm: tuple[float, ...]
    """Typical offsets, in millimetres."""

    def distance(self, quantities_g: Sequence[float], offsets_mm: Sequence[float]) -> float:
        """Return the Euclidean distance to the prototype, quantities per 1 g and offsets per 5 mm."""
        grams = (np.asarray(quantities_g) - np.asarray(self.prototype_g)) / MASS_SCALE_G
        millimetres = (np.asarray(offsets_mm) - np.asarray(self.prototype_mm)) / OFFSET_SCALE_MM
        return float(math.sqrt((grams**2).sum() + (millimetres**2).sum()))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether calibration records support screening here (the paper's coverage conditions)."""

    stage: str
    """Stage at which the alarm came."""
    covered_stages: tuple[str, ...]
    """Stages the records were made for."""
    groups: tuple[FitGroup, ...]
    quantities_g: tuple[float, ...] = ()
    """What was measured here, in grams, as in the prototypes."""
    offsets_mm: tuple[float, ...] = ()

    def covers(self, probe: str) -> bool:
        """Whether the stage is covered and at least two relevant groups have a prototype within distance 6."""
        if self.stage not in self.covered_stages:
            return False
        near = [
            group
            for group in self.groups
            if probe in group.probes and group.distance(self.quantities_g, self.offsets_mm) <= MOST_PROTOTYPE_DISTANCE
        ]
        return len(near) >= FEWEST_FIT_GROUPS


@dataclass(frozen=True, slots=True)
class PowerScreen:
    """Keep, for every declaration awaiting detection, the probe with the most power per cost.

    Probes that re-estimation or the replacement of an evidence source needs are kept as well: those that measure a
    belief whose declaration is already rejected, and those of another modality than a rejected declaration's sources.
    """

    coverage: Coverage

    def covers(self, state: InformationState) -> bool:
        """Whether every legal probe is covered; one that is not makes the screen step aside."""
        return bool(state.legal_probes) and all(self.coverage.covers(probe) for probe in state.legal_probes)

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the union of the per-declaration maximisers and of what a rejected declaration needs."""
        branches = branches_of(state, state.legal_probes)
        rates = detection(state, branches, state.declarations)
        kept: set[str] = set()
        for j, declaration in enumerate(state.declarations):
            invalid = state.invalidity(declaration)
            if invalid is not None and invalid >= REJECT_AT:
                kept |= _needed_after_rejection(state, declaration.belief, declaration.support)
                continue
            scores = np.array([_power_per_cost(rates[i][j].power, c) for i, c in enumerate(branches.cost)])
            if len(scores) and np.nanmax(scores, initial=0.0) > 0:
                best = scores >= np.nanmax(scores) * (1 - 1e-12)
                kept.add(branches.probes[int(np.flatnonzero(best)[0])])
        return tuple(probe for probe in state.legal_probes if probe in kept)


def _power_per_cost(power: float | None, cost: float) -> float:
    if power is None:
        return math.nan
    return math.inf if cost == 0 and power > 0 else power / cost if cost > 0 else 0.0


def _needed_after_rejection(state: InformationState, belief: str, support: Sequence[str]) -> set[str]:
    graph = state.problem.graph
    modality = {probe.name: probe.modality for probe in graph.probes}
    bearing = set(graph.supporting_probes[belief])
    distrusted = {modality[probe] for probe in support}
    other = {probe for probe in bearing if modality[probe] not in distrusted}
    return (set(graph.direct_probes[belief]) | other) & set(state.legal_probes)


@dataclass(frozen=True, slots=True)
class LosslessScreen:
    """Drop probes that cost at least what perfect information is worth; never changes the decision.

    V_stop is concave in the posterior, so no probe brings more than V_stop − E[clairvoyant loss] before its cost.
    """

    def covers(self, state: InformationState) -> bool:
        """Return whether the bound is available: always, unless the evidence contradicts the model."""
        return state.contradiction is None

    def keep(self, state: InformationState) -> tuple[str, ...]:
        """Return the probes cheaper than the value of perfect information."""
        worth = value_of_perfect_information(state)
        costs = {probe.name: probe.cost for probe in state.problem.graph.probes}
        return tuple(probe for probe in state.legal_probes if costs[probe] < worth)


def value_of_perfect_information(state: InformationState) -> float:
    """Return V_stop − Σ_s p(s) min_u ℓ(u, s); infinite where V_stop is."""
    table = terminal_table(state.problem)
    stop = float(table.values((state.posterior @ table.features)[None, :])[0])
    return math.inf if math.isinf(stop) else stop - clairvoyant_loss(state)
