from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import (
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
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body, fingers, grasp, put_down, tick_until_done
from aquamend_lab.pouring.mujoco.skills import fetch, pour, pour_back, put_back, regrasp, safe_stop

pytestmark = pytest.mark.slow

UNDO = Charge.ROLLBACK


@cache
def undone() -> Body:
    """Return a body that has poured a dose into B and poured it back."""
    body = poured().branch()
    finding = tick_until_done(body, pour_back(body, "B", DOSE_G, UNDO))
    assert finding.succeeded, finding.note
    return body


def given_up(start: Callable[[], Body], begin, seconds: float) -> Body:
    """Return a body that stopped in the middle of a primitive."""
    body = start().branch()
    advanced(body, begin(body), seconds).close()
    return body


STATES: dict[str, Callable[[], Body]] = {
    "at home": ready,
    "fingers around the pitcher": gripping,
    "pitcher lifted": carrying,
    "pitcher beside a cup": beside,
    "after a pour": poured,
    "on the way to grasp": lambda: given_up(ready, lambda body: grasp(body, "B"), 1.5),
    "fingers closing": lambda: given_up(ready, lambda body: grasp(body, "B"), _closing_s()),
    "fingers opening": lambda: given_up(carrying, lambda body: put_down(body, 3), _opening_s()),
    "in the middle of a pour": lambda: given_up(beside, lambda body: pour(body, "B", DOSE_G), 7.0),
    "holding a cup": lambda: given_up(ready, lambda body: pour_back(body, "B", 5.0, UNDO), 9.0),
}


@cache
def _closing_s() -> float:
    body = ready().branch()
    tick_until_done(body, grasp(body, "B"))
    return body.simulation.time_s - ready().simulation.time_s - 0.3


@cache
def _opening_s() -> float:
    body = carrying().branch()
    work = put_down(body, 3)
    while body.simulation.grip > 0:
        advanced(body, work, 0.02)
    return body.simulation.time_s - carrying().simulation.time_s


def test_put_back_returns_the_pitcher_to_its_place_with_its_water() -> None:
    body = beside().branch()
    assert tick_until_done(body, put_back(body, UNDO)).succeeded
    assert body.simulation.position("pitcher")[:2] == pytest.approx((dim.PITCHER_PLACE_X, 0), abs=0.005)
    assert body.simulation.grams("pitcher") == pytest.approx(GRAMS["pitcher"], abs=1)
    assert body.simulation.hand == pytest.approx(dim.HOME)


def test_put_back_returns_a_cup_to_where_it_came_from() -> None:
    body = ready().branch()
    tick_until_done(body, fetch(body, "C", UNDO))
    assert tick_until_done(body, put_back(body, UNDO)).succeeded
    assert body.simulation.position("C")[:2] == pytest.approx((dim.PLACES_X[2], 0), abs=0.005)
    assert water_g(body) == GRAMS


def test_put_back_with_an_empty_hand_fails() -> None:
    body = ready().branch()
    assert tick_until_done(body, put_back(body, UNDO)).note == "the hand is empty"


def test_pour_back_restores_the_cup_and_its_place() -> None:
    simulation = undone().simulation
    # Nine in ten come within 3 g, which test_robustness counts; this is one of the others.
    assert simulation.grams("B") == pytest.approx(GRAMS["B"], abs=6)
    assert simulation.spilled_g() == 0
    assert simulation.position("B")[:2] == pytest.approx((dim.PLACES_X[1], 0), abs=0.01)
    assert undone().holding == "pitcher", "taken up again, as before the pour"


def test_every_primitive_of_a_skill_has_its_receipt_in_order() -> None:
    assert [leaf.what for leaf in undone().leaves[len(poured().leaves) :]] == [
        "place pitcher", "retreat", "grasp B", "lift B", "move B to pitcher", "pour 15 g back", "place B", "retreat",
        "grasp pitcher", "lift pitcher",
    ]  # fmt: skip


def test_receipts_cover_the_time_of_a_skill_without_gap_or_overlap() -> None:
    leaves = undone().leaves[len(poured().leaves) :]
    assert all(leaf.start_s <= leaf.end_s for leaf in leaves)
    assert all(one.end_s == other.start_s for one, other in pairwise(leaves))
    assert (leaves[0].start_s, leaves[-1].end_s) == (poured().simulation.time_s, undone().simulation.time_s)
    assert {leaf.charge for leaf in leaves} == {UNDO}


def test_a_failed_primitive_ends_the_skill_and_is_in_the_journal() -> None:
    body = ready().branch()
    tick_until_done(body, put_back(body, UNDO))
    message = [(leaf.what, leaf.succeeded) for leaf in body.leaves]
    assert message == [("place nothing", False), ("retreat", True)], "and the hand goes home all the same"


def test_fetching_looks_again_where_the_first_grip_fails() -> None:
    body = ready().branch()
    body.believed_m["A"] = (-0.11, 0.0)
    assert tick_until_done(body, fetch(body, "A", UNDO)).succeeded
    assert [leaf.what for leaf in body.leaves] == ["grasp A", "localise", "grasp A", "lift A"]
    assert [leaf.charge for leaf in body.leaves] == [UNDO, Charge.SENSING, UNDO, UNDO]
    assert body.holding == "A"


def test_looking_again_for_one_vessel_changes_no_belief_about_another() -> None:
    body = ready().branch()
    body.believed_m |= {"A": (-0.11, 0.0), "C": (0.30, 0.0)}
    tick_until_done(body, fetch(body, "A", UNDO))
    assert body.believed_m["A"] == pytest.approx(ready().believed_m["A"], abs=0.006)
    assert body.believed_m["C"] == (0.30, 0.0)


def situation(body: Body) -> tuple[object, ...]:
    """Return what the hand holds, where it is, and how much is in every vessel."""
    return body.holding, tuple(round(float(v), 3) for v in body.simulation.hand), tuple(water_g(body).items())


def test_gripping_anew_sets_down_what_the_hand_holds_first() -> None:
    body = carrying().branch()
    assert tick_until_done(body, regrasp(body, "pitcher", UNDO)).succeeded
    assert body.holding == "pitcher"
    assert water_g(body) == GRAMS


@cache
def stopped(state: str) -> Body:
    """Return a body that has stopped safely from some state."""
    body = STATES[state]().branch()
    assert tick_until_done(body, safe_stop(body, Charge.CONTINUATION)).succeeded
    return body


@pytest.mark.parametrize("state", STATES)
def test_a_safe_stop_ends_with_an_empty_open_hand_at_home(state: str) -> None:
    body = stopped(state)
    assert body.holding is None
    assert fingers(body.simulation).max() < 0.002
    assert body.simulation.hand == pytest.approx(dim.HOME)


@pytest.mark.parametrize("state", STATES)
def test_after_a_safe_stop_every_vessel_stands_upright_on_its_place(state: str) -> None:
    simulation = stopped(state).simulation
    for vessel, x in zip(GRAMS, dim.PLACES_X, strict=True):
        assert simulation.position(vessel)[:2] == pytest.approx((x, 0), abs=0.012), vessel
        upright = simulation.data.xmat[simulation.compiled.vessels[vessel]].reshape(3, 3)[2, 2]
        assert np.degrees(np.arccos(upright)) < 3, vessel
    assert simulation.spilled_g() <= 3
