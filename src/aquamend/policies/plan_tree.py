"""What a policy will do, answer by answer, as data: a tree whose nodes are the steps it takes.

``plan_tree`` follows a policy through the answers that it may get, the likeliest first, until the tree is as large as
asked for. What it costs at a node is what the steps below cost on average. A probe that reads a number has a branch
for every interval of readings that leads to another step (or, before a further look, would lead to another ending
without it); what follows in one is the policy's plan after the reading in the middle of it. ``two_plans`` says where
two such trees part.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Final, Literal

import numpy as np

from aquamend import deadline
from aquamend.arrays import Floats, distinct
from aquamend.belief import InformationState, Observation
from aquamend.codec import Amount, Finite, Label, Name, Probability, Whole
from aquamend.decision.branches import decision_cuts, predictive_quantiles
from aquamend.decision.probe_value import probe_values
from aquamend.decision.steps import Reprobe, Step, but_for_numbers
from aquamend.decision.terminal import best_terminal, price
from aquamend.planning.limits import current_listener
from aquamend.policies.decision_report import carried_out
from aquamend.policies.policy import CertifyingPolicy, Policy
from aquamend.problem.model.kernels import Outcomes, Readings

FORMAT: Final = "aquamend-plan/1"
SLICES = 16
"""Intervals of equal probability into which readings are cut to see where the step changes."""
SHARPEST = 0.005
"""How closely such a change is looked for, in standard deviations of the sharpest reading."""
MOST_NODES = 400
"""Nodes at which a tree is not followed further, unless another number is asked for."""
NEVER = 1e-12
"""Probability of answers that are left out."""


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One step of a plan, and when it is taken."""

    step: Step
    """What is done here, with all that it undoes and declares."""
    probability: Probability
    """How probably the recovery comes here."""
    loss: Amount
    """What is to be expected from here on, by this policy; where it is not followed further, see ``beyond``."""
    parent: Whole | None = None
    """The place in the tree of the probe whose answer leads here; none at the root."""
    answer: Label | None = None
    """The outcome that leads here, of a probe that has outcomes."""
    above: Finite | None = None
    """The readings that lead here are above this one; none where they have no lower end."""
    below: Finite | None = None
    """And below this one; none where they have no upper end."""
    at: Finite | None = None
    """The reading that stands for its interval in all that follows."""
    beyond: bool = False
    """Whether the plan goes on and is not followed here; the loss is then no more than what the policy
    promises, or what it would be if this look were the last."""


@dataclass(frozen=True, slots=True)
class PlanTree:
    """What a policy does from one state on."""

    format: Literal["aquamend-plan/1"]
    name: Label
    """The problem."""
    unit: Label
    policy: Name
    nodes: tuple[PlanNode, ...]
    """Every node before those below it; those below one node in the order of its answers."""

    @property
    def root(self) -> PlanNode:
        """The step taken now."""
        return self.nodes[0]

    @property
    def beyond(self) -> float:
        """How probably the recovery goes on where the tree ends."""
        return math.fsum(node.probability for node in self.nodes if node.beyond)

    @property
    def rounded(self) -> bool:
        """Whether readings stand for their intervals, so that what is below them is right for those readings only."""
        return any(node.at is not None and isinstance(node.step, Reprobe) for node in self.nodes)

    def children(self) -> list[list[int]]:
        """Return the places of the nodes below each node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            if node.parent is not None:
                found[node.parent].append(i)
        return found


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two plans that have been the same so far take different steps."""

    one: Whole
    """The node's place in the first tree."""
    other: Whole
    """And in the second."""
    probability: Probability
    """How probably the recovery comes to this."""
    above: Finite | None = None
    """The readings at which they part, where both have intervals that overlap."""
    below: Finite | None = None


@dataclass(frozen=True, slots=True)
class TwoPlans:
    """The plans of two policies from the same state on, and where they part."""

    format: Literal["aquamend-plans/1"]
    one: PlanTree
    other: PlanTree
    parts: tuple[Parting, ...]
    """The likeliest first."""


def plan_tree(
    policy: Policy, state: InformationState, *, nodes: int = MOST_NODES, seconds: float = math.inf, name: str = ""
) -> PlanTree:
    """Return what a policy does from this state on, the likeliest followed first, up to so many nodes.

    After so many seconds it is not followed further either; then its size depends on the machine.
    """
    growing = _Growing(policy, name or type(policy).__name__)
    growing.grow(state, nodes, deadline.clock() + seconds)
    problem = state.problem
    return PlanTree(FORMAT, problem.name, problem.unit, growing.name, tuple(growing.in_order()))


def two_plans(one: PlanTree, other: PlanTree) -> TwoPlans:
    """Return two trees of one state with where they part."""
    parts = sorted(_partings(one, other), key=lambda part: (-part.probability, part.one, part.other))
    return TwoPlans("aquamend-plans/1", one, other, tuple(parts))


@dataclass(eq=False)
class _Growing:
    """A tree while it grows: nodes in the order in which they were found, with their states and what they end in."""

    policy: Policy
    name: str
    nodes: list[PlanNode] = field(default_factory=list)
    states: list[InformationState | None] = field(default_factory=list)
    """None where a node is an end."""
    below: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def grow(self, state: InformationState, most: int, until: float) -> None:
        self._add(PlanNode(self._asked(state), 1.0, 0.0), state)
        waiting = [(-1.0, 0)] if self.states[0] is not None else []
        while waiting and len(self.nodes) < most and deadline.clock() < until:
            listener = current_listener()
            try:
                if listener is not None and listener.interrupted:
                    break
                _, place = heapq.heappop(waiting)
                found = list(self._after(place))
            except KeyboardInterrupt:
                if listener is None:
                    raise
                listener.interrupted = True
                break
            first = len(self.nodes)
            for node, after in found:
                self._add(node, after)
            self.below[place] = tuple(range(first, len(self.nodes)))
            for i in self.below[place]:
                if self.states[i] is not None:
                    heapq.heappush(waiting, (-self.nodes[i].probability, i))
        self._count()

    def in_order(self) -> Iterator[PlanNode]:
        """Yield the nodes with all that is below one right after it, and their parents' places in that order."""
        order, waiting = list[int](), [0]
        while waiting:
            place = waiting.pop()
            order.append(place)
            waiting.extend(reversed(self.below.get(place, ())))
        where = {place: i for i, place in enumerate(order)}
        for place in order:
            node = self.nodes[place]
            yield node if node.parent is None else replace(node, parent=where[node.parent])

    def _asked(self, state: InformationState) -> Step:
        return carried_out(state, self.policy.next_step(state), name=self.name)

    def _add(self, node: PlanNode, state: InformationState) -> None:
        goes_on = isinstance(node.step, Reprobe)
        if not goes_on and node.parent is None:
            node = replace(node, loss=_priced(state, node.step))
        self.nodes.append(node)
        self.states.append(state if goes_on else None)

    def _after(self, place: int) -> Iterator[tuple[PlanNode, InformationState]]:
        """Yield what a probe's answers lead to."""
        state, step = self.states[place], self.nodes[place].step
        if state is None or not isinstance(step, Reprobe):
            return
        whole, channel = self.nodes[place].probability, state.probe(step.probe).channel
        if isinstance(channel, Outcomes):
            for outcome, p in zip(channel.outcomes, (state.posterior @ channel.table).tolist(), strict=True):
                if p > NEVER:
                    after = state.after(Observation(step.probe, outcome))
                    then = self._asked(after)
                    loss = 0.0 if isinstance(then, Reprobe) else _priced(after, then)
                    yield PlanNode(then, whole * p, loss, place, answer=outcome), after
        elif isinstance(channel, Readings):
            bands = _Bands(state, step.probe, channel, self._asked)
            for node, after in bands.nodes():
                yield replace(node, parent=place, probability=whole * node.probability), after

    def _count(self) -> None:
        """Say what every node costs, from the last one found to the first."""
        for place in range(len(self.nodes) - 1, -1, -1):
            node, state = self.nodes[place], self.states[place]
            if state is None or not isinstance(node.step, Reprobe):
                continue
            below = self.below.get(place)
            if below is None:
                self.nodes[place] = replace(node, loss=self._promised(state, node.step), beyond=True)
                continue
            whole = math.fsum(self.nodes[i].probability for i in below)
            rest = math.fsum(self.nodes[i].probability / whole * self.nodes[i].loss for i in below)
            self.nodes[place] = replace(node, loss=state.probe(node.step.probe).cost + rest)

    def _promised(self, state: InformationState, step: Reprobe) -> float:
        """Return what going on costs at most, where that is known without following the policy further."""
        last_look = float(probe_values(state, (step.probe,)).expected_loss[0])
        if isinstance(self.policy, CertifyingPolicy):
            return min(last_look, self.policy.bounds(state).upper)
        return last_look


def _priced(state: InformationState, step: Step) -> float:
    return math.nan if isinstance(step, Reprobe) else max(0.0, price(state, step).loss)


@dataclass(frozen=True, slots=True)
class _Cell:
    """An interval of readings in which a policy was asked once."""

    low: float
    high: float
    at: float
    probability: float
    likelihood: Floats
    after: InformationState
    step: Step


@dataclass(eq=False)
class _Bands:
    """The intervals of one probe's readings in which a policy takes one step."""

    state: InformationState
    probe: str
    channel: Readings
    asked: Callable[[InformationState], Step]
    known: dict[float, tuple[InformationState, Step]] = field(default_factory=dict)

    def nodes(self) -> Iterator[tuple[PlanNode, InformationState]]:
        """Yield a node for every interval, from the lowest on; its loss where it is an end."""
        for _, run in groupby(self._cells(self._cuts()), key=_alike):
            cells = list(run)
            middle = max(cells, key=lambda cell: cell.probability)
            whole = math.fsum(cell.probability for cell in cells)
            loss = math.fsum(cell.probability / whole * self._ended(cell) for cell in cells)
            ends = (cells[0].low, cells[-1].high)
            above, below = (end if math.isfinite(end) else None for end in ends)
            yield PlanNode(middle.step, whole, loss, above=above, below=below, at=middle.at), middle.after

    def _ended(self, cell: _Cell) -> float:
        if isinstance(cell.step, Reprobe):
            return 0.0
        whole = self.state.imagine(self.probe, cell.likelihood)
        return 0.0 if whole is None else _priced(whole, cell.step)

    def _at(self, reading: float) -> Step:
        if reading not in self.known:
            after = self.state.after(Observation(self.probe, reading))
            self.known[reading] = after, self.asked(after)
        return self.known[reading][1]

    def _cuts(self) -> Floats:
        """Return readings that part the intervals: even slices, where the best ending changes, where the step does."""
        (changes,) = decision_cuts(self.state, [self.state.probe(self.probe)])
        even = predictive_quantiles(self.state, self.channel, np.arange(1, SLICES) / SLICES)
        cuts = distinct(np.concatenate([even, np.zeros(0) if changes is None else changes]))
        tried = [cell.at for cell in self._cells(cuts)]
        found = [cut for a, b in pairwise(tried) for cut in self._changes(a, b)]
        return distinct(np.concatenate([cuts, found]))

    def _changes(self, low: float, high: float) -> Iterator[float]:
        """Yield where the step changes between two readings."""
        if but_for_numbers(self._at(low)) == but_for_numbers(self._at(high)):
            return
        middle = 0.5 * (low + high)
        if high - low <= SHARPEST * self.channel.sharpest or not low < middle < high:
            yield middle
            return
        yield from self._changes(low, middle)
        yield from self._changes(middle, high)

    def _cells(self, cuts: Floats) -> list[_Cell]:
        """Return the intervals between these cuts in which readings ever come, with the step in the middle of each."""
        table = self.channel.intervals(cuts)[self.channel.of]
        chance = self.state.posterior @ table
        done = np.cumsum(chance) - 0.5 * chance
        middles = predictive_quantiles(self.state, self.channel, done)
        found = []
        for k, (low, high) in enumerate(pairwise([-math.inf, *cuts.tolist(), math.inf])):
            if chance[k] > NEVER:
                at = _inside(float(middles[k]), low, high)
                step = self._at(at)
                found.append(_Cell(low, high, at, float(chance[k]), table[:, k], self.known[at][0], step))
        return found


def _alike(cell: _Cell) -> object:
    """Return what two neighbouring intervals must have in common to be one.

    Before a further look that is also what would be done without it: what follows differs with that, as a rule.
    """
    if isinstance(cell.step, Reprobe):
        return cell.step, but_for_numbers(best_terminal(cell.after).decision)
    return but_for_numbers(cell.step)


def _inside(reading: float, low: float, high: float) -> float:
    """Return a reading in an interval, this one if it lies there."""
    if low < reading < high:
        return reading
    return 0.5 * (low + high) if math.isfinite(low + high) else high if math.isfinite(high) else low


def _partings(one: PlanTree, other: PlanTree) -> Iterator[Parting]:
    """Yield where two trees part, from their roots down, as long as both are followed."""
    below_one, below_other = one.children(), other.children()
    waiting: list[tuple[int, int, float, PlanNode]] = [(0, 0, 1.0, PlanNode(one.root.step, 1.0, 0.0))]
    while waiting:
        i, j, probability, here = waiting.pop()
        if but_for_numbers(one.nodes[i].step) != but_for_numbers(other.nodes[j].step):
            yield Parting(i, j, probability, here.above, here.below)
            continue
        mine, theirs = ([tree.nodes[k] for k in own] for tree, own in ((one, below_one[i]), (other, below_other[j])))
        for a, b, share, both in _common(mine, theirs):
            waiting.append((below_one[i][a], below_other[j][b], probability * share, both))


def _common(one: Sequence[PlanNode], other: Sequence[PlanNode]) -> Iterator[tuple[int, int, float, PlanNode]]:
    """Yield the answers that two nodes have in common: two places, how probable it is, and the readings."""
    if not one or not other:
        return
    if one[0].at is None:
        whole, place = math.fsum(node.probability for node in one), {node.answer: b for b, node in enumerate(other)}
        for a, node in enumerate(one):
            if node.answer in place:
                yield a, place[node.answer], node.probability / whole, replace(node, above=None, below=None)
        return
    reached = {**_reached(one), **_reached(other)}
    for a, node in enumerate(one):
        for b, their in enumerate(other):
            low, high = max(_low(node), _low(their)), min(_high(node), _high(their))
            share = reached[high] - reached[low] if low < high else 0.0
            if share > NEVER:
                yield a, b, share, replace(node, above=_finite(low), below=_finite(high))


def _reached(nodes: Sequence[PlanNode]) -> dict[float, float]:
    """Return how probable readings below each end of the intervals are."""
    whole, done, found = math.fsum(node.probability for node in nodes), 0.0, {-math.inf: 0.0, math.inf: 1.0}
    for node in nodes:
        found.setdefault(_low(node), done / whole)
        done += node.probability
        found.setdefault(_high(node), done / whole)
    return found


def _low(node: PlanNode) -> float:
    return -math.inf if node.above is None else node.above


def _high(node: PlanNode) -> float:
    return math.inf if node.below is None else node.below


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
