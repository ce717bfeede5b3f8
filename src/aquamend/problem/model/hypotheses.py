"""What may be true: joint hypotheses about physical changes and persistent sensing errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats
from aquamend.codec import NOT_WRITTEN, TRUE_VALUE, Name, Probability, ProbabilityTable
from aquamend.problem.graph.nodes import Belief, Value
from aquamend.problem.model.columns import Numbered
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


@dataclass(frozen=True, eq=False)
class Hypotheses(Sequence[Hypothesis]):
    """Very many hypotheses as columns, with an entry for each of them; one becomes an object when it is asked for.

    >>> Hypotheses(prior, failed={"pose": pose_has_failed})
    """

    prior: Floats
    """Shape ``(n_hypotheses,)``; as for all columns."""
    failed: Mapping[str, Bools] = field(default_factory=dict)
    """By belief, where it fails without a value; left out where it never does."""
    truth: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    """By belief that declares a value, what is true instead; None where nothing is said."""
    cause: NDArray[np.int8] | Cause = Cause.UNKNOWN
    """Why something failed: one cause for all, or positions in ``list(Cause)``."""
    names: Sequence[str] = ()
    """Their names; h0, h1 and so on unless given."""

    def __post_init__(self) -> None:
        if not len(self.names):
            object.__setattr__(self, "names", Numbered(len(self.prior)))

    def __len__(self) -> int:
        return len(self.prior)

    @overload
    def __getitem__(self, at: int) -> Hypothesis: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Hypothesis]: ...
    def __getitem__(self, at: int | slice) -> Hypothesis | Sequence[Hypothesis]:
        if isinstance(at, slice):
            return tuple(map(self.__getitem__, range(len(self))[at]))
        failed = tuple(belief for belief, column in self.failed.items() if column[at])
        truth = {belief: value for belief, column in self.truth.items() if (value := column[at]) is not None}
        return Hypothesis(self.names[at], float(self.prior[at]), failed, CAUSES[int(self.causes[at])], truth)

    @property
    def causes(self) -> NDArray[np.int8]:
        """Shape ``(n_hypotheses,)``; positions in ``list(Cause)``."""
        if isinstance(self.cause, Cause):
            return np.broadcast_to(np.int8(CAUSES.index(self.cause)), len(self))
        return self.cause


CAUSES = tuple(Cause)


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


@dataclass(frozen=True, slots=True)
class Declaration:
    """One version of a statement about a belief, with its value and the evidence that supports it."""

    name: Name
    """What was stated."""
    belief: Name
    """The belief that it is about."""
    version: int = 1
    """Which version of the statement it is; 1 unless given."""
    value: Annotated[Value, TRUE_VALUE] | None = None
    """What it declares; taken from the belief where that declares a value."""
    invalid_in: Sequence[Name] | None = None
    """The hypotheses under which this version is invalid.

    None: where the belief has failed, or, if it says another value than the belief declares, where that is not true.
    """
    support: Sequence[Name] = ()
    """The probes whose evidence it rests on; empty where not recorded."""

    def __str__(self) -> str:
        return f"{self.name} (v{self.version})" if self.version != 1 else self.name
