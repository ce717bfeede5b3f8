"""The five posterior settings of the paper's sensitivity study (Q1)."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum

import numpy as np

from aquamend.belief.state import InformationState, normalised


class PosteriorSetting(StrEnum):
    """A deliberate distortion of the alarm posterior, to see whether the decision survives it."""

    ORIGINAL = "original"
    CONCENTRATED = "concentrated"
    DISPERSED = "dispersed"
    NEGATIVE_BIAS = "negative"
    POSITIVE_BIAS = "positive"


def distorted(state: InformationState, setting: PosteriorSetting) -> InformationState:
    """Return the state with its posterior distorted once; later evidence updates it with the ordinary kernels.

    ``p``, ``∝ p²``, ``∝ √p``, ``∝ p·4^∓B(s)``, with ``B(s)`` one where any declaration in force is invalid under ``s``.
    Hypotheses of probability zero stay at zero, so this cannot test a missing hypothesis.
    """
    p = state.posterior
    match setting:
        case PosteriorSetting.ORIGINAL:
            return state
        case PosteriorSetting.CONCENTRATED:
            mass = p**2
        case PosteriorSetting.DISPERSED:
            mass = np.sqrt(p)
        case PosteriorSetting.NEGATIVE_BIAS | PosteriorSetting.POSITIVE_BIAS:
            invalid = state.problem.invalid.max(axis=1, initial=0.0)
            sign = 1.0 if setting is PosteriorSetting.POSITIVE_BIAS else -1.0
            mass = p * np.exp(sign * math.log(4.0) * invalid)
    return replace(state, posterior=normalised(mass), origin=None)
