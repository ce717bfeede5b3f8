"""Probes, beliefs and actions, and what undoing costs: the part of a problem that holds no probability."""

from aquamend.problem.graph.nodes import LEGAL_ENDPOINTS, Action, Belief, Edge, EdgeKind, Operation, Probe, Value
from aquamend.problem.graph.recovery_graph import RecoveryGraph

__all__ = [
    "LEGAL_ENDPOINTS",
    "Action",
    "Belief",
    "Edge",
    "EdgeKind",
    "Operation",
    "Probe",
    "RecoveryGraph",
    "Value",
]
