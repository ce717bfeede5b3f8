"""How policies and estimators are called in a report, and which of them know the truth."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAMES = {
    "oracle": "Oracle",
    "closure-oracle": "Closure oracle",
    "exact": "Exact adaptive",
    "aquamend": "AquaMend",
    "all-candidates": "AquaMend, all candidates",
    "linear-chain": "AquaMend, linear chain",
    "structured": "Structured rule",
    "certified": "Certified (anytime)",
    "troubleshooting": "Troubleshooting (DTT)",
    "decoupled": "Decoupled",
    "greedy": "Greedy re-probe",
    "restart": "Restart",
    "rollback-only": "Roll back only",
    "no-reprobe": "No re-probe",
    "independent": "Independence",
    "monte-carlo": "Monte Carlo",
}

OURS = "aquamend"
"""The policy every other one is compared with, where it was run."""

ENDINGS = {"roll_back": "roll back", "continue": "continue", "restart": "restart", "escalate": "escalate"}


def policy_name(policy: str) -> str:
    """Return a policy's name for people: ``lookahead-2`` → ``Lookahead (depth 2)``; an unknown one as it is."""
    if depth := re.fullmatch(r"lookahead-(\d+)", policy):
        return f"Lookahead (depth {depth[1]})"
    if width := re.fullmatch(r"beam-(\d+)", policy):
        return f"Beam-{width[1]}"
    if samples := re.fullmatch(r"monte-carlo-(\d+)", policy):
        return f"Monte Carlo ({samples[1]})"
    return _NAMES.get(policy, policy)


def knows_the_truth(policy: str) -> bool:
    """Return whether a policy is a reference that is told what failed, so that no honest one competes with it."""
    return policy == "oracle" or policy.endswith("-oracle")


def reference_of(policies: Sequence[str]) -> str | None:
    """Return the policy that the others are compared with: AquaMend, else the first that is not told the truth."""
    honest = [policy for policy in policies if not knows_the_truth(policy)]
    return OURS if OURS in honest else next(iter(honest), None)
