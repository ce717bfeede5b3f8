"""The policies that others are measured against, and those that are told the truth."""

from __future__ import annotations

from collections.abc import Sequence

OURS = "aquamend"
"""The policy every other one is compared with, where it was run."""
ORACLE = "oracle"
"""The policy that gaps are measured from."""
RESTART = "restart"
"""The policy that savings are measured against, and the ending that undoes everything."""


def knows_the_truth(policy: str) -> bool:
    """Return whether a policy is a reference that is told what failed, so that no honest one competes with it."""
    return policy == ORACLE or policy.endswith("-oracle")


def reference_of(policies: Sequence[str]) -> str | None:
    """Return the policy that the others are compared with: AquaMend, else the first that is not told the truth."""
    honest = [policy for policy in policies if not knows_the_truth(policy)]
    return OURS if OURS in honest else next(iter(honest), None)
