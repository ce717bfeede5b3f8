"""The three node types of a recovery graph, and the operations that undoing an action performs."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Belief:
    """A latent proposition that executed actions rest on."""

    name: str
    residual: float = 0.0
    """Loss if the belief has failed and nothing corrects it, in the problem's unit."""
    may_keep: bool = True
    """False: a possible failure may not be left uncorrected at any price (the residual reads infinity)."""


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
    """A planned action is cancelled for nothing."""
    reversible: bool = True
    """An executed irreversible action cannot be undone at any finite cost."""
