"""Observe or repair, one observation ahead: what policies with a repair plan of their own have in common.

A plan is priced in every branch at once; ``joint`` losses are times the branch's probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.belief.support import spoken
from aquamend.decision.branches import branches_of
from aquamend.decision.endings import Endings, endings_of
from aquamend.decision.probe_value import best_probe
from aquamend.decision.steps import Decision, Reprobe
from aquamend.decision.terminal import best_terminal, price

Priced = Callable[[Floats, Bools], Floats]
"""From branch weights, ``(n_branches, n_hypotheses)``, and who speaks for what, to each branch's joint loss."""


def spoken_at(state: InformationState) -> Bools:
    """Return who speaks for what now, ``(n_pairs,)``."""
    return spoken(endings_of(state.problem).support, state)


def observation(state: InformationState, loss: Priced, weight: Floats) -> Reprobe | None:
    """Return the first observation of least cost plus expected loss after it, if that beats the loss now."""
    if not state.legal:
        return None
    branches = branches_of(state, state.legal_probes)
    endings, mass = endings_of(state.problem), float(weight.sum())
    now = float(_at_worst(endings, loss, weight[None, :], spoken_at(state)[None, :])[0]) / mass
    after = _at_worst(endings, loss, branches.likelihood * weight, branches.speaks)
    best = best_probe(branches.cost + np.add.reduceat(after, branches.first) / mass, now)
    return None if best is None else Reprobe(branches.probes[best])


def _at_worst(endings: Endings, loss: Priced, weights: Floats, speaks: Bools) -> Floats:
    """Return each branch's joint loss; that of a last resort where nothing else is admissible."""
    own = loss(weights, speaks)
    if not endings.others.last_resorts or not np.isinf(own).any():
        return own
    last = np.min([expected_joint(weights, ending.loss) for ending in endings.others.last_resorts], axis=0)
    return np.where(np.isinf(own), last, own)


def expected_joint(weights: Floats, loss: Floats) -> Floats:
    """Return Σ_s w(s) ℓ(s) of every branch, with 0 · ∞ = 0."""
    endless = np.isinf(loss)
    finite = weights @ np.where(endless, 0.0, loss)
    return np.where(weights @ endless > 0.0, math.inf, finite) if endless.any() else np.asarray(finite)


def service_losses(endings: Endings, weights: Floats) -> Floats:
    """Return the joint loss of the best plan, restart or escalation in every branch; infinite where there is none."""
    least = np.full(len(weights), math.inf)
    for ending in endings.others.usual:
        least = np.minimum(least, expected_joint(weights, ending.loss))
    return least


def call_service(state: InformationState) -> Decision:
    """Return the cheapest plan, restart or escalation here, else whatever ending is best."""
    stops = [price(state, ending.decision) for ending in endings_of(state.problem).others.usual]
    best = min(stops, key=lambda stop: stop.loss, default=None)
    return best_terminal(state).decision if best is None or math.isinf(best.loss) else best.decision
