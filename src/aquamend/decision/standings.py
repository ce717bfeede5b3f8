"""How every declaration stands, and which value the evidence now supports (Algorithm 1, Section 3.4 of the paper).

What was declared before the alarm stays in force, with all that was done on the strength of it, until a decision
declares something else; beside it stands what would be declared now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aquamend.arrays import Floats
from aquamend.belief import InformationState, rejected
from aquamend.belief.support import evidence_on
from aquamend.caching import computed_once
from aquamend.decision.terminal import best_value, may_be_kept, mean_truth
from aquamend.problem.model.hypotheses import Declaration


@dataclass(frozen=True, slots=True)
class Standing:
    """One version of a declaration, and what the evidence says of it."""

    declaration: Declaration
    invalid: float | None
    """Probability of being invalid; None once no posterior is left."""
    usable: bool
    """Whether any evidence for it can be relied on; not the same as being probably valid."""
    mean: float | None = None
    """For a number, the posterior mean of what is true within its tolerance, which may be declared instead."""


@dataclass(frozen=True, slots=True)
class DeclarationStanding:
    """A declaration in force, and the version that the evidence now supports."""

    in_force: Standing
    supported: Standing | None
    """The same as in force where nothing new supports it or speaks against it; None where no value is supported."""


@computed_once
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


@computed_once
def _earlier(state: InformationState) -> tuple[InformationState, ...]:
    """Return the states from the origin of this one on, after one answer more each; this one itself left out."""
    if state.origin is None:
        return ()
    moments = [state.origin]
    for observation in state.evidence[len(state.origin.evidence) : -1]:
        moments.append(moments[-1].after_earlier(observation))
    return tuple(moments)


def _says(standing: Standing) -> tuple[object, ...]:
    declaration = standing.declaration
    return declaration.value, tuple(declaration.invalid_in or ()), tuple(declaration.support)


def _numbered(standing: Standing, version: int) -> Standing:
    return replace(standing, declaration=replace(standing.declaration, version=version))


@computed_once
def _in_force(state: InformationState, d: int) -> Standing:
    declaration = state.problem.declarations[d]
    invalid = None if state.invalidity is None else float(state.invalidity[d])
    problem, i = state.problem, state.problem.graph.belief_index[declaration.belief]
    wrong = problem.invalid[:, d] if problem.graph.beliefs[i].declares else problem.failed[:, i]
    return Standing(declaration, invalid, bool(evidence_on(state, i, wrong)))


def _supported(state: InformationState, d: int) -> Standing | None:
    """Return what the evidence supports in place of a declaration; None where that is no value at all."""
    problem, declaration = state.problem, state.problem.declarations[d]
    i = problem.graph.belief_index[declaration.belief]
    in_force = _in_force(state, d)
    if in_force.invalid is None:
        return None
    if not problem.graph.beliefs[i].declares:
        return _restated(state, in_force)
    best, kept = best_value(state, i), float(state.failure_probabilities[i])
    if declaration.value == problem.in_force(i) and may_be_kept(state, i) and (best is None or kept <= best[1]):
        return _again(state, in_force, problem.failed[:, i])
    if best is None or best[0].value is None:
        return None
    value, wrong = best
    support = _names(state, evidence_on(state, i, value.if_undone))
    names = problem.model.names_where(value.wrong)
    new = replace(declaration, value=value.value, invalid_in=names, support=support)
    mean = None if isinstance(value.value, str) else mean_truth(state, i, float(value.value or 0.0))
    return Standing(new, wrong, bool(support), mean)


def _names(state: InformationState, probes: Sequence[int]) -> tuple[str, ...]:
    return tuple(state.problem.graph.probes[m].name for m in probes)


def _again(state: InformationState, in_force: Standing, wrong: Floats) -> Standing:
    """Return what is in force, or, where something has answered that bears on it, the same with its evidence by now."""
    i = state.problem.graph.belief_index[in_force.declaration.belief]
    if not any(m in state.answers for m in state.problem.evidence_for[i]):
        return in_force
    support = _names(state, evidence_on(state, i, wrong))
    return replace(in_force, declaration=replace(in_force.declaration, support=support), usable=bool(support))


def _restated(state: InformationState, in_force: Standing) -> Standing:
    """Return a statement without a value declared again, or its negation where it is rejected."""
    declaration, invalid = in_force.declaration, in_force.invalid or 0.0
    model, i = state.problem.model, state.problem.graph.belief_index[declaration.belief]
    marked = model.among(declaration.invalid_in or ())
    failed = state.problem.failed[:, i]
    if not rejected(invalid):
        return _again(state, in_force, failed)
    support = _names(state, evidence_on(state, i, 1.0 - failed))
    negated = f"not: {declaration.value or declaration.name}"
    said = replace(declaration, value=negated, invalid_in=model.names_where(1.0 - marked), support=support)
    return Standing(said, 1.0 - invalid, bool(support))
