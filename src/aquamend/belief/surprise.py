"""How improbable what was answered was, by the whole model: a model may be wrong in ways that no hypothesis says.

The chance of an outcome is its predictive probability just before it came. A number has a density and no probability:
its chance is that of a reading at least as far out, on either side. An answer that is no outcome of its probe, or that
no hypothesis allows, has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aquamend.belief.state import InformationState, Observation
from aquamend.caching import computed_once
from aquamend.problem.model.kernels import Readings

SURPRISING = 1e-3
"""Below this chance an answer is called surprising, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class ProbableAnswer:
    """An answer, and how probable it was before it came."""

    observation: Observation
    chance: float


def chance_of(state: InformationState, observation: Observation) -> float:
    """Return how probable an answer is at a state."""
    channel = state.problem.model.channels[observation.probe]
    answer = channel.parse(observation.outcome)
    if answer is None or state.contradiction is not None:
        return 0.0
    if not isinstance(channel, Readings):
        return float(state.posterior @ channel.likelihood(answer))
    below, above = channel.gathered(state.posterior) @ channel.intervals(np.array([float(answer)]))
    return min(1.0, 2.0 * float(min(below, above)))


@computed_once
def heard(state: InformationState) -> tuple[ProbableAnswer, ...]:
    """Return the answers since the alarm, each with how probable it was when it came."""
    if state.origin is None:
        return ()
    moment, found = state.origin, []
    for observation in state.evidence[len(state.origin.evidence) :]:
        found.append(ProbableAnswer(observation, chance_of(moment, observation)))
        if observation is state.contradiction:
            break
        moment = moment.after_earlier(observation)
    return tuple(found)


def surprises(state: InformationState, *, below: float = SURPRISING) -> tuple[ProbableAnswer, ...]:
    """Return the answers since the alarm that were less probable than this."""
    return tuple(one for one in heard(state) if one.chance < below)
