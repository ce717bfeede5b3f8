"""The conformance of ``stop``: sound robots pass, and each way not to stop is told apart."""

import asyncio
import math
import threading
from dataclasses import replace
from typing import ClassVar

import pytest
from tests.waiting import PATIENCE_S

from aquamend.recovery import Finish, Measure, Redo, Undo
from aquamend.testing import Failure, FakeRobot, RobotFault, StopBehaviour, check_robot, sample_problems
from aquamend.testing.robot_check import NEVER_CAUGHT, NO_STOP, NO_VERIFY

PROBLEM = sample_problems()[0]
SHORT_S = 0.05
"""For what never comes, where nothing else is said of what comes late."""
LONG_S = 1.0
"""For what never comes, where a thread has to begin before that."""


class MovesOnElsewhere(Failure):
    """It moves until it is stopped, wherever it is not the test itself that waits for it."""

    def happens(self, act, do):
        if threading.current_thread() is threading.main_thread():
            return do()
        return act.failed("it was stopped half-way") if do.wait(math.inf) else do()


class Robot(FakeRobot):
    """One that takes its time where it is to be stopped, and stops at once unless said otherwise."""

    made: ClassVar[list[FakeRobot]] = []

    def __init__(self, *failures, stops=StopBehaviour.AT_ONCE, **options):
        slow = failures or [MovesOnElsewhere(kind, times=math.inf) for kind in ("measure", "undo", "redo", "finish")]
        super().__init__(PROBLEM, truth="water added", failures=slow, stops=stops, **options)
        self.made.append(self)


@pytest.fixture(autouse=True)
def nothing_is_left_hanging():
    yield
    for robot in Robot.made:
        robot.let_go()
    Robot.made.clear()


def moving(robot):
    return robot.moving


def fault(make, **options):
    with pytest.raises(RobotFault) as message:
        check_robot(make, [], **{"stop_s": PATIENCE_S, "moving": moving, **options})
    return str(message.value)


def test_a_robot_that_stops_is_stopped_in_every_kind_of_act_that_moves():
    check = check_robot(Robot, [], moving=moving, stop_s=PATIENCE_S)
    assert check.stopped >= 4  # a probe, undoing, doing again, finishing; the restart is too quick for that
    assert check.lacks == ()
    assert all(not robot.moving and robot.motions.at_once == () for robot in Robot.made)


def test_a_recovery_goes_on_after_an_act_was_stopped():
    check = check_robot(Robot, [], moving=moving, stop_s=PATIENCE_S)
    stopped = [robot for robot in Robot.made if any(motion.act not in robot.did for motion in robot.motions.all)]
    assert len(stopped) <= check.stopped
    assert all(str(robot.asked[-1]) in ("finish the task", "hand over to a person") for robot in stopped)


class HoldsElsewhere(Failure):
    """It is done and comes to rest, but the call takes until it is stopped."""

    def happens(self, act, do):
        receipt = do()
        if threading.current_thread() is not threading.main_thread():
            do.wait(math.inf)
        return receipt


def test_one_that_was_done_when_it_was_stopped_may_say_so():
    check = check_robot(lambda: Robot(HoldsElsewhere("undo: pour")), [], moving=moving, stop_s=PATIENCE_S)
    assert check.stopped >= 1


def test_harm_that_is_left_out_leaves_stopping_out_too():
    check = check_robot(Robot, [], harm=False)
    assert (check.stopped, check.lacks) == (0, ())


def test_a_robot_without_stop_or_verify_is_sound_and_hears_what_that_costs():
    check = check_robot(lambda: FakeRobot(PROBLEM, truth="water added", verifies=False), [])
    assert check.lacks == (NO_STOP, NO_VERIFY)
    assert "is in doubt" in NO_STOP
    assert "a person" in NO_VERIFY
    assert check_robot(lambda: FakeRobot(PROBLEM, truth="water added"), []).lacks == (NO_STOP,)


def test_a_robot_too_quick_to_be_stopped_hears_that():
    class Quick(FakeRobot):
        def stop(self, act):
            return None

    assert check_robot(lambda: Quick(PROBLEM, truth="water added"), []).lacks == (NEVER_CAUGHT,)


@pytest.mark.parametrize(
    ("stops", "stop_s", "message"),
    [
        (StopBehaviour.LIES, PATIENCE_S, "says that 'look' is stopped, and still moves"),
        (StopBehaviour.HANGS, SHORT_S, "has not returned from stop() of 'look' within 0.05 s; return None"),
        (StopBehaviour.LATE, SHORT_S, "has not returned from stop() of 'look' within 0.05 s; return None"),
        (
            StopBehaviour.SAYS_NOTHING,
            LONG_S,
            "does not stop 'look': stop() has returned no receipt within 1 s, and the act",
        ),
        (StopBehaviour.RAISES, LONG_S, "does not stop 'look'"),
    ],
    ids=str,
)
def test_each_way_not_to_stop_is_reported(stops, stop_s, message):
    assert message in fault(lambda: Robot(stops=stops), stop_s=stop_s)


def test_a_lie_is_found_without_a_witness_too():
    message = fault(lambda: Robot(stops=StopBehaviour.LIES), moving=None, stop_s=LONG_S)
    assert "says that 'look' is stopped, but the call for it goes on for 1 s after that" in message
    assert "return from stop() once nothing moves any more, or return None" in message


@pytest.mark.parametrize("kind", ["measure", "undo", "redo", "finish"])
def test_every_kind_of_act_is_checked(kind):
    message = fault(lambda: Robot(MovesOnElsewhere(kind, times=math.inf), stops=StopBehaviour.LIES))
    first = {"measure": "look", "undo": "undo: pour", "redo": "redo: grasp", "finish": "finish the task"}[kind]
    assert f"says that '{first}' is stopped" in message


def stopping(stop):
    """Return a robot that stops as it should, and then says this instead."""

    class StopBehaviour(Robot):
        def __init__(self):
            super().__init__()
            honest = self.stop
            self.stop = lambda act: stop(self, act, honest)

    return StopBehaviour


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (
            lambda robot, act, honest: honest(act) or act.failed("nothing to stop"),
            "when 'look' is stopped before it has begun; the call for it may be on its way, so return None",
        ),
        (lambda robot, act, honest: honest(act) and "stopped", "is no receipt"),
        (lambda robot, act, honest: honest(act) and replace(act.done("high"), what="other"), "a receipt of 'other'"),
        (
            lambda robot, act, honest: honest(act) and act.done("high"),
            "says of 'look' when it is stopped that it was done, and in the receipt of the act itself that it was not",
        ),
        (lambda robot, act, honest: {}["missing"], "raises KeyError('missing') when it is to stop 'look'"),
    ],
)
def test_what_stop_returns_has_to_be_so(stop, message):
    assert message in fault(stopping(stop))


def test_a_stop_that_was_not_done_has_to_be_verified_as_not_done():
    class Forgetful(Robot):
        def __init__(self):
            super().__init__(MovesOnElsewhere("undo", times=math.inf))
            honest = self.verify
            self.verify = lambda act: act.done() if self._stopped(act) else honest(act)

        def _stopped(self, act):
            return bool(self._doings) and self._doings[-1].act == act and self._doings[-1].stopped

    message = fault(Forgetful)
    assert "verifies 'undo: pour' as done, which was stopped and is not done" in message


def test_a_programming_error_of_an_act_that_was_stopped_is_reported():
    class Crashes(Failure):
        def happens(self, act, do):
            if threading.current_thread() is not threading.main_thread():
                do.wait(math.inf)
                raise ZeroDivisionError("stopped")
            return do()

    assert "raises ZeroDivisionError('stopped') at 'undo: pour'" in fault(lambda: Robot(Crashes("undo")))


def test_an_act_that_was_stopped_may_raise_what_a_robot_runs_into():
    class Aborts(Failure):
        def happens(self, act, do):
            if threading.current_thread() is not threading.main_thread() and do.wait(math.inf):
                raise ConnectionAbortedError("stopped")
            return do()

    assert check_robot(lambda: Robot(Aborts("undo", times=math.inf)), [], moving=moving, stop_s=PATIENCE_S).stopped == 1


def test_after_a_fault_the_robot_is_not_asked_for_anything_else():
    fault(lambda: Robot(stops=StopBehaviour.LIES))
    assert [str(act) for act in Robot.made[-1].asked] == ["look"]


# asyncio


class Coroutines:
    """The same robot for asyncio, moving in the event loop."""

    def __init__(self, *, lies=False):
        self.robot, self.lies = FakeRobot(PROBLEM, truth="water added"), lies
        self.moving: dict[str, asyncio.Event] = {}

    async def alarm(self):
        return self.robot.alarm()

    async def measure(self, step):
        return await self._moved(self.robot.measure, step)

    async def perform(self, act):
        return await self._moved(self.robot.perform, act)

    async def verify(self, act):
        return self.robot.verify(act)

    async def _moved(self, call, act):
        if not isinstance(act, Measure | Undo | Redo | Finish) or str(act) != self.slow:
            return call(act)
        stopped = self.moving[str(act)] = asyncio.Event()
        await stopped.wait()
        del self.moving[str(act)]
        return act.failed("it was stopped half-way")

    slow = ""

    async def stop(self, act):
        if str(act) not in self.moving:
            type(self).slow = str(act)  # only what is about to be stopped takes its time
            return None
        type(self).slow = ""
        if not self.lies:
            self.moving[str(act)].set()
            while str(act) in self.moving:
                await asyncio.sleep(0)
        return act.failed("it was stopped half-way")


@pytest.fixture
def coroutines():
    yield Coroutines
    Coroutines.slow = ""


def test_a_robot_for_asyncio_is_stopped_in_its_event_loop(coroutines):
    check = check_robot(coroutines, [], moving=lambda robot: bool(robot.moving), stop_s=PATIENCE_S)
    assert check.stopped == 4
    assert check.lacks == ()


def test_one_that_lies_is_told_apart(coroutines):
    message = fault(lambda: coroutines(lies=True), moving=lambda robot: bool(robot.moving))
    assert "is stopped, and still moves" in message
    Coroutines.slow = ""
    assert "but the call for it goes on" in fault(lambda: coroutines(lies=True), moving=None, stop_s=LONG_S)
