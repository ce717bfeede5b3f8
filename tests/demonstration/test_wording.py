"""Steps and explanations in plain words."""

import pytest
from tests.worlds.pouring.episodes import DECLARED, FITTED, configuration

from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.demonstration.wording import explanations, step_name
from aquamend.inference import InformationState, Observation
from aquamend.worlds.pouring.configurations import CONFIGURATIONS, Physical, Sensing
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.model import alarm_model
from aquamend.worlds.pouring.monitor import LEVEL, Report
from aquamend.worlds.pouring.recovery_graph import recovery_graph


@pytest.fixture(scope="module")
def state():
    return InformationState.alarmed(alarm_model(DECLARED, Stage.MOVED, Report(LEVEL, "B", 9.0), FITTED).problem)


def rolled_back(*correct, stage=Stage.MOVED):
    return step_name(RollBack(correct, recovery_graph(DECLARED, stage, FITTED).closure(correct)))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Reprobe("look_A"), "look at A"),
        (Reprobe("weigh_C"), "weigh C"),
        (Reprobe("localise"), "cups"),
        (Reprobe("stamp"), "clock"),
        (Continue(), "continue"),
        (Escalate(), "call a person"),
        (Restart(), "restart"),
        (RollBack((), plan="by hand"), "by hand"),
        (RollBack(()), "undo nothing"),
    ],
)
def test_a_step_says_what_hand_and_eye_do(step, words):
    assert words in step_name(step)


def test_every_probe_of_the_model_has_a_name(state):
    names = [step_name(Reprobe(probe.name)) for probe in state.problem.graph.probes]
    assert len(set(names)) == len(names) == 8


def test_a_rollback_says_what_is_undone_and_nothing_else():
    weighed, found, early = rolled_back("quantity_A", "quantity_C"), rolled_back("binding_C"), rolled_back("target")
    late = rolled_back("target", stage=Stage.POURED)
    assert "A" in weighed
    assert "C" in weighed
    assert "B" not in weighed
    assert "cups" in found
    assert "weigh" not in found
    assert "choose" in early
    assert "pour back" not in early
    assert "pour back" in late
    assert "camera" in rolled_back("camera")


def test_explanations_are_a_distribution_in_the_same_order_at_every_state(state):
    later = state.after(Observation("look_B", 25.0))
    for found in (explanations(state, DECLARED), explanations(later, DECLARED)):
        assert sum(found.values()) == pytest.approx(1.0)
    assert list(explanations(state, DECLARED)) == list(explanations(later, DECLARED))


@pytest.mark.parametrize(
    ("physical", "sensing", "explanation"),
    [
        (Physical.NOTHING, Sensing.SOUND, "nothing is wrong"),
        (Physical.LITTLE, Sensing.SOUND, "water added to B, still least full"),
        (Physical.MUCH, Sensing.SOUND, "water added to B, no longer least full"),
        (Physical.ADD_THIRD, Sensing.SOUND, "water added to another cup"),
        (Physical.SWAP_THIRD, Sensing.SOUND, "B swapped with another cup"),
        (Physical.SWAP_OTHERS, Sensing.SOUND, "two other cups swapped"),
        (Physical.NOTHING, Sensing.RIVAL_HIGH, "the camera misreads a level"),
        (Physical.NOTHING, Sensing.FROZEN, "the camera is frozen or mixes cups up"),
        (Physical.SWAP_RIVAL, Sensing.FROZEN, "two things at once"),
    ],
)
def test_every_configuration_counts_for_the_explanation_that_fits_it(state, physical, sensing, explanation):
    certain = state.posterior * 0
    certain[CONFIGURATIONS.index(configuration(physical, sensing))] = 1.0
    found = explanations(InformationState(state.problem, certain), DECLARED)
    assert found[explanation] == 1.0
