"""A table to recover on: honest readings, decisions carried out by hand, and a receipt for all that was done."""

import gc
import types
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.episodes import alarmed

from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.decision.detection import PowerScreen
from aquamend.errors import UnknownName
from aquamend.execution import Charge, World, charged, recover
from aquamend.policies import AquaMend
from aquamend.testing import check_world
from aquamend.testing.world_check import EveryProbe
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring import recovering
from aquamend.worlds.pouring.episode import DOSE_G, Alarmed, Stage
from aquamend.worlds.pouring.faults import CameraFaults
from aquamend.worlds.pouring.model import SAFE_STOP_LOSS
from aquamend.worlds.pouring.perturbations import BiasedCamera, FalseAlarm, SwapCups
from aquamend.worlds.pouring.robot import Robot, drive, failed
from aquamend.worlds.pouring.simulation import Simulation
from aquamend.worlds.pouring.world import PouringWorld

BLINK = FalseAlarm("level", "C", 2.0)
SWAP = SwapCups("A", "B")
START_OVER = Restart()


@dataclass(eq=False)
class Kept:
    """A world that remembers how it ended."""

    world: PouringWorld
    ended: dict = field(default_factory=dict)

    def alarm(self):
        return self.world.alarm()

    def measure(self, step):
        return self.world.measure(step)

    def commit(self, decision):
        self.ended = {"decision": decision, "outcome": self.world.commit(decision)}
        return self.ended["outcome"]


def ended(kept, decision):
    """Return the world that ended with a decision, and its outcome."""
    return next((k.world, k.ended["outcome"]) for k in kept if k.ended and type(k.ended["decision"]) is decision)


@pytest.fixture(scope="module")
def checked():
    """Return the worlds that a check of a false alarm went through: restarted, continued and escalated."""
    made = []

    def make_world():
        made.append(Kept(PouringWorld(alarmed(BLINK))))
        return made[-1]

    check = check_world(make_world, policies=())
    assert (check.episodes, check.probes) == (3, 32)
    return made


@pytest.fixture(scope="module")
def recovered():
    """Return a swap that was recovered, as episode and world."""
    world = PouringWorld(alarmed(SWAP))
    return recover(AquaMend(), world), world


def test_it_is_a_world():
    assert isinstance(PouringWorld(alarmed(BLINK)), World)


def test_it_keeps_the_promises_of_a_world(checked):
    assert len(checked) == 4, "one more is asked for a probe that nobody has"


@pytest.mark.slow
def test_it_keeps_the_promises_of_a_world_late():
    check = check_world(lambda: PouringWorld(alarmed(SWAP, Stage.POURED)), policies=(AquaMend(),))
    assert check.episodes == 4


def test_continuing_after_a_false_alarm_succeeds(checked):
    world, outcome = ended(checked, Continue)
    assert outcome.success
    assert world.quality.faults == ()
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_starting_over_with_a_sound_camera_succeeds(checked):
    world, outcome = ended(checked, Restart)
    assert outcome.success
    assert outcome.undone == ("fetch", "move")
    assert world.declared.version("target") == 2


def test_calling_a_person_costs_the_safe_stop_and_ends_with_an_empty_hand(checked):
    world, outcome = ended(checked, Escalate)
    assert charged(outcome.receipts, Charge.ESCALATION) == SAFE_STOP_LOSS
    assert charged(outcome.receipts) == pytest.approx(SAFE_STOP_LOSS + 16 * 0.2)
    assert not outcome.success
    assert world.robot.holding is None
    assert world.robot.simulation.spilled_g() == 0


@pytest.mark.parametrize("decision", [Continue, Restart])
def test_every_primitive_since_the_alarm_is_paid_once(checked, decision):
    world, outcome = ended(checked, decision)
    leaves = Counter((leaf.charge, leaf.seconds) for leaf in world.leaves)
    paid = Counter((receipt.charge, receipt.cost) for receipt in outcome.receipts)
    assert leaves == paid, "nothing was left wrong, so there is nothing else to pay"
    assert len({receipt.what for receipt in outcome.receipts if receipt.charge is not Charge.SENSING}) == sum(
        leaf.charge is not Charge.SENSING for leaf in world.leaves
    )


def test_primitives_follow_one_another_without_overlap(checked):
    leaves = ended(checked, Restart)[0].leaves
    assert all(earlier.end_s <= later.start_s for earlier, later in pairwise(leaves))


def test_what_is_done_again_counts_as_recovery_and_the_rest_as_continuation(checked):
    charges = {leaf.what: leaf.charge for leaf in ended(checked, Restart)[0].leaves}
    assert charges["move to B"] is Charge.RECOVERY
    assert charges["pour into B"] is Charge.CONTINUATION


def test_a_swap_is_recovered(recovered):
    episode, world = recovered
    assert episode.outcome.success
    assert episode.outcome.uncorrected == ()
    assert world.quality.wanted == "B"
    assert world.declared.place == {"A": 1, "B": 0, "C": 2}


def test_a_recovery_costs_what_its_receipts_say(recovered):
    episode, world = recovered
    assert episode.loss == pytest.approx(sum(leaf.seconds for leaf in world.leaves))
    assert charged(episode.outcome.receipts, Charge.SENSING) == pytest.approx(0.2 * len(episode.evidence))


def test_starting_over_with_a_camera_that_reads_low_leaves_it_and_the_target_wrong():
    """The second look makes A the target, whose rivals are others than the graph knows."""
    world = PouringWorld(alarmed(BiasedCamera("A", -11.4), Stage.DECIDED, 1))
    assert world.declared.target == "B"
    outcome = world.commit(START_OVER)
    assert world.declared.target == "A"
    assert {"quantity_A", "target", "camera"} == set(outcome.uncorrected)
    assert charged(outcome.receipts, Charge.RESIDUAL) == 10.0 + 80.0 + 40.0
    assert not outcome.success


@pytest.mark.slow
def test_a_late_swap_is_poured_back_and_poured_anew():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    outcome = world.commit(RollBack(("target", "binding_A", "binding_B")))
    assert "pour" in outcome.undone
    assert any("back" in leaf.what for leaf in world.leaves)
    assert world.quality.wanted == "B"
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)
    assert world.robot.simulation.grams("A") == pytest.approx(28, abs=3.0)


@pytest.mark.slow
def test_water_is_poured_back_from_where_it_was_poured_though_only_the_target_was_found_elsewhere():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    world.commit(RollBack(("binding_B",)))
    assert world.robot.simulation.grams("A") == pytest.approx(28, abs=3.0)
    assert world.quality.received_g["B"] == pytest.approx(DOSE_G, abs=3.0)


def test_finding_the_target_elsewhere_does_not_make_a_pour_into_another_cup_right():
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    outcome = world.commit(RollBack(("binding_A",)))
    assert "pour" not in outcome.undone
    assert "target" in outcome.uncorrected
    assert not outcome.success


def test_a_pour_back_that_fails_is_no_success_and_nothing_is_poured_on_top(monkeypatch):
    def refuses(robot, cup, dose_g, charge):
        yield from ()
        return failed("the cup slipped")

    monkeypatch.setattr(recovering, "pour_back", refuses)
    world = PouringWorld(alarmed(SWAP, Stage.POURED))
    outcome = world.commit(RollBack(("target",)))
    assert not outcome.success
    assert world.quality.received_g["A"] == pytest.approx(DOSE_G, abs=3.0), "as it was, and judged so"
    assert world.quality.received_g["B"] == 0


def test_undone_measurements_are_made_anew_and_paid_for():
    world = PouringWorld(alarmed(SWAP), linear_chain=True)
    outcome = world.commit(RollBack(("quantity_A",)))
    assert {"measure_A", "measure_B", "measure_C", "decide"} <= set(outcome.undone)
    done = [leaf.what for leaf in world.leaves]
    assert [what for what in ("localise carefully", "weigh A", "weigh B", "weigh C") if what not in done] == []
    assert world.declared.target == "B"


def test_a_probe_answers_alike_whatever_was_asked_before():
    plain, busy = (PouringWorld(alarmed(SWAP)) for _ in range(2))
    for probe in ("weigh_A", "look_C", "localise"):
        busy.measure(Reprobe(probe))
    asked = ("look_A", "look_A", "stamp", "localise", "weigh_B")
    answers = [plain.measure(Reprobe(probe)).outcome for probe in asked]
    busy_answers = [busy.measure(Reprobe(probe)).outcome for probe in asked[:3]]
    assert busy_answers == answers[:3]
    assert busy.measure(Reprobe("weigh_B")).outcome == answers[4]
    assert answers[0] != answers[1], "another use is another reading"
    assert answers[3] == "A and B exchanged"
    assert answers[4] == pytest.approx(28, abs=2.5), "A stands where B is believed to stand"


def test_worlds_of_one_alarm_end_bit_for_bit_alike():
    worlds = [PouringWorld(alarmed(SWAP)) for _ in range(2)]
    episodes = [recover(EveryProbe(Escalate()), world) for world in worlds]
    assert episodes[0].evidence == episodes[1].evidence
    assert episodes[0].outcome == episodes[1].outcome
    one, other = (world.robot.simulation.data.qpos.tobytes() for world in worlds)
    assert one == other


def test_the_alarm_itself_is_never_driven():
    alarm = alarmed(SWAP)
    before = alarm.robot.simulation.ticks, len(alarm.robot.leaves)
    world = PouringWorld(alarm)
    world.measure(Reprobe("look_A"))
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
        assert not isinstance(thing, Simulation | Robot | Alarmed | CameraFaults), thing
        waiting += gc.get_referents(thing)
    assert len(seen) > 500, "the walk went somewhere"


@pytest.mark.parametrize("poured_g", [0.0, -0.1])
def test_where_nothing_came_the_pour_is_still_to_be_done(monkeypatch, poured_g):
    def pours(robot, declared, charge):
        yield
        return declared.after_pouring(20.0)

    monkeypatch.setattr(recovering, "pour_dose", pours)
    alarm = alarmed(BLINK)
    declared = replace(alarm.declared, poured_g=poured_g)
    recovery = recovering.Recovery(alarm.robot.branch(), declared, Stage.MOVED, alarm.before_pouring_g)
    drive(recovery.robot, recovery.finish())
    assert recovery.declared.poured_g == pytest.approx(20.0, abs=0.2)


def test_an_unknown_plan_is_refused_before_anything_moves():
    world = PouringWorld(alarmed(BLINK))
    with pytest.raises(UnknownName, match="'teleport'; valid names: none"):
        world.commit(RollBack((), plan="teleport"))
    assert world.leaves == ()


def test_an_unknown_probe_is_refused():
    with pytest.raises(UnknownName, match="smell_A"):
        PouringWorld(alarmed(BLINK)).measure(Reprobe("smell_A"))


def test_the_linear_chain_is_another_graph_over_the_same_table():
    fine, chain = PouringWorld(alarmed(BLINK)), PouringWorld(alarmed(BLINK), linear_chain=True)
    assert "fetch" not in fine.model.problem.graph.closure(["target"])
    assert "fetch" in chain.model.problem.graph.closure(["target"])
    assert (fine.alarm().posterior == chain.alarm().posterior).all()


def test_calibration_covers_a_common_alarm_before_the_pour():
    world = PouringWorld(alarmed(BLINK))
    assert PowerScreen().covers(world.alarm())
    assert world.robot.holding == dim.PITCHER
