"""The six edge kinds of a recovery graph and the node types each may join."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from aquamend.codec import Name


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
