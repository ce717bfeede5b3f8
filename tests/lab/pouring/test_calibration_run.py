"""A calibration run: a pure function of its number, told in a record that survives a file."""

import json

import pytest
from tests.lab.pouring.calibration_records import record

from aquamend_lab.pouring.calibration_run import KINDS, RUNS, STAGES, CalibrationRecord, calibrate_once
from aquamend_lab.pouring.model.configurations import Amount
from aquamend_lab.pouring.model.fitted import TIMED
from aquamend_lab.pouring.mujoco.trouble import Mishap
from aquamend_lab.pouring.robot_fit import HOLD_BACK_EVERY, held_back
from aquamend_lab.pouring.task import Stage


@pytest.mark.parametrize("run", [0, 3, 6, 9, 15 * len(KINDS) + 3])
def test_a_record_comes_back_from_json_as_it_was(run):
    assert CalibrationRecord.from_data(json.loads(json.dumps(record(run).as_data()))) == record(run)


def test_every_kind_of_trouble_is_run_at_every_stage_and_half_of_the_time_where_screening_is_wanted():
    planned = [(KINDS[run % len(KINDS)], STAGES[run // len(KINDS)]) for run in range(RUNS)]
    stages = (Stage.DECIDED, Stage.LIFTED, Stage.BESIDE, Stage.POURED)
    assert set(planned) == {(kind, stage) for kind in Mishap for stage in stages}
    assert sum(stage is Stage.LIFTED for _, stage in planned) == len(planned) // 2


def test_of_every_kind_some_records_at_the_screened_stage_are_held_back_and_most_are_not():
    kept_out = [run for run in range(RUNS) if held_back(record(run))]
    assert len(kept_out) == RUNS // HOLD_BACK_EVERY
    lifted = [run for run in range(RUNS) if STAGES[run // len(KINDS)] is Stage.LIFTED]
    assert 0 < len(set(lifted) & set(kept_out)) < len(lifted) / 2


def test_shifts_are_what_really_happened_told_as_the_model_tells_them():
    added = record(KINDS.index(Mishap.MUCH))
    shifts = added.shifts()
    assert shifts.little == shifts.elsewhere == Amount(added.added_g)
    assert shifts.beyond_rival == Amount(18.0 + added.added_g - 28.0)
    biased = record(KINDS.index(Mishap.BIAS))
    assert biased.shifts().bias == Amount(biased.bias_g)
    assert record(0).shifts().scale == Amount(record(0).scale_off_g)


@pytest.fixture(scope="module")
def run():
    pytest.importorskip("mujoco")
    number = KINDS.index(Mishap.SWAP_RIVAL) + len(KINDS)  # at the stage where screening is wanted
    return number, calibrate_once(number)


@pytest.mark.slow
def test_a_run_is_a_pure_function_of_its_number(run):
    number, once = run
    assert calibrate_once(number) == once
    assert once.kind == Mishap.SWAP_RIVAL
    assert CalibrationRecord.from_data(json.loads(json.dumps(once.as_data()))) == once


@pytest.mark.slow
def test_a_run_uses_every_probe_that_there_is_and_times_skills(run):
    _, found = run
    views = {f"look_{cup}" for cup in "ABC"}
    weighings = {f"weigh_{cup}" for cup, has_scale in found.heard.scale_at.items() if has_scale}
    assert set(found.readings) == {*views, *weighings, "localise", "check_camera"}
    assert {what for what, _, _ in found.durations} <= set(TIMED)
    assert set(found.failed) == {f"binding_{cup}" for cup in "ABC" if f"binding_{cup}" in found.failed}
    assert len(found.failed) == 2
