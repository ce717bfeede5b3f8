"""Rules of support: a belief that needs support may be kept, or declared as a value, only with evidence for that.

An option, to keep such a belief or to declare one of its values, is open while it is wrong with a probability below one
half and a probe that speaks for it can be relied on; an option that cannot be wrong needs no evidence. A probe speaks
for an option if all that it has answered since the alarm is at least twice as likely where the option is right as where
it is wrong, over what was possible at the alarm,

    Σ_{right} p₀(s) k(y | s) / Σ_{right} p₀(s)  ≥  2 Σ_{wrong} p₀(s) k(y | s) / Σ_{wrong} p₀(s),

or if it is in the support of the belief's newest declaration. It can be relied on while it has no source, or one that
has failed with a probability below one half.

A worked example: floor 4 is declared, wrong with probability 0.1 at the alarm. A sign that is read rightly in 97 of 100
cases answers "4": 0.97 where the floor is right against 0.03 where it is wrong, so it speaks for keeping 4. It answers
"3": 0.03 against 0.97, so it speaks for declaring 3. A sign that answers "4" whatever is true supports no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats, Indices, any_in, distinct
from aquamend.belief import InformationState
from aquamend.belief.state import REJECT_AT, rejected
from aquamend.caching import computed_once
from aquamend.problem import Problem

TWICE = 2.0 * (1.0 - 1e-9)
"""How much likelier an answer must be where an option is right; twice, less rounding."""


def favour(at_alarm: Floats, wrong: Floats) -> Floats:
    """Return g with Σ_s g(s) k(y | s) ≥ 0 exactly where an answer y speaks for an option, ``(n_hypotheses, n)``.

    ``at_alarm`` is p₀; ``wrong``, ``(n_hypotheses, n)``, has a one where an option is wrong. What could not be right at
    the alarm never gets support; what could not be wrong always has it.
    """
    right, failing = at_alarm[:, None] * (1.0 - wrong), at_alarm[:, None] * wrong
    right_mass, wrong_mass = right.sum(axis=0), failing.sum(axis=0)
    # Shares of their masses, each at most one: the inverse of a mass may be beyond any float.
    speaks_for = right / np.where(right_mass > 0.0, right_mass, 1.0)
    return np.asarray(speaks_for - TWICE * failing / np.where(wrong_mass > 0.0, wrong_mass, 1.0))


@dataclass(frozen=True, eq=False)
class Support:
    """The options that need support, and whose evidence may give it: pairs of an option and a probe."""

    column: Indices
    """Shape ``(n_options,)``; the feature that tells how probably each option is wrong."""
    weight: Floats
    """Shape ``(n_options,)``; what that feature is multiplied by."""
    wrong: Floats
    """Shape ``(n_hypotheses, n_options)``; one where an option is wrong once all that rests on it is undone."""
    first: Indices
    """Shape ``(n_options,)``; where each option's pairs start. The first of them is no probe's, and never speaks."""
    probe: Indices
    """Shape ``(n_pairs,)``; one more than there are stands for no probe."""
    before: Bools
    """Shape ``(n_pairs,)``; whether the probe supports it since before the alarm."""
    source: Indices
    """Shape ``(n_pairs,)``; the feature that tells whether the probe's source has failed; 0 where it has none."""
    _pairs: dict[int, Indices] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def option(self) -> Indices:
        """Shape ``(n_pairs,)``; the option of each pair."""
        return np.repeat(np.arange(len(self.first)), np.diff([*self.first, len(self.probe)]))

    @cached_property
    def sources(self) -> Indices:
        """The features that tell whether sources have failed, each once."""
        return distinct(self.source[self.source > 0])

    @cached_property
    def _hanging(self) -> tuple[Indices, Indices]:
        """The pairs whose probe has a source, and which of the sources that is."""
        pairs = np.flatnonzero(self.source)
        return pairs, np.searchsorted(self.sources, self.source[pairs])

    def pairs_of(self, probe: int) -> Indices:
        """Return the pairs that hang on what a probe answers."""
        if probe not in self._pairs:
            self._pairs[probe] = np.flatnonzero((self.probe == probe) & ~self.before)
        return self._pairs[probe]

    def once_answered(self, answered: Bools) -> Bools:
        """Return the pairs of probes that have answered, whatever they said, ``(…, n_pairs)``; at most those speak."""
        known = np.concatenate([answered, np.zeros((*answered.shape[:-1], 1), dtype=bool)], axis=-1)
        return np.asarray(known[..., self.probe] | self.before)

    @cached_property
    def wanting(self) -> Indices:
        """The options that have no evidence for certain: none since before the alarm, or only of an unsure source."""
        certain = np.bincount(self.option, weights=self.before & (self.source == 0), minlength=len(self)) > 0
        return np.flatnonzero(~certain)

    def lacking(self, sums: Floats, speaks: Bools) -> Bools:
        """Return which of the wanting options lack evidence that can be relied on, ``(n_wanting, n_branches)``."""
        usable = np.broadcast_to(np.atleast_2d(speaks).T, (len(self.probe), len(sums)))
        hanging, which = self._hanging
        if len(hanging):
            usable = usable.copy()
            usable[hanging] &= (sums.T[self.sources] < REJECT_AT * sums[:, 0])[which]
        return ~any_in(usable, self.first)[self.wanting]

    def barred(self, sums: Floats, speaks: Bools, *, relaxed: bool = False) -> Bools:
        """Return which options may not be taken in each branch, ``(n_options, n_branches)``.

        ``relaxed`` leaves out all conditions on the posterior, so that what has spoken is enough.
        """
        wrong = sums.T[self.column]
        if relaxed:
            heard = any_in(np.atleast_2d(speaks).T, self.first)
            return np.asarray(~heard & (wrong > 0.0))
        barred = wrong >= (REJECT_AT * self.weight)[:, None] * sums[:, 0]
        if len(self.wanting):
            barred[self.wanting] |= self.lacking(sums, speaks) & (wrong[self.wanting] > 0.0)
        return np.asarray(barred)


def spoken(support: Support, state: InformationState) -> Bools:
    """Return which pairs speak at a state, ``(n_pairs,)``."""
    return _spoken(state, support)


@computed_once
def _spoken(state: InformationState, support: Support) -> Bools:
    speaks = support.before.copy()
    for probe in state.answers if len(support) else ():
        own = support.pairs_of(probe)
        speaks[own] = spoken_by(support, state, probe, np.ones((1, len(state.posterior))))[0]
    speaks.setflags(write=False)
    return speaks


def spoken_by(support: Support, state: InformationState, probe: int, likelihood: Floats) -> Bools:
    """Return which of a probe's pairs speak once it has answered so, beside what it has answered before.

    ``likelihood`` is ``(n_answers, n_hypotheses)``; the result ``(n_answers, n_pairs_of_probe)``.
    """
    return np.asarray(likelihood @ favour_since(state, support, probe) >= 0.0)


@computed_once
def favour_since(state: InformationState, support: Support, probe: int) -> Floats:
    """Return `favour` for a probe's pairs, with what it has answered since the alarm, ``(n_hypotheses, n)``."""
    g = _favour_at(state.origin or state, support, probe)
    return g * state.answers[probe][:, None] if probe in state.answers else g


@computed_once
def _favour_at(start: InformationState, support: Support, probe: int) -> Floats:
    return favour(start.posterior, support.wrong[:, support.option[support.pairs_of(probe)]])


def spoken_after(support: Support, state: InformationState, probe: int, likelihood: Floats) -> Bools:
    """Return which of all pairs speak after each answer of a probe, ``(n_answers, n_pairs)``."""
    speaks = np.repeat(spoken(support, state)[None, :], len(likelihood), axis=0)
    own = support.pairs_of(probe)
    if len(own):
        speaks[:, own] = spoken_by(support, state, probe, likelihood)
    return speaks


def evidence_on(state: InformationState, belief: int, wrong: Floats) -> tuple[int, ...]:
    """Return the probes that speak for something said of a belief and can be relied on, in graph order.

    ``wrong``, ``(n_hypotheses,)``, has a one where that is wrong. No rule of support need be in force.
    """
    g = favour(state.at_alarm, wrong[:, None])[:, 0]
    sound = [
        (probe, before) for probe, before in sorted(state.problem.evidence_for[belief].items()) if usable(state, probe)
    ]
    said = state.answers
    return tuple(probe for probe, before in sound if before or (probe in said and float(said[probe] @ g) >= 0.0))


def usable(state: InformationState, probe: int) -> bool:
    """Whether a probe's evidence can be relied on: it has no source, or one that is not rejected."""
    graph = state.problem.graph
    source = graph.probes[probe].source
    return source is None or not rejected(float(state.failure_probabilities[graph.belief_index[source]]))


def _bearing(problem: Problem, belief: int) -> list[tuple[int, bool]]:
    """Return whose evidence may support a belief, and whether since before the alarm.

    One that does so already and has no source is enough, whatever the others say.
    """
    every = sorted(problem.evidence_for[belief].items())
    certain = [(probe, True) for probe, before in every if before and problem.graph.probes[probe].source is None]
    return certain[:1] or every


def support_of(problem: Problem, options: Sequence[tuple[int, int, float, Floats]], sources: dict[str, int]) -> Support:
    """Return the rules for these options: belief, feature, its weight, and where it is wrong.

    ``sources`` tells which feature each source's failure is.
    """
    no_probe = len(problem.graph.probes)
    bearing = {belief: _bearing(problem, belief) for belief, _, _, _ in options}
    pairs = [[(no_probe, False), *bearing[belief]] for belief, _, _, _ in options]
    flat = [pair for own in pairs for pair in own]
    named = [*(probe.source for probe in problem.graph.probes), None]
    n = len(problem.model.hypotheses)
    return Support(
        column=np.array([column for _, column, _, _ in options], dtype=np.intp),
        weight=np.array([weight for _, _, weight, _ in options], dtype=float),
        wrong=np.array([wrong for _, _, _, wrong in options]).reshape(len(options), n).T,
        first=np.cumsum([0, *(len(own) for own in pairs)], dtype=np.intp)[:-1],
        probe=np.array([probe for probe, _ in flat], dtype=np.intp),
        before=np.array([before for _, before in flat], dtype=bool),
        source=np.array([sources.get(named[probe] or "", 0) for probe, _ in flat], dtype=np.intp),
    )
