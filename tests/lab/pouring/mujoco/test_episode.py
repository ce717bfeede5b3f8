"""Episodes up to their alarm: the same bits each time, as far as asked, and reported from what sensors show."""

from functools import cache

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import KNOWN, LIGHT, SCENE, alarmed
from tests.lab.taking import answer

from aquamend.errors import AquaMendError
from aquamend.recovery import Charge
from aquamend_lab.pouring.calibration_run import CalibrationRecord, configuration_of
from aquamend_lab.pouring.model.configurations import CONFIGURATIONS, CameraState
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco import episode as episode_module
from aquamend_lab.pouring.mujoco import skills
from aquamend_lab.pouring.mujoco.body import Body, failed, read_scale, tick_until_done
from aquamend_lab.pouring.mujoco.episode import DOSE_G, TOLERATED, AtTheAlarm, Episode, survey, until_alarm
from aquamend_lab.pouring.mujoco.judging import wrong_at_alarm
from aquamend_lab.pouring.mujoco.sensors import SensorFaults
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
)
from aquamend_lab.pouring.mujoco.world import PouringRobot
from aquamend_lab.pouring.robot_fit import error_g, supposed_exactly
from aquamend_lab.pouring.task import (
    CHECK_CAMERA,
    FAULTY,
    IN_PLACE,
    LOCALISE,
    ROUTINE,
    SOUND,
    Sense,
    Signal,
    Stage,
    look,
    weigh,
)

pytestmark = pytest.mark.slow

OCCLUSION = Occlusion("C")
HELD = {vessel.name: vessel.grams for vessel in LIGHT.vessels}
EVERY_KIND = {
    "occlusion": OCCLUSION,
    "spike": Spike(Signal.LEVEL, "A", -2.0),
    "little": AddWater("B", 5),
    "much": AddWater("B", 15),
    "rival": AddWater("A", 9),
    "third": AddWater("C", 9),
    "swap rival": SwapCups("B", "A"),
    "swap third": SwapCups("B", "C"),
    "swap others": SwapCups("A", "C"),
    "bias": BiasedCamera("A", -9.0),
    "frozen": FrozenCamera(),
    "mixed up": MixedUpCamera("B", "A"),
}


def record_of(alarm: AtTheAlarm) -> CalibrationRecord:
    """Return what a calibration run would write down of an alarm, the readings left out."""
    trouble = alarm.episode.trouble
    return CalibrationRecord(
        run=0,
        kind="",
        declared=alarm.declared,
        heard=alarm.heard,
        configuration=configuration_of(alarm),
        added_g=float(trouble.grams) if isinstance(trouble, AddWater) else 0.0,
        bias_g=abs(trouble.bias_g) if isinstance(trouble, BiasedCamera) else 0.0,
        scale_off_g=max(map(abs, alarm.episode.scale_off_g.values()), default=0.0),
    )


def disagreements(alarm: AtTheAlarm, probes) -> dict[str, object]:
    """Return the readings that are not what the model predicts where it knows what is the matter."""
    record, robot, found = record_of(alarm), PouringRobot(alarm), {}
    model = record.model(KNOWN)
    supposed = supposed_exactly(record, model)
    for name in probes:
        m = model.task.measurements[name]
        error = error_g(supposed, m.sense, model.order.index(m.cup), float(answer(robot, name)))
        if abs(error) > 3.5:
            found[name] = error
    return found


def amounts(alarm: AtTheAlarm) -> list[str]:
    """Return the looks and weighings that are possible."""
    measurements = alarm.template.model({}).task.measurements
    return [p for p in alarm.state().legal_probes if measurements[p].sense in (Sense.LOOK, Sense.WEIGH)]


# The same each time, and as far as asked


def test_the_same_episode_gives_the_same_bits():
    one, other = alarmed(OCCLUSION), until_alarm(alarmed(OCCLUSION).episode, fitted=KNOWN)
    assert one.body.simulation.data.qpos.tobytes() == other.body.simulation.data.qpos.tobytes()
    assert (one.heard, one.declared, one.body.leaves) == (other.heard, other.declared, other.body.leaves)


def test_another_seed_is_other_noise_over_the_same_table():
    one, other = alarmed(OCCLUSION), alarmed(OCCLUSION, seed=6)
    assert one.declared.quantity_g != other.declared.quantity_g
    assert one.before_pouring_g == other.before_pouring_g


@pytest.mark.parametrize("stage", [Stage.DECIDED, Stage.LIFTED, Stage.BESIDE, Stage.POURED])
def test_the_tracker_says_what_was_executed_and_the_problem_is_of_that(stage):
    alarm = alarmed(OCCLUSION, stage, scene=SCENE if stage is Stage.POURED else LIGHT)
    assert alarm.heard.stage is stage
    assert alarm.tracker.executed == stage.executed
    assert tuple(action.name for action in alarm.state().problem.graph.executed) == stage.executed
    assert alarm.body.holding == (dim.PITCHER if stage.executed else None)


def test_late_the_dose_is_in_the_target_and_was_read_with_noise():
    alarm = alarmed(OCCLUSION, Stage.POURED, scene=SCENE)
    came = alarm.body.simulation.grams("B") - alarm.before_pouring_g["B"]
    assert came == pytest.approx(DOSE_G, abs=3.0)
    assert alarm.heard.poured_g == pytest.approx(came, abs=2.0)
    assert alarm.heard.poured_g != came
    assert alarm.declared.quantity_g[1] == pytest.approx(18.0, abs=3.0), "told as before the pour"


def test_a_move_rests_on_the_target_and_where_it_stands():
    graph = alarmed(OCCLUSION, Stage.BESIDE).state().problem.graph
    assert graph.closure(["target"]) == graph.closure(["binding_B"]) == ("move",)
    assert graph.closure(["binding_A"]) == ()


# What really ran, where something failed


def test_a_grasp_that_failed_has_executed_nothing(monkeypatch):
    def slips(body, vessel):
        yield
        return failed("nothing between the pads")

    monkeypatch.setattr(skills, "grasp", slips)
    alarm = until_alarm(Episode(LIGHT, Stage.BESIDE, OCCLUSION, (5,)), fitted=KNOWN)
    tried = [leaf.what for leaf in alarm.body.leaves if not leaf.succeeded]
    assert tried == ["grasp pitcher", "grasp pitcher"], "the second after looking where it stands"
    assert alarm.tracker.executed == ()
    assert alarm.heard.stage is Stage.DECIDED
    assert not alarm.state().problem.graph.executed
    assert PouringRobot(alarm).hands.aimed_m is None


def test_a_pitcher_that_was_dropped_on_the_way_was_neither_lifted_nor_moved(monkeypatch):
    def drops(body, vessel):
        body.simulation.grip = 0.0
        yield
        body.holding = None
        return failed("pitcher was dropped on the way")

    monkeypatch.setattr(episode_module, "move", drops)
    alarm = until_alarm(Episode(LIGHT, Stage.POURED, OCCLUSION, (5,)), fitted=KNOWN)
    assert (alarm.tracker.executed, alarm.heard.stage, alarm.heard.poured_g) == ((), Stage.DECIDED, 0.0)


# What is declared, and when trouble begins


def test_what_is_measured_is_near_what_is_there():
    declared = alarmed(OCCLUSION).declared
    assert declared.target == "B"
    for cup, grams, mm in zip(dim.CUPS, declared.quantity_g, declared.position_mm, strict=True):
        assert grams == pytest.approx(HELD[cup], abs=3.0)
        assert mm == pytest.approx(1000 * dim.PLACES_X[dim.CUPS.index(cup)], abs=10)


def test_a_camera_begins_to_drift_after_the_declarations_which_are_right():
    alarm = alarmed(BiasedCamera("A", -9.0))
    assert alarm.declared.quantity_g[0] == pytest.approx(15.0, abs=3.0)
    assert wrong_at_alarm(alarm) == ("camera",)
    assert alarm.heard.looked == {"A": pytest.approx(15.0 - 9.0, abs=3.0)}
    assert answer(PouringRobot(alarm), weigh("A")) == pytest.approx(15.0, abs=3.0)


def test_a_table_that_cannot_be_seen_is_nothing_to_decide_on():
    body = Body(alarmed(OCCLUSION).body.simulation.branch(), SensorFaults(hidden=("B",)))
    with pytest.raises(AquaMendError, match="does not find B"):
        tick_until_done(body, survey(body, Charge.CONTINUATION))


def test_everybody_knows_which_cups_stand_on_a_scale_and_how_far_off_the_middle():
    heard = alarmed(OCCLUSION).heard
    assert heard.scale_at == {"A": True, "B": True, "C": False}
    assert heard.offset_mm == pytest.approx({"A": 3.6, "B": 4.1, "C": 4.1}, abs=5.0)


# The alarm


@pytest.mark.parametrize(
    ("trouble", "located"),
    [(OCCLUSION, IN_PLACE), (SwapCups("B", "A"), "A and B exchanged"), (FrozenCamera(), IN_PLACE)],
    ids=["occlusion", "swap", "frozen"],
)
def test_a_localisation_and_a_look_belong_to_every_alarm_and_are_charged(trouble, located):
    alarm = alarmed(trouble)
    cup = alarm.report.cup or alarm.declared.target
    own = [(leaf.what, leaf.charge, leaf.cost) for leaf in alarm.body.leaves[-2:]]
    assert own == [("localise", Charge.SENSING, 0.2), (f"look at {cup}", Charge.SENSING, 0.2)]
    assert alarm.heard.located == located
    found, looked = alarm.state().evidence
    assert (found.probe, found.outcome) == (LOCALISE, located)
    assert (looked.probe, looked.outcome) == (look(cup), pytest.approx(HELD[cup], abs=3.0))
    assert look(cup) not in alarm.state().legal_probes, "a second look would repeat its error"
    assert alarm.body.believed_m["A"] == pytest.approx((-0.217, -0.002), abs=0.01), "seen is not believed yet"


@pytest.mark.parametrize(
    ("trouble", "signal", "cup"),
    [
        (OCCLUSION, Signal.SIGHT, "C"),
        (Spike(Signal.LEVEL, "A", -2.0), Signal.LEVEL, "A"),
        (Spike(Signal.POSITION, "B", 2.0), Signal.POSITION, "B"),
        (Spike(Signal.STAMP, "", 2.0), Signal.STAMP, ""),
    ],
    ids=["occlusion", "level", "position", "stamp"],
)
def test_what_passes_in_a_moment_is_a_false_alarm(trouble, signal, cup):
    alarm = alarmed(trouble)
    assert (alarm.report.signal, alarm.report.cup) == (signal, cup)
    assert abs(alarm.report.excess) > TOLERATED[signal]
    assert wrong_at_alarm(alarm) == ()
    robot = PouringRobot(alarm)
    assert alarm.heard.looked == {cup or "B": pytest.approx(HELD[cup or "B"], abs=3.0)}, "it has passed"
    assert answer(robot, LOCALISE) == IN_PLACE


@pytest.mark.parametrize("off_g", [10.5, -10.5])
def test_a_scale_that_is_off_is_hidden_and_stays_off(off_g):
    alarm, sound = alarmed(OCCLUSION, off={0: off_g}), alarmed(OCCLUSION)
    assert (alarm.report, alarm.declared) == (sound.report, sound.declared), "nothing public tells of it"
    assert wrong_at_alarm(alarm) == ()
    body = alarm.body.branch()
    for _ in range(3):
        assert tick_until_done(body, read_scale(body, 0)).value == pytest.approx(15.0 + off_g, abs=2.0)
        assert tick_until_done(body, read_scale(body, 1)).value == pytest.approx(5.0, abs=2.0)


@pytest.mark.parametrize("trouble", [AddWater("A", 9), BiasedCamera("A", -9.0)], ids=["added", "bias"])
def test_a_scale_that_is_off_changes_nothing_that_the_monitor_says(trouble):
    """It has carried as much too much all along."""
    off, sound = alarmed(trouble, off={0: -8.0}).report, alarmed(trouble).report
    assert (off.signal, off.cup) == (sound.signal, sound.cup)
    assert off.excess == pytest.approx(sound.excess, abs=0.2)


def test_where_nothing_is_conspicuous_the_alarm_is_a_routine_check(monkeypatch):
    monkeypatch.setattr(episode_module, "conspicuous", lambda report: False)
    monkeypatch.setattr(episode_module, "MOST_CHECKS", 2)
    assert until_alarm(Episode(LIGHT, Stage.DECIDED, SwapCups("A", "B"), (5,)), fitted=KNOWN).report == ROUTINE


def test_somebody_who_listens_hears_of_every_primitive_and_of_what_happened():
    heard, noticed = [], []
    alarm = until_alarm(
        Episode(LIGHT, Stage.DECIDED, SwapCups("A", "B"), (5,)),
        fitted=KNOWN,
        listener=heard.append,
        notice=lambda body, declared: noticed.append(body.simulation.position("A")[0]),
    )
    assert heard == alarm.body.leaves
    assert noticed[0] == pytest.approx(dim.PLACES_X[0], abs=0.01)
    assert noticed[1] == pytest.approx(dim.PLACES_X[1], abs=0.01)


# What the world shows is what the model predicts


@cache
def of_kind(kind: str) -> AtTheAlarm:
    return alarmed(EVERY_KIND[kind])


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_true_configuration_is_one_of_the_72_and_predicts_every_reading(kind):
    alarm = of_kind(kind)
    assert configuration_of(alarm) in CONFIGURATIONS
    assert disagreements(alarm, amounts(alarm)) == {}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_true_configuration_says_what_is_wrong_and_what_localisation_and_self_test_tell(kind):
    alarm = of_kind(kind)
    truth, problem = configuration_of(alarm), alarm.state().problem
    nearest = alarm.template.model({}).nearest(truth, alarm.before_pouring_g)
    hypothesis = problem.model.hypotheses[nearest]
    assert set(wrong_at_alarm(alarm)) == set(hypothesis.truth)
    assert hypothesis.cause == alarm.episode.trouble.cause
    robot = PouringRobot(alarm)
    assert answer(robot, LOCALISE) == alarm.heard.located
    assert (alarm.heard.located == IN_PLACE) == ("swap" not in kind)
    message = FAULTY if truth.camera in (CameraState.FROZEN, CameraState.MIXED_UP) else SOUND
    assert answer(robot, CHECK_CAMERA) == message


@pytest.mark.parametrize("kind", ["rival", "bias"])
def test_the_true_configuration_predicts_a_scale_that_is_off(kind):
    alarm = alarmed(EVERY_KIND[kind], off={0: -8.0})
    assert configuration_of(alarm).scales.name == "OFF"
    assert disagreements(alarm, [weigh("A"), weigh("B"), look("B")]) == {}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_after_a_pour_the_true_configuration_predicts_every_reading_too(kind):
    trouble = {"much": AddWater("B", 14)}.get(kind, EVERY_KIND[kind])
    alarm = alarmed(trouble, Stage.POURED, scene=SCENE)
    assert disagreements(alarm, amounts(alarm)) == {}


def test_water_added_is_reported_by_whether_the_target_stays_least():
    message = {kind: configuration_of(of_kind(kind)).happened.value for kind in ("little", "much", "rival", "third")}
    assert message == {
        "little": "a little added to target",
        "much": "much added to target",
        "rival": "water added to rival",
        "third": "water added to third",
    }
