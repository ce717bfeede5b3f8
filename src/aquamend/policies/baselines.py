"""Policies that do without a plan or without part of the problem: what AquaMend is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState, ProbeView, rejected
from aquamend.decision.branches import branches_of
from aquamend.decision.detection import power_per_cost
from aquamend.decision.endings import TIE
from aquamend.decision.steps import Continue, Decision, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import best_terminal, correction, left_by_correcting, may_be_kept, price
from aquamend.policies.policy import Description, correctable, hand_over

CLEARED = 0.05
"""What is invalid with at most this probability is no longer looked into by the two policies that probe first."""


@dataclass(frozen=True, slots=True)
class NoReprobe:
    """Commit at once to the best terminal decision."""

    description: ClassVar[Description] = Description(
        "No re-probe",
        "The best ending at once, without looking again.",
        "#7272d8",
        "H",
        "the paper's no extra re-probe",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the best terminal decision."""
        return best_terminal(state).decision


@dataclass(frozen=True, slots=True)
class AlwaysRestart:
    """Start over, whatever happened."""

    description: ClassVar[Description] = Description(
        "Restart",
        "Start over; hand over where that is impossible.",
        "#808488",
        "<",
        "the paper's Restart",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return a restart; hand over where there is none, or none that is possible here."""
        return hand_over(state) if math.isinf(price(state, Restart()).loss) else Restart()


@dataclass(frozen=True, slots=True)
class RollbackOnly:
    """Undo everything that rests on a suspected belief, without looking (dependency-directed rollback)."""

    description: ClassVar[Description] = Description(
        "Roll back only",
        "Correct every suspect at once, to the best values there are, without looking again.",
        "#808488",
        ">",
        "rollback recovery: Elnozahy et al., ACM Computing Surveys 34(3), 2002",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the correction of all suspects that can be corrected; hand over where that is inadmissible.

        Where the graph's correction sets are no endings, the best ending.
        """
        if not state.problem.corrections:
            return best_terminal(state).decision
        stop = correction(state, correctable(state, state.suspects))
        return hand_over(state) if math.isinf(stop.loss) else stop.decision


@dataclass(frozen=True, slots=True)
class VeriTrace:
    """Undo everything that rests on what the alarm names and do it again, without looking.

    That repairs a belief without a value. One with a value keeps it, since nothing was measured: what had failed there
    fails again.
    """

    description: ClassVar[Description] = Description(
        "VeriTrace",
        "Undo all that rests on what the alarm names and do it again on the same values.",
        "#5a6068",
        ">",
        "our reading of the paper's VeriTrace (rollback only)",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the undoing of all triggers' closures, or of all suspects' where the alarm names none.

        What cannot be undone is left, or handed over where it may not be. Where the graph's correction sets are no
        endings, the best ending.
        """
        if not state.problem.corrections:
            return best_terminal(state).decision
        beliefs = {belief.name: belief for belief in state.problem.graph.beliefs}
        named = state.triggers or state.suspects
        step = undoing(state, named, repaired=tuple(name for name in named if not beliefs[name].declares))
        return hand_over(state) if step == Continue() and math.isinf(price(state, step).loss) else step


def undoing(state: InformationState, beliefs: Sequence[str], *, repaired: tuple[str, ...] = ()) -> Decision:
    """Return the undoing of all that rests on these beliefs and can be undone; nothing but repairs is corrected."""
    stuck = set(state.problem.graph.irreversible_executed)
    undo = tuple(name for name in state.problem.graph.closure(beliefs) if name not in stuck)
    mended = tuple(name for name in repaired if stuck.isdisjoint(state.problem.graph.closure([name])))
    return RollBack(mended, undo) if undo or mended else Continue()


@dataclass(frozen=True, slots=True)
class Decoupled:
    """Apply the three-way rule of Proposition 1 to every belief's marginal, whether or not its assumptions hold.

    Every belief pays its whole closure and what its own best new value leaves at risk, and its cheapest legal probe is
    taken to settle it; a probe is run again only while it can tell anything.
    """

    description: ClassVar[Description] = Description(
        "Decoupled",
        "Keep, roll back or re-probe each belief by itself, blind to what beliefs share.",
        "#9a5fc0",
        "X",
        "the paper's Decoupled",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the first re-probe that a belief prefers, else the union of the local corrections."""
        if state.contradiction is not None or not state.problem.corrections:
            return best_terminal(state).decision
        graph, correct = state.problem.graph, []
        for i, belief in enumerate(graph.beliefs):
            q, left = float(state.failure_probabilities[i]), left_by_correcting(state, i)
            keep_loss = belief.residual if belief.may_keep else math.inf
            keep, undo = _times(q, keep_loss), graph.charged(graph.belief_charges[i])
            if not may_be_kept(state, i):
                keep_loss = keep = math.inf
            probe = _cheapest(state, i)
            if probe is not None:
                settled = probe.cost + _times(q, min(undo, keep_loss))
                if min(keep, undo + left) - settled > TIE:
                    return Reprobe(probe.name)
            if keep - (undo + left) > TIE:
                correct.append(belief.name)
        stop = correction(state, correct)
        return hand_over(state) if math.isinf(stop.loss) else stop.decision


def _times(probability: float, loss: float) -> float:
    """Return p · L with 0 · ∞ = 0."""
    return probability * loss if probability > 0.0 else 0.0


def _cheapest(state: InformationState, i: int) -> ProbeView | None:
    """Return the cheapest legal probe of a belief in doubt that is new, or whose answer can still move it."""
    failed = state.problem.failed[:, i]
    possible = failed[state.posterior > 0.0]
    if possible.all() or not possible.any():
        return None
    own = state.problem.graph.direct_probes[state.problem.graph.beliefs[i].name]
    views = [view for view in state.legal if view.name in own]
    worth = [view for view in views if view.name not in state.uses or _moves(state, view.name, failed)]
    return min(worth, key=lambda view: view.cost, default=None)


def _moves(state: InformationState, probe: str, failed: Floats) -> bool:
    """Whether an answer can change the probability of this failure; else a probe would be repeated for ever."""
    joint = branches_of(state, [probe]).likelihood * state.posterior
    return bool(np.abs(joint @ failed - (state.posterior @ failed) * joint.sum(axis=1)).max() > TIE)


@dataclass(frozen=True, slots=True)
class Greedy:
    """Re-probe, most bits per cost first, until the suspects are decided; then take the best terminal decision.

    Bits are about which of the undecided suspects have failed. A suspect is decided once its probability of failure is
    0, 1 or at most 0.05, or at least one half with an answer that bears on it since the alarm. What an answer is worth
    is never asked.
    """

    description: ClassVar[Description] = Description(
        "Greedy re-probe",
        "The probe with the most information per cost about the suspects until each is decided, then the best ending.",
        "#8f8f2f",
        "d",
        "the paper's Greedy re-probe",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the most informative probe per cost, else the best stop."""
        index = state.problem.graph.belief_index
        q = state.failure_probabilities
        undecided = [index[name] for name in state.suspects if not _decided(state, name, float(q[index[name]]))]
        if state.contradiction is not None or not state.legal or not undecided:
            return best_terminal(state).decision
        bits = _information(state, state.problem.failed[:, undecided])
        cost = np.array([view.cost for view in state.legal])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return _first_best(state, np.where(bits > TIE, bits / cost, 0.0))


@dataclass(frozen=True, slots=True)
class PowerPerCost:
    """Re-probe by detection power per cost until every suspected declaration is decided; then the best ending.

    The rule of the paper's earlier tables: the probe that bears on an undecided declaration and would reject it with
    the largest probability per cost, were it invalid. Decided is what it is for ``Greedy``, with q_b in place of q_i.
    """

    description: ClassVar[Description] = Description(
        "Detection power per cost",
        "The probe with the most detection power per cost until every suspected declaration is decided, then the best "
        "ending.",
        "#56b4e9",
        "P",
        "AquaMend in the paper's T4 tables",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the probe with the most power per cost on an undecided declaration, else the best stop."""
        problem, invalid = state.problem, state.invalidity
        if invalid is None or not state.legal:
            return best_terminal(state).decision
        score = power_per_cost(state)
        for j, declaration in enumerate(problem.declarations):
            bearing = problem.graph.supporting_probes[declaration.belief]
            if declaration.belief not in state.suspects or _decided(state, declaration.belief, float(invalid[j])):
                score[:, j] = 0.0
            score[[view.name not in bearing for view in state.legal], j] = 0.0
        return _first_best(state, score.max(axis=1, initial=0.0))


def _decided(state: InformationState, belief: str, q: float) -> bool:
    """Whether what is wrong with probability q needs no further look: all but surely right, or rejected on evidence."""
    if q <= CLEARED or q >= 1.0:
        return True
    return rejected(q) and any(probe in state.uses for probe in state.problem.graph.supporting_probes[belief])


def _information(state: InformationState, failed: Floats) -> Floats:
    """Return the mutual information of each legal probe's answer and the failed set, in bits, ``(n_legal,)``."""
    branches = branches_of(state, state.legal_probes)
    patterns, pattern = np.unique(failed, axis=0, return_inverse=True)
    by_pattern = np.zeros((len(patterns), len(state.posterior)))
    by_pattern[pattern.ravel(), np.arange(len(state.posterior))] = state.posterior
    joint = branches.likelihood @ by_pattern.T
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = joint / joint.sum(axis=1, keepdims=True) / by_pattern.sum(axis=1)
        bits = np.where(joint > 0, joint * np.log2(ratio), 0.0).sum(axis=1)
    return np.asarray(np.add.reduceat(bits, branches.first))


def _first_best(state: InformationState, score: Floats) -> Step:
    """Return the first legal probe of the highest score, else, where none scores, the best terminal decision."""
    if not score.max(initial=0.0) > 0.0:
        return best_terminal(state).decision
    return Reprobe(state.legal_probes[int(np.argmax(score >= score.max() * (1 - 1e-12)))])


POLICIES = {
    "decoupled": Decoupled,
    "greedy": Greedy,
    "power-per-cost": PowerPerCost,
    "rollback-only": RollbackOnly,
    "veritrace": VeriTrace,
    "restart": AlwaysRestart,
    "no-reprobe": NoReprobe,
}
