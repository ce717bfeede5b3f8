"""``aquamend demo``: told while it runs, kept as pages that need no network, refused before anything is written."""

import re

import pytest

pytest.importorskip("mujoco")

from typer.testing import CliRunner

from aquamend.cli import demo
from aquamend.cli.bench import INTERRUPTED
from aquamend.cli.main import app
from aquamend.demonstration import telling
from aquamend.replay.recording import load_recording
from aquamend.worlds.pouring.picture import png

FILES = ["index.html", "recording.aqr", "replay.html"]


def demonstrated(folder):
    """Run the demonstration with pictures of one pixel; return the result and what was shown."""
    import numpy as np

    kept, tell = [], demo._tell

    def keeping(*arguments):
        kept.append(tell(*arguments))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "still", lambda simulation: png(np.zeros((1, 1, 3), dtype=np.uint8)))
        patch.setattr(demo, "_tell", keeping)
        runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
        return runner.invoke(app, ["demo", "--scene", "false-alarm", "--out", str(folder)]), kept[0]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made on the way"
    result, shown = demonstrated(folder)
    assert result.exit_code == 0, result.output
    return result, folder, shown


def refused(result):
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    return result.stderr


def test_it_writes_the_page_the_replay_and_the_recording(told):
    _, folder, shown = told
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert len(load_recording(folder / "recording.aqr").times_s) == len(shown.recording.times_s)


def test_the_story_is_told_with_alarm_losses_choice_and_cost(told):
    stdout = told[0].stdout
    assert "The monitor raises the alarm" in stdout
    assert re.search(r"loss +sensing +rollback +go on +residual", stdout)
    assert re.search(r"Decision: \S+", stdout)
    assert re.search(r"^ *>", stdout, re.MULTILINE), "the chosen alternative is marked"
    assert re.search(r"It cost \d+\.\d s: ", stdout)
    assert stdout.index("raises the alarm") < stdout.index("Decision") < stdout.index("It cost")


def test_it_says_where_the_pages_are(told):
    result, folder, _ = told
    unwrapped = result.stdout.replace("\n", "")
    assert str(folder / "index.html") in unwrapped
    assert str(folder / "replay.html") in unwrapped


def test_what_only_the_world_knows_is_marked_as_unseen(told):
    assert "(unseen) Nothing happens" in told[0].stdout


def test_the_cost_that_is_told_is_what_the_ledger_adds_up_to(told):
    result, _, shown = told
    total = sum(receipt.cost for receipt in shown.story.ledger)
    assert f"It cost {total:.1f} s" in result.stdout


def test_a_false_alarm_is_survived(told):
    result, _, shown = told
    assert shown.story.success
    assert "Recovered" in result.stdout


@pytest.mark.parametrize("page", ["index.html", "replay.html"])
def test_the_pages_ask_nothing_of_a_network(told, page):
    text = (told[1] / page).read_text(encoding="utf-8")
    asked = re.findall(r"""(?:src|href|action)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)""", text)
    asked += re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)]+)", text)
    assert asked == []


def test_the_page_leads_to_the_replay(told):
    assert "replay.html" in (told[1] / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_second_run_writes_the_same_bytes(told, tmp_path):
    demonstrated(tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (told[1] / name).read_bytes()


def test_a_folder_that_cannot_be_written_is_refused(told, run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_tell", lambda *arguments: told[2])
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    said = refused(run("demo", "--out", str(tmp_path / "file")))
    assert "cannot be written" in said
    assert "--out" in said


def test_an_unknown_scene_is_answered_with_the_known_ones(run, tmp_path):
    said = refused(run("demo", "--scene", "nonsense", "--out", str(tmp_path / "demo")))
    for name in ("'nonsense'", "'swap'", "'add-water'", "'drift'", "'false-alarm'"):
        assert name in said
    assert not (tmp_path / "demo").exists()


def test_an_unknown_stage_is_answered_with_the_known_ones(run, tmp_path):
    said = refused(run("demo", "--stage", "noon", "--out", str(tmp_path / "demo")))
    assert "'early', 'late'" in said


def test_an_unknown_policy_is_answered_with_the_known_ones(run, tmp_path):
    said = refused(run("demo", "--policy", "magic", "--out", str(tmp_path / "demo")))
    assert "'magic'" in said
    assert "'aquamend'" in said
    assert not (tmp_path / "demo").exists()


def test_a_negative_seed_is_refused(run):
    assert "--seed" in refused(run("demo", "--seed", "-1"))


def test_interrupted_it_writes_nothing(run, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_tell", interrupted)
    result = run("demo", "--out", str(tmp_path / "demo"))
    assert result.exit_code == INTERRUPTED
    assert "nothing was written" in result.stderr
    assert not (tmp_path / "demo").exists()
