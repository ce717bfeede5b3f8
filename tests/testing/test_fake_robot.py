"""A fake robot answers by the model, and fails in every way that it is told to."""

import asyncio
import math
import random
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.tiers import cases
from tests.waiting import PATIENCE_S

from aquamend.belief import InformationState
from aquamend.decision import Continue, Escalate, Reprobe, RollBack
from aquamend.errors import AquaMendError, UnknownName
from aquamend.problem.model import Alarm
from aquamend.recovery import (
    UNATTENDED,
    Declare,
    Ending,
    Finish,
    Follow,
    HandOver,
    Measure,
    MemoryLog,
    Redo,
    Rules,
    Session,
    Stoppable,
    Undo,
    Verifying,
    drive,
    drive_async,
    recover,
    recover_async,
    recovered,
    resume,
)
from aquamend.testing import (
    AlarmsAgain,
    Dies,
    Fails,
    Failure,
    FakeRobot,
    HoldsReceipt,
    LosesReceipt,
    NeverAnswers,
    PartlyDone,
    Raises,
    SaysNothing,
    StopBehaviour,
    TimesOut,
    check_robot,
    sample_problems,
)

PROBLEM = sample_problems()[0]
UNDO = Undo("pour", ("pour",), cost=5.0)


def nothing_moved_twice(fake):
    """Check what a fake robot did once its recovery has ended, also after everything stuck has come loose."""
    fake.let_go()
    fake.motions.wait_until_still(timeout_s=PATIENCE_S)
    assert fake.motions.at_once == ()
    assert fake.motions.after_the_end == ()


class Corrects:
    """Correct the target, whatever was found."""

    def next_step(self, state):
        return RollBack(("target",), state.problem.graph.closure(["target"]))


def robot(*failures, **options):
    return FakeRobot(PROBLEM, truth="water added", failures=failures, **options)


def texts(acts):
    return [str(act) for act in acts]


def test_without_failures_everything_is_done():
    fake = robot()
    recovery = recover(Corrects(), fake)
    assert recovery.ending is Ending.FINISHED
    assert texts(fake.asked) == texts(fake.did)
    assert texts(fake.did) == [
        "undo: pour",
        "undo: grasp",
        "declare: target",
        "redo: grasp",
        "redo: pour",
        "finish the task",
    ]


def test_the_same_seed_gives_the_same_robot_and_another_one_another():
    def drawn(seed):
        fake = FakeRobot(PROBLEM, seed=seed)
        return fake.truth, fake.measure(Measure("look")).finding

    assert drawn(3) == drawn(3)
    assert len({drawn(seed) for seed in range(20)}) > 2


def test_a_truth_that_is_no_hypothesis_is_refused():
    with pytest.raises(UnknownName, match="unknown hypothesis 'sabotage'; valid names: 'nothing'"):
        FakeRobot(PROBLEM, truth="sabotage")


def test_it_can_start_from_a_state():
    state = InformationState.alarmed(PROBLEM)
    assert FakeRobot(state).alarm() is state


@pytest.mark.parametrize(
    "act",
    [
        Measure("sniff"),
        Undo("sniff", ()),
        Undo("grasp", ("sniff",)),
        Declare("sniff"),
        Redo("sniff"),
        Follow("sniff"),
        Finish(("sniff",)),
    ],
    ids=str,
)
def test_what_the_problem_does_not_have_is_refused(act):
    fake = robot()
    with pytest.raises(UnknownName, match="'sniff'"):
        fake.measure(act) if isinstance(act, Measure) else fake.perform(act)
    assert fake.asked == []


def test_what_it_has_is_not():
    for act in (UNDO, Declare("target", "B"), Redo("pour"), Follow("restart"), Finish(("pour",)), HandOver()):
        assert robot().perform(act).succeeded


@pytest.mark.parametrize("what", ["undo: pour", "undo", "pour"])
def test_a_failure_is_reported_by_text_kind_or_name(what):
    assert not robot(Fails(what)).perform(UNDO).succeeded
    assert robot(Fails(what)).perform(Undo("grasp", ("grasp",))).succeeded is (what != "undo")


def test_a_declaration_is_reported_without_its_value():
    assert not robot(Fails("declare: target")).perform(Declare("target", "B")).succeeded


def test_how_often_and_from_when_on():
    fake = robot(Fails("pour", times=2, after=1))
    assert [fake.perform(UNDO).succeeded for _ in range(5)] == [True, False, False, True, True]


def test_of_two_failures_the_first_happens():
    fake = robot(Fails("pour", why="first"), Fails("undo", times=2, why="second"))
    assert [fake.perform(UNDO).finding for _ in range(3)] == ["first", "second", None]


def test_a_failed_act_is_tried_again():
    fake = robot(Fails("undo: pour"))
    assert recover(Corrects(), fake).ending is Ending.FINISHED
    assert texts(fake.asked).count("undo: pour") == 2
    assert texts(fake.did).count("undo: pour") == 1


def test_what_cannot_be_done_is_not_tried_for_ever_whoever_insists_on_it():
    fake = robot(Fails("undo: pour", times=math.inf))
    recovery = recover(Corrects(), fake, rules=Rules(attempts=3))
    assert recovery.ending is Ending.HANDED_OVER
    assert texts(fake.asked).count("undo: pour") == 4


def test_an_alarm_in_a_problem_without_any_is_noted_and_no_evidence():
    problem = replace(PROBLEM, model=replace(PROBLEM.model, alarm=None))
    fake = FakeRobot(problem, failures=[AlarmsAgain("undo: pour")])
    recovery = recover(Corrects(), fake)
    assert (recovery.ending, recovery.state.alarms) == (Ending.FINISHED, 0)


def test_a_probe_that_never_answers_leads_to_another_decision():
    fake = robot(NeverAnswers("look"), NeverAnswers("weigh"))
    recovery = recover("aquamend", fake)
    assert recovery.ending is not None
    assert recovery.evidence == ()


def test_partly_done_says_which_part():
    receipt = robot(PartlyDone("pour")).perform(UNDO)
    assert [part.succeeded for part in receipt.parts] == [True, False]
    assert (receipt.succeeded, receipt.cost) == (False, 5.0)


@pytest.mark.parametrize("failure", [Raises("undo: pour"), LosesReceipt("undo: pour")], ids=lambda f: type(f).__name__)
def test_a_robot_that_verifies_goes_on_where_another_hands_over(failure):
    verifying, other = robot(failure), robot(failure, verifies=False)
    assert isinstance(verifying, Verifying)
    assert not isinstance(other, Verifying)
    assert recover(Corrects(), verifying).ending is Ending.FINISHED
    assert recover(Corrects(), other).ending is Ending.HANDED_OVER
    assert texts(verifying.did).count("undo: pour") == 1


def test_an_error_of_ones_own_is_raised():
    with pytest.raises(PermissionError, match="no"):
        robot(Raises("pour", PermissionError("no"))).perform(UNDO)


def test_what_takes_too_long_is_in_doubt_and_nothing_else_is_begun():
    fake = robot(TimesOut("undo: pour", math.inf))
    recovery = recover(Corrects(), fake, rules=Rules(timeout_s=0.05))
    fake.motions.close()
    assert recovery.ending is Ending.STOPPED, "while it is under way, there is no telling"
    assert "within 0.05 s" in recovery.receipts[0].finding
    assert texts(fake.asked) == ["undo: pour"]
    nothing_moved_twice(fake)
    assert robot(TimesOut("undo: pour", 0.0)).perform(UNDO).succeeded


def test_another_alarm_is_evidence_where_the_model_says_so():
    again = Alarm(
        {"nothing": 0.2, "water added": 0.9, "camera off": 0.7}, again=dict.fromkeys(PROBLEM.model.names, 0.5)
    )
    problem = replace(PROBLEM, model=replace(PROBLEM.model, alarm=again))
    fake = FakeRobot(problem, truth="nothing", failures=[AlarmsAgain("look")])
    assert fake.measure(Measure("look")).alarm

    class Looks:
        def next_step(self, state):
            return Continue() if state.evidence else Reprobe("look")

    recovery = recover(Looks(), FakeRobot(problem, truth="nothing", failures=[AlarmsAgain("look")]))
    assert recovery.state.alarms == 2


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("verifies", [False, True])
def test_a_program_that_dies_is_resumed(done, verifies):
    fake, log = robot(Dies("undo: pour", done), verifies=verifies), MemoryLog()
    with pytest.raises(SystemExit, match="undo: pour"):
        recover(Corrects(), fake, journal=log, session="s", rules=UNATTENDED)
    recovery = resume(log, "s", fake, policy=Corrects())
    assert recovery.ending is (Ending.FINISHED if verifies else Ending.HANDED_OVER)
    assert texts(fake.did).count("undo: pour") == (1 if verifies or done else 0)


def test_a_failure_of_ones_own():
    class Sticky(Failure):
        def happens(self, act, do):
            return replace(do(), cost=act.cost + 1.0)

    assert robot(Sticky("pour")).perform(UNDO).cost == 6.0


def test_an_act_of_the_same_name_that_was_done_before_is_not_taken_for_this_one():
    fake = robot()
    fake.perform(UNDO)
    assert fake.verify(UNDO).succeeded
    fake.perform(Redo("pour"))
    assert not fake.verify(UNDO).succeeded


def test_it_judges():
    assert not recovered(Corrects(), robot(Fails("undo: pour", times=math.inf))).verdict.success
    assert recovered(Corrects(), FakeRobot(PROBLEM, truth="nothing")).verdict.success


# Stopping


STUCK = TimesOut("undo: pour", math.inf)
QUICK_S = 0.02
"""For what is never over by itself: it may be as short as you like."""
NOT_STOPPED = (StopBehaviour.SAYS_NOTHING, StopBehaviour.RAISES, StopBehaviour.HANGS, None)


class CorrectsOrCalls:
    """Correct the target; if that fails, call a person, who is the only one that does not time out."""

    def __init__(self):
        self.asked = 0

    def next_step(self, state):
        self.asked += 1
        return Corrects().next_step(state) if self.asked == 1 else Escalate()


class Awaited:
    """A fake robot for asyncio: each call waits in a thread, and one that is cancelled sets the act free."""

    def __init__(self, fake):
        self.fake = fake
        for name in ("measure", "perform", "verify", "stop"):
            if hasattr(fake, name):
                setattr(self, name, self._awaiting(getattr(fake, name)))

    async def alarm(self):
        return self.fake.alarm()

    def _awaiting(self, call):
        async def awaited(act):
            try:
                return await asyncio.to_thread(call, act)
            except asyncio.CancelledError:
                self.fake.let_go()
                raise

        return awaited


def through(driver, policy, fake, **options):
    """Recover by the loop or in an event loop; what hangs is let go before that is left."""

    async def run():
        try:
            return await recover_async(policy, Awaited(fake), **options)
        finally:
            fake.motions.close()
            fake.let_go()

    if driver == "asyncio":
        return asyncio.run(run())
    recovery = recover(policy, fake, **options)
    fake.motions.close()
    return recovery


DRIVERS = pytest.mark.parametrize("driver", ["loop", "asyncio"])
VERIFYING = pytest.mark.parametrize("verifies", [False, True])


def hurried(how):
    """Rules by which only what is stuck is late."""
    hangs = how in (StopBehaviour.HANGS, StopBehaviour.LATE)
    return replace(UNATTENDED, timeouts={"pour": QUICK_S}, stop_s=QUICK_S if hangs else PATIENCE_S)


def test_it_can_stop_where_it_is_said_how():
    assert isinstance(robot(stops=StopBehaviour.AT_ONCE), Stoppable)
    assert not isinstance(robot(), Stoppable)


@DRIVERS
@VERIFYING
def test_an_act_that_is_stopped_is_decided_upon_again(driver, verifies):
    fake = robot(STUCK, stops=StopBehaviour.AT_ONCE, verifies=verifies)
    recovery = through(driver, CorrectsOrCalls(), fake, rules=hurried(StopBehaviour.AT_ONCE))
    assert recovery.ending is Ending.HANDED_OVER
    assert texts(fake.asked) == ["undo: pour", "hand over to a person"]
    assert recovery.receipts[0].finding == "it was stopped half-way"
    assert fake.did == fake.asked[1:]
    nothing_moved_twice(fake)


@VERIFYING
@pytest.mark.parametrize("how", NOT_STOPPED, ids=str)
def test_an_act_that_cannot_be_stopped_is_the_last_one(how, verifies):
    fake = robot(STUCK, stops=how, verifies=verifies)
    recovery = through("loop", CorrectsOrCalls(), fake, rules=hurried(how))
    assert recovery.ending is Ending.STOPPED
    assert texts(fake.asked) == ["undo: pour"], "not even a hand-over is begun while it may still move"
    assert texts(fake.motions.under_way) == ["undo: pour"]
    nothing_moved_twice(fake)


@VERIFYING
@pytest.mark.parametrize("how", [how for how in NOT_STOPPED if how is not None], ids=str)
def test_the_same_holds_in_an_event_loop(how, verifies):
    fake = robot(STUCK, stops=how, verifies=verifies)
    recovery = through("asyncio", CorrectsOrCalls(), fake, rules=hurried(how))
    assert recovery.ending is Ending.STOPPED
    assert texts(fake.asked) == ["undo: pour"]
    nothing_moved_twice(fake)


@DRIVERS
def test_a_receipt_that_comes_after_its_act_was_stopped_changes_nothing(driver):
    fake = robot(HoldsReceipt("undo: pour"), stops=StopBehaviour.AT_ONCE)
    recovery = through(driver, CorrectsOrCalls(), fake, rules=hurried(StopBehaviour.AT_ONCE))
    assert recovery.ending is Ending.FINISHED
    assert texts(fake.asked).count("undo: pour") == 1, "stop() has said that it was done by then"
    receipts = recovery.receipts
    nothing_moved_twice(fake)
    assert recovery.receipts == receipts


@DRIVERS
def test_a_receipt_kept_back_and_verified_is_not_waited_for(driver):
    fake = robot(HoldsReceipt("undo: pour"), stops=StopBehaviour.SAYS_NOTHING)
    recovery = through(driver, CorrectsOrCalls(), fake, rules=hurried(StopBehaviour.SAYS_NOTHING))
    assert recovery.ending is Ending.FINISHED
    assert texts(fake.asked).count("undo: pour") == 1
    nothing_moved_twice(fake)


@DRIVERS
@VERIFYING
def test_a_stop_whose_own_receipt_is_late_lets_nothing_move_meanwhile(driver, verifies):
    fake = robot(STUCK, stops=StopBehaviour.LATE, verifies=verifies)
    recovery = through(driver, CorrectsOrCalls(), fake, rules=hurried(StopBehaviour.LATE))
    assert recovery.ending in (Ending.STOPPED, Ending.HANDED_OVER)  # whether verifying was quick enough
    assert texts(fake.motions.all and [motion.act for motion in fake.motions.all]) == ["undo: pour"]
    nothing_moved_twice(fake)


@DRIVERS
@VERIFYING
def test_a_robot_that_says_nothing_is_verified_or_handed_over(driver, verifies):
    fake = robot(SaysNothing("undo: pour"), stops=StopBehaviour.AT_ONCE, verifies=verifies)
    recovery = through(driver, CorrectsOrCalls(), fake, rules=UNATTENDED)
    assert recovery.ending is (Ending.FINISHED if verifies else Ending.HANDED_OVER)
    assert texts(fake.did).count("undo: pour") == 1
    nothing_moved_twice(fake)


@DRIVERS
def test_a_robot_that_lies_about_stopping_is_seen_to_move_twice(driver):
    class Goes(CorrectsOrCalls):
        def next_step(self, state):
            step = super().next_step(state)
            return Continue() if isinstance(step, Escalate) else step

    fake = robot(STUCK, stops=StopBehaviour.LIES)
    through(driver, Goes(), fake, rules=hurried(StopBehaviour.LIES))
    fake.let_go()
    assert texts(fake.motions.at_once[0]) == ["undo: pour", "finish the task"]


def driven(fake, session):
    """Drive a session in another thread; return the thread."""
    thread = threading.Thread(target=drive, args=(session, fake), daemon=True)
    thread.start()
    return thread


def begun(fake):
    return Session.begin(fake.alarm(), CorrectsOrCalls(), rules=UNATTENDED)


def test_calling_a_recovery_off_stops_what_moves_and_begins_nothing_else():
    fake = robot(STUCK, stops=StopBehaviour.AT_ONCE)
    thread = driven(fake, session := begun(fake))
    fake.motions.wait_for("undo: pour", timeout_s=PATIENCE_S)
    session.cancel("the shift is over")
    thread.join(timeout=PATIENCE_S)
    fake.motions.close()
    assert session.recovery.ending is Ending.CANCELLED
    assert not fake.moving
    assert texts(fake.asked) == ["undo: pour"]
    nothing_moved_twice(fake)


@pytest.mark.parametrize("how", [None, StopBehaviour.SAYS_NOTHING], ids=str)
def test_where_it_cannot_be_stopped_whoever_calls_it_off_has_to_wait_for_its_end(how):
    fake = robot(STUCK, stops=how)
    rules = replace(UNATTENDED, timeout_s=PATIENCE_S)  # a thread of its own also for a robot without stop()
    session = Session.begin(fake.alarm(), CorrectsOrCalls(), rules=rules)
    thread = driven(fake, session)
    fake.motions.wait_for("undo: pour", timeout_s=PATIENCE_S)
    session.cancel("the shift is over")
    assert session.recovery.ending is None
    fake.let_go()
    thread.join(timeout=PATIENCE_S)
    assert session.recovery.ending is Ending.CANCELLED
    assert texts(fake.did) == ["undo: pour"]
    nothing_moved_twice(fake)


def test_an_alarm_in_the_middle_of_an_act_stops_it_before_anything_else_begins():
    again = Alarm(
        {"nothing": 0.2, "water added": 0.9, "camera off": 0.7}, again=dict.fromkeys(PROBLEM.model.names, 0.5)
    )
    problem = replace(PROBLEM, model=replace(PROBLEM.model, alarm=again))
    fake = FakeRobot(problem, truth="water added", failures=[STUCK], stops=StopBehaviour.AT_ONCE)
    thread = driven(fake, session := begun(fake))
    fake.motions.wait_for("undo: pour", timeout_s=PATIENCE_S)
    session.alarm()
    thread.join(timeout=PATIENCE_S)
    fake.motions.close()
    assert session.recovery.state.alarms == 2
    assert texts(fake.asked) == ["undo: pour", "hand over to a person"]
    nothing_moved_twice(fake)


def anything(dice):
    """Return a fake robot at which anything may go wrong but that it does not lie."""
    acts = ["undo", "redo", "finish", "measure", "pour", "grasp", "declare"]
    ways = [lambda what: TimesOut(what, math.inf), HoldsReceipt, SaysNothing, Raises, LosesReceipt, Fails, AlarmsAgain]
    failures = [dice.choice(ways)(what) for what in dice.sample(acts, dice.randrange(4))]
    stops = dice.choice([how for how in StopBehaviour if how is not StopBehaviour.LIES] + [None])
    return FakeRobot(
        dice.choice(sample_problems()), seed=dice.randrange(99), failures=failures, verifies=dice.random() < 0.5,
        stops=stops,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(cases(40, 1000)))
def test_whatever_goes_wrong_and_whoever_interrupts_nothing_moves_twice(seed):
    dice = random.Random(seed)
    fake = anything(dice)
    rules = replace(UNATTENDED, attempts=2, decisions=30, timeout_s=0.01, stop_s=0.01)
    log = MemoryLog() if dice.random() < 0.5 else None
    session = Session.begin(fake.alarm(), "aquamend", log=log, name="s", rules=rules, attended=False)
    interruptions = [dice.choice([session.alarm, session.cancel, lambda: session.interrupt("look here")])] * 2
    timer = threading.Timer(dice.random() * 0.03, lambda: [suppressed(interrupt) for interrupt in interruptions])
    timer.start()
    if dice.random() < 0.5:
        recovery = drive(session, fake)
    else:

        async def run():
            try:
                return await drive_async(session, Awaited(fake))
            finally:
                fake.motions.close()
                fake.let_go()

        recovery = asyncio.run(run())
    fake.motions.close()
    timer.join(timeout=PATIENCE_S)
    assert recovery.ending is not None
    nothing_moved_twice(fake)


def suppressed(call):
    """Call what may come too late."""
    with suppress(AquaMendError):
        call()


FAILURES = [
    Fails("undo"), PartlyDone("redo"), LosesReceipt("finish"), NeverAnswers("look"), LosesReceipt("declare", times=2),
    Fails("restart", times=math.inf), AlarmsAgain("weigh"), Fails("hand over"),
]  # fmt: skip


EACH = [(f, also) for k, f in enumerate(FAILURES) for also in (False, True) if (k + also) % cases(2, 1) == 0]
"""Each failure with and without verification; in the quick tier with one of the two."""


@pytest.mark.parametrize(("failure", "verifies"), EACH, ids=str)
def test_whatever_fails_the_contract_is_kept(failure, verifies):
    def make():
        return FakeRobot(sample_problems()[-1], seed=2, failures=[failure], verifies=verifies)

    assert check_robot(make, [], harm=verifies).recoveries > 3
