"""The first substep of a re-probe: how well a probe tests a fixed declaration version (Eq. 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import Branches, invalidity_matrix
from aquamend.inference import InformationState
from aquamend.inference.re_estimation import REJECT_AT
from aquamend.model.declarations import Declaration

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Detection:
    """How well one probe tests one fixed declaration version, by the model; None where unavailable."""

    power: float | None
    """C_s: probability of rejecting the declaration if it is invalid."""
    false_positive_rate: float | None
    """Probability of rejecting it if it is valid; no significance level is promised."""


def detection(
    state: InformationState, branches: Branches, declarations: Sequence[Declaration]
) -> list[list[Detection]]:
    """Return, for every probe, how it tests each declaration at the 0.5 threshold.

    A condition of probability zero makes the rate unavailable rather than zero.
    """
    invalid = invalidity_matrix(state.problem, declarations)
    power = _rejection_rates(state, branches, invalid, invalid)
    false_positive = _rejection_rates(state, branches, invalid, 1.0 - invalid)
    return [
        [Detection(_available(p), _available(f)) for p, f in zip(ps, fs, strict=True)]
        for ps, fs in zip(power, false_positive, strict=True)
    ]


def detection_power(state: InformationState, branches: Branches, declarations: Sequence[Declaration]) -> Floats:
    """Return C_s of every probe for every declaration, shape ``(n_probes, n_declarations)``; NaN where unavailable."""
    invalid = invalidity_matrix(state.problem, declarations)
    return _rejection_rates(state, branches, invalid, invalid)


def _rejection_rates(state: InformationState, branches: Branches, invalid: Floats, condition: Floats) -> Floats:
    """Return Pr(q_b^v after the answer ≥ 0.5 | condition), shape ``(n_probes, n_declarations)``."""
    if not branches.probes:
        return np.zeros((0, invalid.shape[1]))
    weight = state.posterior[:, None]
    joint_invalid = branches.likelihood @ (weight * invalid)
    mass = (branches.likelihood @ state.posterior)[:, None]
    rejected = (joint_invalid >= (REJECT_AT - 1e-9) * mass) & (mass > 0)
    joint = joint_invalid if condition is invalid else branches.likelihood @ (weight * condition)
    caught = np.add.reduceat(joint * rejected, branches.first, axis=0)
    total = state.posterior @ condition
    return np.where(total > 0.0, caught / np.where(total > 0.0, total, 1.0), np.nan)


def _available(rate: float) -> float | None:
    return None if math.isnan(rate) else min(1.0, max(0.0, float(rate)))
