"""The second substep of a re-probe: refresh a declaration from the new evidence and check its support."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aquamend.inference.state import InformationState
from aquamend.model.declarations import Declaration

REJECT_AT = 0.5
"""A declaration whose invalidity probability reaches this is rejected (the paper's detection threshold)."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a declaration has usable evidence behind it, and which; not the same as being probably valid."""

    available: bool
    probes: tuple[str, ...]
    reason: str


def refreshed(state: InformationState, declaration: Declaration) -> Declaration:
    """Return the next version of a declaration, re-estimated from the posterior.

    Where the declaration lists its true value under every hypothesis, the new version declares the most probable one.
    Otherwise it declares the old statement again, or, if that is rejected, its negation. Its support is the evidence
    gathered since the alarm that bears on the belief; without any, the old support is carried over.
    """
    model = state.problem.model
    bearing = state.problem.graph.supporting_probes[declaration.belief]
    fresh = tuple(dict.fromkeys(o.probe for o in state.evidence if o.probe in bearing))
    support = fresh or tuple(declaration.support)
    names = [hypothesis.name for hypothesis in model.hypotheses]
    if declaration.true_value is not None:
        mass: dict[str, float] = {}
        for name, p in zip(names, state.posterior, strict=True):
            true = declaration.true_value[name]
            mass[true] = mass.get(true, 0.0) + float(p)
        best = max(mass, key=mass.__getitem__)
        invalid_in = tuple(name for name in names if declaration.true_value[name] != best)
        return replace(declaration, version=declaration.version + 1, value=best, invalid_in=invalid_in, support=support)
    invalid = model.invalidity(declaration)
    value, invalid_in = declaration.value, tuple(declaration.invalid_in)
    if float(state.posterior @ invalid) >= REJECT_AT:
        value = f"not: {declaration.value or declaration.name}"
        invalid_in = tuple(names[i] for i in np.flatnonzero(invalid == 0.0))
    return replace(declaration, version=declaration.version + 1, value=value, invalid_in=invalid_in, support=support)


def with_refreshed_declarations(state: InformationState) -> InformationState:
    """Return the state with every declaration that new evidence bears on replaced by its next version."""
    bearing = state.problem.graph.supporting_probes
    probed = {observation.probe for observation in state.evidence}
    return replace(
        state,
        declarations=tuple(
            refreshed(state, d) if probed.intersection(bearing[d.belief]) else d for d in state.declarations
        ),
    )


def support(state: InformationState, declaration: Declaration) -> Support:
    """Return whether a declaration in force has usable evidence: named sources, and not rejected by the posterior."""
    if state.contradiction is not None:
        return Support(False, tuple(declaration.support), f"{state.contradiction} contradicts the model")
    if not declaration.support:
        return Support(False, (), "no evidence is named for it")
    invalid = state.invalidity(declaration)
    if invalid is not None and invalid >= REJECT_AT:
        return Support(False, tuple(declaration.support), f"probably invalid (q = {invalid:.3g})")
    return Support(True, tuple(declaration.support), f"q = {invalid:.3g}")
