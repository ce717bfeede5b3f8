"""Every budget from both sides: what is allowed up to the limit happens, and what is beyond it does not."""

import asyncio
import selectors
from types import SimpleNamespace

import pytest

from aquamend.decision.steps import Continue, NewDeclaration, Reprobe, RollBack
from aquamend.recovery import (
    Ending,
    HandOver,
    Instant,
    MemoryLog,
    NoReceipt,
    Rules,
    Session,
    approve,
    drivers,
    recover,
    recover_async,
)
from aquamend.recovery import clock as clocks
from aquamend.recovery.events import Asked, Expired, Intended

CORRECT_LEVEL = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))
BEGAN = 1_000.0
A_LITTLE = 0.001


@pytest.fixture
def begun(scripted, table):
    """Begin a session of these steps, at 1,000 s or at a moment given."""

    def begin(*steps, at=BEGAN, reversible=True, attended=None, **rules):
        return Session.begin(
            table(reversible=reversible), scripted.Steps(steps), log=MemoryLog(), name="s", rules=Rules(**rules),
            attended=attended, at=at,
        )  # fmt: skip

    return begin


def asked_to_take_over(session):
    return isinstance(session.recovery.asked and session.recovery.asked.act, HandOver)


# The seconds of a recovery.


@pytest.mark.parametrize("seconds", [0.5, 100.0, 1e6])
def test_a_decision_is_made_until_the_seconds_are_over_and_not_then(begun, seconds):
    for late in (False, True):
        session = begun(Reprobe("look"), Continue(), seconds=seconds)
        session.reply(session.request.act.done("there"), at=BEGAN + seconds - (0.0 if late else A_LITTLE))
        assert asked_to_take_over(session) == late
        assert str(session.request.act) == ("hand over to a person" if late else "finish the task")
        if late:
            assert session.recovery.reason == f"its {seconds:g} seconds are over"


def test_without_a_limit_no_time_is_too_long(begun):
    session = begun(Reprobe("look"), Continue())
    assert str(session.reply(session.request.act.done("there"), at=BEGAN + 1e9).act) == "finish the task"


def test_a_recovery_that_has_no_seconds_is_handed_over_before_the_first_decision(begun):
    session = begun(Continue(), seconds=0)
    assert asked_to_take_over(session)
    assert len(session.policy.saw) == 0


@pytest.mark.parametrize("late", [False, True])
def test_waiting_for_a_person_and_crashes_count(begun, scripted, late):
    session = begun(Continue(), reversible=False, seconds=100)
    assert isinstance(session.recovery.asked, Asked)
    session = Session.resume(session.log, "s", policy=scripted.Steps([Continue()]), at=BEGAN + 60)
    session.observe("look", "there", at=BEGAN + (100 if late else 99))  # so it is decided again
    assert asked_to_take_over(session) == late


def reply_at(session, moment):
    session.reply(session.request.act.done("there"), at=moment)
    return asked_to_take_over(session)


def test_within_a_boot_the_clock_that_says_more_counts(begun):
    start = Instant(BEGAN, 50.0, "monday")
    cases = {
        (99.9, 99.9): False,
        (100.0, 99.9): True,
        (99.9, 100.0): True,
        (-1e6, 100.0): True,  # somebody has set the calendar back
        (-1e6, 99.9): False,
        (1e6, 1.0): True,  # or forward: the stricter reading
    }
    for (wall, steady), over in cases.items():
        session = begun(Reprobe("look"), Continue(), at=start, seconds=100)
        assert reply_at(session, Instant(BEGAN + wall, 50.0 + steady, "monday")) == over, (wall, steady)


def test_across_a_restart_only_recorded_time_counts(begun):
    start = Instant(BEGAN, 5_000.0, "monday")
    cases = {(99.9, 3.0): False, (99.9, 9_000.0): False, (100.0, 3.0): True, (99.9, None): False, (100.0, None): True}
    for (wall, steady), over in cases.items():
        session = begun(Reprobe("look"), Continue(), at=start, seconds=100)
        assert reply_at(session, Instant(BEGAN + wall, steady, "tuesday")) == over, (wall, steady)


@pytest.mark.parametrize(("wall", "steady", "stopped"), [(4.9, 4.9, False), (5.0, 0.0, True), (-10.0, 5.0, True)])
def test_a_timeout_goes_by_the_same_clocks(begun, wall, steady, stopped):
    session = begun(CORRECT_LEVEL, at=Instant(BEGAN, 0.0, "monday"), timeout_s=5)
    assert (session.tick(Instant(BEGAN + wall, steady, "monday")).kind == "stop") == stopped


# Attempts and decisions.


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("act", ["declare: level = 40", "redo: move", "finish the task"])
def test_an_act_may_fail_as_often_as_the_rules_say_and_no_more(begun, attempts, act):
    session, failed = begun(*[CORRECT_LEVEL] * 9, attempts=attempts), 0
    while not asked_to_take_over(session):
        assert failed < attempts
        last = session.request.act
        failed += str(last) == act
        session.reply(last.failed("slipped") if str(last) == act else last.done(), at=BEGAN)
    assert failed == attempts
    assert session.recovery.reason == f"{act}: failed {attempts} times"


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_undo_that_has_failed_so_often_costs_infinitely_much_and_not_before(begun, attempts):
    session = begun(*[CORRECT_LEVEL] * 9, attempts=attempts)
    for failed in range(1, attempts + 1):
        assert str(session.request.act) == "undo: clear"
        session.reply(session.request.act.failed("slipped"), at=BEGAN)
        costs = {operation.name: operation.cost for operation in session.policy.saw[-1].problem.graph.operations}
        assert (costs["clear"] == float("inf")) == (failed == attempts)


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_probe_may_run_again_until_it_has_failed_so_often(begun, attempts):
    session = begun(*[Reprobe("look")] * attempts, Continue(), attempts=attempts)
    for failed in range(1, attempts + 1):
        session.reply(session.request.act.failed("dark"), at=BEGAN)
        assert bool(session.policy.saw[-1].why_illegal("look")) == (failed == attempts)


@pytest.mark.parametrize("decisions", [0, 1, 2])
def test_the_policy_takes_as_many_decisions_as_the_rules_say_and_no_more(begun, decisions):
    session = begun(*[Reprobe("look")] * 3, decisions=decisions)
    for _ in range(decisions):
        assert session.request.kind == "measure"
        session.reply(session.request.act.done("there"), at=BEGAN)
    assert asked_to_take_over(session)
    assert len(session.policy.saw) == decisions
    assert session.recovery.reason == f"{decisions} decisions have not ended it"


# How long an act, stopping it and the word of a person may take.


@pytest.mark.parametrize(
    ("limit", "rules"),
    [(5, {"timeout_s": 5}), (2, {"timeout_s": 5, "timeouts": {"clear": 2}}), (7, {"timeouts": {"clear": 7}})],
)
def test_an_act_is_stopped_when_its_time_is_over_and_not_before(begun, limit, rules):
    session = begun(CORRECT_LEVEL, **rules)
    assert session.due == limit
    assert session.tick(BEGAN + limit - A_LITTLE).kind == "perform"
    assert session.due == pytest.approx(A_LITTLE)
    assert session.tick(BEGAN + limit).kind == "stop"


def test_the_time_of_another_act_does_not_count(begun):
    session = begun(CORRECT_LEVEL, timeouts={"lower": 1, "look": 1})
    assert session.due == float("inf")
    assert session.tick(BEGAN + 1e6).kind == "perform"


def test_stopping_and_verifying_may_take_so_long_each_and_no_longer(begun):
    session = begun(CORRECT_LEVEL, timeout_s=5, stop_s=3)
    at = BEGAN + 6
    assert session.tick(at).kind == "stop"
    assert session.tick(at + 3 - A_LITTLE).kind == "stop"
    assert session.tick(at + 3).kind == "verify"
    assert session.tick(at + 6 - A_LITTLE).kind == "verify"
    assert session.tick(at + 6).kind == "wait"
    assert session.due == float("inf")


def test_what_cannot_be_stopped_has_the_time_of_its_act_and_no_more(begun):
    session = begun(CORRECT_LEVEL, timeout_s=50, stop_s=3)
    session.interrupt("its driver has to go", at=BEGAN + 10)
    session.reply(NoReceipt("it has no stop"), at=BEGAN + 12)
    assert session.tick(BEGAN + 50 - A_LITTLE).kind == "wait"
    assert session.tick(BEGAN + 50).kind == "verify"


@pytest.mark.parametrize("late", [False, True])
def test_an_approval_holds_so_long_and_no_longer(begun, late):
    session = begun(Continue(), reversible=False, approval_s=20)
    approve(session.log, "s", token=session.request.token, by="Ada", at=BEGAN + 5)
    request = session.tick(BEGAN + 25 + (A_LITTLE if late else 0.0))
    kinds = [type(entry.event) for entry in session.log.read("s")]
    assert (request.kind, Expired in kinds, Intended in kinds) == (
        ("wait", True, False) if late else ("perform", False, True)
    )


def test_an_approval_goes_by_the_clock_that_says_more(begun):
    for wall, steady, holds in ((20.0, 20.0, True), (0.0, 20.1, False), (20.1, 0.0, False)):
        session = begun(Continue(), reversible=False, approval_s=20)
        approve(session.log, "s", token=session.request.token, by="Ada", at=Instant(BEGAN, 7.0, "monday"))
        assert (session.tick(Instant(BEGAN + wall, 7.0 + steady, "monday")).kind == "perform") == holds


@pytest.mark.parametrize(("ahead", "holds"), [(0.9, True), (1.0, True), (1.1, False), (1.9, False)])
def test_an_approval_from_a_clock_that_is_ahead_holds_within_a_second(begun, ahead, holds):
    session = begun(Continue(), reversible=False)
    approve(session.log, "s", token=session.request.token, by="Ada", at=BEGAN + 5 + ahead)
    assert (session.tick(BEGAN + 5).kind == "perform") == holds


def test_a_clock_that_is_not_known_says_nothing():
    for one, other in (((9.0, 4.0), (7.0, None)), ((9.0, None), (7.0, 3.0)), ((9.0, None), (7.0, None))):
        assert Instant(*one).seconds_since(Instant(*other)) == 2.0


# Drivers, by a clock that moves only where somebody waits.


class Clock:
    def __init__(self):
        self.now, self.waits, self.to_do = BEGAN, [], []

    def at(self, when, call):
        """Have something done when this time has come."""
        self.to_do.append((when, call))

    def wait(self, seconds):
        end = self.now + seconds
        self.waits.append(seconds)
        for when, call in [each for each in self.to_do if each[0] <= end]:
            self.to_do.remove((when, call))
            self.now = max(self.now, when)
            call()
        self.now = max(self.now, end)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    read = SimpleNamespace(time=lambda: clock.now, monotonic=lambda: clock.now)
    monkeypatch.setattr(clocks, "time", read)
    monkeypatch.setattr(drivers, "time", read)
    return clock


class Jumping(selectors.SelectSelector):
    """Where nothing is ready, the time that the loop would wait has passed."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout is None:
            ready = super().select(1)
        elif not ready and timeout > 0:
            self.clock.wait(timeout)
        return ready


def run(clock, coroutine):
    loop = asyncio.SelectorEventLoop(Jumping(clock))
    loop.time = lambda: clock.now
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


class Waiting:
    """An event for which nobody really waits."""

    def __init__(self, clock):
        self.clock, self.is_there = clock, False

    def set(self):
        self.is_there = True

    def clear(self):
        self.is_there = False

    def wait(self, timeout):
        if not self.is_there:
            self.clock.wait(timeout)


class Slow:
    """A robot each of whose acts takes so many seconds; ``Awaited`` is the same for an event loop."""

    def __init__(self, state, clock, seconds):
        self.state, self.clock, self.seconds, self.did = state, clock, seconds, []

    def alarm(self):
        return self.state

    def measure(self, act):
        self.did.append(str(act))
        self.clock.wait(self.seconds)
        return act.done("there")

    def perform(self, act):
        self.did.append(str(act))
        self.clock.wait(self.seconds)
        return act.done()


class Awaited(Slow):
    async def measure(self, act):
        self.did.append(str(act))
        await asyncio.sleep(self.seconds)
        return act.done("there")

    async def perform(self, act):
        self.did.append(str(act))
        await asyncio.sleep(self.seconds)
        return act.done()


@pytest.fixture(params=["sync", "async"])
def recovered(request, clock, table, scripted, monkeypatch):
    """Recover by these steps with a slow robot, in one of the two ways; return the recovery and the robot."""

    def recover_by(*steps, each_s=0.0, log=None, reversible=True, wait_s=float("inf"), **rules):
        state, policy = table(reversible=reversible), scripted.Steps(steps)
        given = {"journal": log, "session": "s", "rules": Rules(**rules), "wait_s": wait_s}
        if request.param == "async":
            robot = Awaited(state, clock, each_s)
            return run(clock, recover_async(policy, robot, **given)), robot
        with monkeypatch.context() as patch:
            patch.setattr(drivers.threading, "Event", lambda: Waiting(clock))
            robot = Slow(state, clock, each_s)
            return recover(policy, robot, **given), robot

    return recover_by


@pytest.mark.parametrize(("each_s", "probes"), [(33.0, 3), (40.0, 3), (50.0, 2), (99.9, 2), (100.0, 1)])
def test_drivers_decide_until_the_seconds_are_over_and_not_then(recovered, each_s, probes):
    recovery, robot = recovered(*[Reprobe("look")] * 3, Continue(), each_s=each_s, seconds=100)
    assert robot.did.count("look") == probes
    in_time = each_s * 3 < 100
    assert recovery.ending is (Ending.FINISHED if in_time else Ending.HANDED_OVER)
    assert recovery.reason == ("" if in_time else "its 100 seconds are over")


def test_a_driver_in_an_event_loop_cancels_what_takes_too_long_and_nothing_else(clock, table, scripted):
    for each_s in (4.9, 5.1):
        robot, policy = Awaited(table(), clock, each_s), scripted.Steps([Reprobe("look"), Continue()])
        recovery = run(clock, recover_async(policy, robot, rules=Rules(timeout_s=5, probes_move=False)))
        assert recovery.receipts[0].finding == ("there" if each_s < 5 else "no receipt within 5 s")
        assert [receipt.succeeded for receipt in recovery.receipts[:2]] == [each_s < 5] * 2
        assert recovery.ending is (Ending.FINISHED if each_s < 5 else Ending.STOPPED)


@pytest.mark.parametrize(("answered", "ending"), [(4.9, Ending.FINISHED), (5.3, None)])
def test_drivers_wait_for_a_person_as_long_as_they_are_said_to(recovered, clock, answered, ending):
    log = MemoryLog()

    def answer():
        token = next(entry.event.token for entry in log.read("s") if isinstance(entry.event, Asked))
        approve(log, "s", token=token, by="Ada")

    clock.at(BEGAN + answered, answer)
    recovery, robot = recovered(Continue(), log=log, reversible=False, wait_s=5.0)
    assert recovery.ending is ending
    assert robot.did == (["finish the task"] if ending else [])
    if ending is None:
        assert 5.0 <= clock.now - BEGAN < 5.3
