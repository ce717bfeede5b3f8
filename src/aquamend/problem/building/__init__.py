"""What people write turned into what is computed with.

Causes become joint hypotheses, rules tables, compensations plans, and errors that persist more hypotheses.
"""

from aquamend.problem.building.compensations import Compensation, before_action, with_compensations
from aquamend.problem.building.persistence import with_persistent_errors
from aquamend.problem.building.root_causes import CauseState, Generated, RootCause, generated
from aquamend.problem.building.rule_tables import joint_model, table, vocabulary_of
from aquamend.problem.building.rules import Clash, Vocabulary
from aquamend.problem.building.truths import Effect, Expanded, expanded

__all__ = [
    "CauseState",
    "Clash",
    "Compensation",
    "Effect",
    "Expanded",
    "Generated",
    "RootCause",
    "Vocabulary",
    "before_action",
    "expanded",
    "generated",
    "joint_model",
    "table",
    "vocabulary_of",
    "with_compensations",
    "with_persistent_errors",
]
