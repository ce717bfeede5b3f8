"""A fake robot answers by the model, and fails in every way that it is told to."""

import math
from dataclasses import replace

import pytest
from tests.tiers import cases

from aquamend.decision import Continue, Reprobe, RollBack
from aquamend.errors import UnknownName
from aquamend.inference import InformationState
from aquamend.model import Alarm
from aquamend.recovery import (
    Declare,
    Ending,
    Finish,
    Follow,
    HandOver,
    Measure,
    MemoryLog,
    Redo,
    Rules,
    Undo,
    Verifying,
    recover,
    recovered,
    resume,
)
from aquamend.testing import (
    AlarmsAgain,
    Dies,
    Fails,
    Failure,
    FakeRobot,
    LosesReceipt,
    NeverAnswers,
    PartlyDone,
    Raises,
    TimesOut,
    check_robot,
    sample_problems,
)

PROBLEM = sample_problems()[0]
UNDO = Undo("pour", ("pour",), cost=5.0)


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
def test_a_failure_is_told_by_text_kind_or_name(what):
    assert not robot(Fails(what)).perform(UNDO).succeeded
    assert robot(Fails(what)).perform(Undo("grasp", ("grasp",))).succeeded is (what != "undo")


def test_a_declaration_is_told_without_its_value():
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


def test_what_takes_too_long_is_in_doubt():
    fake = robot(TimesOut("undo: pour", 5.0))
    recovery = recover(Corrects(), fake, rules=Rules(timeout_s=0.05))
    assert recovery.ending is Ending.HANDED_OVER, "while it is under way, there is no telling"
    assert "within 0.05 s" in recovery.receipts[0].finding
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
        recover(Corrects(), fake, journal=log, session="s", rules=Rules())
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
