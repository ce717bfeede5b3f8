"""The seals beside a journal: what a crash leaves is sound, what is lost is noticed, and nobody's temporary stays."""

import os
import shutil
import signal
import tempfile
import time
import warnings
from pathlib import Path

import pytest
from tests.tiers import cases
from tests.waiting import PATIENCE_S

from aquamend import InformationState, load_problem
from aquamend.errors import AquaMendError, BadJournal, ForeignSession, UnknownName, UsedName
from aquamend.recovery import Instant, Journal, MemoryLog, Rules, Status, followed, journal_file, seals
from aquamend.recovery.events import Alarmed, Ended, Ending, Resumed
from aquamend.recovery.seals import Mark, beside

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def alarmed():
    return Alarmed(
        InformationState.alarmed(load_problem(EXAMPLES / "stale_map.yaml")),
        "aquamend",
        Rules(),
        Instant(1e9, 5.0, "boot"),
    )


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
def written(path, alarmed):
    """Return a closed journal with a session that has ended and one that has not."""
    with Journal(path) as journal:
        journal.append("over", 0, [alarmed, Ended(Ending.STOPPED, "enough")])
        journal.append("open", 0, [alarmed])
        journal.append("open", 1, [Resumed("me")])
    return path


def killed_in(call):
    """Run a function in a child; return whether it was killed, or else its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        child = os.fork()
    if child == 0:
        status = 70
        try:
            call()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status)


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def copied(path, folder):
    """Copy every file of a journal."""
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copyfile(file, folder / file.name)
    return folder / path.name


class TestCrashes:
    def test_an_event_written_but_not_acknowledged_is_there_and_the_journal_sound(self, written, monkeypatch):
        def append():
            monkeypatch.setattr(seals, "keep", die)
            Journal.open(written).append("open", 2, [Resumed("unheard")])

        assert killed_in(append) is True
        acknowledged = seals.last(written)
        assert acknowledged.changes == 3
        with Journal.open(written, read_only=True) as journal:
            assert [entry.number for entry in journal.read("open")] == [1, 2, 3]
        with Journal.open(written) as journal:
            journal.append("open", 3, [Resumed("me")])
        assert seals.last(written).changes == 5

    def test_a_crash_while_seals_are_written_leaves_the_ones_before(self, written, monkeypatch):
        def append():
            real = os.pwrite
            monkeypatch.setattr(os, "pwrite", lambda handle, data, at: (real(handle, data[:50], at), die()))
            Journal.open(written).append("open", 2, [Resumed("unheard")])

        assert killed_in(append) is True
        assert seals.last(written).changes == 3
        with Journal.open(written) as journal:
            assert len(list(journal.read("open"))) == 3
            for i in range(3, 6):
                journal.append("open", i, [Resumed("me")])
                assert seals.last(written).changes == i + 2

    def test_of_two_who_acknowledge_out_of_turn_the_later_one_stays(self, written):
        mark = seals.last(written)
        later = Mark(mark.journal, mark.changes + 2, 2, 9, bytes(32))
        seals.keep(written, later, timeout_s=1)
        seals.keep(written, Mark(mark.journal, mark.changes + 1, 2, 8, bytes(32)), timeout_s=1)
        assert seals.last(written) == later

    def test_seals_that_cannot_be_written_are_reported_and_the_session_can_go_on(self, written, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        with Journal.open(written) as journal:
            with monkeypatch.context() as patch:
                patch.setattr(os, "pwrite", full)
                with pytest.raises(BadJournal, match="No space left"):
                    journal.append("open", 2, [Resumed("me")])
            found = len(list(journal.read("open")))
            journal.append("open", found, [Resumed("me")])

    def test_seals_locked_for_too_long_are_named(self, written):
        import fcntl

        with open(beside(written), "rb") as other, Journal(written, timeout_s=0.05) as journal:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(BadJournal, match=r"journal\.db-seals is locked"):
                journal.append("open", 2, [Resumed("me")])
            fcntl.flock(other, fcntl.LOCK_UN)
            journal.append("open", 3, [Resumed("me")])


class TestLoss:
    def test_a_log_cut_off_is_noticed_and_left_as_it_is(self, written, folder):
        def more():
            journal = Journal.open(written)
            for i in range(2, 20):
                journal.append("open", i, [Resumed("me")])
            die()

        assert killed_in(more) is True
        log = written.with_name("journal.db-wal")
        os.truncate(log, log.stat().st_size - 1)
        before = log.read_bytes()
        for read_only in (True, False):
            with pytest.raises(BadJournal, match="22 events were acknowledged, and 21 are there"):
                Journal.open(written, read_only=read_only)
        assert log.read_bytes() == before

    def test_missing_seals_are_named_with_what_to_do(self, written):
        beside(written).unlink()
        for read_only in (True, False):
            with pytest.raises(BadJournal, match=r"there is no journal\.db-seals.*put journal\.db-seals back"):
                Journal.open(written, read_only=read_only)
        assert not beside(written).exists()

    def test_seals_without_a_journal_are_named(self, written):
        written.unlink()
        with pytest.raises(BadJournal, match=r"is gone.*remove journal\.db-seals to begin again"):
            Journal(written)
        beside(written).unlink()
        Journal(written).close()

    def test_seals_of_another_journal_are_named(self, written, folder):
        Journal(folder / "other.db").close()
        shutil.copyfile(folder / "other.db-seals", beside(written))
        with pytest.raises(BadJournal, match="belongs to another journal"):
            Journal.open(written)

    def test_a_database_put_back_from_an_older_copy_is_noticed_and_older_seals_do_no_harm(self, written, folder):
        old = copied(written, folder / "old")
        with Journal.open(written) as journal:
            journal.append("open", 2, [Resumed("me")])
        new = copied(written, folder / "new")
        shutil.copyfile(old, written)
        with pytest.raises(BadJournal, match="events were acknowledged"):
            Journal.open(written)
        shutil.copyfile(new, written)
        shutil.copyfile(beside(old), beside(written))
        with Journal.open(written) as journal:
            assert len(list(journal.read("open"))) == 3

    def test_seals_that_are_no_file_are_named(self, written):
        beside(written).unlink()
        beside(written).mkdir()
        with pytest.raises(BadJournal, match=r"journal\.db-seals may not be read \(Is a directory\)"):
            Journal.open(written)

    def test_a_journal_of_the_version_before_is_refused_by_name(self, written):
        import sqlite3

        with sqlite3.connect(written) as connection:
            connection.execute("PRAGMA user_version = 1")
        connection.close()
        with pytest.raises(BadJournal, match=r"has version 1, from before the first release.*begin a new one"):
            Journal.open(written)


class TestCreation:
    CALLS = ("open", "write", "fsync", "link", "close", "unlink")

    def killed_creating(self, path, at, monkeypatch):
        """Make a journal in a child that is killed at its n-th call of the system; return whether it came so far."""
        calls = iter(range(1, 1_000))

        def struck(real):
            def call(*arguments, **options):
                if next(calls) == at:
                    die()
                return real(*arguments, **options)

            return call

        def create():
            for name in self.CALLS:
                monkeypatch.setattr(os, name, struck(getattr(os, name)))
            Journal(path).close()

        return killed_in(create) is True

    @pytest.mark.parametrize("named", [False, True], ids=["unnamed", "named"])
    def test_killed_at_any_call_it_leaves_a_journal_or_nothing(self, folder, alarmed, monkeypatch, named):
        if named:  # as on systems without unnamed files
            monkeypatch.setattr(journal_file, "_put_unnamed", lambda *_: False)
        for at in range(1, 1_000):
            path = folder / str(at) / "j.db"
            path.parent.mkdir()
            if not self.killed_creating(path, at, monkeypatch):
                break
            assert named or {file.name for file in path.parent.iterdir()} <= {"j.db", "j.db-seals"}
            if path.exists():
                with Journal.open(path, read_only=True) as journal:
                    assert journal.sessions() == []
            with Journal(path) as journal:
                journal.append("s", 0, [alarmed])
            assert {file.name for file in path.parent.iterdir()} == {"j.db", "j.db-seals"}
        assert at > 8

    @pytest.mark.parametrize("round_", range(cases(2, 20)))
    def test_many_who_make_the_same_journal_at_once_share_it(self, path, alarmed, round_):
        children = []
        for who in range(6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                status = 70
                try:
                    with Journal(path) as journal:
                        journal.append(f"s{who}", 0, [alarmed])
                        journal.append(f"s{who}", 1, [Resumed("me")])
                        status = 0 if len(list(journal.read(f"s{who}"))) == 2 else 1
                finally:
                    os._exit(status)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
        assert sorted(os.listdir(path.parent)) == ["journal.db", "journal.db-seals"]
        with Journal.open(path, read_only=True) as journal:
            assert [line.events for line in journal.sessions()] == [2] * 6
        assert seals.last(path).changes == 12


class TestDeleting:
    def test_what_has_ended_is_deleted_and_its_name_is_free(self, written, alarmed):
        with Journal.open(written) as journal:
            with pytest.raises(UsedName, match=r"already a session 'over' \(stopped"):
                journal.append("over", 0, [alarmed])
            journal.delete(["over"])
            assert [line.name for line in journal.sessions()] == ["open"]
            with pytest.raises(UnknownName):
                journal.read("over")
            journal.append("over", 0, [alarmed])
        with Journal.open(written, read_only=True) as journal:
            assert {line.name: line.events for line in journal.sessions()} == {"open": 2, "over": 1}

    def test_what_has_not_ended_is_deleted_only_by_force_and_all_or_none(self, written):
        with Journal.open(written) as journal:
            for names in (["over", "open"], ["over", "nobody"]):
                with pytest.raises(AquaMendError):
                    journal.delete(names)
                assert len(journal.sessions()) == 2
            assert not journal.sessions()[1].status.ended
            journal.delete(["over", "open"], force=True)
            assert journal.sessions() == []
        with Journal.open(written, read_only=True) as journal:
            assert journal.sessions() == []

    def test_nothing_of_it_stays_in_the_file(self, path, alarmed):
        with Journal(path) as journal:
            journal.append("s", 0, [alarmed, Resumed("somebody whom nobody shall know"), Ended(Ending.STOPPED)])
            journal.append("t", 0, [alarmed])
        assert b"nobody shall know" in path.read_bytes()
        with Journal(path) as journal:
            journal.delete(["s"])
            assert [entry.event.kind for entry in journal.read("t")] == ["alarmed"]
            journal.delete(["t"], force=True)
        data = path.read_bytes()
        assert b"nobody shall know" not in data
        assert alarmed.state.problem.name.encode() not in data

    def test_killed_before_it_is_acknowledged_it_is_done_or_not(self, written, monkeypatch):
        def delete():
            monkeypatch.setattr(seals, "keep", die)
            Journal.open(written).delete(["over"])

        assert killed_in(delete) is True
        with Journal.open(written, read_only=True) as journal:
            assert [line.name for line in journal.sessions()] == ["open"]

    def test_whoever_conducts_it_meanwhile_is_reported(self, written):
        with Journal.open(written) as one, Journal.open(written) as other:
            other.delete(["open"], force=True)
            with pytest.raises(UnknownName):
                one.append("open", 2, [Resumed("me")])

    def test_whoever_reads_it_meanwhile_is_told_that_it_is_gone_not_that_it_is_damaged(self, written, alarmed):
        with Journal.open(written, read_only=True) as reader, Journal.open(written) as writer:
            gone, replaced = reader.read("open"), reader.read("over")
            writer.delete(["open", "over"], force=True)
            writer.append("over", 0, [alarmed])
            for entries in (gone, replaced):
                with pytest.raises(UnknownName):
                    list(entries)


def test_a_log_in_memory_names_what_was_used_and_what_is_unknown_too(alarmed):
    log = MemoryLog()
    log.append("s", 0, [alarmed])
    with pytest.raises(UsedName):
        log.append("s", 0, [alarmed])
    with pytest.raises(ForeignSession):
        log.append("s", 2, [Resumed("me")])
    with pytest.raises(UnknownName):
        log.append("t", 2, [Resumed("me")])
    with pytest.raises(UnknownName):
        log.read("t")


def test_a_session_is_followed_until_it_has_ended(written):
    import threading

    def go_on():
        with Journal.open(written) as journal:
            for i in range(2, 6):
                time.sleep(0.01)
                journal.append("open", i, [Resumed(str(i))])
            journal.append("open", 6, [Ended(Ending.STOPPED)])

    thread = threading.Thread(target=go_on)
    thread.start()
    with Journal.open(written, read_only=True) as journal:
        assert [entry.number for entry in followed(journal, "open", poll_s=0.001)] == list(range(1, 8))
    thread.join(PATIENCE_S)


def test_times_of_a_listing_are_those_of_the_first_and_the_last_event(written):
    with Journal.open(written) as journal:
        for line in journal.sessions():
            times = [entry.time for entry in journal.read(line.name)]
            assert (line.started, line.updated) == (times[0], times[-1])
    assert Status.STOPPED.ended
