"""The value of planning a fixed number of probes ahead, where the evidence lattice is too large to tabulate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import branches_of
from aquamend.decision.terminal_table import TerminalTable, terminal_table
from aquamend.errors import TooLarge
from aquamend.inference import InformationState
from aquamend.inference.state import BUDGET_TOLERANCE
from aquamend.planning.quantisation import planning_likelihood

Floats = NDArray[np.float64]

MOST_WORK = 3e9
"""Joint weights a lookahead may compute in all: about a minute."""

MOST_WEIGHTS = 4_000_000
"""Joint weights (branches times hypotheses) held at once; larger batches are worked through in pieces."""


@dataclass(frozen=True, eq=False)
class _Lookahead:
    terminal: TerminalTable
    cost: Floats
    uses: tuple[float, ...]
    likelihood: tuple[Floats, ...]
    """One ``(n_outcomes, n_hypotheses)`` a probe."""
    budget: float

    def value(self, weights: Floats, used: tuple[int, ...], spent: float, depth: int) -> Floats:
        """Return the joint value of every row of weights with ``depth`` probes to go, shape ``(n_rows,)``."""
        sums = weights @ self.terminal.features
        best = self.terminal.values(sums)
        if depth == 0:
            return best
        for probe in range(len(self.cost)):
            best = np.minimum(best, self.probe_loss(weights, sums[:, 0], used, spent, depth, probe))
        return best

    def probe_loss(
        self, weights: Floats, mass: Floats, used: tuple[int, ...], spent: float, depth: int, probe: int
    ) -> Floats:
        """Return the joint loss of running one probe first, shape ``(n_rows,)``; infinite where it is not legal."""
        if used[probe] >= self.uses[probe] or spent + self.cost[probe] > self.budget + BUDGET_TOLERANCE:
            return np.full(len(weights), math.inf)
        rows = self.likelihood[probe]
        n_outcomes, n_hypotheses = rows.shape
        piece = max(1, MOST_WEIGHTS // (n_outcomes * n_hypotheses))
        grown = (*used[:probe], used[probe] + 1, *used[probe + 1 :])
        after = np.concatenate(
            [
                self.value(
                    (weights[low : low + piece, None, :] * rows[None, :, :]).reshape(-1, n_hypotheses),
                    grown,
                    spent + self.cost[probe],
                    depth - 1,
                )
                for low in range(0, len(weights), piece)
            ]
        )
        return np.asarray(mass * self.cost[probe] + after.reshape(len(weights), n_outcomes).sum(axis=1))


def lookahead_losses(state: InformationState, depth: int) -> Floats:
    """Return the expected loss of running each legal probe first and planning ``depth`` probes in all.

    Shape ``(n_legal,)``. A Gaussian probe's readings are cut into intervals: the plan may use which interval a reading
    falls in, so its value is that of a policy that can be followed, and at worst a little above the true one.
    """
    problem = state.problem
    depth = int(min(depth, _uses_left(state)))
    specs = [problem.graph.probes[problem.graph.probe_index[name]] for name in state.legal_probes]
    rows = [
        branches_of(state, [name]).likelihood if depth == 1 else planning_likelihood(state, name)
        for name in state.legal_probes
    ]
    work = float(sum(len(r) for r in rows)) ** depth * len(state.posterior) if depth < 100 else math.inf
    if work > MOST_WORK:
        raise TooLarge(
            f"planning {depth} probes ahead means about {work:.0e} weights to compute, more than {MOST_WORK:.0e}; "
            "plan fewer probes ahead, or use exact, which has a deadline"
        )
    search = _Lookahead(
        terminal_table(problem),
        np.array([spec.cost for spec in specs]),
        tuple(spec.max_uses - state.uses.get(spec.name, 0) for spec in specs),
        tuple(rows),
        problem.sensing_budget,
    )
    weights = state.posterior[None, :]
    used = (0,) * len(specs)
    return np.array(
        [search.probe_loss(weights, np.ones(1), used, state.spent, depth, probe)[0] for probe in range(len(specs))]
    )


def _uses_left(state: InformationState) -> float:
    probes = {probe.name: probe for probe in state.problem.graph.probes}
    return math.fsum(probes[name].max_uses - state.uses.get(name, 0) for name in state.legal_probes)
