"""Greedy re-probing: information first, its worth never asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aquamend.decision.probe_value import branches_of
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import TIE, best_terminal
from aquamend.inference import InformationState


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
