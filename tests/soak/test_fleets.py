"""A thousand sessions in PostgreSQL, driven by eight programs, under a server that is killed a hundred times.

Beside the server, programs are killed with -9, connections are cut, programs reach for sessions that others conduct,
and a person in a process of their own answers every question. Each robot writes down what it begins and has done; that,
what each program was told is on disk, and the database have to agree.

`SOAK=1` does all of it, `make test-all` a tenth, `make test` a little.
"""

import fcntl
import hashlib
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
from tests.adapters.problems import cup_problem
from tests.fleet.server import Server, needed
from tests.recovery.test_kills import ended, lines, write_down
from tests.soak.checks import check_log
from tests.soak.findings import keep
from tests.soak.test_killed_sessions import in_child
from tests.tiers import cases
from tests.waiting import PATIENCE_S

from aquamend.adapters.postgres import PostgresLog
from aquamend.belief import InformationState
from aquamend.errors import AquaMendError, ForeignSession, UnknownName, Unreachable
from aquamend.recovery import Measure, Recovery, Rules, Session, approve, drive, settle
from aquamend.recovery.events import Done, Intended, Settled
from aquamend.recovery.plain import event_to_data, to_json

SOAK = bool(os.environ.get("SOAK"))
SESSIONS = 1_000 if SOAK else cases(12, 100)
PROGRAMS = 8 if SOAK else cases(3, 8)
KILLS = 100 if SOAK else cases(2, 10)
LEASE_S = 1.0
RULES = Rules(stop_s=5.0)
SEED = 1


class Body:
    """A robot of one session, which no two programs may move at once; it writes down what it begins and has done."""

    def __init__(self, folder, session, rng):
        self.deeds, self.wrong, self.session, self.rng = folder / session.name, folder / "wrong", session, rng
        self.stopped, self.stands = threading.Event(), threading.Event()
        self.stands.set()

    def measure(self, act):
        return act.done("45" if act.probe == "weigh" else "there") if self._moves(act) else act.failed("stopped")

    def perform(self, act):
        return act.done() if self._moves(act) else act.failed("stopped")

    def _moves(self, act):
        number = self.session.recovery.act_number
        with self.deeds.open("a") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                write_down(self.wrong, f"{self.session.name}: two move at once, and one is {number}, {act}")
            self.stands.clear()
            self.stopped.clear()
            if f"begin {number}" in lines(self.deeds):
                write_down(self.wrong, f"{self.session.name}: {number}, {act}, is begun twice")
            write_down(self.deeds, f"begin {number}")
            long = self.rng.random() < 0.01
            stopped = self.stopped.wait(2 * LEASE_S if long else self.rng.choice([0.0, 0.0, 0.002, 0.02]))
            if not stopped:
                write_down(self.deeds, f"done {number}")
        self.stands.set()
        return not stopped

    def stop(self, act):
        self.stopped.set()
        self.stands.wait(PATIENCE_S)
        return self.verify(act)

    def verify(self, act):
        if f"done {self.session.recovery.act_number}" not in lines(self.deeds):
            return act.failed("it was not carried out")
        return act.done({"weigh": "45", "look": "there"}[act.probe] if isinstance(act, Measure) else None)


class Witnessed(PostgresLog):
    """A log that writes down what it was told is on disk, and how long that took."""

    def __init__(self, address, folder):
        self._logged = folder / f"told-{os.getpid()}"
        super().__init__(address, lease_s=LEASE_S)

    def append(self, session, after, events, *, at=None):
        links, start = self._link._connection, time.perf_counter()
        super().append(session, after, events, at=at)
        seconds, same = time.perf_counter() - start, links is self._link._connection
        facts = [digest(event) for event in events]
        write_down(self._logged, json.dumps([session, after, facts, seconds, same]))


def digest(event):
    return hashlib.sha256(to_json(event_to_data(event)).encode()).hexdigest()[:16]


def work(address, folder, mine, others, seed):
    """Drive sessions until all of these have ended; now and then reach for somebody else's."""
    rng, left = random.Random(seed), list(mine)
    state = InformationState.alarmed(cup_problem())
    while left:
        try:
            with Witnessed(address, folder) as log:
                while left:
                    name = rng.choice(others) if others and rng.random() < 0.05 else left[0]
                    if conducted(log, name, state, folder, rng) and name == left[0]:
                        left.pop(0)
        except Unreachable:  # the server is away while somebody comes
            write_down(folder / "trouble", "Unreachable")
            time.sleep(0.05)


def conducted(log, name, state, folder, rng):
    """Conduct a session for as long as it goes; return whether it has ended."""
    try:
        try:
            if Recovery.of([entry.event for entry in log.read(name)]).ending is not None:
                return True
            session = Session.resume(log, name)
        except UnknownName:
            session = Session.begin(state, "best", log=log, name=name, rules=RULES)
        return drive(session, Body(folder, session, rng), wait_s=PATIENCE_S).ending is not None
    except (ForeignSession, Unreachable) as error:
        write_down(folder / "trouble", type(error).__name__)
        return False


def be_asked(address, folder):
    """Answer whatever is asked, as soon as the server says that somebody asks, until everything has ended."""
    while True:
        with suppress(AquaMendError), PostgresLog(address) as log:
            asked = threading.Event()
            with log.listening(None, asked.set):
                while True:
                    lines_ = log.sessions()
                    if sum(line.status.ended for line in lines_) == SESSIONS:
                        return
                    for line in lines_:
                        if line.status.value == "waiting":
                            answer(log, line.name, folder)
                    asked.wait(0.2)
                    asked.clear()
        time.sleep(0.05)


def answer(log, name, folder):
    entries = list(log.read(name))
    now = Recovery.of([entry.event for entry in entries], name)
    with suppress(ForeignSession):  # it has gone on meanwhile
        if now.in_doubt is not None:
            number = [entry.number for entry in entries if isinstance(entry.event, Intended)][-1]
            settle(log, name, done=f"done {number}" in lines(folder / name), by="Ada")
        elif now.asked is not None:
            approve(log, name, token=now.asked.token, by="Ada")


class Trial:
    """A server, the programs that use it, and what happens to them."""

    def __init__(self, server, folder):
        self.server, self.folder, self.wrong = server, folder, folder / "wrong"
        self.rng, self.seen = random.Random(SEED), Counter()
        self.programs: dict[int, int] = {}
        """Which process is which program."""

    def start(self, place):
        mine = [f"s{number}" for number in range(place, SESSIONS, PROGRAMS)]
        others = [f"s{number}" for number in range((place + 1) % PROGRAMS, SESSIONS, PROGRAMS)]
        seed, address = self.rng.random(), self.server.address
        self.programs[in_child(lambda: work(address, self.folder, mine, others, seed), self.wrong)] = place

    def ended_sessions(self):
        sql = "SELECT count(*) FROM aquamend.sessions WHERE status IN ('finished', 'handed over', 'stopped')"
        return self.server.ask(sql)[0][0]

    def run(self):
        PostgresLog(self.server.address).close()
        person = in_child(lambda: be_asked(self.server.address, self.folder), self.wrong)
        for place in range(PROGRAMS):
            self.start(place)
        try:
            for kill in range(KILLS):
                self.until(lambda kill=kill: self.ended_sessions() >= (kill + 1) * SESSIONS // (KILLS + 1))
                self.harm(kill)
            self.until(lambda: self.ended_sessions() == SESSIONS)
            for process in self.programs:
                assert ended(process) == 0, lines(self.wrong)
            assert ended(person) == 0, lines(self.wrong)
        finally:
            for process in (person, *self.programs):
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)

    def until(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert not self.wrong.exists(), self.wrong.read_text()
            assert time.monotonic() < end, "nothing goes on"
            time.sleep(0.005)

    def harm(self, kill):
        """Kill the server, for a moment or for longer than a lease; now and then a program, and connections."""
        how = self.rng.choice(["killed", "killed", "stopped at once"])
        self.server.kill() if how == "killed" else self.server.stop()
        self.seen[f"server {how}"] += 1
        if self.rng.random() < 0.3:
            process, place = self.rng.choice(list(self.programs.items()))
            os.kill(process, signal.SIGKILL)
            ended(process)
            del self.programs[process]
            self.seen["programs killed"] += 1
            self.start(place)
        time.sleep(1.2 * LEASE_S if kill % 10 == 1 else self.rng.uniform(0.0, 0.3))
        self.server.start()
        if self.rng.random() < 0.3:
            self.seen["connections cut"] += self.server.cut_connections()

    def check(self):
        """Compare the database with what every program was told, and with what every robot has done."""
        appends = []
        with PostgresLog(self.server.address) as log:
            kept = {line.name: list(log.read(line.name)) for line in log.sessions()}
        assert len(kept) == SESSIONS
        for file in self.folder.glob("told-*"):
            for line in lines(file):
                session, after, facts, seconds, same = json.loads(line)
                found = [digest(entry.event) for entry in kept[session][after : after + len(facts)]]
                assert found == facts, f"{session}: what was acknowledged behind {after} is not there"
                appends.append((seconds, same))
        for name, entries in kept.items():
            self.check_session(name, entries)
        self.seen["sessions"], self.seen["programs"] = len(kept), PROGRAMS
        self.seen["events"] = sum(map(len, kept.values()))
        self.seen["acknowledged batches"] = len(appends)
        self.seen += Counter(f"{what} in a program" for what in lines(self.folder / "trouble"))
        calm = [seconds for seconds, same in appends if same]
        for title, times in (("any", [seconds for seconds, _ in appends]), ("the connection held", calm)):
            for part in (50, 99):
                self.seen[f"{part} % written within, µs ({title})"] = round(1e6 * float(np.percentile(times, part)))

    def check_session(self, name, entries):
        assert Recovery.of([entry.event for entry in entries], name).ending is not None
        check_log(entries, RULES, attended=True)
        deeds, number = lines(self.folder / name), 0
        begun = [int(deed.split()[1]) for deed in deeds if deed.startswith("begin")]
        assert len(set(begun)) == len(begun), f"{name}: an act was begun twice"
        assert set(begun) <= {entry.number for entry in entries if isinstance(entry.event, Intended)}
        for entry in entries:
            match entry.event:
                case Intended():
                    number = entry.number
                case Done(receipt, True) if receipt.succeeded:
                    assert f"done {number}" in deeds, f"{name}: {number} was not done"
                case Settled(done=True):
                    assert f"done {number}" in deeds


def test_a_fleet_loses_and_doubles_nothing_whatever_happens_to_its_server():
    needed()
    server = Server(on_disk=SOAK)
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(server, Path(name))
        try:
            trial.run()
            trial.check()
        finally:
            server.remove()
    assert trial.seen["server killed"] + trial.seen["server stopped at once"] == KILLS
    keep("fleet", "all", str(SEED), trial.seen)
