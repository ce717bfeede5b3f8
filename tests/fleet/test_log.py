"""Sessions in PostgreSQL: what is kept there is what a journal would have kept, whoever else writes."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from tests.fleet.conftest import ALONE
from tests.recovery.test_journal import HandsOver, in_child, logged
from tests.waiting import PATIENCE_S

from aquamend.adapters.postgres import PostgresLog, database
from aquamend.errors import (
    AquaMendError,
    BadArgument,
    BadJournal,
    ForeignSession,
    HeldSession,
    UnknownName,
    Unreachable,
    UsedName,
)
from aquamend.recovery import (
    Ending,
    Instant,
    Journal,
    MemoryLog,
    Recovery,
    Rules,
    Session,
    SharedLog,
    Status,
    approve,
    recover,
)
from aquamend.recovery.events import Alarmed, Cancelled, Resumed
from aquamend.testing import Fails, FakeRobot

AT = 1_700_000_000.0


def robot(state):
    return FakeRobot(state, truth="more", failures=[Fails("undo: grasp", times=1)])


def alarmed(state):
    return Alarmed(state, "best", Rules(), Instant(AT, 1.0, "boot"))


def driven(log, state, session="s"):
    """Recover at times that are always the same."""
    now, hands = Session.begin(state, "best", log=log, name=session, rules=ALONE, at=AT), robot(state)
    step = 0
    while now.request.kind != "end":
        step += 1
        request = now.request
        call = hands.measure if request.kind == "measure" else hands.perform
        now.reply(call(request.act), at=AT + step)
    return now.recovery


def test_it_keeps_what_a_journal_keeps(fleet, state, tmp_path):
    logs = [MemoryLog(), Journal(tmp_path / "a.journal"), fleet()]
    assert isinstance(logs[2], SharedLog)
    assert len({repr(driven(log, state)) for log in logs}) == 1
    assert logged(logs[0], "s") == logged(logs[1], "s") == logged(logs[2], "s")
    assert logs[1].sessions() == logs[2].sessions()
    again = Recovery.of([entry.event for entry in fleet().read("s")], "s")
    assert again.state.posterior.tobytes() == driven(MemoryLog(), state).state.posterior.tobytes()


def test_reading_may_begin_behind_any_event_and_goes_on_over_many_pages(fleet, state, monkeypatch):
    log = fleet()
    driven(log, state)
    every = logged(log, "s")
    monkeypatch.setattr("aquamend.adapters.postgres.fleet_log.READ_AT_ONCE", 3)
    for after in range(len(every) + 2):
        assert [number for number, _ in logged_after(log, after)] == [number for number, _ in every[after:]]


def logged_after(log, after):
    return [(entry.number, entry) for entry in log.read("s", after)]


def test_of_two_writers_who_have_read_so_far_one_is_refused(fleet, state):
    one = fleet()
    one.append("s", 0, [alarmed(state)])
    one.append("s", 1, [Resumed("here")])
    with pytest.raises(ForeignSession):
        one.append("s", 1, [Resumed("there")])
    with pytest.raises(UsedName, match="running, with 2 events"):
        fleet().append("s", 0, [alarmed(state)])
    assert len(logged(one, "s")) == 2


def test_events_are_added_all_or_none(fleet, state):
    log = fleet()
    log.append("s", 0, [alarmed(state)])
    with pytest.raises(AquaMendError, match="a second one needs a session of its own"):
        log.append("s", 1, [Resumed("here"), alarmed(state)])
    with pytest.raises(AquaMendError, match="begins with its alarm"):
        log.append("t", 0, [Resumed("here")])
    with pytest.raises(AquaMendError, match="named in one line"):
        log.append("a\nb", 0, [alarmed(state)])
    assert [line.name for line in log.sessions()] == ["s"]
    assert len(logged(log, "s")) == 1


@pytest.mark.parametrize("name", ["none", "no\0ne", "n\ud800ne"])
def test_a_session_that_is_not_there_is_named_with_those_that_are(fleet, state, name):
    log = fleet()
    log.append("some", 0, [alarmed(state)])
    with pytest.raises(UnknownName, match=r"valid names: 'some'"):
        log.read(name)
    with pytest.raises(UnknownName):
        log.append(name, 3, [Resumed("me")])
    with pytest.raises(UnknownName):
        log.delete([name])


def test_names_that_no_text_of_the_database_can_hold_are_kept_with_a_mark(fleet, state):
    odd = replace(alarmed(state), policy="be\0st \ud800")
    fleet().append("s", 0, [odd])
    (line,) = fleet().sessions()
    assert line.policy == "be\N{REPLACEMENT CHARACTER}st ?"
    (entry,) = fleet().read("s")
    assert entry.event.policy == odd.policy


def test_deleting_takes_what_has_ended_with_its_events_and_a_problem_that_nobody_needs(fleet, state, server):
    log = fleet()
    driven(log, state, "over")
    log.append("runs", 0, [alarmed(state)])
    with pytest.raises(AquaMendError, match="'runs' has not ended"):
        log.delete(["over", "runs"])
    log.delete(["over"])
    assert [line.name for line in log.sessions()] == ["runs"]
    assert server.ask("SELECT count(*) FROM aquamend.problems") == [(1,)]
    log.delete(["runs"], force=True)
    counts = [server.ask(f"SELECT count(*) FROM aquamend.{name}")[0][0] for name in ("problems", "events", "leases")]
    assert counts == [0, 0, 0]


def test_what_is_not_what_was_written_is_damage(fleet, state, server):
    log = fleet()
    driven(log, state)
    server.ask("UPDATE aquamend.problems SET data = replace(data, 'grasp', 'clasp')")
    with pytest.raises(BadJournal, match="is not what was written"):
        list(fleet().read("s"))
    server.ask("DELETE FROM aquamend.events WHERE number = 3")
    with pytest.raises(BadJournal, match="has not all of its events"):
        list(log.read("s"))


def test_many_threads_may_use_one_log(fleet, state):
    log = fleet()

    def work(number):
        return recover("best", robot(state), journal=log, session=f"s{number}", rules=ALONE).ending

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [Ending.FINISHED] * 4
    assert [(line.status, line.events) for line in log.sessions()] == [(Status.FINISHED, len(logged(log, "s0")))] * 4


def test_a_log_may_be_used_on_both_sides_of_a_fork(fleet, state):
    log = fleet()
    log.append("here", 0, [alarmed(state)])

    def child():
        log.append("there", 0, [alarmed(state)])
        try:
            log.append("here", 1, [Cancelled("by the child")])
        except HeldSession:
            return 0  # what the parent conducts the child must not
        return 1

    assert in_child(child) == 0
    log.append("here", 1, [Cancelled("by the parent")])
    assert [line.name for line in log.sessions()] == ["here", "there"]


# The command line.


def test_the_commands_of_sessions_take_an_address(run, fleet, state, address, tmp_path):
    log = fleet()
    recover("best", robot(state), journal=log, session="over", rules=ALONE)
    recover(HandsOver(), robot(state), journal=log, session="waits", wait_s=0)

    def said(*arguments):
        result = run("session", *arguments, "--journal", address)
        assert (result.exit_code, result.stderr) == (0, ""), arguments
        return result.stdout

    assert "handing over" in said("show", "waits")
    token = Recovery.of([entry.event for entry in log.read("waits")]).asked.token
    assert "allowed" in said("approve", "waits", "--token", token, "--by", "Ada")
    assert said("list").split("\n")[1].startswith("over")
    assert "done" in said("watch", "over")
    assert said("export", "over").count("\n") == len(logged(log, "over"))
    said("instead", "over", "--policy", "restart")
    assert "written" in said("export", "over", "--mcap", str(tmp_path / "over.mcap"))
    assert said("delete", "over") == "deleted: over\n"
    refused = run("session", "list", "--journal", address.replace("s3cret", "guess"))
    assert (refused.exit_code, "guess" in refused.stderr) == (2, False)
    assert "password authentication failed" in refused.stderr


# The tables.


def test_two_programs_may_make_the_tables_at_once(address):
    barrier = threading.Barrier(4)

    def make(_):
        barrier.wait(PATIENCE_S)
        with PostgresLog(address) as log:
            return log.sessions()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(make, range(4))) == [[]] * 4


def test_a_later_version_brings_the_tables_up_to_date_and_keeps_the_sessions(fleet, state, server, monkeypatch):
    driven(fleet(), state)
    before = logged(fleet(), "s")
    later = (*database.MIGRATIONS, "ALTER TABLE aquamend.sessions ADD COLUMN robot text NOT NULL DEFAULT ''")
    monkeypatch.setattr(database, "MIGRATIONS", later)
    with pytest.raises(BadJournal, match=r"has version 1, and this program reads 2; open it to write once"):
        fleet(read_only=True)
    assert logged(fleet(), "s") == before
    assert server.ask("SELECT version, robot FROM aquamend.version, aquamend.sessions") == [(2, "")]
    monkeypatch.setattr(database, "MIGRATIONS", later[:1])
    with pytest.raises(BadJournal, match=r"has version 2, and this program knows 1; update aquamend"):
        fleet()
    assert server.ask("SELECT version FROM aquamend.version") == [(2,)]


def test_a_step_to_the_next_version_that_fails_leaves_everything_as_it_was(fleet, state, server, monkeypatch):
    driven(fleet(), state)
    broken = (*database.MIGRATIONS, "CREATE TABLE aquamend.half (one text); SELECT nothing FROM nowhere")
    monkeypatch.setattr(database, "MIGRATIONS", broken)
    with pytest.raises(Unreachable, match="nowhere"):
        fleet()
    assert server.ask("SELECT version, to_regclass('aquamend.half') FROM aquamend.version") == [(1, None)]


def test_opening_makes_nothing(address, server):
    with pytest.raises(BadJournal, match="holds no sessions"):
        PostgresLog.open(address)
    assert server.ask("SELECT to_regnamespace('aquamend')") == [(None,)]


def test_a_log_that_is_only_read_changes_nothing(fleet, state):
    driven(fleet(), state)
    log = PostgresLog.open(fleet().place.replace("@", ":s3cret-of-the-fleet@"), read_only=True)
    assert len(log.sessions()) == 1
    for change in (lambda: log.append("s", 1, [Resumed("me")]), lambda: log.delete(["s"])):
        with pytest.raises(BadJournal, match="was opened to read only"):
            change()
    log.close()
    with pytest.raises(BadJournal, match="is closed"):
        log.sessions()


# What is wrong, in words.


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("s3cret", "guess"), "refuses .*password authentication failed"),
        (("/postgres", "/nowhere"), 'refuses .*database "nowhere" does not exist'),
        (("fleet:", "nobody:"), "refuses"),
        (("127.0.0.1:", "127.0.0.1:1"), "does not answer|is no address"),
        (("postgresql://", "s3cret postgresql://"), "is no address of a database"),
    ],
)
def test_an_address_that_is_wrong_is_reported_at_once_and_never_with_its_password(address, change, said):
    with pytest.raises((Unreachable, BadJournal), match=said) as caught:
        PostgresLog(address.replace(*change))
    shown = f"{caught.value} {caught.value.__cause__} {caught.value.__context__ and caught.value.__suppress_context__}"
    assert "cret" not in shown
    assert "guess" not in shown


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_lease_is_some_seconds(address, seconds):
    with pytest.raises(BadArgument, match="lease_s is"):
        PostgresLog(address, lease_s=seconds)


def test_what_is_acknowledged_is_on_disk_whatever_the_server_does_for_others(server, fleet, state):
    server.ask("ALTER SYSTEM SET synchronous_commit = off")
    server.ask("SELECT pg_reload_conf()")
    try:
        log = fleet()
        assert log._query("SHOW synchronous_commit") == [("on",)]
    finally:
        server.ask("ALTER SYSTEM RESET synchronous_commit")
        server.ask("SELECT pg_reload_conf()")


def test_a_server_that_promises_nothing_is_refused(server, address):
    server.ask("ALTER SYSTEM SET fsync = off")
    server.ask("SELECT pg_reload_conf()")
    try:
        while server.ask("SHOW fsync") == [("on",)]:
            pass
        with pytest.raises(BadJournal, match="runs with fsync = off"):
            PostgresLog(address)
    finally:
        server.ask("ALTER SYSTEM RESET fsync")
        server.ask("SELECT pg_reload_conf()")


def test_the_server_is_the_tests_own(server):
    assert server.ask("SHOW listen_addresses") == [("127.0.0.1",)]
    if os.geteuid() == 0:
        assert os.stat(server.data).st_uid != 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.address.replace("s3cret", "guess"))


def test_somebody_answers_from_another_program(fleet, state):
    here, there = fleet(), fleet()
    session = Session.begin(state, HandsOver(), log=here, name="s")
    token = session.request.token
    approve(there, "s", token=token, by="Ada")
    assert session.tick().kind == "perform"
    with pytest.raises(AquaMendError, match="nobody was asked"):
        approve(there, "s", token=token, by="Bob")
