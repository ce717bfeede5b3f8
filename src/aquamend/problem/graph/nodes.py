"""The nodes of a recovery graph of three types, the operations that undoing performs, and six kinds of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, NamedTuple

from aquamend.codec import TRUE_VALUE, VALUE, Cost, Count, Key, Name, Probability
from aquamend.codec.forms import words

Value = str | float
"""What a belief says: text, or a number in whatever unit its probes read."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement of a latent property that the agent can (re)do."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    cost: Cost
    """Cost of running it once, in the problem's unit; finite."""
    modality: Name | None = None
    """Which kind of sensor answers; screening keeps an alternative modality available."""
    max_uses: Count = 1
    """How often it may run; infinity for no limit, once unless given."""
    source: Name | None = None
    """The belief that the instrument is sound; where that has failed, nothing it read can be relied on."""
    requires: Sequence[Name] = ()
    """Actions that must be executed for it to be possible."""
    forbids: Sequence[Name] = ()
    """Actions that must not be executed for it to be possible."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A latent proposition that executed actions rest on."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    residual: Cost = 0.0
    """Loss if the belief has failed and nothing corrects it, in the problem's unit; 0 unless given."""
    may_keep: bool = True
    """False: a possible failure may not be left uncorrected at any price."""
    declared: Annotated[Value, VALUE] | None = None
    """What the agent now believes, as text or a number; None where hypotheses say of it that it failed, not how.

    It has failed where something else is true, and is corrected by declaring another value; without one, correcting it
    repairs it.
    """
    tolerance: Cost = 0.0
    """How far a number may be from the truth without having failed; 0 unless given."""
    needs_support: bool = False
    """True: it may be kept, or declared again, only while probably right and resting on usable evidence."""

    @property
    def declares(self) -> bool:
        """Whether it states a value, so that correcting it means declaring another."""
        return self.declared is not None


@dataclass(frozen=True, slots=True)
class Operation:
    """A physical recovery operation that several actions may share; charged once per recovery."""

    name: Name
    """Its name, which no other operation has."""
    cost: Cost
    """What it costs, paid once however many actions need it."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent did or plans to do on the strength of its beliefs."""

    name: Name
    """Its name, which no other belief, action or probe has."""
    undo: Cost | None = None
    """Cost of undoing it, where it has an undoing of its own; exclusive with ``operations``."""
    operations: tuple[Name, ...] = ()
    """Names of the shared operations that undoing it performs."""
    executed: Annotated[bool, Key("status"), words({"executed": True, "planned": False})] = False
    """Whether it was done; else it is only planned, and cancelling it costs nothing."""
    reversible: bool = True
    """False: once executed, it cannot be undone at any finite cost."""
    redo: Cost = 0.0
    """Cost of doing it again after it was undone; 0 unless given."""
    undo_succeeds: Probability = 1.0
    """Probability that undoing it, tried once, succeeds; where it fails, what was wrong because of it stays wrong."""
    sets: Mapping[Name, Annotated[Value, TRUE_VALUE]] = field(default_factory=dict, hash=False)
    """What is declared of beliefs once it has been done, or done again: the floor, after a ride in the lift."""


class EdgeKind(StrEnum):
    """What an edge means (the paper's appendix on recovery-graph edge types)."""

    DETECTION = "detection"
    """One measurement supports a belief."""
    AGGREGATION = "aggregation"
    """Several measurements, or several beliefs, together support a belief."""
    INFERENCE = "inference"
    """A belief is derived from another."""
    BELIEF_TO_ACTION = "belief_to_action"
    """An action was chosen because of a belief."""
    ACTION_CAUSAL = "action_causal"
    """An action's effect is a precondition of another."""
    TEMPORAL = "temporal"
    """An action merely comes after another."""


LEGAL_ENDPOINTS: dict[EdgeKind, tuple[tuple[str, ...], str]] = {
    EdgeKind.DETECTION: (("probe",), "belief"),
    EdgeKind.AGGREGATION: (("probe", "belief"), "belief"),
    EdgeKind.INFERENCE: (("belief",), "belief"),
    EdgeKind.BELIEF_TO_ACTION: (("belief",), "action"),
    EdgeKind.ACTION_CAUSAL: (("action",), "action"),
    EdgeKind.TEMPORAL: (("action",), "action"),
}
"""What each kind may run from, and to."""


class Edge(NamedTuple):
    """A directed edge between two named nodes."""

    source: Name
    target: Name
    kind: EdgeKind
