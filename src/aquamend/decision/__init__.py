"""Deciding at one state: terminal decisions, what probes are worth, and how sure the choice is."""

from aquamend.decision.endings import TIE
from aquamend.decision.probe_value import ProbeValues, probe_values
from aquamend.decision.steps import (
    Continue,
    Decision,
    Escalate,
    NewDeclaration,
    Reprobe,
    Restart,
    RollBack,
    Step,
    step_from_data,
    step_to_data,
)
from aquamend.decision.terminal import PricedEnding, best_terminal, correction, price

__all__ = [
    "TIE",
    "Continue",
    "Decision",
    "Escalate",
    "NewDeclaration",
    "PricedEnding",
    "ProbeValues",
    "Reprobe",
    "Restart",
    "RollBack",
    "Step",
    "best_terminal",
    "correction",
    "price",
    "probe_values",
    "step_from_data",
    "step_to_data",
]
