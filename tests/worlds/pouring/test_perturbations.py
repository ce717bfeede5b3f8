"""What happens behind the robot's back: on the table or in the camera, and nowhere else."""

import pytest

pytest.importorskip("mujoco")

import numpy as np
from tests.worlds.pouring.episodes import SCENE
from tests.worlds.pouring.tables import seeded

from aquamend.errors import AquaMendError
from aquamend.worlds.pouring.faults import SOUND
from aquamend.worlds.pouring.motion import wait
from aquamend.worlds.pouring.perturbations import (
    AddWater,
    BiasedCamera,
    FalseAlarm,
    FrozenCamera,
    MixedUpCamera,
    SwapCups,
    faults_from_the_start,
    happen,
)
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.sensors import level_g
from aquamend.worlds.pouring.simulation import Simulation

HELD = {vessel.name: vessel.grams for vessel in SCENE.vessels}
CAMERA_ALONE = (BiasedCamera("A", -8.0), MixedUpCamera("A", "B"), FrozenCamera(), FalseAlarm("level", "A", 1.5))


@pytest.fixture(scope="module")
def table():
    return Simulation.of(SCENE)


@pytest.fixture(scope="module")
def untouched(table):
    """Return the bits of the table a second later, where nobody meddled."""
    later = Robot(table.branch())
    drive(later, wait(1.0))
    return later.simulation.data.qpos.tobytes()


@pytest.fixture
def after(table):
    """Return the robot a second after some trouble."""

    def after(perturbation, seconds=1.0):
        robot = Robot(table.branch(), faults_from_the_start(perturbation))
        happen(perturbation, robot)
        drive(robot, wait(seconds))
        return robot

    return after


def grams(robot):
    return {vessel: robot.simulation.grams(vessel) for vessel in HELD}


@pytest.mark.parametrize("added", [4, 20])
def test_exactly_what_is_added_comes_and_stays_in_the_cup(after, added):
    robot = after(AddWater("B", added), seconds=2.0)
    assert grams(robot) == {**HELD, "B": 18 + added}
    assert robot.simulation.spilled_g() == 0


def test_nobody_adds_more_than_there_is(after):
    with pytest.raises(AquaMendError, match="reserve_g"):
        after(AddWater("B", SCENE.reserve_g + 9))


def test_water_can_be_added_twice(after):
    robot = after(AddWater("B", 5))
    happen(AddWater("C", 4), robot)
    drive(robot, wait(1.0))
    assert grams(robot) == {**HELD, "B": 23, "C": 39}


def test_swapped_cups_change_places_with_what_is_in_them(table, after):
    robot = after(SwapCups("A", "C"), seconds=2.0)
    assert grams(robot) == HELD
    assert robot.simulation.spilled_g() == 0
    for one, other in (("A", "C"), ("C", "A"), ("B", "B")):
        off = robot.simulation.position(one)[:2] - table.position(other)[:2]
        assert np.abs(off).max() < 0.003


def test_swapped_cups_stand_upright_and_at_rest(after):
    simulation = after(SwapCups("A", "B")).simulation
    for cup in "AB":
        upright = simulation.data.xmat[simulation.compiled.vessels[cup]].reshape(3, 3)[2, 2]
        assert upright > 0.999
        assert np.abs(simulation.data.cvel[simulation.compiled.vessels[cup]]).max() < 0.05


@pytest.mark.parametrize("perturbation", CAMERA_ALONE, ids=lambda p: type(p).__name__)
def test_trouble_of_the_camera_leaves_every_bit_of_the_table_alone(untouched, after, perturbation):
    assert after(perturbation).simulation.data.qpos.tobytes() == untouched


def test_a_biased_camera_was_so_before_anything_was_measured():
    assert faults_from_the_start(BiasedCamera("A", -8.0)).bias_g == {"A": -8.0}
    assert faults_from_the_start(MixedUpCamera("A", "B")).exchanged == ("A", "B")


@pytest.mark.parametrize("perturbation", [FrozenCamera(), AddWater("A", 4), SwapCups("A", "B"), CAMERA_ALONE[-1]])
def test_what_comes_later_leaves_the_camera_sound_at_first(perturbation):
    assert faults_from_the_start(perturbation) is SOUND


def test_a_frozen_camera_shows_the_table_as_it_was_when_it_froze(table, after):
    robot = after(FrozenCamera())
    before = level_g(table, "B", rng=seeded())
    happen(AddWater("B", 12), robot)
    drive(robot, wait(1.0))
    assert level_g(robot.simulation, "B", rng=seeded(), faults=robot.faults) == pytest.approx(before, abs=0.3)
    assert level_g(robot.simulation, "B", rng=seeded()) > before + 8
