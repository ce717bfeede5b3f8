"""Recovery policies: one file a family, one frozen dataclass a policy."""

from aquamend.policies.evaluation import Evaluation, evaluate
from aquamend.policies.fixed import AlwaysRestart, NoReprobe, RollbackOnly
from aquamend.policies.local import Decoupled, Greedy
from aquamend.policies.myopic import AquaMend
from aquamend.policies.planning import Exact, Lookahead
from aquamend.policies.policy import CertifyingPolicy, Policy
from aquamend.policies.registry import POLICIES, policy_named
from aquamend.policies.structured import Structured
from aquamend.policies.troubleshooting import Troubleshooting

__all__ = [
    "POLICIES",
    "AlwaysRestart",
    "AquaMend",
    "CertifyingPolicy",
    "Decoupled",
    "Evaluation",
    "Exact",
    "Greedy",
    "Lookahead",
    "NoReprobe",
    "Policy",
    "RollbackOnly",
    "Structured",
    "Troubleshooting",
    "evaluate",
    "policy_named",
]
