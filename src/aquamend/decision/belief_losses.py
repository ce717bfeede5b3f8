"""What keeping each belief costs, and what each new value of it does, from sums of hypotheses against features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, least_in
from aquamend.problem import NewValue, Problem
from aquamend.problem.graph import RecoveryGraph

NEGLIGIBLE = 1e-100
"""A residual below this costs nothing: times a small probability it would be lost in rounding anyway."""


@dataclass(frozen=True, eq=False)
class BeliefLosses:
    """What keeping each belief costs, and what each new value of it does."""

    graph: RecoveryGraph
    beliefs: Indices
    """Positions in the graph of the priced beliefs: those whose failure or support matters."""
    residual: Floats
    """Shape ``(n_priced,)``."""
    weight: Floats
    """Shape ``(n_priced,)``; the residual that the features carry; 1 where that is zero or infinite."""
    hard: Bools
    """Shape ``(n_priced,)``; True where a possible failure may not be kept at any price."""
    values: tuple[NewValue, ...]
    """What corrected beliefs may be afterwards, belief by belief, where that may be wrong."""
    valued: Indices
    """Positions among the priced beliefs of those that have such values; the others are right once corrected."""
    first: Indices
    """Where each one's values start; one more for those without any."""

    @cached_property
    def owner(self) -> Indices:
        """Shape ``(n_values,)``; position among the priced beliefs of each new value's belief."""
        at = {int(b): i for i, b in enumerate(self.beliefs)}
        return np.array([at[value.belief] for value in self.values], dtype=np.intp)

    @cached_property
    def special(self) -> bool:
        """Whether some priced belief costs nothing, or everything."""
        return bool(self.hard.any() or (self.residual <= 0).any())

    def values_of(self, i: int) -> slice:
        """Return where the values of one of the ``valued`` stand, by its place among these."""
        return slice(self.first[i], self.first[i + 1] if i + 1 < len(self.first) else len(self.values))

    def least(self, new: Floats) -> Floats:
        """Return each valued belief's least loss over its values, ``(n_valued, n_branches)``; infinite without any."""
        least = np.full((len(self.valued), new.shape[1]), math.inf)
        some = np.diff([*self.first, len(self.values)]) > 0
        if some.any():
            least[some] = least_in(new, self.first[some])
        return least

    def priced(self, options: Floats) -> Floats:
        """Return what keeping each belief and each new value cost, from their features; columns are branches.

        Nothing without a residual; everything where being wrong may not be at any price.
        """
        if not self.special:
            return options
        free = np.where((self._price > 0)[:, None], options, 0.0)
        return np.where(self.endless[:, None], np.where(options > 0.0, math.inf, 0.0), free)

    def option_loss(self, option: int, wrong: Floats) -> Floats:
        """Return the same of one option under each hypothesis, shape ``(n_hypotheses,)``."""
        if self.endless[option]:
            return np.where(wrong > 0.0, math.inf, 0.0)
        return wrong if self._price[option] > 0.0 else np.zeros_like(wrong)

    @cached_property
    def _price(self) -> Floats:
        return np.concatenate([self.residual, self.residual[self.owner]])

    @cached_property
    def endless(self) -> Bools:
        """Shape ``(n_priced + n_values,)``; whether being wrong may not be at any price."""
        return np.concatenate([self.hard, np.isinf(self.residual[self.owner])])


def belief_losses(problem: Problem, failed: Floats, *, worst: bool) -> BeliefLosses:
    """Return the losses of a problem whose beliefs have failed so; ``worst`` takes new values for wrong too."""
    graph = problem.graph
    residual = np.array([belief.residual for belief in graph.beliefs])
    residual[residual < NEGLIGIBLE] = 0.0
    hard = np.array([not belief.may_keep for belief in graph.beliefs], dtype=bool) | np.isinf(residual)
    needing = np.array([belief.needs_support for belief in graph.beliefs], dtype=bool)
    priced = np.flatnonzero((needing | (failed.any(axis=0) & ((residual > 0) | hard))) & problem.corrections)
    valued = [i for i, b in enumerate(priced.tolist()) if graph.beliefs[b].declares or graph.undo_chances[b] < 1.0]
    values = [problem.new_values[int(priced[i])] for i in valued]
    if worst:
        values = [tuple(_worst(problem, value) for value in own) for own in values]
    return BeliefLosses(
        graph=graph,
        beliefs=priced,
        residual=residual[priced],
        weight=np.where((residual > 0) & np.isfinite(residual), residual, 1.0)[priced],
        hard=hard[priced],
        values=tuple(value for own in values for value in own),
        valued=np.array(valued, dtype=np.intp),
        first=np.cumsum([0, *(len(own) for own in values)], dtype=np.intp)[:-1],
    )


def _worst(problem: Problem, value: NewValue) -> NewValue:
    """Return a new value as wrong as it can be; of a repair, what undoing may leave."""
    if value.value is not None:
        return replace(value, wrong=np.ones(len(value.wrong)))
    return replace(value, wrong=np.full(len(value.wrong), 1.0 - problem.graph.undo_chances[value.belief]))
