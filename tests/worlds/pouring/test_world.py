"""A table to recover on: honest readings, decisions carried out by hand, and a receipt for all that was done."""

import gc
import types
from dataclasses import replace
from itertools import pairwise

import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.episodes import alarmed
from tests.worlds.taking import Taking, answer, judged

from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.decision.detection import PowerScreen
from aquamend.errors import UnknownName
from aquamend.policies import AquaMend
from aquamend.recovery import Charge, Ending, Finish, Follow, Judge, Measure, Robot, charged, recovered
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring import recovering, robot
from aquamend.worlds.pouring.episode import DOSE_G, Alarmed, Stage
from aquamend.worlds.pouring.faults import CameraFaults
from aquamend.worlds.pouring.model import SAFE_STOP_LOSS
from aquamend.worlds.pouring.perturbations import BiasedCamera, FalseAlarm, SwapCups
from aquamend.worlds.pouring.robot import drive, failed
from aquamend.worlds.pouring.simulation import Simulation
from aquamend.worlds.pouring.skill import NOTHING_TO_DO
from aquamend.worlds.pouring.world import PouringWorld

BLINK = FalseAlarm("level", "C", 2.0)
SWAP = SwapCups("A", "B")


class EveryProbe(Taking):
    """Run every probe up to twice, then end the recovery."""

    def next_step(self, state):
        return Reprobe(state.legal_probes[0]) if state.legal_probes else super().next_step(state)


def played(step):
    world = PouringWorld(alarmed(BLINK))
    return world, recovered(EveryProbe(step), world)


@pytest.fixture(scope="module")
def continued():
    return played(Continue())


@pytest.fixture(scope="module")
def restarted():
    return played(Restart())


@pytest.fixture(scope="module")
def swap():
    """Return a swap that was recovered from, as world and recovery."""
    world = PouringWorld(alarmed(SWAP))
    return world, recovered(AquaMend(), world)


def leaves(found):
    return [leaf for receipt in found.recovery.receipts for leaf in receipt.leaves]


def test_it_is_a_robot_that_knows_the_truth():
    assert isinstance(PouringWorld(alarmed(BLINK)), Robot)
    assert isinstance(PouringWorld(alarmed(BLINK)), Judge)


def test_continuing_after_a_false_alarm_succeeds(continued):
    world, found = continued
    assert found.verdict.success
    assert world.quality.faults == ()
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_starting_over_with_a_sound_camera_succeeds(restarted):
    world, found = restarted
    assert found.verdict.success
    assert found.recovery.undone == ("fetch", "move")
    assert world.declared.version("target") == 2


def test_calling_a_person_costs_the_safe_stop_and_ends_with_an_empty_hand():
    world, found = played(Escalate())
    assert charged(found.receipts, Charge.CONTINUATION) == SAFE_STOP_LOSS
    assert found.loss == pytest.approx(SAFE_STOP_LOSS + 16 * 0.2)
    assert not found.verdict.success
    assert world.robot.holding is None
    assert world.robot.simulation.spilled_g() == 0


@pytest.mark.parametrize("which", ["continued", "restarted"])
def test_every_second_since_the_alarm_is_paid_once(which, request):
    world, found = request.getfixturevalue(which)
    taken = world.robot.simulation.time_s - world.alarmed.robot.simulation.time_s
    assert found.loss == pytest.approx(taken), "nothing was left wrong, so there is nothing else to pay"


def test_primitives_follow_one_another_without_overlap(restarted):
    assert all(earlier.end_s <= later.start_s for earlier, later in pairwise(leaves(restarted[1])))


def test_measuring_is_sensing_and_undoing_is_rollback_and_all_that_is_done_again_is_continuation(restarted):
    charges = {leaf.what: leaf.charge for leaf in leaves(restarted[1])}
    assert charges["localise"] is Charge.SENSING
    assert charges["place pitcher"] is Charge.CONTINUATION, "the last thing done with it"
    assert charges["move to B"] is Charge.CONTINUATION
    assert charges["pour into B"] is Charge.CONTINUATION
    first = next(leaf for leaf in leaves(restarted[1]) if leaf.what == "place pitcher")
    assert first.charge is Charge.ROLLBACK


def test_a_swap_is_recovered(swap):
    world, found = swap
    assert found.verdict.success
    assert found.verdict.left == ()
    assert world.quality.wanted == "B"
    assert world.declared.place == {"A": 1, "B": 0, "C": 2}


def test_a_recovery_costs_what_its_receipts_say(swap):
    _, found = swap
    assert found.loss == pytest.approx(sum(leaf.seconds for leaf in leaves(found)))
    probes = [receipt for receipt in found.receipts if receipt.charge is Charge.SENSING]
    assert [receipt.cost for receipt in probes] == pytest.approx([0.2] * len(found.recovery.evidence))


def test_starting_over_with_a_camera_that_reads_low_leaves_it_and_the_target_wrong():
    """The second look makes A the target, whose rivals are others than the graph knows."""
    world = PouringWorld(alarmed(BiasedCamera("A", -11.4), Stage.DECIDED, 1))
    assert world.declared.target == "B"
    found = judged(world, Restart())
    assert world.declared.target == "A"
    assert {"quantity_A", "target", "camera"} == set(found.verdict.left)
    assert charged(found.receipts, Charge.RESIDUAL) == 10.0 + 80.0 + 40.0
    assert not found.verdict.success


@pytest.mark.slow
def test_a_late_swap_is_poured_back_and_poured_anew():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    found = judged(world, RollBack(("target", "binding_A", "binding_B")))
    assert "pour" in found.recovery.undone
    assert any("back" in leaf.what for leaf in leaves(found))
    assert world.quality.wanted == "B"
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)
    assert world.robot.simulation.grams("A") == pytest.approx(28, abs=3.0)


@pytest.mark.slow
def test_water_is_poured_back_from_where_it_was_poured_though_only_the_target_was_found_elsewhere():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    judged(world, RollBack(("binding_B",)))
    assert world.robot.simulation.grams("A") == pytest.approx(28, abs=3.0)
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_finding_the_target_elsewhere_does_not_make_a_pour_into_another_cup_right():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    found = judged(world, RollBack(("binding_A",)))
    assert "pour" not in found.recovery.undone
    assert "target" in found.verdict.left
    assert not found.verdict.success


def test_a_pour_back_that_fails_leads_to_another_decision_and_nothing_is_poured_on_top(monkeypatch):
    def refuses(robot, cup, dose_g, charge):
        yield from ()
        return failed("the cup slipped")

    monkeypatch.setattr(recovering, "pour_back", refuses)
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    found = judged(world, RollBack(("target",)), Continue())
    assert [type(step) for step in found.recovery.steps] == [RollBack, Continue]
    assert [receipt.what for receipt in found.receipts if not receipt.succeeded] == ["undo: pour back"]
    assert not found.verdict.success
    assert world.quality.received_g["A"] == pytest.approx(DOSE_G, abs=3.0), "as it was, and judged so"
    assert world.quality.received_g["B"] == 0


def test_undone_measurements_are_made_anew_and_paid_for():
    world = PouringWorld(alarmed(SWAP), linear_chain=True)
    found = judged(world, RollBack(("quantity_A",)))
    assert {"measure_A", "measure_B", "measure_C", "decide"} <= set(found.recovery.undone)
    done = [leaf.what for leaf in leaves(found) if leaf.charge is Charge.SENSING]
    assert [what for what in ("localise carefully", "weigh A", "weigh B", "weigh C") if what not in done] == []
    assert world.declared.target == "B"


def test_a_probe_answers_alike_whatever_was_asked_before():
    plain, busy = (PouringWorld(alarmed(SWAP)) for _ in range(2))
    for probe in ("weigh_A", "look_C", "localise"):
        answer(busy, probe)
    asked = ("look_A", "look_A", "stamp", "localise", "weigh_B")
    answers = [answer(plain, probe) for probe in asked]
    busy_answers = [answer(busy, probe) for probe in asked[:3]]
    assert busy_answers == answers[:3]
    assert answer(busy, "weigh_B") == answers[4]
    assert answers[0] != answers[1], "another use is another reading"
    assert answers[3] == "A and B exchanged"
    assert answers[4] == pytest.approx(28, abs=2.5), "A stands where B is believed to stand"


def test_worlds_of_one_alarm_end_bit_for_bit_alike():
    worlds = [PouringWorld(alarmed(SWAP)) for _ in range(2)]
    found = [recovered(EveryProbe(Escalate()), world) for world in worlds]
    assert found[0].recovery.evidence == found[1].recovery.evidence
    assert found[0].receipts == found[1].receipts
    assert found[0].verdict == found[1].verdict
    one, other = (world.robot.simulation.data.qpos.tobytes() for world in worlds)
    assert one == other


def test_the_alarm_itself_is_never_driven():
    alarm = alarmed(SWAP)
    before = alarm.robot.simulation.ticks, len(alarm.robot.leaves)
    world = PouringWorld(alarm)
    answer(world, "look_A")
    assert (alarm.robot.simulation.ticks, len(alarm.robot.leaves)) == before


def test_nothing_public_depends_on_the_truth():
    alarm = alarmed(BLINK)
    robot = alarm.robot.branch()
    robot.faults = CameraFaults(bias_g={"A": 9.0})
    other = replace(
        alarm,
        robot=robot,
        episode=replace(alarm.episode, perturbation=SWAP, seed=(99,)),
        before_pouring_g={"A": 1, "B": 2, "C": 3},
    )
    one, two = PouringWorld(alarm), PouringWorld(other)
    assert (one.alarm().posterior == two.alarm().posterior).all()
    assert one.model.problem.declarations == two.model.problem.declarations
    assert one.model.problem.coverage == two.model.problem.coverage
    assert one.model.problem.graph.edges == two.model.problem.graph.edges
    assert (one.model.problem.restart.loss == two.model.problem.restart.loss).all()


def test_the_public_state_leads_nowhere_near_the_table():
    seen, waiting = set(), [PouringWorld(alarmed(SWAP)).alarm()]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type | types.ModuleType | types.FunctionType):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Simulation | robot.Robot | Alarmed | CameraFaults), thing
        waiting += gc.get_referents(thing)
    assert len(seen) > 500, "the walk went somewhere"


@pytest.mark.parametrize("poured_g", [0.0, -0.1])
def test_where_nothing_came_the_pour_is_still_to_be_done(monkeypatch, poured_g):
    def pours(robot, declared, charge):
        yield
        return declared.after_pouring(20.0), NOTHING_TO_DO

    monkeypatch.setattr(recovering, "pour_dose", pours)
    alarm = alarmed(BLINK)
    declared = replace(alarm.declared, poured_g=poured_g)
    recovery = recovering.Recovering(alarm.robot.branch(), declared, Stage.MOVED)
    drive(recovery.robot, recovery.work(Finish()))
    assert recovery.declared.poured_g == pytest.approx(20.0, abs=0.2)


def test_an_unknown_plan_fails_before_anything_moves():
    world = PouringWorld(alarmed(BLINK))
    receipt = world.perform(Follow("teleport"))
    assert not receipt.succeeded
    assert world.robot.simulation.ticks == world.alarmed.robot.simulation.ticks


def test_a_plan_that_always_fails_ends_with_a_person():
    found = judged(PouringWorld(alarmed(BLINK)), RollBack((), plan="teleport"))
    assert found.recovery.ending is Ending.HANDED_OVER
    assert found.recovery.failures == {"teleport": 4}


def test_an_unknown_probe_is_refused():
    with pytest.raises(UnknownName, match="smell_A"):
        PouringWorld(alarmed(BLINK)).measure(Measure("smell_A"))


def test_after_an_act_probes_see_the_table_as_it_is_now():
    world = PouringWorld(alarmed(BLINK))
    before = answer(world, "weigh_B")
    world.perform(Finish())
    assert answer(world, "weigh_B") == pytest.approx(before + DOSE_G, abs=3.0)


def test_the_linear_chain_is_another_graph_over_the_same_table():
    fine, chain = PouringWorld(alarmed(BLINK)), PouringWorld(alarmed(BLINK), linear_chain=True)
    assert "fetch" not in fine.model.problem.graph.closure(["target"])
    assert "fetch" in chain.model.problem.graph.closure(["target"])
    assert (fine.alarm().posterior == chain.alarm().posterior).all()


def test_calibration_covers_a_common_alarm_before_the_pour():
    world = PouringWorld(alarmed(BLINK))
    assert PowerScreen().covers(world.alarm())
    assert world.robot.holding == dim.PITCHER
