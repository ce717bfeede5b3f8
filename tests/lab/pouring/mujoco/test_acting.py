"""Acts carried out by hand: undone, declared, done again and finished, with the guard before every pour."""

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import GRAMS, beside, carrying, poured, ready

from aquamend.recovery import Charge, Declare, Finish, Follow, HandOver, Redo, Undo
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco import world
from aquamend_lab.pouring.mujoco.body import Body, Tried, failed, localise, tick_until_done
from aquamend_lab.pouring.mujoco.world import RobotHands
from aquamend_lab.pouring.task import RESTART, SAFE_STOP, SOUND

pytestmark = pytest.mark.slow

SAID = {
    **{f"quantity_{cup}": float(GRAMS[cup]) for cup in "ABC"},
    **{f"binding_{cup}": 1000.0 * x for cup, x in zip("ABC", dim.CUP_PLACES_X, strict=True)},
    "target": "B",
    "camera": SOUND,
    "scales": SOUND,
}


def hands(start=beside, **known) -> RobotHands:
    """Return a recovery that begins with a branch of a body."""
    body: Body = start().branch()
    aimed = body.believed_m["B"] if start in (beside, poured) else None
    return RobotHands(body, dict(SAID), aimed_m=known.pop("aimed_m", aimed), **known)


def done(found: RobotHands, act) -> Tried:
    return tick_until_done(found.body, found.work(act))


def leaves(found: RobotHands, start=beside) -> list[tuple[str, Charge]]:
    return [(leaf.what, leaf.charge) for leaf in found.body.leaves[len(start().leaves) :]]


@pytest.fixture
def quick(monkeypatch):
    """Make every pour succeed at once with what was asked for, and return what was poured."""
    made = []

    def pours(body, vessel, dose_g):
        yield
        made.append((vessel, dose_g))
        return Tried(True, "poured", dose_g)

    monkeypatch.setattr(world, "pour", pours)
    return made


def test_undoing_a_move_draws_back_and_is_charged_as_rollback():
    found = hands()
    assert done(found, Undo("move", ("move",))).succeeded
    assert leaves(found) == [("draw back", Charge.ROLLBACK)]
    assert found.aimed_m is None
    assert found.body.holding == "pitcher"
    assert done(found, Undo("move", ("move",))).succeeded
    assert len(leaves(found)) == 1, "what is undone need not be undone again"


def test_undoing_a_lift_puts_the_pitcher_back():
    found = hands(carrying)
    assert done(found, Undo("lift", ("lift",))).succeeded
    assert leaves(found, carrying) == [("place pitcher", Charge.ROLLBACK), ("retreat", Charge.ROLLBACK)]
    assert found.body.holding is None


def test_doing_again_is_continuation_and_does_what_is_needed_before_it():
    found = hands(ready)
    assert done(found, Redo("move")).succeeded
    assert leaves(found, ready) == [
        ("grasp pitcher", Charge.CONTINUATION),
        ("lift pitcher", Charge.CONTINUATION),
        ("move to B", Charge.CONTINUATION),
    ]
    assert found.aimed_m == found.body.believed_m["B"]


def test_what_is_done_already_is_not_done_again():
    found = hands()
    assert done(found, Redo("move")).succeeded
    assert leaves(found) == []


@pytest.mark.parametrize(("off_m", "moves"), [(0.005, 0), (0.020, 1)])
def test_another_place_of_the_target_is_another_aim_beyond_what_the_spout_reaches(off_m, moves):
    found = hands()
    x, y = found.body.believed_m["B"]
    found.body.believed_m["B"] = (x + off_m, y)
    done(found, Redo("move"))
    assert len(leaves(found)) == moves


def test_a_place_that_is_declared_is_where_the_cup_was_seen():
    found = hands(ready)
    tick_until_done(found.body, localise(found.body, believe=False))
    seen = found.body.seen_m["A"]
    found.body.believed_m["A"] = (0.22, 0.0)
    done(found, Declare("binding_A", -220.0))
    assert found.body.believed_m["A"] == seen
    assert found.said["binding_A"] == pytest.approx(1000 * seen[0], abs=0.1)


def test_a_place_where_the_cup_was_not_seen_is_taken_as_it_is_declared():
    found = hands(ready)
    done(found, Declare("binding_A", 220.0))
    assert found.body.believed_m["A"] == (0.22, 0.0)
    assert found.said["binding_A"] == 220.0


def test_a_place_made_right_without_a_value_is_where_the_cup_was_seen():
    found = hands(ready)
    tick_until_done(found.body, localise(found.body, believe=False))
    found.body.believed_m["A"] = (0.22, 0.0)
    done(found, Declare("binding_A"))
    assert found.said["binding_A"] == pytest.approx(-215, abs=6)


def test_other_values_are_said_as_they_are_declared_and_nothing_without_one():
    found = hands(ready)
    done(found, Declare("quantity_C", 12.5))
    done(found, Declare("target", "C"))
    done(found, Declare("camera"))
    assert (found.said["quantity_C"], found.target, found.said["camera"]) == (12.5, "C", SOUND)
    assert leaves(found, ready) == []


def test_the_guard_is_asked_for_the_target_before_anything_moves(quick):
    asked = []

    def forbids(target):
        asked.append(target)
        return "guard: no"

    found = hands(guard=forbids)
    finding = done(found, Finish())
    assert (finding.succeeded, finding.note) == (False, "guard: no")
    assert asked == ["B"]
    assert quick == leaves(found) == []


def test_finishing_pours_what_is_due_and_puts_everything_away(quick):
    found = hands(poured_g={"B": 12.0})
    assert done(found, Finish()).succeeded
    assert quick == [("B", 8.0)]
    assert found.poured_g == {"B": 20.0}
    assert [what for what, _ in leaves(found)] == ["pour into B", "place pitcher", "retreat"]
    assert {charge for _, charge in leaves(found)} == {Charge.CONTINUATION}


def test_where_nearly_all_was_poured_nothing_more_is_and_nobody_is_asked(quick):
    found = hands(poured_g={"B": 18.5}, guard=lambda target: "guard: no")
    assert done(found, Redo("pour")).succeeded
    assert quick == []


@pytest.mark.parametrize("read_g", [0.0, -0.4])
def test_where_nothing_came_the_pour_is_still_to_be_done(quick, read_g):
    found = hands(poured_g={"B": read_g})
    done(found, Redo("pour"))
    assert quick == [("B", 20.0 - read_g)]


def test_a_pour_that_failed_counts_what_has_come_all_the_same(monkeypatch):
    def stops(body, vessel, dose_g):
        yield
        return failed("no more water comes", 7.5)

    monkeypatch.setattr(world, "pour", stops)
    found = hands()
    assert not done(found, Finish()).succeeded
    assert found.poured_g == {"B": 7.5}
    assert found.body.holding == "pitcher", "a failed pour is not the end of it"


def test_undoing_a_pour_pours_back_what_was_read_out_of_the_cup_it_is_in(monkeypatch):
    made = []

    def pours_back(body, cup, grams, charge):
        yield
        made.append((cup, grams, charge))
        return Tried(True, "back", grams - 1.0)

    monkeypatch.setattr(world, "pour_back", pours_back)
    found = hands(poured, poured_g={"B": 14.6})
    assert done(found, Undo("pour", ("pour",))).succeeded
    assert made == [("B", 14.6, Charge.ROLLBACK)]
    assert (found.poured_g, found.aimed_m) == ({}, None)


def test_a_pour_back_whose_water_came_back_is_not_made_twice_though_it_failed_later(monkeypatch):
    def drops_the_pitcher(body, cup, grams, charge):
        yield
        return failed("nothing between the pads", grams)

    monkeypatch.setattr(world, "pour_back", drops_the_pitcher)
    found = hands(poured, poured_g={"B": 14.6})
    assert not done(found, Undo("pour", ("pour",))).succeeded
    assert found.poured_g == {}


def test_a_pour_back_that_failed_leaves_it_known_that_the_water_is_there(monkeypatch):
    def slips(body, cup, grams, charge):
        yield
        return failed("the cup slipped")

    monkeypatch.setattr(world, "pour_back", slips)
    found = hands(poured, poured_g={"B": 14.6})
    assert not done(found, Undo("pour", ("pour",))).succeeded
    assert found.poured_g == {"B": 14.6}


def test_a_restart_measures_everything_again_and_does_the_whole_task(quick):
    found = hands(carrying)
    found.said |= {"quantity_A": 99.0, "binding_C": 0.0, "target": "C"}
    assert not found.surveyed
    assert done(found, Follow(RESTART)).succeeded
    assert found.said["quantity_A"] == pytest.approx(GRAMS["A"], abs=3)
    assert found.said["binding_C"] == pytest.approx(214, abs=8)
    assert found.target == "A", "the least full"
    assert found.surveyed
    assert quick == [("A", 20.0)]
    message = leaves(found, carrying)
    assert message[:2] == [("place pitcher", Charge.ROLLBACK), ("retreat", Charge.ROLLBACK)]
    assert message[2:6] == [(what, Charge.SENSING) for what in ("localise", "look at A", "look at B", "look at C")]
    assert {charge for _, charge in message[6:]} == {Charge.CONTINUATION}


def test_a_target_declared_after_a_restart_no_longer_follows_from_its_looks():
    found = hands(ready, surveyed=True)
    done(found, Declare("quantity_A", 3.0))
    assert found.surveyed
    done(found, Declare("target", "C"))
    assert not found.surveyed


@pytest.mark.parametrize("act", [Follow(SAFE_STOP), HandOver()], ids=str)
def test_stopping_safely_puts_the_pitcher_down_and_pours_nothing(act, quick):
    found = hands(carrying)
    assert done(found, act).succeeded
    assert found.body.holding is None
    assert found.body.simulation.hand == pytest.approx(dim.HOME)
    assert quick == []
    assert {charge for _, charge in leaves(found, carrying)} == {Charge.ROLLBACK}


def test_undoing_or_doing_what_the_hand_has_no_part_in_is_nothing():
    found = hands(ready)
    assert done(found, Undo("place", ("place",))).succeeded
    assert done(found, Redo("place")).succeeded
    assert leaves(found, ready) == []
