"""Conformance checks for other people's policies and worlds."""

from aquamend.testing.policy_check import PolicyCheck, PolicyFault, check_policy, sample_problems
from aquamend.testing.watched_world import WorldFault
from aquamend.testing.world_check import WorldCheck, check_world

__all__ = [
    "PolicyCheck",
    "PolicyFault",
    "WorldCheck",
    "WorldFault",
    "check_policy",
    "check_world",
    "sample_problems",
]
