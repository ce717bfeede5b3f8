from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.tables import (
    DOSE_G,
    GRAMS,
    advanced,
    beside,
    carrying,
    gripping,
    poured,
    ready,
    water_g,
)  # fmt: skip

from aquamend.recovery import Charge
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.handling import grasp, place
from aquamend.worlds.pouring.motion import fingers
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.undoing import fetch, pour_back, put_back, regrasp, safe_stop

UNDO = Charge.ROLLBACK


@cache
def undone() -> Robot:
    """Return a robot that has poured a dose into B and poured it back."""
    robot = poured().branch()
    finding = drive(robot, pour_back(robot, "B", DOSE_G, UNDO))
    assert finding.succeeded, finding.told
    return robot


def given_up(start: Callable[[], Robot], begin, seconds: float) -> Robot:
    """Return a robot that stopped in the middle of a primitive."""
    robot = start().branch()
    advanced(robot, begin(robot), seconds).close()
    return robot


STATES: dict[str, Callable[[], Robot]] = {
    "at home": ready,
    "fingers around the pitcher": gripping,
    "pitcher lifted": carrying,
    "pitcher beside a cup": beside,
    "after a pour": poured,
    "on the way to grasp": lambda: given_up(ready, lambda robot: grasp(robot, "B"), 1.5),
    "fingers closing": lambda: given_up(ready, lambda robot: grasp(robot, "B"), _closing_s()),
    "fingers opening": lambda: given_up(carrying, lambda robot: place(robot, 3), _opening_s()),
    "in the middle of a pour": lambda: given_up(beside, lambda robot: pour(robot, "B", DOSE_G), 7.0),
    "holding a cup": lambda: given_up(ready, lambda robot: pour_back(robot, "B", 5.0, UNDO), 9.0),
}


@cache
def _closing_s() -> float:
    robot = ready().branch()
    drive(robot, grasp(robot, "B"))
    return robot.simulation.time_s - ready().simulation.time_s - 0.3


@cache
def _opening_s() -> float:
    robot = carrying().branch()
    work = place(robot, 3)
    while robot.simulation.grip > 0:
        advanced(robot, work, 0.02)
    return robot.simulation.time_s - carrying().simulation.time_s


def test_put_back_returns_the_pitcher_to_its_place_with_its_water() -> None:
    robot = beside().branch()
    assert drive(robot, put_back(robot, UNDO)).succeeded
    assert robot.simulation.position("pitcher")[:2] == pytest.approx((dim.PITCHER_PLACE_X, 0), abs=0.005)
    assert robot.simulation.grams("pitcher") == pytest.approx(GRAMS["pitcher"], abs=1)
    assert robot.simulation.hand == pytest.approx(dim.HOME)


def test_put_back_returns_a_cup_to_where_it_came_from() -> None:
    robot = ready().branch()
    drive(robot, fetch(robot, "C", UNDO))
    assert drive(robot, put_back(robot, UNDO)).succeeded
    assert robot.simulation.position("C")[:2] == pytest.approx((dim.PLACES_X[2], 0), abs=0.005)
    assert water_g(robot) == GRAMS


def test_put_back_with_an_empty_hand_fails() -> None:
    robot = ready().branch()
    assert drive(robot, put_back(robot, UNDO)).told == "the hand is empty"


def test_pour_back_restores_the_cup_and_its_place() -> None:
    simulation = undone().simulation
    assert simulation.grams("B") == pytest.approx(GRAMS["B"], abs=3)
    assert simulation.spilled_g() == 0
    assert simulation.position("B")[:2] == pytest.approx((dim.PLACES_X[1], 0), abs=0.01)
    assert simulation.hand == pytest.approx(dim.HOME)


def test_every_primitive_of_a_skill_has_its_receipt_in_order() -> None:
    assert [leaf.what for leaf in undone().leaves[len(poured().leaves) :]] == [
        "place pitcher", "retreat", "grasp B", "lift B", "move B to pitcher", "pour 15 g back", "place B", "retreat",
    ]  # fmt: skip


def test_receipts_cover_the_time_of_a_skill_without_gap_or_overlap() -> None:
    leaves = undone().leaves[len(poured().leaves) :]
    assert all(leaf.start_s <= leaf.end_s for leaf in leaves)
    assert all(one.end_s == other.start_s for one, other in pairwise(leaves))
    assert (leaves[0].start_s, leaves[-1].end_s) == (poured().simulation.time_s, undone().simulation.time_s)
    assert {leaf.charge for leaf in leaves} == {UNDO}


def test_a_failed_primitive_ends_the_skill_and_is_in_the_journal() -> None:
    robot = ready().branch()
    drive(robot, put_back(robot, UNDO))
    told = [(leaf.what, leaf.succeeded) for leaf in robot.leaves]
    assert told == [("place nothing", False), ("retreat", True)], "and the hand goes home all the same"


def test_fetching_looks_again_where_the_first_grip_fails() -> None:
    robot = ready().branch()
    robot.believed_m["A"] = (-0.11, 0.0)
    assert drive(robot, fetch(robot, "A", UNDO)).succeeded
    assert [leaf.what for leaf in robot.leaves] == ["grasp A", "localise", "grasp A", "lift A"]
    assert robot.holding == "A"


def test_gripping_anew_sets_down_what_the_hand_holds_first() -> None:
    robot = carrying().branch()
    assert drive(robot, regrasp(robot, "pitcher", UNDO)).succeeded
    assert robot.holding == "pitcher"
    assert water_g(robot) == GRAMS


@pytest.mark.parametrize("state", STATES)
def test_a_safe_stop_ends_with_an_empty_open_hand_at_home(state: str) -> None:
    robot = STATES[state]().branch()
    assert drive(robot, safe_stop(robot, Charge.CONTINUATION)).succeeded
    assert robot.holding is None
    assert fingers(robot.simulation).max() < 0.002
    assert robot.simulation.hand == pytest.approx(dim.HOME)


@pytest.mark.parametrize("state", STATES)
def test_after_a_safe_stop_every_vessel_stands_upright_on_its_place(state: str) -> None:
    robot = STATES[state]().branch()
    drive(robot, safe_stop(robot, Charge.CONTINUATION))
    simulation = robot.simulation
    for vessel, x in zip(GRAMS, dim.PLACES_X, strict=True):
        assert simulation.position(vessel)[:2] == pytest.approx((x, 0), abs=0.012), vessel
        upright = simulation.data.xmat[simulation.compiled.vessels[vessel]].reshape(3, 3)[2, 2]
        assert np.degrees(np.arccos(upright)) < 3, vessel
    assert simulation.spilled_g() <= 3
