"""Policies that judge beliefs or probes one at a time, blind to what they share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.decision.probe_value import branches_of
from aquamend.decision.steps import Escalate, Reprobe, Step
from aquamend.decision.terminal import TIE, best_terminal, stop_after_correcting
from aquamend.inference import InformationState


@dataclass(frozen=True, slots=True)
class Decoupled:
    """Apply the three-way rule of Proposition 1 to every belief's marginal, whether or not its assumptions hold.

    Every belief pays its whole closure, and its cheapest legal probe is taken to resolve it.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return the first re-probe that a belief prefers, else the union of the local corrections."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        graph = state.problem.graph
        cost = {probe.name: probe.cost for probe in graph.probes}
        correct = set()
        for i, belief in enumerate(graph.beliefs):
            q = float(state.failure_probabilities[i])
            if q <= 0.0:
                continue
            keep_loss = belief.residual if belief.may_keep else math.inf
            keep, rollback = q * keep_loss, graph.charged(graph.belief_charges[i])
            own = [p for p in graph.direct_probes[belief.name] if p in state.legal_probes]
            probe = min(own, key=cost.__getitem__, default=None)
            if probe is not None and q < 1 - TIE:
                reprobe = cost[probe] + q * min(rollback, keep_loss)
                if min(keep, rollback) - reprobe > TIE:
                    return Reprobe(probe)
            if keep - rollback > TIE:
                correct.add(belief.name)
        stop = stop_after_correcting(state, correct)
        return Escalate() if math.isinf(stop.loss) else stop.decision


@dataclass(frozen=True, slots=True)
class Greedy:
    """Re-probe while any legal probe still informs, most bits per cost first; then take the best terminal decision.

    Bits are about which beliefs failed. What an answer could change is not asked, nor what it is worth.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return the most informative probe per cost, else the best stop."""
        if state.contradiction is not None or not state.legal_probes:
            return best_terminal(state).decision
        branches = branches_of(state, state.legal_probes)
        _, pattern = np.unique(state.problem.failed, axis=0, return_inverse=True)
        by_pattern = np.zeros((pattern.max() + 1, len(state.posterior)))
        by_pattern[pattern.ravel(), np.arange(len(state.posterior))] = state.posterior
        joint = branches.likelihood @ by_pattern.T
        mass = joint.sum(axis=1)
        prior = by_pattern.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where(joint > 0, joint * np.log2(joint / (mass[:, None] * prior)), 0.0).sum(axis=1)
            information = np.add.reduceat(bits, branches.first)
            score = np.where(information > TIE, information / branches.cost, 0.0)
        if score.max() <= 0.0:
            return best_terminal(state).decision
        return Reprobe(branches.probes[int(np.flatnonzero(score >= score.max() * (1 - 1e-12))[0])])
