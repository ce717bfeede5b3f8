"""The three-way rule belief by belief, blind to what beliefs share."""

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

    Every belief pays its whole closure, and its cheapest legal probe is taken to resolve it; a probe is run again only
    while it can tell anything. Where only a world's own plans can end the recovery, it takes the best of them.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return the first re-probe that a belief prefers, else the union of the local corrections."""
        if state.contradiction is not None or not state.problem.corrections:
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
            own = [
                p for p in graph.direct_probes[belief.name] if p in state.legal_probes and _worth_running(state, p, i)
            ]
            probe = min(own, key=cost.__getitem__, default=None)
            if probe is not None and q < 1 - TIE:
                reprobe = cost[probe] + q * min(rollback, keep_loss)
                if min(keep, rollback) - reprobe > TIE:
                    return Reprobe(probe)
            if keep - rollback > TIE:
                correct.add(belief.name)
        stop = stop_after_correcting(state, correct)
        return Escalate() if math.isinf(stop.loss) else stop.decision


def _worth_running(state: InformationState, probe: str, belief: int) -> bool:
    """Whether the probe is new, or an answer can still move the belief's probability: else it would repeat for ever."""
    if probe not in state.uses:
        return True
    joint = branches_of(state, [probe]).likelihood * state.posterior
    q = state.failure_probabilities[belief]
    return bool(np.abs(joint @ state.problem.failed[:, belief] - q * joint.sum(axis=1)).max() > TIE)
