import hashlib
import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import settled

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.simulation import (
    HULL,
    PAD,
    PAN,
    TABLE,
    WALL,
    WATER,
    Placed,
    Simulation,
    TableScene,
    bead_layers,
    mjcf,
)

SMALL = TableScene(
    (Placed("A", 0, 9, (2.0, -3.0)), Placed("B", 1, 4), Placed("C", 2, 0), Placed("pitcher", 3, 12)),
    reserve_g=3,
)
PROGRAM = """
from tests.lab.pouring.mujoco.test_scene import SMALL, fingerprint
print(fingerprint(SMALL))
"""


def fingerprint(scene: TableScene) -> str:
    """Return a digest of the model and of a state some time later, the hand having moved."""
    simulation = Simulation.of(scene)
    for _ in range(60):
        simulation.hand[0] -= 0.004
        simulation.tick()
    state = simulation.data.qpos.tobytes() + simulation.data.qvel.tobytes()
    return hashlib.sha256(mjcf(scene).encode() + state).hexdigest()


def test_everything_is_made_of_primitives_and_held_by_nothing_but_contact() -> None:
    from mujoco import mjtGeom

    model = settled(12, 25, 40, 60).compiled.model
    kinds = {mjtGeom(kind).name.removeprefix("mjGEOM_") for kind in model.geom_type.tolist()}
    assert kinds == {"PLANE", "BOX", "CYLINDER", "CAPSULE", "SPHERE"}
    assert (model.nmesh, model.nhfield, model.neq, model.ntendon, model.nflex) == (0, 0, 0, 0, 0)


def test_six_motors_move_the_hand_and_nothing_else() -> None:
    model = settled(12, 25, 40, 60).compiled.model
    driven = [model.joint(model.actuator(i).trnid[0]).name for i in range(model.nu)]
    assert driven == ["gantry_x", "gantry_y", "gantry_z", "gantry_roll", "finger_left", "finger_right"]


def test_the_same_scene_gives_the_same_bits_when_built_again() -> None:
    assert fingerprint(SMALL) == fingerprint(SMALL)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_scene_gives_the_same_bits_in_another_process(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=environment)
    assert done.stdout.strip() == fingerprint(SMALL)


def test_another_offset_gives_another_state() -> None:
    other = TableScene((Placed("A", 0, 9, (2.0, -2.0)), *SMALL.vessels[1:]), SMALL.reserve_g)
    assert fingerprint(other) != fingerprint(SMALL)


def test_a_bead_is_a_gram_and_an_empty_vessel_eighty() -> None:
    compiled = settled(12, 25, 40, 60).compiled
    assert 1000 * compiled.model.body_mass[compiled.beads] == pytest.approx(1)
    assert [1000 * compiled.model.body_mass[body] for body in compiled.vessels.values()] == pytest.approx([80] * 4)


@pytest.mark.parametrize("count", [1, 21, 70])
def test_beads_start_inside_the_walls_in_layers_that_do_not_touch(count: int) -> None:
    places = np.array(bead_layers(count))
    assert len(places) == count
    assert np.hypot(places[:, 0], places[:, 1]).max() < dim.INNER_APOTHEM - 0.99 * dim.BEAD_RADIUS
    assert places[:, 2].min() > dim.BEAD_RADIUS
    for one, other in combinations(places, 2):
        if one[2] != other[2]:
            assert np.linalg.norm(one - other) > 2 * dim.BEAD_RADIUS


def test_a_full_vessel_loses_nothing_as_its_water_settles() -> None:
    simulation = settled(45, 45, 45, 70)
    assert [simulation.grams(vessel) for vessel in simulation.compiled.vessels] == [45, 45, 45, 70]


def test_every_vessel_stands_where_the_scene_says() -> None:
    simulation = Simulation.of(SMALL)
    for vessel in SMALL.vessels:
        assert simulation.position(vessel.name)[:2] == pytest.approx(vessel.xy, abs=0.001)


def test_the_reserve_lies_out_of_sight_and_is_part_of_the_beads() -> None:
    simulation = Simulation.of(SMALL)
    assert SMALL.particles == 9 + 4 + 0 + 12 + 3
    assert len(simulation.beads()) == SMALL.particles
    assert np.hypot(*simulation.beads()[-3:, :2].T).min() > 1


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (WATER, WALL, True),
        (WATER, PAN, True),
        (WATER, PAD, True),
        (WATER, HULL, False),
        (PAD, HULL, True),
        (PAD, TABLE, False),
    ],
)
def test_water_meets_whatever_it_can_fall_on_and_pads_meet_hulls(one: int, other: int, meet: bool) -> None:
    model = settled(12, 25, 40, 60).compiled.model
    ours, theirs = (np.flatnonzero(model.geom_contype == kind) for kind in (one, other))
    forth = model.geom_contype[ours][:, None] & model.geom_conaffinity[theirs]
    back = model.geom_contype[theirs] & model.geom_conaffinity[ours][:, None]
    assert ((forth | back) != 0).all() == meet
    assert ((forth | back) != 0).any() == meet


def test_places_without_a_scale_are_pads_of_the_same_height_and_another_colour() -> None:
    simulation = settled(12, 25, 40, 60, scales=(True, False, False, True))
    model = simulation.compiled.model
    assert sorted(simulation.compiled.scales) == [0, 3]
    joints = [model.joint(i).name for i in range(model.njnt)]
    assert [name for name in joints if name.startswith("scale_")] == ["scale_0", "scale_3"]
    tops = [model.body(f"place_{place}").pos[2] + model.geom(f"place_{place}").size[2] for place in range(4)]
    assert tops == pytest.approx([dim.SCALE_TOP_Z] * 4)
    assert not np.allclose(model.geom("place_0").rgba, model.geom("place_1").rgba)


def test_a_cup_on_a_pad_stands_still_and_keeps_its_water() -> None:
    simulation = settled(12, 25, 40, 60, scales=(True, False, False, True))
    assert [simulation.grams(vessel) for vessel in simulation.compiled.vessels] == [12, 25, 40, 60]
    assert simulation.position("B")[2] == pytest.approx(dim.SCALE_TOP_Z, abs=0.001), "a pad does not sink"
    assert simulation.position("A")[2] < dim.SCALE_TOP_Z - 0.002, "a scale does"
