"""Exact adaptive: the complete policy tree, or the best found by a deadline."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.inference import InformationState
from aquamend.planning.anytime import CertifiedPlan, plan_anytime
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import PlanTable, best_probe, solve


@dataclass(frozen=True, eq=False, slots=True)
class _Made:
    """A plan from one state on: a complete table, or else the best found."""

    root: InformationState
    table: PlanTable | None
    plan: CertifiedPlan | None


@dataclass(frozen=True, slots=True)
class Exact:
    """Solve the complete adaptive policy tree.

    Where every evidence state can be tabulated (about two million) the answer is exact. Beyond that, an anytime
    search runs until its certified gap or its deadline is reached, and ``bounds`` says how much may be missing.
    """

    gap: float = 1e-9
    """Stop searching once upper and lower bound are this close."""
    deadline_s: float = 3.0
    """Stop searching after this many seconds."""
    _made: list[_Made] = field(default_factory=list, init=False, repr=False, compare=False)
    """The plan last made; a table also answers for every state that follows. At most one is kept, as it is large."""

    def next_step(self, state: InformationState) -> Step:
        """Return the first step of the optimal policy, or of the best one found by the deadline."""
        stop = best_terminal(state)
        if not state.legal_probes:
            return stop.decision
        made, cell = self._plan(state)
        if made.table is None:
            return stop.decision if made.plan is None or made.plan.probe is None else Reprobe(made.plan.probe)
        losses = np.zeros(0) if cell is None else made.table.probe_losses(cell)
        best = best_probe(losses, stop.loss)
        return stop.decision if best is None else Reprobe(made.table.sensing.probes[best])

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss; equal where the tree was solved completely."""
        if not state.legal_probes:
            return quick_bounds(state)
        made, cell = self._plan(state)
        if made.plan is not None:
            return made.plan.bounds
        if made.table is None or cell is None or not made.table.mass[cell] > 0:
            return quick_bounds(state)
        loss = float(made.table.value[cell] / made.table.mass[cell])
        return Bounds(loss, loss)

    def completes(self, state: InformationState) -> bool:
        """Whether the tree from this state on can be tabulated, so that the answer is exact."""
        return not state.legal_probes or self._plan(state)[0].table is not None

    def _plan(self, state: InformationState) -> tuple[_Made, int | None]:
        """Return a plan that answers for this state, and the state's cell in its table."""
        for made in self._made:
            if made.root is state:
                return made, 0
            if made.table is not None and made.table.leads_to(state):
                return made, made.table.cell_after(state.evidence[len(made.root.evidence) :])
        table = solve(state)
        plan = plan_anytime(state, gap=self.gap, deadline_s=self.deadline_s) if table is None else None
        self._made[:] = [_Made(state, table, plan)]
        return self._made[0], 0
