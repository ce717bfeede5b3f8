"""What records keep of the posterior: how doubtful every declaration was, whether rightly, and how that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.standings import Standing, standings
from aquamend.decision.steps import Step
from aquamend.policies import Policy
from aquamend.problem.model.hypotheses import Declaration
from aquamend_lab.benchmarks.scenario import Truth

OLD, CURRENT = "old", "current"
"""The version in force at the alarm, and the one that the evidence supports at the first decision."""


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What of the posterior is kept in a record."""

    unions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Events such as "any binding": that at least one of these declarations is invalid. Those that a problem lacks are
    passed over."""
    over_time: bool = True
    """Whether the failure probabilities at every decision are kept too."""


@dataclass(frozen=True, eq=False)
class Watched:
    """A policy, and every state that it was asked about."""

    policy: Policy
    states: list[InformationState] = field(default_factory=list)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's own step."""
        self.states.append(state)
        return self.policy.next_step(state)


def kept(
    what: Probabilities, states: Sequence[InformationState], truth: Truth, roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return what a record tells of probabilities: of declarations at the first decision, of beliefs at every one.

    Declarations are called what ``roles`` says, so that the same row of a table is about the same thing.
    """
    if not states or states[0].contradiction is not None:
        return {"declarations": [], "posterior": None}
    found: dict[str, Any] = {"declarations": _declarations(what, states[0], truth, roles)}
    if what.over_time:
        beliefs = [belief.name for belief in states[0].problem.graph.beliefs]
        at = [None if s.contradiction is not None else s.failure_probabilities.tolist() for s in states]
        found["posterior"] = {"beliefs": beliefs, "at": at}
    return found


def _declarations(
    what: Probabilities, state: InformationState, truth: Truth, roles: Mapping[str, str]
) -> list[dict[str, Any]]:
    old: dict[str, Standing] = {}
    current: dict[str, Standing] = {}
    for standing in standings(state):
        name = standing.in_force.declaration.name
        old[name] = standing.in_force
        if standing.supported is not None:
            current[name] = standing.supported
    lines = []
    for when, found in ((OLD, old), (CURRENT, current)):
        lines += [
            _line(
                roles.get(name, name),
                when,
                standing.declaration.version,
                standing.invalid,
                _so(truth, standing.declaration, when),
            )
            for name, standing in found.items()
        ]
        for event, names in what.unions.items():
            members = [found[name].declaration for name in names if name in found]
            if members:
                lines.append(_line(event, when, None, _any_invalid(state, members), _any_so(truth, members, when)))
    return lines


def _line(event: str, when: str, version: int | None, q: float | None, so: bool | None) -> dict[str, Any]:
    return {"event": event, "when": when, "version": version, "q": q, "so": so}


def _so(truth: Truth, declaration: Declaration, when: str) -> bool | None:
    """Return whether a version is really invalid; None where nobody can say."""
    if truth.invalid is not None:
        return truth.invalid(declaration)
    return declaration.belief in truth.failed if when == OLD else None


def _any_so(truth: Truth, declarations: Sequence[Declaration], when: str) -> bool | None:
    answers = [_so(truth, declaration, when) for declaration in declarations]
    return True if True in answers else None if None in answers else False


def _any_invalid(state: InformationState, declarations: Sequence[Declaration]) -> float:
    """Return the probability that at least one of some versions is invalid: of the union, not from the marginals.

    A hypothesis that makes a version wrong only sometimes counts as making it wrong: then this is an upper bound.
    """
    wrong = {name for declaration in declarations for name in declaration.invalid_in or ()}
    return float(state.posterior @ np.array([name in wrong for name in state.problem.model.names]))
