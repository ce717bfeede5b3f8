"""``aquamend replay``: a recording that comes alone."""

from tests.lab.pouring.sample_recording import sample_recording
from typer.testing import CliRunner

from aquamend.cli.main import app
from aquamend_lab.pouring.recording import save_recording

RUNNER = CliRunner()


def test_a_recording_becomes_a_page_beside_it(tmp_path):
    save_recording(tmp_path / "run.aqr", sample_recording())
    done = RUNNER.invoke(app, ["replay", str(tmp_path / "run.aqr")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "run.aqr" in page
    assert "poses alone" in page
    assert "http://" not in page.split("<script")[0]


def test_a_file_that_is_no_recording_is_refused_and_nothing_written(tmp_path):
    (tmp_path / "run.aqr").write_text("not a recording")
    done = RUNNER.invoke(app, ["replay", str(tmp_path / "run.aqr")])
    assert done.exit_code == 2
    assert "run.aqr" in done.stderr
    assert not (tmp_path / "run.html").exists()


def test_a_missing_recording_is_named(tmp_path):
    done = RUNNER.invoke(app, ["replay", str(tmp_path / "nowhere.aqr")])
    assert done.exit_code == 2
    assert "nowhere.aqr" in done.stderr
