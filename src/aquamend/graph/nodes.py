"""The three node types of a recovery graph, and the operations that undoing an action performs."""

from __future__ import annotations

from dataclasses import dataclass

Value = str | float
"""What a belief says: text, or a number in whatever unit its probes read."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement of a latent property that the agent can (re)do."""

    name: str
    cost: float
    """Cost of running it once, in the problem's unit."""
    modality: str | None = None
    """Which kind of sensor answers; screening keeps an alternative modality available."""
    max_uses: float = 1
    """How often it may run; ``math.inf`` for no limit."""
    source: str | None = None
    """Name of the belief that the instrument is sound; where that has failed, nothing it read can be relied on."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A latent proposition that executed actions rest on."""

    name: str
    residual: float = 0.0
    """Loss if the belief has failed and nothing corrects it, in the problem's unit."""
    may_keep: bool = True
    """False: a possible failure may not be left uncorrected at any price."""
    declared: Value | None = None
    """What the agent now believes: it has failed where something else is true, and is corrected by declaring another.

    None: hypotheses say where it has failed, and correcting it repairs it.
    """
    tolerance: float = 0.0
    """How far a number may be from the truth without having failed."""
    needs_support: bool = False
    """True: it may be kept, or declared again, only while probably right and resting on usable evidence."""

    @property
    def declares(self) -> bool:
        """Whether it states a value, so that correcting it means declaring another."""
        return self.declared is not None


@dataclass(frozen=True, slots=True)
class Operation:
    """A physical recovery operation that several actions may share; charged once per recovery."""

    name: str
    cost: float


@dataclass(frozen=True, slots=True)
class Action:
    """Something the agent did or plans to do on the strength of its beliefs."""

    name: str
    undo: float | None = None
    """Cost of undoing it, where it has an undoing of its own; exclusive with ``operations``."""
    operations: tuple[str, ...] = ()
    """Names of the shared operations that undoing it performs."""
    executed: bool = False
    """False: it is only planned, and cancelling it costs nothing."""
    reversible: bool = True
    """An executed irreversible action cannot be undone at any finite cost."""
    redo: float = 0.0
    """Cost of doing it again after it was undone."""
    undo_succeeds: float = 1.0
    """Probability that undoing it, tried once, succeeds; where it fails, what was wrong because of it stays wrong."""
