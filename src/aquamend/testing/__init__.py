"""Conformance checks for other people's policies."""

from aquamend.testing.policy_check import PolicyCheck, PolicyFault, check_policy, sample_problems

__all__ = [
    "PolicyCheck",
    "PolicyFault",
    "check_policy",
    "sample_problems",
]
