"""What records call a cause is what the model calls it."""

from aquamend.belief.state import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.problem.model import Cause


def test_records_know_the_causes_of_the_model_by_the_same_names():
    assert tuple(str(cause) for cause in Cause) == CAUSES
    assert Cause.FALSE_ALARM == FALSE_ALARM
    assert UNRESOLVED not in CAUSES
