"""What may be true: joint hypotheses about physical changes and persistent sensing errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from aquamend.graph.nodes import Value


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
    """Beliefs that fail, of those that declare no value."""
    cause: Cause = Cause.UNKNOWN
    truth: Mapping[str, Value] = field(default_factory=dict)
    """What would be true of beliefs that declare a value, where that differs from what is declared."""
    part_of: str = ""
    """The hypothesis that it is a part of, where that was split because a probe may repeat itself."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """How likely the monitor was to raise this alarm under every hypothesis."""

    likelihood: Mapping[str, float] = field(default_factory=dict)
    suspects: Sequence[str] = ()
    """Beliefs the monitor flags."""
    again: Mapping[str, float] | None = None
    """How likely one more such alarm is under every hypothesis, once it has been raised; None: nobody knows."""
