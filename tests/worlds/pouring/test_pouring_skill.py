import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.tables import DOSE_G, GRAMS, beside, perform, poured, ready, settled, water_g

from aquamend.recovery import Charge
from aquamend.worlds.pouring.handling import move
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.simulation import Simulation
from aquamend.worlds.pouring.undoing import fetch


def holding(table: Simulation) -> Robot:
    """Return a robot that holds the pitcher beside B."""
    robot = Robot(table.branch())
    robot.believed_m["B"] = (0.0, 0.007)
    drive(robot, fetch(robot, "pitcher", Charge.CONTINUATION))
    drive(robot, move(robot, "B"))
    return robot


def test_water_poured_into_an_empty_cup_stays_in_it() -> None:
    robot = holding(settled(0, 0, 0, 40))
    perform(robot, pour(robot, "B", 12.0))
    assert robot.simulation.grams("B") > 0
    assert robot.simulation.spilled_g() == 0


@pytest.mark.parametrize("dose_g", [8.0, 24.0])
def test_a_dose_is_poured_to_three_grams_and_none_is_lost(dose_g: float) -> None:
    robot = beside().branch()
    finding = perform(robot, pour(robot, "B", dose_g))
    assert finding.succeeded
    assert robot.simulation.grams("B") - GRAMS["B"] == pytest.approx(dose_g, abs=3)
    assert robot.simulation.spilled_g() == 0


def test_a_pour_says_how_much_it_poured() -> None:
    told = poured().leaves[-1].finding
    assert told.endswith(" g poured into B")
    assert float(told.split()[0]) == pytest.approx(poured().simulation.grams("B") - GRAMS["B"], abs=0.5)
    assert float(told.split()[0]) == pytest.approx(DOSE_G, abs=3)


def test_a_pour_touches_no_other_cup_and_ends_upright_beside() -> None:
    assert {cup: poured().simulation.grams(cup) for cup in "AC"} == {cup: GRAMS[cup] for cup in "AC"}
    assert poured().holding == "pitcher"
    assert poured().simulation.hand == pytest.approx(beside().simulation.hand)


def test_a_pour_that_wants_nothing_pours_nothing() -> None:
    robot = beside().branch()
    finding = perform(robot, pour(robot, "B", 0.0))
    assert (finding.succeeded, finding.value) == (True, 0)
    assert water_g(robot) == GRAMS


def test_a_pour_with_an_empty_hand_fails_at_once() -> None:
    robot = ready().branch()
    finding = perform(robot, pour(robot, "B", DOSE_G))
    assert (finding.succeeded, finding.told) == (False, "the hand is empty")
    assert robot.simulation.ticks == ready().simulation.ticks


def test_a_pour_from_a_nearly_empty_pitcher_stops_and_says_so() -> None:
    robot = holding(settled(0, 10, 0, 5))
    finding = perform(robot, pour(robot, "B", DOSE_G))
    assert not finding.succeeded
    assert finding.told in ("pitcher is empty", "no more water comes")
    assert finding.value == pytest.approx(robot.simulation.grams("B") - 10, abs=0.5)
    assert robot.simulation.hand[3] == pytest.approx(0)


def test_a_pour_that_watches_the_wrong_scale_stops_before_fifteen_grams_are_lost() -> None:
    robot = beside().branch()
    finding = perform(robot, pour(robot, "B", 40.0, watching=0))
    assert not finding.succeeded
    assert "left the hand but the scale saw" in finding.told
    assert 0 < robot.simulation.grams("B") - GRAMS["B"] < 15


def test_a_pour_beside_the_cup_stops_before_fifteen_grams_are_lost() -> None:
    robot = beside().branch()
    robot.believed_m["B"] = (0.0, -0.08)
    finding = perform(robot, pour(robot, "B", 40.0))
    assert not finding.succeeded
    assert "left the hand but the scale saw" in finding.told
    assert 0 < GRAMS["pitcher"] - robot.simulation.grams("pitcher") < 15
