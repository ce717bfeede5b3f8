"""How much was looked at to decide: candidates, what screening left of them, predictive branches (mechanism table)."""

from __future__ import annotations

from collections.abc import Sequence

from aquamend.belief import InformationState
from aquamend.decision.detection import PowerScreen
from aquamend.policies import AquaMend, LinearChain, Policy, considered_by

COUNTS = ("decisions", "screened", "uncovered", "reduced", "candidates", "evaluated", "branches")


def counted(policy: Policy, states: Sequence[InformationState]) -> dict[str, int]:
    """Return the counts of all decisions of an episode: where there was nothing to probe, only the call counts."""
    found = dict.fromkeys(COUNTS, 0)
    screens = isinstance(policy, LinearChain) or (isinstance(policy, AquaMend) and policy.screen is not None)
    for state in states:
        found["decisions"] += 1
        looked = considered_by(policy, state)
        if looked.legal:
            covered = screens and PowerScreen().covers(state)
            found["screened"] += covered
            found["uncovered"] += screens and not covered
            found["reduced"] += looked.screened > 0
        found["candidates"] += looked.legal if looked.evaluated or looked.screened else 0
        found["evaluated"] += looked.evaluated
        found["branches"] += looked.branches
    return found
