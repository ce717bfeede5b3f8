"""What rules of support cost at least: the sensing that evidence takes, and what a doubtful source rules out.

Rules of support forbid endings at some posteriors, so the loss is not concave, and a lower bound has to leave most of
them out. Three things can be kept, whatever the posterior will be:

* *Evidence is paid for.* Who has answered is the same whatever was said. An option (to keep a belief, or to declare a
  value) for which nobody has answered yet needs a probe that may still be run, and that costs something. A probe may
  serve several beliefs; its cost is charged to one of them, so that it is never counted twice.
* *A source is usable or it is not.* Where it is, no option may be taken that is wrong wherever the source is sound;
  where it is not, nothing counts that hangs on it. So every ending belongs to one of two lists.
* *What is probably wrong is paid for.* An option is open only where it is wrong with a probability c below one half, so
  μ (c − ½) is never more than nothing there, and may be added to its price for any μ that is not negative.

Each list is a minimum of linear functions of the posterior, for each set of probes that have answered, and so is the
best of both: it is concave, and at most V_stop. With the hypothesis known, what is left of it is a number for each.

An option that cannot be wrong any more needs no evidence. That comes about only where answers rule hypotheses out; so
it is taken to be so where the probes that could do it have answered, or those of them that are charged to the belief.

A worked example: a look speaks for a level; its camera is biased with probability 0.7, which costs 40 if nobody says
so; weighing, which speaks for the level as well, costs 1.5. If the camera is biased, either that is said, and then the
level needs the weighing, or it is not: the smaller of 1.5 and 40. So recovering costs at least 0.7 · 1.5, where knowing
everything would cost nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, distinct
from aquamend.belief import InformationState
from aquamend.belief.state import REJECT_AT
from aquamend.deadline import check_deadline
from aquamend.decision.endings import endings_of
from aquamend.problem.model.kernels import Outcomes, Readings

MOST_SOURCES = 3
"""Sources of which it is told apart whether they are usable: each doubles the lists."""
MOST_CHARGED = 3
"""Probes whose cost may be charged to a belief; of one with more, ruling out is taken to be free."""
DOUBTS = (0.0, 1.0, 0.5, 0.25)
"""Shares that are tried of what makes something that is probably wrong not pay now."""
MOST_KEPT = 10_000
"""Results that are kept."""
MOST_PAIRS = 100_000
"""Pairs of hypotheses that may be compared."""
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class _List:
    """The endings that are left where it is known which sources are usable."""

    counts: Bools
    """Shape ``(n_pairs,)``; whose evidence counts."""
    forbidden: Bools
    """Shape ``(n_all_options,)``; what may not be done about beliefs."""


@dataclass(frozen=True, eq=False)
class _Exempt:
    """Where options of one belief need no evidence once some probes have answered."""

    belief: int
    options: Indices
    probes: tuple[int, ...]
    wanting: Bools
    """Shape ``(n_hypotheses, n_options)``; under which hypotheses they need it all the same."""


class SupportPrices:
    """What stopping costs at least, and every hypothesis once it is known, by who has answered and who still may."""

    @staticmethod
    def accepts(state: InformationState) -> bool:
        """Whether there are rules of support, and few enough hypotheses."""
        return len(endings_of(state.problem).support) > 0 and len(state.posterior) ** 2 <= MOST_PAIRS

    def __init__(self, state: InformationState, tables: Sequence[Floats] | None = None) -> None:
        """Take the legal probes to answer as in ``tables``, ``(n_hypotheses, n_answers)`` each, if these are given."""
        self._state, self._endings = state, endings_of(state.problem)
        self._support, losses = self._endings.support, self._endings.losses
        self._legal = [view.index for view in state.legal]
        self._owner = np.concatenate([np.arange(len(losses.beliefs)), losses.owner])
        """Of every option, its belief, by its place among those priced."""
        self._option = self._support.column - self._endings.columns.options.start
        """Of each option that needs support, its place among all options."""
        self._belief = self._owner[self._option]
        self._share = self._shares()
        self._charge = np.column_stack([self._share, np.zeros(len(self._share))])[
            self._belief[self._support.option], self._support.probe
        ]
        """Of each pair, what of its probe's cost is charged to its belief."""
        beliefs = range(len(losses.beliefs))
        self._lists = [*self._all_lists()]
        self._exempt = [*self._exemptions(_told_apart(state, tables))]
        self._serving = [distinct(self._support.probe[self._belief[self._support.option] == i]) for i in beliefs]
        self._serving = [own[own < len(state.problem.graph.probes)] for own in self._serving]
        self._doubt = np.zeros(len(self._option))
        """μ of each option that needs support."""
        self._forget()
        self._choose_doubts()

    def _forget(self) -> None:
        self._known, self._plain = dict[bytes, Floats](), dict[int, Floats]()
        self._locals = dict[tuple[int, int, bytes, bytes], Floats]()

    def _choose_doubts(self) -> None:
        """Choose the μ with which the bound at the state itself is highest: what there is a use for, less, or none."""
        most = self._doubts()
        if not most.any():
            return
        best, chosen = -math.inf, most
        for share in DOUBTS:
            self._doubt = share * most
            self._forget()
            bound = self._bound_here()
            if bound > best:
                best, chosen = bound, self._doubt
        self._doubt = chosen
        self._forget()

    def _bound_here(self) -> float:
        state, may = self._state, np.zeros_like(self._state.answered)
        may[self._legal] = True
        cheapest = min(view.cost for view in state.legal)
        on = float(state.posterior @ np.maximum(self.known(state.answered, may), self.free() + cheapest))
        return min(float(self.stop(state.posterior[None, :], state.answered[None, :])[0]), on)

    @property
    def n_lists(self) -> int:
        """How many lists of endings are told apart."""
        return len(self._lists)

    @property
    def doubts_something(self) -> bool:
        """Whether something that is probably wrong now has to be paid for."""
        return bool(self._doubt.any())

    def _shares(self) -> Floats:
        """Return what of each probe's cost is charged to each belief, ``(n_priced, n_probes)``.

        All of it to the one belief that it serves and that the fewest probes serve.
        """
        beliefs, probes = len(self._endings.losses.beliefs), len(self._state.problem.graph.probes)
        serves = np.zeros((beliefs, probes + 1), dtype=bool)
        serves[self._belief[self._support.option], self._support.probe] = True
        number, share = serves[:, :probes].sum(axis=1), np.zeros((beliefs, probes))
        for view in self._state.legal:
            served = np.flatnonzero(serves[:, view.index])
            if len(served):
                share[served[number[served].argmin()], view.index] = view.cost
        return share

    def _all_lists(self) -> Iterator[_List]:
        """Yield lists of endings that together leave none out."""
        support, doubtful = self._support, list[tuple[int, Bools, Bools]]()
        for source in support.sources.tolist():
            sound, broken = self._forbidden(source)
            if sound.any() and len(doubtful) < MOST_SOURCES:
                doubtful.append((source, sound, broken))
        for usable in itertools.product((True, False), repeat=len(doubtful)):
            counts, forbidden = np.ones(len(support.probe), dtype=bool), np.zeros(len(self._owner), dtype=bool)
            for works, (source, sound, broken) in zip(usable, doubtful, strict=True):
                forbidden |= sound if works else broken
                counts &= (support.source != source) | works
            yield _List(counts, forbidden)

    def _forbidden(self, source: int) -> tuple[Bools, Bools]:
        """Return which options are out where a source is usable, and which where it is not, ``(n_all_options,)``.

        They are wrong at least as probably as it is sound, or as it has failed. Where the belief that the source is
        sound needs no support, its other values are out where it is usable, too: keeping it costs less than they do.
        """
        endings, losses, graph = self._endings, self._endings.losses, self._state.problem.graph
        possible = self._state.posterior > 0.0
        failed = endings.features[possible, source][:, None]
        wrong = endings.features[possible][:, endings.columns.options] / losses.weight[self._owner]
        needing = np.zeros(len(self._owner), dtype=bool)
        needing[self._option] = True
        names = list(dict.fromkeys(probe.source for probe in graph.probes if probe.source is not None))
        belief = graph.belief_index[names[source - endings.columns.sources.start]]
        free = (losses.beliefs == belief) & ~losses.hard & (losses.residual > 0.0) & ~needing[: len(losses.beliefs)]
        beaten = free[self._owner] & (np.arange(len(self._owner)) >= len(losses.beliefs))
        sound, broken = (wrong + failed >= 1.0).all(axis=0), (wrong >= failed).all(axis=0)
        return sound & (needing | beaten), broken & needing

    def _exemptions(self, apart: Sequence[Bools]) -> Iterator[_Exempt]:
        """Yield where an option needs no evidence: where every hypothesis under which it is wrong may be ruled out."""
        possible = self._state.posterior > 0.0
        for belief in distinct(self._belief).tolist():
            options = np.flatnonzero(self._belief == belief)
            wrong = (self._endings.features[possible][:, self._support.column[options]] > 0.0).astype(np.float32)
            charged = [m for m in self._legal if self._share[belief, m] > 0.0]
            charged = charged if len(charged) <= MOST_CHARGED else []
            for chosen in itertools.chain(*(itertools.combinations(charged, n) for n in range(len(charged) + 1))):
                check_deadline()
                alike = np.ones((len(possible), int(possible.sum())), dtype=bool)
                for m, own in zip(self._legal, apart, strict=True):
                    if m in chosen or m not in charged:
                        alike &= ~own[:, possible]
                wanting = alike.astype(np.float32) @ wrong > 0.0
                if not wanting[possible].all():
                    yield _Exempt(belief, options, chosen, wanting)

    def _doubts(self) -> Floats:
        """Return μ of every option that needs support: such that those barred now as probably wrong do not pay now."""
        doubt, here, answered = self._doubt.copy(), self._state.posterior[None, :], self._state.answered[None, :]
        wrong = self._wrong(here @ self._endings.features)[:, 0]
        kept = self._option < len(self._endings.losses.beliefs)
        barred = np.flatnonzero(kept & (wrong >= REJECT_AT) & (wrong > 0.6))
        least = self.stop(here, answered)[0] if len(barred) else math.inf
        for option in barred.tolist() if math.isfinite(least) else ():
            without = self.stop(here, answered, without=option)[0]
            if math.isfinite(without):
                doubt[option] = (without - least) / (wrong[option] - 0.5)
        return doubt

    def _wrong(self, sums: Floats) -> Floats:
        """Return how probably each option that needs support is wrong, ``(n_options, n_branches)``."""
        return np.asarray(sums.T[self._support.column] / self._support.weight[:, None])

    def _prices(self, own: _List, answered: Bools, may: Bools) -> Floats:
        """Return what the evidence for each option costs at least, ``(n_options,)``; infinite where there is none."""
        probe = self._support.probe
        known = np.append(answered, False)[probe] | self._support.before
        price = np.where(known, 0.0, np.where(np.append(may, False)[probe], self._charge, math.inf))
        return np.asarray(np.minimum.reduceat(np.where(own.counts, price, math.inf), self._support.first))

    def _options(self, own: _List, sums: Floats, without: int | None = None) -> Floats:
        """Return what every option costs, its evidence aside, ``(n_all_options, n_branches)``."""
        price = self._endings.losses.priced(sums.T[self._endings.columns.options]).copy()
        if self._doubt.any():
            price[self._option] += self._doubt[:, None] * (self._wrong(sums) - 0.5)
        price[own.forbidden] = math.inf
        if without is not None:
            price[self._option[without]] = math.inf
        return price

    def stop(self, posterior: Floats, answered: Bools, *, without: int | None = None) -> Floats:
        """Return V_stop or less, ``(n_rows,)``; concave in the posterior, for each set of probes that have answered.

        ``answered`` is ``(n_rows, n_probes)``; one option may be left out.
        """
        if len(posterior) > ROWS_AT_ONCE:
            rows = [slice(low, low + ROWS_AT_ONCE) for low in range(0, len(posterior), ROWS_AT_ONCE)]
            return np.concatenate([self.stop(posterior[own], answered[own], without=without) for own in rows])
        sums, least = posterior @ self._endings.features, np.full(len(posterior), math.inf)
        losses = self._endings.losses
        kinds, which = np.unique(answered, axis=0, return_inverse=True)
        free = [(own, self._is_exempt(own, posterior, answered)) for own in self._exempt]
        for each in self._lists:
            evidence = np.array([self._prices(each, kind, np.zeros_like(kind)) for kind in kinds])[which.ravel()].T
            for exempt, where in free:
                evidence[exempt.options] = np.where(where, 0.0, evidence[exempt.options])
            price = self._options(each, sums, without)
            price[self._option] += evidence
            keep, new = np.split(price, [len(losses.beliefs)])
            correct = np.zeros_like(keep)
            correct[losses.valued] = losses.least(new)
            least = np.minimum(least, self._endings.priced_values(sums, keep, correct))
        return least

    def _is_exempt(self, exempt: _Exempt, posterior: Floats, answered: Bools) -> Bools:
        """Return where its options need no evidence any more, ``(n_options, n_rows)``."""
        ready = answered[:, list(exempt.probes)].all(axis=1)
        return np.asarray(ready & ~(posterior @ exempt.wanting > 0.0).T)

    def known(self, answered: Bools, may: Bools) -> Floats:
        """Return what each hypothesis costs at least from now on if it is known, sensing for evidence included.

        Shape ``(n_hypotheses,)``; zero where it is impossible, or nothing can be done. Both arguments are
        ``(n_probes,)``: who has answered, and who still may.
        """
        key = np.append(answered, may).tobytes()
        if key not in self._known:
            least = np.full(len(self._state.posterior), math.inf)
            for k in range(len(self._lists)):
                local = [self._of_belief(k, i, answered, may) for i in range(len(self._share))]
                keep, correct = np.array(local).transpose(1, 0, 2)
                least = np.minimum(least, self._endings.priced_values(self._endings.features, keep, correct))
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            counts = (self._state.posterior > 0.0) & np.isfinite(least)
            self._known[key] = np.where(counts, least, 0.0)
        return self._known[key]

    def _of_belief(self, k: int, belief: int, answered: Bools, may: Bools) -> Floats:
        """Return what keeping and what correcting a belief costs under each hypothesis, ``(2, n_hypotheses)``."""
        serving = self._serving[belief]
        key = (k, belief, answered[serving].tobytes(), may[serving].tobytes())
        if key not in self._locals:
            if k not in self._plain:
                self._plain[k] = self._options(self._lists[k], self._endings.features)
            own, mine = np.flatnonzero(self._owner == belief), np.flatnonzero(self._belief == belief)
            price = self._plain[k][own]
            price[np.searchsorted(own, self._option[mine])] += self._evidence(k, mine, answered, may)
            nothing = 0.0 if belief not in self._endings.losses.valued else math.inf
            if len(self._locals) >= MOST_KEPT:
                self._locals.clear()
            correct = price[1:].min(axis=0) if len(own) > 1 else np.full(price.shape[1], nothing)
            self._locals[key] = np.array([price[0], correct])
        return self._locals[key]

    def _evidence(self, k: int, options: Indices, answered: Bools, may: Bools) -> Floats:
        """Return what the evidence for some options costs under each hypothesis, ``(n_options, n_hypotheses)``."""
        price = np.repeat(self._prices(self._lists[k], answered, may)[options, None], len(self._plain[k].T), axis=1)
        for exempt in self._exempt:
            if len(options) and exempt.belief == self._belief[options[0]]:
                missing = [m for m in exempt.probes if not answered[m]]
                paid = sum(float(self._share[exempt.belief, m]) if may[m] else math.inf for m in missing)
                price = np.minimum(price, np.where(exempt.wanting.T, math.inf, paid))
        return price

    def free(self) -> Floats:
        """Return the same where everybody who still may has answered, at no cost."""
        everybody = self._state.answered.copy()
        everybody[self._legal] = True
        return self.known(everybody, np.zeros_like(everybody))


def _told_apart(state: InformationState, tables: Sequence[Floats] | None) -> list[Bools]:
    """Return for each legal probe which hypotheses (columns) its answer may rule out where another (rows) is true."""
    n, found = len(state.posterior), []
    for m, view in enumerate(state.legal):
        check_deadline()
        if tables is not None:
            happens = tables[m] > 0.0
        elif isinstance(view.channel, Outcomes):
            happens = view.channel.table > 0.0
        else:  # a reading without glitches may be so far off that it counts as impossible
            never = isinstance(view.channel, Readings) and view.channel.outliers > 0.0
            found.append(np.full((n, n), not never))
            continue
        found.append(happens.astype(np.float32) @ (~happens).T.astype(np.float32) > 0.0)
    return found
