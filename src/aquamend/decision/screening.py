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

from aquamend.decision.declaration_tests import detection_power
from aquamend.decision.probe_value import branches_of, clairvoyant_loss, invalidity_matrix
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
        # Few numbers, so plain Python is faster than arrays; strict, because prototypes must fit what was measured.
        grams = ((a - b) / MASS_SCALE_G for a, b in zip(quantities_g, self.prototype_g, strict=True))
        millimetres = ((a - b) / OFFSET_SCALE_MM for a, b in zip(offsets_mm, self.prototype_mm, strict=True))
        return math.hypot(*grams, *millimetres)


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
        power = detection_power(state, branches, state.declarations)
        with np.errstate(divide="ignore", invalid="ignore"):  # a free probe scores infinity, an unavailable power zero
            score = np.where(power > 0.0, power / branches.cost[:, None], 0.0)
        best = score.max(axis=0, initial=0.0)
        first = np.argmax(score >= best * (1 - 1e-12), axis=0) if len(score) else np.zeros(0, dtype=np.intp)
        q = state.posterior @ invalidity_matrix(state.problem, state.declarations)
        kept: set[str] = set()
        for j, declaration in enumerate(state.declarations):
            if q[j] >= REJECT_AT:
                kept |= _needed_after_rejection(state, declaration.belief, declaration.support)
            elif best[j] > 0.0:
                kept.add(branches.probes[first[j]])
        return tuple(probe for probe in state.legal_probes if probe in kept)


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
