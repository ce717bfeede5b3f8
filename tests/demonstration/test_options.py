"""The alternatives shown at a decision: few, priced completely, cheapest first."""

import pytest
from tests.worlds.pouring.episodes import DECLARED, FITTED
from tests.worlds.taking import Taking

from aquamend.decision import Continue, Escalate, Restart
from aquamend.demonstration.options import MOST_PROBES, MOST_ROLL_BACKS, weighed
from aquamend.demonstration.wording import step_name
from aquamend.explanation.report import decision_report
from aquamend.inference import InformationState
from aquamend.policies import AquaMend
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.model import SAFE_STOP_LOSS, alarm_model
from aquamend.worlds.pouring.monitor import POSITION, Report


@pytest.fixture(scope="module")
def model():
    return alarm_model(DECLARED, Stage.MOVED, Report(POSITION, "B", 210.0), FITTED)


def options(model, policy):
    state = InformationState.alarmed(model.problem)
    return list(weighed(decision_report(state, policy, name="it"), finishing_s=model.finishing_s))


def test_they_come_cheapest_first_and_one_is_chosen(model):
    shown = options(model, AquaMend())
    assert [option.loss for option in shown] == sorted(option.loss for option in shown)
    assert [option.chosen for option in shown].count(True) == 1
    assert shown[0].chosen, "the policy takes the cheapest"


def test_every_way_of_ending_is_among_them_and_no_name_twice(model):
    names = [option.name for option in options(model, AquaMend())]
    assert {step_name(step) for step in (Continue(), Restart(), Escalate())} <= set(names)
    assert len(set(names)) == len(names) <= MOST_PROBES + MOST_ROLL_BACKS + 3


def test_parts_add_up_to_the_whole(model):
    for option in options(model, AquaMend()):
        if option.rollback is not None and option.residual is not None:
            parts = option.sensing + option.rollback + option.continuation + option.residual
            assert parts == pytest.approx(option.loss)


def test_a_safe_stop_is_flat_and_leaves_going_on_to_a_person(model):
    stop = next(o for o in options(model, AquaMend()) if o.name == step_name(Escalate()))
    assert stop.loss == pytest.approx(SAFE_STOP_LOSS)
    assert (stop.rollback, stop.continuation) == (0.0, pytest.approx(SAFE_STOP_LOSS))


def test_what_was_chosen_is_shown_however_dear(model):
    chosen = [option for option in options(model, Taking(Escalate())) if option.chosen]
    assert [option.name for option in chosen] == [step_name(Escalate())]
