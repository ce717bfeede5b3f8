"""Best-first search over evidence, with a lower and an upper bound at every evidence state.

A node is an evidence state: a posterior, and how often each probe has been used. Both bounds obey Bellman's equation,

    V(x) = min( V_stop(x),  min over legal m of  c_m + Σ_y P(y | x) V(x, y) ),

so valid bounds at the leaves give valid bounds at the root. A leaf is worth at most V_stop, as one may stop there, and
at least the smaller of V_stop and "pay for the cheapest probe, then know everything". Where a probe reads a number, the
sum runs over the answers of a channel that tells more for the lower bound, and of one that tells less for the upper.

Each round does what matters most: it follows the probes that look best by their lower bounds, and where the bounds
are far apart it either expands the leaf, or, where the leaves below agree and the channels do not, tells readings apart
more finely. (HSVI and BRTDP choose in this way.) Two orders of the same answers lead to one node. Nothing else here
needs the loss to be concave, so with discrete probes the rules of support and last resorts are priced as they are.

A worked example: one belief, failed with probability 0.4, costs 10 if kept and 3 to correct; a probe that costs 1 is
right in nine of ten cases. The root is worth at most V_stop = min(4, 3) = 3 and at least 1 + 0.4 · 3 = 2.2. Expanding
it gives two leaves: "yes" (probability 0.42, posterior 0.857, V_stop 3) and "no" (0.58, 0.069, V_stop 0.69). So the
root is now worth at most 1 + 0.42 · 3 + 0.58 · 0.69 = 2.66; the next round looks below both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import could_answer
from aquamend.inference import InformationState
from aquamend.planning.bounds import Bounds, informed_losses
from aquamend.planning.growing import Growing
from aquamend.planning.sensors import Sensor

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int32]
Keys = NDArray[np.uint64]

GROWTH = 0.3
FIRST_ANSWERS = 1000
"""A round may add this many answers, and this share of those there are."""
SHARE = 0.8
"""Part of the open gap that a round works on, the most for its work first."""
NUMBERS_AT_ONCE = 4_000_000
"""Joint probabilities worked on at once."""
FEW_USES = 3
"""Uses up to which evidence is told apart by its answers; with more, by the posterior that it leads to."""


class _Answers:
    """The answers of several expansions, one under the other: where each leads and how probable it is."""

    def __init__(self) -> None:
        self._child, self._probability = Growing((), np.intp), Growing((), float)
        self._first, self._width = Growing((), np.intp), Growing((), np.intp)

    def add(self, child: Indices, probability: Floats, width: Indices) -> None:
        """Add the answers of further expansions, each with so many of them."""
        self._first.add(len(self._child) + np.cumsum(np.append(0, width[:-1])))
        self._child.add(child)
        self._probability.add(probability)
        self._width.add(width)

    def expected(self, value: Floats) -> Floats:
        """Return the expectation of a value of nodes after each expansion."""
        probability = self._probability.rows
        after = np.where(probability > 0.0, value[self._child.rows], 0.0) * probability
        return np.asarray(np.add.reduceat(after, self._first.rows))

    def flow(self, weight: Floats, n_nodes: int) -> Floats:
        """Return what reaches each node if each expansion sends out so much."""
        sent = self._probability.rows * np.repeat(weight, self._width.rows)
        return np.bincount(self._child.rows, weights=sent, minlength=n_nodes).astype(float)


class _Layer:
    """Expansions after the same number of uses: each one probe at one node, at one level of detail."""

    def __init__(self, *, exact: bool) -> None:
        self._kind = Growing((3,), np.intp)
        self._cost = Growing((2,), float)
        self.below = _Answers()
        self.above = self.below if exact else _Answers()

    def add(self, row: Indices, probe: Indices, level: Indices, least_cost: Floats, cost: Floats) -> None:
        """Add expansions: the expanded node's row, and what probing costs, what is told outright included and not."""
        self._kind.add(np.column_stack([row, probe, level]))
        self._cost.add(np.column_stack([least_cost, cost]))

    @property
    def kinds(self) -> tuple[Indices, Indices, Indices]:
        """Row, probe and level of every expansion."""
        row, probe, level = self._kind.rows.T
        return row, probe, level

    def losses(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return what each expansion costs at least and at most."""
        least, most = self._cost.rows.T
        return least + self.below.expected(lower), most + self.above.expected(upper)


class EvidenceTree:
    """The nodes expanded so far, and their bounds. Rows of node arrays are nodes, the root first."""

    def __init__(self, state: InformationState) -> None:
        self.state, self.endings = state, endings_of(state.problem)
        self.sensors = [Sensor(state, view) for view in state.legal]
        self.cost = np.array([view.cost for view in state.legal])
        self.uses = np.array([view.most_runs for view in state.legal], dtype=float)
        self._index = np.array([view.index for view in state.legal], dtype=np.intp)
        self._n_levels = np.array([sensor.n_levels for sensor in self.sensors], dtype=np.intp)
        ruled = bool(len(self.endings.support.beliefs) or self.endings.last_resorts)
        # A channel that tells more need not help where rules of support decide: then bounds from below leave them out.
        self._relaxed = ruled and bool((self._n_levels > 1).any())
        self._informed, self._could = informed_losses(state), could_answer(state)
        n_hypotheses, n_probes = len(state.posterior), len(self.sensors)
        self._posterior, self._used = Growing((n_hypotheses,), float), Growing((n_probes,), np.int32)
        self._values = Growing((4,), float)
        """Stopping, stopping with the rules left out, lower and upper bound."""
        self._row = Growing((), np.intp)
        """Of an expanded node, in what follows; -1 for a leaf."""
        self._node, self._level = Growing((), np.intp), Growing((n_probes,), np.intp)
        self._least, self._most = Growing((n_probes,), float), Growing((n_probes,), float)
        self._layers: dict[int, _Layer] = {}
        self._known = _Known(self)
        self.n_answers = 0
        self._add(state.posterior[None, :], np.zeros((1, n_probes), dtype=np.int32))

    @property
    def n_nodes(self) -> int:
        """How many evidence states there are."""
        return len(self._values)

    @property
    def bounds(self) -> Bounds:
        """Bounds on the optimal expected loss."""
        _, _, lower, upper = self._values.rows[0].tolist()
        return Bounds(min(lower, upper), upper)

    @property
    def memory(self) -> float:
        """Bytes in use, or soon to be."""
        width = self._posterior.rows.shape[1] + 2 * len(self.sensors) + 12
        return float(16 * self.n_nodes * width) + 32.0 * self.n_answers

    def best_probe(self) -> str | None:
        """Return the first probe of the best policy found; None where that is to stop."""
        if not len(self.sensors) or self._row.rows[0] < 0:
            return None
        most = self._most.rows[self._row.rows[0]]
        return self.sensors[int(most.argmin())].view.name if most.min() < self._values.rows[0, 0] else None

    def grow(self) -> bool:
        """Do what matters most and carry the bounds to the root; False where nothing is left to do."""
        node, probe, level = self._chosen()
        if not len(node):
            return False
        self._expand(node, probe, level)
        self._back_up()
        return True

    def _gaps(self) -> Floats:
        lower, upper = self._values.rows.T[2:]
        with np.errstate(invalid="ignore"):
            return np.minimum(np.where(lower < upper, upper - lower, 0.0), 1e200)

    def _chosen(self) -> tuple[Indices, Indices, Indices]:
        """Return nodes, probes and levels of detail to expand: the most gap for the work, up to a round's share."""
        reached, finer = self._followed()
        weight = reached * self._gaps()
        leaves = np.flatnonzero((self._row.rows < 0) & (weight > 0.0))
        gain = np.concatenate([weight[leaves], finer.gain])
        work = np.concatenate([np.full(len(leaves), sum(float(s.width(0)) for s in self.sensors)), finer.work])
        order = np.argsort(-gain / work, kind="stable")
        order = order[gain[order] > 1e-12 * gain.max(initial=0.0)]
        most = FIRST_ANSWERS + GROWTH * self.n_answers
        enough = int(np.searchsorted(np.cumsum(gain[order]), SHARE * gain.sum())) + 1
        chosen = order[: min(enough, int(np.searchsorted(np.cumsum(work[order]), most)) + 1)]
        own, more = leaves[chosen[chosen < len(leaves)]], chosen[chosen >= len(leaves)] - len(leaves)
        at, which = np.nonzero(self._legal(self._used.rows[own]))
        node, probe = np.concatenate([own[at], finer.node[more]]), np.concatenate([which, finer.probe[more]])
        level = np.concatenate([np.zeros(len(at), dtype=np.intp), finer.level[more]])
        order = np.lexsort((node, level, probe, self._used.rows[node].sum(axis=1)))
        return node[order], probe[order], level[order]

    def _followed(self) -> tuple[Floats, _Finer]:
        """Return how probably each node is reached by the probes that look best, and what could be told more finely."""
        reached, gaps, upper = np.zeros(self.n_nodes), self._gaps(), self._values.rows[:, 3]
        reached[0] = 1.0
        least, most, level = self._least.rows, self._most.rows, self._level.rows
        best = least.argmin(axis=1) if least.size else np.zeros(0, dtype=np.intp)
        found = [_Finer.nothing()]
        for depth in sorted(self._layers):
            layer = self._layers[depth]
            row, probe, detail = layer.kinds
            node = self._node.rows[row]
            on = (probe == best[row]) & (detail == level[row, probe])
            going = np.where(on & (least[row, probe] < upper[node]), 0.5 * reached[node], 0.0)
            reached += layer.below.flow(going, self.n_nodes) + layer.above.flow(going, self.n_nodes)
            at = np.flatnonzero((going > 0.0) & (detail + 1 < self._n_levels[probe]))
            if len(at):
                inside = np.maximum(layer.below.expected(gaps)[at], layer.above.expected(gaps)[at])
                own = np.minimum(most[row[at], probe[at]], 1e200) - least[row[at], probe[at]]
                gain, finer = 2.0 * going[at] * np.maximum(own - inside, 0.0), detail[at] + 1
                work = [float(self.sensors[m].width(k)) for m, k in zip(probe[at], finer, strict=True)]
                found.append(_Finer(node[at], probe[at], finer, gain, np.array(work)))
        return reached, _Finer.together(found)

    def _back_up(self) -> None:
        """Carry bounds from the leaves to the root, latest expansions first; they only ever get tighter."""
        values, least, most = self._values.rows, self._least.rows, self._most.rows
        for depth in sorted(self._layers, reverse=True):
            layer = self._layers[depth]
            row, probe, _ = layer.kinds
            below, above = layer.losses(values[:, 2], values[:, 3])
            np.maximum.at(least, (row, probe), below)  # a probe may be there at several levels of detail
            np.minimum.at(most, (row, probe), above)
            rows = np.unique(row)
            nodes = self._node.rows[rows]
            best = np.minimum(values[nodes, 1], least[rows].min(axis=1))
            values[nodes, 2] = np.maximum(values[nodes, 2], best)
            values[nodes, 3] = np.minimum(values[nodes, 3], most[rows].min(axis=1))

    def _expand(self, node: Indices, probe: Indices, level: Indices) -> None:
        """Add the answers of these probes at these nodes; sorted by depth, probe and level."""
        self._enter(np.unique(node))
        self._level.rows[self._row.rows[node], probe] = level
        depth = self._used.rows[node].sum(axis=1)
        pending = {side: _Pending() for side in ("below", "above")}
        least_cost, exact = self.cost[probe], bool((self._n_levels == 1).all())
        kinds = (depth * len(self.sensors) + probe) * (1 + int(self._n_levels.max())) + level
        starts = np.flatnonzero(np.diff(kinds, prepend=-1)).tolist()
        for a, b in zip(starts, [*starts[1:], len(kinds)], strict=True):
            m, k = int(probe[a]), int(level[a])
            own, weights = self.sensors[m].level(k), self._posterior.rows[node[a:b]]
            pending["below"].add(node[a:b], m, weights @ own.below, self._known.columns(m, k, 0, own.below))
            if own.exact:
                pending["above"].same_as(pending["below"])
            else:
                pending["above"].add(node[a:b], m, weights @ own.above, self._known.columns(m, k, 1, own.above))
                least_cost[a:b] += weights @ (own.told * self._informed)
        found = {side: self._known.children(own) for side, own in pending.items() if side == "below" or not exact}
        for d in np.unique(depth).tolist():
            if d not in self._layers:
                self._layers[d] = _Layer(exact=exact)
            a, b = np.searchsorted(depth, [d, d + 1])
            layer = self._layers[d]
            layer.add(self._row.rows[node[a:b]], probe[a:b], level[a:b], least_cost[a:b], self.cost[probe[a:b]])
            for side, (child, probability, width) in found.items():
                low, high = width[:a].sum(), width[:b].sum()
                getattr(layer, side).add(child[low:high], probability[low:high], width[a:b])
                self.n_answers += int(high - low)

    def _enter(self, nodes: Indices) -> None:
        """Give leaves a row of their own; what a probe not yet expanded costs at least is to know all after it."""
        nodes = nodes[self._row.rows[nodes] < 0]
        self._row.rows[nodes] = len(self._node) + np.arange(len(nodes))
        legal = self._legal(self._used.rows[nodes])
        least = (self._posterior.rows[nodes] @ self._informed)[:, None] + self.cost
        self._node.add(nodes)
        self._least.add(np.where(legal, least, math.inf))
        self._most.add(np.full(legal.shape, math.inf))
        self._level.add(np.zeros(legal.shape, dtype=np.intp))

    def _legal(self, used: Counts) -> Bools:
        legal = used < self.uses
        if math.isfinite(self.state.budget_left):
            legal = legal & ((used @ self.cost)[:, None] + self.cost <= self.state.budget_left)
        return np.asarray(legal)

    def _add(self, posterior: Floats, used: Counts) -> None:
        """Add leaves with their first bounds."""
        endings, answered = self.endings, self._could
        if not endings.plain:
            answered = np.repeat(self.state.answered[None, :], len(used), axis=0)
            answered[:, self._index] |= used > 0
        sums = posterior @ endings.features
        stop = endings.values(sums, answered)
        least = endings.values(sums, self._could, relaxed=True) if self._relaxed else stop
        cheapest = np.where(self._legal(used), self.cost, math.inf).min(axis=1, initial=math.inf)
        lower = np.minimum(least, posterior @ self._informed + cheapest)
        self._posterior.add(posterior)
        self._used.add(used)
        self._values.add(np.column_stack([stop, least, lower, stop]))
        self._row.add(np.full(len(stop), -1, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class _Finer:
    """Expansions that could be told more finely: where, how, how much gap is theirs, and how much work it would be."""

    node: Indices
    probe: Indices
    level: Indices
    gain: Floats
    work: Floats

    @classmethod
    def nothing(cls) -> _Finer:
        none = np.zeros(0, dtype=np.intp)
        return cls(none, none, none, np.zeros(0), np.zeros(0))

    @classmethod
    def together(cls, parts: list[_Finer]) -> _Finer:
        columns = zip(*((p.node, p.probe, p.level, p.gain, p.work) for p in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


class _Pending:
    """Answers of several expansions whose nodes are still to be found."""

    def __init__(self) -> None:
        self.parent: list[Indices] = []
        self.probe: list[Indices] = []
        self.column: list[Indices] = []
        self.probability: list[Floats] = []
        self.widths: list[Indices] = []

    def add(self, nodes: Indices, m: int, probability: Floats, columns: Indices) -> None:
        """Add all answers of one probe at several nodes; ``probability`` is ``(n_nodes, n_answers)``."""
        self.parent.append(np.repeat(nodes, len(columns)))
        self.probe.append(np.full(probability.size, m, dtype=np.intp))
        self.column.append(np.tile(columns, len(nodes)))
        self.probability.append(probability.ravel())
        self.widths.append(np.full(len(nodes), len(columns), dtype=np.intp))

    def same_as(self, other: _Pending) -> None:
        """Add what was added to another last."""
        for mine, its in zip(vars(self).values(), vars(other).values(), strict=True):
            mine.append(its[-1])


class _Known:
    """Which evidence states there are, by 64-bit keys that do not depend on the order of answers (after Zobrist)."""

    def __init__(self, tree: EvidenceTree) -> None:
        self._tree, self._random = tree, np.random.default_rng(0)  # the same keys in every run
        self._by_posterior = bool((tree.uses > FEW_USES).any())
        self._table = Growing((len(tree.state.posterior),), float)
        """The likelihoods of all answers told apart so far; rows are answers."""
        self._ranges: dict[tuple[int, int, int], Indices] = {}
        self._answer_key, self._key = Growing((), np.uint64), Growing((), np.uint64)
        self._hypothesis_key = self._drawn(len(tree.state.posterior))
        self._use_key = self._drawn(len(tree.sensors))
        budget = math.isfinite(tree.state.problem.sensing_budget)
        self._use_key[~(np.isfinite(tree.uses) | budget | (not tree.endings.plain))] = 0
        self._key.add(np.zeros(1, dtype=np.uint64))
        self._sorted, self._ids = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.intp)

    def _drawn(self, n: int) -> Keys:
        return self._random.integers(1, 2**63, n, dtype=np.uint64)

    def columns(self, m: int, level: int, side: int, table: Floats) -> Indices:
        """Return the numbers of a probe's answers at a level of detail."""
        if (m, level, side) not in self._ranges:
            self._ranges[m, level, side] = len(self._table) + np.arange(table.shape[1])
            self._table.add(table.T)
            self._answer_key.add(self._drawn(table.shape[1]))
        return self._ranges[m, level, side]

    def children(self, pending: _Pending) -> tuple[Indices, Floats, Indices]:
        """Return the nodes that answers lead to, how probable each is, and how many each expansion has.

        New ones are added to the tree.
        """
        probability = np.concatenate(pending.probability)
        happening = np.flatnonzero(probability)
        parent, column = np.concatenate(pending.parent)[happening], np.concatenate(pending.column)[happening]
        probe = np.concatenate(pending.probe)[happening]
        child = np.zeros(len(probability), dtype=np.intp)
        child[happening] = self._found(parent, column, probe)
        return child, probability, np.concatenate(pending.widths)

    def _found(self, parent: Indices, column: Indices, probe: Indices) -> Indices:
        tree = self._tree
        if self._by_posterior:
            keys = np.concatenate([self._of_posteriors(parent[s], column[s], probe[s]) for s in self._pieces(parent)])
        else:
            keys = self._key.rows[parent] + self._answer_key.rows[column]
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        at = np.minimum(np.searchsorted(self._sorted, unique), len(self._sorted) - 1)
        known = self._sorted[at] == unique
        ids, new = np.where(known, self._ids[at], 0), first[~known]
        ids[~known] = tree.n_nodes + np.arange(len(new))
        places = np.searchsorted(self._sorted, unique[~known])
        self._ids, self._sorted = (
            np.insert(self._ids, places, ids[~known]),
            np.insert(self._sorted, places, unique[~known]),
        )
        self._key.add(unique[~known])
        for piece in self._pieces(new):
            own = new[piece]
            weights, used = self._weights(parent[own], column[own]), tree._used.rows[parent[own]]
            used[np.arange(len(own)), probe[own]] += 1
            tree._add(weights / weights.sum(axis=1, keepdims=True), used)
        return np.asarray(ids[inverse.ravel()])

    def _pieces(self, items: Indices) -> list[slice]:
        """Return parts of a list whose posteriors are worked on at once; at least one."""
        step = max(1, NUMBERS_AT_ONCE // len(self._hypothesis_key))
        return [slice(low, low + step) for low in range(0, max(1, len(items)), step)] if len(items) else []

    def _weights(self, parent: Indices, column: Indices) -> Floats:
        return np.asarray(self._tree._posterior.rows[parent] * self._table.rows[column])

    def _of_posteriors(self, parent: Indices, column: Indices, probe: Indices) -> Keys:
        """Return keys of the posteriors, to eight digits, and of the uses where those matter."""
        weights = self._weights(parent, column)
        with np.errstate(divide="ignore"):
            log = np.log(weights / weights.max(axis=1, keepdims=True))
        rounded = np.where(np.isfinite(log), np.round(np.maximum(log, -1e9) * 1e8), -1e18).astype(np.int64)
        keys = (rounded.view(np.uint64) * self._hypothesis_key).sum(axis=1, dtype=np.uint64)
        counts = self._tree._used.rows[parent].astype(np.uint64)
        counts[np.arange(len(probe)), probe] += np.uint64(1)
        return np.asarray(keys + (counts * self._use_key).sum(axis=1, dtype=np.uint64))
