"""``aquamend fit``: from records to a frozen model, with how it fares on what was held back."""

import pytest
from tests.lab.pouring.calibration_records import records

from aquamend_lab.cli import fit as fit_command
from aquamend_lab.cli.bench import INTERRUPTED
from aquamend_lab.pouring import calibration_run
from aquamend_lab.pouring.calibration_run import KINDS
from aquamend_lab.pouring.model.fitted import load_fitted, save_fitted
from aquamend_lab.pouring.robot_fit import fit as fit_records
from aquamend_lab.records import write_lines

RUNS = 8 * len(KINDS)
"""Enough for every kind at every stage."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a file with a record of every run, so that none has to be simulated."""
    path = tmp_path_factory.mktemp("made") / "records.jsonl"
    write_lines(path, [record.as_data() for record in records(RUNS)])
    return path


def refused(result):
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.mark.slow
def test_a_model_is_fitted_written_and_reported(run, made, tmp_path):
    result = run("fit", "pouring", "--runs", str(RUNS), "--records", str(made), "--out", str(tmp_path / "model.json"))
    assert result.exit_code == 0, result.output
    fitted = load_fitted(tmp_path / "model.json")
    assert f"fitted to {fitted.records} records in {len(fitted.groups)} groups" in result.stdout
    assert fitted.hash in result.stdout
    assert f"{fitted.calibration['records']} records held back" in result.stdout
    assert "Brier" in result.stdout
    save_fitted(fit_records(list(records(RUNS))), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes(), "the same bytes again"


def test_an_unknown_world_is_answered_with_the_known_ones(run):
    said = refused(run("fit", "moon"))
    assert "'moon'" in said
    assert "'pouring'" in said


def test_no_process_at_all_is_refused(run):
    assert "--jobs is 0" in refused(run("fit", "pouring", "--jobs", "0"))


@pytest.mark.parametrize(("option", "value"), [("--jobs", "-2"), ("--runs", "0"), ("--jobs", "many")])
def test_numbers_that_cannot_be_meant_are_refused(run, option, value):
    assert option in refused(run("fit", "pouring", option, value))


def test_too_few_runs_say_which_kind_is_missing(run, made, tmp_path):
    said = refused(run("fit", "pouring", "--runs", "5", "--records", str(made), "--out", str(tmp_path / "model.json")))
    assert "no calibration record of" in said
    assert not (tmp_path / "model.json").exists()


def test_a_file_of_other_records_is_refused(run, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"suite": "m1-v2"}\n', encoding="utf-8")
    said = refused(run("fit", "pouring", "--records", str(tmp_path / "other.jsonl")))
    assert "other.jsonl" in said
    assert "calibration records" in said


def test_a_model_that_cannot_be_written_is_refused_before_anything_is_calibrated(run, made, monkeypatch):
    monkeypatch.setattr(calibration_run, "campaign", lambda *arguments, **options: pytest.fail("it was calibrated"))
    said = refused(run("fit", "pouring", "--records", str(made), "--out", str(made / "model.json")))
    assert "model.json cannot be written" in said
    assert "--out" in said


def test_interrupted_it_says_that_the_same_command_goes_on(run, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_command, "_fit_pouring", interrupted)
    result = run("fit", "pouring")
    assert result.exit_code == INTERRUPTED
    assert "Go on with the same command" in result.stderr
