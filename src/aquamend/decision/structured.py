"""The structured regime: when Proposition 1 applies, and its three-way rule.

For every belief under suspicion the least of three losses decides,

    keep: q_i L̄_i        roll back: B_i + L_i r_i        re-probe: c_i + q_i min(B_i, L̄_i),

with B_i the cost of undoing its closure, r_i the probability that the value declared by a correction is wrong (0 for a
repair), c_i the cost of its fully resolving probe, and L̄_i the residual, or infinity where keeping is inadmissible. A
correction made now may leave something wrong; one made after the resolving probe must leave nothing, as Assumption 2
asks. What that probe finds valid may always be kept, as Assumption 3 asks: it cannot be wrong, so it needs no support.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.steps import Restart, RollBack
from aquamend.decision.terminal import left_by_correcting, may_be_kept
from aquamend.problem.graph.recovery_graph import bits
from aquamend.problem.model.kernels import Outcomes

MOST_NAMED = 5
"""Pairs of beliefs named one by one; the rest are counted."""

SAME = 1e-9
"""Relative difference of two probabilities, and difference of two likelihoods, that independence allows."""


@dataclass(frozen=True, slots=True)
class LocalCosts:
    """What Proposition 1 compares for one belief."""

    belief: str
    failure_probability: float
    rollback: float
    """B_i + L_i r_i: undoing its closure, and what the value declared now may leave wrong."""
    keep_loss: float
    """L̄_i: the residual, or infinity where keeping is inadmissible."""
    probe: str | None
    """The designated fully resolving probe; None once the belief is resolved or where it has none left."""
    probe_cost: float
    """c_i; infinite without a probe."""
    if_failed: float | None = None
    """Loss once the failure is certain; None: the lesser of ``rollback`` and ``keep_loss``."""

    @property
    def keep(self) -> float:
        """Loss of keeping and ignoring, q·L̄ with 0 · ∞ = 0."""
        return self.failure_probability * self.keep_loss if self.failure_probability > 0 else 0.0

    @property
    def reprobe(self) -> float:
        """Loss of probing and acting on the answer, c + q·min(B, L̄)."""
        corrected = min(self.rollback, self.keep_loss) if self.if_failed is None else self.if_failed
        return self.probe_cost + (self.failure_probability * corrected if self.failure_probability > 0 else 0.0)

    @property
    def best(self) -> float:
        """The least of the three."""
        return min(self.keep, self.rollback, self.reprobe)


def local_costs(state: InformationState) -> list[LocalCosts]:
    """Return the three-way comparison of every belief under suspicion, in graph order (Eq. 4)."""
    return [_local_costs(state, belief) for belief in _concerned(state)]


def _concerned(state: InformationState) -> list[int]:
    index = state.problem.graph.belief_index
    return [index[name] for name in state.suspects]


def _local_costs(state: InformationState, i: int) -> LocalCosts:
    graph = state.problem.graph
    belief, undo = graph.beliefs[i], graph.charged(graph.belief_charges[i])
    probe = _resolving_probe(state, i) if _open(state, i) else None
    keep_loss = belief.residual if belief.may_keep else math.inf
    known = min(undo, math.inf if belief.needs_support else keep_loss)  # what surely failed has no support
    return LocalCosts(
        belief=belief.name,
        failure_probability=float(state.failure_probabilities[i]),
        rollback=undo + left_by_correcting(state, i),
        keep_loss=keep_loss if may_be_kept(state, i) else math.inf,
        probe=probe,
        probe_cost=math.inf if probe is None else graph.probes[graph.probe_index[probe]].cost,
        if_failed=known,
    )


def _open(state: InformationState, i: int) -> bool:
    """Whether the belief may have failed and may hold."""
    failed = state.problem.failed[state.posterior > 0, i] > 0
    return bool(failed.any() and not failed.all())


@computed_once
def _resolving_probe(state: InformationState, i: int) -> str | None:
    """Return the cheapest legal probe of the belief that settles whether it failed, or None."""
    graph = state.problem.graph
    own = [p for p in graph.direct_probes[graph.beliefs[i].name] if p in state.legal_probes and resolves(state, p, i)]
    return min(own, key=lambda p: graph.probes[graph.probe_index[p]].cost, default=None)


def resolves(state: InformationState, probe: str, belief: int) -> bool:
    """Whether no answer of the probe is possible both with and without the belief's failure (Assumption 3)."""
    channel = state.problem.model.channels[probe]
    if not isinstance(channel, Outcomes):
        return False  # continuous densities overlap
    failed = state.problem.failed[:, belief] > 0
    possible = state.posterior > 0
    with_failure = (channel.table[failed & possible] > 0).any(axis=0)
    without = (channel.table[~failed & possible] > 0).any(axis=0)
    return not bool((with_failure & without).any())


def violations(state: InformationState) -> list[str]:
    """Return every way in which Assumptions 1–3 or finite rollback costs fail here, naming who breaks them."""
    if state.contradiction is not None:
        return [f"model: {state.contradiction} is impossible under every hypothesis, so no posterior is left"]
    if not state.problem.corrections:
        return ["corrections: the problem has none, so that beliefs can neither be kept nor corrected one by one"]
    graph, beliefs = state.problem.graph, _concerned(state)
    aspects = np.zeros((len(state.posterior), len(beliefs)), dtype=np.intp)
    for k, i in enumerate(beliefs):
        aspects[:, k] = _aspect(state, i)
    found = list(_dependence(state, beliefs, aspects))
    found += _shared_closures(state, beliefs)
    found += _probe_violations(state, beliefs, aspects)
    found += _shared_terminals(state)
    for i, belief in enumerate(graph.beliefs):
        found += _doubtful_support(state, i) if belief.needs_support else ()
        if state.failure_probabilities[i] > 0 and math.isinf(graph.charged(graph.belief_charges[i])):
            found.append(f"finite rollback cost: {belief.name!r} cannot be corrected at a finite cost")
    return found


def _aspect(state: InformationState, i: int) -> Indices:
    """Return what matters of a belief under each hypothesis: whether it failed, and how far new values would be wrong.

    Shape ``(n_hypotheses,)``; hypotheses that agree on it have the same number.
    """
    columns = [state.problem.failed[:, i]]
    if state.problem.graph.beliefs[i].declares:
        columns += [value.wrong for value in state.problem.new_values[i]]
    possible = state.posterior > 0
    rows = np.where(possible[:, None], np.column_stack(columns), -1.0)
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], dtype=np.intp).ravel()


def _dependence(state: InformationState, beliefs: Sequence[int], aspects: Indices) -> Iterator[str]:
    """Yield a violation of Assumption 1 where what matters of the beliefs is not mutually independent."""
    names = [state.problem.graph.beliefs[i].name for i in beliefs]
    possible = state.posterior > 0
    p, aspects = state.posterior[possible], aspects[possible]
    pairs: list[tuple[str, str]] = []
    for a in range(len(beliefs)):  # row by row: with many beliefs the first few tell
        pairs += [(names[a], names[b]) for b in range(a + 1, len(beliefs)) if not independent(p, aspects[:, [a, b]])]
        if len(pairs) > MOST_NAMED:
            break
    for first, second in pairs[:MOST_NAMED]:
        yield f"Assumption 1 (independent failures): {first!r} and {second!r} do not fail independently"
    if len(pairs) > MOST_NAMED:
        yield "Assumption 1 (independent failures): nor do more pairs of beliefs"
    if not pairs and not independent(p, aspects):
        listed = ", ".join(repr(name) for name in names)
        yield f"Assumption 1 (independent failures): {listed} are pairwise but not jointly independent"


def independent(p: Floats, aspects: Indices, *, within: float = SAME) -> bool:
    """Whether every combination of aspects has the product of their probabilities, up to this share of it.

    ``aspects`` are labels from zero on, ``(n_hypotheses, n_aspects)``.
    """
    patterns, which = np.unique(aspects, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights=p, minlength=len(patterns))
    product = np.ones(len(patterns))
    combinations = 1.0
    for pattern, aspect in zip(patterns.T, aspects.T, strict=True):
        marginal = np.bincount(aspect, weights=p)
        product *= marginal[pattern]
        combinations *= np.count_nonzero(marginal)
    alike = np.abs(mass - product) <= within * np.maximum(mass, product)
    return bool(alike.all()) and combinations == np.count_nonzero(mass)


def _shared_closures(state: InformationState, beliefs: Sequence[int]) -> Iterator[str]:
    graph = state.problem.graph
    seen, named = 0, 0
    for k, a in enumerate(beliefs):
        mask = graph.belief_charges[a]
        if not mask & seen:
            seen |= mask
            continue
        for b in beliefs[:k]:
            common = mask & graph.belief_charges[b]
            if not common:
                continue
            if named == MOST_NAMED:
                yield "Assumptions 1 and 2 (disjoint downstreams): so do more pairs of beliefs"
                return
            named += 1
            charges = ", ".join(repr(graph.charges[c].name) for c in bits(common))
            pair = f"{graph.beliefs[b].name!r} and {graph.beliefs[a].name!r}"
            yield f"Assumptions 1 and 2 (disjoint downstreams): {pair} share {charges}"
        seen |= mask


def _probe_violations(state: InformationState, beliefs: Sequence[int], aspects: Indices) -> Iterator[str]:
    """Yield where a belief lacks a resolving probe (Assumption 3), or a probe is not belief-local (Assumption 1)."""
    graph = state.problem.graph
    cost = {probe.name: probe.cost for probe in graph.probes}
    designated: dict[int, str] = {}
    for i in beliefs:
        name, probe = graph.beliefs[i].name, _resolving_probe(state, i) if _open(state, i) else None
        if probe is not None:
            designated[i] = probe
        elif _open(state, i):
            yield f"Assumption 3 (fully resolving probe): no legal probe of {name!r} settles whether it failed"
        yield from _unfinished(state, i, probe)
    for probe in state.legal_probes:
        yield from _locality(state, probe, beliefs, aspects, designated)
        yield from _support_given(state, probe, beliefs, designated)
    total = sum(cost[probe] for probe in designated.values())
    left = state.problem.sensing_budget - state.spent
    if total > left + TIE:
        yield (
            f"Assumption 1 (no binding budget): resolving all of them costs {total:g}, more than the {left:g} left "
            "of the sensing budget"
        )


def _unfinished(state: InformationState, i: int, probe: str | None) -> Iterator[str]:
    """Yield where a belief that has failed, once resolved, is not corrected as Assumption 2 asks.

    One that surely holds may be kept without support, as Assumption 3 asks.
    """
    problem, belief = state.problem, state.problem.graph.beliefs[i]
    if not belief.declares and problem.graph.undo_chances[i] == 1.0:
        return
    ends = [] if _open(state, i) else [("", state)]
    if probe is not None:
        channel = problem.model.channels[probe]
        rows = channel.table.T if isinstance(channel, Outcomes) else ()
        answers = zip(getattr(channel, "outcomes", ()), rows, strict=True)
        ends = [
            (f" once {probe!r} answers {answer}", end)
            for answer, row in answers
            if (end := state.imagine(probe, row)) is not None
        ]
    for when, end in ends:
        left = left_by_correcting(end, i) if end.failure_probabilities[i] > 0 else 0.0
        if left > 0:
            what = "no value may be declared" if math.isinf(left) else f"{left:g} of its loss is left on average"
            yield f"Assumption 2 (correction removes the failure): {belief.name!r} has failed{when}, and {what}"


def _doubtful_support(state: InformationState, i: int) -> Iterator[str]:
    """Yield where the support of a belief hangs on a source that is itself in question."""
    graph = state.problem.graph
    sources = dict.fromkeys(graph.probes[m].source for m in state.problem.evidence_for[i])
    for source in sources:
        if source is not None and _open(state, graph.belief_index[source]):
            name = graph.beliefs[i].name
            yield f"Assumption 1 (separable decisions): the support of {name!r} hangs on whether {source!r} holds"


def _locality(
    state: InformationState, probe: str, beliefs: Sequence[int], aspects: Indices, designated: Mapping[int, str]
) -> Iterator[str]:
    """Yield if a probe tells of several beliefs, or of one more cheaply than the probe designated for it.

    A probe whose answer hangs on one belief alone, and costs no less than its resolving probe, changes no decision. Any
    other beside the designated ones might, if only together with a third.
    """
    graph = state.problem.graph
    nothing, columns = np.zeros(len(aspects), dtype=np.intp), range(len(beliefs))
    if probe in designated.values():
        own = [k for k in columns if _local(state, probe, aspects[:, k], np.delete(aspects, k, axis=1))]
    elif _hangs_on(state, probe, nothing):
        return
    else:
        own = [k for k in columns if _hangs_on(state, probe, aspects[:, k])]
    if not own:
        what = [graph.beliefs[beliefs[k]].name for k in columns if not _local(state, probe, nothing, aspects[:, [k]])]
        listed = " and ".join(map(repr, what)) or "several beliefs together"
        yield f"Assumption 1 (belief-local probes): the answer of {probe!r} tells of {listed}"
    for k in own:
        yield from _cheaper(state, probe, beliefs[k], designated, "tells of")


def _cheaper(
    state: InformationState, probe: str, belief: int, designated: Mapping[int, str], does: str
) -> Iterator[str]:
    graph, rival = state.problem.graph, designated.get(belief)
    if rival is not None and rival != probe and state.probe(probe).cost < state.probe(rival).cost - TIE:
        yield (
            f"Assumption 3 (fully resolving probe): {probe!r} {does} {graph.beliefs[belief].name!r} for less than "
            f"{rival!r}, which resolves it, so the three-way comparison leaves out an option"
        )


def _support_given(
    state: InformationState, probe: str, beliefs: Sequence[int], designated: Mapping[int, str]
) -> Iterator[str]:
    """Yield if a probe would give support to several beliefs, or for less than the one designated does."""
    problem, graph, m = state.problem, state.problem.graph, state.probe(probe).index
    reads = [i for i in beliefs if graph.beliefs[i].needs_support and m in problem.evidence_for[i]]
    owners = [i for i, own in designated.items() if own == probe]
    for i in reads:
        name = graph.beliefs[i].name
        if owners and i not in owners:
            yield f"Assumption 1 (belief-local probes): {probe!r} also supports {name!r}"
        yield from _cheaper(state, probe, i, designated, "supports")
    if len(reads) > 1 and not owners:
        listed = " and ".join(repr(graph.beliefs[i].name) for i in reads)
        yield f"Assumption 1 (belief-local probes): {probe!r} supports {listed} together"


def _hangs_on(state: InformationState, probe: str, own: Indices) -> bool:
    """Whether hypotheses that agree on this aspect answer alike."""
    channel, possible = state.problem.model.channels[probe], state.posterior > 0
    for aspect in np.unique(own[possible]):
        here = possible & (own == aspect)
        if isinstance(channel, Outcomes):
            if not _alike(channel.table[here]):
                return False
        elif len(np.unique(channel.of[here])) > 1:
            return False
    return True


def _alike(rows: Floats) -> bool:
    """Whether all rows are the same distribution, and leave the same answers possible."""
    return bool((np.abs(rows - rows[:1]) <= SAME).all() and ((rows > 0) == (rows[:1] > 0)).all())


def _local(state: InformationState, probe: str, own: Indices, others: Indices) -> bool:
    """Whether the probe's answer is independent of what matters of the other beliefs, given its own belief."""
    channel, possible = state.problem.model.channels[probe], state.posterior > 0
    if not isinstance(channel, Outcomes):
        return False
    for aspect in np.unique(own[possible]):
        here = possible & (own == aspect)
        weight = state.posterior[here] / state.posterior[here].sum()
        patterns, which = np.unique(others[here], axis=0, return_inverse=True)
        answers = np.zeros((len(patterns), channel.table.shape[1]))
        np.add.at(answers, which.ravel(), weight[:, None] * channel.table[here])
        if not _alike(answers / answers.sum(axis=1, keepdims=True)):
            return False
    return True


def _shared_terminals(state: InformationState) -> Iterator[str]:
    """Yield where a decision for all beliefs at once could beat the local ones (separable terminal decisions)."""
    # At worst each belief that may have failed is corrected or kept, whichever is cheaper; local decisions never
    # expect to pay more.
    together = sum(
        min(local.rollback, local.keep_loss) for local in local_costs(state) if local.failure_probability > 0
    )
    for ending in endings_of(state.problem).others.usual:
        loss = float(ending.loss[state.posterior > 0].min())
        if isinstance(ending.decision, RollBack):
            yield f"Assumption 1 (separable terminal decisions): the plan {ending.decision.plan!r} joins beliefs"
        elif loss < together - TIE:
            name = "restart" if isinstance(ending.decision, Restart) else "escalate"
            yield (
                f"Assumption 1 (separable terminal decisions): {name} at {loss:g} is cheaper than correcting or "
                f"keeping every suspect for {together:g}, so the beliefs cannot be decided one by one"
            )
