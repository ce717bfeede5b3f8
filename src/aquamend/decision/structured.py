"""The structured regime: when Proposition 1 applies, and its three-way rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.graph.recovery_graph import bits
from aquamend.inference import InformationState
from aquamend.model.kernels import OutcomeTable

MOST_NAMED = 5
"""Pairs of beliefs named one by one; the rest are counted."""

SAME = 1e-9
"""Probabilities closer than this are taken as equal when independence is checked."""


@dataclass(frozen=True, slots=True)
class LocalCosts:
    """What Proposition 1 compares for one belief."""

    belief: str
    failure_probability: float
    rollback: float
    """B_i."""
    keep_loss: float
    """L̄_i: the residual, or infinity where keeping is inadmissible."""
    probe: str | None
    """The designated fully resolving probe; None once the belief is resolved or where it has none left."""
    probe_cost: float
    """r_i; infinite without a probe."""

    @property
    def keep(self) -> float:
        """Loss of keeping and ignoring, q·L̄ with 0 · ∞ = 0."""
        return self.failure_probability * self.keep_loss if self.failure_probability > 0 else 0.0

    @property
    def reprobe(self) -> float:
        """Loss of probing and acting on the answer, r + q·min(B, L̄)."""
        corrected = min(self.rollback, self.keep_loss)
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
    belief = graph.beliefs[i]
    q = float(state.failure_probabilities[i])
    probe = None if q <= SAME or q >= 1 - SAME else _resolving_probe(state, i)
    return LocalCosts(
        belief=belief.name,
        failure_probability=0.0 if q <= SAME else q,
        rollback=graph.charged(graph.belief_charges[i]),
        keep_loss=belief.residual if belief.may_keep else math.inf,
        probe=probe,
        probe_cost=math.inf if probe is None else graph.probes[graph.probe_index[probe]].cost,
    )


def _resolving_probe(state: InformationState, i: int) -> str | None:
    """Return the cheapest legal probe of the belief that settles whether it failed, or None."""
    graph = state.problem.graph
    own = [p for p in graph.direct_probes[graph.beliefs[i].name] if p in state.legal_probes and resolves(state, p, i)]
    return min(own, key=lambda p: graph.probes[graph.probe_index[p]].cost, default=None)


def resolves(state: InformationState, probe: str, belief: int) -> bool:
    """Whether no answer of the probe is possible both with and without the belief's failure (Assumption 3)."""
    table = state.problem.model.tables[probe]
    if not isinstance(table, OutcomeTable):
        return False  # normal densities overlap everywhere
    failed = state.problem.failed[:, belief] > 0
    possible = state.posterior > 0
    with_failure = (table.likelihood[failed & possible] > 0).any(axis=0)
    without = (table.likelihood[~failed & possible] > 0).any(axis=0)
    return not bool((with_failure & without).any())


def violations(state: InformationState) -> list[str]:
    """Return every way in which Assumptions 1–3 or finite rollback costs fail here, naming who breaks them."""
    if state.contradiction is not None:
        return [f"model: {state.contradiction} is impossible under every hypothesis, so no posterior is left"]
    beliefs = _concerned(state)
    found = list(_dependence(state, beliefs))
    found += _shared_closures(state, beliefs)
    found += _probe_violations(state, beliefs)
    found += _shared_terminals(state, beliefs)
    graph = state.problem.graph
    for i in beliefs:
        if state.failure_probabilities[i] > SAME and math.isinf(graph.charged(graph.belief_charges[i])):
            found.append(f"finite rollback cost: {graph.beliefs[i].name!r} cannot be corrected at a finite cost")
    return found


def _dependence(state: InformationState, beliefs: Sequence[int]) -> Iterator[str]:
    """Yield a violation of Assumption 1 where the failure indicators are not mutually independent."""
    names = [state.problem.graph.beliefs[i].name for i in beliefs]
    z = state.problem.failed[:, beliefs]
    q = state.failure_probabilities[beliefs]
    pairs: list[tuple[str, str]] = []
    for a in range(len(beliefs)):  # row by row: with many beliefs the first few tell
        covariance = (state.posterior * z[:, a]) @ z[:, a + 1 :] - q[a] * q[a + 1 :]
        pairs += [(names[a], names[a + 1 + b]) for b in np.flatnonzero(np.abs(covariance) > SAME)]
        if len(pairs) > MOST_NAMED:
            break
    for first, second in pairs[:MOST_NAMED]:
        yield f"Assumption 1 (independent failures): {first!r} and {second!r} do not fail independently"
    if len(pairs) > MOST_NAMED:
        yield "Assumption 1 (independent failures): nor do more pairs of beliefs"
    if not pairs and not _mutually_independent(state.posterior, z, q):
        listed = ", ".join(repr(name) for name in names)
        yield f"Assumption 1 (independent failures): {listed} are pairwise but not jointly independent"


def _mutually_independent(posterior: NDArray[np.float64], z: NDArray[np.float64], q: NDArray[np.float64]) -> bool:
    patterns, inverse = np.unique(z, axis=0, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=posterior, minlength=len(patterns))
    product = np.where(patterns > 0, q, 1.0 - q).prod(axis=1)
    return bool(np.abs(mass - product).max(initial=0.0) <= SAME and abs(product.sum() - 1.0) <= SAME * len(patterns))


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


def _probe_violations(state: InformationState, beliefs: Sequence[int]) -> Iterator[str]:
    """Yield where a belief lacks a resolving probe (Assumption 3), or a probe is not belief-local (Assumption 1)."""
    graph = state.problem.graph
    cost = {probe.name: probe.cost for probe in graph.probes}
    designated: dict[int, str] = {}
    for i in beliefs:
        if not SAME < float(state.failure_probabilities[i]) < 1 - SAME:
            continue
        probe = _resolving_probe(state, i)
        if probe is None:
            name = graph.beliefs[i].name
            yield f"Assumption 3 (fully resolving probe): no legal probe of {name!r} settles whether it failed"
        else:
            designated[i] = probe
    for probe in state.legal_probes:
        yield from _locality(state, probe, beliefs, designated, cost)
    total = sum(cost[probe] for probe in designated.values())
    left = state.problem.sensing_budget - state.spent
    if total > left + SAME:
        yield (
            f"Assumption 1 (no binding budget): resolving all of them costs {total:g}, more than the {left:g} left "
            "of the sensing budget"
        )


def _locality(
    state: InformationState,
    probe: str,
    beliefs: Sequence[int],
    designated: Mapping[int, str],
    cost: Mapping[str, float],
) -> Iterator[str]:
    """Yield if a probe tells of several beliefs, or of one more cheaply than the probe designated for it.

    A probe whose answer hangs on one belief's failure alone, and costs no less than its resolving probe, changes no
    decision. Any other beside the designated ones might, if only together with a third.
    """
    graph, z = state.problem.graph, state.problem.failed
    nothing = np.zeros(len(z))
    if probe in designated.values():
        owners = [i for i in beliefs if _local(state, probe, z[:, i], z[:, [j for j in beliefs if j != i]])]
    elif _hangs_on(state, probe, nothing):
        return
    else:
        owners = [i for i in beliefs if _hangs_on(state, probe, z[:, i])]
    if not owners:
        told = [graph.beliefs[i].name for i in beliefs if not _local(state, probe, nothing, z[:, [i]])]
        listed = " and ".join(map(repr, told)) or "several beliefs together"
        yield f"Assumption 1 (belief-local probes): the answer of {probe!r} tells of {listed}"
    for i in owners:
        rival = designated.get(i)
        if rival is not None and rival != probe and cost[probe] < cost[rival] - SAME:
            yield (
                f"Assumption 3 (fully resolving probe): {probe!r} tells of {graph.beliefs[i].name!r} for less than "
                f"{rival!r}, which resolves it, so the three-way comparison leaves out an option"
            )


def _hangs_on(state: InformationState, probe: str, own: NDArray[np.float64]) -> bool:
    """Whether hypotheses that agree on this failure answer alike."""
    table = state.problem.model.tables[probe]
    rows = table.likelihood if isinstance(table, OutcomeTable) else np.column_stack([table.mean, table.sd])
    groups = [rows[(own == value) & (state.posterior > 0)] for value in (0.0, 1.0)]
    return all(np.abs(group - group[:1]).max(initial=0.0) <= SAME for group in groups)


def _local(state: InformationState, probe: str, own: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether the probe's answer is independent of the other beliefs' failures, given its own belief's."""
    table = state.problem.model.tables[probe]
    if not isinstance(table, OutcomeTable):
        return False
    for value in (0.0, 1.0):
        here = (own == value) & (state.posterior > 0)
        if not here.any():
            continue
        weight = state.posterior[here] / state.posterior[here].sum()
        patterns, inverse = np.unique(others[here], axis=0, return_inverse=True)
        answers = np.zeros((len(patterns), table.likelihood.shape[1]))
        np.add.at(answers, inverse.ravel(), weight[:, None] * table.likelihood[here])
        answers /= answers.sum(axis=1, keepdims=True)
        if np.abs(answers - answers[0]).max() > SAME:
            return False
    return True


def _shared_terminals(state: InformationState, beliefs: Sequence[int]) -> Iterator[str]:
    """Yield where a decision for all beliefs at once could beat the local ones (separable terminal decisions)."""
    problem = state.problem
    # At worst each belief that may have failed is corrected or kept, whichever is cheaper; local decisions never
    # expect to pay more.
    together = sum(
        min(local.rollback, local.keep_loss) for local in local_costs(state) if local.failure_probability > SAME
    )
    for name, loss in (("restart", problem.restart_loss), ("escalate", problem.escalate_loss)):
        if loss < together - SAME:
            yield (
                f"Assumption 1 (separable terminal decisions): {name} at {loss:g} is cheaper than correcting or "
                f"keeping every suspect for {together:g}, so the beliefs cannot be decided one by one"
            )
    if problem.plans:
        yield "Assumption 1 (separable terminal decisions): the world's own plans join beliefs"
