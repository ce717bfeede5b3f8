"""A table to recover on: honest readings, decisions carried out by hand, and a receipt for all that was done."""

import gc
import types
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import KNOWN, SCENE, alarmed
from tests.lab.taking import Taking, answer, judged

from aquamend.belief import Observation
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.decision.detection import PowerScreen
from aquamend.errors import IllegalProbe, UnknownName
from aquamend.policies import AquaMend
from aquamend.recovery import (
    Charge,
    Declare,
    Ending,
    Finish,
    Follow,
    Journal,
    Judge,
    Measure,
    Redo,
    Robot,
    Undo,
    charged,
    recover,
    recovered,
    resume,
)
from aquamend_lab.pouring.mujoco import world
from aquamend_lab.pouring.mujoco.body import Body, Tried, failed
from aquamend_lab.pouring.mujoco.episode import DOSE_G, AtTheAlarm
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.mujoco.trouble import AddWater, BiasedCamera, FrozenCamera, Occlusion, SwapCups
from aquamend_lab.pouring.mujoco.world import PouringRobot
from aquamend_lab.pouring.task import CHECK_CAMERA, FAULTY, LOCALISE, SAFE_STOP, Stage, look, weigh

pytestmark = pytest.mark.slow

OCCLUSION = Occlusion("C")
SWAP = SwapCups("A", "B")


def entered(trouble=OCCLUSION, stage=Stage.DECIDED, *, restarts=False, **scene):
    """Return a robot after some trouble; the pitcher is empty unless it is another scene."""
    return PouringRobot(alarmed(trouble, stage, **scene).posed(restarts=restarts))


class EveryProbe(Taking):
    """Run every probe, then end the recovery."""

    def next_step(self, state):
        return Reprobe(state.legal_probes[0]) if state.legal_probes else super().next_step(state)


@pytest.fixture(scope="module")
def continued():
    robot = entered(OCCLUSION, Stage.BESIDE, scene=SCENE)
    return robot, recovered(EveryProbe(Continue()), robot)


@pytest.fixture(scope="module")
def restarted():
    robot = entered(AddWater("B", 14), Stage.LIFTED, scene=SCENE, restarts=True)
    return robot, judged(robot, Restart())


@pytest.fixture(scope="module")
def swap():
    """Return a swap that was recovered from, as robot and recovery."""
    robot = entered(SWAP, Stage.BESIDE, scene=SCENE)
    return robot, recovered(AquaMend(), robot)


def leaves(found):
    return [leaf for receipt in found.recovery.receipts for leaf in receipt.leaves]


def test_it_is_a_robot_that_knows_the_truth():
    assert isinstance(entered(), Robot)
    assert isinstance(entered(), Judge)


# Whole recoveries


def test_continuing_after_a_false_alarm_succeeds(continued):
    robot, found = continued
    assert found.verdict.success
    assert robot.quality.faults == ()
    assert robot.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_starting_over_finds_what_was_added_and_pours_into_another_cup(restarted):
    robot, found = restarted
    assert found.verdict.success
    assert found.recovery.undone == ("lift",)
    assert robot.hands.said["quantity_B"] == pytest.approx(32, abs=3)
    assert robot.quality.wanted == robot.hands.target == "A"


@pytest.mark.parametrize("which", ["continued", "restarted", "swap"])
def test_every_second_since_the_alarm_is_paid_once_and_what_was_measured_for_it(which, request):
    robot, found = request.getfixturevalue(which)
    taken = robot.body.simulation.time_s - robot.alarmed.body.simulation.time_s
    assert found.loss == pytest.approx(taken + 0.4), "nothing was left wrong, so there is nothing else to pay"
    first, second = found.receipts[:2]
    assert (first.what, first.charge, first.cost) == (LOCALISE, Charge.SENSING, pytest.approx(0.2))
    assert (second.what.startswith("look"), second.charge, second.cost) == (True, Charge.SENSING, pytest.approx(0.2))


def test_primitives_follow_one_another_without_overlap(restarted):
    timed = [leaf for leaf in leaves(restarted[1]) if leaf.start_s is not None]
    assert len(timed) > 8
    assert all(earlier.end_s <= later.start_s for earlier, later in pairwise(timed))


def test_measuring_is_sensing_and_undoing_is_rollback_and_all_that_is_done_again_is_continuation(restarted):
    done = [(leaf.what, leaf.charge) for leaf in leaves(restarted[1])]
    assert done.index(("place pitcher", Charge.ROLLBACK)) < done.index(("look at A", Charge.SENSING))
    assert done.index(("look at A", Charge.SENSING)) < done.index(("pour into A", Charge.CONTINUATION))
    assert done[-2:] == [("place pitcher", Charge.CONTINUATION), ("retreat", Charge.CONTINUATION)]


def test_a_swap_is_recovered_and_the_target_is_the_same_cup_elsewhere(swap):
    robot, found = swap
    assert found.verdict.success
    assert found.verdict.left == ()
    assert robot.quality.wanted == robot.hands.target == "B"
    said = robot.hands.said
    assert (said["binding_A"], said["binding_B"]) == (pytest.approx(0, abs=15), pytest.approx(-220, abs=15))


def test_calling_a_person_ends_with_an_empty_hand_and_no_success():
    robot = entered(OCCLUSION, Stage.LIFTED)
    found = judged(robot, Escalate())
    assert found.recovery.ending is Ending.HANDED_OVER
    assert not found.verdict.success
    assert robot.body.holding is None
    assert robot.body.simulation.spilled_g() == 0


def test_stopping_with_a_faulty_camera_leaves_all_that_it_read_without_support():
    robot = entered(FrozenCamera(), Stage.LIFTED)
    found = judged(robot, RollBack((), plan=SAFE_STOP))
    assert set(found.verdict.left) == {"quantity_A", "quantity_B", "quantity_C", "target", "camera"}
    assert charged(found.receipts, Charge.RESIDUAL) == 150.0


def test_what_was_simulated_once_is_the_same_for_every_robot_that_is_asked_the_same():
    known = {}
    alarm = alarmed(OCCLUSION, Stage.LIFTED)
    first, again = (PouringRobot(alarm, known=shared) for shared in (known, known))
    alone = PouringRobot(alarm)
    found = [recovered(Taking(Reprobe(look("A")), RollBack((), plan=SAFE_STOP)), r) for r in (first, again, alone)]
    assert len(known) == 1, "one act was simulated, once"
    assert found[0].receipts == found[1].receipts == found[2].receipts
    ends = {robot.body.simulation.data.qpos.tobytes() for robot in (first, again, alone)}
    assert len(ends) == 1


def test_a_safe_stop_is_no_success_though_nothing_is_wrong():
    robot = entered(OCCLUSION, Stage.LIFTED)
    found = judged(robot, RollBack((), plan=SAFE_STOP))
    assert found.recovery.followed == SAFE_STOP
    assert (found.verdict.left, found.verdict.success) == ((), False)


@pytest.fixture
def quick_pour(monkeypatch):
    """Let every pour succeed at once; nothing is poured."""

    def pours(body, vessel, dose_g):
        yield
        return Tried(True, "poured", dose_g)

    monkeypatch.setattr(world, "pour", pours)


def test_an_amount_that_was_wrong_is_declared_as_the_value_that_was_chosen(quick_pour):
    robot = entered(AddWater("C", 9))
    found = judged(robot, RollBack(("quantity_C",), declare=(NewDeclaration("quantity_C", 30.5),)))
    assert robot.hands.said["quantity_C"] == 30.5
    assert found.verdict.left == ()


def test_a_policy_declares_an_amount_that_is_right_only_once_it_has_been_read(quick_pour):
    robot = entered(AddWater("B", 15))
    found = recovered(AquaMend(), robot)
    declared = {cup: robot.hands.said[f"quantity_{cup}"] for cup in "ABC"}
    before = dict(zip("ABC", robot.alarmed.declared.quantity_g, strict=True))
    assert {cup for cup in "ABC" if declared[cup] != before[cup]} == {"B"}
    read = (*robot.alarmed.heard.measured, *found.recovery.evidence)
    assert {e.probe for e in read} & {look("B"), weigh("B")}
    assert declared["B"] == pytest.approx(robot.alarmed.before_pouring_g["B"], abs=3.0)


def test_starting_over_with_a_camera_that_is_known_to_read_low_is_stopped_by_the_guard():
    robot = entered(BiasedCamera("A", -14.0), Stage.LIFTED, scene=SCENE, restarts=True)
    found = judged(robot, Restart())
    assert robot.hands.target == "A"
    assert any("camera cannot be relied on" in str(r.finding) for r in found.receipts if not r.succeeded)
    assert set(found.verdict.left) == {"quantity_A", "quantity_B", "quantity_C", "target", "camera"}
    assert robot.body.simulation.spilled_g() == 0
    assert not found.verdict.success


def test_a_late_swap_is_poured_back_and_poured_again():
    robot = entered(SWAP, Stage.POURED, scene=SCENE)
    found = judged(robot, RollBack(("target", "binding_A", "binding_B")))
    assert "pour" in found.recovery.undone
    assert any("back" in leaf.what for leaf in leaves(found))
    assert robot.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)
    assert robot.body.simulation.grams("A") == pytest.approx(28, abs=3.0)


def test_a_pour_back_that_fails_leads_to_another_decision_and_nothing_is_poured_on_top(monkeypatch):
    def refuses(body, cup, dose_g, charge):
        yield from ()
        return failed("the cup slipped")

    monkeypatch.setattr(world, "pour_back", refuses)
    robot = entered(SWAP, Stage.POURED, scene=SCENE)
    found = judged(robot, RollBack(("target",)), Continue())
    assert [type(step) for step in found.recovery.steps] == [RollBack, Continue]
    assert [receipt.what for receipt in found.receipts if not receipt.succeeded] == ["undo: pour"]
    assert not found.verdict.success
    assert robot.quality.received_g["A"] == pytest.approx(DOSE_G, abs=3.0), "as it was, and judged so"
    assert robot.quality.received_g["B"] == 0


# Measuring


def test_a_probe_answers_alike_whatever_was_asked_before():
    plain, busy = entered(SWAP), entered(SWAP)
    for probe in (weigh("A"), look("C"), LOCALISE):
        answer(busy, probe)
    asked = (look("B"), CHECK_CAMERA, weigh("B"))
    answers = [answer(plain, probe) for probe in asked]
    assert [answer(busy, probe) for probe in asked] == answers
    assert answers[2] == pytest.approx(5, abs=2.5), "B is weighed where it was seen when the alarm came"


def test_a_second_look_would_repeat_the_error_of_the_first_so_there_is_none():
    robot = entered()
    robot.measure(Measure(look("A")))
    with pytest.raises(IllegalProbe, match="its only use is spent"):
        robot.measure(Measure(look("A")))


def test_weighing_a_cup_where_no_scale_is_fails_and_costs_its_time():
    robot = entered()
    receipt = robot.measure(Measure(weigh("C")))
    assert not receipt.succeeded
    assert "has no scale" in receipt.finding
    assert receipt.cost == pytest.approx(0.2)
    assert weigh("C") not in robot.alarm().legal_probes


def test_an_amount_is_reported_without_what_the_robot_has_poured_itself():
    robot = entered(OCCLUSION, Stage.POURED, scene=SCENE)
    for probe in (look("B"), weigh("B")):
        assert answer(robot, probe) == pytest.approx(18.0, abs=3.0)
    assert answer(robot, weigh("A")) == pytest.approx(28.0, abs=2.0)


def test_an_unknown_probe_is_refused():
    with pytest.raises(UnknownName, match="smell_A"):
        entered().measure(Measure("smell_A"))


def test_probes_see_the_table_as_it_was_at_the_alarm_until_somebody_touches_it():
    robot = entered(OCCLUSION, Stage.LIFTED)
    answer(robot, look("A"))
    assert robot._seen.simulation.ticks == robot.alarmed.body.simulation.ticks
    receipt = robot.perform(Undo("lift", ("lift",)))
    assert receipt.succeeded
    assert receipt.cost == pytest.approx(receipt.end_s - receipt.start_s)
    assert robot._seen is robot.body


# The guard before a pour


def test_the_guard_lets_a_target_pass_that_is_supported():
    assert entered().unsupported("B") is None


def test_the_guard_forbids_a_target_that_is_probably_not_the_least_full():
    assert "probably not the least full" in entered().unsupported("A"), "where nothing happened it is B that is"
    robot = entered(AddWater("B", 15))
    robot.measure(Measure(weigh("B")))
    assert "B is probably not the least full" in robot.unsupported("B")
    assert robot.unsupported("A") is None


def test_a_pour_that_the_guard_forbids_fails_without_moving_anything():
    robot = entered(AddWater("B", 15))
    robot.measure(Measure(weigh("B")))
    ticks = robot.body.simulation.ticks
    receipt = robot.perform(Finish())
    assert (receipt.succeeded, receipt.cost) == (False, 0.0)
    assert receipt.finding.startswith("guard: ")
    assert robot.body.simulation.ticks == ticks


def test_the_guard_wants_something_that_can_be_relied_on_to_speak_for_a_target():
    """Where the camera may have been wrong from the first, a camera that is rejected leaves nothing."""
    robot = entered()
    robot._known = without_support(robot._known)
    assert "nothing that can be relied on" in robot.unsupported("B")


def without_support(state):
    """Return the same state, its target resting on nothing."""
    declarations = [replace(d, support=()) if d.belief == "target" else d for d in state.problem.model.declarations]
    problem = replace(state.problem, model=replace(state.problem.model, declarations=declarations))
    return type(state).alarmed(problem)


def test_a_restart_may_pour_where_the_camera_is_not_rejected_and_only_there():
    robot = entered(FrozenCamera())
    robot.hands.surveyed = True
    assert robot.unsupported("A") is None, "whatever was known before the restart looked"
    robot._known = robot._known.after(Observation(CHECK_CAMERA, FAULTY))
    assert "camera cannot be relied on" in robot.unsupported("A")


# Nothing public depends on the truth


def test_robots_of_one_alarm_end_bit_for_bit_alike():
    robots = [entered(SWAP) for _ in range(2)]
    found = [recovered(EveryProbe(Escalate()), robot) for robot in robots]
    assert found[0].recovery.evidence == found[1].recovery.evidence
    assert found[0].receipts == found[1].receipts
    assert found[0].verdict == found[1].verdict
    one, other = (robot.body.simulation.data.qpos.tobytes() for robot in robots)
    assert one == other


def test_the_alarm_itself_is_never_driven():
    alarm = alarmed(SWAP)
    before = alarm.body.simulation.ticks, len(alarm.body.leaves), dict(alarm.body.believed_m)
    robot = PouringRobot(alarm)
    answer(robot, look("B"))
    robot.perform(Declare("binding_A", 0.0))
    assert (alarm.body.simulation.ticks, len(alarm.body.leaves), alarm.body.believed_m) == before


def test_nothing_public_depends_on_the_truth():
    alarm = alarmed(OCCLUSION)
    body = alarm.body.branch()
    body.faults = SensorFaults(bias_g={"A": 9.0}, scale_off_g={0: 9.0})
    other = replace(
        alarm,
        body=body,
        episode=replace(alarm.episode, trouble=SWAP, seed=(99,), scale_off_g={0: 9.0}),
        before_pouring_g={"A": 1, "B": 2, "C": 3},
    )
    one, two = PouringRobot(alarm).alarm(), PouringRobot(other).alarm()
    assert (one.posterior == two.posterior).all()
    assert one.problem.declarations == two.problem.declarations
    assert one.problem.coverage == two.problem.coverage
    assert one.problem.graph.edges == two.problem.graph.edges
    assert (one.problem.plans[0].loss == two.problem.plans[0].loss).all()


def test_the_public_state_leads_nowhere_near_the_table():
    seen, waiting = set(), [entered(SWAP).alarm()]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type | types.ModuleType | types.FunctionType):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Simulation | Body | AtTheAlarm | SensorFaults), thing
        waiting += gc.get_referents(thing)
    assert len(seen) > 500, "the walk went somewhere"


# Acts and graphs


@pytest.mark.parametrize("act", [Follow("teleport"), Declare("colour_A", "red"), Redo("juggle")], ids=str)
def test_an_act_about_something_unknown_is_refused_before_anything_moves(act):
    robot = entered()
    with pytest.raises(UnknownName, match=act.name):
        robot.perform(act)
    assert robot.body.simulation.ticks == robot.alarmed.body.simulation.ticks


def test_declaring_costs_nothing():
    robot = entered()
    receipt = robot.perform(Declare("target", "C"))
    assert (receipt.succeeded, receipt.cost) == (True, 0.0)
    assert robot.hands.target == "C"


def test_another_model_can_be_given_than_the_one_the_alarm_was_heard_with():
    alarm = alarmed(OCCLUSION)
    other = replace(KNOWN, readings=replace(KNOWN.readings, scale_off=0.5))
    off = np.array(["a scale off" in h.name for h in PouringRobot(alarm).alarm().problem.model.hypotheses])
    assert PouringRobot(alarm).alarm().posterior[off].sum() == pytest.approx(0.15)
    assert PouringRobot(alarm, other).alarm().posterior[off].sum() == pytest.approx(0.5)


def test_calibration_covers_a_common_alarm_after_the_lift_alone():
    assert PowerScreen().covers(entered(OCCLUSION, Stage.LIFTED).alarm())
    assert not PowerScreen().covers(entered(OCCLUSION, Stage.BESIDE).alarm())


class Crash(BaseException):
    """The program dies."""


def test_a_recovery_of_the_robot_survives_the_program_in_its_journal(tmp_path):
    """What was measured before the program died is neither forgotten nor measured again."""
    robot = entered(AddWater("A", 9))

    class Dying(Taking):
        def next_step(self, state):
            if len(state.evidence) > 2:
                raise Crash
            return super().next_step(state)

    with Journal(tmp_path / "robot.journal") as journal, pytest.raises(Crash):
        recover(Dying(Reprobe(look("B"))), robot, journal=journal, session="cups")
    with Journal(tmp_path / "robot.journal") as journal:
        found = resume(
            journal, "cups", robot, policy=Taking(Reprobe(weigh("A")), RollBack((), (), plan=SAFE_STOP)), wait_s=0.0
        )
    assert [o.probe for o in found.evidence] == [look("B"), weigh("A")]
    assert [leaf.what for leaf in robot.body.leaves].count(look("B")) == 1
    assert found.ending is Ending.FINISHED
