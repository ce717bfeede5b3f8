"""Endings that are no correction sets: plans, restart and escalation, and what is left where nothing else may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.decision.steps import Decision, Escalate, Restart, RollBack
from aquamend.problem import Problem


@dataclass(frozen=True, eq=False)
class LinearEnding:
    """One terminal decision as a linear function of the posterior, and the conditions under which it is admissible."""

    decision: Decision
    loss: Floats
    """ℓ(u, s), shape ``(n_hypotheses,)``; infinite where inadmissible."""
    support: tuple[Floats, ...] = ()
    """Clauses, each ``(n_choices, n_hypotheses)``: some row c of every clause must have Σ_s p(s) c(s) < ½."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in the features each quantity stands; the mass is the first of all."""

    kept: slice
    """For each priced belief, its failure times its weight."""
    new: slice
    """For each new value, where it is wrong times its belief's weight."""
    sources: slice
    """For each source, its failure."""
    plans: slice
    """For each ending whose loss depends on what is true, its finite loss."""
    barred: slice
    """For each of those that is inadmissible under some hypothesis, where."""

    @property
    def options(self) -> slice:
        """What may be done about beliefs: keep each, then every new value."""
        return slice(self.kept.start, self.new.stop)

    @classmethod
    def of(cls, *widths: int) -> Columns:
        """Return columns of these widths, side by side."""
        ends = np.cumsum([1, *widths]).tolist()
        return cls(*(slice(a, b) for a, b in pairwise(ends)))


@dataclass(frozen=True, eq=False)
class OtherEndings:
    """Plans, restart and escalation, and what is left where nothing else is admissible."""

    usual: tuple[LinearEnding, ...] = ()
    """In the order in which ties resolve."""
    last_resorts: tuple[LinearEnding, ...] = ()
    varying: tuple[LinearEnding, ...] = ()
    """Those of the two whose loss depends on the hypothesis, and so has a column; the last resorts come last."""
    barring: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Positions among the varying ones of those that are inadmissible under some hypothesis."""
    n_usual: int = 0
    """How many of the varying ones are no last resorts."""
    flat: float = math.inf
    """The cheapest of the usual ones that costs the same whatever is true."""
    last_flat: float = math.inf
    """The cheapest such last resort."""

    @cached_property
    def every(self) -> tuple[LinearEnding, ...]:
        """All of them, the usual ones first."""
        return (*self.usual, *self.last_resorts)

    def losses(self, sums: Floats, columns: Columns) -> Floats:
        """Return each branch's loss of every varying ending, ``(n_branches, n_varying)``."""
        losses = sums[:, columns.plans]
        if len(self.barring):
            losses = losses.copy()
            forbidden = sums[:, columns.barred] > 0.0
            losses[:, self.barring] = np.where(forbidden, math.inf, losses[:, self.barring])
        return losses

    def least(self, sums: Floats, columns: Columns, *, last: bool = False) -> Floats:
        """Return each branch's least loss of the usual ones, or of the last resorts, ``(n_branches,)``."""
        flat, own = (self.last_flat, slice(self.n_usual, None)) if last else (self.flat, slice(self.n_usual))
        least = np.full(len(sums), math.inf) if math.isinf(flat) else flat * sums[:, 0]
        if self.varying:
            least = np.minimum(least, self.losses(sums, columns)[:, own].min(axis=1, initial=math.inf))
        return np.asarray(least)

    def usual_losses(self, sums: Floats, columns: Columns) -> Floats:
        """Return each branch's loss of the usual ones, the flat one last, ``(n_branches, n_usual + 1)``."""
        return self._with_flat(sums, self.losses(sums, columns)[:, : self.n_usual], self.flat)

    def last_losses(self, sums: Floats, columns: Columns) -> Floats:
        """Return the same of the last resorts."""
        return self._with_flat(sums, self.losses(sums, columns)[:, self.n_usual :], self.last_flat)

    def _with_flat(self, sums: Floats, losses: Floats, flat: float) -> Floats:
        whole = np.full(len(sums), math.inf) if math.isinf(flat) else flat * sums[:, 0]
        return np.column_stack([losses, whole])


def other_endings(problem: Problem, *, worst: bool) -> OtherEndings:
    """Return plans, restart and escalation, and the last resorts; those without any finite loss are left out."""
    n = len(problem.model.hypotheses)
    usual: list[LinearEnding] = []
    last: list[LinearEnding] = []
    for plan in problem.plans:
        decision = RollBack(plan.correct, plan.undo, plan=plan.name)
        (last if plan.last_resort else usual).append(LinearEnding(decision, np.asarray(plan.loss, dtype=float)))
    if problem.restart_plan is not None:
        usual.append(LinearEnding(Restart(), np.asarray(problem.restart_plan.loss, dtype=float)))
    usual.append(LinearEnding(Escalate(), np.full(n, problem.escalate_loss)))
    found = []
    for endings in (usual, last):
        finite = [e for e in endings if np.isfinite(e.loss).any()]
        found.append([replace(e, loss=np.full(n, e.loss.max())) for e in finite] if worst else finite)
    varying = [[e for e in own if not (e.loss == e.loss[0]).all()] for own in found]
    flat = [min((float(e.loss[0]) for e in own if not (e.loss != e.loss[0]).any()), default=math.inf) for own in found]
    barring = [v for v, e in enumerate([*varying[0], *varying[1]]) if np.isinf(e.loss).any()]
    return OtherEndings(
        usual=tuple(found[0]),
        last_resorts=tuple(found[1]),
        varying=(*varying[0], *varying[1]),
        barring=np.array(barring, dtype=np.intp),
        n_usual=len(varying[0]),
        flat=flat[0],
        last_flat=flat[1],
    )
