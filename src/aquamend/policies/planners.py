"""Policies that plan further than one probe: to a fixed depth, completely, or until a certificate is tight enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aquamend import deadline
from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.deadline import OutOfTime, check_deadline
from aquamend.decision.probe_value import best_probe
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import MOST_CELLS, PlanTable, solve
from aquamend.planning.limits import MEMORY, Limits, cells_within
from aquamend.planning.lookahead import lookahead_losses
from aquamend.planning.search import CertifiedPlan, search
from aquamend.policies.policy import Description, Policy
from aquamend.problem.model.kernels import Outcomes

BESIDE_SHARE = 0.5
"""The part of a deadline in which other policies are followed."""
SEARCH_S = 3.0
"""How long `Exact` searches where it cannot tabulate, unless it is given a deadline."""
TABLE_SHARE = 0.4
"""The part of a deadline that a table may take by a sample: if the sample is wrong, there is time for a search."""
_DEPTH_LOOKS = {2: ("#33a6dd", "^"), 3: ("#009e73", "v")}
"""The two depths that the paper compares have colours of their own."""


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Plan ``depth`` probes ahead, run the first of them, and plan again with the same horizon."""

    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"depth is {self.depth}; plan at least 1 probe ahead")

    @property
    def description(self) -> Description:
        """What to call it: by its depth."""
        colour, marker = _DEPTH_LOOKS.get(self.depth, ("#5f7fd0", "<"))
        return Description(
            f"Lookahead (depth {self.depth})",
            f"Run the first probe of the best plan of at most {self.depth}, then plan again with the same horizon.",
            colour,
            marker,
            f"the paper's Lookahead (depth {self.depth})",
            plans_ahead=self.depth > 1,
            one_step=self.depth == 1,
        )

    def next_step(self, state: InformationState) -> Step:
        """Return the probe that begins the best plan of at most ``depth`` probes, else the best stop."""
        stop = best_terminal(state)
        best = best_probe(self.losses(state), stop.loss)
        return stop.decision if best is None else Reprobe(state.legal_probes[best])

    def losses(self, state: InformationState) -> Floats:
        """Return the expected loss of every legal probe followed by the best plan, shape ``(n_legal,)``."""
        return _lookahead(state, self.depth)

    def bounds(self, state: InformationState) -> Bounds:
        """Return the quick lower bound, and what the plan found costs at most."""
        return quick_bounds(state) & Bounds(-math.inf, float(self.losses(state).min(initial=math.inf)))


@computed_once
def _lookahead(state: InformationState, depth: int) -> Floats:
    if not state.legal:
        return np.zeros(0)
    # A table of evidence states where they are fewer than the sequences of answers, as with many steps of few.
    answers = sum(len(view.channel.outcomes) for view in state.legal if isinstance(view.channel, Outcomes))
    sequences = MOST_CELLS if depth > 20 else min(float(answers) ** depth, MOST_CELLS)
    table = solve(state, depth=depth, most_cells=sequences) if depth > 1 else None
    return lookahead_losses(state, depth) if table is None else table.probe_losses()


@dataclass(frozen=True, slots=True)
class Exact:
    """Solve the complete adaptive policy tree.

    Where every evidence state can be tabulated (about two million) the answer is exact, and the table of a recovery's
    first state answers for all that follow. Beyond that, an anytime search runs until its certified gap or its deadline
    is reached, and ``bounds`` says how much may be missing.
    """

    gap: float = 1e-9
    """Stop searching once upper and lower bound are this close."""
    deadline_s: float | None = None
    """Stop after so many seconds. Unless given, a table takes as long as it takes, and a search three seconds."""

    description: ClassVar[Description] = Description(
        "Exact adaptive",
        "The complete adaptive plan; one too large to tabulate is searched for three seconds, with certified bounds.",
        "#0077bb",
        "s",
        "the paper's Exact Adaptive",
        plans_ahead=True,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the first step of the optimal policy, or of the best one found by the deadline."""
        stop = best_terminal(state)
        if not state.legal:
            return stop.decision
        found = _found(state, self.gap, self.deadline_s)
        if isinstance(found, CertifiedPlan):
            return stop.decision if found.probe is None else Reprobe(found.probe)
        table, cell = found
        best = None if cell is None else best_probe(table.probe_losses(cell), stop.loss)
        return stop.decision if best is None else Reprobe(table.sensing.probes[best])

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss; equal where the tree was solved completely."""
        if not state.legal:
            return quick_bounds(state)
        found = _found(state, self.gap, self.deadline_s)
        if isinstance(found, CertifiedPlan):
            return found.bounds
        table, cell = found
        if cell is None:  # one decision is best under all that is left, so nothing is worth knowing
            loss = best_terminal(state).loss
        elif table.mass[cell] > 0:
            loss = float(table.value[cell] / table.mass[cell])
        else:
            return quick_bounds(state)
        return Bounds(loss, loss)

    def completes(self, state: InformationState) -> bool:
        """Whether the tree from this state on can be tabulated, so that the answer is exact."""
        return not state.legal or _tabulated(state, self.deadline_s) is not None


@computed_once
def _found(
    state: InformationState, gap: float, deadline_s: float | None
) -> tuple[PlanTable, int | None] | CertifiedPlan:
    """Return the table that answers, and its cell for this state; else what a search reaches in the time left."""
    started = deadline.clock()
    found = _tabulated(state, deadline_s)
    if found is not None:
        return found
    left = SEARCH_S if deadline_s is None else deadline_s - (deadline.clock() - started)
    return search(state, Limits(gap=gap, deadline_s=left))


def _tabulated(state: InformationState, deadline_s: float | None) -> tuple[PlanTable, int | None] | None:
    """Return a table that answers for this state, and its cell there: the recovery's first table, else its own.

    No cell: an answer on the way left one decision best whatever is true.
    """
    root = state.origin or state
    table = _table(root, deadline_s)
    observed = state.evidence[len(root.evidence) :]
    if table is not None and all(isinstance(observation.outcome, str) for observation in observed):
        return table, table.cell_after(observed)
    own = None if root is state else _table(state, deadline_s)
    return None if own is None else (own, 0)


@computed_once
def _table(root: InformationState, deadline_s: float | None) -> PlanTable | None:
    """Return the table, if it is not too large; with a deadline, if a sample says that there is time enough."""
    if deadline_s is None:
        return solve(root)
    try:
        with deadline.ends_at(deadline.clock() + 2.0 * TABLE_SHARE * deadline_s):
            return solve(root, most_cells=cells_within(root, TABLE_SHARE * deadline_s))
    except OutOfTime:
        check_deadline()  # that of somebody who waits for this table
        return None


@computed_once
def _searched(
    state: InformationState, gap: float, deadline_s: float, memory: float, beside: tuple[Policy, ...]
) -> CertifiedPlan:
    from aquamend.policies.evaluation import upper_bound  # which has to know what `exact` is

    limits = Limits(gap=gap, deadline_s=deadline_s, memory=memory)
    each = BESIDE_SHARE * deadline_s / len(beside) if beside else 0.0
    followed = (upper_bound(policy, state, deadline_s=each) for policy in beside)
    return search(state, limits, known=[plan for plan in followed if plan is not None])


@dataclass(frozen=True, slots=True)
class Certified:
    """Search until upper and lower bound on the optimum differ by at most ``gap``; then take the plan's first step.

    The search also ends at a deadline, if there is one, and where it has used its memory; the bounds say how far it
    came. Without a deadline the answer depends on the state alone, and so does the time it takes.
    """

    gap: float = 0.01
    deadline_s: float = math.inf
    memory: float = MEMORY
    """Bytes that a search may hold: a limit on its work that ends it at the same place everywhere."""
    beside: tuple[Policy, ...] = ()
    """Policies that are followed first: what the cheapest of them costs is an upper bound to begin with.

    One step ahead is followed anyway, by the search itself.
    """

    description: ClassVar[Description] = Description(
        "Certified (anytime)",
        "Search until upper and lower bound on the optimum are within 0.01, or memory is used up.",
        "#2fa596",
        "8",
        plans_ahead=True,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the first step of the best plan found."""
        probe = _searched(state, self.gap, self.deadline_s, self.memory, self.beside).probe
        return best_terminal(state).decision if probe is None else Reprobe(probe)

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss, at most the gap apart unless the search ended early."""
        return _searched(state, self.gap, self.deadline_s, self.memory, self.beside).bounds


POLICIES = {
    "exact": Exact,
    "certified": Certified,
}
