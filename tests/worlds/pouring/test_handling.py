import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.tables import GRAMS, advanced, beside, carrying, gripping, perform, ready, water_g

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.handling import grasp, lift, move, place, retreat
from aquamend.worlds.pouring.looking import look, weigh
from aquamend.worlds.pouring.motion import fingers
from aquamend.worlds.pouring.robot import Robot, drive


def in_hand_m(robot: Robot) -> np.ndarray:
    """Return where the pitcher's foot is from the hand."""
    model, data = robot.simulation.compiled.model, robot.simulation.data
    return robot.simulation.position("pitcher") - data.xpos[model.body("hand").id]


def believing_wrongly(cup: str, x: float) -> Robot:
    robot = ready().branch()
    robot.believed_m[cup] = (x, 0.0)
    return robot


def test_a_gripped_pitcher_is_lifted_and_carried_without_slipping() -> None:
    held = in_hand_m(gripping())
    assert in_hand_m(carrying()) == pytest.approx(held, abs=0.0015)
    assert in_hand_m(beside()) == pytest.approx(held, abs=0.0015)


def test_a_lifted_pitcher_creeps_less_than_a_fifth_of_a_millimetre_a_second() -> None:
    robot = carrying().branch()
    for _ in range(500):
        robot.simulation.tick()
    assert in_hand_m(robot) == pytest.approx(in_hand_m(carrying()), abs=0.002)


def test_lifting_weighs_the_water_and_spills_none() -> None:
    robot = gripping().branch()
    finding = perform(robot, lift(robot))
    assert finding.succeeded
    assert finding.value == pytest.approx(GRAMS["pitcher"], abs=1)
    assert water_g(robot) == GRAMS


def test_moving_ends_beside_the_cup() -> None:
    x, y = ready().believed_m["B"]
    assert beside().simulation.position("pitcher")[:2] == pytest.approx((x + 0.11, y), abs=0.01)
    assert water_g(beside()) == GRAMS


def test_a_grasp_where_nothing_stands_says_so_and_leaves_the_hand_open_and_free() -> None:
    robot = believing_wrongly("A", -0.11)
    finding = perform(robot, grasp(robot, "A"))
    assert not finding.succeeded
    assert finding.told == "nothing between the pads at -110 mm"
    assert robot.holding is None
    assert fingers(robot.simulation).max() < 0.002
    assert robot.simulation.hand[1] < -0.1
    assert water_g(robot) == GRAMS


def test_a_grasp_that_found_nothing_can_be_followed_by_one_that_does() -> None:
    robot = believing_wrongly("A", -0.11)
    perform(robot, grasp(robot, "A"))
    robot.believed_m["A"] = ready().believed_m["A"]
    assert perform(robot, grasp(robot, "A")).succeeded
    assert perform(robot, lift(robot)).value == pytest.approx(GRAMS["A"], abs=1)


def test_a_grasp_opens_fingers_that_something_slipped_out_of() -> None:
    robot = ready().branch()
    robot.simulation.grip = 0.038
    assert perform(robot, grasp(robot, "B")).succeeded
    assert perform(robot, lift(robot)).value == pytest.approx(GRAMS["B"], abs=1)


@pytest.mark.parametrize(
    ("robot", "begin", "told"),
    [
        (carrying, lambda robot: grasp(robot, "A"), "the hand already holds pitcher"),
        (carrying, retreat, "the hand holds pitcher"),
        (ready, lambda robot: move(robot, "A"), "the hand is empty"),
        (ready, lambda robot: place(robot, 0), "the hand is empty"),
    ],
)
def test_what_cannot_be_begun_fails_at_once_and_moves_nothing(robot, begin, told: str) -> None:
    tried = robot().branch()
    finding = perform(tried, begin(tried))
    assert (finding.succeeded, finding.told) == (False, told)
    assert tried.simulation.ticks == robot().simulation.ticks
    assert tried.holding == robot().holding


def test_lifting_nothing_fails() -> None:
    robot = ready().branch()
    finding = perform(robot, lift(robot))
    assert not finding.succeeded
    assert finding.value == pytest.approx(0, abs=2)


def test_lifting_what_slips_away_fails_and_the_hand_knows_that_it_is_empty() -> None:
    robot = gripping().branch()
    robot.simulation.grip = 0.0
    finding = perform(robot, lift(robot))
    assert not finding.succeeded
    assert "slipped" in finding.told
    assert robot.holding is None


def test_moving_what_was_dropped_fails_and_the_hand_knows_that_it_is_empty() -> None:
    robot = carrying().branch()
    robot.simulation.grip = 0.0
    finding = perform(robot, move(robot, "A"))
    assert (finding.succeeded, finding.told) == (False, "pitcher was dropped on the way")
    assert robot.holding is None


def test_placing_puts_the_vessel_on_its_place_and_weighs_it() -> None:
    robot = carrying().branch()
    finding = perform(robot, place(robot, 3))
    assert finding.succeeded
    assert finding.value == pytest.approx(GRAMS["pitcher"], abs=2)
    assert robot.simulation.position("pitcher")[:2] == pytest.approx((dim.PITCHER_PLACE_X, 0), abs=0.005)
    assert robot.holding is None
    assert fingers(robot.simulation).max() < 0.002
    assert water_g(robot) == GRAMS


def test_placing_what_was_dropped_on_the_way_fails() -> None:
    robot = beside().branch()
    primitive = advanced(robot, place(robot, 3), 0.3)
    robot.simulation.grip = 0.0
    finding = drive(robot, primitive)
    assert not finding.succeeded
    assert finding.told == "the scale of place 4 does not feel pitcher"


def test_retreating_takes_the_hand_home() -> None:
    robot = carrying().branch()
    perform(robot, place(robot, 3))
    assert perform(robot, retreat(robot)).succeeded
    assert robot.simulation.hand == pytest.approx(dim.HOME)


def test_a_primitive_moves_time_only_when_the_table_ticks() -> None:
    robot = ready().branch()
    before = robot.simulation.ticks
    primitive = grasp(robot, "B")
    for _ in range(30):
        next(primitive)
    assert robot.simulation.ticks == before
    advanced(robot, primitive, 0.4)
    assert robot.simulation.ticks == before + 20


def test_an_abandoned_primitive_leaves_no_receipt_and_a_table_that_goes_on() -> None:
    robot = ready().branch()
    primitive = advanced(robot, grasp(robot, "B"), 1.0)
    primitive.close()
    assert robot.leaves == ready().leaves
    assert perform(robot, grasp(robot, "B")).succeeded


def test_a_branch_of_a_robot_does_the_same_and_leaves_the_original_alone() -> None:
    one, other = gripping().branch(), gripping().branch()
    assert perform(one, lift(one)) == perform(other, lift(other))
    assert perform(one, place(one, 3)) == perform(other, place(other, 3))
    assert one.simulation.data.qpos.tobytes() == other.simulation.data.qpos.tobytes()
    assert one.leaves == other.leaves
    assert (gripping().holding, gripping().uses) == ("pitcher", {"localise": 1})


def test_the_noise_of_a_reading_depends_only_on_seed_sensor_and_count() -> None:
    def draws(robot: Robot, *sensors: str) -> list[float]:
        return [float(robot.noise(sensor).normal()) for sensor in sensors]

    simulation = ready().simulation
    plain = draws(Robot(simulation), "look A", "look A", "scale 0")
    assert draws(Robot(simulation), "scale 0", "look A", "localise", "look A")[:2] == [plain[2], plain[0]]
    assert draws(Robot(simulation, seed=(1,)), "look A") != plain[:1]
    assert len(set(plain)) == 3


def test_other_readings_in_between_do_not_change_a_reading() -> None:
    one, other = ready().branch(), ready().branch()
    drive(other, weigh(other, 1))
    drive(other, look(other, "C"))
    assert drive(one, look(one, "B")).value == drive(other, look(other, "B")).value
