"""Kill -9 at any moment: nothing acknowledged is lost, nothing is done or charged twice, and the numbers stay the same.

A child process conducts a session with a robot that writes down what it physically does. It is killed at a chosen point
or at a random time and the session is resumed by another child, killed again, and so on until it ends.
"""

import os
import random
import signal
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.tiers import cases
from tests.waiting import PATIENCE_S

from aquamend import InformationState, load_problem
from aquamend.errors import ForeignSession
from aquamend.recovery import UNATTENDED, Journal, Measure, MemoryLog, Recovery, recover, resume
from aquamend.recovery.events import Done, Intended
from aquamend.recovery.plain import event_to_data

EXAMPLES = Path(__file__).parents[2] / "examples"
RULES = replace(UNATTENDED, attempts=1_000, probes_move=False)
ENDED, REFUSED = 0, 3
POUR = ("pouring", "A_B_swapped")
MAP = ("stale_map", None)


def start_of(task):
    name, truth = task
    problem = load_problem(EXAMPLES / f"{name}.yaml")
    truth = problem.model.names[-1] if truth is None else truth
    return InformationState.alarmed(problem), problem.model.hypothesis_index[truth]


STARTS = {task: start_of(task) for task in (POUR, MAP)}
"""Loaded before any fork, so that a child begins at once."""


class Fate:
    """Kills this process when it comes to a point for the given time."""

    def __init__(self, at=None):
        self.at, self.points = at, 0

    def strike(self):
        self.points += 1
        if self.points == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class Witnessed(Journal):
    """A journal that may be killed before, within and after every transaction, and acknowledges what it has written."""

    def __init__(self, path, fate, acknowledged):
        self.fate, self.acknowledged = fate, acknowledged
        super().__init__(path)

    def append(self, session, after, events, *, at=None):
        self.fate.strike()
        super().append(session, after, events, at=at)
        self.fate.strike()
        write_down(self.acknowledged, str(after + len(events)))
        self.fate.strike()

    def _add(self, *arguments):
        self.fate.strike()
        super()._add(*arguments)
        self.fate.strike()

    def _acknowledge(self, mark):
        self.fate.strike()  # the database has it by now, and the seals do not
        super()._acknowledge(mark)


class Robot:
    """A robot whose deeds stand in a file; what a probe answers depends on how often it has run."""

    def __init__(self, task, deeds, fate):
        (self.state, self.truth), self.deeds, self.fate = STARTS[task], deeds, fate

    def alarm(self):
        self.fate.strike()
        return self.state

    def measure(self, step):
        self._do(step)
        return step.done(self._answer(step))

    def perform(self, act):
        self._do(act)
        return act.done()

    def _do(self, act):
        self.fate.strike()
        write_down(self.deeds, str(act))
        self.fate.strike()

    def _answer(self, step):
        times = lines(self.deeds).count(str(step))
        index = self.state.problem.graph.probe_index[step.probe]
        rng = np.random.default_rng([self.truth, index, times])
        return self.state.problem.model.channels[step.probe].sample(self.truth, rng)


class Verifying(Robot):
    """One that can tell whether its last deed was the act in doubt: it knows of how many the receipts are there."""

    def __init__(self, task, deeds, fate, receipted):
        super().__init__(task, deeds, fate)
        self.receipted = receipted

    def verify(self, act):
        self.fate.strike()
        if len(lines(self.deeds)) == self.receipted:
            return act.failed("it was not begun", cost=0.0)
        return act.done(self._answer(act)) if isinstance(act, Measure) else act.done()


def write_down(path, text):
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, f"{text}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def done_of(events):
    """Return how many deeds have receipts."""
    return sum(isinstance(event, Done) and event.known and event.receipt.succeeded for event in events)


class Trial:
    """One session in a folder of its own, conducted by one child after another."""

    def __init__(self, folder, task, *, verifying):
        self.task, self.verifying = task, verifying
        self.journal, self.deeds, self.acknowledged = folder / "j.db", folder / "deeds", folder / "acknowledged"
        self.kills, self.seen = 0, []

    def conduct(self, fate):
        """Begin the session or take it up; in the child."""
        with Witnessed(self.journal, fate, self.acknowledged) as journal:
            known = [line.name for line in journal.sessions()]
            events = [entry.event for entry in journal.read("s")] if known else []
            robot = Robot(self.task, self.deeds, fate)
            if self.verifying:
                robot = Verifying(self.task, self.deeds, fate, done_of(events))
            if known:
                resume(journal, "s", robot)
            else:
                recover("aquamend", robot, journal=journal, session="s", rules=RULES)

    def run(self, *, at=None, after_s=None):
        """Let a child conduct it, killed at a point or after a time; return whether it was, having checked the rest."""
        child = child_doing(lambda: self.conduct(Fate(at)))
        if after_s is not None:
            time.sleep(after_s)
            os.kill(child, signal.SIGKILL)
        status = ended(child)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0
        self.kills += killed
        self.check()
        return killed

    def check(self):
        """Check what must hold whenever a child is dead."""
        if not self.journal.exists():
            assert lines(self.acknowledged) == []
            return
        with Journal.open(self.journal, read_only=True) as journal:
            begun = [line.name for line in journal.sessions()] == ["s"]
            events = [entry.event for entry in journal.read("s")] if begun else []
            assert not begun or journal.sessions()[0].events == len(events)
        logged = [event_to_data(event) for event in events]
        assert logged[: len(self.seen)] == self.seen  # what was there is still there
        self.seen = logged
        acknowledged = [int(line) for line in lines(self.acknowledged)]
        assert len(events) >= max(acknowledged, default=0)
        assert acknowledged == sorted(set(acknowledged))
        intents = [str(event.act) for event in events if isinstance(event, Intended)]
        receipts = [event for event in events if isinstance(event, Done)]
        assert len(intents) - len(receipts) in (0, 1)  # one receipt, and so one charge, for each
        deeds = lines(self.deeds)
        assert not Counter(deeds) - Counter(intents)
        assert done_of(events) <= len(deeds) <= len(intents)
        performed = [deed for deed in deeds if deed not in STARTS[self.task][0].problem.graph.probe_index]
        assert len(set(performed)) == len(performed)  # nothing is done twice
        if begun:
            now = Recovery.of(events)
            assert (now.act is not None) == (len(intents) > len(receipts))

    def finish(self):
        """Check the session that has ended against one that nobody interrupted; return it."""
        with Journal.open(self.journal, read_only=True) as journal:
            now = Recovery.of([entry.event for entry in journal.read("s")], "s")
        assert now.ending is not None
        unknown = [receipt for receipt in now.receipts if str(receipt.finding).startswith("in doubt")]
        if self.verifying:
            assert unknown == []
            assert len(lines(self.deeds)) == sum(receipt.succeeded for receipt in now.receipts)
            assert now.ending == "finished"
        else:
            acts = [receipt for receipt in unknown if receipt.charge != "sensing"]
            alone = any(receipt.what == "hand over to a person" for receipt in acts)  # killed while handing over
            assert now.ending == ("stopped" if alone else "handed over" if acts else "finished")
        whole = recover("aquamend", Retold(now), journal=MemoryLog(), session="s", rules=RULES)
        assert whole.decided_at.posterior.tobytes() == now.decided_at.posterior.tobytes()
        assert whole.state.failure_probabilities.tobytes() == now.state.failure_probabilities.tobytes()
        assert whole.evidence == now.evidence
        assert whole.steps == now.steps
        assert whole.ending == now.ending
        assert whole.cost == now.cost
        return now


class Retold:
    """A robot to which the same happens as in a session, without interruption."""

    def __init__(self, recovery):
        self.start, self.receipts = recovery.start, iter(recovery.receipts)

    def alarm(self):
        return self.start

    def measure(self, step):
        return next(self.receipts)

    def perform(self, act):
        receipt = next(self.receipts)
        if str(receipt.finding).startswith("in doubt"):
            raise RuntimeError("its program ended")
        return receipt


def child_doing(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        child = os.fork()
    if child == 0:
        status = 70
        try:
            call()
            status = ENDED
        except ForeignSession:
            status = REFUSED
        finally:
            os._exit(status)
    return child


def ended(child, timeout_s=PATIENCE_S):
    """Return how a child ended; it is killed and the test fails if it does not."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child did not end")


@pytest.fixture
def folder():
    """Return a folder in memory where there is one: what a killed process wrote does not depend on the disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


def trial_in(folder, number, task, *, verifying):
    place = folder / str(number)
    place.mkdir()
    return Trial(place, task, verifying=verifying)


def points_of(folder, task, *, verifying):
    """Return how many points an uninterrupted session passes."""
    trial, fate = trial_in(folder, "whole", task, verifying=verifying), Fate()
    trial.conduct(fate)
    trial.check()
    trial.finish()
    return fate.points


def killed_at_every_point(folder, task, *, verifying, points, again):
    """Kill a session at each of these points, then as often as ``again`` says; return how many kills that were."""
    kills, total = 0, points_of(folder, task, verifying=verifying)
    for at in points(total):
        trial, rng = trial_in(folder, at, task, verifying=verifying), random.Random(at)
        assert trial.run(at=at)
        for _ in range(again):
            trial.run(at=rng.randrange(1, 14))
        assert not trial.run()
        trial.finish()
        kills += trial.kills
    return kills, total


def killed_at_random(folder, task, *, verifying, seed, wanted):
    """Kill sessions at random times until it was done often enough; return how many kills that were."""
    kills, number, rng = 0, 0, random.Random(seed)
    while kills < wanted:
        trial, number = trial_in(folder, number, task, verifying=verifying), number + 1
        while trial.run(after_s=rng.uniform(0.0, 0.04)) and trial.kills < 25:
            pass
        trial.run()
        trial.finish()
        kills += trial.kills
    return kills


# The quick tests kill at least 60 times, all together more than a thousand times.


@pytest.mark.parametrize("verifying", [True, False], ids=["verified", "unverified"])
def test_a_session_killed_at_any_point_goes_on_where_it_was(folder, verifying):
    every = cases(8, 2)
    kills, points = killed_at_every_point(
        folder, MAP, verifying=verifying, points=lambda n: range(2 - verifying, n + 1, every), again=0
    )
    assert kills >= points // every >= 70 // every


@pytest.mark.slow
@pytest.mark.parametrize("verifying", [True, False], ids=["verified", "unverified"])
def test_a_session_killed_at_random_times_goes_on_where_it_was(folder, verifying):
    assert killed_at_random(folder, MAP, verifying=verifying, seed=1, wanted=20) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("verifying", [True, False], ids=["verified", "unverified"])
def test_a_long_session_killed_at_every_point_and_again_goes_on_where_it_was(folder, verifying):
    kills, points = killed_at_every_point(folder, POUR, verifying=verifying, points=lambda n: range(1, n + 1), again=1)
    assert kills >= 200 > points > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_long_sessions_killed_at_random_times_go_on_where_they_were(folder, seed):
    assert killed_at_random(folder, POUR, verifying=seed % 2 == 0, seed=seed, wanted=100) >= 100


@pytest.mark.parametrize("verifying", [True, False], ids=["verified", "unverified"])
def test_an_act_begun_without_a_receipt_is_verified_or_handed_over(folder, verifying):
    trial = trial_in(folder, 0, POUR, verifying=verifying)

    class Dies(Verifying if verifying else Robot):
        def perform(self, act):
            self._do(act)
            os.kill(os.getpid(), signal.SIGKILL)

    def conduct():
        with Journal(trial.journal) as journal:
            robot = Dies(POUR, trial.deeds, Fate(), *([0] if verifying else []))
            recover("aquamend", robot, journal=journal, session="s", rules=RULES)

    assert os.WTERMSIG(ended(child_doing(conduct))) == signal.SIGKILL
    trial.check()
    with Journal.open(trial.journal, read_only=True) as journal:
        begun = Recovery.of([entry.event for entry in journal.read("s")])
        assert journal.sessions()[0].status == "in doubt"
    assert begun.act is not None
    assert not trial.run()
    now = trial.finish()
    receipt = now.receipts[len(begun.receipts)]
    assert receipt.what == str(begun.act)
    assert receipt.succeeded == verifying
    assert now.ending == ("finished" if verifying else "handed over")
    assert lines(trial.deeds).count(str(begun.act)) == 1


@pytest.mark.parametrize("attempt", range(5))
def test_of_two_processes_that_resume_at_once_exactly_one_goes_on(folder, attempt):
    trial = trial_in(folder, 0, MAP, verifying=False)
    whole = points_of(folder, MAP, verifying=False)
    assert trial.run(at=whole // 2 + attempt)
    gate, opened = os.pipe()

    class Slow(Robot):
        def _do(self, act):
            super()._do(act)
            time.sleep(0.3)

    def conduct():
        os.close(opened)
        os.read(gate, 1)  # until the parent closes it
        with Journal.open(trial.journal) as journal:
            resume(journal, "s", Slow(MAP, trial.deeds, Fate()))

    children = [child_doing(conduct) for _ in range(2)]
    os.close(opened)
    os.close(gate)
    statuses = sorted(os.waitstatus_to_exitcode(ended(child)) for child in children)
    assert statuses == [ENDED, REFUSED]
    with Journal.open(trial.journal, read_only=True) as journal:
        assert Recovery.of([entry.event for entry in journal.read("s")]).ending is not None
