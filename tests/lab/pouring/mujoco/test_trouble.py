"""What happens behind the robot's back: on the table or in the camera, and nowhere else."""

from dataclasses import replace

import pytest

pytest.importorskip("mujoco")

import numpy as np
from tests.lab.pouring.mujoco.tables import LIGHT, at_rest, seeded

from aquamend.errors import AquaMendError
from aquamend.problem.model import Cause
from aquamend_lab.pouring.mujoco.body import Body, tick_until_done, wait
from aquamend_lab.pouring.mujoco.sensors import level_g
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    happen,
)
from aquamend_lab.pouring.task import Signal

HELD = {vessel.name: vessel.grams for vessel in LIGHT.vessels}
OF_THE_CAMERA = (BiasedCamera("A", -8.0), MixedUpCamera("A", "B"), FrozenCamera())
PASSING = (Occlusion("A"), Spike(Signal.LEVEL, "A", 1.5))


@pytest.fixture(scope="module")
def table():
    return at_rest(LIGHT)


@pytest.fixture(scope="module")
def untouched(table):
    """Return the bits of the table a second later, where nobody meddled."""
    later = Body(table.branch())
    tick_until_done(later, wait(1.0))
    return later.simulation.data.qpos.tobytes()


@pytest.fixture
def after(table):
    """Return the body a second after some trouble."""

    def after(trouble, seconds=1.0):
        body = Body(table.branch())
        happen(trouble, body)
        tick_until_done(body, wait(seconds))
        return body

    return after


def grams(body):
    return {vessel: body.simulation.grams(vessel) for vessel in HELD}


@pytest.mark.parametrize("added", [4, 15])
def test_exactly_what_is_added_comes_and_stays_in_the_cup(after, added):
    body = after(AddWater("B", added), seconds=2.0)
    assert grams(body) == {**HELD, "B": HELD["B"] + added}
    assert body.simulation.spilled_g() == 0


def test_nobody_adds_more_than_there_is(after):
    with pytest.raises(AquaMendError, match="reserve_g"):
        after(AddWater("B", LIGHT.reserve_g + 9))


def test_water_can_be_added_twice(after):
    body = after(AddWater("B", 5))
    happen(AddWater("C", 4), body)
    tick_until_done(body, wait(1.0))
    assert grams(body) == {**HELD, "B": 10, "C": 26}


def test_swapped_cups_change_places_with_what_is_in_them(table, after):
    body = after(SwapCups("A", "C"), seconds=2.0)
    assert grams(body) == HELD
    assert body.simulation.spilled_g() == 0
    for one, other in (("A", "C"), ("C", "A"), ("B", "B")):
        off = body.simulation.position(one)[:2] - table.position(other)[:2]
        assert np.abs(off).max() < 0.003


def test_swapped_cups_stand_upright_and_at_rest(after):
    simulation = after(SwapCups("A", "B")).simulation
    for cup in "AB":
        upright = simulation.data.xmat[simulation.compiled.vessels[cup]].reshape(3, 3)[2, 2]
        assert upright > 0.999
        assert np.abs(simulation.data.cvel[simulation.compiled.vessels[cup]]).max() < 0.05


@pytest.mark.parametrize("trouble", [*OF_THE_CAMERA, *PASSING], ids=lambda t: type(t).__name__)
def test_trouble_of_the_camera_leaves_every_bit_of_the_table_alone(untouched, after, trouble):
    assert after(trouble).simulation.data.qpos.tobytes() == untouched


@pytest.mark.parametrize("trouble", OF_THE_CAMERA, ids=lambda t: type(t).__name__)
def test_a_fault_of_the_camera_lasts_and_leaves_the_scales_alone(after, trouble):
    faults = after(trouble).faults
    assert (faults.camera_sound, dict(faults.scale_off_g)) == (False, {})


@pytest.mark.parametrize("trouble", [*PASSING, AddWater("A", 4), SwapCups("A", "B")], ids=lambda t: type(t).__name__)
def test_what_passes_and_what_happens_on_the_table_leave_no_fault(after, trouble):
    faults = after(trouble, seconds=0.1).faults
    assert faults.camera_sound
    assert faults.hidden == ()


def test_trouble_adds_to_a_scale_that_is_off_already(table):
    body = Body(table.branch())
    body.faults = replace(body.faults, scale_off_g={0: 7.0})
    happen(BiasedCamera("A", -8.0), body)
    assert (dict(body.faults.scale_off_g), dict(body.faults.bias_g)) == ({0: 7.0}, {"A": -8.0})


def test_every_trouble_knows_its_cause():
    assert {t.cause for t in OF_THE_CAMERA} == {Cause.SELF_ERROR}
    assert {t.cause for t in PASSING} == {Cause.FALSE_ALARM}
    assert {AddWater("A", 4).cause, SwapCups("A", "B").cause} == {Cause.EXTERNAL}


def test_a_frozen_camera_shows_the_table_as_it_was_when_it_froze(table, after):
    body = after(FrozenCamera())
    before = level_g(table, "B", rng=seeded())
    happen(AddWater("B", 12), body)
    tick_until_done(body, wait(1.0))
    assert level_g(body.simulation, "B", rng=seeded(), faults=body.faults) == pytest.approx(before, abs=0.3)
    assert level_g(body.simulation, "B", rng=seeded()) > before + 8
