"""The conformance check for robots: sound ones pass, and each broken promise is told apart."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Reprobe, RollBack
from aquamend.errors import AquaMendError, IllegalProbe
from aquamend.policies import VeriTrace
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Gaussian, Hypothesis, JointModel
from aquamend.recovery import Charge, Declare, Ending, Finish, Receipt, Redo, Undo
from aquamend.testing import FakeRobot, RobotFault, check_robot, sample_problems
from aquamend.testing.model_world import ModelWorld
from aquamend_lab.pouring.discrete import (
    Assumptions,
    Nothing,
    Scene,
    Shares,
    TableWorld,
    fresh_task,
    problem_of,
)
from aquamend_lab.pouring.discrete.cup_table import BlindRetry, TmsRevision
from aquamend_lab.pouring.discrete.perturbations import common_cause_events, standard_events
from aquamend_lab.pouring.task import Stage

CUPS_G = (100.0, 130.0, 170.0)
EVENTS = (*standard_events(CUPS_G), *common_cause_events(CUPS_G))
PROBLEM = sample_problems()[0]
START = InformationState.alarmed(PROBLEM)


def scale():
    graph = RecoveryGraph(
        [Belief("level", 10.0)],
        [Action("pour", undo=4.0, executed=True)],
        [Probe("weigh", 0.1, max_uses=math.inf)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    kernel = Gaussian({"same": (120.0, 1.5), "water": (124.0, 1.5)})
    hypotheses = [Hypothesis("same", 0.6), Hypothesis("water", 0.4, ("level",))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"weigh": kernel}), sensing_budget=0.5))


class Ask:
    """Run one probe, then go on."""

    def __init__(self, probe):
        self.probe = probe

    def next_step(self, state):
        return Continue() if state.evidence else Reprobe(self.probe)


class Broken(FakeRobot):
    """A sound robot to break one promise of."""

    def __init__(self, start=START, **options):
        super().__init__(start, **{"truth": start.problem.model.names[1], **options})


def fault(robot, policies=None, **options):
    with pytest.raises(RobotFault) as message:
        check_robot(robot, policies, **options)
    return str(message.value)


# Sound ones


@pytest.mark.parametrize("problem", sample_problems(), ids=lambda problem: problem.name)
def test_a_robot_drawn_from_the_model_keeps_the_contract_whatever_is_true(problem):
    for truth in problem.model.names:
        check = check_robot(lambda truth=truth: FakeRobot(problem, truth=truth), harm=False)
        assert check.recoveries == (7 if problem.restart_plan is None else 8)
        assert check.probes > 0
        assert check.harmed == 0


def test_random_problems_keep_the_contract(random_problem):
    for seed in range(25):
        problem = random_problem(random.Random(seed), gaussian=seed % 2 == 0)
        check_robot(lambda problem=problem, seed=seed: FakeRobot(problem, seed=seed), harm=seed % 5 == 0)


def cups(stage, event, assumed):
    task = replace(fresh_task(CUPS_G), stage=stage, pour_reversible=stage is not Stage.POURED)
    start = InformationState.alarmed(problem_of(task, assumed, 0, restarts=True))
    scene = event.applied(Scene.as_declared(CUPS_G))
    return lambda: TableWorld(start, task, scene)


@pytest.mark.parametrize("stage", Stage)
def test_the_pouring_task_keeps_the_contract(stage):
    assumed = Assumptions(EVENTS, Shares(common_cause=0.2, common_cause_with_camera=0.2))
    own = [BlindRetry(), VeriTrace(), TmsRevision()]
    restarts = int(stage is not Stage.POURED)
    for event in EVENTS[::5]:
        check = check_robot(cups(stage, event, assumed), own, harm=False)
        assert check.recoveries == len(own) + 1 + restarts + 3, "stopped, restarted, and everything is asked twice over"


def test_the_shipped_worlds_bear_whatever_goes_wrong():
    assert check_robot(lambda: ModelWorld(START, 0)).harmed > 0
    small = Assumptions(standard_events(CUPS_G))
    assert check_robot(cups(Stage.BESIDE, Nothing(), small), []).harmed > 0


def test_gaussian_probes_and_evidence_from_before_are_no_hindrance():
    start = scale().after(Observation("weigh", 121.0))
    assert check_robot(lambda: FakeRobot(start, truth="same")).probes > 0


def test_everything_is_made_to_go_wrong_with_every_kind_of_act():
    check = check_robot(Broken)
    kinds, harms = 7, 8  # measure, undo, declare, redo, finish, hand over, follow
    assert check.harmed == kinds * harms
    assert check.recoveries == check.harmed + 8


def test_all_shipped_policies_are_followed_where_none_are_given():
    assert check_robot(Broken, harm=False).recoveries == 8
    assert check_robot(Broken, [], harm=False).recoveries == 4
    priced = replace(PROBLEM, plans=[Plan("by hand", np.array([1.0, 2.0, math.inf]))])
    assert check_robot(lambda: FakeRobot(priced, truth="nothing"), [], harm=False).recoveries == 5


def test_real_noise_is_allowed_where_it_is_said_to_be_real():
    seeds = itertools.count()

    def another():
        return FakeRobot(PROBLEM, truth="camera off", seed=next(seeds))

    assert "where else was asked before; if its noise is real" in fault(another, [Ask("look")] * 20)
    assert check_robot(another, [Ask("look")] * 20, repeatable=False, harm=False).probes > 20


def test_an_asyncio_robot_is_checked_too():
    class Async:
        def __init__(self, broken=False):
            self.robot, self.broken = FakeRobot(PROBLEM, truth="water added"), broken

        async def alarm(self):
            return self.robot.alarm()

        async def measure(self, step):
            return self.robot.measure(step)

        async def perform(self, act):
            return None if self.broken else self.robot.perform(act)

        async def verify(self, act):
            return self.robot.verify(act)

    assert check_robot(Async).harmed > 0
    assert "returns None for" in fault(lambda: Async(broken=True))


def test_a_robot_that_runs_into_something_may_raise_what_it_ran_into():
    class Unplugged(Broken):
        def perform(self, act):
            if isinstance(act, Redo):
                super().perform(act)
                raise ConnectionResetError("unplugged")
            return super().perform(act)

    check_robot(Unplugged)


# Receipts


def altered(kind, **changes):
    """Return a robot whose receipts for one kind of act differ from the true ones in these fields."""

    class Altered(Broken):
        def perform(self, act):
            receipt = super().perform(act)
            return replace(receipt, **changes) if isinstance(act, kind) else receipt

    return Altered


PART = Receipt(Charge.ROLLBACK, "open", 1.0)


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (altered(Undo, cost=-1.0), "returned a cost of -1.0"),
        (altered(Undo, cost=math.nan), "returned a cost of nan"),
        (altered(Undo, cost="dear"), "returned a cost of 'dear'"),
        (altered(Undo, cost=math.inf), "charges infinity for 'undo: pour', which was feasible"),
        (altered(Undo, parts=(PART,)), "whose parts make 1.0"),
        (altered(Undo, parts=(PART, replace(PART, cost=-1.0))), "returned a cost of -1.0 for 'open'"),
        (altered(Redo, what="undo: grasp"), "a receipt of 'undo: grasp' under continuation for 'redo: grasp'"),
        (altered(Undo, charge=Charge.SENSING), "'undo: pour' under sensing for 'undo: pour', which is rollback"),
        (altered(Finish, start_s=7.0, end_s=3.0), "'finish the task' ended at 3 s, before it began at 7 s"),
    ],
)
def test_a_receipt_that_cannot_be_is_reported(robot, message):
    assert message in fault(robot)


@pytest.mark.parametrize("answer", [None, "done", 3.0])
def test_something_else_than_a_receipt_is_reported(answer):
    class Silent(Broken):
        def perform(self, act):
            super().perform(act)
            return answer

    assert "is no receipt; return act.done(...)" in fault(Silent)


@pytest.mark.parametrize("finding", ["sideways", None, 3.0])
def test_an_answer_that_the_model_does_not_know_is_reported(finding):
    class Odd(Broken):
        def measure(self, step):
            return replace(super().measure(step), finding=finding)

    assert f"answers {finding!r} to 'look', which is none of ['low', 'high']" in fault(Odd, [Ask("look")])


@pytest.mark.parametrize("reading", [math.nan, math.inf, "heavy", None])
def test_a_reading_that_is_no_number_is_reported(reading):
    class Odd(Broken):
        def measure(self, step):
            return replace(super().measure(step), finding=reading)

    assert "which is not a finite number" in fault(lambda: Odd(scale()))


def test_answers_that_depend_on_what_was_asked_before_are_reported():
    class OneStream(Broken):
        def measure(self, step):
            receipt = super().measure(step)
            outcomes = {"look": ("low", "high"), "weigh": ("light", "heavy")}[step.probe]
            return replace(receipt, finding=outcomes[len(self.asked) % 2])

    assert "where else was asked before" in fault(OneStream, [])


def test_a_programming_error_is_reported():
    class Half(Broken):
        def perform(self, act):
            if isinstance(act, Declare):
                raise NotImplementedError(act.belief)
            return super().perform(act)

    message = fault(Half)
    assert "undo: pour, undo: grasp: the robot raises NotImplementedError('level') at 'declare: level'" in message


# The alarm


def test_an_alarm_that_is_no_information_state_is_reported():
    class Siren(Broken):
        def alarm(self):
            return "fire"

    assert "returns 'fire' as its alarm" in fault(Siren)


def test_an_alarm_that_was_not_heard_or_heard_twice_is_reported():
    assert "has not heard the alarm" in fault(lambda: Broken(InformationState.start(PROBLEM)))
    twice = replace(START, monitored=()).after_alarm()
    assert "alarm (once)" in fault(lambda: Broken(twice))


def test_an_alarm_that_tells_the_truth_in_the_posterior_is_reported():
    certain = replace(START, posterior=np.array([0.0, 1.0, 0.0]))
    assert "starts from a posterior other than" in fault(lambda: Broken(certain))


def test_an_alarm_that_changes_is_reported():
    class Fickle(Broken):
        turn = 0

        def alarm(self):
            self.turn += 1
            return START if self.turn == 1 else START.after(Observation("look", "high"))

    assert "another alarm when it is asked again" in fault(Fickle)
    starts = itertools.cycle([START, InformationState.alarmed(replace(PROBLEM, escalate=61.0))])
    assert "another alarm than an earlier robot" in fault(lambda: Broken(next(starts)))


@pytest.mark.parametrize("moment", ["measure", "perform"])
def test_a_robot_that_changes_the_state_it_gave_is_reported(moment):
    def meddle(robot):
        object.__setattr__(robot.own, "evidence", (Observation("look", "high"),))

    class Meddling(Broken):
        def __init__(self):
            self.own = replace(START)
            super().__init__(self.own)

        def measure(self, step):
            receipt = super().measure(step)
            if moment == "measure":
                meddle(self)
            return receipt

        def perform(self, act):
            receipt = super().perform(act)
            meddle(self)
            return receipt

    assert "changes the information state" in fault(Meddling)


# What it does not know, and what it is not


def test_what_nobody_has_has_to_be_refused():
    class Obliging(Broken):
        def perform(self, act):
            return act.done()

    class Answering(Broken):
        def measure(self, step):
            return step.done("low")

    class Crashing(Broken):
        def perform(self, act):
            raise KeyError(act.name)

    class Refusing(Broken):
        def perform(self, act):
            return act.failed("what?") if "nobody" in act.name else super().perform(act)

    assert "for 'undo: something that nobody has'; raise an AquaMendError" in fault(Obliging)
    assert "for 'something that nobody has'" in fault(Answering)
    assert "raises KeyError" in fault(Crashing)
    check_robot(Refusing, [], harm=False)


def test_an_object_that_is_no_robot_is_told_which_method_it_lacks():
    class Half:
        def alarm(self):
            return START

        def measure(self, step):
            return step.done("low")

    assert "has no perform()" in fault(Half)


# Verifying


def verifying(verify):
    class Verifying(Broken):
        def __init__(self):
            super().__init__()
            honest = self.verify
            self.verify = lambda act: verify(act, honest)

    return Verifying


@pytest.mark.parametrize(
    ("verify", "message"),
    [
        (lambda act, honest: act.done(), "verifies 'undo: pour' as done, before it was begun"),
        (lambda act, honest: act.failed("no idea"), "verifies 'undo: pour' as not done (no idea), which it has done"),
        (lambda act, honest: "yes", "is no receipt"),
        (lambda act, honest: {}["missing"], "raises KeyError('missing') when asked to verify 'undo: pour'"),
    ],
)
def test_a_robot_that_does_not_tell_done_from_not_done_is_reported(verify, message):
    assert message in fault(verifying(verify))


def test_a_robot_that_forgets_with_its_program_may_say_that_there_is_no_telling():
    check_robot(verifying(lambda act, honest: None))


def test_a_robot_that_takes_a_failed_act_for_done_is_reported():
    class Slips(Broken):
        def __init__(self):
            super().__init__()
            self.verify = lambda act: act.done() if self.asked[-1:] == [act] else act.failed("never begun")

        def perform(self, act):
            receipt = super().perform(act)
            return act.failed("slipped") if isinstance(act, Redo) else receipt

    assert "verifies 'redo: grasp' as done, which failed by its own receipt" in fault(Slips)


# Judging


def judging(**changes):
    class Judging(Broken):
        def judge(self, recovery):
            verdict = super().judge(recovery)
            return replace(verdict, **{name: change(verdict, recovery) for name, change in changes.items()})

    return Judging


def residual(what, cost=80.0, charge=Charge.RESIDUAL):
    return lambda verdict, recovery: (Receipt(charge, what, cost),)


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (judging(left=lambda verdict, recovery: ("weather",)), "left ['weather'] wrong, which is no belief"),
        (judging(success=lambda verdict, recovery: True), "calls it a success and left ['level', 'target'] wrong"),
        (
            judging(
                success=lambda verdict, recovery: recovery.ending is Ending.HANDED_OVER,
                left=lambda verdict, recovery: (),
                residual=lambda verdict, recovery: (),
            ),
            "calls it a success that was handed over",
        ),
        (judging(residual=residual("weather")), "charges {'weather': 80.0} for what was left wrong"),
        (judging(residual=residual("target", charge=Charge.ROLLBACK)), "for what was left wrong"),
        (
            judging(residual=lambda verdict, recovery: tuple(replace(r, cost=1.0) for r in verdict.residual)),
            "charges {'level': 1.0, 'target': 1.0} for what was left wrong; by the problem it is {'level': 10",
        ),
    ],
)
def test_a_verdict_that_cannot_be_is_reported(robot, message):
    assert message in fault(robot)


def test_something_else_than_a_verdict_is_reported():
    class Mute(Broken):
        def judge(self, recovery):
            return None

    class Moody(Broken):
        def judge(self, recovery):
            verdict = super().judge(recovery)
            self.turn = not getattr(self, "turn", False)
            return verdict if self.turn else replace(verdict, left=(), residual=(), success=False)

    assert "returns None as its verdict" in fault(Mute)
    assert "judges the same recovery differently" in fault(Moody)


# Telling


def test_the_message_says_in_which_problem_and_after_what():
    class Odd(Broken):
        def measure(self, step):
            receipt = super().measure(step)
            return replace(receipt, finding="odd") if step.probe == "weigh" else receipt

    assert fault(Odd, []).startswith("in 'reversible pour', after look = ")
    assert "after nothing yet" in fault(lambda: Broken(InformationState.start(PROBLEM)))


def test_a_fault_is_an_assertion_error_and_one_of_ours():
    assert issubclass(RobotFault, AssertionError)
    assert issubclass(RobotFault, AquaMendError)


def test_a_decision_that_is_infeasible_may_cost_infinity():
    class Stubborn:
        def next_step(self, state):
            return RollBack(("target",), ("grasp", "pour"))

    irreversible = InformationState.alarmed(sample_problems()[1])
    check_robot(lambda: Broken(irreversible), [Stubborn()])


def test_a_policy_that_makes_no_sense_is_not_blamed_on_the_robot():
    class TooOften:
        def next_step(self, state):
            return Reprobe("weigh")

    with pytest.raises(IllegalProbe):
        check_robot(Broken, [TooOften()])
