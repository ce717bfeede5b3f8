"""Alarms by name, beliefs that age and checks before an action, beside a task: a tracker knows what each needs."""

import asyncio
import itertools
import json
import math
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from aquamend.belief import InformationState
from aquamend.decision.steps import Advice, Continue, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError, RungAndSilent, SecondAlarm, UnknownName
from aquamend.files import load_problem, parse_problem
from aquamend.files.decision_format import decision_record
from aquamend.policies import AquaMend
from aquamend.policies.decision_report import decision_report
from aquamend.problem import Ages
from aquamend.problem.building.compensations import before_action
from aquamend.problem.graph import Belief
from aquamend.recovery import Declare, Finish, Instant, Measure, MemoryLog, NotNow, Recovery, Rules, Session, Tracker
from aquamend.recovery.events import Alarmed
from aquamend.recovery.plain import event_from_data, event_to_data
from aquamend.recovery.situation import Came, Change, problem_after

ROOT = Path(__file__).parents[2]
DELIVERY = load_problem(ROOT / "examples" / "delivery_robot.yaml")


def prior(problem):
    return dict(zip(problem.model.names, problem.model.prior.tolist(), strict=True))


def doubts(state):
    return dict(zip(state.problem.graph.belief_index, state.failure_probabilities.tolist(), strict=True))


def delivered(at=0.0):
    """Return a tracker of a robot that has gone to its ward: badge read at 50 s, corridor scanned at 100 s."""
    tracker = Tracker(DELIVERY, at=at)
    tracker.declare("recipient", "nurse_12", evidence=["read_badge"], at=at + 50)
    tracker.done("ride_lift")
    tracker.declare("pose", evidence=["match_scan"], at=at + 80)
    tracker.declare("map", evidence=["match_scan"], at=at + 100)
    tracker.done("drive_to_ward")
    tracker.done("open_drawer")
    return tracker


# Alarms.


def test_a_tracker_hears_alarms_by_name_and_silence():
    tracker = delivered()
    said = tracker.alarm("scan_match", silent=["barometer"], at=300)
    by_hand = InformationState.alarmed(tracker.problem(at=300), "scan_match", silent=["barometer"])
    assert said.to_data() == by_hand.to_data()
    assert (said.rung, said.silent) == (("scan_match",), ("barometer",))
    with pytest.raises(AquaMendError, match="several alarms; say which one has rung: 'scan_match', 'barometer'"):
        tracker.alarm()
    with pytest.raises(UnknownName, match="unknown alarm 'bell'"):
        tracker.alarm("bell")
    with pytest.raises(RungAndSilent):
        tracker.alarm("barometer", silent=["barometer"])


def corrected(state, **values):
    """Return the state once a recovery has declared these beliefs again."""
    changes = [Change(Declare(belief, value), Came.DONE) for belief, value in values.items()]
    return replace(state, problem=problem_after(state, changes, state.problem))


def test_an_alarm_that_rings_after_a_correction_does_not_blame_what_was_corrected():
    heard = InformationState.alarmed(DELIVERY, "scan_match")
    before = doubts(heard)
    again = corrected(heard, pose=None).after_alarm("scan_match")
    assert doubts(again)["pose"] == 0.0, "it was repaired"
    slipped = DELIVERY.model.among([n for n in DELIVERY.model.names if "slipped" in n])
    assert again.posterior @ slipped <= heard.posterior @ slipped + 1e-12, "whatever had happened to the old pose"
    assert doubts(again)["map"] > 1.5 * before["map"]


def test_the_map_off_of_the_findings_stays_where_it_was_and_the_other_cause_is_blamed():
    beliefs = [{"name": "map", "residual": 20}, {"name": "wheels", "residual": 20}]
    hypotheses = [
        {"name": "map_off", "prior": 0.7, "failed": ["map"]},
        {"name": "slipped", "prior": 0.3, "failed": ["wheels"]},
    ]
    likelihood = {"map": 0.9, "wheels": 0.9, "default": 0.05}
    for alarms in ({"alarm": {"likelihood": likelihood}}, {"alarms": {"scan": {"likelihood": likelihood}}}):
        problem = parse_problem(
            {"format": "aquamend-problem/1", "beliefs": beliefs, "hypotheses": hypotheses, **alarms}
        )
        state = InformationState.alarmed(problem)
        with pytest.raises(SecondAlarm, match="until something is corrected"):
            state.after_alarm()
        again = corrected(state, map=None).after_alarm()
        assert again.posterior == pytest.approx([0.115, 0.885], abs=5e-4)


def redrawn(scripted, ending, *, log=None, **rest):
    """Return the session of a robot whose scan rings again as soon as it has followed a plan, or the restart."""
    problem = parse_problem(
        {
            "format": "aquamend-problem/1",
            "beliefs": [
                {"name": "map", "residual": 20},
                {"name": "shelf", "residual": 30, "declared": "A", "needs_support": True},
                {"name": "wheels", "residual": 20},
            ],
            "actions": [{"name": "drive", "undo": 5, "status": "executed"}],
            "probes": [{"name": "look", "cost": 1}],
            "edges": [["map", "drive", "belief_to_action"], ["look", "shelf", "detection"]],
            "hypotheses": [
                {"name": "map_off", "prior": 0.5, "failed": ["map"]},
                {"name": "moved", "prior": 0.2, "truth": {"shelf": "B"}},
                {"name": "slipped", "prior": 0.2, "failed": ["wheels"]},
                {"name": "both", "prior": 0.1, "failed": ["map", "wheels"]},
            ],
            "kernels": {"look": {"of": "shelf", "right": 0.9}},
            "alarms": {"scan": {"likelihood": [["map", 0.9], ["shelf", 0.8], ["wheels", 0.7], ["default", 0.05]]}},
            "escalate": 40,
        }
        | rest
    )
    policy = scripted.Steps([ending, Escalate()])
    rules = Rules(ask_before_handing_over=False)
    session = Session.begin(InformationState.alarmed(problem), policy, log=log, name="redrawn", rules=rules)
    session.reply(session.request.act.done(alarm=True))
    return session, policy


PLANS = {"plans": [{"name": "redraw", "loss": 9, "correct": ["map", "shelf"], "undo": ["drive"]}]}


def test_an_alarm_after_a_plan_counts_and_does_not_blame_what_the_plan_has_corrected(scripted):
    session, policy = redrawn(scripted, RollBack(("map", "shelf"), ("drive",), plan="redraw"), **PLANS)
    first, now = policy.saw
    assert (doubts(now)["map"], doubts(now)["shelf"]) == (0.0, 0.0), "they are right"
    by_hand = first.posterior * [0.05, 0.05, 0.7, 0.7]
    assert now.posterior == pytest.approx(by_hand / by_hand.sum())
    assert [action.name for action in now.problem.graph.executed] == []
    report = decision_report(now, AquaMend(), name="aquamend")
    assert "None" not in json.dumps(decision_record(report))
    assert [type(event) for event in session.recovery.steps] == [RollBack, Escalate]


def test_an_alarm_after_a_restart_finds_nothing_wrong_and_nothing_done(scripted):
    _, policy = redrawn(scripted, Restart(), restart=15)
    first, now = policy.saw
    assert list(doubts(now).values()) == [0.0, 0.0, 0.0]
    assert now.posterior == pytest.approx(first.posterior), "it rings with the same chance, whatever had happened"
    assert now.problem.graph.executed == ()


def test_what_a_plan_may_have_left_wrong_stays_in_doubt(scripted):
    made_good = [{"name": "recalibrate", "cost": 3, "correct": ["map"], "succeeds": 0.6}]
    free = {"beliefs": [{"name": "map", "residual": 20}, {"name": "shelf", "residual": 30, "declared": "A"},
                        {"name": "wheels", "residual": 20}]}  # fmt: skip
    _, policy = redrawn(scripted, RollBack(("map",), plan="recalibrate"), compensations=made_good, **free)
    first, now = policy.saw
    assert doubts(now)["wheels"] == 0.0, "nothing rests on them, so that the plan repairs them on the way"
    by_hand = first.posterior * [0.9, 0.8, 0.05, 0.9]
    assert now.posterior == pytest.approx(by_hand / by_hand.sum())


def test_an_alarm_after_a_plan_is_heard_the_same_when_the_session_is_read_back(scripted):
    log = MemoryLog()
    session, policy = redrawn(scripted, RollBack(("map", "shelf"), ("drive",), plan="redraw"), log=log, **PLANS)
    again = Recovery.of([entry.event for entry in log.read("redrawn")])
    assert again.state.posterior.tolist() == session.recovery.state.posterior.tolist()
    assert doubts(again.state) == doubts(policy.saw[1])


def test_a_recovery_that_is_read_back_hears_the_next_alarm_as_it_would_have():
    state = delivered().alarm("scan_match", silent=["barometer"], at=3000)
    begun = Alarmed(state, "aquamend", Rules(), Instant(3000.0))
    again = event_from_data(json.loads(json.dumps(event_to_data(begun)))).state
    assert again.to_data() == state.to_data()
    for changes in ({"pose": None}, {"floor": 3.0}):
        for monitor in DELIVERY.model.monitors:  # by rules in a list, and by a noisy-or
            one, other = (corrected(each, **changes).after_alarm(monitor) for each in (state, again))
            assert one.posterior.tolist() == pytest.approx(other.posterior.tolist(), abs=1e-12)


def test_what_is_wrong_now_follows_the_values_a_task_has_declared():
    """A template declares floor 4; the task has declared 3, so that the barometer rings where the floor is not 3."""
    tracker = Tracker(DELIVERY)
    tracker.declare("floor", 3)
    row = tracker.problem().ringing("barometer")
    known = {h.name: p for h, p in zip(DELIVERY.model.hypotheses, row, strict=True)}
    assert known["nothing"] == 0.85
    assert known["lift_stopped_early (floor=3)"] == 0.02
    assert known["lift_stopped_early (floor=2)"] == 0.85


# Ages.


def doubts_by_hand(*, map_age, recipient_age):
    """Return how probably each belief has failed: every combination of no more than two causes, counted."""
    moved, changed = 1 - math.exp(-0.00002 * map_age), 1 - math.exp(-0.00001 * recipient_age)
    total, failed = 0.0, dict.fromkeys(("map", "pose", "floor", "recipient"), 0.0)
    for causes in itertools.product((False, True), repeat=4):
        shelf_moved, slipped, stopped, shift_changed = causes
        if sum(causes) > 2:
            continue
        chances = (moved, 0.1 if shelf_moved else 0.02, 0.015, changed)
        mass = math.prod(p if present else 1 - p for p, present in zip(chances, causes, strict=True))
        total += mass
        for belief, wrong in zip(failed, (shelf_moved, slipped or stopped, stopped, shift_changed), strict=True):
            failed[belief] += mass * wrong
    return pytest.approx({belief: mass / total for belief, mass in failed.items()})


def test_a_tracker_knows_how_old_each_belief_is():
    problem = delivered().problem(at=1100)
    assert doubts(InformationState.start(problem)) == doubts_by_hand(map_age=1000, recipient_age=1050)


def test_what_nobody_has_declared_is_as_old_as_the_file_says_and_ages_from_then_on():
    tracker = Tracker(DELIVERY, at=1000)
    assert prior(tracker.problem(at=1000)) == pytest.approx(prior(DELIVERY))
    later = doubts(InformationState.start(tracker.problem(at=1500)))
    assert later == doubts_by_hand(map_age=3600 + 500, recipient_age=3600 + 500)


def test_what_is_measured_again_is_young_again():
    tracker = delivered()
    tracker.declare("map", evidence=["match_scan"], at=900)
    found = doubts(InformationState.start(tracker.problem(at=1000)))
    assert found == doubts_by_hand(map_age=100, recipient_age=950)


def test_what_was_derived_is_as_old_as_the_oldest_that_it_was_derived_from():
    tracker = delivered()
    tracker.declare("recipient", "nurse_12", inferred_from=["map", "pose"], at=900)
    found = doubts(InformationState.start(tracker.problem(at=1000)))
    assert found == doubts_by_hand(map_age=900, recipient_age=1000 - 80)


def test_a_belief_that_a_recovery_declared_or_measured_and_kept_is_young_again():
    declared, kept = delivered(), delivered()
    declared.apply(Declare("recipient", "nurse_31"), at=900)
    kept.alarm("scan_match", at=890)
    kept.apply(Measure("match_scan"), at=895)
    kept.apply(Finish(()), at=900)
    assert declared.problem(at=900).ageing is not None
    ages = [tracker._record.ages(tracker_now(1000)) for tracker in (declared, kept)]
    assert (ages[0].of("recipient"), ages[0].of("map")) == (100, 900)
    assert (ages[1].of("recipient"), ages[1].of("map")) == (950, 100)


def tracker_now(at):
    from aquamend.recovery.clock import as_instant

    return as_instant(float(at))


def test_ages_survive_the_program():
    tracker = delivered()
    again = Tracker.from_data(DELIVERY, json.loads(json.dumps(tracker.to_data())))
    assert prior(again.problem(at=1100)) == prior(tracker.problem(at=1100))
    assert again.to_data() == tracker.to_data()


def test_no_clock_is_read_into_the_books_where_nothing_ages():
    plain = parse_problem({"format": "aquamend-problem/1", "beliefs": [{"name": "b"}],
                           "hypotheses": [{"name": "h", "prior": 1}]})  # fmt: skip
    one, other = Tracker(plain, at=1), Tracker(plain, at=2)
    one.declare("b", at=3)
    other.declare("b", at=4)
    assert one.to_data() == other.to_data()


# Checks before an action.


def test_a_check_answers_with_prices_and_the_explanation_of_decide():
    check = delivered().check("hand_over", at=3000)
    assert (check.advice, check.step, bool(check)) == (Advice.MEASURE_FIRST, Reprobe("read_badge"), False)
    assert check.loss < check.loss_of_going_on
    assert str(check).startswith("before 'hand_over': measure first: run probe read_badge, which costs ")
    assert check.report.state.problem.before == "hand_over"
    fresh = delivered().check("hand_over", silent=["barometer", "scan_match"], at=110)
    assert (fresh.advice, fresh.step) == (Advice.GO_ON, Continue())


def test_measuring_first_is_advised_at_a_price_below_that_of_going_on_also_where_one_look_alone_does_not_pay():
    check = Tracker(DELIVERY, at=0).check("drive_to_ward", at=1)
    assert (check.advice, check.step) == (Advice.MEASURE_FIRST, Reprobe("look_around"))
    assert check.report.loss_of(check.step) > check.loss_of_going_on > check.loss
    assert check.loss == check.report.bounds.upper


def test_an_action_that_is_under_way_or_unknown_cannot_be_checked():
    tracker = delivered()
    with pytest.raises(AquaMendError, match="'drive_to_ward' is executed already; check it before it begins"):
        tracker.check("drive_to_ward")
    with pytest.raises(AquaMendError, match="'drive_to_ward' is executed already"):
        before_action(tracker.problem(), "drive_to_ward")
    with pytest.raises(UnknownName, match="unknown action 'hand_ovr'"):
        tracker.check("hand_ovr")


def quiet(*, ageing=False):
    """Return a tracker of two actions, of which one rests on something that may be wrong at a price."""
    gone = {"name": "gone", "failed": ["cup", "colour"]}
    listed = {"hypotheses": [{"name": "fine", "prior": 0.5}, {"prior": 0.5, **gone}]}
    file = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "cup", "residual": 30}, {"name": "colour"}],
        "actions": [{"name": "grasp", "undo": 1}, {"name": "pour", "reversible": False}, {"name": "wave", "undo": 0}],
        "probes": [{"name": "look", "cost": 1}],
        "edges": [
            ["look", "cup", "detection"],
            ["cup", "grasp", "belief_to_action"],
            ["grasp", "pour", "action_causal"],
            ["colour", "wave", "belief_to_action"],
        ],
        "kernels": {"look": {"outcomes": ["y", "n"], "likelihood": {"default": [0.9, 0.1], "gone": [0.1, 0.9]}}},
        "escalate": 20,
        **({"causes": [{"rate": 0.1, **gone}], "age": 7} if ageing else listed),
    }
    return Tracker(parse_problem(file))


@pytest.mark.parametrize("ageing", [False, True])
def test_a_check_whose_answer_cannot_be_other_than_to_go_on_decides_nothing(monkeypatch, ageing):
    tracker = quiet(ageing=ageing)
    assert tracker.check("wave").report is None
    monkeypatch.setattr("aquamend.recovery.tracker.problem_at", None)
    monkeypatch.setattr("aquamend.recovery.tracker.check_action", None)
    assert tracker.check("wave")
    assert str(tracker.check("wave")) == "before 'wave': go on; nothing that it rests on costs anything"


def test_a_check_is_remembered_until_something_has_changed():
    tracker = quiet()
    first = tracker.check("pour")
    assert tracker.check("pour") is first
    assert first.advice is Advice.MEASURE_FIRST
    tracker.done("grasp")
    after = tracker.check("pour")
    assert after is not first
    assert "grasp" in [action.name for action in after.report.state.problem.graph.executed]


def test_what_an_action_has_read_counts_in_the_check_before_the_next():
    tracker = quiet()
    assert tracker.check("wave")
    tracker.declare("cup")
    tracker.begin("wave")
    tracker.undone("wave")
    tracker._record.read("wave", tracker.declaration("cup"))
    tracker._record.changes += 1
    assert not tracker.check("wave"), "it was seen to rest on the cup"


def test_a_belief_without_a_value_on_which_nothing_rests_cannot_be_corrected_before_an_action():
    state = InformationState.alarmed(before_action(quiet().problem(), "pour"), ())
    graph = state.problem.graph
    assert graph.correction_cost(["cup"]) == math.inf
    assert Tracker.at(quiet().problem()).check("pour").report.stop.loss == pytest.approx(15.0)


def test_a_guard_lets_an_action_be_done_and_tracks_it_or_says_what_comes_first():
    tracker = quiet()
    with tracker.guard("wave") as check:
        assert check
        assert tracker.executed == ("wave",)
    tried = []
    with pytest.raises(NotNow, match="before 'pour': measure first") as caught, tracker.guard("pour"):
        tried.append("pour")
    assert caught.value.check.step == Reprobe("look")
    assert (tried, tracker.executed) == ([], ("wave",))


def test_a_guard_decorates_functions_and_coroutine_functions():
    tracker, done = quiet(), []

    @tracker.guard("wave")
    def wave(times):
        done.append(times)
        return tracker.executed

    @tracker.guard("pour")
    async def pour():
        done.append("poured")

    assert wave(3) == ("wave",)
    with pytest.raises(NotNow):
        asyncio.run(pour())
    assert done == [3]
    with pytest.raises(AquaMendError, match="a generator is no action"):
        tracker.guard("wave")(lambda: (yield))
    with pytest.raises(UnknownName):
        tracker.guard("wvae")


def test_checks_of_many_threads_are_those_of_one():
    tracker, answers = quiet(), []
    threads = [threading.Thread(target=lambda: answers.append(tracker.check("pour"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len({id(answer) for answer in answers}) == 1


def test_ages_given_to_a_file_stand_in_for_its_own():
    assert prior(load_problem(ROOT / "examples" / "delivery_robot.yaml", ages=Ages(0.0))).keys() == {
        "nothing", "slipped", "lift_stopped_early (floor=2)", "lift_stopped_early (floor=3)",
        "slipped + lift_stopped_early (floor=2)", "slipped + lift_stopped_early (floor=3)",
    }  # fmt: skip
    assert Belief("map", residual=60.0, declared="current") in DELIVERY.graph.beliefs
