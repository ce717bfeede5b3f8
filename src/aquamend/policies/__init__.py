"""Recovery policies: one file a family, one frozen dataclass a policy."""

from aquamend.policies.certified import Certified
from aquamend.policies.decoupled import Decoupled
from aquamend.policies.evaluation import Evaluation, evaluate
from aquamend.policies.exact import Exact
from aquamend.policies.greedy import Greedy
from aquamend.policies.linear_chain import LinearChain
from aquamend.policies.lookahead import Lookahead
from aquamend.policies.myopic import AquaMend
from aquamend.policies.no_reprobe import NoReprobe
from aquamend.policies.policy import CertifyingPolicy, Policy
from aquamend.policies.registry import POLICIES, policy_named
from aquamend.policies.restart import AlwaysRestart
from aquamend.policies.rollback_only import RollbackOnly
from aquamend.policies.structured import Structured
from aquamend.policies.troubleshooting import Troubleshooting

__all__ = [
    "POLICIES",
    "AlwaysRestart",
    "AquaMend",
    "Certified",
    "CertifyingPolicy",
    "Decoupled",
    "Evaluation",
    "Exact",
    "Greedy",
    "LinearChain",
    "Lookahead",
    "NoReprobe",
    "Policy",
    "RollbackOnly",
    "Structured",
    "Troubleshooting",
    "evaluate",
    "policy_named",
]
