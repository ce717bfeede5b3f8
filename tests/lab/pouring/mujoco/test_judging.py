"""What is really so, and whether the job was done well."""

from dataclasses import replace

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import GRAMS, LIGHT, alarmed, carrying, ready, settled, spilled

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.judging import Quality, quality_of, truth_of, wrong_at_alarm
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.trouble import AddWater, FrozenCamera, SwapCups
from aquamend_lab.pouring.task import FAULTY, SOUND

pytestmark = pytest.mark.slow

HELD = {cup: GRAMS[cup] for cup in dim.CUPS}
FINE = Quality({"A": 0.0, "B": 20.0, "C": 0.0}, "B", displaced_mm=4.0, spilled_g=0, hand_empty=True)
IN_PLACE_MM = {cup: 1000 * x for cup, x in zip(dim.CUPS, dim.CUP_PLACES_X, strict=True)}


def test_the_truth_is_what_every_cup_held_where_it_stands_and_whether_the_camera_is_sound():
    truth = truth_of(ready(), HELD, "A")
    assert truth.quantity_g == (20.0, 25.0, 30.0)
    assert truth.position_mm == pytest.approx((-215, 0, 214), abs=2)
    assert (truth.target, truth.camera) == ("A", SOUND)


def test_of_cups_that_were_equally_the_least_full_the_chosen_one_was():
    held = {"A": 20, "B": 20, "C": 30}
    assert [truth_of(ready(), held, chosen).target for chosen in "ABC"] == ["A", "B", "A"]


def test_a_camera_with_a_fault_is_faulty_and_a_scale_that_is_off_is_nobodys_declaration():
    faulty = Body(ready().simulation, SensorFaults(bias_g={"A": 8.0}))
    off = Body(ready().simulation, SensorFaults(scale_off_g={0: 8.0}))
    assert truth_of(faulty, HELD, "A").camera == FAULTY
    assert truth_of(off, HELD, "A") == truth_of(ready(), HELD, "A")


@pytest.mark.parametrize(
    ("trouble", "wrong"),
    [
        (AddWater("B", 5), ("quantity_B",)),
        (AddWater("B", 15), ("quantity_B", "target")),
        (AddWater("C", 9), ("quantity_C",)),
        (SwapCups("A", "C"), ("binding_A", "binding_C")),
        (SwapCups("B", "A"), ("binding_A", "binding_B")),
        (FrozenCamera(), ("camera",)),
    ],
    ids=str,
)
def test_wrong_at_the_alarm_is_what_trouble_made_wrong(trouble, wrong):
    assert sorted(wrong_at_alarm(alarmed(trouble))) == sorted(wrong)


def test_nothing_is_wrong_with_a_pour_of_the_dose_into_the_least_full_cup():
    assert FINE.good
    assert FINE.faults == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"received_g": {"A": 0.0, "B": 16.9, "C": 0.0}}, "B received 17 g instead of 20 g"),
        ({"wanted": "A"}, "A received 0 g instead of 20 g"),
        ({"received_g": {"A": 0.0, "B": 20.0, "C": -4.0}}, "C received -4 g instead of 0 g"),
        ({"displaced_mm": 31.0}, "a cup stands 31 mm from where it is declared to stand"),
        ({"spilled_g": 1}, "1 g spilled"),
        ({"hand_empty": False}, "the hand still holds a vessel"),
    ],
)
def test_what_is_not_as_it_should_be_is_reported_in_words(change, message):
    found = replace(FINE, **change)
    assert not found.good
    assert message in found.faults


def test_what_the_task_tolerates_is_good():
    assert replace(FINE, received_g={"A": 3.0, "B": 23.0, "C": -3.0}, displaced_mm=30.0).good


def test_quality_is_measured_on_the_table():
    truth = replace(truth_of(ready(), HELD, "A"), quantity_g=(20.0, 5.0, 30.0), target="B")
    found = quality_of(ready(), IN_PLACE_MM, truth)
    assert found.received_g == {"A": 0.0, "B": 20.0, "C": 0.0}
    assert (found.wanted, found.spilled_g, found.hand_empty, found.good) == ("B", 0, True, True)
    assert found.displaced_mm == pytest.approx(6, abs=1.5)
    elsewhere = quality_of(ready(), {**IN_PLACE_MM, "C": 0.0}, truth)
    assert elsewhere.displaced_mm == pytest.approx(214, abs=2)


def test_spilled_water_and_a_full_hand_are_seen():
    truth = truth_of(ready(), HELD, "A")
    after = quality_of(Body(spilled(settled(*GRAMS.values()), "B")), IN_PLACE_MM, truth)
    assert (after.spilled_g, after.received_g["B"]) == (GRAMS["B"], -GRAMS["B"])
    assert not quality_of(carrying(), IN_PLACE_MM, truth).hand_empty


def test_the_table_of_these_alarms_is_as_it_is_said_to_be():
    assert [vessel.grams for vessel in LIGHT.vessels[:3]] == [15, 5, 22]
