"""``aquamend demo``: described while it runs, kept as pages without a network, refused before anything is written."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.scene_played import without_pictures
from typer.testing import CliRunner

from aquamend.cli.main import app
from aquamend.recovery import Journal
from aquamend.recovery.events import Ended
from aquamend.studio.start import replay_file
from aquamend_lab.cli import demo
from aquamend_lab.cli.bench import INTERRUPTED
from aquamend_lab.pouring.recording import load_recording

FILES = ["index.html", "recording.aqr", "replay.html"]
TWO_FILES = ["first.aqr", "first.html", "index.html", "replay.html", "second.aqr", "second.html"]
PLAYED = "tests.lab.pouring.scene_played"
POLICY, OTHER = f"{PLAYED}:LooksOnce", f"{PLAYED}:StopsAtOnce"
JOURNAL = ["sessions.journal", "sessions.journal-seals"]
SESSION, OTHER_SESSION = f"false-alarm-t0-0-{POLICY}", f"false-alarm-t0-0-{OTHER}"


def demonstrated(folder, *more):
    """Run a short demonstration with pictures of one pixel; return the result and what was shown."""
    kept, tell = [], demo._tell

    def keeping(*arguments):
        kept.extend(tell(*arguments))
        return kept

    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        patch.setattr(demo, "_tell", keeping)
        runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
        options = ["--scene", "false-alarm", "--stage", "t0", "--policy", POLICY, "--out", str(folder), *more]
        return runner.invoke(app, ["demo", *options]), kept


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made on the way"
    result, shown = demonstrated(folder)
    assert result.exit_code == 0, result.output
    return result, folder, shown[0]


@pytest.fixture(scope="module")
def versus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "two"
    result, shown = demonstrated(folder, "--versus", OTHER)
    assert result.exit_code == 0, result.output
    return result, folder, shown


def refused(result):
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    return result.stderr


def test_it_writes_the_page_the_replay_and_the_recording(printed):
    _, folder, shown = printed
    assert {path.name for path in folder.iterdir()} == {*FILES, *JOURNAL, replay_file(SESSION)}
    assert len(load_recording(folder / "recording.aqr").times_s) == len(shown.recording.times_s)


def test_a_journal_keeps_the_session_by_the_clock_of_its_replay(versus):
    _, folder, shown = versus
    with Journal.open(folder / "sessions.journal", read_only=True) as journal:
        lines = journal.sessions()
        assert [(line.name, line.policy) for line in lines] == [(SESSION, POLICY), (OTHER_SESSION, OTHER)]
        for line, each in zip(lines, shown, strict=True):
            entries = list(journal.read(line.name))
            assert isinstance(entries[-1].event, Ended)
            took = entries[-1].time - entries[0].time
            assert took == pytest.approx(each.session[-1].time - each.session[0].time, abs=1e-4)
            assert 'class="recording"' in (folder / replay_file(line.name)).read_text(encoding="utf-8")


def test_the_story_is_reported_with_alarm_losses_choice_and_cost(printed):
    stdout = printed[0].stdout
    assert "The monitor raises the alarm" in stdout
    assert re.search(r"loss +more", stdout)
    assert re.search(r"decides: \S+", stdout)
    assert re.search(r"^ *>", stdout, re.MULTILINE), "the chosen alternative is marked"
    assert re.search(r"It cost \d+\.\d s: ", stdout)
    assert stdout.index("raises the alarm") < stdout.index("decides: ") < stdout.index("It cost")


def test_it_says_where_the_pages_are(printed):
    result, folder, _ = printed
    unwrapped = result.stdout.replace("\n", "")
    assert str(folder / "index.html") in unwrapped
    assert str(folder / "replay.html") in unwrapped


def test_what_only_the_world_knows_is_marked_as_unseen(printed):
    assert "(unseen) Nothing happens" in printed[0].stdout


def test_the_cost_that_is_reported_is_what_the_ledger_adds_up_to(printed):
    result, _, shown = printed
    total = sum(receipt.cost for receipt in shown.story.receipts)
    assert f"It cost {total:.1f} s" in result.stdout


def test_what_was_needless_and_what_hindsight_costs_is_reported(printed):
    stdout = " ".join(printed[0].stdout.split())
    assert re.search(r"Needless in hindsight: look at [ABC] bore on nothing", stdout)
    assert re.search(
        r"With the truth at hand it would have cost \d+\.\d s: 0\.4 for what the alarm itself measures", stdout
    )


def test_no_line_is_wider_than_the_terminal(printed, versus):
    for result in (printed[0], versus[0]):
        lines = result.stdout.split("The story with pictures:")[0].splitlines()
        assert max(map(len, lines)) <= 80


def test_two_policies_are_told_from_one_alarm_and_compared(versus):
    stdout, (first, second) = versus[0].stdout, versus[2]
    assert stdout.count("The monitor raises the alarm") == 1
    assert stdout.count("takes it from the alarm") == 2
    table = stdout[stdout.index("From the same alarm") :]
    totals = [sum(receipt.cost for receipt in shown.story.receipts) for shown in (first, second)]
    assert re.search(rf"total +{totals[0]:.1f} s +{totals[1]:.1f} s", table)
    assert re.search(r"needless probes +1 +0", table)


class _Links(HTMLParser):
    """Collects where a page leads."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if tag == "a" and name == "href"]


def test_two_policies_leave_a_comparison_that_leads_to_everything(versus):
    folder = versus[1]
    replays = {replay_file(SESSION), replay_file(OTHER_SESSION)}
    assert {path.name for path in folder.iterdir()} == {*TWO_FILES, *JOURNAL, *replays}
    links = {name: _Links((folder / name).read_text(encoding="utf-8")).found for name in TWO_FILES if "html" in name}
    assert set(links["index.html"]) == {"replay.html", "first.html", "second.html"}
    assert "index.html" in links["first.html"]
    assert links["replay.html"] == ["index.html"]


@pytest.mark.parametrize("page", ["index.html", "replay.html"])
def test_the_pages_ask_nothing_of_a_network(printed, page):
    text = (printed[1] / page).read_text(encoding="utf-8")
    asked = re.findall(r"""(?:src|href|action)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)""", text)
    asked += re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)]+)", text)
    assert asked == []


def test_the_page_leads_to_the_replay_and_the_replay_back(printed):
    folder = printed[1]
    pages = {name: _Links((folder / name).read_text(encoding="utf-8")).found for name in ("index.html", "replay.html")}
    assert pages == {"index.html": ["replay.html"], "replay.html": ["index.html"]}


def test_a_second_run_writes_the_same_bytes(printed, tmp_path):
    demonstrated(tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (printed[1] / name).read_bytes()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_simulated(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_tell", lambda *arguments: pytest.fail("it was simulated"))
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        said = refused(run("demo", "--out", str(out)))
        assert "cannot be written" in said
        assert "--out" in said


def test_an_unknown_scene_is_answered_with_the_known_ones(run, tmp_path):
    said = refused(run("demo", "--scene", "nonsense", "--out", str(tmp_path / "demo")))
    for name in ("'nonsense'", "'swap'", "'add-water'", "'drift'", "'false-alarm'"):
        assert name in said
    assert not (tmp_path / "demo").exists()


def test_an_unknown_stage_is_answered_with_the_known_ones(run, tmp_path):
    said = refused(run("demo", "--stage", "noon", "--out", str(tmp_path / "demo")))
    assert "'t0', 'early', 'late', 'poured'" in said


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
