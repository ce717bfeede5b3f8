"""Alarms by name, beliefs that age and checks before an action, beside a task: a tracker knows what each needs."""

import asyncio
import json
import math
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from aquamend.decision.steps import Advice, Continue, NewDeclaration, Reprobe, RollBack
from aquamend.errors import AquaMendError, RungAndSilent, SecondAlarm, UnknownName
from aquamend.graph import Belief
from aquamend.inference import InformationState, Observation
from aquamend.model.ages import Ages
from aquamend.modelling.guard import before_action
from aquamend.policies import AquaMend
from aquamend.problem_file import load_problem, parse_problem
from aquamend.recovery import Declare, Finish, Instant, Measure, NotNow, Rules, Tracker, Undo, acts_of
from aquamend.recovery.events import Alarmed
from aquamend.recovery.plain import event_from_data, event_to_data
from aquamend.recovery.situation import Came, Change, problem_after

ROOT = Path(__file__).parents[2]
DELIVERY = load_problem(ROOT / "examples" / "delivery.yaml")


def prior(problem):
    return dict(zip(problem.model.names, problem.model.prior.tolist(), strict=True))


def doubts(state):
    return dict(zip(state.problem.graph.belief_index, state.failure_probabilities.tolist(), strict=True))


def delivered(at=0.0):
    """Return a tracker of a robot that has gone to its ward: it was there at 300 s, having scanned at 100 s."""
    tracker = Tracker(DELIVERY, at=at)
    tracker.declare("recipient", "ward_12", evidence=["scan_badge"], at=at + 50)
    tracker.declare("floor", "3", evidence=["read_floor_sign"], at=at + 80)
    tracker.done("ride_lift")
    tracker.declare("map", evidence=["rescan_corridor"], at=at + 100)
    tracker.done("drive")
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
    again = corrected(heard, map=None).after_alarm("scan_match")
    assert doubts(again)["map"] == 0.0, "it was repaired"
    moved = DELIVERY.model.among([n for n in DELIVERY.model.names if n.startswith("furniture_moved")])
    assert again.posterior @ moved <= heard.posterior @ moved + 1e-12, "whatever had happened to the old map"
    assert doubts(again)["floor"] > 3 * before["floor"]


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


def test_a_recovery_that_is_read_back_hears_the_next_alarm_as_it_would_have():
    state = delivered().alarm("scan_match", silent=["barometer"], at=3000)
    begun = Alarmed(state, "aquamend", Rules(), Instant(3000.0))
    again = event_from_data(json.loads(json.dumps(event_to_data(begun)))).state
    assert again.to_data() == state.to_data()
    for changes in ({"map": None}, {"floor": "4"}):
        one, other = (corrected(each, **changes).after_alarm("barometer") for each in (state, again))
        assert one.posterior.tolist() == pytest.approx(other.posterior.tolist(), abs=1e-12)


def test_what_is_wrong_now_follows_the_values_a_task_has_declared():
    """A template declares floor 3; the task has declared 4, so that the barometer rings where the floor is not 4."""
    tracker = Tracker(DELIVERY)
    tracker.declare("floor", "4")
    row = tracker.problem().ringing("barometer")
    told = {h.name: p for h, p in zip(DELIVERY.model.hypotheses, row, strict=True)}
    assert told["nothing"] == 0.85
    assert told["lift_stopped_early (floor=4)"] == 0.02
    assert told["lift_stopped_early (floor=2)"] == 0.85


# Ages.


def came(rate, age):
    return 1 - math.exp(-rate * age)


def test_a_tracker_knows_how_old_each_belief_is():
    problem = delivered().problem(at=1100)
    assert doubts(InformationState.start(problem)) == pytest.approx(
        {"map": came(0.0002, 1000), "recipient": came(0.00002, 1050), "floor": 0.04}
    )


def test_what_nobody_has_declared_is_as_old_as_the_file_says_and_ages_from_then_on():
    tracker = Tracker(DELIVERY, at=1000)
    assert prior(tracker.problem(at=1000)) == pytest.approx(prior(DELIVERY))
    later = doubts(InformationState.start(tracker.problem(at=1500)))
    assert later["map"] == pytest.approx(came(0.0002, 1800 + 500))


def test_what_is_measured_again_is_young_again():
    tracker = delivered()
    tracker.declare("map", evidence=["rescan_corridor"], at=900)
    assert doubts(InformationState.start(tracker.problem(at=1000)))["map"] == pytest.approx(came(0.0002, 100))


def test_what_was_derived_is_as_old_as_the_oldest_that_it_was_derived_from():
    tracker = delivered()
    tracker.declare("recipient", "ward_12", inferred_from=["map", "floor"], at=900)
    found = doubts(InformationState.start(tracker.problem(at=1000)))["recipient"]
    assert found == pytest.approx(came(0.00002, 1000 - 80))


def test_a_belief_that_a_recovery_declared_or_measured_and_kept_is_young_again():
    declared, kept = delivered(), delivered()
    declared.apply(Declare("recipient", "ward_14"), at=900)
    kept.alarm("scan_match", at=890)
    kept.apply(Measure("rescan_corridor"), at=895)
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
    assert (check.advice, check.step, bool(check)) == (Advice.MEASURE_FIRST, Reprobe("scan_badge"), False)
    assert check.loss < check.loss_of_going_on
    assert str(check).startswith("before 'hand_over': measure first: run probe scan_badge, which costs ")
    assert check.report.state.problem.before == "hand_over"
    fresh = delivered().check("hand_over", silent=["barometer", "scan_match"], at=110)
    assert (fresh.advice, fresh.step) == (Advice.GO_ON, Continue())


def test_an_action_that_is_under_way_or_unknown_cannot_be_checked():
    tracker = delivered()
    with pytest.raises(AquaMendError, match="'drive' is executed already; check it before it begins"):
        tracker.check("drive")
    with pytest.raises(AquaMendError, match="'drive' is executed already"):
        before_action(tracker.problem(), "drive")
    with pytest.raises(UnknownName, match="unknown action 'hand_ovr'"):
        tracker.check("hand_ovr")


def quiet():
    """Return a tracker of two actions, of which one rests on something that may be wrong at a price."""
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
        "hypotheses": [{"name": "fine", "prior": 0.5}, {"name": "gone", "prior": 0.5, "failed": ["cup", "colour"]}],
        "kernels": {"look": {"outcomes": ["y", "n"], "likelihood": {"fine": [0.9, 0.1], "gone": [0.1, 0.9]}}},
        "escalate": 20,
    }
    return Tracker(parse_problem(file))


def test_a_check_whose_answer_cannot_be_other_than_to_go_on_decides_nothing(monkeypatch):
    tracker = quiet()
    assert tracker.check("wave").report is None
    monkeypatch.setattr("aquamend.recovery.tracker.problem_at", None)
    monkeypatch.setattr("aquamend.recovery.tracker.checked", None)
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


# All of it, end to end.


def carried_out(state, tracker, world, at):
    """Recover by hand, as a robot would; return where it ends and what was done."""
    done = []
    while isinstance(step := AquaMend().next_step(state), Reprobe):
        tracker.apply(Measure(step.probe), at=at)
        state = state.after(Observation(step.probe, world[step.probe]))
        done.append(step.probe)
    changes = []
    for act in acts_of(state, step):
        if not isinstance(act, Finish):
            tracker.apply(act, at=at)
        if isinstance(act, Undo | Declare):
            changes.append(Change(act, Came.DONE))
        done.append(str(act))
    return replace(state, problem=problem_after(state, changes, state.problem)), step, done


def test_a_delivery_is_checked_recovered_alarmed_again_and_handed_over():
    """The corridor has been changed, and the lift had stopped on floor 4; the recipient is where it was."""
    tracker = delivered()
    assert not tracker.check("hand_over", at=3000), "the badge was read long ago"
    tracker.declare("recipient", "ward_12", evidence=["scan_badge"], at=3010)
    state = tracker.alarm("scan_match", silent=["door_camera"], at=3020)
    world = {"rescan_corridor": "differs", "read_floor_sign": "4", "scan_badge": "ward_12"}
    state, _, _ = carried_out(state, tracker, world, 3030)
    if "barometer" not in state.rung:
        state, step, done = carried_out(state.after_alarm("barometer"), tracker, world, 3060)
    assert isinstance(step, RollBack)
    assert NewDeclaration("floor", "4") in step.declare or tracker["floor"] == "4"
    assert "undo: ride_lift" in done or "ride_lift" not in tracker.executed
    for action in ("ride_lift", "drive"):  # done again, on the floor that is declared now
        tracker.undone(action)
        tracker.done(action)
    tracker.declare("floor", "3", evidence=["read_floor_sign"], at=3190)
    tracker.declare("map", evidence=["rescan_corridor"], at=3195)
    quiet_ = ["scan_match", "barometer", "door_camera"]
    with tracker.guard("hand_over", silent=quiet_, at=3200) as check:
        assert check.advice is Advice.GO_ON
    assert tracker.executed[-1] == "hand_over"


def test_ages_given_to_a_file_stand_in_for_its_own():
    assert prior(load_problem(ROOT / "examples" / "delivery.yaml", ages=Ages(0.0))).keys() == {
        "nothing", "lift_stopped_early (floor=2)", "lift_stopped_early (floor=4)",
    }  # fmt: skip
    assert Belief("map", residual=40.0) in DELIVERY.graph.beliefs
