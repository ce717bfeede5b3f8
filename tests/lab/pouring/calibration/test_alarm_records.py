"""Calibration runs as labelled records: comparable by role, and enough to learn a well calibrated model."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.pouring.calibration.records import record

from aquamend.files.text import data_at
from aquamend.learning import calibration_of, learned
from aquamend_lab.pouring.calibration.alarm_records import found_by_role, posed, record_by_role
from aquamend_lab.pouring.calibration.calibration_run import KINDS, CalibrationRecord
from aquamend_lab.pouring.calibration.fitting import held_back
from aquamend_lab.pouring.model.fitted import load_fitted
from aquamend_lab.records import read_lines

ROOT = Path(__file__).parents[4]
LEARNING = ROOT / "examples" / "learning"


def test_amounts_are_told_relative_to_what_was_declared_of_each_role():
    one = record(2)  # a little water in the target, B; declared of A, B and C: see by_hand
    by_role = record_by_role(one)
    amounts = dict(zip("ABC", one.declared.quantity_g, strict=True))
    assert by_role.found == "trouble=little"
    assert by_role.readings["look_target"] == (pytest.approx(one.readings["look_B"] - amounts["B"], abs=0.051),)
    assert by_role.readings["localise"] == ("all in place", "all in place")
    assert {name.split("_")[0] for name in by_role.readings} >= {"report", "localise", "check", "look", "weigh"}


def test_every_kind_of_trouble_is_known_to_the_file():
    template = data_at(str(LEARNING / "pouring_by_role.yaml"))
    rows = [record_by_role(record(run)) for run in range(2 * len(KINDS))]
    found = learned(template, rows)
    assert found.used == len(rows)
    assert {row.found for row in rows} >= {"nothing", "trouble=swap_target_rival", "trouble=frozen", "trouble=mixed_up"}


def test_the_fitted_model_is_asked_in_its_own_words():
    one = record(9)
    problem, asked = posed(one, load_fitted())
    assert asked.found in problem.model.names
    assert found_by_role(one) == "trouble=misreads_third"
    assert calibration_of([(problem, asked)]).records == 1
    assert calibration_of([(problem, replace(asked, found="nobody knows"))]).records == 0


@pytest.mark.slow
@pytest.mark.outer
def test_what_is_learned_is_about_as_well_calibrated_as_what_special_code_fits(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(LEARNING)])
    import learned_pouring

    lines = read_lines(ROOT / "results" / "pouring-calibration.jsonl")
    records = [CalibrationRecord.from_data(line) for line in lines]
    found = learned_pouring.compared(records, data_at(str(LEARNING / "pouring_by_role.yaml")), [held_back])
    fitted, by_learning = found["fitted"], found["learned"]
    assert (fitted.records, by_learning.records) == (24, 24)
    assert by_learning.brier == pytest.approx(fitted.brier, abs=0.006)
    assert by_learning.ece == pytest.approx(fitted.ece, abs=0.01)
    assert by_learning.log_score == pytest.approx(fitted.log_score, abs=0.1)
    assert by_learning.coverage["95 %"] == pytest.approx(0.95, abs=0.02)
    assert found["guessed"].brier > by_learning.brier
