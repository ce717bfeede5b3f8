"""``aquamend session`` on a journal with one session of every kind."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import jsonschema
import pytest
from tests.waiting import PATIENCE_S

from aquamend.belief import InformationState
from aquamend.errors import InvalidData
from aquamend.files import load_problem
from aquamend.recovery import Ending, Journal, Recovery, Rules, recover, resume
from aquamend.recovery.plain import line_from_data, line_to_data


class Robot:
    """The lid is off, and looking says so; what it raises is scripted."""

    def __init__(self, problem, *, dies_at=None):
        self.problem, self.dies_at = problem, dies_at

    def alarm(self):
        return InformationState.alarmed(self.problem)

    def measure(self, step):
        return step.done("no")

    def perform(self, act):
        if str(act) == self.dies_at:
            raise KeyboardInterrupt
        return act.done(cost=act.cost if act.cost < 1e9 else 40.0)


@pytest.fixture
def journal(tmp_path, lid):
    """Return a journal with a session that is over, one that waits for a person, and one in doubt."""
    path = tmp_path / "robot.journal"
    problem = load_problem(lid)
    with Journal(path) as opened:
        assert recover("aquamend", Robot(problem), journal=opened, session="over").ending is Ending.FINISHED
        waits = Rules(decisions=0)
        recover("aquamend", Robot(problem), journal=opened, session="waits", rules=waits, wait_s=0)
        with pytest.raises(KeyboardInterrupt):
            recover("aquamend", Robot(problem, dies_at="undo: lift"), journal=opened, session="doubtful")
    return path


def asked(path, name="waits"):
    """Return the token of the question that a session asks."""
    with Journal.open(path, read_only=True) as opened:
        return Recovery.of([entry.event for entry in opened.read(name)]).asked.token


def answer(run, path, *options):
    return run("session", "approve", "waits", "--token", asked(path), "--by", "Ada", *options, "--journal", str(path))


def test_the_list_says_how_each_stands(run, journal):
    result = run("session", "list", "--journal", str(journal))
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[:2] for row in rows] == [
        ["session", "status"], ["over", "finished"], ["waits", "waiting"], ["doubtful", "in"],
    ]  # fmt: skip
    lines = [
        json.loads(line) for line in run("session", "list", "--json", "--journal", str(journal)).stdout.splitlines()
    ]
    assert [(line["session"], line["status"], line["cost"]) for line in lines] == [
        ("over", "finished", 3.5), ("waits", "waiting", 0), ("doubtful", "in doubt", 0.5),
    ]  # fmt: skip


def test_an_empty_journal_says_so(run, tmp_path):
    Journal(tmp_path / "new.journal").close()
    assert "No session" in run("session", "list", "--journal", str(tmp_path / "new.journal")).stdout


def test_the_story_tells_beliefs_reasons_and_costs(run, journal):
    story = " ".join(run("session", "show", "over", "--journal", str(journal)).stdout.split())
    for part in (
        "alarm is the lid on; aquamend decides. In doubt: lid 40%.",
        "Run probe look. Expected loss: run probe look 2.44 s, roll back lid 3 s, continue as is 4 s.",
        "decision Roll back lid (undo lift).",
        "done undo: lift, cost 3 s, took ",
        "finished It cost 3.5 s.",
        "Cost: sensing 0.5 s, rollback 3 s, continuation 0 s.",
    ):
        assert part in story, part


def test_the_story_tells_what_is_in_doubt_and_who_is_waited_for(run, journal):
    doubt = " ".join(run("session", "show", "doubtful", "--journal", str(journal)).stdout.split())
    assert "In doubt: undo: lift has begun, and its receipt is not there." in doubt
    shown = run("session", "show", "wai", "--journal", str(journal)).stdout  # a beginning will do
    assert "Waiting for a person: hand over to a person (somebody has to take over)." in " ".join(shown.split())
    command = f"aquamend session approve waits --journal {journal} --token {asked(journal)}"
    assert f"\n  {command}\n" in shown, "in one line, however long"
    assert "Because: 0 decisions have not ended it." in " ".join(shown.split())
    answered = run(*shlex.split(command)[1:])
    assert (answered.exit_code, answered.stdout) == (0, "waits: allowed: hand over to a person\n")


def test_a_command_that_is_suggested_names_the_journal_only_where_it_has_to(run, journal, monkeypatch):
    monkeypatch.setenv("AQUAMEND_JOURNAL", str(journal))
    assert f"approve waits --token {asked(journal)}\n" in run("session", "show", "waits").stdout


def test_the_story_as_data_and_only_its_end(run, journal):
    lines = run("session", "show", "over", "--json", "--last", "2", "--journal", str(journal)).stdout.splitlines()
    lines = [json.loads(line) for line in lines]
    assert [(line["kind"], line["moment"]["title"]) for line in lines] == [("done", "done"), ("ended", "finished")]


def test_somebody_allows_what_is_waited_for(run, journal, lid):
    result = answer(run, journal, "--note", "coming")
    assert (result.exit_code, result.stdout) == (0, "waits: allowed: hand over to a person\n")
    with Journal(journal) as opened:
        assert resume(opened, "waits", Robot(load_problem(lid))).ending is Ending.HANDED_OVER
    story = run("session", "show", "waits", "--journal", str(journal)).stdout
    assert re.search(r"Ada allows it, after [\d.]+ m?s: hand over to a person\. Coming", " ".join(story.split()))
    assert "allowed" in story


def test_an_answer_names_its_question(run, journal):
    there = ("--journal", str(journal))
    result = run("session", "approve", "waits", "--by", "Ada", *there)
    assert result.exit_code == 2
    assert "waits asks: hand over to a person (somebody has to take over)" in result.stderr
    assert f"add --token {asked(journal)}" in result.stderr
    result = run("session", "approve", "waits", "--token", "0123456789ab", "--by", "Ada", *there)
    assert result.exit_code == 2
    assert "the answer is to question '0123456789ab'" in result.stderr


def test_somebody_says_what_became_of_an_act_in_doubt(run, journal, lid):
    there = ("--journal", str(journal))
    with Journal(journal) as opened:
        waits = resume(opened, "doubtful", Robot(load_problem(lid)), wait_s=0)
    assert str(waits.in_doubt) == "undo: lift"
    story = " ".join(run("session", "show", "doubtful", *there).stdout.split())
    assert "in doubt Nobody knows whether this was done: undo: lift." in story
    result = run("session", "settle", "doubtful", "--by", "Ada", *there)
    assert result.exit_code == 2
    assert "say --done or --not-done of what is in doubt: undo: lift" in result.stderr
    result = run("session", "settle", "doubtful", "--done", "--by", "Ada", "--note", "I looked", *there)
    assert (result.exit_code, result.stdout) == (0, "doubtful: done: undo: lift\n")
    with Journal(journal) as opened:
        assert resume(opened, "doubtful", Robot(load_problem(lid))).ending is Ending.FINISHED
    story = " ".join(run("session", "show", "doubtful", *there).stdout.split())
    assert "settled Ada says that this was done: undo: lift. I looked" in story
    assert run("session", "settle", "doubtful", "--done", *there).exit_code == 2


def test_the_rules_that_held_are_shown(run, journal):
    story = " ".join(run("session", "show", "waits", "--journal", str(journal)).stdout.split())
    for rule in (
        "asks a person before handing over",
        "asks a person before what cannot be undone",
        "at most 0 decisions",
        "an approval holds 600 s",
    ):
        assert rule in story


def test_somebody_refuses(run, journal, lid):
    assert answer(run, journal, "--refuse").exit_code == 0
    with Journal(journal) as opened:
        assert resume(opened, "waits", Robot(load_problem(lid))).ending is Ending.STOPPED


def test_another_policy_follows_the_recorded_answers(run, journal):
    story = " ".join(
        run("session", "instead", "over", "--policy", "no-reprobe", "--journal", str(journal)).stdout.split()
    )
    assert "1. roll back lid (undo lift)" in story
    assert "in expectation and going by all that was measured: 3 s." in story
    assert "aquamend has cost 3.5 s" in story
    data = json.loads(run("session", "instead", "over", "--json", "--journal", str(journal)).stdout)
    assert data["steps"][0] == {"kind": "reprobe", "probe": "look"}
    assert data["expected_loss"] == pytest.approx(3.5)
    assert data["happened"]["expected_loss"] == pytest.approx(3.5)


def test_where_the_record_ends_it_says_so(run, journal):
    story = " ".join(run("session", "instead", "waits", "--journal", str(journal)).stdout.split())
    assert "The record ends there: nobody ran look that often." in story


def test_every_event_is_exported_as_a_line_of_json(run, journal, tmp_path):
    lines = [
        json.loads(line) for line in run("session", "export", "over", "--journal", str(journal)).stdout.splitlines()
    ]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert (lines[0]["kind"], lines[-1]["kind"]) == ("alarmed", "ended")
    out = tmp_path / "all.jsonl"
    assert run("session", "export", "--out", str(out), "--journal", str(journal)).exit_code == 0
    assert {json.loads(line)["session"] for line in out.read_text().splitlines()} == {"over", "waits", "doubtful"}


def test_times_are_told_to_the_millisecond_with_how_long_it_took(run, journal):
    lines = run("session", "show", "over", "--journal", str(journal)).stdout.splitlines()
    assert re.fullmatch(r"over, begun on \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d\.\d{3} UTC", lines[0])
    assert sum(bool(re.match(r"\d\d:\d\d:\d\d\.\d{3}  \w", line)) for line in lines) == 9
    story = " ".join(" ".join(lines).split())
    assert re.search(r"look = no, cost 0\.5 s, took \d+ ms\. In doubt: lid 84%\.", story)
    assert re.search(r"From the alarm to the end: [\d.]+ m?s\.", story)
    assert max(map(len, lines)) <= 80


def test_the_story_tells_what_was_asked_and_what_was_refused(run, journal):
    answer(run, journal, "--refuse", "--note", "not now")
    story = " ".join(run("session", "show", "waits", "--journal", str(journal)).stdout.split())
    assert "asked A person has to allow this: hand over to a person (somebody has to take over)." in story
    assert re.search(r"refused Ada does not allow it, after [\d.]+ m?s: hand over to a person\. Not now", story)


def test_the_story_as_data_is_the_export_with_words(run, journal):
    as_shown = run("session", "show", "over", "--json", "--journal", str(journal)).stdout.splitlines()
    as_shown = [json.loads(line) for line in as_shown]
    exported = run("session", "export", "over", "--journal", str(journal)).stdout.splitlines()
    assert [{key: value for key, value in line.items() if key != "moment"} for line in as_shown] == [
        json.loads(line) for line in exported
    ]
    assert {line["kind"] for line in as_shown if line["moment"] is None} == {"intended"}
    assert set(as_shown[0]["moment"]) == {"title", "text", "bad", "seconds"}


def test_the_whole_story_is_written_as_the_page_has_it_and_has_a_schema(run, journal, lid, tmp_path):
    page, data = tmp_path / "story.html", tmp_path / "story.json"
    schema = jsonschema.Draft202012Validator(json.loads(run("schema", "story").stdout))
    files = ["--html", str(page), "--story", str(data)]
    for command in (["session", "show", "over", "--journal", str(journal)], ["decide", lid]):
        done = run(*command, *files)
        assert done.exit_code == 0, done.stderr
        story = json.loads(data.read_text(encoding="utf-8"))
        schema.validate(story)
        assert not schema.is_valid({key: value for key, value in story.items() if key != "title"})
        assert not schema.is_valid({**story, "surplus": 1})
        (shown,) = re.findall(r'<script type="application/json" id="story">(.*?)</script>', page.read_text("utf-8"))
        assert json.loads(shown) == story
    refused = run("decide", lid, "--story", str(data), "--json")
    assert (refused.exit_code, "without --json" in refused.stderr) == (2, True)


def test_what_is_exported_has_a_schema_and_is_read_back_as_it_was(run, journal):
    schema = json.loads(run("schema", "session").stdout)
    exported, as_shown = (
        [json.loads(line) for line in run("session", *how, "--journal", str(journal)).stdout.splitlines()]
        for how in (("export", "over"), ("show", "over", "--json"))
    )
    lines = jsonschema.Draft202012Validator({**schema, "anyOf": [{"$ref": "#/$defs/line"}]})
    for line in (*exported, *as_shown):
        lines.validate(line)
        for key in ("session", "number", "time", "kind"):
            assert not lines.is_valid({name: value for name, value in line.items() if name != key})
        assert not lines.is_valid({**line, "surplus": 1})
    with Journal.open(journal, read_only=True) as opened:
        kept = list(opened.read("over"))
    for read in ([line_from_data(line) for line in some] for some in (exported, as_shown)):
        assert {name for name, _ in read} == {"over"}
        assert [line_to_data("over", entry) for _, entry in read] == exported
        assert [(entry.number, entry.time) for _, entry in read] == [(entry.number, entry.time) for entry in kept]
        again, first = (Recovery.of([entry.event for entry in some]) for some in ([entry for _, entry in read], kept))
        assert (again.receipts, again.steps, again.ending) == (first.receipts, first.steps, first.ending)
        assert again.state.posterior.tobytes() == first.state.posterior.tobytes()


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ([], "line.session"),
        ({"session": "s", "number": -1, "time": 1.0, "kind": "cancelled", "why": ""}, "line.number"),
        ({"session": "s", "number": 1, "time": "now", "kind": "cancelled", "why": ""}, "line.time"),
        ({"session": "s", "number": 1, "time": 1.0, "kind": "canceled", "why": ""}, "event.kind"),
    ],
)
def test_a_line_that_is_none_says_where(line, where):
    with pytest.raises(InvalidData, match=where.replace(".", r"\.")):
        line_from_data(line)


def test_a_session_is_watched_until_it_has_ended(run, journal, lid):
    def go_on():
        with Journal(journal) as opened:
            time.sleep(0.1)  # so that it goes on while somebody watches
            resume(opened, "waits", Robot(load_problem(lid)))

    answer(run, journal)
    thread = threading.Thread(target=go_on)
    thread.start()
    result = run("session", "watch", "waits", "--every", "0.01", "--journal", str(journal))
    thread.join(PATIENCE_S)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    titles = [line[14:25].strip() for line in lines if line[:1].isdigit()]
    assert (titles[0], titles[-4:]) == ("alarm", ["resumed", "begins", "handed over", "handed over"])
    assert max(map(len, lines)) <= 80
    data = run("session", "watch", "waits", "--json", "--journal", str(journal)).stdout.splitlines()
    assert json.loads(data[-1])["kind"] == "ended"


def test_watching_is_interrupted_cleanly(journal):
    command = [sys.executable, "-m", "aquamend", "session", "watch", "doubtful", "--journal", str(journal)]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in watching.stdout:
        if "begins" in line and "undo: lift" in line:
            break
    time.sleep(0.1)
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=PATIENCE_S)
    assert (watching.returncode, errors) == (130, "")


def test_sessions_are_deleted_by_name_if_they_have_ended(run, journal):
    there = ("--journal", str(journal))
    for names in (["over", "waits"], ["over", "nobody"], ["ove"]):
        result = run("session", "delete", *names, *there)
        assert result.exit_code == 2
        assert "has not ended (waiting)" in result.stderr or "unknown session" in result.stderr
    assert run("session", "delete", "over", *there).stdout == "deleted: over\n"
    assert run("session", "delete", "waits", "--force", *there).stdout == "deleted: waits\n"
    assert [line.split()[0] for line in run("session", "list", *there).stdout.splitlines()] == ["session", "doubtful"]


def test_sessions_are_deleted_by_date_and_those_that_have_not_ended_are_kept(run, journal):
    there = ("--journal", str(journal))
    assert run("session", "delete", "--before", "2020-01-31", *there).stdout == ""
    result = run("session", "delete", "--before", "2999-01-31T12:00+01:00", *there)
    assert (result.exit_code, result.stdout) == (0, "deleted: over\n")
    kept = [line for line in result.stderr.splitlines() if line.startswith("kept, since it has not ended")]
    assert [line.split()[-1] for line in kept] == ["waits", "doubtful"]
    assert run("session", "delete", "--before", "2999-01-31", "--force", *there).exit_code == 0
    assert "No session" in run("session", "list", *there).stdout


@pytest.mark.parametrize("options", [[], ["over", "--before", "2020-01-31"], ["--before", "yesterday"]])
def test_what_to_delete_must_be_said_in_one_way(run, journal, options):
    result = run("session", "delete", *options, "--journal", str(journal))
    assert result.exit_code == 2
    assert "--before" in result.stderr
    assert len(run("session", "list", "--json", "--journal", str(journal)).stdout.splitlines()) == 3


def test_a_damaged_session_is_reported_and_the_others_can_be_shown(run, journal):
    with closing(sqlite3.connect(journal)) as connection:
        connection.executescript("UPDATE events SET data = '{}' WHERE session = 1 AND number = 2")
    result = run("session", "show", "over", "--journal", str(journal))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "event 2 of session 'over' is not what was written" in result.stderr
    assert run("session", "show", "waits", "--journal", str(journal)).exit_code == 0


@pytest.mark.parametrize("command", ["list", "show x", "watch x", "approve x", "instead x", "export", "delete x"])
def test_a_journal_that_is_not_there_is_not_made(run, tmp_path, command):
    path = tmp_path / "none.journal"
    result = run("session", *command.split(), "--journal", str(path))
    assert result.exit_code == 2
    assert f"{path}: there is no such file" in result.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    "command",
    [
        "show nobody",
        "watch nobody",
        "approve nobody",
        "instead nobody",
        "export nobody",
        "delete nobody",
        "approve over",
    ],
)
def test_a_name_that_is_nobodys_and_an_answer_that_nobody_waits_for(run, journal, command):
    result = run("session", *command.split(), "--journal", str(journal))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "unknown session 'nobody'" in result.stderr or "has ended" in result.stderr


def test_a_beginning_that_several_share_is_refused(run, tmp_path, lid):
    problem = load_problem(lid)
    path = tmp_path / "robot.journal"
    with Journal(path) as opened:
        for name in ("one-1", "one-2"):
            recover("aquamend", Robot(problem), journal=opened, session=name)
    result = run("session", "show", "one", "--journal", str(path))
    assert result.exit_code == 2
    assert "2 sessions begin with 'one': one-1, one-2" in result.stderr


def test_the_journal_may_be_named_by_the_environment(run, journal, monkeypatch):
    monkeypatch.setenv("AQUAMEND_JOURNAL", str(journal))
    assert "doubtful" in run("session", "list").stdout
