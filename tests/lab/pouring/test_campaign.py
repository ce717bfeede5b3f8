"""Calibration goes on where it was: what is in the file is not simulated again."""

import pytest
from tests.lab.pouring.calibration_records import record

from aquamend.errors import AquaMendError
from aquamend_lab.pouring import calibration_run
from aquamend_lab.pouring.calibration_run import KEEP_EVERY, campaign
from aquamend_lab.records import read_lines


@pytest.fixture
def simulated(monkeypatch):
    """Make records by hand, and return the numbers of those made."""
    made = []

    def calibrate_once(run):
        made.append(run)
        return record(run)

    monkeypatch.setattr(calibration_run, "calibrate_once", calibrate_once)
    return made


def test_every_run_is_made_once_and_kept(tmp_path, simulated):
    found = campaign(tmp_path / "records.jsonl", runs=14, jobs=1)
    assert found == [record(run) for run in range(14)]
    assert simulated == list(range(14))
    assert [line["run"] for line in read_lines(tmp_path / "records.jsonl")] == list(range(14))


def test_what_is_in_the_file_is_taken_as_it_is(tmp_path, simulated):
    file = tmp_path / "records.jsonl"
    campaign(file, runs=5, jobs=1)
    assert campaign(file, runs=8, jobs=1) == [record(run) for run in range(8)]
    assert simulated == list(range(8))


def test_asking_for_fewer_runs_than_there_are_gives_so_many(tmp_path, simulated):
    file = tmp_path / "records.jsonl"
    campaign(file, runs=6, jobs=1)
    assert len(campaign(file, runs=3, jobs=1)) == 3
    assert len(read_lines(file)) == 6, "none is lost"


def test_interrupted_it_keeps_all_that_was_finished(tmp_path, simulated, monkeypatch):
    file = tmp_path / "records.jsonl"

    def tired(done, total):
        if done == KEEP_EVERY + 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign(file, runs=30, jobs=1, progress=tired)
    campaign(file, runs=30, jobs=1)
    assert sorted(simulated) == list(range(30)), "nothing is simulated twice"


def test_progress_starts_with_what_is_done_already(tmp_path, simulated):
    seen = []
    campaign(tmp_path / "records.jsonl", runs=2, jobs=1)
    campaign(tmp_path / "records.jsonl", runs=4, jobs=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 4), (3, 4), (4, 4)]


def test_a_file_of_something_else_is_refused(tmp_path, simulated):
    file = tmp_path / "records.jsonl"
    file.write_text('{"suite": "m1-v2"}\n', encoding="utf-8")
    with pytest.raises(AquaMendError):
        campaign(file, runs=1, jobs=1)
