import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import (
    GRAMS,
    advanced,
    beside,
    carrying,
    gripping,
    perform,
    ready,
    settled,
    water_g,
)

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import (
    TRAVEL_Z,
    Body,
    draw_back,
    felt_g,
    fingers,
    grasp,
    lift,
    move,
    put_down,
    retreat,
    tick_until_done,
)
from aquamend_lab.pouring.mujoco.sensors import VESSEL_G

pytestmark = pytest.mark.slow


def in_hand_m(body: Body) -> np.ndarray:
    """Return where the pitcher's foot is from the hand."""
    model, data = body.simulation.compiled.model, body.simulation.data
    return body.simulation.position("pitcher") - data.xpos[model.body("hand").id]


def believing_wrongly(cup: str, x: float) -> Body:
    body = ready().branch()
    body.believed_m[cup] = (x, 0.0)
    return body


def test_a_gripped_pitcher_is_lifted_and_carried_without_slipping() -> None:
    held = in_hand_m(gripping())
    assert in_hand_m(carrying()) == pytest.approx(held, abs=0.0015)
    assert in_hand_m(beside()) == pytest.approx(held, abs=0.0015)


def test_a_lifted_pitcher_creeps_less_than_a_fifth_of_a_millimetre_a_second() -> None:
    body = carrying().branch()
    for _ in range(500):
        body.simulation.tick()
    assert in_hand_m(body) == pytest.approx(in_hand_m(carrying()), abs=0.002)


def test_lifting_weighs_the_water_and_spills_none() -> None:
    body = gripping().branch()
    finding = perform(body, lift(body))
    assert finding.succeeded
    assert finding.value == pytest.approx(GRAMS["pitcher"], abs=2)
    assert water_g(body) == GRAMS


def test_moving_ends_beside_the_cup() -> None:
    x, y = ready().believed_m["B"]
    assert beside().simulation.position("pitcher")[:2] == pytest.approx((x + 0.11, y), abs=0.01)
    assert water_g(beside()) == GRAMS


def test_a_grasp_where_nothing_stands_says_so_and_leaves_the_hand_open_and_free() -> None:
    body = believing_wrongly("A", -0.11)
    finding = perform(body, grasp(body, "A"))
    assert not finding.succeeded
    assert finding.note == "nothing between the pads at -110 mm"
    assert body.holding is None
    assert fingers(body.simulation).max() < 0.002
    assert body.simulation.hand[1] < -0.1
    assert water_g(body) == GRAMS


def test_a_grasp_that_found_nothing_can_be_followed_by_one_that_does() -> None:
    body = believing_wrongly("A", -0.11)
    perform(body, grasp(body, "A"))
    body.believed_m["A"] = ready().believed_m["A"]
    assert perform(body, grasp(body, "A")).succeeded
    assert perform(body, lift(body)).value == pytest.approx(GRAMS["A"], abs=2)


def test_a_grasp_opens_fingers_that_something_slipped_out_of() -> None:
    body = ready().branch()
    body.simulation.grip = 0.038
    assert perform(body, grasp(body, "B")).succeeded
    assert perform(body, lift(body)).value == pytest.approx(GRAMS["B"], abs=2)


@pytest.mark.parametrize(
    ("body", "begin", "message"),
    [
        (carrying, lambda body: grasp(body, "A"), "the hand already holds pitcher"),
        (carrying, retreat, "the hand holds pitcher"),
        (ready, lambda body: move(body, "A"), "the hand is empty"),
        (ready, lambda body: put_down(body, 0), "the hand is empty"),
        (ready, draw_back, "the hand is empty"),
    ],
)
def test_what_cannot_be_begun_fails_at_once_and_moves_nothing(body, begin, message: str) -> None:
    tried = body().branch()
    finding = perform(tried, begin(tried))
    assert (finding.succeeded, finding.note) == (False, message)
    assert tried.simulation.ticks == body().simulation.ticks
    assert tried.holding == body().holding


def test_lifting_nothing_fails() -> None:
    body = ready().branch()
    finding = perform(body, lift(body))
    assert not finding.succeeded
    assert finding.value == pytest.approx(0, abs=3)


def test_lifting_what_slips_away_fails_and_the_hand_knows_that_it_is_empty() -> None:
    body = gripping().branch()
    body.simulation.grip = 0.0
    finding = perform(body, lift(body))
    assert not finding.succeeded
    assert "slipped" in finding.note
    assert body.holding is None


def test_moving_what_was_dropped_fails_and_the_hand_knows_that_it_is_empty() -> None:
    body = carrying().branch()
    body.simulation.grip = 0.0
    finding = perform(body, move(body, "A"))
    assert (finding.succeeded, finding.note) == (False, "pitcher was dropped on the way")
    assert body.holding is None


def test_placing_puts_the_vessel_on_its_place_and_checks_that_it_stands_there() -> None:
    body = carrying().branch()
    finding = perform(body, put_down(body, 3))
    assert (finding.succeeded, finding.note) == (True, "pitcher stands on place 4")
    assert body.simulation.position("pitcher")[:2] == pytest.approx((dim.PITCHER_PLACE_X, 0), abs=0.005)
    assert body.holding is None
    assert fingers(body.simulation).max() < 0.002
    assert water_g(body) == GRAMS


def test_placing_what_was_dropped_on_the_way_fails() -> None:
    body = beside().branch()
    primitive = advanced(body, put_down(body, 3), 1.0)
    body.simulation.grip = 0.0
    finding = tick_until_done(body, primitive)
    assert not finding.succeeded
    assert finding.note == "the scale of place 4 does not feel pitcher"


def test_retreating_takes_the_hand_home() -> None:
    body = carrying().branch()
    perform(body, put_down(body, 3))
    assert perform(body, retreat(body)).succeeded
    assert body.simulation.hand == pytest.approx(dim.HOME)


def test_a_primitive_moves_time_only_when_the_table_ticks() -> None:
    body = ready().branch()
    before = body.simulation.ticks
    primitive = grasp(body, "B")
    for _ in range(30):
        next(primitive)
    assert body.simulation.ticks == before
    advanced(body, primitive, 0.4)
    assert body.simulation.ticks == before + 20


def test_an_abandoned_primitive_leaves_no_receipt_and_a_table_that_goes_on() -> None:
    body = ready().branch()
    primitive = advanced(body, grasp(body, "B"), 1.0)
    primitive.close()
    assert body.leaves == ready().leaves
    assert perform(body, grasp(body, "B")).succeeded


def test_a_branch_of_a_robot_does_the_same_and_leaves_the_original_alone() -> None:
    one, other = gripping().branch(), gripping().branch()
    assert perform(one, lift(one)) == perform(other, lift(other))
    assert perform(one, put_down(one, 3)) == perform(other, put_down(other, 3))
    assert one.simulation.data.qpos.tobytes() == other.simulation.data.qpos.tobytes()
    assert one.leaves == other.leaves
    assert (gripping().holding, gripping().uses) == ("pitcher", {"localise": 1})


def test_the_noise_of_a_reading_depends_only_on_seed_sensor_and_count() -> None:
    def draws(body: Body, *sensors: str) -> list[float]:
        return [float(body.noise(sensor).normal()) for sensor in sensors]

    simulation = ready().simulation
    plain = draws(Body(simulation), "look A", "look A", "scale 0")
    assert draws(Body(simulation), "scale 0", "look A", "localise", "look A")[:2] == [plain[2], plain[0]]
    assert draws(Body(simulation, seed=(1,)), "look A") != plain[:1]
    assert len(set(plain)) == 3


def test_drawing_back_undoes_a_move() -> None:
    body = beside().branch()
    assert perform(body, draw_back(body)).succeeded
    assert body.simulation.hand == pytest.approx((dim.PITCHER_PLACE_X, 0.0, TRAVEL_Z, 0.0))
    assert (body.holding, water_g(body)) == ("pitcher", GRAMS)


def test_the_hand_weighs_to_about_half_a_gram() -> None:
    errors = []
    for seed in range(12):
        body = carrying().branch()
        body.seed = (seed,)
        errors.append(tick_until_done(body, felt_g(body)) - VESSEL_G - GRAMS["pitcher"])
    assert np.abs(errors).max() < 2.5
    assert 0.2 < np.std(errors) < 1.0


def test_where_there_is_no_scale_a_vessel_is_set_down_without_a_check() -> None:
    body = Body(settled(0, 0, 0, 4, scales=(True, False, True, True)).branch())
    body.believed_m["B"] = (0.0, 0.007)
    perform(body, grasp(body, "B"))
    perform(body, lift(body))
    finding = perform(body, put_down(body, 1))
    assert (finding.succeeded, finding.note) == (True, "B is set down on place 2")
    assert body.simulation.position("B")[:2] == pytest.approx((0, 0), abs=0.005)
    assert body.believed_m["B"] == (0.0, 0.0)
