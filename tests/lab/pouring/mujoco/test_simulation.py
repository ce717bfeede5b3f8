import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import GRAMS, beside, seeded, settled, spilled

from aquamend_lab.pouring.mujoco.sensors import lifted_g
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.mujoco.skills import TILT_FREELY


def swing(simulation: Simulation, ticks: int) -> None:
    """Move and tilt the hand, the same way each time."""
    for _ in range(ticks):
        simulation.hand += np.array([-0.0005, 0.0002, 0.0003, -0.004])
        simulation.tick()


def bits(simulation: Simulation) -> bytes:
    data = simulation.data
    return b"".join(part.tobytes() for part in (data.qpos, data.qvel, data.qacc_warmstart, data.xpos))


def tilted(roll: float) -> Simulation:
    """Return a table over which the pitcher hangs tilted, its water at rest."""
    simulation = beside().simulation.branch()
    for _ in range(150):
        simulation.hand[3] += roll / 150
        simulation.tick()
    for _ in range(100):
        simulation.tick()
    return simulation


def test_a_branch_goes_on_bit_for_bit_with_the_hand_moving_and_water_swaying() -> None:
    original = beside().simulation.branch()
    swing(original, 20)
    branch = original.branch()
    swing(original, 100)
    swing(branch, 100)
    assert bits(original) == bits(branch)
    assert original.ticks == branch.ticks


def test_a_branch_does_not_disturb_the_original() -> None:
    alone, original = beside().simulation.branch(), beside().simulation.branch()
    swing(alone, 60)
    swing(original, 30)
    branch = original.branch()
    branch.grip = 0.0
    for _ in range(30):
        branch.hand[2] -= 0.001
        branch.tick()
    swing(original, 30)
    assert bits(original) == bits(alone)
    assert bits(branch) != bits(alone)


def test_set_points_of_a_branch_are_its_own() -> None:
    original = beside().simulation.branch()
    before = original.hand.copy()
    original.branch().hand[:] = 0
    assert np.array_equal(original.hand, before)


def test_time_is_whole_ticks_and_agrees_with_the_physics() -> None:
    simulation = settled(*GRAMS.values()).branch()
    before = simulation.ticks
    for _ in range(7):
        simulation.tick()
    assert simulation.ticks == before + 7
    assert simulation.time_s == simulation.ticks / 50
    assert simulation.data.time == pytest.approx(simulation.time_s)


def test_all_water_is_where_the_scene_put_it() -> None:
    simulation = settled(*GRAMS.values())
    assert {vessel: simulation.grams(vessel) for vessel in GRAMS} == GRAMS
    assert simulation.spilled_g() == 0


@pytest.mark.parametrize("roll", [-0.7, TILT_FREELY - 0.4])
def test_beads_in_a_tilted_vessel_are_as_many_as_the_hand_feels(roll: float) -> None:
    simulation = tilted(roll)
    assert simulation.grams("pitcher") == pytest.approx(lifted_g(simulation, rng=seeded(), sd_g=0.0) - 80, abs=0.8)


def test_what_a_tilted_vessel_lost_is_in_others_or_spilled() -> None:
    simulation = tilted(TILT_FREELY - 0.4)
    lost = GRAMS["pitcher"] - simulation.grams("pitcher")
    gained = sum(simulation.grams(cup) - GRAMS[cup] for cup in "ABC")
    assert lost > 5
    assert simulation.spilled_g() == lost - gained


def test_water_on_the_table_is_spilled() -> None:
    after = spilled(settled(*GRAMS.values()), "B")
    assert (after.grams("B"), after.spilled_g()) == (0, GRAMS["B"])


def test_water_in_reserve_is_not_spilled_until_it_is_added() -> None:
    simulation = settled(*GRAMS.values()).branch()
    simulation.added = 2
    assert (settled(*GRAMS.values()).spilled_g(), simulation.spilled_g()) == (0, 2)


def test_a_watcher_sees_every_tick_once_and_a_branch_has_its_own() -> None:
    class Counter:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def see(self, simulation: Simulation) -> None:
            self.seen.append(simulation.ticks)

    first, second = Counter(), Counter()
    simulation = settled(*GRAMS.values()).branch(first)
    simulation.tick()
    branch = simulation.branch(second)
    branch.tick()
    simulation.branch().tick()
    start = settled(*GRAMS.values()).ticks
    assert (first.seen, second.seen) == ([start + 1], [start + 2])
