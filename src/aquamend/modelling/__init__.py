"""What people write turned into what is computed with.

Causes become joint hypotheses, rules tables, compensations plans, and errors that persist more hypotheses.
"""

from aquamend.modelling.compensations import Compensation, with_compensations
from aquamend.modelling.guard import before_action
from aquamend.modelling.left_out import LeftOut, effect_of_left_out
from aquamend.modelling.persistence import with_persistent_errors
from aquamend.modelling.root_causes import CauseState, Generated, RootCause, generated
from aquamend.modelling.rules import Clash, Vocabulary
from aquamend.modelling.tables import joint_model, table, vocabulary_of
from aquamend.modelling.truths import Effect, Expanded, expanded

__all__ = [
    "CauseState",
    "Clash",
    "Compensation",
    "Effect",
    "Expanded",
    "Generated",
    "LeftOut",
    "RootCause",
    "Vocabulary",
    "before_action",
    "effect_of_left_out",
    "expanded",
    "generated",
    "joint_model",
    "table",
    "vocabulary_of",
    "with_compensations",
    "with_persistent_errors",
]
