"""Steps as they read in a terminal."""

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.explanation.wording import brief


def test_every_step_has_words():
    steps = [Reprobe("look"), RollBack(("lid",), ("lift",)), RollBack((), (), "p"), Continue(), Restart(), Escalate()]
    assert [brief(step) for step in steps] == [
        "run probe look", "roll back lid", "follow plan p", "continue as is", "restart from the beginning",
        "escalate to a person",
    ]  # fmt: skip
