"""Policies that plan further than one probe: a fixed number ahead, or the complete adaptive tree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.inference import InformationState
from aquamend.planning.anytime import CertifiedPlan, plan_anytime
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import PlanTable, best_probe, solve
from aquamend.planning.lookahead import lookahead_losses


@dataclass(frozen=True, slots=True)
class Lookahead:
    """CertifiedPlan ``depth`` probes ahead, run the first of them, and plan again with the same horizon."""

    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"depth is {self.depth}; plan at least 1 probe ahead")

    def next_step(self, state: InformationState) -> Step:
        """Return the probe that begins the best plan of at most ``depth`` probes, else the best stop."""
        stop = best_terminal(state)
        best = best_probe(self.losses(state), stop.loss)
        return stop.decision if best is None else Reprobe(state.legal_probes[best])

    def losses(self, state: InformationState) -> NDArray[np.float64]:
        """Return the expected loss of every legal probe followed by the best plan, shape ``(n_legal,)``."""
        if not state.legal_probes:
            return np.zeros(0)
        table = solve(state, depth=self.depth) if self.depth > 1 else None
        return lookahead_losses(state, self.depth) if table is None else table.probe_losses()

    def bounds(self, state: InformationState) -> Bounds:
        """Return the quick lower bound, and what the plan found costs at most."""
        quick = quick_bounds(state)
        return quick & Bounds(-math.inf, float(self.losses(state).min(initial=math.inf)))


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
    _plans: dict[int, tuple[InformationState, PlanTable | None, CertifiedPlan | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The plan last made for each problem, kept because it also answers for every state that follows."""

    def next_step(self, state: InformationState) -> Step:
        """Return the first step of the optimal policy, or of the best one found by the deadline."""
        stop = best_terminal(state)
        if not state.legal_probes:
            return stop.decision
        table, plan, cell = self._plan(state)
        if table is not None:
            losses = np.full(0, math.inf) if cell is None else table.probe_losses(cell)
            best = best_probe(losses, stop.loss)
            return stop.decision if best is None else Reprobe(table.sensing.probes[best])
        if plan is None or plan.probe is None:
            return stop.decision
        return Reprobe(plan.probe)

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss; equal where the tree was solved completely."""
        if not state.legal_probes:
            return quick_bounds(state)
        table, plan, cell = self._plan(state)
        if table is None:
            return quick_bounds(state) if plan is None else plan.bounds
        if cell is None or not table.mass[cell] > 0:
            return quick_bounds(state)
        loss = float(table.value[cell] / table.mass[cell])
        return Bounds(loss, loss)

    def _plan(self, state: InformationState) -> tuple[PlanTable | None, CertifiedPlan | None, int | None]:
        key = id(state.problem)
        known = self._plans.get(key)
        if known is not None:
            root, table, plan = known
            if root is state:
                return table, plan, 0
            n = len(root.evidence)
            if table is not None and root.problem is state.problem and state.evidence[:n] == root.evidence:
                same_start = root.alarm_heard == state.alarm_heard and root.contradiction is None
                if same_start and _follows(table, state, n):
                    return table, None, table.cell_after(state.evidence[n:])
        table = solve(state)
        plan = plan_anytime(state, gap=self.gap, deadline_s=self.deadline_s) if table is None else None
        self._plans.clear()  # one problem at a time: a plan table can be large
        self._plans[key] = (state, table, plan)
        return table, plan, 0


def _follows(table: PlanTable, state: InformationState, n: int) -> bool:
    """Whether a state is reached from the table's root by evidence alone (not by a distorted posterior)."""
    expected = table.root
    for observation in state.evidence[n:]:
        if observation.probe not in table.sensing.probes:
            return False
        expected = expected.after(observation)
    return bool(np.allclose(expected.posterior, state.posterior, rtol=1e-9, atol=1e-300))
