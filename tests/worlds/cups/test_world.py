"""A table to recover on: receipts for everything, corrections that hold, and faults that outlive a restart."""

import math

import pytest
from tests.worlds.taking import answer, judged

from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import UnknownName
from aquamend.recovery import Charge, Judge, Receipt, Robot, charged
from aquamend.worlds.cups import Add, CameraFault, CupTask, CupWorld, Nothing, Scene, Stage, Swap
from aquamend.worlds.cups.events import common_cause_events, standard_events
from aquamend.worlds.cups.model import Assumptions, Shares
from aquamend.worlds.cups.sensing import Noise

TABLE = (100.0, 130.0, 170.0)
EVENTS = (*standard_events(TABLE), *common_cause_events(TABLE))
ASSUMED = Assumptions(EVENTS, Shares(common_cause=0.4))
SURE = Noise(look_ml=1e-6, weigh_ml=1e-6, localise_error=0.0, check_error=0.0)
ACROSS = Add(0, 46.0)
MEASURED = ("measure_A", "measure_B", "measure_C")


def entered(event, **options):
    return CupWorld(CupTask(TABLE, **options), event, 0, ASSUMED, noise=SURE)


def test_it_is_a_robot_that_knows_the_truth():
    assert isinstance(entered(Nothing()), Robot)
    assert isinstance(entered(Nothing()), Judge)


def test_the_alarm_tells_nothing_of_what_happened():
    said = [entered(event).alarm() for event in EVENTS]
    assert all(state.problem is said[0].problem for state in said)
    assert all((state.posterior == said[0].posterior).all() and state.evidence == () for state in said)


def test_probes_answer_what_is_there_and_are_paid_for():
    receipts = judged(entered(ACROSS), Reprobe("look_A"), Reprobe("weigh_B"), Reprobe("localise"), Continue()).receipts
    assert [r for r in receipts if r.charge is Charge.SENSING] == [
        Receipt(Charge.SENSING, "look_A", 1.0, finding="far higher"),
        Receipt(Charge.SENSING, "weigh_B", 1.5, finding="as declared"),
        Receipt(Charge.SENSING, "localise", 1.0, finding="all in place"),
    ]


def test_the_same_use_of_a_probe_answers_alike_whatever_was_asked_before():
    differ = 0
    for seed in range(60):
        plain, busy = (CupWorld(CupTask(TABLE), Add(0, 8.0), 0, ASSUMED, seed=(seed,)) for _ in range(2))
        answer(busy, "weigh_A")
        answer(busy, "localise")
        first, second = (answer(plain, "look_A") for _ in range(2))
        assert answer(busy, "look_A") == first
        assert answer(busy, "look_A") == second
        differ += first != second
    assert differ > 10, "another use is another reading"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
@pytest.mark.parametrize("stage", Stage)
def test_rolling_back_what_failed_corrects_it_at_the_price_of_its_closure(event, stage):
    world, graph = entered(event, stage=stage), CupTask(TABLE, stage=stage).graph()
    failed = event.applied(Scene.as_declared(TABLE)).failed()
    outcome = judged(world, RollBack(failed, graph.closure(failed)))
    assert outcome.verdict.success
    assert outcome.verdict.left == ()
    assert set(outcome.recovery.undone) == set(graph.closure(failed))
    assert outcome.loss == pytest.approx(graph.correction_cost(failed))


def test_what_is_not_corrected_costs_its_residual():
    outcome = judged(entered(ACROSS), RollBack(("amount_A",), ("measure_A",)))
    assert outcome.verdict.left == ("rank_B", "target")
    assert charged(outcome.receipts, Charge.RESIDUAL) == 5.0 + 25.0
    assert charged(outcome.receipts, Charge.ROLLBACK) == 2.0
    assert not outcome.verdict.success


def test_undoing_without_correcting_changes_nothing_that_had_failed():
    undo = (*MEASURED, "decide", "grasp", "move")
    rewound, carried_on = judged(entered(ACROSS), RollBack((), undo)), judged(entered(ACROSS), Continue())
    assert rewound.verdict.left == carried_on.verdict.left == ("amount_A", "rank_B", "target")
    assert rewound.recovery.undone == undo[::-1], "the latest first"
    assert rewound.loss == carried_on.loss + 6.0 + 6.5


def test_carrying_on_is_right_when_nothing_happened():
    outcome = judged(entered(Nothing()), Continue())
    assert (outcome.verdict.success, outcome.loss, outcome.recovery.undone) == (True, 0.0, ())


def test_starting_over_undoes_the_arms_work_looks_at_every_cup_and_sees_what_changed():
    for event in (Nothing(), ACROSS, Swap(0, 1), Swap(1, 2)):
        outcome = judged(entered(event), Restart())
        assert outcome.verdict.success
        assert outcome.recovery.undone == ("decide", "grasp", "move")
        assert charged(outcome.receipts, Charge.SENSING) == 3.0
        assert charged(outcome.receipts, Charge.ROLLBACK) == 6.5


@pytest.mark.parametrize(
    "fault", [CameraFault("bias", 0, 45.0), CameraFault("stale", 1, -45.0), CameraFault("misbinding", 0, other=1)]
)
def test_starting_over_leaves_a_bad_camera_and_what_it_says(fault):
    outcome = judged(entered(fault), Restart())
    assert not outcome.verdict.success
    assert {"target", "camera"} <= set(outcome.verdict.left)
    assert charged(outcome.receipts, Charge.RESIDUAL) >= 25.0 + 15.0 + 15.0


def test_calling_somebody_costs_its_price_and_is_no_success():
    for event in (Nothing(), ACROSS):
        outcome = judged(entered(event), Reprobe("look_A"), Escalate())
        assert (outcome.loss, outcome.recovery.undone, outcome.verdict.success) == (31.0, (), False)


def test_revising_drops_what_was_measured_and_decides_from_the_rest():
    kept = judged(entered(Add(1, 40.0)), RollBack(("amount_B",), plan="revise B, target A"))
    assert (kept.verdict.success, kept.recovery.undone, kept.loss) == (True, (), 0.0)
    wrong = judged(entered(Nothing()), RollBack(("amount_A",), plan="revise A, target B"))
    assert wrong.verdict.left == ("target",), "without A the robot pours into B, which is not the least full"
    assert wrong.loss == 25.0


def test_revising_the_target_cup_drops_every_rank_that_rests_on_it():
    outcome = judged(entered(ACROSS), RollBack(("amount_A",), plan="revise A, target B"))
    assert outcome.verdict.success, "with A beyond B, the robot now aims at the least full cup"


def test_a_pour_that_was_made_stays_where_it_was_made():
    outcome = judged(entered(ACROSS, stage=Stage.POURED), RollBack(("amount_A",), plan="revise A, target B"))
    assert outcome.verdict.left == ("target",)


def test_revising_one_cup_does_not_correct_another():
    outcome = judged(entered(Add(2, 40.0)), RollBack(("amount_B",), plan="revise B, target A"))
    assert outcome.verdict.left == ("amount_C",)


def test_an_infeasible_rollback_costs_infinity_and_is_no_success():
    world = entered(ACROSS, stage=Stage.POURED, pour_reversible=False)
    outcome = judged(world, RollBack(("amount_A", "rank_B", "target"), ("decide", "grasp", "move", "pour")))
    assert outcome.loss == math.inf
    assert not outcome.verdict.success


def test_shared_work_is_paid_once():
    outcome = judged(entered(ACROSS, shared_work=4.0), RollBack(("amount_A", "amount_B", "target")))
    assert [r.what for r in outcome.receipts if "table" in r.what or "pitcher" in r.what] == [
        "undo: park the pitcher",
        "undo: clear the table",
    ]
    assert charged(outcome.receipts, Charge.ROLLBACK) == 4.0 + 2.0 + 2.0 + 4.0 + 6.5


def test_names_that_are_not_there_are_told():
    with pytest.raises(UnknownName, match="unknown probe 'taste_A'"):
        judged(entered(Nothing()), Reprobe("taste_A"))
    with pytest.raises(UnknownName, match="unknown belief 'weather'"):
        judged(entered(Nothing()), RollBack(("weather",)))
    with pytest.raises(UnknownName, match="unknown action 'fly'"):
        judged(entered(Nothing()), RollBack((), ("fly",)))


def test_a_plan_that_nobody_knows_is_infinitely_dear():
    for plan in ("revise D", "revise", "revise ", "revise AB"):
        assert judged(entered(Nothing()), RollBack((), plan=plan)).loss == math.inf
