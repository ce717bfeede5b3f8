"""Two thousand kills of a session that is never alone: alarms preempt its acts, receipts come late, people answer.

A child process drives the session with a robot that moves in threads of its own, a second one is the person whom it
asks. The child is killed with -9 at a point where something is written or begun, or at any time, and the next one
resumes. The robot writes down what it begins and what it has done; that and the journal have to agree.

`SOAK=1` kills as often as that, `make test-all` a tenth, `make test` a few times.
"""

import os
import random
import signal
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pytest
from tests.recovery.test_kills import Fate, Witnessed, ended, lines, write_down
from tests.soak.checks import check_log
from tests.soak.findings import keep
from tests.tiers import cases

from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, RollBack
from aquamend.errors import AquaMendError
from aquamend.recovery import Journal, Measure, Recovery, Rules, Session, approve, drive, drivers, settle
from aquamend.recovery.events import Done, Intended, Settled
from aquamend.recovery.history import Phase
from aquamend.recovery.plain import event_to_data

COUNT = 2_000 if os.environ.get("SOAK") else cases(12, 200)
PARTS = 4
MOST_KILLS = 10
MOST_ALARMS = 8
"""Each withdraws what a person is asked, who has to come to a word in between."""
RULES = Rules(decisions=14, timeout_s=0.006, stop_s=0.05, probes_move=True)
PARTLY = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))


class Wanders:
    """A policy that may do anything, but the same again in the same state."""

    def __init__(self, seed):
        self.seed = seed

    def next_step(self, state):
        known = (self.seed, len(state.evidence), state.alarms, len(state.problem.redeclared))
        rng = random.Random(repr((known, [action.executed for action in state.problem.graph.actions])))
        probes = [Reprobe(view.name) for view in state.legal]
        return rng.choice([*probes, *probes, PARTLY, RollBack(("cup",)), Continue(), Escalate()])


class Moving:
    """A robot that takes its time, and writes down which intention it begins and which it has carried out.

    It can mostly stop, and mostly tell what became of an act.
    """

    def __init__(self, trial, session, rng, fate):
        self.trial, self.session, self.rng, self.fate = trial, session, rng, fate
        self.under_way, self.stopped = None, threading.Event()
        self.called = 0
        """How many acts it has been called for whose call has not returned, begun or not."""

    def alarm(self):
        return self.trial.state

    def measure(self, act):
        if not self._moves(act):
            return act.failed("stopped")
        return act.done(self.rng.choice({"look": ("there", "gone"), "weigh": ("18", "40")}[act.probe]))

    def perform(self, act):
        return act.done() if self._moves(act) else act.failed("stopped")

    def _moves(self, act):
        self.called += 1
        try:
            return self._carried_out(act)
        finally:
            self.called -= 1

    def _carried_out(self, act):
        number, intended = self.trial.intended()
        if intended != str(act):
            write_down(self.trial.wrong, f"{act} is begun, and {intended} was intended")
        self.fate.strike()
        if self.under_way is not None:
            write_down(self.trial.deeds, f"two {number} {self.under_way}")
        self.stopped.clear()
        self.under_way = number
        write_down(self.trial.deeds, f"begin {number} {os.getpid()}")
        stopped = self.stopped.wait(self.rng.choice([0.0, 0.0, 0.002, 0.02]))
        if not stopped:
            write_down(self.trial.deeds, f"done {number}")
        write_down(self.trial.deeds, f"stands {number}")
        self.under_way = None
        self.fate.strike()
        if self.rng.random() < 0.1:
            raise RuntimeError("the link is gone")
        return not stopped

    def stop(self, act):
        number, intended = self.trial.intended()
        if intended != str(act) or self.rng.random() < 0.3:
            return None
        while f"begin {number} {os.getpid()}" not in lines(self.trial.deeds):  # its thread has not come so far
            time.sleep(0.0005)
        if self.under_way == number:
            self.stopped.set()
        while self.under_way == number:
            time.sleep(0.0005)
        return None if self.rng.random() < 0.1 else self._what_became(act, number)

    def verify(self, act):
        number, intended = self.trial.intended()
        if intended != str(act) or self.called or self.rng.random() < 0.3:
            return None
        return self._what_became(act, number)

    def _what_became(self, act, number):
        if f"done {number}" not in lines(self.trial.deeds):
            return act.failed("it was not carried out")
        return act.done(self.rng.choice(["there", "18"]) if isinstance(act, Measure) else None)


class Trial:
    """One session in a folder of its own, driven by one child after another, beside a person."""

    def __init__(self, folder, seed, state):
        self.state, self.seed, self.rng = state, seed, random.Random(seed)
        self.journal, self.deeds = folder / "j.db", folder / "deeds"
        self.acknowledged, self.wrong = folder / "acknowledged", folder / "wrong"
        self.kills, self.seen, self.how = 0, [], Counter()

    # In the children.

    def intended(self):
        """Return the number of the last intention, and of which act it is."""
        with Journal.open(self.journal, read_only=True) as journal:
            entries = [entry for entry in journal.read("s") if isinstance(entry.event, Intended)]
        return entries[-1].number, str(entries[-1].event.act)

    def conduct(self, fate, seed):
        """Begin the session or take it up, while alarms ring."""
        drivers.POLL_S, rng = 0.004, random.Random(seed)
        with Witnessed(self.journal, fate, self.acknowledged) as journal:
            known = [line.name for line in journal.sessions()]
            policy = Wanders(self.seed)
            if known:
                session = Session.resume(journal, "s", policy=policy)
            else:
                session = Session.begin(self.state, policy, log=journal, name="s", rules=RULES)
            robot = Moving(self, session, rng, fate)
            threading.Thread(target=ring, args=(session, rng.random()), daemon=True).start()
            drive(session, robot)

    def be_asked(self, seed):
        """Answer what is asked, until the session has ended."""
        rng, end = random.Random(seed), time.monotonic() + 300
        while time.monotonic() < end:
            time.sleep(rng.choice([0.001, 0.004, 0.02]))
            try:
                with Journal.open(self.journal) as journal:
                    now = Recovery.of([entry.event for entry in journal.read("s")], "s")
                    if now.ending is not None:
                        return
                    self.answer(journal, now, rng)
            except AquaMendError:
                continue  # there is nothing yet, or somebody was quicker

    def answer(self, journal, now, rng):
        """Say what became of an act once nothing moves any more, or answer the question."""
        if now.asked is None:
            return
        if now.phase is Phase.UNKNOWN and now.act is not None:
            number, _ = self.intended()
            logged = lines(self.deeds)
            pids = [int(line.split()[2]) for line in logged if line.startswith(f"begin {number} ")]
            stands = not pids or f"stands {number}" in logged or not alive(pids[-1])
            done = f"done {number}" in logged and not isinstance(now.act, Measure)
            if stands and rng.random() < 0.8:
                settle(journal, "s", done=done, by="Ada")
                return
            if not stands:
                return
        approve(journal, "s", token=now.asked.token, granted=rng.random() < 0.8, by="Ada")

    # In the parent.

    def run(self):
        """Let one child after another drive it, each killed somewhere, until the session has ended."""
        person = in_child(lambda: self.be_asked(self.seed), self.wrong)
        try:
            while self.kills < MOST_KILLS and self.drive_once(self.rng.choice(["point", "time"])):
                pass
            self.drive_once("never")
            self.finish()
        except BaseException:
            os.kill(person, signal.SIGKILL)  # it would wait for an end that does not come
            raise
        finally:
            ended(person)

    def drive_once(self, when):
        """Let a child drive it; return whether it was killed, having checked what must hold then."""
        at = self.rng.randrange(1, 60) if when == "point" else None
        seed = self.rng.random()
        child = in_child(lambda: self.conduct(Fate(at), seed), self.wrong)
        if when == "time":
            time.sleep(self.rng.uniform(0.0, 0.12))
            os.kill(child, signal.SIGKILL)
        status = ended(child)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self.kills += killed
        self.how["killed at a point" if when == "point" else "killed at any time"] += killed
        assert killed or status == 0, self.wrong.read_text()
        self.check()
        return killed

    def check(self):
        """Check what must hold whenever a child is dead."""
        assert not self.wrong.exists(), self.wrong.read_text()
        if not self.journal.exists():
            assert lines(self.acknowledged) == []
            return
        with Journal.open(self.journal, read_only=True) as journal:
            begun = [line.name for line in journal.sessions()] == ["s"]
            entries = list(journal.read("s")) if begun else []
        logged = [event_to_data(entry.event) for entry in entries]
        assert logged[: len(self.seen)] == self.seen  # what was there is still there
        self.seen = logged
        assert len(entries) >= max(map(int, lines(self.acknowledged)), default=0)
        deeds = [line.split() for line in lines(self.deeds)]
        assert not [deed for deed in deeds if deed[0] == "two"], "two acts at once"
        begins = [int(deed[1]) for deed in deeds if deed[0] == "begin"]
        assert len(set(begins)) == len(begins), "an act was begun twice"
        assert begins == sorted(begins)
        assert set(begins) <= {entry.number for entry in entries if isinstance(entry.event, Intended)}

    def finish(self):
        """Check the session as it has ended: what it says was done is what the robot has done."""
        with Journal.open(self.journal, read_only=True) as journal:
            entries = list(journal.read("s"))
        self.counts = Counter(type(entry.event).__name__ for entry in entries)
        assert Recovery.of([entry.event for entry in entries]).ending is not None
        check_log(entries, RULES, attended=True)
        deeds, number = lines(self.deeds), 0
        for entry in entries:
            match entry.event:
                case Intended():
                    number = entry.number
                case Done(receipt, known) if known and receipt.succeeded:
                    assert f"done {number}" in deeds
                case Settled(done=True):
                    assert f"done {number}" in deeds


def ring(session, seed):
    """Ring now and then; alarms preempt the act under way."""
    rng = random.Random(seed)
    for _ in range(MOST_ALARMS):
        time.sleep(rng.choice([0.002, 0.01, 0.05]))
        try:
            session.alarm()
        except AquaMendError:
            return


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def in_child(call, wrong):
    """Run a function in a process of its own; what goes wrong in it is written down."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        child = os.fork()
    if child == 0:
        try:
            call()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - told to the parent
            write_down(wrong, traceback.format_exc())
        finally:
            os._exit(70)
    return child


@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_in_company_survives_every_kill(part, table):
    kills, seed, seen = 0, part, Counter()
    state = table(again={"nothing": 0.4, "moved": 0.7, "added": 0.6}, reversible=False)
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    while kills < COUNT / PARTS:
        with tempfile.TemporaryDirectory(dir=place) as name:
            trial = Trial(Path(name), seed, state)
            try:
                trial.run()
            except Exception as error:
                raise AssertionError(f"session {seed}: {error}") from error
        kills, seed = kills + trial.kills, seed + PARTS
        seen += trial.counts + trial.how
        seen["sessions"] += 1
    seen["kills"] = kills
    keep("kills", str(part), f"{part}, {part + PARTS}, … up to {seed - PARTS}", seen)
