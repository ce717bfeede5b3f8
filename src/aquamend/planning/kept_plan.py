"""A plan that is made once, at one information state, with bounded work, and kept while the answers come in.

What is planned promises a loss that is attained only if the same plan is followed to its end. So a plan is not made
again after every answer: it is found again, from the state at which it was made. It departs from the one-step policy
only where it is certain to cost no more than that policy does; ``planned`` returns None where it cannot be.

The work is counted in numbers computed, so that the same state has the same plan on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aquamend.belief import InformationState
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import best_probe
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import PlanTable, solve
from aquamend.planning.finite_probes import discrete_answers, less_informed, reads_numbers
from aquamend.planning.limits import Limits
from aquamend.planning.searched_plan import SearchedPlan
from aquamend.planning.work_count import cell_work

WORK = 1e9
"""What one plan may cost: some tenths of a second, up to one."""
READING_SHARE = 0.03
READING_CUTS = 24
"""Work and cuts of all probes together where probes read numbers: the plan is made again after every reading."""
FOR_ONE_STEP, FOR_SEARCH = 0.5, 0.8
"""Shares of the work after which following the one-step policy, and searching, end."""


@dataclass(frozen=True, slots=True)
class PlanPlace:
    """Where answers have led in a plan."""

    probe: str | None
    """The plan's probe here; None to stop."""
    bounds: Bounds
    """On the optimum here; the plan attains the upper one."""


class KeptPlan(Protocol):
    """A plan to be followed."""

    def place(self, state: InformationState, since: int) -> PlanPlace | None:
        """Return where the answers of a state, from that one on, have led; None where they have left the plan."""

    def probes_that_pay(self) -> int:
        """Return how many probes must be allowed, where it was made, before they are better than stopping at once."""


@dataclass(frozen=True, eq=False)
class WholePlan:
    """The optimal step at every evidence state there is."""

    table: PlanTable

    def place(self, state: InformationState, since: int) -> PlanPlace | None:
        """Return the optimum after any answers."""
        table, stop = self.table, best_terminal(state).loss
        cell = table.cell_after(state.evidence[since:])
        if cell is None or not table.mass[cell] > 0.0:  # one ending is best whatever is true of what is left
            return PlanPlace(None, Bounds(stop, stop))
        first = best_probe(table.probe_losses(cell), stop)
        loss = min(stop, float(table.value[cell] / table.mass[cell]))
        return PlanPlace(None if first is None else table.sensing.probes[first], Bounds(loss, loss))

    def probes_that_pay(self) -> int:
        """Plan with one probe, with two, and so on."""
        root, depth = self.table.root, 1
        stop, most = best_terminal(root).loss, sum(self.table.sensing.uses)
        while depth < most:
            table = solve(root, depth=depth)
            if table is not None and table.loss < stop - TIE:
                break
            depth += 1
        return depth


@dataclass(frozen=True, eq=False)
class PartPlan:
    """The steps at those evidence states that a search has looked at."""

    tree: SearchedPlan
    ends_there: bool = False
    """Whether to stop at states that it knows of and has not looked at; else they are outside."""

    def place(self, state: InformationState, since: int) -> PlanPlace | None:
        """Return the step after answers that the search has looked at."""
        node = self.tree.find(state.evidence[since:])
        if node < 0 or not (self.tree.expanded(node) or self.ends_there):
            return None
        return PlanPlace(self.tree.step(node), self.tree.bounds_at(node))

    def probes_that_pay(self) -> int:
        """Look no deeper into the tree than so far."""
        return self.tree.probes_that_pay()


def planned(state: InformationState, limits: Limits, *, stops: bool, work: float = WORK) -> KeptPlan | None:
    """Return the best plan found from this state on, if it costs no more than the one-step policy; else None.

    ``stops`` says whether that policy ends the recovery here; then what it costs is known.
    """
    by_readings = reads_numbers(state)
    if by_readings and not stops:
        return None
    if not state.legal or quick_bounds(state).lower >= best_terminal(state).loss - TIE:
        return None  # nothing is worth asking
    if by_readings:
        return _for_readings(state, limits, work)
    table = solve(state, most_cells=work / cell_work(endings_of(state.problem), len(state.legal)))
    if table is not None:
        return WholePlan(table)
    if not stops and state.problem.coverage is not None:
        return None  # a screen may apply, and then a search does not know where the one-step policy goes
    tree = SearchedPlan(state, discrete_answers(state), apart=True, priced=False)
    covered = tree.cover(lambda own: own.work > FOR_ONE_STEP * work or limits.reached(own.bounds))
    if not (stops or covered):
        return None
    _search(tree, limits, FOR_SEARCH * work)
    settled = tree.settle(lambda own: own.work > work or limits.left_s <= 0.0)
    return PartPlan(tree, ends_there=not settled and orders_meet(state))


def orders_meet(state: InformationState) -> bool:
    """Whether two orders of the same answers may lead to one state, at which no step may depend on their order.

    With a plan of its own after each of the two answers it would; so only one plan is kept from there on.
    """
    return not reads_numbers(state) and any(view.most_runs > 1 for view in state.legal)


def _for_readings(state: InformationState, limits: Limits, work: float) -> PartPlan | None:
    """Return a plan that goes by intervals of readings, if it costs less than stopping."""
    tree = SearchedPlan(state, less_informed(state, READING_CUTS), priced=False)
    _search(tree, limits, READING_SHARE * work)
    return PartPlan(tree) if tree.bounds.upper < best_terminal(state).loss - TIE else None


def _search(tree: SearchedPlan, limits: Limits, work: float) -> None:
    while tree.work < work and tree.memory < limits.memory and not limits.reached(tree.bounds) and tree.grow():
        pass
