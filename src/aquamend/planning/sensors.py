"""The probes of a state as a search sees them: finitely many answers each.

A probe with outcomes tells what it tells. A probe that reads numbers becomes one of two discrete ones: one that tells
more than the reading, for lower bounds, or one that tells less, for upper bounds (see ``readings``). How much more or
less depends on how many cuts there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.branches import decision_cuts
from aquamend.inference import InformationState, ProbeView
from aquamend.model.kernels import Outcomes, Readings
from aquamend.planning.readings import garbled, informed, refined_cuts

Floats = NDArray[np.float64]

MOST_LABELS = 12
"""Labels of a probe up to which the truth that is told now and then is its label, and not everything."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a probe is taken to answer."""

    likelihood: Floats
    """Shape ``(n_hypotheses, n_answers)``."""
    told: Floats
    """Shape ``(n_hypotheses,)``; the probability that it tells the whole truth instead."""


def reads_numbers(state: InformationState) -> bool:
    """Whether a legal probe does."""
    return any(not isinstance(view.channel, Outcomes) for view in state.legal)


def reads_a_number(view: ProbeView) -> bool:
    """Whether it does, and the number tells something."""
    return isinstance(view.channel, Readings) and view.channel.n_labels > 1


def discrete_answers(state: InformationState) -> list[Answers]:
    """Return the outcomes of the legal probes, none of which reads numbers."""
    possible = state.posterior > 0.0
    nothing = np.zeros(len(possible))
    tables = [view.channel.table for view in state.legal if isinstance(view.channel, Outcomes)]
    return [Answers(_happening(table, possible), nothing) for table in tables]


def better_informed(state: InformationState, n_cuts: int) -> list[Answers]:
    """Return the legal probes, telling at least as much as they do, with about so many cuts."""
    return [_better_informed(state, view, n_cuts) for view in state.legal]


def less_informed(state: InformationState, n_cuts: int) -> list[Answers]:
    """Return the legal probes, telling at most as much as they do, with about so many cuts."""
    return [_less_informed(state, view, n_cuts) for view in state.legal]


def _better_informed(state: InformationState, view: ProbeView, n_cuts: int) -> Answers:
    channel, possible = view.channel, state.posterior > 0.0
    if not isinstance(channel, Readings) or not reads_a_number(view):
        return _as_it_is(view, possible)
    prior = channel.alike @ state.posterior
    more = informed(channel, refined_cuts(channel, prior, n_cuts), prior)
    if channel.n_labels > MOST_LABELS:
        return Answers(_happening(more.answers[channel.of], possible), more.told[channel.of])
    labels = channel.alike.T * more.told  # told by its label only: what else is true stays open
    return Answers(_happening(np.hstack([more.answers[channel.of], labels]), possible), np.zeros(len(possible)))


def _less_informed(state: InformationState, view: ProbeView, n_cuts: int) -> Answers:
    channel, possible = view.channel, state.posterior > 0.0
    if not isinstance(channel, Readings) or not reads_a_number(view):
        return _as_it_is(view, possible)
    prior, deciding = channel.alike @ state.posterior, decision_cuts(state, [view])[0]
    cuts = refined_cuts(channel, prior, n_cuts)
    if deciding is not None and len(deciding) <= n_cuts:  # where the decision changes one step ahead
        cuts = np.union1d(cuts, deciding)
    return Answers(_happening(garbled(channel, cuts), possible), np.zeros(len(possible)))


def _as_it_is(view: ProbeView, possible: NDArray[np.bool_]) -> Answers:
    table = view.channel.table if isinstance(view.channel, Outcomes) else np.ones((len(possible), 1))
    return Answers(_happening(table, possible), np.zeros(len(possible)))


def _happening(table: Floats, possible: NDArray[np.bool_]) -> Floats:
    """Return the columns of answers that may come, or one that does not where there are none."""
    kept = table[:, (table[possible] > 0.0).any(axis=0)]
    return np.asarray(kept if kept.shape[1] else np.zeros((len(table), 1)))
