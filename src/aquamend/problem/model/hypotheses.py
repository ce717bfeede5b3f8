"""What may be true: joint hypotheses about physical changes and persistent sensing errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Protocol

from aquamend.arrays import Bools, Floats
from aquamend.codec import NOT_WRITTEN, TRUE_VALUE, Name, Probability, ProbabilityTable
from aquamend.problem.graph.nodes import Belief, Value
from aquamend.problem.model.spreads import Spread


class Cause(StrEnum):
    """Why a belief may have failed (the paper's four attribution categories)."""

    EXTERNAL = "external"
    """The world changed."""
    SELF_ERROR = "self_error"
    """The agent mis-estimated, or its sensing is biased."""
    FALSE_ALARM = "false_alarm"
    """Nothing task-relevant failed."""
    UNKNOWN = "unknown"
    """Unresolved; handled conservatively."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One complete explanation, with its prior probability and the beliefs it makes fail."""

    name: Name
    """Its name, which no other hypothesis has."""
    prior: Probability
    """Its probability before the alarm."""
    failed: Sequence[Name] = ()
    """Beliefs that fail: those that declare no value, and those of which no true value can be named."""
    cause: Cause = Cause.UNKNOWN
    """Why something failed; unknown unless given."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE] | Spread] = field(default_factory=dict)
    """What would be true of beliefs that declare a value, where it differs; a spread where nobody knows yet.

    A spread stands for one hypothesis for each of its values; ``modelling.expanded`` makes them.
    """
    part_of: Annotated[str, NOT_WRITTEN] = ""
    """The hypothesis that it is a part of, where that was split because a probe may repeat itself."""

    def true_of(self, belief: Belief) -> Value | None:
        """Return what is true of a belief that declares a value; None where it failed and no value can be named."""
        value = None if belief.name in self.failed else self.truth.get(belief.name, belief.declared)
        return value if isinstance(value, str | float | int) else None


class Conditions(Protocol):
    """Numbers given by conditions, some of which ask whether a belief is wrong: it may be another one later."""

    @property
    def beliefs(self) -> Sequence[str]:
        """The beliefs that they ask about."""
        ...

    @property
    def noisy(self) -> bool:
        """Whether they are the numbers of a noisy-or."""
        ...

    def row(self, wrong: Mapping[str, Bools]) -> Floats:
        """Return a number for every hypothesis, where each of these beliefs is wrong under these hypotheses."""
        ...

    def taken(self, origin: Sequence[int], names: Sequence[str]) -> Conditions:
        """Return the same for other hypotheses, each made from one of these."""
        ...

    def as_listed(self) -> Mapping[str, float] | None:
        """Return them as they are written beside a list of hypotheses; None where that cannot be said."""
        ...


@dataclass(frozen=True, slots=True)
class Alarm:
    """How likely the monitor was to raise this alarm under every hypothesis."""

    likelihood: ProbabilityTable = field(default_factory=dict)
    """For every hypothesis, how probable this alarm was if it is true."""
    suspects: Sequence[Name] = ()
    """Beliefs that the monitor flags."""
    again: ProbabilityTable | None = None
    """How probable one more such alarm is under every hypothesis, once it has been raised; None: nobody knows."""
    conditions: Annotated[Any, NOT_WRITTEN] = None
    """The `Conditions` that the likelihood was given by, where they ask about beliefs; None: it stays as it is."""
    again_by: Annotated[Any, NOT_WRITTEN] = None
    """Those of ``again``, likewise."""
    noisy_or: Mapping[Name, Probability] | None = None
    """In place of the likelihood: how probable each cause or failed belief makes it by itself, and a leak.

    ``modelling.joint_model`` makes a likelihood of it.
    """

    one_of: ClassVar[tuple[str, ...]] = ("likelihood", "noisy_or")
