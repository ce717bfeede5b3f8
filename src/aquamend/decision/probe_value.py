"""What every probe is worth: V_stop now against its cost plus the expected V_stop after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, expected
from aquamend.belief.state import TINY
from aquamend.belief.support import spoken
from aquamend.caching import computed_once
from aquamend.deadline import check_deadline
from aquamend.decision.branches import Branches, branches_of
from aquamend.decision.endings import TIE, endings_of
from aquamend.problem import Problem

AT_ONCE = 16_384
"""Hypotheses summed at once."""


@dataclass(frozen=True, eq=False)
class ProbeValues:
    """Expected losses of probing once and then stopping, for several probes at one state."""

    branches: Branches
    stop_loss: float
    """V_stop now."""
    expected_loss: Floats
    """Shape ``(n_probes,)``; cost plus expected V_stop after the answer."""

    @cached_property
    def net_benefit(self) -> Floats:
        """Shape ``(n_probes,)``; V_stop less the expected loss; NaN where the latter is infinite."""
        finite = np.isfinite(self.expected_loss)
        return np.where(finite, self.stop_loss - np.where(finite, self.expected_loss, 0.0), np.nan)


def probe_values(state: InformationState, probes: Sequence[str] | None = None) -> ProbeValues:
    """Return the one-step value of these probes (all legal ones by default) in one matrix product."""
    return _probe_values(state, state.legal_probes if probes is None else tuple(probes))


@computed_once
def _probe_values(state: InformationState, probes: tuple[str, ...]) -> ProbeValues:
    check_deadline()
    endings = endings_of(state.problem)
    branches = branches_of(state, probes)
    sums = _sums(state.posterior, endings.features, branches.likelihood)
    if len(own := endings.exact_zeros):  # what is improbable must not become impossible
        can_be = (state.posterior > 0.0)[:, None] & (endings.features[:, own] > 0.0)
        answered = branches.likelihood > 0.0
        if answered.all():  # as readings are: all that is possible stays so
            possible = np.asarray(can_be.any(axis=0))[:, None]
        else:
            possible = can_be.T.astype(float) @ answered.T > 0.0
        sums[own, 1:] = np.where(possible, np.maximum(sums[own, 1:], TINY), 0.0)
    values = endings.values(sums.T, np.vstack([spoken(endings.support, state), branches.speaks]))
    expected = np.add.reduceat(values[1:], branches.first) if branches.probes else np.zeros(0)
    return ProbeValues(branches, float(values[0]), branches.cost + expected)


def _sums(posterior: Floats, features: Floats, likelihood: Floats) -> Floats:
    """Return each feature's sum, now and then joint with each branch, ``(n_features, 1 + n_branches)``.

    Transposed, so that the minimum over decisions runs along memory; in pieces that stay in the processor's cache.
    """
    sums = np.zeros((features.shape[1], 1 + len(likelihood)))
    room = np.empty((min(len(posterior), AT_ONCE), features.shape[1]))
    for low in range(0, len(posterior), AT_ONCE):
        some = slice(low, low + AT_ONCE)
        weighted = np.multiply(posterior[some, None], features[some], out=room[: len(posterior) - low])
        sums[:, 0] += np.einsum("ij->j", weighted)
        sums[:, 1:] += weighted.T @ likelihood[:, some].T
    return sums


def best_probe(losses: Floats, stop: float) -> int | None:
    """Return the first probe that attains the least loss if it beats stopping by more than a tie, else None."""
    if len(losses) == 0:
        return None
    least = float(losses.min())
    if math.isinf(least) or not stop - least > TIE:
        return None
    return int((losses <= least + TIE).argmax())


def could_answer(state: InformationState) -> Bools:
    """Return who has answered or may still, shape ``(n_probes,)``."""
    possible = state.answered.copy()
    possible[[view.index for view in state.legal]] = True
    return possible


@computed_once
def clairvoyant_losses(state: InformationState) -> Floats:
    """Return a lower bound on what each hypothesis would cost if it were known, shape ``(n_hypotheses,)``.

    min_u ℓ(u, s) over all that may be decided from here on: whoever may still answer is taken to speak for everything,
    and the other rules of support are left out. Exact where neither matters.
    """
    return _clairvoyant(state.problem, could_answer(state).tobytes())


@computed_once
def _clairvoyant(problem: Problem, answered: bytes) -> Floats:
    endings = endings_of(problem)
    return endings.clairvoyant(endings.support.once_answered(np.frombuffer(answered, dtype=bool)))


def clairvoyant_loss(state: InformationState) -> float:
    """Return Σ_s p(s) min_u ℓ(u, s): the expected loss if the hypothesis were known at no cost, or less."""
    return expected(state.posterior, clairvoyant_losses(state))
