"""Drivers with scripted robots and policies: what leads to which decision, and that it always ends."""

import asyncio
import math
import threading
import time
from dataclasses import replace

import pytest
from tests.waiting import PATIENCE_S

from aquamend.belief import InformationState, Observation
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError, BadStep, ForeignSession, IllegalProbe
from aquamend.files import problem_to_data
from aquamend.policies import AquaMend, Certified
from aquamend.problem.model import Discrete
from aquamend.recovery import (
    UNATTENDED,
    Charge,
    Ending,
    Journal,
    MemoryLog,
    Receipt,
    Rules,
    Session,
    approve,
    charged,
    drive,
    recover,
    recover_async,
    resume,
    resume_async,
    settle,
)
from aquamend.recovery.events import AlarmedAgain, Asked, Decided, Done, Intended, Lost, Resumed, Stopping, Unknown

UNASKED = Rules(ask_before_handing_over=False, probes_move=False)
CORRECT_LEVEL = RollBack(("level",), declare=(NewDeclaration("level", 40.0),))


def test_measures_then_decides_and_carries_it_out(scripted, table):
    robot = scripted.Scripted(table(), {"weigh": ["40"]})
    recovery = recover(scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL]), robot)
    assert recovery.ending is Ending.FINISHED
    assert robot.did == [
        "weigh", "undo: clear", "undo: back", "declare: level = 40", "redo: move", "finish the task",
    ]  # fmt: skip
    assert recovery.evidence == (Observation("weigh", "40"),)
    assert recovery.undone == ("move",)
    assert recovery.corrected == ("level",)
    assert [charged(recovery.receipts, charge) for charge in Charge] == [1.0, 1.25, 0.0, 0.0]
    assert recovery.cost == 2.25


def test_what_was_measured_for_the_alarm_is_charged(scripted, table):
    state = table().after(Observation("look", "gone"))
    recovery = recover(scripted.Steps([Continue()]), scripted.Scripted(state))
    assert charged(recovery.receipts, Charge.SENSING) == 0.5
    assert recovery.evidence == ()


def test_an_answer_that_never_came_is_charged_and_uses_the_probe_up(scripted, table):
    robot = scripted.Scripted(table(sensing_budget=5.0), script={"weigh": [scripted.fails(), scripted.fails()]})
    policy = scripted.Steps([Reprobe("weigh"), Reprobe("weigh"), Continue()])
    recovery = recover(policy, robot)
    assert recovery.ending is Ending.FINISHED
    assert recovery.cost == 2.0
    assert recovery.evidence == ()
    lefts = [(state.probe("weigh").uses_left, round(state.budget_left, 6)) for state in policy.saw]
    assert lefts == [(2, 5.0), (1, 4.0), (0, 3.0)]


def test_a_probe_without_a_limit_is_given_up_after_so_many_attempts(scripted, table):
    robot = scripted.Scripted(table(), script={"look": [scripted.fails()] * 2})
    policy = scripted.Steps([Reprobe("look"), Reprobe("look"), Continue()])
    recover(policy, robot, rules=Rules(attempts=2))
    assert policy.saw[2].why_illegal("look")


def test_an_answer_that_is_no_outcome_speaks_against_the_model(scripted, table):
    robot = scripted.Scripted(table(), {"look": ["maybe"]})
    policy = scripted.Steps([Reprobe("look"), Continue()])
    recovery = recover(policy, robot)
    assert recovery.evidence == (Observation("look", "maybe"),)
    assert policy.saw[1].contradiction == Observation("look", "maybe")
    assert policy.saw[1].attribution["unknown"] == 1.0
    assert recovery.receipts[0].finding == "maybe"


def test_after_a_surprising_answer_a_person_has_to_allow_what_cannot_be_undone(scripted, table, tmp_path):
    rare = {name: [1.0 - 1e-5, 1e-5] for name in ("nothing", "moved", "added")}
    state = table(reversible=False)
    kernels = {**state.problem.model.kernels, "look": Discrete(["there", "gone"], rare)}
    state = InformationState.alarmed(replace(state.problem, model=replace(state.problem.model, kernels=kernels)))
    policy = scripted.Steps([Reprobe("look"), Continue()])
    robot = scripted.Scripted(state, {"look": ["gone"]})
    rules = Rules(ask_before_irreversible=False)
    waits = recover(policy, robot, journal=Journal(tmp_path / "j.db"), rules=rules, wait_s=0.0)
    assert str(waits.asked) == "finish the task"
    assert "finish the task" not in robot.did
    usual = scripted.Scripted(state, {"look": ["there"]})
    again = scripted.Steps([Reprobe("look"), Continue()])
    ended = recover(again, usual, journal=Journal(tmp_path / "k.db"), rules=rules, wait_s=0.0)
    assert ended.ending is Ending.FINISHED


def test_after_a_surprising_answer_nothing_irreversible_begins_where_nobody_can_be_asked(scripted, table):
    rare = {name: [1.0 - 1e-5, 1e-5] for name in ("nothing", "moved", "added")}
    state = table(reversible=False)
    kernels = {**state.problem.model.kernels, "look": Discrete(["there", "gone"], rare)}
    state = InformationState.alarmed(replace(state.problem, model=replace(state.problem.model, kernels=kernels)))
    robot = scripted.Scripted(state, {"look": ["gone"]})
    rules = Rules(ask_before_irreversible=False)
    recovery = recover(scripted.Steps([Reprobe("look"), Continue()]), robot, rules=rules)
    assert recovery.ending is Ending.STOPPED
    assert "surprising" in recovery.reason
    assert robot.did == ["look"]


def test_an_undo_that_did_not_take_leads_to_another_decision(scripted, table):
    robot = scripted.Scripted(table(), script={"undo: back": [scripted.fails()]})
    policy = scripted.Steps([CORRECT_LEVEL, Continue()])
    recovery = recover(policy, robot)
    after = policy.saw[1].problem.graph
    assert [action.name for action in after.executed] == ["grasp", "lift", "move"]
    assert after.rollback_cost(["move"]) == 0.25  # the shared operation is done, the other is not
    assert after.rollback_cost(["lift"]) == 0.5
    assert recovery.undone == ()
    assert robot.did[-1] == "finish the task"


def test_what_was_undone_is_undone_for_the_next_decision(scripted, table):
    robot = scripted.Scripted(table(), script={"declare: level = 40": [scripted.fails()]})
    policy = scripted.Steps([CORRECT_LEVEL, CORRECT_LEVEL])
    recovery = recover(policy, robot)
    assert [action.name for action in policy.saw[1].problem.graph.executed] == ["grasp", "lift"]
    assert robot.did == [
        "undo: clear", "undo: back", "declare: level = 40", "declare: level = 40", "redo: move", "finish the task",
    ]  # fmt: skip
    assert recovery.undone == ("move",)


def test_what_was_declared_is_believed_at_the_next_decision(scripted, table):
    robot = scripted.Scripted(table(), {"weigh": ["40"]}, {"redo: move": [scripted.fails()]})
    policy = scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL, Continue()])
    recover(policy, robot)
    before, after = policy.saw[1], policy.saw[2]
    wrong = before.posterior[before.problem.model.hypothesis_index["added"]]
    assert before.failure_probabilities[1] == pytest.approx(wrong)
    assert after.failure_probabilities[1] == pytest.approx(1 - wrong)
    declaration = after.problem.declarations[1]
    assert (declaration.value, declaration.version, declaration.support) == (40.0, 2, ("weigh",))
    assert robot.did[-2:] == ["redo: move", "finish the task"]
    with pytest.raises(AquaMendError, match="'level' was declared again by a recovery under way"):
        problem_to_data(after.problem)  # no file can say it


def test_an_assured_correction_is_right(scripted, table):
    robot = scripted.Scripted(table(), script={"redo: move": [scripted.fails()]})
    policy = scripted.Steps([RollBack(("cup",)), Continue()])
    recover(policy, robot)
    assert policy.saw[1].failure_probabilities[0] == 0.0


def test_an_operation_that_always_fails_counts_as_impossible(scripted, table):
    robot = scripted.Scripted(table(), script={"undo: back": [scripted.fails()] * 9})
    recovery = recover(AquaMend(), robot, rules=Rules(attempts=2))
    assert recovery.ending is not None
    assert robot.did.count("undo: back") <= 2


def test_a_plan_that_always_fails_is_no_option_any_more(scripted, table):
    robot = scripted.Scripted(table(), script={"restart": [scripted.fails()] * 2})
    policy = scripted.Steps([Restart(), Restart(), Continue()])
    recover(policy, robot, rules=Rules(attempts=2))
    assert policy.saw[1].problem.restart_plan is not None
    assert policy.saw[2].problem.restart_plan is None


@pytest.mark.parametrize("act", ["finish the task", "redo: move", "declare: level = 40"])
def test_what_no_other_way_replaces_is_handed_over_in_the_end(scripted, table, act):
    robot = scripted.Scripted(table(), script={act: [scripted.fails()] * 9})
    recovery = recover(scripted.Steps([CORRECT_LEVEL] * 9), robot, rules=Rules(attempts=3))
    assert recovery.ending is Ending.HANDED_OVER
    assert recovery.reason == f"{act}: failed 3 times"
    assert robot.did.count(act) == 3
    assert robot.did[-1] == "hand over to a person"


@pytest.mark.parametrize(
    "reply", [None, 7, Receipt(Charge.ROLLBACK, "x", -1.0), Receipt(Charge.ROLLBACK, "x", math.nan)]
)
def test_something_that_is_no_receipt_leaves_the_act_in_doubt(scripted, table, reply):
    robot = scripted.Scripted(table(), script={"undo: clear": [lambda act: reply]})
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot)
    assert recovery.ending is Ending.HANDED_OVER
    assert "nobody knows whether this was done: undo: clear" in recovery.reason
    assert robot.did.count("undo: clear") == 1


def test_an_act_that_raised_is_verified_through_the_robot(scripted, table):
    class Verifying(scripted.Scripted):
        def verify(self, act):
            return act.done("the arm is back")

    robot = Verifying(table(), script={"undo: clear": [scripted.raises(RuntimeError("bump"))]})
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot)
    assert recovery.ending is Ending.FINISHED
    assert robot.did.count("undo: clear") == 1
    assert recovery.receipts[0].finding == "the arm is back"


def test_a_robot_that_cannot_tell_is_handed_over(scripted, table):
    class Unsure(scripted.Scripted):
        def verify(self, act):
            return None

    robot = Unsure(table(), script={"undo: clear": [scripted.raises(RuntimeError("bump"))]})
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot)
    assert recovery.ending is Ending.HANDED_OVER
    assert recovery.receipts[0].finding == "in doubt: RuntimeError: bump"


def test_a_hand_over_that_fails_stops(scripted, table):
    robot = scripted.Scripted(table(), script={"hand over to a person": [scripted.fails("nobody there")] * 9})
    recovery = recover(scripted.Steps([Escalate()] * 9), robot)
    assert recovery.ending is Ending.STOPPED
    assert len(robot.did) == 3


def test_a_second_alarm_counts_where_the_model_says_how_likely_it_is(scripted, table):
    state = table(again={"nothing": 0.01, "moved": 0.9, "added": 0.9})
    robot = scripted.Scripted(state, script={"undo: clear": [lambda act: act.done(alarm=True)]})
    policy = scripted.Steps([CORRECT_LEVEL, Continue()])
    recovery = recover(policy, robot)
    assert recovery.state.alarms == 2
    assert policy.saw[1].posterior[0] < policy.saw[0].posterior[0] / 5
    assert robot.did == ["undo: clear", "redo: move", "finish the task"] or robot.did == [
        "undo: clear",
        "finish the task",
    ]


def test_a_second_alarm_is_refused_with_the_reason_where_it_does_not(scripted, table):
    robot = scripted.Scripted(table(), script={"undo: clear": [lambda act: act.done(alarm=True)]})
    log = MemoryLog()
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot, journal=log, session="s", rules=UNASKED)
    refused = [entry.event for entry in log.read("s") if isinstance(entry.event, AlarmedAgain)]
    assert len(refused) == 1
    assert "alarm.again" in refused[0].refused
    assert recovery.ending is Ending.FINISHED
    assert recovery.state.alarms == 1


def test_it_ends_even_if_every_act_raises_another_alarm(scripted, table):
    class Nervous(scripted.Scripted):
        def perform(self, act):
            return act.done(alarm=True)

    state = table(again={"nothing": 0.5, "moved": 0.5, "added": 0.5})
    recovery = recover(scripted.Steps([CORRECT_LEVEL] * 50), Nervous(state), rules=Rules(decisions=20))
    assert recovery.ending in (Ending.HANDED_OVER, Ending.STOPPED)


@pytest.mark.parametrize("wrong", ["nonsense", Reprobe("nobody"), RollBack(("nobody",)), None])
def test_a_policy_that_makes_no_sense_is_handed_over_or_raised(scripted, table, wrong):
    recovery = recover(scripted.Steps([wrong]), scripted.Scripted(table()))
    assert recovery.ending is Ending.HANDED_OVER
    assert recovery.reason.startswith("the policy failed: ")
    with pytest.raises(AquaMendError):
        recover(scripted.Steps([wrong]), scripted.Scripted(table()), strict=True)


def test_an_illegal_probe_is_not_run(scripted, table):
    robot = scripted.Scripted(table(sensing_budget=0.1))
    with pytest.raises(IllegalProbe):
        recover(scripted.Steps([Reprobe("look")]), robot, strict=True)
    assert robot.did == []


def test_decisions_and_time_have_budgets(scripted, table):
    class Slow(scripted.Scripted):
        def measure(self, step):
            time.sleep(0.02)
            return super().measure(step)

    many = scripted.Steps([Reprobe("look")] * 3)
    recovery = recover(many, Slow(table(), {"look": ["there"] * 3}), rules=Rules(decisions=2))
    assert "2 decisions" in recovery.reason
    many = scripted.Steps([Reprobe("look")] * 3)
    recovery = recover(many, Slow(table(), {"look": ["there"] * 3}), rules=Rules(seconds=0.01))
    assert "0.01 seconds are over" in recovery.reason
    with pytest.raises(BadStep, match="does not end"):
        recover(
            scripted.Steps([Reprobe("look")] * 3),
            Slow(table(), {"look": ["there"] * 3}),
            rules=Rules(decisions=2),
            strict=True,
        )


def test_an_alarm_that_is_no_state_is_refused(scripted):
    with pytest.raises(AquaMendError, match="information state"):
        recover(scripted.Steps([]), scripted.Scripted("alarm!"))


def hanging(release, finding=None):
    def hangs(act):
        release.wait(5)
        return act.done(finding)

    return hangs


def test_what_takes_too_long_and_cannot_be_stopped_ends_a_recovery_that_nobody_watches(scripted, table):
    for step, act in ((Reprobe("look"), "look"), (CORRECT_LEVEL, "undo: clear")):
        release = threading.Event()
        robot = scripted.Scripted(table(), script={act: [hanging(release, "there")]})
        recovery = recover(scripted.Steps([step]), robot, rules=Rules(timeout_s=0.01))
        release.set()
        assert recovery.ending is Ending.STOPPED
        assert recovery.reason == f"nobody knows whether this was done: {act} (no receipt within 0.01 s)"
        assert recovery.receipts[0].finding == "in doubt: no receipt within 0.01 s"
        assert robot.did == [act]  # not even a hand-over is begun while it may still be moving


def test_what_takes_too_long_is_stopped_and_decided_again(scripted, table):
    class Stoppable(scripted.Scripted):
        stopped = ()

        def stop(self, act):  # the call of the act itself comes back long after
            self.stopped += (str(act),)
            return act.failed("stopped half-way")

    for step, act in ((Reprobe("look"), "look"), (CORRECT_LEVEL, "undo: clear")):
        release = threading.Event()
        robot = Stoppable(table(), script={act: [hanging(release, "there")]})
        recovery = recover(scripted.Steps([step, Continue()]), robot, rules=Rules(timeout_s=0.05))
        release.set()
        assert recovery.ending is Ending.FINISHED
        assert robot.stopped == (act,)
        assert robot.did == [act, "finish the task"]
        assert [receipt.finding for receipt in recovery.receipts] == ["stopped half-way", None]


def test_what_had_been_done_when_it_was_stopped_is_done(scripted, table):
    release = threading.Event()

    class Late(scripted.Scripted):
        def stop(self, act):
            return act.done("it was done by then")

    robot = Late(table(), script={"undo: clear": [hanging(release)]})
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot, rules=Rules(timeouts={"clear": 0.01}))
    release.set()
    assert recovery.ending is Ending.FINISHED
    assert recovery.undone == ("move",)


def test_a_stop_that_hangs_or_raises_leaves_the_act_in_doubt(scripted, table):
    def raises(act):
        raise OSError("the controller is gone")

    for how in ("hangs", "raises", "says nothing"):
        release = threading.Event()
        robot = scripted.Scripted(table(), script={"undo: clear": [hanging(release)]})
        robot.stop = {"hangs": hanging(release), "raises": raises, "says nothing": lambda act: None}[how]
        recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot, rules=Rules(timeout_s=0.01, stop_s=0.01))
        release.set()
        assert recovery.ending is Ending.STOPPED
        assert robot.did == ["undo: clear"]


def test_a_late_receipt_ends_the_doubt(scripted, table):
    log, release = MemoryLog(), threading.Event()
    robot = scripted.Scripted(table(), script={"undo: clear": [hanging(release)]})
    later = threading.Timer(0.2, release.set)
    later.start()
    rules = Rules(timeouts={"clear": 0.01})
    recovery = recover(scripted.Steps([CORRECT_LEVEL]), robot, journal=log, session="s", rules=rules, wait_s=10)
    later.join(timeout=10)
    assert recovery.ending is Ending.FINISHED
    assert robot.did.count("undo: clear") == 1
    kinds = [type(entry.event) for entry in log.read("s")]
    assert [kind for kind in kinds if kind in (Stopping, Lost, Unknown, Asked)] == [Stopping, Lost, Unknown, Asked]


def test_a_person_may_say_what_became_of_an_act_in_doubt(scripted, table):
    for done in (True, False):
        log = MemoryLog()
        robot = scripted.Scripted(table(), script={"undo: clear": [scripted.raises(RuntimeError("bump"))]})
        steps = scripted.Steps([CORRECT_LEVEL, Continue()])
        waits = recover(steps, robot, journal=log, session="s", wait_s=0)
        assert str(waits.in_doubt) == "undo: clear"
        assert robot.did == ["undo: clear"]
        settle(log, "s", done=done, by="Ada", note="I looked")
        recovery = resume(log, "s", robot, policy=scripted.Steps([Continue()]))
        assert recovery.ending is Ending.FINISHED
        first = recovery.receipts[0]
        assert (first.succeeded, first.finding) == (done, None if done else "Ada says so: I looked")
        assert robot.did.count("undo: clear") == 1


def test_a_person_may_take_over_from_an_act_in_doubt_and_nothing_more_is_asked_of_the_robot(scripted, table):
    for granted, ending in ((True, Ending.HANDED_OVER), (False, Ending.STOPPED)):
        log = MemoryLog()
        robot = scripted.Scripted(table(), script={"undo: clear": [scripted.raises(RuntimeError("bump"))]})
        waits = recover(scripted.Steps([CORRECT_LEVEL]), robot, journal=log, session="s", wait_s=0)
        approve(log, "s", token=waits.asked.token, granted=granted, by="Ada")
        recovery = resume(log, "s", robot, policy=scripted.Steps([]))
        assert recovery.ending is ending
        assert robot.did == ["undo: clear"]
        assert recovery.cost == 1.0 + (50.0 if granted else 0.0)  # the hand-over is paid for


def test_a_timeout_of_the_robots_own_is_reported_as_that(scripted, table):
    def gives_up(act):
        raise TimeoutError("the camera does not answer")

    finding = "TimeoutError: the camera does not answer"
    for rules in (Rules(), Rules(timeout_s=60)):
        robot = scripted.Scripted(table(), script={"look": [gives_up, gives_up]})
        steps = scripted.Steps([Reprobe("look"), Continue()])
        assert recover(steps, robot, rules=rules).receipts[0].finding == finding
        steps = scripted.Steps([Reprobe("look"), Continue()])
        assert asyncio.run(recover_async(steps, robot, rules=rules)).receipts[0].finding == finding


def test_with_nobody_to_ask_what_cannot_be_undone_is_not_begun(scripted, table):
    for rules in (None, Rules(), Rules(timeout_s=60), Rules(ask_before_handing_over=False)):
        robot = scripted.Scripted(table(reversible=False))
        recovery = recover(scripted.Steps([Continue()]), robot, rules=rules)
        assert recovery.ending is Ending.STOPPED
        assert recovery.reason == "finish the task: it cannot be undone, and there is nobody to ask"
        assert robot.did == []
    robot = scripted.Scripted(table(reversible=False))
    named = Rules(ask_before_irreversible=False)
    assert recover(scripted.Steps([Continue()]), robot, rules=named).ending is Ending.FINISHED


@pytest.mark.parametrize("rule", ["attempts", "decisions", "seconds", "timeout_s", "stop_s", "approval_s"])
def test_naming_one_rule_weakens_no_other(scripted, table, rule):
    rules = Rules(**{rule: 50})
    robot = scripted.Scripted(table(reversible=False))
    waits = recover(scripted.Steps([Escalate()]), robot, journal=MemoryLog(), rules=rules, wait_s=0)
    assert str(waits.asked) == "hand over to a person"
    waits = recover(scripted.Steps([Continue()]), robot, journal=MemoryLog(), rules=rules, wait_s=0)
    assert str(waits.asked) == "finish the task"
    assert robot.did == []


def test_a_policy_with_settings_of_its_own_has_to_be_given_again(scripted, table):
    log, robot = MemoryLog(), scripted.Scripted(table())
    rules = Rules(decisions=0, ask_before_handing_over=True)
    recover(Certified(gap=0.5), robot, journal=log, session="s", rules=rules, wait_s=0)
    with pytest.raises(AquaMendError, match=r"Certified\(.*gap=0.5.*give it as `policy`"):
        resume(log, "s", robot, wait_s=0)
    assert resume(log, "s", robot, policy=Certified(gap=0.5), wait_s=0).asked is not None


def test_every_fact_stands_in_the_log_before_the_act(scripted, table):
    log = MemoryLog()

    class Looking(scripted.Scripted):
        def measure(self, step):
            last = list(log.read("s"))[-1].event
            assert isinstance(last, Intended)
            assert last.act == step
            return super().measure(step)

        perform = scripted.Scripted.perform

    robot = Looking(table(), {"weigh": ["40"]})
    recover(scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL]), robot, journal=log, session="s")
    entries = list(log.read("s"))
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    kinds = [type(entry.event).__name__ for entry in entries]
    assert kinds[:5] == ["Alarmed", "Decided", "Intended", "Done", "Decided"]
    assert kinds[-1] == "Ended"
    explained = [entry.event.explanation for entry in entries if isinstance(entry.event, Decided)]
    assert all(explanation["weighed"] for explanation in explained)
    receipts = [entry.event.receipt for entry in entries if isinstance(entry.event, Done)]
    assert all(receipt.start_s <= receipt.end_s for receipt in receipts)


def test_whoever_resumes_goes_on_where_it_stood(scripted, table):
    log = MemoryLog()
    answers = {"weigh": ["40"]}
    dies = scripted.raises(KeyboardInterrupt())
    robot = scripted.Scripted(table(), answers, {"undo: back": [dies]})
    with pytest.raises(KeyboardInterrupt):
        recover(scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL]), robot, journal=log, session="s", rules=UNASKED)

    class Verifying(scripted.Scripted):
        def verify(self, act):
            return act.failed("the arm has not moved")

    again = Verifying(table(), answers)
    recovery = resume(log, "s", again, policy=scripted.Steps([CORRECT_LEVEL]))
    assert recovery.ending is Ending.FINISHED
    assert again.did == ["undo: back", "declare: level = 40", "redo: move", "finish the task"]
    assert sum(isinstance(entry.event, Resumed) for entry in log.read("s")) == 1
    assert resume(log, "s", again).ending is Ending.FINISHED  # nothing left to do


def test_nobody_repeats_an_act_in_doubt(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table(), script={"undo: back": [scripted.raises(KeyboardInterrupt())]})
    with pytest.raises(KeyboardInterrupt):
        recover(scripted.Steps([CORRECT_LEVEL]), robot, journal=log, session="s", rules=UNASKED)
    again = scripted.Scripted(table())
    recovery = resume(log, "s", again, policy=scripted.Steps([]))
    assert recovery.ending is Ending.HANDED_OVER
    assert again.did == ["hand over to a person"]


def test_a_measurement_in_doubt_is_charged_and_may_be_asked_for_again(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table(), script={"weigh": [scripted.raises(KeyboardInterrupt())]})
    with pytest.raises(KeyboardInterrupt):
        recover(scripted.Steps([Reprobe("weigh")]), robot, journal=log, session="s", rules=UNASKED)
    again = scripted.Scripted(table(), {"weigh": ["40"]})
    recovery = resume(log, "s", again, policy=scripted.Steps([Reprobe("weigh"), Continue()]))
    assert recovery.cost == 2.0
    assert recovery.state.probe("weigh").uses_left == 0


def test_hand_overs_wait_for_a_person_who_may_answer_from_elsewhere(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table())
    recovery = recover(scripted.Steps([Escalate()]), robot, journal=log, session="s", wait_s=0)
    assert recovery.ending is None
    assert str(recovery.asked) == "hand over to a person"
    assert robot.did == []
    approve(log, "s", token=recovery.asked.token, by="Ada", note="on my way")
    recovery = resume(log, "s", robot, policy=scripted.Steps([]))
    assert recovery.ending is Ending.HANDED_OVER
    assert robot.did == ["hand over to a person"]
    with pytest.raises(AquaMendError, match="ended"):
        approve(log, "s", token="", by="Ada")


def test_a_hand_over_that_nobody_takes_stops(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table())
    waits = recover(scripted.Steps([Escalate()]), robot, journal=log, session="s", wait_s=0)
    approve(log, "s", token=waits.asked.token, granted=False, by="Ada", note="not now")
    recovery = resume(log, "s", robot, policy=scripted.Steps([]))
    assert recovery.ending is Ending.STOPPED
    assert "Ada does not allow it" in recovery.reason
    assert robot.did == []


def test_what_cannot_be_undone_waits_for_a_person(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table(reversible=False))
    recovery = recover(scripted.Steps([Continue()]), robot, journal=log, session="s", wait_s=0)
    assert str(recovery.asked) == "finish the task"
    answer = threading.Timer(0.05, lambda: approve(log, "s", token=recovery.asked.token, by="Ada"))
    answer.start()
    recovery = resume(log, "s", robot, policy=scripted.Steps([]), wait_s=10)
    answer.join(timeout=10)
    assert recovery.ending is Ending.FINISHED
    assert sum(isinstance(entry.event, Asked) for entry in log.read("s")) == 1


def test_a_refused_act_is_handed_over(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table(reversible=False))
    rules = Rules(ask_before_handing_over=False)
    waits = recover(scripted.Steps([Continue()]), robot, journal=log, session="s", rules=rules, wait_s=0)
    approve(log, "s", token=waits.asked.token, granted=False, by="Ada", note="the cup is cracked")
    recovery = resume(log, "s", robot, policy=scripted.Steps([]))
    assert recovery.ending is Ending.HANDED_OVER
    assert recovery.reason == "Ada does not allow it: finish the task (the cup is cracked)"
    assert robot.did == ["hand over to a person"]


def test_two_cannot_conduct_one_session(scripted, table):
    log = MemoryLog()

    class Rival(scripted.Scripted):
        def perform(self, act):
            resume(log, "s", scripted.Scripted(table()), policy=scripted.Steps([]))  # somebody else takes over
            return act.done()

    with pytest.raises(ForeignSession):
        recover(scripted.Steps([CORRECT_LEVEL]), Rival(table()), journal=log, session="s", rules=UNASKED)


def test_nobody_was_asked(scripted, table):
    log = MemoryLog()
    robot = scripted.Scripted(table(), script={"undo: back": [scripted.raises(KeyboardInterrupt())]})
    with pytest.raises(KeyboardInterrupt):
        recover(scripted.Steps([CORRECT_LEVEL]), robot, journal=log, session="s", rules=UNASKED)
    with pytest.raises(AquaMendError, match="nobody was asked"):
        approve(log, "s", token="", by="Ada")


class Awaited:
    """A scripted robot whose methods are coroutines."""

    def __init__(self, robot, pause=0.0):
        self.robot, self.pause = robot, pause

    async def alarm(self):
        return self.robot.alarm()

    async def measure(self, step):
        await asyncio.sleep(self.pause)
        return self.robot.measure(step)

    async def perform(self, act):
        await asyncio.sleep(self.pause)
        return self.robot.perform(act)


def test_the_asyncio_form_does_the_same(scripted, table):
    def policy():
        return scripted.Steps([Reprobe("weigh"), CORRECT_LEVEL])

    plain, other = (scripted.Scripted(table(), {"weigh": ["40"]}) for _ in range(2))
    one = recover(policy(), plain)
    two = asyncio.run(recover_async(policy(), Awaited(other)))
    assert plain.did == other.did
    assert one.receipts == two.receipts
    assert (one.state.posterior == two.state.posterior).all()
    three = asyncio.run(recover_async(policy(), scripted.Scripted(table(), {"weigh": ["40"]})))  # a plain robot too
    assert three.receipts == one.receipts


def test_cancelling_leaves_a_session_that_can_be_resumed(scripted, table):
    log = MemoryLog()

    async def run():
        slow = Awaited(scripted.Scripted(table(), {"weigh": ["40"]}), pause=30)
        steps = scripted.Steps([Reprobe("weigh")])
        task = asyncio.create_task(recover_async(steps, slow, journal=log, session="s", rules=UNASKED))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        robot = scripted.Scripted(table(), {"weigh": ["40"]})
        return await resume_async(log, "s", Awaited(robot), policy=scripted.Steps([Reprobe("weigh"), Continue()]))

    recovery = asyncio.run(run())
    assert recovery.ending is Ending.FINISHED
    assert [receipt.succeeded for receipt in recovery.receipts] == [False, True, True]


def test_timeouts_cancel_what_is_awaited(scripted, table):
    robot = Awaited(scripted.Scripted(table()), pause=30)
    steps = scripted.Steps([Reprobe("look"), CORRECT_LEVEL])
    recovery = asyncio.run(recover_async(steps, robot, rules=Rules(timeout_s=0.01)))
    assert recovery.ending is Ending.STOPPED  # neither the undoing nor the hand-over came back
    assert robot.robot.did == []


def test_patience_with_people_ends_no_wait_for_an_act_that_cannot_be_stopped(scripted, table):
    again = {"nothing": 0.5, "moved": 0.5, "added": 0.5}
    done = threading.Event()

    class Unstoppable(scripted.Scripted):
        def stop(self, act):
            done.set()
            return None

    def slow(act):
        session.alarm()
        done.wait(PATIENCE_S)
        return act.done()

    robot = Unstoppable(table(again=again), script={"undo: clear": [slow]})
    session = Session.begin(robot.state, scripted.Steps([CORRECT_LEVEL, Continue()]), rules=UNATTENDED)
    recovery = drive(session, robot, wait_s=0)
    assert recovery.ending is Ending.FINISHED
    assert recovery.receipts[0].succeeded


def test_a_plain_robot_keeps_no_event_loop_waiting_and_is_held_to_its_timeout(scripted, table):
    release = threading.Event()
    robot = scripted.Scripted(table(), script={"undo: clear": [hanging(release)]})
    ticks = []

    async def run():
        async def goes_on():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        other = asyncio.ensure_future(goes_on())
        recovery = await recover_async(scripted.Steps([CORRECT_LEVEL]), robot, rules=Rules(timeout_s=0.05))
        other.cancel()
        return recovery

    recovery = asyncio.run(run())
    release.set()
    assert recovery.ending is Ending.STOPPED  # a thread cannot be cancelled, so the act may still be under way
    assert robot.did == ["undo: clear"]
    assert len(ticks) > 3
