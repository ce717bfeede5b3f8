"""Plan a fixed number of probes ahead, and again after every answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.inference import InformationState
from aquamend.model.kernels import OutcomeTable
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import MOST_CELLS, best_probe, solve
from aquamend.planning.lookahead import lookahead_losses


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Plan ``depth`` probes ahead, run the first of them, and plan again with the same horizon."""

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
        # A table of evidence states where they are fewer than the sequences of answers, as with many steps of few.
        tables = [state.problem.model.tables[probe] for probe in state.legal_probes]
        answers = sum(len(table.outcomes) for table in tables if isinstance(table, OutcomeTable))
        table = solve(state, depth=self.depth, most_cells=_capped(answers, self.depth)) if self.depth > 1 else None
        return lookahead_losses(state, self.depth) if table is None else table.probe_losses()

    def bounds(self, state: InformationState) -> Bounds:
        """Return the quick lower bound, and what the plan found costs at most."""
        quick = quick_bounds(state)
        return quick & Bounds(-math.inf, float(self.losses(state).min(initial=math.inf)))


def _capped(answers: int, depth: int) -> float:
    """Return how many sequences of answers there are, and no more than can be tabulated."""
    return MOST_CELLS if depth > 20 else min(float(answers) ** depth, MOST_CELLS)
