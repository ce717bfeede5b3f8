"""The probes of a state as a search sees them: finitely many answers each.

A probe with outcomes tells what it tells. A probe that reads numbers becomes one of two discrete ones: one that tells
more than the reading, for lower bounds, or one that tells less, for upper bounds (see ``readings``). How much more or
less depends on how many cuts there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, ProbeView
from aquamend.decision.branches import decision_cuts
from aquamend.decision.probe_value import clairvoyant_loss
from aquamend.planning.bounds import quick_bounds
from aquamend.planning.coarse_readings import dividing_cuts, garbled, informed, refined_cuts
from aquamend.problem.model.kernels import Answer, Outcomes, Readings

Placing = Callable[[Sequence[Readings], Sequence[Floats], int], list[Floats]]

FEW = 3
"""Probes that cost more than could be won at the alarm share this many times fewer cuts."""
MOST_LABELS = 12
"""Labels of a probe up to which the truth that is learned now and then is its label, and not everything."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a probe is taken to answer."""

    likelihood: Floats
    """Shape ``(n_hypotheses, n_answers)``."""
    informing: Floats
    """Shape ``(n_hypotheses,)``; the probability that it tells the whole truth instead."""
    column: Indices
    """Shape ``(n_outcomes,)``; the answer that each outcome or interval of readings is, -1 for one that never comes."""
    names: tuple[str, ...] = ()
    """The outcomes; none where it reads numbers."""
    cuts: Floats | None = None
    """Where its intervals of readings meet."""

    def answer(self, outcome: Answer) -> int:
        """Return which answer an outcome or a reading is; -1 for what never comes."""
        if isinstance(outcome, str):
            return int(self.column[self.names.index(outcome)]) if outcome in self.names else -1
        return -1 if self.cuts is None else int(self.column[np.searchsorted(self.cuts, outcome)])


def reads_numbers(state: InformationState) -> bool:
    """Whether a legal probe does."""
    return any(not isinstance(view.channel, Outcomes) for view in state.legal)


def _law(view: ProbeView) -> Readings | None:
    """Return what a probe reads, if that is a number and the number tells something."""
    return view.channel if isinstance(view.channel, Readings) and view.channel.n_labels > 1 else None


def discrete_answers(state: InformationState) -> list[Answers]:
    """Return the outcomes of the legal probes, none of which reads numbers."""
    possible = state.posterior > 0.0
    nothing = np.zeros(len(possible))
    channels = [view.channel for view in state.legal if isinstance(view.channel, Outcomes)]
    return [_answers(channel.table, possible, nothing, names=channel.outcomes) for channel in channels]


def better_informed(state: InformationState, n_cuts: int) -> list[Answers]:
    """Return the legal probes, telling at least as much as they do, with so many cuts in all and a few more."""
    cuts = _shared_out(state, n_cuts, refined_cuts)
    return [_better_informed(state, view, own) for view, own in zip(state.legal, cuts, strict=True)]


def less_informed(state: InformationState, n_cuts: int) -> list[Answers]:
    """Return the legal probes, telling at most as much as they do, with so many cuts in all and a few more."""
    cuts = _shared_out(state, n_cuts, dividing_cuts)
    deciding = decision_cuts(state, state.legal)
    if sum(0 if own is None else len(own) for own in deciding) <= n_cuts:  # where the decision changes one step ahead
        cuts = [own if more is None else np.union1d(own, more) for own, more in zip(cuts, deciding, strict=True)]
    return [_less_informed(state, view, own) for view, own in zip(state.legal, cuts, strict=True)]


def _shared_out(state: InformationState, n_cuts: int, placed: Placing) -> list[Floats]:
    """Return the cuts of all legal probes. Those that are dear at the alarm, if not in every case, share a few."""
    most = quick_bounds(state).upper - clairvoyant_loss(state)
    cuts: dict[int, Floats] = {}
    for dear, n in ((False, n_cuts), (True, n_cuts // FEW)):
        laws = {k: law for k, view in enumerate(state.legal) if (law := _law(view)) and (view.cost >= most) == dear}
        priors = [law.gathered(state.posterior) for law in laws.values()]
        cuts.update(zip(laws, placed(list(laws.values()), priors, n), strict=True))
    return [cuts.get(k, np.empty(0)) for k in range(len(state.legal))]


def _better_informed(state: InformationState, view: ProbeView, cuts: Floats) -> Answers:
    channel, possible = _law(view), state.posterior > 0.0
    if channel is None:
        return _as_it_is(view, possible)
    more = informed(channel, cuts, channel.gathered(state.posterior))
    if channel.n_labels > MOST_LABELS:
        return _answers(more.answers[channel.of], possible, more.informing[channel.of])
    labels = channel.alike.T * more.informing  # only its label is known: what else is true stays open
    return _answers(np.hstack([more.answers[channel.of], labels]), possible, np.zeros(len(possible)))


def _less_informed(state: InformationState, view: ProbeView, cuts: Floats) -> Answers:
    channel, possible = _law(view), state.posterior > 0.0
    if channel is None:
        return _as_it_is(view, possible)
    return _answers(garbled(channel, cuts), possible, np.zeros(len(possible)), cuts=cuts)


def _as_it_is(view: ProbeView, possible: Bools) -> Answers:
    nothing = np.zeros(len(possible))
    if isinstance(view.channel, Outcomes):
        return _answers(view.channel.table, possible, nothing, names=view.channel.outcomes)
    return _answers(np.ones((len(possible), 1)), possible, nothing, cuts=np.zeros(0))


def _answers(
    table: Floats,
    possible: Bools,
    informing: Floats,
    *,
    names: tuple[str, ...] = (),
    cuts: Floats | None = None,
) -> Answers:
    """Return the answers that may come, or one that does not where there are none."""
    happens = (table[possible] > 0.0).any(axis=0)
    column = np.where(happens, np.cumsum(happens) - 1, -1)
    kept = table[:, happens]
    return Answers(kept if kept.shape[1] else np.zeros((len(table), 1)), informing, column, tuple(names), cuts)
