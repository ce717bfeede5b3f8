"""The five steps."""

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, correction, step_kind


def test_every_step_has_its_name_in_the_decision_format():
    steps = [Reprobe("p"), RollBack(("b",)), Continue(), Restart(), Escalate()]
    assert [step_kind(step) for step in steps] == ["reprobe", "roll_back", "continue", "restart", "escalate"]


def test_correcting_nothing_is_to_continue():
    assert correction((), ()) == Continue()
    assert correction(("b",), ("a",)) == RollBack(("b",), ("a",))


def test_steps_are_values():
    assert Reprobe("p") == Reprobe("p")
    assert len({RollBack(("b",)), RollBack(("b",)), Continue(), Continue()}) == 2
