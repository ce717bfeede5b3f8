"""Recovery policies: each a frozen dataclass with one method, and a description of itself."""

from aquamend.policies.baselines import (
    AlwaysRestart,
    Decoupled,
    Greedy,
    NoReprobe,
    PowerPerCost,
    RollbackOnly,
    VeriTrace,
)
from aquamend.policies.best import Best
from aquamend.policies.evaluation import Evaluation, evaluate
from aquamend.policies.greedy_repair import GreedyRepair
from aquamend.policies.myopic import AquaMend, LinearChain, Structured
from aquamend.policies.planners import Certified, Exact, Lookahead
from aquamend.policies.policy import (
    CertifyingPolicy,
    Considered,
    DescribedPolicy,
    Description,
    Policy,
    considered_by,
    hand_over,
)
from aquamend.policies.registry import DEFAULT, POLICIES, policy_named
from aquamend.policies.troubleshooting import SingleFaultTroubleshooting, Troubleshooting
from aquamend.policies.two_step import TwoStep

__all__ = [
    "DEFAULT",
    "POLICIES",
    "AlwaysRestart",
    "AquaMend",
    "Best",
    "Certified",
    "CertifyingPolicy",
    "Considered",
    "Decoupled",
    "DescribedPolicy",
    "Description",
    "Evaluation",
    "Exact",
    "Greedy",
    "GreedyRepair",
    "LinearChain",
    "Lookahead",
    "NoReprobe",
    "Policy",
    "PowerPerCost",
    "RollbackOnly",
    "SingleFaultTroubleshooting",
    "Structured",
    "Troubleshooting",
    "TwoStep",
    "VeriTrace",
    "considered_by",
    "evaluate",
    "hand_over",
    "policy_named",
]
