"""What people write turned into what is computed with: causes into joint hypotheses, rules into tables."""

from aquamend.modelling.root_causes import CauseState, Effect, Generated, RootCause, generated
from aquamend.modelling.rules import Clash, Vocabulary
from aquamend.modelling.tables import joint_model, kernel_table, probe_with_rules, table, vocabulary_of

__all__ = [
    "CauseState",
    "Clash",
    "Effect",
    "Generated",
    "RootCause",
    "Vocabulary",
    "generated",
    "joint_model",
    "kernel_table",
    "probe_with_rules",
    "table",
    "vocabulary_of",
]
