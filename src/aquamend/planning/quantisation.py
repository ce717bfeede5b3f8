"""Gaussian probes in plans: their readings cut into finitely many intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.gaussian import interval_likelihood, normal_cdf
from aquamend.decision.probe_value import decision_cuts
from aquamend.inference import InformationState
from aquamend.model.kernels import NormalTable, OutcomeTable

BINS = 24
"""Intervals of equal predictive probability added to the cuts at which the one-step decision changes."""


def planning_likelihood(state: InformationState, probe: str) -> NDArray[np.float64]:
    """Return a probe's outcomes as a plan sees them, shape ``(n_outcomes, n_hypotheses)``.

    Knowing only the interval of a reading is knowing less, so plans made with it never promise too little.
    """
    match state.problem.model.tables[probe]:
        case OutcomeTable() as table:
            return table.likelihood.T
        case NormalTable() as table:
            return interval_likelihood(table, planning_cuts(state, table)).T


def planning_cuts(state: InformationState, table: NormalTable) -> NDArray[np.float64]:
    """Return the readings at which a plan tells intervals apart, sorted: where decisions change, and even quantiles."""
    likely = state.posterior > 0
    even = np.arange(1, BINS) / BINS
    quantiles = predictive_quantiles(table.mean[likely], table.sd[likely], state.posterior[likely], even)
    return np.union1d(decision_cuts(state, table), quantiles)


def predictive_quantiles(
    mean: NDArray[np.float64], sd: NDArray[np.float64], weight: NDArray[np.float64], levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the readings at which a mixture of normals reaches these levels, to the accuracy of a fine grid."""
    readings = np.unique((mean[:, None] + sd[:, None] * np.linspace(-4, 4, 33)).ravel())
    readings = readings[:: max(1, len(readings) // 512)]
    below = normal_cdf((readings[:, None] - mean) / sd) @ weight
    return np.asarray(np.interp(levels, below, readings))
