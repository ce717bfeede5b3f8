"""Episodes up to their alarm: the same bits each time, as far as asked, and reported from what sensors show."""

from dataclasses import replace

import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.episodes import SCENE, alarmed, drawn

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring import episode as episode_module
from aquamend.worlds.pouring.configurations import CONFIGURATIONS, suppose
from aquamend.worlds.pouring.drawing import KINDS
from aquamend.worlds.pouring.episode import DOSE_G, Episode, Stage, until_alarm
from aquamend.worlds.pouring.fitted import load_fitted
from aquamend.worlds.pouring.model import failures_of, measured_g
from aquamend.worlds.pouring.monitor import ROUTINE, Report
from aquamend.worlds.pouring.perturbations import AddWater, BiasedCamera, FalseAlarm, SwapCups
from aquamend.worlds.pouring.truth import really_failed, true_configuration

BLINK = FalseAlarm("level", "C", 2.0)


def failed(alarm):
    robot = alarm.robot
    return set(really_failed(robot.simulation, alarm.declared, robot.faults, alarm.before_pouring_g))


def predicted(alarm):
    truth, declared = true_configuration(alarm), alarm.declared
    shifts = load_fitted().shifts
    found = suppose(truth, measured_g(declared), poured_g=declared.poured_g, shifts=shifts)
    return set(failures_of(found, truth, declared))


def test_the_same_episode_gives_the_same_bits():
    one, other = alarmed(BLINK), until_alarm(alarmed(BLINK).episode)
    assert one.robot.simulation.data.qpos.tobytes() == other.robot.simulation.data.qpos.tobytes()
    assert (one.report, one.declared, one.robot.leaves) == (other.report, other.declared, other.robot.leaves)


def test_another_seed_is_other_noise_over_the_same_table():
    one, other = alarmed(BLINK, Stage.DECIDED), alarmed(BLINK, Stage.DECIDED, seed=6)
    assert one.declared.quantity_g != other.declared.quantity_g
    assert one.before_pouring_g == other.before_pouring_g


@pytest.mark.parametrize("stage", [Stage.DECIDED, Stage.MOVED])
def test_the_hand_has_come_as_far_as_the_stage_says(stage):
    alarm = alarmed(BLINK, stage)
    assert alarm.stage is stage
    assert alarm.robot.holding == (None if stage is Stage.DECIDED else dim.PITCHER)
    assert alarm.declared.poured_g == 0.0


def test_late_the_dose_is_in_the_target_and_the_pitcher_in_the_hand():
    alarm = alarmed(BLINK, Stage.POURED)
    assert alarm.stage is Stage.POURED
    assert alarm.robot.holding == dim.PITCHER
    assert alarm.declared.poured_g == pytest.approx(DOSE_G, abs=3.0)
    assert alarm.robot.simulation.grams("B") - alarm.before_pouring_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_what_is_measured_is_near_what_is_there():
    declared = alarmed(BLINK).declared
    held = {vessel.name: vessel.grams for vessel in SCENE.vessels}
    assert declared.order == ("B", "A", "C")
    assert all(declared.quantity_g[cup] == pytest.approx(held[cup], abs=3.0) for cup in dim.CUPS)
    assert declared.place == {"A": 0, "B": 1, "C": 2}


def test_a_camera_that_reads_low_is_believed():
    declared = alarmed(BiasedCamera("A", -11.0), Stage.DECIDED).declared
    assert declared.quantity_g["A"] == pytest.approx(17.0, abs=3.0)


def test_where_nothing_is_conspicuous_the_alarm_is_a_routine_check(monkeypatch):
    monkeypatch.setattr(episode_module, "conspicuous", lambda report: False)
    monkeypatch.setattr(episode_module, "MOST_CHECKS", 2)
    assert until_alarm(Episode(SCENE, Stage.DECIDED, SwapCups("A", "B"), (5,))).report == Report(ROUTINE)


def test_somebody_who_listens_hears_of_every_primitive_and_of_what_happened():
    heard, noticed = [], []
    episode = Episode(SCENE, Stage.DECIDED, SwapCups("A", "B"), (5,))
    alarm = until_alarm(
        episode, listener=heard.append, notice=lambda robot, declared: noticed.append(robot.simulation.position("A")[0])
    )
    assert heard == alarm.robot.leaves
    assert noticed[0] == pytest.approx(dim.PLACES_X[0], abs=0.01)
    assert noticed[1] == pytest.approx(dim.PLACES_X[1], abs=0.01)


@pytest.mark.parametrize(
    ("cup", "grams", "physical"),
    [("B", 5, "a little added to target"), ("B", 14, "much added to target"), ("C", 5, "water added to third")],
)
def test_the_truth_of_added_water_depends_on_whether_the_target_stays_least(cup, grams, physical):
    alarm = alarmed(BLINK, Stage.DECIDED)
    held = {**alarm.before_pouring_g, cup: alarm.before_pouring_g[cup] + grams}
    added = replace(alarm, episode=replace(alarm.episode, perturbation=AddWater(cup, grams)), before_pouring_g=held)
    assert true_configuration(added).physical == physical


@pytest.mark.parametrize("perturbation", [SwapCups("A", "B"), AddWater("C", 9), BiasedCamera("B", 9.0), BLINK])
def test_the_true_explanation_breaks_what_has_really_failed(perturbation):
    alarm = alarmed(perturbation)
    assert true_configuration(alarm) in CONFIGURATIONS
    assert predicted(alarm) == failed(alarm)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [Stage.MOVED, Stage.POURED])
def test_on_most_random_tables_the_true_explanation_breaks_what_has_really_failed(stage):
    alarms = [drawn(kind, stage, seed) for seed, kind in enumerate(KINDS)]
    agree = [predicted(alarm) == failed(alarm) for alarm in alarms]
    assert sum(agree) >= len(KINDS) - 3, [kind for kind, same in zip(KINDS, agree, strict=True) if not same]
