"""Refreshing: which values the evidence now supports, and how every declaration stands (Algorithm 1, Section 3.4).

A correction needs a value, and a value needs evidence. What was declared before the alarm stays in force, with all that
was done on the strength of it, until a decision declares something else; beside it stands what would be declared now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aquamend.graph import Belief, Value
from aquamend.inference.state import InformationState, rejected
from aquamend.model.declarations import Declaration
from aquamend.problem import NewValue
from aquamend.remembering import remembered


@remembered
def usable_probes(state: InformationState) -> NDArray[np.bool_]:
    """Return whose evidence can be relied on, shape ``(n_probes,)``: no source, or one that is not rejected."""
    graph, q = state.problem.graph, state.failure_probabilities
    return np.array(
        [p.source is None or not rejected(float(q[graph.belief_index[p.source]])) for p in graph.probes], dtype=bool
    )


def supporting_evidence(state: InformationState, belief: int) -> tuple[int, ...]:
    """Return the probes whose usable evidence bears on a belief: in its declarations' support, or answered since."""
    usable, answered = usable_probes(state), state.answered
    given = state.problem.evidence_for[belief].items()
    return tuple(sorted(m for m, before in given if usable[m] and (before or answered[m])))


def may_be_kept(state: InformationState, belief: int) -> bool:
    """Whether support allows a belief to be kept; what a possible failure would cost is not asked here."""
    if not state.problem.graph.beliefs[belief].needs_support:
        return True
    return not rejected(float(state.failure_probabilities[belief])) and bool(supporting_evidence(state, belief))


def wrong_probability(state: InformationState, value: NewValue) -> float:
    """Return Σ_s p(s) e(s); without a posterior, the worst that is possible."""
    if state.contradiction is None:
        return float(state.posterior @ value.wrong)
    probes = state.problem.graph.probes
    return float(value.wrong.max()) if value.probe is not None and probes[value.probe].source is None else 1.0


def declarable(state: InformationState, belief: int) -> list[tuple[NewValue, float]]:
    """Return the values that a corrected belief may be declared to have now, with the probability of being wrong."""
    found = []
    needs_support = state.problem.graph.beliefs[belief].needs_support
    for value in state.problem.values_of(belief):
        if value.probe is not None and not state.answered[value.probe]:
            continue
        wrong = wrong_probability(state, value)
        if needs_support:
            usable = supporting_evidence(state, belief) if value.probe is None else usable_probes(state)[value.probe]
            if rejected(wrong) or not usable:
                continue
        found.append((value, wrong))
    return found


def best_value(state: InformationState, belief: int) -> tuple[NewValue, float] | None:
    """Return the value least likely to be wrong, and how likely that is; None if none may be declared.

    Of values that are exactly as likely to be wrong, the first: times an infinite residual, no difference is small.
    """
    return min(declarable(state, belief), key=lambda option: option[1], default=None)


@dataclass(frozen=True, slots=True)
class Standing:
    """One version of a declaration, and what the evidence says of it."""

    declaration: Declaration
    invalid: float | None
    """Probability of being invalid; None once no posterior is left."""
    usable: bool
    """Whether any evidence on its belief can be relied on; not the same as being probably valid."""


@dataclass(frozen=True, slots=True)
class DeclarationStanding:
    """A declaration in force, and the version that the evidence now supports."""

    in_force: Standing
    supported: Standing | None
    """The same as in force where nothing new supports it or speaks against it; None where no value is supported."""


@remembered
def standings(state: InformationState) -> tuple[DeclarationStanding, ...]:
    """Return how every declaration in force stands, and what would be declared in its place now."""
    found = []
    for d in range(len(state.problem.declarations)):
        history = versions(state, d)
        found.append(DeclarationStanding(_in_force(state, d), history[-1]))
    return tuple(found)


def versions(state: InformationState, declaration: int) -> tuple[Standing | None, ...]:
    """Return every version that the evidence has supported so far, the one in force first, each as it then stood.

    None where, for a while, no value was supported.
    """
    moments = (*_earlier(state), state)
    found: list[Standing | None] = [_in_force(moments[0], declaration)]
    number = state.problem.declarations[declaration].version
    for moment in moments:
        now, last = _supported(moment, declaration), found[-1]
        if now is not None and last is not None and _says(now) == _says(last):  # the same version, as it stands by now
            found[-1] = _numbered(now, last.declaration.version)
        elif now is not None or last is not None:
            number += now is not None
            found.append(None if now is None else _numbered(now, number))
    return tuple(found)


@remembered
def _earlier(state: InformationState) -> tuple[InformationState, ...]:
    """Return the states from the origin of this one on, after one answer more each; this one itself left out."""
    if state.origin is None:
        return ()
    moments = [state.origin]
    for observation in state.evidence[len(state.origin.evidence) : -1]:
        moments.append(moments[-1].after(observation))
    return tuple(moments)


def _says(standing: Standing) -> tuple[object, ...]:
    declaration = standing.declaration
    return declaration.value, tuple(declaration.invalid_in or ()), tuple(declaration.support)


def _numbered(standing: Standing, version: int) -> Standing:
    return replace(standing, declaration=replace(standing.declaration, version=version))


def _in_force(state: InformationState, d: int) -> Standing:
    declaration = state.problem.declarations[d]
    invalid = None if state.invalidity is None else float(state.invalidity[d])
    evidence = supporting_evidence(state, state.problem.graph.belief_index[declaration.belief])
    return Standing(declaration, invalid, bool(evidence))


def _supported(state: InformationState, d: int) -> Standing | None:
    """Return what the evidence supports in place of a declaration; None where that is no value at all."""
    problem, declaration = state.problem, state.problem.declarations[d]
    i = problem.graph.belief_index[declaration.belief]
    belief = problem.graph.beliefs[i]
    in_force = _in_force(state, d)
    if in_force.invalid is None:
        return None
    support = tuple(problem.graph.probes[m].name for m in supporting_evidence(state, i))
    if belief.declared is None and not belief.declares:
        return _restated(state, in_force, support)
    best = best_value(state, i)
    if best is None:
        return None
    value, wrong = best
    names = [problem.model.names[s] for s in np.flatnonzero(value.wrong)]
    said = _said(state, belief, value)
    if value.probe is not None:
        support = (problem.graph.probes[value.probe].name,)
    elif said == declaration.value and not _fresh(state, i):
        return in_force
    new = replace(declaration, value=said, invalid_in=tuple(names), support=support)
    return Standing(new, wrong, bool(support))


def _said(state: InformationState, belief: Belief, value: NewValue) -> Value | None:
    """Return what is declared: a value, or what the probe that reads it last answered."""
    if value.probe is None:
        return belief.declared if value.value is None else value.value
    name = state.problem.graph.probes[value.probe].name
    return next((o.outcome for o in reversed(state.evidence) if o.probe == name), None)


def _fresh(state: InformationState, belief: int) -> bool:
    return any(state.answered[m] for m in state.problem.evidence_for[belief])


def _restated(state: InformationState, in_force: Standing, support: Sequence[str]) -> Standing:
    """Return a statement without a value declared again, or its negation where it is rejected."""
    declaration, invalid = in_force.declaration, in_force.invalid or 0.0
    i = state.problem.graph.belief_index[declaration.belief]
    if not rejected(invalid):
        if not _fresh(state, i):
            return in_force
        return Standing(replace(declaration, support=tuple(support)), invalid, bool(support))
    valid = set(state.problem.model.names) - set(declaration.invalid_in or ())
    names = tuple(name for name in state.problem.model.names if name in valid)
    negated = f"not: {declaration.value or declaration.name}"
    return Standing(
        replace(declaration, value=negated, invalid_in=names, support=tuple(support)), 1.0 - invalid, bool(support)
    )
