"""Anytime planning (being built)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.decision.probe_value import probe_values
from aquamend.inference import InformationState
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import best_probe


@dataclass(frozen=True, slots=True)
class Plan:
    """The step an anytime search would take, and what is certified about it."""

    probe: str | None
    """Probe to run first; None to stop now."""
    bounds: Bounds


def plan_anytime(state: InformationState, *, gap: float = 1e-9, deadline_s: float = math.inf) -> Plan:
    """Return the best first step found within the deadline, with certified bounds."""
    values = probe_values(state)
    best = best_probe(values.expected_loss, values.stop_loss)
    return Plan(None if best is None else values.branches.probes[best], quick_bounds(state, values))
