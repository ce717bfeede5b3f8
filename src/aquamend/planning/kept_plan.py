"""A plan that is made once, at one information state, with bounded work, and kept while the answers come in.

What is planned promises a loss that is attained only if the same plan is followed to its end. So a plan is not made
again after every answer: it is found again, from the state at which it was made. It departs from the one-step policy
only where it is certain to cost no more than that policy does; ``planned`` returns None where it cannot be.

The work is counted in numbers computed, so that the same state has the same plan on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.belief import InformationState, Observation
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import best_probe
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.evidence_tree import LOWER, STOP, UPPER, EvidenceTree
from aquamend.planning.exact import PlanTable, solve
from aquamend.planning.finite_probes import discrete_answers, less_informed, reads_numbers
from aquamend.planning.limits import Limits, cell_work

Ends = Callable[["SearchedPlan"], bool]
"""Whether to stop working on a tree."""

WORK_AT_ONCE = 1e7
"""So much work is done before it is asked again whether to go on."""
MOST_BACKUPS = 1_000
"""Where evidence can lead back to the same state, bounds settle after some rounds."""
WORK = 1e9
"""What one plan may cost: some tenths of a second, up to one."""
READING_SHARE = 0.03
READING_CUTS = 24
"""Work and cuts of all probes together where probes read numbers: the plan is made again after every reading."""
FOR_ONE_STEP, FOR_SEARCH = 0.5, 0.8
"""Shares of the work after which following the one-step policy, and searching, end."""


class SearchedPlan(EvidenceTree):
    """A tree of evidence that is a policy: a state it has expanded has a step, and its upper bound is what that costs.

    Two things make it one. ``cover`` expands every state that the one-step policy reaches, so that no upper bound is
    above what that policy costs. ``settle`` expands every state at which the plan would stop without having looked one
    probe ahead, so that following the plan never leads out of the tree.
    """

    def cover(self, ends: Ends) -> bool:
        """Expand every state that the one-step policy reaches; False if it was ended before that.

        The policy is the unscreened one: the first probe of least expected loss one step ahead, where that is less
        than stopping by more than a tie. To be called first.
        """
        nodes = np.zeros(1, dtype=np.intp)
        while len(nodes):
            after = [np.zeros(0, dtype=np.intp)]
            for some in self._at_once(nodes):
                if ends(self):
                    self._back_up()
                    return False
                after.append(self._one_step_ahead(some))
            reached = np.flatnonzero(np.bincount(np.concatenate(after), minlength=self.n_nodes))
            nodes = np.asarray(reached[self._row.rows[reached] < 0], dtype=np.intp)
        self._back_up_all()
        return True

    def settle(self, ends: Ends) -> bool:
        """Look one probe ahead wherever the plan stops without having done so; False if it was ended before that."""
        while len(leaves := self._stops_unseen()):
            for some in self._at_once(leaves):
                if ends(self):
                    self._back_up_all()
                    return False
                self._expand_some(some)
            self._back_up_all()
        return True

    def find(self, evidence: Sequence[Observation]) -> int:
        """Return the node after these answers, in any order; -1 where there is none."""
        position = {view.name: m for m, view in enumerate(self.state.legal)}
        answers = []
        for observation in evidence:
            m = position.get(observation.probe, -1)
            answer = -1 if m < 0 else self.answers[m].answer(observation.outcome)
            if answer < 0:
                return -1
            answers.append(int(self._first[m]) + answer)
        return self._known.find(answers)

    def expanded(self, node: int) -> bool:
        """Whether the tree has looked at what may be asked at a node."""
        return bool(self._row.rows[node] >= 0)

    def step(self, node: int) -> str | None:
        """Return the plan's probe at a node; None where it stops."""
        if not self.expanded(node):
            return None
        probe = self._steps(self._row.rows[[node]])[0]
        return None if probe < 0 else self.state.legal_probes[int(probe)]

    def bounds_at(self, node: int) -> Bounds:
        """Return bounds on the optimum at a node; the plan attains the upper one."""
        lower, upper = self._values.rows[node, LOWER:].tolist()
        return Bounds(min(lower, upper), upper)

    def probes_that_pay(self) -> int:
        """Return how many probes the plan must be allowed before it is better than stopping at once."""
        depth = 1
        while depth < 100 and not self._value_within(depth) < self._values.rows[0, STOP] - TIE:
            depth += 1
        return depth

    def _value_within(self, depth: int) -> float:
        """Return what the root is worth if so many probes may be run, of those expansions there are."""
        value = self._values.rows[:, STOP].copy()
        for d in sorted((d for d in self._layers if d < depth), reverse=True):
            layer, least = self._layers[d], value.copy()
            row, _ = layer.which
            node, losses = self._node.rows[row[layer.followed]], layer.losses(value, UPPER)[layer.followed]
            np.minimum.at(least, node, losses)
            value = least
        return float(value[0])

    def _at_once(self, nodes: Indices) -> Iterator[Indices]:
        """Yield nodes by depth, as many at a time as are expanded in about a hundredth of a second."""
        nodes = nodes[np.argsort(self.used[nodes].sum(axis=1), kind="stable")]
        step = max(1, int(WORK_AT_ONCE / (len(self.table) * self._a_node)))
        return (nodes[low : low + step] for low in range(0, len(nodes), step))

    def _expand_some(self, nodes: Indices) -> None:
        """Expand leaves, sorted by depth, all answers apart."""
        self._expand(nodes, np.zeros(len(nodes)))

    def _one_step_ahead(self, nodes: Indices) -> Indices:
        """Expand leaves and return the nodes to which the one-step policy leads from there."""
        start = len(self._node)
        self._expand_some(nodes)
        fresh = self._node.rows[start:]
        losses = np.full((len(fresh), len(self.answers)), math.inf)
        layers = [self._layers[d] for d in np.unique(self.used[fresh].sum(axis=1)).tolist() if d in self._layers]
        for layer in layers:
            row, probe = layer.which
            own = np.flatnonzero(row >= start)
            losses[row[own] - start, probe[own]] = layer.losses(self._values.rows[:, STOP], UPPER)[own]
        chosen = _first_best(losses, self._values.rows[fresh, STOP])
        after = [np.zeros(0, dtype=np.intp)]
        for layer in layers:
            row, probe = layer.which
            own = np.flatnonzero(row >= start)
            after.append(layer.children(own[chosen[row[own] - start] == probe[own]]))
        return np.concatenate(after)

    def _steps(self, rows: Indices) -> Indices:
        """Return the plan's probe at some expanded nodes, -1 where it stops."""
        return _first_best(self._most.rows[rows], self._values.rows[self._node.rows[rows], STOP])

    def _stops_unseen(self) -> Indices:
        """Return the leaves that the plan reaches and at which a probe may still be run."""
        reached = np.zeros(self.n_nodes)
        reached[0] = 1.0
        steps = self._steps(np.arange(len(self._node)))
        for depth in sorted(self._layers):
            layer = self._layers[depth]
            row, probe = layer.which
            taken = (steps[row] == probe) & layer.followed & (reached[self._node.rows[row]] > 0.0)
            reached += layer.flow(taken.astype(float), self.n_nodes)
        leaves = np.flatnonzero((reached > 0.0) & (self._row.rows < 0))
        return np.asarray(leaves[self._legal(self.used[leaves]).any(axis=1)])

    def _back_up_all(self) -> None:
        """Carry bounds to the root until nothing changes, which takes more than once where evidence leads back."""
        for _ in range(MOST_BACKUPS if self._known.leads_back else 1):
            before = self._values.rows[:, UPPER].copy()
            self._back_up()
            if np.array_equal(before, self._values.rows[:, UPPER]):
                return


def _first_best(losses: Floats, stop: Floats) -> Indices:
    """Return the first probe of least loss in each row, if that beats stopping by more than a tie; else -1."""
    if not losses.shape[1]:
        return np.full(len(losses), -1, dtype=np.intp)
    least = losses.min(axis=1)
    first = (losses <= least[:, None] + TIE).argmax(axis=1)
    return np.where(np.isfinite(least) & (stop > least + TIE), first, -1)


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
