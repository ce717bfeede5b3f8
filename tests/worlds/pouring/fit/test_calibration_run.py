"""A calibration run: a pure function of its number, told in a record that survives a file."""

import json

import pytest
from tests.worlds.pouring.fit.records import record

from aquamend.recovery import Charge, Receipt
from aquamend.worlds.pouring.drawing import KINDS
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fit.calibration_run import RUNS, STAGES, CalibrationRecord, calibrate_once, timed

FORWARD, BACK = Charge.CONTINUATION, Charge.ROLLBACK


def leaf(what, seconds, charge=FORWARD, succeeded=True):
    return Receipt(charge, what, seconds, 10.0, 10.0 + seconds, succeeded)


@pytest.mark.parametrize("run", [0, 8, 11, 15 * len(KINDS) + 3])
def test_a_record_comes_back_from_json_as_it_was(run):
    assert CalibrationRecord.from_data(json.loads(json.dumps(record(run).as_data()))) == record(run)


def test_every_kind_of_trouble_is_run_at_every_stage():
    planned = {(KINDS[run % len(KINDS)], STAGES[run // len(KINDS)]) for run in range(RUNS)}
    assert planned == {(kind, stage) for kind in KINDS for stage in Stage}


def test_primitives_that_always_come_together_are_timed_as_one_skill():
    found = timed(
        [leaf("grasp pitcher", 2.0), leaf("lift pitcher", 1.0), leaf("place pitcher", 3.0), leaf("retreat", 1.0)]
    )
    assert ("fetch", 3.0, True) in found
    assert ("put back", 4.0, True) in found
    assert ("grasp", 2.0, True) in found


def test_a_grasp_that_is_not_followed_by_a_lift_is_no_fetch():
    found = timed([leaf("grasp pitcher", 2.0, succeeded=False), leaf("localise", 0.2)])
    assert [what for what, _, _ in found] == ["grasp", "localise"]


def test_pouring_back_is_timed_as_a_whole():
    found = timed([leaf("pour into A", 15.0), leaf("place pitcher", 3.0, BACK), leaf("pour 20 g back", 12.0, BACK)])
    assert ("pour back", 15.0, True) in found
    assert ("pour", 15.0, True) in found


@pytest.mark.slow
def test_a_run_is_a_pure_function_of_its_number():
    once = calibrate_once(5)
    assert calibrate_once(5) == once
    assert once.kind == KINDS[5]
    assert CalibrationRecord.from_data(json.loads(json.dumps(once.as_data()))) == once
