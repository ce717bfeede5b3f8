"""The probes of a state as a search sees them: finitely many answers each.

A probe with outcomes tells what it tells. A probe that reads numbers becomes one of two discrete ones: one that tells
more than the reading, for lower bounds, or one that tells less, for upper bounds. How much more or less depends on how
many cuts there are.

Both cut the readings into intervals. Knowing only the interval of a reading is knowing less, so a plan made with it can
be followed: its loss is an upper bound. For a lower bound, take an interval with readings y, a position θ(y) between 0
and 1, and a reference density g(y). If for every label (every different row of the kernel)

    k(y | label) ≥ g(y) ( (1 − θ(y)) u_0(label) + θ(y) u_1(label) )      for all y in the interval,

then a reading y may be thought of as a lottery: with the weight on the right it says just "u_0" or "u_1", and with what
is left over it tells the whole truth. The outcome of the lottery is at least as informative as y, and so its optimum is
a lower bound: the loss is concave in the posterior. Here g is what is to be expected, and θ follows the posterior of
the label that changes most from one end to the other. So a posterior that moves on a straight line leaves nothing
over: of two labels it always does, and where more overlap it is what bends that is left over. The best line below the
ratio k / g of a label touches the lower hull of that curve at the mean position. Everything is taken to be straight
between close edges, so the inequality is checked at those edges alone, and what density is above those straight lines
is left over too: little, unless the interval is many standard deviations wide. Neighbouring intervals share the
answer at their common cut: of what both say there, each brought to the same weight, the smaller number for each label.
So n cuts make n answers.

A worked example: three labels, normal with standard deviation 1 around 0, 1 and 2, equally likely. Cut at −2, 1 and 4,
the better informed channel says "about −2", "about 1" or "about 4" in 76 % of all cases and the truth in the others;
with cuts half apart from −4 to 6 it tells the truth in 0.6 %. Of the first two labels alone, the same three cuts leave
1.6 % over, most of it beyond them.

The lower bound needs a loss that is concave in the posterior: most conditions of support are left out there (see
``support_prices``). The upper one holds a policy to them by the evidence that it goes by, the interval; so where there
are such rules, the optimum that is bounded is that over policies which may round what they read.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState, ProbeView
from aquamend.deadline import check_deadline
from aquamend.decision.branches import decision_cuts
from aquamend.decision.probe_value import clairvoyant_loss
from aquamend.planning.bounds import quick_bounds
from aquamend.problem.model.kernels import Answer, Outcomes, Readings

PARTS = np.arange(17) / 16.0
"""Edges within an interval, between which densities are bounded by straight lines."""
RARE_LABEL = 1e-3
"""The least that a label counts in what is to be expected, beside the most probable one."""
PLACES = np.arange(1, 8) / 8.0
"""Where an interval may be cut in two."""
LINES_AT_ONCE = 500_000
"""Pairs of edges through which lines are tried before it is asked whether there is time for more."""
Placing = Callable[[Sequence[Readings], Sequence[Floats], int], list[Floats]]
FEW = 3
"""Probes that cost more than could be won at the alarm share this many times fewer cuts."""
MOST_LABELS = 12
"""Labels of a probe up to which the truth that is learned now and then is its label, and not everything."""


@dataclass(frozen=True, eq=False)
class Informed:
    """A channel that tells more than the readings it stands for."""

    answers: Floats
    """Shape ``(n_labels, n_cuts + 1)``; the probability of hearing "about that cut", and last of a mere glitch."""
    informing: Floats
    """Shape ``(n_labels,)``; the probability of hearing the whole truth."""


def garbled(channel: Readings, cuts: Floats) -> Floats:
    """Return the probability of every interval under every hypothesis, ``(n_hypotheses, n_cuts + 1)``."""
    return np.asarray(channel.intervals(cuts)[channel.of])


def informed(channel: Readings, cuts: Floats, prior: Floats) -> Informed:
    """Return a better informed channel with an answer at each cut; ``prior`` are the probabilities of the labels."""
    weight, edges = _weight(prior), _edges(cuts[:-1], cuts[1:])
    ends = np.zeros((2, len(cuts), len(weight)))
    ends[0, :-1], ends[1, 1:] = _said(edges, channel.beneath(edges), weight)
    size = (ends @ weight)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = np.where(size > 0.0, ends / size, np.inf).min(axis=0)
    answers = np.where(np.isfinite(direction), direction, 0.0) * size.sum(axis=0)
    inside = np.diff(np.arctan((cuts[[0, -1]] - channel.centre) / channel.width))[0] / math.pi
    glitch = np.full((len(weight), 1), channel.outliers * (1.0 - inside))  # beyond all cuts, whatever the label
    informing = np.maximum(1.0 - answers.sum(axis=0) - glitch[:, 0], 0.0)
    return Informed(np.hstack([answers.T, glitch]), informing)


def _weight(prior: Floats) -> Floats:
    weight = np.maximum(prior, RARE_LABEL * prior.max())
    return np.asarray(weight / weight.sum())


def _edges(low: Floats, high: Floats) -> Floats:
    return np.asarray(low[:, None] + (high - low)[:, None] * PARTS)


def _said(edges: Floats, density: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return how often each interval says "about its low end" and "about its high one", ``(n_intervals, n_labels)``."""
    expected = density @ weight
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(expected[:, :, None] > 0.0, density / expected[:, :, None], 0.0)
    position = _positions(ratio * weight)
    to_low, to_high = _area(expected * (1.0 - position), edges), _area(expected * position, edges)
    with np.errstate(invalid="ignore"):
        mean = np.where(to_low + to_high > 0.0, to_high / (to_low + to_high), 0.5)
    start, end = _best_lines(position, ratio, mean)
    return to_low[:, None] * start, to_high[:, None] * end


def _positions(posterior: Floats) -> Floats:
    """Return where between its ends the label is that changes most, ``(n_intervals, n_edges)``."""
    change = posterior[:, -1] - posterior[:, 0]
    most = np.abs(change).argmax(axis=1)
    every = np.arange(len(most))
    moved = posterior[every, :, most] - posterior[every, 0, most][:, None]
    by = change[every, most][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.where(np.abs(by) > 1e-12, moved / by, PARTS), 0.0, 1.0)


def _area(height: Floats, edges: Floats) -> Floats:
    return np.asarray(((height[:, 1:] + height[:, :-1]) * np.diff(edges, axis=1)).sum(axis=1) / 2.0)


def _best_lines(position: Floats, ratio: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the highest lines nowhere above the ratios, by their values at positions 0 and 1, not below zero.

    How high is measured at the mean position: there the best one is on the lower hull, so two edges carry it, one on
    either side.
    """
    step = max(1, LINES_AT_ONCE // (max(1, len(mean)) * position.shape[1] ** 2))
    labels = range(0, ratio.shape[2], step)
    starts, ends = zip(*(_best_of_some(position, ratio[:, :, k : k + step], mean) for k in labels), strict=True)
    return np.concatenate(starts, axis=1), np.concatenate(ends, axis=1)


def _best_of_some(position: Floats, ratio: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the lines of some labels."""
    check_deadline()
    left, right = position[:, :, None], position[:, None, :]
    beside = (left <= mean[:, None, None]) & (right >= mean[:, None, None])
    apart = right - left
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(apart > 1e-12, (mean[:, None, None] - left) / apart, 0.5)[..., None]
        height = ratio[:, :, None] * (1.0 - share) + ratio[:, None] * share
    pairs = np.where(beside[..., None], height, np.inf).reshape(len(mean), position.shape[1] ** 2, ratio.shape[2])
    first, second = np.divmod(pairs.argmin(axis=1), position.shape[1])
    row, label = np.arange(len(mean))[:, None], np.arange(ratio.shape[2])
    low, high = ratio[row, first, label], ratio[row, second, label]
    run = position[row, second] - position[row, first]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(run > 1e-12, (high - low) / run, 0.0)
    start = np.where(run > 1e-12, low - slope * position[row, first], np.minimum(low, high))
    end = start + slope
    at_start, at_end = 1.0 - position[..., None], position[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        only_start = np.where(at_start > 1e-12, ratio / at_start, np.inf).min(axis=1)
        only_end = np.where(at_end > 1e-12, ratio / at_end, np.inf).min(axis=1)
    start, end = (
        np.where(end < 0.0, only_start, np.where(start < 0.0, 0.0, start)),
        np.where(end < 0.0, 0.0, np.where(start < 0.0, only_end, end)),
    )
    line = start[:, None] * at_start + end[:, None] * at_end
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # and rounding must not lift it above
        room = np.minimum(np.where(line > 0.0, ratio / line, 1.0).min(axis=1), 1.0)
    return start * room, end * room


def dividing_cuts(channels: Sequence[Readings], priors: Sequence[Floats], n: int) -> list[Floats]:
    """Return the cuts of each channel, n in all: one after the other, each where it tells most of a label.

    What a cut tells is the mutual information of label and interval; a label that is hardly possible counts a little.
    """
    mass = [
        np.cumsum(np.pad(_weight(prior)[:, None] * channel.fine_cells, ((0, 0), (1, 0))), axis=1)
        for channel, prior in zip(channels, priors, strict=True)
    ]
    best = [_best_cut(k, below, 0, below.shape[1] - 1) for k, below in enumerate(mass)]
    heapq.heapify(best)
    chosen: list[list[int]] = [[] for _ in channels]
    for _ in range(n if channels else 0):
        check_deadline()
        gain, k, low, cut, high = best[0]
        if gain >= 0.0:
            break
        chosen[k].append(cut)
        heapq.heapreplace(best, _best_cut(k, mass[k], low, cut))
        heapq.heappush(best, _best_cut(k, mass[k], cut, high))
    return [c.fine_grid[np.sort(np.array(own, dtype=np.intp)) - 1] for c, own in zip(channels, chosen, strict=True)]


def _best_cut(k: int, below: Floats, low: int, high: int) -> tuple[float, int, int, int, int]:
    """Return what the most telling cut between two edges tells, with a minus, and where it is."""
    if high - low < 2:
        return 0.0, k, low, low, high
    start, middle, end = below[:, [low]], below[:, low + 1 : high], below[:, [high]]
    doubt = _doubt((middle - start).T) + _doubt((end - middle).T) - _doubt((end - start).T)
    best = int(doubt.argmin())
    return float(doubt[best]), k, low, low + 1 + best, high


def _doubt(weight: Floats) -> Floats:
    """Return the entropy of the label, times what all labels weigh together, along the last axis."""
    check_deadline()
    total = weight.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(weight > 0.0, weight * np.log(weight / total), 0.0).sum(axis=-1))


def refined_cuts(channels: Sequence[Readings], priors: Sequence[Floats], n: int) -> list[Floats]:
    """Return the cuts of each channel, n in all: informative ones to begin with, then where knowing more matters most.

    That is by the doubt about the label that readings would leave and the lottery does not.
    """
    ends = [np.array([channel.centre - channel.width, channel.centre + channel.width]) for channel in channels]
    telling = dividing_cuts(channels, priors, max(2 * len(channels), n // 2))
    cuts = [np.union1d(*both) for both in zip(ends, telling, strict=True)]
    worst = []
    for k, (channel, prior, own) in enumerate(zip(channels, priors, cuts, strict=True)):
        lost = _lost(channel, own[:-1], own[1:], _weight(prior))
        worst += [(-loss, k, low, high) for loss, low, high in zip(lost.tolist(), own[:-1], own[1:], strict=True)]
    heapq.heapify(worst)
    for _ in range(n - sum(map(len, cuts)) if channels else 0):
        check_deadline()
        if worst[0][0] >= 0.0:
            break
        _, k, low, high = heapq.heappop(worst)
        places = low + (high - low) * PLACES
        starts, stops = np.append(np.full_like(places, low), places), np.append(places, np.full_like(places, high))
        lost = _lost(channels[k], starts, stops, _weight(priors[k])).reshape(2, -1)
        best = int(lost.sum(axis=0).argmin())
        heapq.heappush(worst, (-lost[0, best], k, low, places[best]))
        heapq.heappush(worst, (-lost[1, best], k, places[best], high))
        cuts[k] = np.append(cuts[k], places[best])
    return [np.sort(own) for own in cuts]


def _lost(channel: Readings, low: Floats, high: Floats, weight: Floats) -> Floats:
    """Return how much doubt each interval loses; about, as only the place of a cut depends on it."""
    edges, (grid, sampled) = _edges(low, high), channel.sampled
    log = np.log(np.maximum(sampled, 1e-300))
    density = np.exp(np.stack([np.interp(edges, grid, own) for own in log.T], axis=2))
    said = np.stack(_said(edges, density, weight))
    return np.asarray(_area(_doubt(density * weight), edges) - _doubt(said * weight).sum(axis=0))


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
    return [_as_it_is(view, state.posterior > 0.0) for view in state.legal]


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
