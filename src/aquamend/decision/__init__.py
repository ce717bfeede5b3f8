"""What every alternative costs in expectation, at one information state."""

from aquamend.decision.declaration_tests import Detection, detection
from aquamend.decision.probe_value import ProbeValues, clairvoyant_losses, probe_values
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import Stop, best_terminal

__all__ = [
    "Continue",
    "Decision",
    "Detection",
    "Escalate",
    "ProbeValues",
    "Reprobe",
    "Restart",
    "RollBack",
    "Step",
    "Stop",
    "best_terminal",
    "clairvoyant_losses",
    "detection",
    "probe_values",
]
