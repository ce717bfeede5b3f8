"""What an action sets is declared and true once it has been done, until it is undone."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.brute_force import Reference
from tests.tiers import cases

from aquamend import InformationState, Observation
from aquamend.errors import InvalidProblem
from aquamend.files import parse_problem, problem_to_data
from aquamend.recovery import Declare, Tracker
from aquamend.recovery.acts import Redo, Undo
from aquamend.recovery.situation import Came, Change, problem_after

RIDE = {
    "format": "aquamend-problem/1",
    "beliefs": [
        {"name": "floor", "residual": 50, "declared": 3},
        {"name": "door", "residual": 20, "declared": "east"},
        {"name": "grip", "residual": 5},
    ],
    "actions": [
        {"name": "ride_lift", "undo": 8, "redo": 8, "sets": {"floor": 4}},
        {"name": "ride_on", "undo": 4, "sets": {"floor": 7}},
        {"name": "turn", "operations": ["step_back", "swing"], "sets": {"door": "west"}},
        {"name": "deliver", "reversible": False},
    ],
    "operations": [{"name": "step_back", "cost": 1}, {"name": "swing", "cost": 1}],
    "probes": [{"name": "read_sign", "cost": 1, "max_uses": 2}, {"name": "count", "cost": 1}],
    "edges": [
        ["read_sign", "floor", "detection"],
        ["floor", "ride_on", "belief_to_action"],
        ["ride_lift", "ride_on", "action_causal"],
    ],
    "causes": [
        {"name": "stuck", "prior": 0.1, "truth": {"floor": 3}},
        {"name": "wrong_button", "prior": 0.2, "truth": {"floor": {"values": [4, 5, 7]}}},
        {"name": "turned", "prior": 0.25, "truth": {"door": "north"}},
    ],
    "effects": [
        {"when": "stuck & wrong_button", "truth": {"floor": 3}},
        {"when": "floor = 5 & turned", "truth": {"door": "west"}},
    ],
    "kernels": {
        "read_sign": {"of": "floor", "right": 0.9, "none": 0.04},
        "count": {"outcomes": ["few", "many"], "likelihood": {"default": [0.75, 0.25], "floor >= 5": [0.25, 0.75]}},
    },
    "alarm": {"likelihood": {"default": 0.9, "nothing": 0.1}},
    "escalate": 60,
}  # fmt: skip


def said(state: InformationState) -> dict[str, float]:
    """Return the failure probability of every belief."""
    return dict(zip(state.problem.graph.belief_index, state.failure_probabilities.tolist(), strict=True))


def by_hand(**declared) -> Reference:
    """Return the reference for the file with these values declared, spreads without them."""
    file = json.loads(json.dumps(RIDE))
    for belief in file["beliefs"]:
        belief.update({"declared": declared[belief["name"]]} if belief["name"] in declared else {})
    values = file["causes"][1]["truth"]["floor"]["values"]
    file["causes"][1]["truth"]["floor"]["values"] = [v for v in values if v != file["beliefs"][0]["declared"]]
    return Reference(file)


def test_once_done_it_is_declared_and_the_next_alarm_knows():
    tracker = Tracker(parse_problem(RIDE))
    assert said(tracker.alarm()) == pytest.approx(by_hand().marginals())
    with tracker.action("ride_lift"):
        assert tracker["floor"] == 3  # on the way up, nobody knows yet
    assert tracker["floor"] == 4
    state = tracker.alarm()
    assert said(state) == pytest.approx(by_hand(floor=4).marginals())
    assert state.problem.model.channels["read_sign"].outcomes == ("4", "3", "5", "7", "none")
    assert said(state.after(Observation("read_sign", "4")))["floor"] < said(state)["floor"]


def test_an_interrupted_action_sets_nothing():
    tracker = Tracker(parse_problem(RIDE))
    with pytest.raises(RuntimeError), tracker.action("ride_lift"):
        raise RuntimeError
    tracker.interrupted("turn")
    assert (tracker["floor"], tracker["door"]) == (3, "east")


def test_after_redoing_the_tracker_and_the_next_alarm_know_what_it_has_set():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    before = said(tracker.alarm())
    tracker.apply(Undo("ride_lift", ("ride_lift",)))
    assert tracker["floor"] == 3
    tracker.apply(Declare("floor", 3))
    tracker.apply(Redo("ride_lift"))
    assert tracker["floor"] == 4
    assert said(tracker.alarm()) == pytest.approx(before)
    tracker.apply(Redo("ride_lift"))  # told twice, done once
    assert len(tracker.versions("floor")) == 3


def test_a_redo_that_failed_sets_nothing():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    tracker.apply(Undo("ride_lift", ("ride_lift",)))
    redo = Redo("ride_lift")
    tracker.apply(redo, redo.failed("the lift is out of order"))
    assert tracker["floor"] == 3


def test_what_was_corrected_since_stays_when_the_action_is_undone():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    tracker.apply(Declare("floor", 5))
    tracker.apply(Undo("ride_lift", ("ride_lift",)))
    assert tracker["floor"] == 5


def test_undoing_takes_all_of_its_operations():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("turn")
    tracker.apply(Undo("swing", ("turn",)))
    assert tracker["door"] == "west"
    tracker.apply(Undo("step_back", ("turn",)))
    assert tracker["door"] == "east"


def test_a_correction_is_judged_by_what_was_brought_about():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    tracker.declare("floor", 5)
    reference = by_hand(floor=4)
    wrong = sum(p for p, world in zip(reference.mass(()).tolist(), reference.worlds, strict=True)
                if world.value(reference.beliefs[0]) != 5)  # fmt: skip
    assert said(tracker.alarm())["floor"] == pytest.approx(wrong)
    tracker.declare("floor", 4)  # no hypothesis of the file names it, but it was set
    assert said(tracker.alarm()) == pytest.approx(reference.marginals())


def test_in_a_recovery_what_was_done_again_is_declared_and_right():
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    state, first = tracker.alarm(), tracker.problem()
    undo, declare, redo = Undo("ride_lift", ("ride_lift",)), Declare("floor", 3), Redo("ride_lift")
    for acts, value in (([undo], 4), ([undo, declare], 3), ([undo, declare, redo], 4)):
        problem = problem_after(state, [Change(act, Came.DONE) for act in acts], first)
        floor = problem.graph.belief_index["floor"]
        assert problem.in_force(floor) == value
    assert said(InformationState(problem, state.posterior))["floor"] == 0.0
    assert said(InformationState(problem, state.posterior))["door"] == pytest.approx(said(state)["door"])
    assert [d.version for d in problem.declarations if d.belief == "floor"] == [first.declarations[0].version + 1]


def test_a_tracker_that_stands_where_a_problem_stands_believes_what_that_says(tmp_path):
    file = json.loads(json.dumps(RIDE))
    file["actions"][0]["status"] = "executed"
    tracker = Tracker.at(parse_problem(file))
    assert tracker["floor"] == 3  # it was corrected, say
    assert said(tracker.alarm()) == pytest.approx(by_hand().marginals())


def test_a_function_as_template_is_given_what_was_set():
    asked = []

    def template(values):
        asked.append(dict(values))
        file = json.loads(json.dumps(RIDE))
        file["beliefs"][0]["declared"] = values.get("floor", 3)
        file["causes"][1]["truth"]["floor"]["values"] = [9, 10]
        return parse_problem(file)

    tracker = Tracker(template)
    tracker.done("ride_lift")
    tracker.alarm()
    assert asked[-1] == {"floor": 4}


def test_a_tracker_remembers_across_a_restart(tmp_path):
    template = parse_problem(RIDE)
    tracker = Tracker.kept(template, tmp_path / "task.json")
    tracker.done("ride_lift")
    tracker.done("turn")
    again = Tracker.kept(template, tmp_path / "task.json")
    assert said(again.alarm()) == said(tracker.alarm())
    again.undone("ride_lift")
    assert (again["floor"], again["door"]) == (3, "west")


def test_it_is_written_as_it_was_read():
    data = problem_to_data(parse_problem(RIDE))
    assert data["actions"] == RIDE["actions"]
    tracker = Tracker(parse_problem(RIDE))
    tracker.done("ride_lift")
    later = problem_to_data(tracker.problem())
    assert later["causes"][1]["truth"] == {"floor": {"values": [5, 7]}}
    assert [b.get("declared") for b in later["beliefs"]] == [4, "east", None]


@pytest.mark.parametrize(
    ("sets", "fault"),
    [
        ({"flor": 4}, "actions[0].sets.flor: 'flor' is not a belief; did you mean 'floor'?"),
        ({"grip": 4}, "actions[0].sets.grip: 'grip' declares no value"),
        ({"floor": "four"}, "actions[0].sets.floor: 'four' is not a number, and 'floor' declares a number"),
        ({"floor": {"values": [4, 5]}}, "actions[0].sets.floor: a mapping of 1 is neither text nor a number"),
        ([["floor", 4]], "actions[0].sets: [[…]] is not a mapping"),
    ],
)
def test_a_fault_says_where_and_what(sets, fault):
    file = json.loads(json.dumps(RIDE))
    file["actions"][0]["sets"] = sets
    with pytest.raises(InvalidProblem) as caught:
        parse_problem(file)
    assert str(caught.value.faults[0]).startswith(fault), caught.value.faults


def test_values_are_read_as_the_belief_declares_them():
    file = json.loads(json.dumps(RIDE))
    file["actions"][0]["sets"] = {"floor": "4"}
    file["actions"][2]["sets"] = {"door": 4}
    actions = parse_problem(file).graph.actions
    assert actions[0].sets == {"floor": 4.0}
    assert actions[2].sets == {"door": "4"}


@settings(max_examples=cases(40, 1000), deadline=None)
@given(st.integers(0, 10**6))
def test_after_any_course_of_a_task_the_alarm_is_that_of_the_file_with_what_was_set(seed):
    rng, tracker, running = random.Random(seed), Tracker(parse_problem(RIDE)), []
    for _ in range(rng.randint(1, 6)):
        name = rng.choice(["ride_lift", "ride_on", "turn"])
        if name in running:
            tracker.undone(name)
            running.remove(name)
        else:
            tracker.done(name)
            running.append(name)
    floors = [{"ride_lift": 4, "ride_on": 7}[name] for name in running if name != "turn"]
    reference = by_hand(floor=[3, *floors][-1], door="west" if "turn" in running else "east")
    state = tracker.alarm()
    truth = {name: {} for name in ("floor", "door")}
    for p, world in zip(state.posterior.tolist(), state.problem.model.hypotheses, strict=True):
        for belief in state.problem.graph.beliefs[:2]:
            value = world.true_of(belief)
            truth[belief.name][value] = truth[belief.name].get(value, 0.0) + p
    wanted = {name: {} for name in truth}
    for p, world in zip(reference.mass(()).tolist(), reference.worlds, strict=True):
        for belief in reference.beliefs[:2]:
            value = world.value(belief)
            wanted[belief["name"]][value] = wanted[belief["name"]].get(value, 0.0) + p
    for name in truth:
        assert truth[name] == pytest.approx(wanted[name]), name
