"""The journal on disk: what was written is there, whoever else writes; damage is noticed, and never made worse."""

import math
import os
import random
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
import warnings
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

from aquamend import Escalate, InformationState, load_problem
from aquamend.errors import AquaMendError, BadJournal, ForeignSession, UnknownName, UsedName
from aquamend.problem import Redeclared
from aquamend.recovery import (
    UNATTENDED,
    Instant,
    Journal,
    MemoryLog,
    Recovery,
    Rules,
    Status,
    approve,
    recover,
    resume,
)
from aquamend.recovery.events import Alarmed, Resumed
from aquamend.recovery.plain import event_to_data
from aquamend.recovery.seals import beside

EXAMPLES = Path(__file__).parents[2] / "examples"
NOBODY = 65534


class Robot:
    """A robot that finds what its seed says, and does what it is told."""

    def __init__(self, state, seed=0, *, fails=(), raises=None):
        self.state, self.rng, self.fails, self.raises = state, np.random.default_rng(seed), fails, raises
        self.truth = int(self.rng.choice(len(state.posterior), p=state.posterior))

    def alarm(self):
        return self.state

    def measure(self, step):
        channel = self.state.problem.model.channels[step.probe]
        return step.done(channel.sample(self.truth, self.rng))

    def perform(self, act):
        if self.raises:
            raise self.raises
        return act.failed("slipped") if act.kind in self.fails else act.done()


class Sure(Robot):
    """One that keeps its last receipt, and can say what became of an act."""

    last = None

    def measure(self, step):
        self.last = super().measure(step)
        return self.last

    def perform(self, act):
        self.last = super().perform(act)
        return self.last

    def verify(self, act):
        done = self.last is not None and self.last.what == str(act)
        return self.last if done else act.failed("it was not begun", cost=0.0)


class HandsOver:
    def next_step(self, state):
        return Escalate()


@pytest.fixture(scope="module")
def state():
    return InformationState.alarmed(load_problem(EXAMPLES / "stale_map.yaml"))


@pytest.fixture
def folder():
    """Return a folder in memory where there is one: what is tested here is not the disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


@pytest.fixture
def path(folder):
    return folder / "journal.db"


@pytest.fixture
def written(path, state):
    """Return a closed journal with five sessions."""
    with Journal(path) as journal:
        for seed in range(5):
            recover("aquamend", Robot(state, seed), journal=journal, session=f"s{seed}", rules=UNATTENDED)
    return path


def logged(log, session):
    return [(entry.number, event_to_data(entry.event)) for entry in log.read(session)]


def every_event(path, session, *, read_only):
    with Journal(path, read_only=read_only) as journal:
        return list(journal.read(session))


def forked():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        return os.fork()


def in_child(call, timeout_s=PATIENCE_S):
    """Run a function in a forked child; return its exit status, 9 if it was killed, or fail if it takes too long."""
    child = forked()
    if child == 0:
        status = 70
        try:
            status = call() or 0
        finally:
            os._exit(status)
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child did not end")


def test_what_was_written_is_read_by_whoever_comes_next(path, state):
    with Journal(path) as journal:
        now = recover("aquamend", Robot(state, 1), journal=journal, session="s", rules=UNATTENDED)
        here = logged(journal, "s")
    with Journal.open(path, read_only=True) as journal:
        assert logged(journal, "s") == here
        again = Recovery.of([entry.event for entry in journal.read("s")], "s")
    assert again.decided_at.posterior.tobytes() == now.decided_at.posterior.tobytes()
    assert again.receipts == now.receipts
    assert again.ending == now.ending


def test_a_journal_tells_what_a_log_in_memory_tells(path, state):
    def untimed(logged):
        untimely = {"began": 0, "receipt": {"start_s": 0, "end_s": 0}}
        return [
            (
                n,
                {
                    key: {**one, **untimely[key]} if key == "receipt" else untimely.get(key, one)
                    for key, one in d.items()
                },
            )
            for n, d in logged
        ]

    memory = MemoryLog()
    with Journal(path) as journal:
        for log in (memory, journal):
            recover("aquamend", Robot(state, 3), journal=log, session="s", rules=UNATTENDED)
        assert untimed(logged(journal, "s")) == untimed(logged(memory, "s"))


def test_reading_may_begin_behind_any_event(written):
    with Journal.open(written, read_only=True) as journal:
        every = logged(journal, "s1")
        for after in range(len(every) + 2):
            assert [(e.number, event_to_data(e.event)) for e in journal.read("s1", after)] == every[after:]


def test_a_session_that_is_not_there_is_named_with_those_that_are(written):
    with Journal.open(written) as journal:
        with pytest.raises(UnknownName, match=r"unknown session 'none'.*'s4'"):
            journal.read("none")
        with pytest.raises(UnknownName):
            journal.append("none", 3, [Resumed("me")])


def test_of_two_writers_who_have_read_so_far_one_is_refused(path, state):
    with Journal(path) as one, Journal(path) as two:
        one.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        two.append("s", 1, [Resumed("two")])
        with pytest.raises(ForeignSession):
            one.append("s", 1, [Resumed("one")])
        with pytest.raises(UsedName, match="there is already a session 's'"):
            one.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        assert [entry.event for entry in one.read("s", 1)] == [Resumed("two")]


def test_events_are_added_all_or_none(path, state):
    with Journal(path) as journal:
        journal.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        with pytest.raises(AquaMendError):
            journal.append("s", 1, [Resumed("me"), Alarmed(state, "aquamend", Rules(), Instant.now())])
        with pytest.raises(AquaMendError):
            journal.append("s", 1, [Resumed("me"), "nonsense"])
        journal.append("s", 1, [])
        assert len(list(journal.read("s"))) == 1
        assert journal.sessions()[0].events == 1


def test_a_session_begins_with_its_alarm_and_has_a_name_in_one_line(path, state):
    with Journal(path) as journal:
        with pytest.raises(AquaMendError, match="begins with its alarm"):
            journal.append("s", 0, [Resumed("me")])
        for name in ("", "two\nlines", "x" * 201, "half \ud800"):
            with pytest.raises(AquaMendError, match="named in one line"):
                journal.append(name, 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        assert journal.sessions() == []


def test_a_problem_is_kept_once_for_many_sessions(written):
    with closing(sqlite3.connect(written)) as connection:
        assert connection.execute("SELECT count(*) FROM problems").fetchone() == (1,)
        assert connection.execute("SELECT count(DISTINCT problem) FROM sessions").fetchone() == (1,)


def test_what_was_declared_anew_before_the_alarm_is_kept_with_the_session(path, cup_state):
    plain = cup_state()
    new = {"level": Redeclared(45.0, ("weigh",), 2)}
    later = replace(plain, problem=replace(plain.problem, redeclared=new))
    with Journal(path) as journal:
        for name, state in (("before", plain), ("after", later)):
            journal.append(name, 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        (before,), (after,) = journal.read("before"), journal.read("after")
    assert before.event.state.problem.redeclared == {}
    assert after.event.state.problem.redeclared["level"].value == 45.0


class TestListing:
    def test_every_session_is_there_in_short(self, written):
        with Journal.open(written, read_only=True) as journal:
            lines = journal.sessions()
            for line in lines:
                now = Recovery.of([entry.event for entry in journal.read(line.name)])
                assert math.isclose(line.cost, now.cost, abs_tol=1e-9)
                assert line.status == now.ending
                assert line.events == len(list(journal.read(line.name)))
        assert [line.name for line in lines] == [f"s{i}" for i in range(5)]
        assert lines[0].problem == load_problem(EXAMPLES / "stale_map.yaml").name
        assert lines[0].policy == "aquamend"
        assert lines[0].started <= lines[0].updated <= time.time()

    def test_it_tells_how_each_session_stands(self, path, state):
        asking = Rules(ask_before_handing_over=True)
        with Journal(path) as journal:
            robot = Robot(state)
            recover(HandsOver(), robot, journal=journal, session="waits", rules=asking, wait_s=0)
            for name, granted in (("granted", True), ("refused", False)):
                waits = recover(HandsOver(), robot, journal=journal, session=name, rules=asking, wait_s=0)
                approve(journal, name, token=waits.asked.token, granted=granted, by="Ada")
                resume(journal, name, robot, policy=HandsOver())
            with suppress(KeyboardInterrupt):
                interrupted = Robot(state, raises=KeyboardInterrupt())
                recover(HandsOver(), interrupted, journal=journal, session="begun", rules=UNATTENDED)
            journal.append("new", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            found = {line.name: line.status for line in journal.sessions()}
        assert found == {
            "waits": Status.WAITING,
            "granted": Status.HANDED_OVER,
            "refused": Status.STOPPED,
            "begun": Status.IN_DOUBT,
            "new": Status.RUNNING,
        }

    def test_infinite_costs_are_listed(self, path, state):
        problem = replace(state.problem, escalate=None)
        nobody = replace(state, problem=problem)
        with Journal(path) as journal:
            recover(HandsOver(), Robot(nobody), journal=journal, session="s", rules=UNATTENDED)
            assert journal.sessions()[0].cost == math.inf


class TestSeveralAtOnce:
    def test_threads_share_a_journal(self, path, state):
        with Journal(path) as journal:
            failures = []

            def work(who):
                try:
                    for i in range(4):
                        recover("aquamend", Robot(state, i), journal=journal, session=f"{who}-{i}", rules=UNATTENDED)
                except Exception as error:  # noqa: BLE001 - told below
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert failures == []
            assert {line.status for line in journal.sessions()} == {Status.FINISHED}
            assert len(journal.sessions()) == 24

    def test_processes_share_a_journal_opened_before_they_were_forked(self, path, state):
        with Journal(path) as journal:
            children = []
            for who in range(4):
                child = forked()
                if child == 0:
                    status = 70
                    try:
                        for i in range(4):
                            recover(
                                "aquamend", Robot(state, i), journal=journal, session=f"{who}-{i}", rules=UNATTENDED
                            )
                        status = 0
                    finally:
                        os._exit(status)
                children.append(child)
            assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
            lines = journal.sessions()
            assert len(lines) == 16
            assert {line.status for line in lines} == {Status.FINISHED}
            for line in lines:
                assert len(list(journal.read(line.name))) == line.events

    def test_a_reader_sees_what_a_writer_has_just_written(self, path, state):
        with Journal(path) as writer, Journal.open(path, read_only=True) as reader:
            writer.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            for i in range(1, 5):
                writer.append("s", i, [Resumed(str(i))])
                assert len(list(reader.read("s"))) == i + 1

    def test_many_sessions_take_turns_in_one_process(self, path, state):
        with Journal(path) as journal:
            for i in range(100):
                journal.append(f"s{i}", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            for turn in range(1, 4):
                for i in range(100):
                    journal.append(f"s{i}", turn, [Resumed(str(turn))])
            assert [line.events for line in journal.sessions()] == [4] * 100

    def test_a_person_answers_from_another_process(self, path, state):
        rules = Rules(ask_before_handing_over=True)

        def answer():
            with Journal.open(path) as journal:
                end = time.monotonic() + PATIENCE_S
                while time.monotonic() < end:
                    if [line.status for line in journal.sessions()] == [Status.WAITING]:
                        asked = Recovery.of([entry.event for entry in journal.read("s")]).asked
                        approve(journal, "s", token=asked.token, by="Ada")
                        return 0
                    time.sleep(0.01)
            return 1

        Journal(path).close()
        found = []
        thread = threading.Thread(target=lambda: found.append(in_child(answer)))
        thread.start()
        with Journal(path) as journal:
            now = recover(HandsOver(), Robot(state), journal=journal, session="s", rules=rules, wait_s=20)
        thread.join(30)
        assert found == [0]
        assert now.ending == "handed over"


def other_program(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE sessions (a); INSERT INTO sessions VALUES (1)")


def newer(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99; PRAGMA journal_mode = WAL")


def without_tables(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE events; DROP TABLE sessions; VACUUM")


SPOILT = {
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "text": (lambda path: path.write_text("a shopping list\n" * 500), "is no SQLite file"),
    "short text": (lambda path: path.write_text("milk"), "is no SQLite file"),
    "random": (lambda path: path.write_bytes(random.Random(1).randbytes(20_000)), "is no SQLite file"),
    "header alone": (lambda path: path.write_bytes(path.read_bytes()[:100]), "is damaged"),
    "cut in a page": (lambda path: path.write_bytes(path.read_bytes()[:-1000]), "is damaged"),
    "cut in half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 8192 * 4096]), "damaged"),
    "other program": (lambda path: (path.unlink(), other_program(path)), "another program"),
    "newer": (newer, "has version 99"),
    "without tables": (without_tables, "is damaged"),
}


class TestBadFiles:
    @pytest.mark.parametrize("read_only", [True, False], ids=["reading", "writing"])
    @pytest.mark.parametrize("kind", SPOILT)
    def test_a_file_that_is_no_sound_journal_is_refused_and_left_as_it_is(self, written, kind, read_only):
        spoil, words = SPOILT[kind]
        spoil(written)
        before = written.read_bytes()
        with pytest.raises(BadJournal, match=words) as caught:
            Journal(written, read_only=read_only)
        assert written.read_bytes() == before
        assert caught.value.path == written
        assert caught.value.remedy
        assert sorted(os.listdir(written.parent)) == [written.name, f"{written.name}-seals"]

    def test_a_missing_file_is_not_made_by_opening_it(self, path):
        for opened in (lambda: Journal.open(path), lambda: Journal(path, read_only=True)):
            with pytest.raises(BadJournal, match="no such file"):
                opened()
        assert not path.exists()

    def test_a_folder_is_no_journal_and_a_missing_one_is_named(self, folder):
        with pytest.raises(BadJournal, match="is no file"):
            Journal(folder)
        with pytest.raises(BadJournal, match="its folder does not exist"):
            Journal(folder / "none" / "journal.db")

    @pytest.mark.parametrize(
        "edit",
        [
            "UPDATE events SET data = replace(data, '0.', '1.') WHERE session = 2 AND number = 2",
            "UPDATE events SET time = time + 1 WHERE session = 2 AND number = 3",
            "UPDATE events SET time = 'then' WHERE session = 2 AND number = 3",
            "UPDATE events SET data = x'ff00' WHERE session = 2 AND number = 3",
            "UPDATE events SET data = CAST(x'ff00' AS TEXT) WHERE session = 2 AND number = 3",
            "UPDATE events SET seal = '' WHERE session = 2 AND number = 1",
            "DELETE FROM events WHERE session = 2 AND number = 2",
            "DELETE FROM events WHERE session = 2 AND number = (SELECT max(number) FROM events WHERE session = 2)",
            "DELETE FROM events WHERE session = 2",
            "UPDATE events SET session = -session WHERE session IN (1, 2);"
            "UPDATE events SET session = 3 + session WHERE session < 0",
            "UPDATE sessions SET events = events - 1 WHERE id = 2",
            "UPDATE sessions SET events = events + 1 WHERE id = 2",
            "UPDATE sessions SET seal = 'none' WHERE id = 2",
            "UPDATE sessions SET status = 'well' WHERE id = 2",
            "UPDATE sessions SET events = 'many' WHERE id = 2",
            "UPDATE sessions SET cost = cost / 2 WHERE id = 2",
            "UPDATE sessions SET started = started - 60 WHERE id = 2",
            "UPDATE sessions SET updated = updated + 60 WHERE id = 4",
            "UPDATE sessions SET policy = 'restart', problem_name = 'another' WHERE id = 4",
            "UPDATE sessions SET name = 's9' WHERE id = 2",
            "DELETE FROM events WHERE session = 2; DELETE FROM sessions WHERE id = 2",
            "DELETE FROM mark",
            "UPDATE mark SET mark = zeroblob(length(mark))",
            "UPDATE problems SET data = replace(data, '1', '2')",
            "DELETE FROM problems",
        ],
    )
    def test_what_was_changed_by_hand_is_noticed(self, written, edit, state):
        with closing(sqlite3.connect(written)) as connection:
            connection.executescript(edit)
        before = written.read_bytes()
        for read_only in (True, False):
            with pytest.raises(BadJournal, match="is damaged"):
                every_event(written, "s1", read_only=read_only)
        with pytest.raises(BadJournal, match="is damaged"), Journal(written) as journal:
            resume(journal, "s1", Robot(state))
        assert written.read_bytes() == before

    def test_other_sessions_of_a_journal_that_was_changed_can_still_be_read(self, written):
        with closing(sqlite3.connect(written)) as connection:
            connection.executescript("UPDATE events SET data = '{}' WHERE session = 2")
        with Journal.open(written) as journal:
            assert list(journal.read("s0"))
            with pytest.raises(BadJournal, match="event 1 of session 's1' is not what was written"):
                list(journal.read("s1"))

    @pytest.mark.parametrize("seed", range(25))
    def test_damage_anywhere_gives_the_truth_or_an_error_and_changes_nothing(self, written, seed):
        with Journal.open(written, read_only=True) as journal:
            truth = {line.name: logged(journal, line.name) for line in journal.sessions()}
        rng, data = random.Random(seed), bytearray(written.read_bytes())
        if seed % 3 == 0:  # a whole page
            at = 4096 * rng.randrange(len(data) // 4096)
            data[at : at + 4096] = bytes(4096) if seed % 2 else rng.randbytes(4096)
        else:
            for _ in range(rng.choice([1, 5, 50])):
                data[rng.randrange(len(data))] = rng.randrange(256)
        written.write_bytes(data)
        for read_only in (True, False):
            with suppress(AquaMendError), Journal(written, read_only=read_only) as journal:
                for name, events in truth.items():
                    with suppress(AquaMendError):
                        assert logged(journal, name) == events
                journal.sessions()
        assert written.read_bytes() == data

    def test_a_journal_locked_for_too_long_says_so(self, written, state):
        with closing(sqlite3.connect(written, isolation_level=None)) as other, Journal(written, timeout_s=0.1) as mine:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BadJournal, match="is locked by somebody else"):
                mine.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            assert len(mine.sessions()) == 5
            other.execute("ROLLBACK")
            mine.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])

    def test_a_journal_that_was_moved_away_is_not_written_to(self, written, state):
        with Journal.open(written) as journal:
            written.rename(written.with_name("elsewhere.db"))
            with pytest.raises(BadJournal, match="was moved or removed"):
                journal.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])

    def test_a_closed_journal_says_so_and_one_to_read_is_not_written(self, written):
        journal = Journal.open(written)
        journal.close()
        journal.close()
        with pytest.raises(BadJournal, match="is closed"):
            journal.sessions()
        reader = Journal.open(written, read_only=True)
        with pytest.raises(BadJournal, match="to read only"):
            reader.append("s0", 1, [Resumed("me")])
        reader.close()
        with pytest.raises(BadJournal, match="is closed"):
            reader.sessions()

    def test_a_path_may_have_any_letters(self, folder, state):
        path = folder / "wie geht's? 100% #1 ü&mode=ro.db"
        with Journal(path) as journal:
            journal.append("s", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
        assert sorted(os.listdir(folder)) == [path.name, f"{path.name}-seals"]

    def test_a_new_journal_has_the_permissions_that_the_umask_leaves(self, folder):
        before = os.umask(0o077)
        try:
            Journal(folder / "private.db").close()
        finally:
            os.umask(before)
        for file in folder.iterdir():
            assert file.stat().st_mode & 0o777 == 0o600


class TestPermissions:
    """Of root nothing is kept: such tests run as nobody."""

    @pytest.fixture(autouse=True)
    def _open_folder(self, folder):
        folder.chmod(0o755)
        yield
        folder.chmod(0o755)

    @staticmethod
    def as_nobody(call):
        def unprivileged():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            return call()

        return in_child(unprivileged)

    @staticmethod
    def reads(path, sessions):
        def call():
            with Journal.open(path, read_only=True) as journal:
                lines = journal.sessions()
                return 0 if [len(list(journal.read(line.name))) == line.events for line in lines] == sessions else 1

        return call

    @staticmethod
    def refused(path, words):
        def call():
            try:
                Journal(path)
            except BadJournal as error:
                return 0 if words in str(error) else 1
            return 2

        return call

    def test_a_journal_that_may_not_be_written_can_be_read(self, written):
        written.chmod(0o444)
        written.parent.chmod(0o555)
        before = written.read_bytes()
        assert self.as_nobody(self.reads(written, [True] * 5)) == 0
        assert self.as_nobody(self.refused(written, "may not be written")) == 0
        assert written.read_bytes() == before
        assert sorted(os.listdir(written.parent)) == [written.name, f"{written.name}-seals"]

    def test_so_can_one_whose_writer_was_killed(self, written, state):
        def die():
            journal = Journal.open(written)
            journal.append("last", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(die) == signal.SIGKILL
        assert len(os.listdir(written.parent)) == 4
        for file in written.parent.iterdir():
            file.chmod(0o444)
        written.parent.chmod(0o555)
        assert self.as_nobody(self.reads(written, [True] * 6)) == 0
        written.parent.chmod(0o755)
        written.with_name(f"{written.name}-shm").unlink()  # as in a copy made after the crash
        written.parent.chmod(0o555)
        before = written.read_bytes()
        assert self.as_nobody(self.reads(written, [True] * 6)) == 0
        assert written.read_bytes() == before

    def test_so_can_one_that_somebody_else_is_writing(self, written, state):
        with Journal.open(written) as journal:
            journal.append("now", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
            for file in written.parent.iterdir():
                file.chmod(0o644)
            written.parent.chmod(0o755)
            assert self.as_nobody(self.reads(written, [True] * 6)) == 0

    def test_a_folder_or_file_that_may_not_be_used_is_named(self, written):
        written.parent.chmod(0o555)
        assert self.as_nobody(self.refused(written.with_name("new.db"), "Permission denied")) == 0
        assert self.as_nobody(self.refused(written, "may not be written")) == 0
        beside(written).chmod(0o000)
        assert self.as_nobody(self.refused(written, f"{beside(written).name} may not be read")) == 0
        written.chmod(0o000)
        assert self.as_nobody(self.refused(written, "may not be read")) == 0


class TestFullDisk:
    def test_a_full_disk_is_reported_and_the_session_goes_on_when_there_is_room(self, path, state):
        robot, log = Sure(state, 2), MemoryLog()
        whole = recover("aquamend", Robot(state, 2), journal=log, session="s", rules=UNATTENDED)
        with Journal(path) as journal:
            journal.append("s", 0, [Alarmed(state, "aquamend", UNATTENDED, Instant.now())])
            pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
            journal._connection.execute(f"PRAGMA max_page_count = {pages}")
            with pytest.raises(BadJournal, match="the disk is full"):
                resume(journal, "s", robot)
            events = [entry.event for entry in journal.read("s")]
            assert journal.sessions()[0].events == len(events)
            Recovery.of(events)
            journal._connection.execute("PRAGMA max_page_count = 1000000")
            now = resume(journal, "s", robot)
        assert now.ending == "finished"
        assert now.decided_at.posterior.tobytes() == whole.decided_at.posterior.tobytes()

    def test_so_is_a_limit_of_the_file_size(self, path, state):
        resource = pytest.importorskip("resource")

        def fill():
            journal, logged = Journal(path), 0
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            try:
                for i in range(10_000):
                    journal.append(f"s{i}", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])
                    logged += 1
            except BadJournal as error:
                if len(journal.sessions()) != logged or "disk" not in str(error):
                    return 2
                Path(f"{path}.events").write_text(str(logged))
                return 0
            return 1

        assert in_child(fill) == 0
        kept = int(Path(f"{path}.events").read_text())
        with Journal.open(path) as journal:
            assert len(journal.sessions()) == kept > 3
            assert all(len(list(journal.read(f"s{i}"))) == 1 for i in range(kept))
            journal.append("more", 0, [Alarmed(state, "aquamend", Rules(), Instant.now())])

    def test_a_new_journal_is_there_whole_or_not_at_all(self, path):
        resource = pytest.importorskip("resource")

        def create():
            resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))
            try:
                Journal(path)
            except BadJournal:
                return 0
            return 1

        assert in_child(create) == 0
        assert os.listdir(path.parent) == []


def test_a_copy_of_both_files_made_after_closing_is_a_whole_journal(written, folder):
    copy = folder / "copy.db"
    shutil.copyfile(written, copy)
    shutil.copyfile(beside(written), beside(copy))
    with Journal.open(copy) as journal:
        assert len(journal.sessions()) == 5
