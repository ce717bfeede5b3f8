import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import DOSE_G, GRAMS, beside, perform, poured, ready, settled, water_g

from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco.body import Body, move, tick_until_done
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.mujoco.skills import DOSE_SD_G, fetch, pour

pytestmark = pytest.mark.slow


def holding(table: Simulation) -> Body:
    """Return a body that holds the pitcher beside B."""
    body = Body(table.branch())
    body.believed_m["B"] = (0.0, 0.007)
    tick_until_done(body, fetch(body, "pitcher", Charge.CONTINUATION))
    tick_until_done(body, move(body, "B"))
    return body


def came_g(body: Body) -> int:
    """Return how much B has really received."""
    return body.simulation.grams("B") - GRAMS["B"]


def test_water_poured_into_an_empty_cup_stays_in_it() -> None:
    body = holding(settled(0, 0, 0, 40))
    perform(body, pour(body, "B", 12.0))
    assert body.simulation.grams("B") > 0
    assert body.simulation.spilled_g() == 0


@pytest.mark.parametrize("dose_g", [8.0, 24.0])
def test_a_dose_is_poured_to_three_grams_and_none_is_lost(dose_g: float) -> None:
    body = beside().branch()
    finding = perform(body, pour(body, "B", dose_g))
    assert finding.succeeded
    assert body.simulation.grams("B") - GRAMS["B"] == pytest.approx(dose_g, abs=3)
    assert body.simulation.spilled_g() == 0


def test_a_pour_says_how_much_it_poured() -> None:
    message = poured().leaves[-1].finding
    assert message.endswith(" g poured")
    assert float(message.split()[0]) == pytest.approx(came_g(poured()), abs=2), "with the noise of a reading"
    assert float(message.split()[0]) != came_g(poured())
    assert float(message.split()[0]) == pytest.approx(DOSE_G, abs=3)


def test_the_dose_is_read_when_the_hand_has_tilted_back_with_the_drift_of_its_own_weight() -> None:
    """The same water under other noise: what is told differs by the noise, and by little more."""
    errors = []
    for seed in range(4):
        body = beside().branch()
        body.seed = (seed,)
        finding = perform(body, pour(body, "B", 6.0))
        errors.append(finding.value - came_g(body))
    assert len(set(errors)) == 4, "it is a reading, not the truth"
    assert max(map(abs, errors)) < 4 * DOSE_SD_G


def test_a_pour_touches_no_other_cup_and_ends_upright_beside() -> None:
    assert {cup: poured().simulation.grams(cup) for cup in "AC"} == {cup: GRAMS[cup] for cup in "AC"}
    assert poured().holding == "pitcher"
    assert poured().simulation.hand == pytest.approx(beside().simulation.hand)


def test_a_pour_that_wants_nothing_pours_nothing() -> None:
    body = beside().branch()
    finding = perform(body, pour(body, "B", 0.0))
    assert finding.succeeded
    assert finding.value == pytest.approx(0, abs=2), "a reading, too"
    assert water_g(body) == GRAMS


def test_a_pour_with_an_empty_hand_fails_at_once() -> None:
    body = ready().branch()
    finding = perform(body, pour(body, "B", DOSE_G))
    assert (finding.succeeded, finding.note) == (False, "the hand is empty")
    assert body.simulation.ticks == ready().simulation.ticks


def test_a_pour_from_a_nearly_empty_pitcher_stops_and_says_so() -> None:
    body = holding(settled(0, 10, 0, 5))
    finding = perform(body, pour(body, "B", DOSE_G))
    assert not finding.succeeded
    assert finding.note in ("pitcher is empty", "no more water comes")
    assert finding.value == pytest.approx(body.simulation.grams("B") - 10, abs=2)
    assert body.simulation.hand[3] == pytest.approx(0)


def test_a_pour_beside_the_cup_stops_before_fifteen_grams_are_lost() -> None:
    body = beside().branch()
    body.believed_m["B"] = (0.0, -0.08)
    finding = perform(body, pour(body, "B", 40.0))
    assert not finding.succeeded
    assert "left the hand but the scale saw" in finding.note
    assert 0 < GRAMS["pitcher"] - body.simulation.grams("pitcher") < 15


def test_where_no_scale_stands_the_hand_alone_tells_when_the_dose_is_out() -> None:
    body = holding(settled(0, 10, 0, 40, scales=(True, False, True, True)))
    finding = perform(body, pour(body, "B", 8.0))
    assert finding.succeeded
    assert body.simulation.grams("B") - 10 == pytest.approx(8, abs=3)
    assert body.simulation.spilled_g() == 0


def test_a_scale_that_is_off_all_along_does_not_disturb_a_pour() -> None:
    """It must see the water come, and sees as much more as comes."""
    body = beside().branch()
    body.faults = SensorFaults(scale_off_g={1: -9.0})
    finding = perform(body, pour(body, "B", 8.0))
    assert finding.succeeded
    assert came_g(body) == pytest.approx(8, abs=3)
