"""Best-first search over evidence, with a lower and an upper bound at every evidence state.

A node is an evidence state: a posterior, and how often each probe has been used. Both bounds obey Bellman's equation,

    V(x) = min( V_stop(x),  min over legal m of  c_m + Σ_y P(y | x) V(x, y) ),

so valid bounds at the leaves give valid bounds at the root. A leaf is worth at most V_stop, as one may stop there, and
at least the smaller of V_stop and "pay for the cheapest probe, then know everything". Each round expands the leaves
that matter most: those reached most probably by the probes that look best by their lower bounds (and now and then by
others), times how far apart their bounds are, much as HSVI and BRTDP choose. Two orders of the same answers lead to one
node. Answers that would matter less than what the round works on stay together: they cost at least what they would if
everything were known after them, and at most stopping without knowing which it was. When they come to matter most, the
probe is asked again. Nothing here needs the loss to be concave, so the rules of support and last resorts are priced as
they are; but then no answers stay together, for a policy must not overlook what breaks a rule. Where the loss is
concave, a probe is not even asked that could not tell enough to pay, whatever it said.

A worked example: one belief, failed with probability 0.4, costs 10 if kept and 3 to correct; a probe that costs 1 is
right in nine of ten cases. The root is worth at most V_stop = min(4, 3) = 3 and at least 1 + 0.4 · 3 = 2.2. Expanding
it gives two leaves: "yes" (probability 0.42, posterior 0.857, V_stop 3) and "no" (0.58, 0.069, V_stop 0.69). So the
root is now worth at most 1 + 0.42 · 3 + 0.58 · 0.69 = 2.66; the next round looks below both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Growing, Indices
from aquamend.belief import InformationState, joint
from aquamend.belief.support import spoken, spoken_by
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.planning.bounds import Bounds, informed_losses, worst_loss
from aquamend.planning.finite_probes import Answers
from aquamend.planning.limits import A_NODE, A_ROUND, stop_work
from aquamend.planning.support_prices import SupportPrices
from aquamend.problem.model.kernels.kernel import labels_of

Counts = NDArray[np.int32]
Keys = NDArray[np.uint64]

GROWTH = 0.3
FIRST_ANSWERS = 1000
"""A round may add this many answers, and this share of those there are."""
SHARE = 0.8
"""Part of the open gap that a round works on, the largest first."""
SECOND_BEST = 0.1
"""How often a probe is taken that does not look best. Where it never is, a chain of probes has one leaf a round."""
APART = 0.3
"""An answer gets a node of its own if it matters at least this much, beside the least that a round works on."""
NUMBERS_AT_ONCE = 4_000_000
"""Joint probabilities worked on at once."""
FEW_USES = 3
"""Uses up to which evidence is told apart by its answers; with more, by the posterior that it leads to."""
MOST_STORIES = 8
"""Of the stories a probe may tell, those most probable to begin with are looked at."""
BITS = 3
"""Uses of one probe that have room in a code of all of them, where the probes are few."""
MOST_KEPT = 2000
"""Combinations of uses for which it is kept what follows from them alone."""
LARGEST = 1e200
"""A gap between a finite and an infinite bound counts as this."""
STOP, LOWER, UPPER = range(3)


class _Layer:
    """Expansions after the same number of uses: each one probe at one node, with its answers one under the other.

    Made again with more of its answers apart, an expansion stays, but is no longer followed: the newer one is tighter.
    """

    def __init__(self) -> None:
        self._row, self._probe, self._followed = Growing((), np.intp), Growing((), np.intp), Growing((), bool)
        self._fixed, self._rest = Growing((2,), float), Growing((2,), float)
        self._first, self._width = Growing((), np.intp), Growing((), np.intp)
        self._child, self._probability = Growing((), np.intp), Growing((), float)

    def __len__(self) -> int:
        return len(self._row)

    def add(
        self, row: Indices, probe: Indices, fixed: Floats, rest: Floats, width: Indices, child: Indices, chance: Floats
    ) -> None:
        """Add expansions: the node's row, the probe, and where so many answers lead with which probability.

        ``fixed`` is what probing and the answers that stay together cost at least and at most, and ``rest`` how
        probable those are and how many.
        """
        self._first.add(len(self._child) + np.cumsum(np.append(0, width[:-1])))
        for column, values in zip(
            (self._row, self._probe, self._followed, self._fixed, self._rest, self._width),
            (row, probe, np.ones(len(row), dtype=bool), fixed, rest, width),
            strict=True,
        ):
            column.add(values)
        self._child.add(child)
        self._probability.add(chance)

    def drop(self, expansions: Indices) -> None:
        """Follow these no longer."""
        self._followed.rows[expansions] = False

    @property
    def which(self) -> tuple[Indices, Indices]:
        """Row and probe of every expansion."""
        return self._row.rows, self._probe.rows

    @property
    def followed(self) -> Bools:
        """Whether each expansion is the last of its probe at its node."""
        return self._followed.rows

    @property
    def rest(self) -> Floats:
        """Shape ``(3, n)``; of the answers that stay together, how probable they are, how many, and their gap."""
        return np.vstack([self._rest.rows.T, _gap(*self._fixed.rows.T)])

    def losses(self, value: Floats, bound: int) -> Floats:
        """Return what each expansion costs if the nodes after it are worth so much."""
        probability = self._probability.rows
        after = np.where(probability > 0.0, value[self._child.rows], 0.0) * probability
        return np.asarray(self._fixed.rows[:, bound - LOWER] + np.add.reduceat(after, self._first.rows))

    def children(self, expansions: Indices) -> Indices:
        """Return the nodes that these lead to."""
        width, first = self._width.rows[expansions], self._first.rows[expansions]
        at = np.repeat(first - np.cumsum(width) + width, width) + np.arange(int(width.sum()))
        return np.asarray(self._child.rows[at[self._probability.rows[at] > 0.0]])

    def flow(self, weight: Floats, n_nodes: int) -> Floats:
        """Return what reaches each node if each expansion sends out so much."""
        sent = self._probability.rows * np.repeat(weight, self._width.rows)
        return np.bincount(self._child.rows, weights=sent, minlength=n_nodes).astype(float)


def _gap(lower: Floats, upper: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.minimum(np.where(lower < upper, upper - lower, 0.0), LARGEST)


class EvidenceTree:
    """The nodes expanded so far, and their bounds. Rows of node arrays are nodes, the root first."""

    def __init__(
        self,
        state: InformationState,
        answers: Sequence[Answers],
        *,
        relaxed: bool = False,
        apart: bool = False,
        priced: bool = True,
    ) -> None:
        """Begin with the root.

        ``relaxed`` leaves conditions of support out of what stopping costs, so that it is concave in the posterior;
        with ``apart``, no answers stay together; ``priced`` has lower bounds pay for evidence, which takes a little
        time and is worth it where they count.
        """
        self.state, self.endings, self.answers = state, endings_of(state.problem), answers
        self.cost = np.array([view.cost for view in state.legal])
        self.uses = np.array([view.most_runs for view in state.legal], dtype=float)
        self._index = np.array([view.index for view in state.legal], dtype=np.intp)
        self.relaxed, self._informed = relaxed, informed_losses(state)
        self._prices: SupportPrices | None = None
        if priced and SupportPrices.accepts(state):
            self._prices = SupportPrices(state, None if relaxed else [own.likelihood for own in answers])
            self._informed = self._prices.free()
        self._here, self._after = dict[bytes, Floats](), dict[bytes, Floats]()
        """What each hypothesis costs at least where one more probe is run, or a certain one, by the uses so far."""
        self._all_apart = apart or (not relaxed and self.endings.ruled)
        self._a_node = A_NODE + stop_work(self.endings) + self.endings.features.size
        n_hypotheses, n_probes = len(state.posterior), len(answers)
        self._informing = np.column_stack([own.informing * self._informed for own in answers])
        self._at_stake = math.inf if len(self.endings.exact_zeros) else worst_loss(state.problem)
        self._outside = {} if not relaxed and self.endings.ruled else self._outside_stories()
        self._said = _Said(self) if len(self.endings.support) and not relaxed else None
        self.table = np.concatenate([own.likelihood.T for own in answers])
        """Shape ``(n_answers, n_hypotheses)``; the answers of all probes, one under the other."""
        self._width = np.array([own.likelihood.shape[1] for own in answers], dtype=np.intp)
        self._first = np.cumsum(self._width) - self._width
        self.whose = np.repeat(np.arange(n_probes), self._width)
        self._parent, self._answer = Growing((), np.intp), Growing((), np.intp)
        self._used, self._values = Growing((n_probes,), np.int32), Growing((3,), float)
        self._row, self._node = Growing((), np.intp), Growing((), np.intp)
        """Of each node, its row among those expanded, -1 for a leaf; and of each of those, its node."""
        self._posterior = Growing((n_hypotheses,), float)
        """Of those expanded; a leaf's follows from its parent's, and most leaves are never asked for it."""
        self._least, self._most = Growing((n_probes,), float), Growing((n_probes,), float)
        """What each probe costs at least and at most, at the nodes expanded."""
        self._layers: dict[int, _Layer] = {}
        self._known = _Known(self)
        self._n_answers = 0
        self.work = 0.0
        """What has been done so far: it is the same on every machine."""
        nowhere = np.full(1, -1, dtype=np.intp)
        self.add(nowhere, nowhere, state.posterior[None, :], np.zeros((1, n_probes), dtype=np.int32))

    def _outside_stories(self) -> dict[int, Floats]:
        """Return for some probes the hypotheses outside each of their stories, ``(n_hypotheses, n_stories)``.

        Under the hypotheses of one story the probe answers alike. So knowing the story is worth at least what the
        answer is; and it saves no more than acting as if one story were true might lose outside it. Where that is less
        than the probe costs, not asking it is as good. This needs a loss that is concave, and finite everywhere.
        """
        probing = [m for m, own in enumerate(self.answers) if self._at_stake < math.inf and not own.informing.any()]
        outside = {}
        for m in probing:
            story = labels_of(self.answers[m].likelihood)[0]
            weight = np.bincount(story, weights=self.state.posterior)
            likely = np.argsort(-weight, kind="stable")[:MOST_STORIES]
            outside[m] = (story[:, None] != likely[weight[likely] > 0.0]).astype(float)
        return {m: own for m, own in outside.items() if own.shape[1]}

    @property
    def n_nodes(self) -> int:
        """How many evidence states there are."""
        return len(self._values)

    def posteriors(self, expanded: Indices) -> Floats:
        """Return the posteriors of some nodes that have been expanded, ``(n, n_hypotheses)``."""
        return np.asarray(self._posterior.rows[self._row.rows[expanded]])

    @property
    def used(self) -> Counts:
        """Shape ``(n_nodes, n_probes)``; how often each probe has been used."""
        return self._used.rows

    @property
    def bounds(self) -> Bounds:
        """Bounds on the optimal expected loss, given what the probes are taken to answer."""
        lower, upper = self._values.rows[0, LOWER:].tolist()
        return Bounds(min(lower, upper), upper)

    @property
    def memory(self) -> float:
        """Bytes in use, or soon to be."""
        n_hypotheses, n_probes = len(self._informed), len(self.answers)
        of_nodes = self.n_nodes * (2 * n_probes + 40) + len(self._node) * (n_hypotheses + 12 * n_probes + 1) * 4
        return float(4 * of_nodes + 32 * self._n_answers)

    def best_probe(self) -> str | None:
        """Return the first probe of the best policy found; None where that is to stop."""
        if self._row.rows[0] < 0:
            return None
        most = self._most.rows[self._row.rows[0]]
        return self.state.legal_probes[int(most.argmin())] if most.min() < self._values.rows[0, STOP] else None

    def grow(self, most_work: float = math.inf) -> bool:
        """Expand what matters most, about so much, and carry the bounds to the root; False where nothing is left."""
        reached, sent = self._reached()
        gaps = _gap(*self._values.rows.T[LOWER:])
        rest = np.concatenate([np.empty((3, 0)), *(self._layers[d].rest for d in sorted(self._layers))], axis=1)
        weight = np.append(np.where(self._row.rows < 0, reached * gaps, 0.0), sent * rest[2])
        chosen = self._chosen(weight, most_work)
        if not len(chosen):
            return False
        least, n_nodes = APART * weight[chosen].min(), self.n_nodes
        leaves, again = chosen[chosen < n_nodes], chosen[chosen >= n_nodes] - n_nodes
        if len(again):  # one of them at least is as probable as all are on average
            probability, number, _ = rest[:, again]
            self._ask_again(again, probability * np.minimum(least / weight[n_nodes + again], 1.0 / number))
        if len(leaves):
            leaves = leaves[np.argsort(self.used[leaves].sum(axis=1), kind="stable")]
            self._expand(leaves, least / weight[leaves])
        self._back_up()
        return True

    def _chosen(self, weight: Floats, most_work: float) -> Indices:
        """Return the fewest that hold most of the weight, up to a round's share of work; sorted."""
        heavy = np.flatnonzero(weight > 0.0)
        answers_each = max(1.0, self._n_answers / len(self._node)) if len(self._node) else float(len(self.table))
        most_answers = min(FIRST_ANSWERS + GROWTH * self._n_answers, most_work / self._a_node)
        most = 1 + int(most_answers / answers_each)
        if len(heavy) > most:
            heavy = heavy[np.argpartition(-weight[heavy], most)[:most]]
        self.work += A_ROUND
        order = heavy[np.argsort(-weight[heavy], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(weight[order]), SHARE * weight.sum())) + 1
        return np.sort(order[:enough])

    def _reached(self) -> tuple[Floats, Floats]:
        """Return how probably each node is reached by the probes that look best, others that may be worth it less.

        And how probably each expansion is, by depth.
        """
        reached, upper = np.zeros(self.n_nodes), self._values.rows[:, UPPER]
        reached[0] = 1.0
        best, sent = self._least.rows.argmin(axis=1), [np.empty(0)]
        for depth in sorted(self._layers):
            layer = self._layers[depth]
            row, probe = layer.which
            node = self._node.rows[row]
            taken = np.where(probe == best[row], 1.0, SECOND_BEST) * (self._least.rows[row, probe] < upper[node])
            sent.append(taken * layer.followed * reached[node])
            reached += layer.flow(sent[-1], self.n_nodes)
        return reached, np.concatenate(sent)

    def _back_up(self) -> None:
        """Carry bounds from the leaves to the root, deepest expansions first; they only ever get tighter."""
        values, least, most = self._values.rows, self._least.rows, self._most.rows
        for depth in sorted(self._layers, reverse=True):
            row, probe = self._layers[depth].which
            least[row, probe] = np.maximum(least[row, probe], self._layers[depth].losses(values[:, LOWER], LOWER))
            most[row, probe] = np.minimum(most[row, probe], self._layers[depth].losses(values[:, UPPER], UPPER))
            rows = np.flatnonzero(np.bincount(row, minlength=len(self._node)))
            nodes = self._node.rows[rows]
            best = np.minimum(values[nodes, STOP], least[rows].min(axis=1))
            values[nodes, LOWER] = np.maximum(values[nodes, LOWER], best)
            values[nodes, UPPER] = np.minimum(values[nodes, UPPER], most[rows].min(axis=1))

    def _expand(self, leaves: Indices, rare: Floats) -> None:
        """Ask all probes that may be worth while at these leaves, sorted by depth; answers so rare stay together."""
        posterior = self._posteriors_of_leaves(leaves)
        least = self._least_of_probes(posterior, self.used[leaves])
        worth = self._legal(self.used[leaves]) & (least < self._values.rows[leaves, UPPER][:, None])
        for m, outside in self._outside.items():
            worth[:, m] &= (posterior @ outside).min(axis=1) * self._at_stake > self.cost[m]
        nothing = leaves[~worth.any(axis=1)]  # no expansion will carry a bound to these
        self._values.rows[nothing, LOWER] = self._values.rows[nothing, STOP]
        self._row.rows[leaves] = len(self._node) + np.arange(len(leaves))
        self._node.add(leaves)
        self._posterior.add(posterior)
        self._least.add(np.where(worth, least, math.inf))
        self._most.add(np.full(worth.shape, math.inf))
        at, probe = np.nonzero(worth)  # one expansion each, by depth as the leaves are
        self._ask(leaves[at], probe, rare[at])

    def _ask_again(self, expansions: Indices, rare: Floats) -> None:
        """Make expansions again, with those answers apart that are no longer so rare."""
        layers = [self._layers[depth] for depth in sorted(self._layers)]
        row, probe = (np.concatenate(column)[expansions] for column in zip(*(x.which for x in layers), strict=True))
        ends = np.cumsum([len(layer) for layer in layers])
        by_layer = np.split(expansions, np.searchsorted(expansions, ends[:-1]))
        for layer, end, own in zip(layers, ends, by_layer, strict=True):
            layer.drop(own - (end - len(layer)))
        self._ask(self._node.rows[row], probe, rare)

    def _ask(self, nodes: Indices, probe: Indices, rare: Floats) -> None:
        """Add one expansion for each node and probe, by depth; answers so rare stay together."""
        at_once = max(1, NUMBERS_AT_ONCE // (self.table.shape[1] + int(self._width.max())))
        for low in range(0, len(nodes), at_once):
            check_deadline()
            some = slice(low, low + at_once)
            self._ask_some(nodes[some], probe[some], rare[some])

    def _ask_some(self, nodes: Indices, probe: Indices, rare: Floats) -> None:
        depth, full, posterior = self.used[nodes].sum(axis=1), self._width[probe], self.posteriors(nodes)
        first = np.cumsum(full) - full
        whose = np.repeat(np.arange(len(probe)), full)
        column = np.repeat(self._first[probe] - first, full) + np.arange(len(whose))
        chance, cost = np.empty(len(whose)), self.cost[probe]
        for m, own, answers in self._by_probe(probe):
            chance[first[own][:, None] + np.arange(self._width[m])] = posterior[own] @ self.table[answers].T
            cost[own] += posterior[own] @ self._informing[:, m]
        apart = self._apart(chance, first, whose, rare)
        together = np.flatnonzero(~apart & (chance > 0.0))
        some, mass, costs = self._together(nodes, probe, posterior, whose[together], column[together])
        fixed, rest = np.repeat(cost[:, None], 2, axis=1), np.zeros((len(probe), 2))
        fixed[some] += costs
        rest[some, 0], rest[:, 1] = mass, np.bincount(whose[together], minlength=len(probe))
        width = np.add.reduceat(apart, first, dtype=np.intp)
        child = self._known.children(nodes[whose[apart]], column[apart], chance[apart])
        self._n_answers += len(child)
        self.work += len(whose) * self.table.shape[1]
        ends, chance = np.append(0, np.cumsum(width)), chance[apart]
        for d in np.unique(depth).tolist():
            a, b = np.searchsorted(depth, [d, d + 1])
            rows, answers = self._row.rows[nodes[a:b]], slice(ends[a], ends[b])
            layer = self._layers.setdefault(int(d), _Layer())
            layer.add(rows, probe[a:b], fixed[a:b], rest[a:b], width[a:b], child[answers], chance[answers])

    def _by_probe(self, probe: Indices) -> Iterator[tuple[int, Bools, slice]]:
        """Yield each probe that is asked, where it is, and its answers' rows in the table."""
        for m in np.unique(probe).tolist():
            yield m, probe == m, slice(self._first[m], self._first[m] + self._width[m])

    def _apart(self, chance: Floats, first: Indices, whose: Indices, rare: Floats) -> Bools:
        """Return which answers get a node of their own: the most probable one, those not so rare, and one alone."""
        if self._all_apart:
            return np.ones(len(chance), dtype=bool)
        rare = np.minimum(rare, np.maximum.reduceat(chance, first))
        apart = chance >= ((1.0 - 1e-9) * rare)[whose]  # equally probable ones together, whatever rounding says
        alone = np.add.reduceat(~apart & (chance > 0.0), first, dtype=np.intp) == 1
        return np.asarray(apart | alone[whose])

    def _together(
        self, nodes: Indices, probe: Indices, posterior: Floats, whose: Indices, column: Indices
    ) -> tuple[Indices, Floats, Floats]:
        """Return the expansions where answers stay together, how probable those are, and what they cost: at least as if
        one then knew everything, at most if one stops without knowing which it was.
        """
        some, group = np.unique(whose, return_inverse=True)
        if not len(some):
            return some, np.empty(0), np.empty((0, 2))
        asked, likelihood = probe[some], np.empty((len(some), self.table.shape[1]))
        among = np.zeros((len(some), int(self._width.max())))
        among[group, column - self._first[probe[whose]]] = 1.0
        for m, own, answers in self._by_probe(asked):
            likelihood[own] = among[own, : self._width[m]] @ self.table[answers]
        weight = self.joint(posterior[some], likelihood)
        mass, used = weight.sum(axis=1), self.used[nodes[some]]
        used[np.arange(len(some)), asked] += 1
        stop = self._stop(weight / mass[:, None], used, self._answered(used))
        return some, mass, np.column_stack([weight @ self._informed, mass * stop])

    def _posteriors_of_leaves(self, leaves: Indices) -> Floats:
        if leaves[0] == 0:  # the root, which is expanded first and alone
            return self.state.posterior[None, :]
        weight = self.joint(self.posteriors(self._parent.rows[leaves]), self.table[self._answer.rows[leaves]])
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @property
    def joint(self) -> Callable[[Floats, Floats], Floats]:
        """How probabilities are multiplied: only where something may not be at any price need the least ones stay."""
        return joint if len(self.endings.exact_zeros) else np.multiply

    def _legal(self, used: Counts) -> Bools:
        legal = used < self.uses
        if math.isfinite(self.state.budget_left):
            legal = legal & ((used @ self.cost)[:, None] + self.cost <= self.state.budget_left)
        return np.asarray(legal)

    def _stop(self, posterior: Floats, used: Counts, speaks: Bools) -> Floats:
        """Return the loss of stopping in each evidence state."""
        if self.relaxed and self._prices is not None:
            return self._prices.stop(posterior, self._heard(used))
        return np.asarray(self.endings.values(posterior @ self.endings.features, speaks, relaxed=self.relaxed))

    def _heard(self, used: Counts) -> Bools:
        """Return who has answered in each evidence state, ``(n, n_probes)``."""
        answered = np.repeat(self.state.answered[None, :], len(used), axis=0)
        answered[:, self._index] |= used > 0
        return answered

    def _least_of_probes(self, posterior: Floats, used: Counts) -> Floats:
        """Return what running each probe costs at least, ``(n, n_probes)``."""
        if self._prices is None:
            return np.asarray((posterior @ self._informed)[:, None] + self.cost)
        least = np.empty((len(used), len(self.cost)))
        for row, own in _alike(used):
            key = used[row].tobytes()
            if key not in self._after:
                then = used[row] + np.eye(len(self.cost), dtype=np.int32)
                _keep(
                    self._after, key, np.column_stack([self._once_known(self._prices, one) for one in then]) + self.cost
                )
            least[own] = posterior[own] @ self._after[key]
        return least

    def _least_of_going_on(self, posterior: Floats, used: Counts) -> Floats:
        """Return what running at least one more probe costs at least, ``(n,)``."""
        cheapest = np.where(self._legal(used), self.cost, math.inf).min(axis=1, initial=math.inf)
        if self._prices is None:
            return np.asarray(posterior @ self._informed + cheapest)
        least = np.empty(len(used))
        for row, own in _alike(used):
            key = used[row].tobytes()
            if key not in self._here:
                known = self._once_known(self._prices, used[row])
                _keep(self._here, key, np.maximum(known, self._informed + min(float(cheapest[row]), LARGEST)))
            least[own] = posterior[own] @ self._here[key]
        return least

    def _once_known(self, prices: SupportPrices, used: Counts) -> Floats:
        """Return what each hypothesis costs at least after these uses once it is known, ``(n_hypotheses,)``."""
        may = np.zeros_like(self.state.answered)
        may[self._index] = self._legal(used[None, :])[0]
        return prices.known(self._heard(used[None, :])[0], may)

    def _answered(self, used: Counts) -> Bools:
        """Return who has answered in each evidence state, as if all of them spoke for everything."""
        support = self.endings.support
        return support.once_answered(self._heard(used) if len(support) else self.state.answered)

    def add(self, parent: Indices, answer: Indices, posterior: Floats, used: Counts) -> None:
        """Add leaves with their first bounds; each follows an answer at its parent."""
        speaks = self._answered(used) if self._said is None else self._said.add(parent, answer)
        self.work += len(posterior) * self._a_node
        stop = self._stop(posterior, used, speaks)
        lower = np.minimum(stop, self._least_of_going_on(posterior, used))
        self._parent.add(parent)
        self._answer.add(answer)
        self._used.add(used)
        self._values.add(np.column_stack([stop, lower, stop]))
        self._row.add(np.full(len(stop), -1, dtype=np.intp))


def _alike(used: Counts) -> Iterator[tuple[int, Indices]]:
    """Yield for each different row of uses where it first stands, and all its places."""
    if used.shape[1] * BITS < 63 and int(used.max(initial=0)) < 2**BITS:
        codes = used.astype(np.int64) @ (1 << (BITS * np.arange(used.shape[1], dtype=np.int64)))
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    else:
        _, first, which = np.unique(used, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel()))[:-1]
    return zip(first.tolist(), np.split(order, ends), strict=True)


def _keep(kept: dict[bytes, Floats], key: bytes, value: Floats) -> None:
    """Keep a result, and forget all others where they have become many."""
    if len(kept) >= MOST_KEPT:
        kept.clear()
    kept[key] = value


class _Said:
    """What each probe has said on the way to each evidence state, and for what it then speaks."""

    def __init__(self, tree: EvidenceTree) -> None:
        self._tree, self._support = tree, tree.endings.support
        self._index = [view.index for view in tree.state.legal]
        self._base = spoken(self._support, tree.state)
        self._heard = Growing((len(self._index),), np.intp)
        """Of each node, for each probe, which of those below it has said."""
        nothing = (tree.state.at_alarm > 0.0).astype(float)  # what was ruled out says nothing, however well it fits
        self._likelihood = [[nothing] for _ in self._index]
        self._speaks = [[self._base[self._support.pairs_of(probe)]] for probe in self._index]
        self._next: list[dict[tuple[int, int], int]] = [{} for _ in self._index]

    def add(self, parent: Indices, answer: Indices) -> Bools:
        """Note what was said at new nodes, each an answer after its parent; return who speaks there."""
        if parent[0] < 0:  # the root
            heard = np.zeros((1, len(self._index)), dtype=np.intp)
        else:
            heard, whose = self._heard.rows[parent], self._tree.whose[answer]
            every = np.arange(len(heard))
            alike = heard[every, whose] * len(self._tree.table) + answer
            _, first, each = np.unique(alike, return_index=True, return_inverse=True)
            asked = zip(whose[first].tolist(), heard[first, whose[first]].tolist(), answer[first].tolist(), strict=True)
            heard[every, whose] = np.array([self._after(*one) for one in asked], dtype=np.intp)[each]
        self._heard.add(heard)
        speaks = np.repeat(self._base[None, :], len(heard), axis=0)
        for m, probe in enumerate(self._index):
            own = self._support.pairs_of(probe)
            if len(own):
                speaks[:, own] = np.array(self._speaks[m])[heard[:, m]]
        return speaks

    def _after(self, m: int, said: int, answer: int) -> int:
        """Return what a probe has said once it has answered this as well."""
        known = self._next[m].get((said, answer))
        if known is None:
            likelihood = self._likelihood[m][said] * self._tree.table[answer]
            likelihood = likelihood / (likelihood.max() or 1.0)
            known = self._next[m][said, answer] = len(self._likelihood[m])
            self._likelihood[m].append(likelihood)
            spoken_now = spoken_by(self._support, self._tree.state, self._index[m], likelihood[None, :])
            self._speaks[m].append(spoken_now[0])
        return known


class _Known:
    """Which evidence states there are, by 64-bit keys that do not depend on the order of answers (after Zobrist).

    A million states have one pair in common by chance in one of 10^7 searches.
    """

    def __init__(self, tree: EvidenceTree) -> None:
        self._tree, random = tree, np.random.default_rng(0)  # the same keys in every run
        ruled = not tree.relaxed and len(tree.endings.support) > 0  # then who has said what may decide
        self._by_posterior = bool((tree.uses > FEW_USES).any()) and not ruled
        self._answer_keys = _drawn(random, len(tree.table))
        self._hypothesis_key, self._use_key = _drawn(random, len(tree.state.posterior)), _drawn(random, len(tree.uses))
        budget = math.isfinite(tree.state.problem.sensing_budget)
        self._use_key[~(np.isfinite(tree.uses) | budget | bool(len(tree.endings.support)))] = 0
        self._key = Growing((), np.uint64)
        self._key.add(np.zeros(1, dtype=np.uint64))
        self._sorted, self._ids = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.intp)

    @property
    def leads_back(self) -> bool:
        """Whether further answers may lead to a state that came before."""
        return self._by_posterior and not self._use_key.all()

    def children(self, parent: Indices, answer: Indices, probability: Floats) -> Indices:
        """Return the nodes after these answers, each at its parent; new ones join the tree.

        All are ``(n_answers,)``; what has no probability leads to the root.
        """
        happening = np.flatnonzero(probability)
        child = np.zeros(len(parent), dtype=np.intp)
        step = max(1, NUMBERS_AT_ONCE // len(self._hypothesis_key))
        for low in range(0, len(happening), step):
            check_deadline()
            own = happening[low : low + step]
            child[own] = self._found(parent[own], answer[own])
        return child

    def _found(self, parent: Indices, answer: Indices) -> Indices:
        tree, table, weights = self._tree, self._tree.table, None
        if self._by_posterior:
            weights = tree.joint(tree.posteriors(parent), table[answer])
            keys = self._of_posteriors(weights, tree.used[parent], tree.whose[answer])
        else:
            keys = self._key.rows[parent] + self._answer_keys[answer]
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        at = np.minimum(np.searchsorted(self._sorted, unique), len(self._sorted) - 1)
        new = self._sorted[at] != unique
        ids, where = np.where(new, 0, self._ids[at]), first[new]
        if len(where):
            ids[new] = tree.n_nodes + np.arange(len(where))
            places = np.searchsorted(self._sorted, unique[new])
            self._ids = np.insert(self._ids, places, ids[new])
            self._sorted = np.insert(self._sorted, places, unique[new])
            self._key.add(unique[new])
            if weights is None:
                child = tree.joint(tree.posteriors(parent[where]), table[answer[where]])
            else:
                child = weights[where]
            used = tree.used[parent[where]]
            used[np.arange(len(where)), tree.whose[answer[where]]] += 1
            tree.add(parent[where], answer[where], child / child.sum(axis=1, keepdims=True), used)
        return np.asarray(ids[inverse.ravel()])

    def find(self, answers: Sequence[int]) -> int:
        """Return the node after these answers since the root, in any order; -1 where there is none."""
        tree, own = self._tree, np.array(answers, dtype=np.intp)
        if not len(own):
            return 0
        if self._by_posterior:
            weights = tree.state.posterior[None, :]
            for answer in answers:
                weights = tree.joint(weights, tree.table[[answer]])
            counts = np.bincount(tree.whose[own], minlength=len(tree.uses)).astype(np.int32)
            counts[tree.whose[own[-1]]] -= 1
            key = self._of_posteriors(weights, counts[None, :], tree.whose[own[-1:]])[0]
        else:
            key = self._answer_keys[own].sum(dtype=np.uint64)
        at = min(int(np.searchsorted(self._sorted, key)), len(self._sorted) - 1)
        return int(self._ids[at]) if self._sorted[at] == key else -1

    def _of_posteriors(self, weights: Floats, used: Counts, probe: Indices) -> Keys:
        """Return keys of the posteriors, to eight digits, and of the uses where those matter."""
        with np.errstate(divide="ignore"):
            log = np.log(weights / weights.max(axis=1, keepdims=True))
        rounded = np.where(np.isfinite(log), np.round(np.maximum(log, -1e9) * 1e8), -1e18).astype(np.int64)
        keys = (rounded.view(np.uint64) * self._hypothesis_key).sum(axis=1, dtype=np.uint64)
        counts = used.astype(np.uint64)
        counts[np.arange(len(counts)), probe] += np.uint64(1)
        return np.asarray(keys + (counts * self._use_key).sum(axis=1, dtype=np.uint64))


def _drawn(random: np.random.Generator, n: int) -> Keys:
    return random.integers(1, 2**63, n, dtype=np.uint64)
