"""What may be true: joint hypotheses about physical changes and persistent sensing errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from aquamend.graph.nodes import Belief, Value
from aquamend.model.spreads import Spread


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

    name: str
    prior: float
    failed: Sequence[str] = ()
    """Beliefs that fail: those that declare no value, and those of which no true value can be named."""
    cause: Cause = Cause.UNKNOWN
    truth: Mapping[str, Value | Spread] = field(default_factory=dict)
    """What would be true of beliefs that declare a value, where that differs from what is declared.

    A spread stands for one hypothesis for each of its values; ``modelling.expanded`` makes them.
    """
    part_of: str = ""
    """The hypothesis that it is a part of, where that was split because a probe may repeat itself."""

    def true_of(self, belief: Belief) -> Value | None:
        """Return what is true of a belief that declares a value; None where it failed and no value can be named."""
        value = None if belief.name in self.failed else self.truth.get(belief.name, belief.declared)
        return value if isinstance(value, str | float | int) else None


@dataclass(frozen=True, slots=True)
class Alarm:
    """How likely the monitor was to raise this alarm under every hypothesis."""

    likelihood: Mapping[str, float] = field(default_factory=dict)
    suspects: Sequence[str] = ()
    """Beliefs the monitor flags."""
    again: Mapping[str, float] | None = None
    """How likely one more such alarm is under every hypothesis, once it has been raised; None: nobody knows."""
