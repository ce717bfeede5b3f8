"""A tree of evidence that is a policy: each state it has expanded has a step, and its upper bound is what that costs.

Two things make it one. ``cover`` expands every state that the one-step policy reaches, so that no upper bound is above
what that policy costs. ``settle`` expands every state at which the plan would stop without having looked one probe
ahead, so that following the plan never leads out of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.belief import Observation
from aquamend.decision.endings import TIE
from aquamend.planning.bounds import Bounds
from aquamend.planning.evidence_tree import LOWER, STOP, UPPER, EvidenceTree

Ends = Callable[["SearchedPlan"], bool]
"""Whether to stop working on a tree."""

WORK_AT_ONCE = 1e7
"""So much work is done before it is asked again whether to go on."""
MOST_BACKUPS = 1_000
"""Where evidence can lead back to the same state, bounds settle after some rounds."""


class SearchedPlan(EvidenceTree):
    """A tree of evidence whose plan can be followed."""

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
