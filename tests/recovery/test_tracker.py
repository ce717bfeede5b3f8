"""A tracker knows what was really declared and done, and gives the problem of the moment."""

import asyncio
import contextvars
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    Alarm,
    AquaMend,
    Belief,
    Declaration,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Operation,
    Plan,
    Probe,
    Problem,
    RecoveryGraph,
    RollBack,
)
from aquamend.decision import correction
from aquamend.errors import AquaMendError, InvalidProblem, UnknownName, UnknownValue
from aquamend.files import parse_problem, problem_to_data
from aquamend.problem.graph import Edge, EdgeKind
from aquamend.recovery import (
    UNATTENDED,
    ActionStatus,
    Declare,
    Ending,
    Finish,
    Follow,
    HandOver,
    Measure,
    MemoryLog,
    Redo,
    Session,
    Tracker,
    Undo,
    approve,
    drive,
    recover,
    resume,
)
from aquamend.recovery.tracker import _UNDER_WAY
from aquamend.testing import sample_problems


def cups(level=18.0, target="A"):
    """Return the problem of pouring into the least full cup, for what was measured."""
    graph = RecoveryGraph(
        [
            Belief("level", 10.0, declared=level, tolerance=3.0),
            Belief("target", 80.0, declared=target, needs_support=True),
            Belief("gripper", 5.0),
        ],
        [
            Action("grasp", undo=4.0),
            Action("carry", operations=("back", "down")),
            Action("wave", operations=("down",)),
            Action("pour", reversible=False),
        ],
        [Probe("look", 0.2), Probe("weigh", 0.6)],
        [
            ("look", "level", "detection"),
            ("weigh", "level", "detection"),
            ("level", "target", "inference"),
            ("target", "carry", "belief_to_action"),
            ("gripper", "grasp", "belief_to_action"),
            ("carry", "pour", "action_causal"),
        ],
        [Operation("back", 3.0), Operation("down", 2.0)],
    )
    rows = {"same": (level, 1.0), "water": (level + 27.0, 1.0), "slip": (level, 1.0)}
    model = JointModel(
        [
            Hypothesis("same", 0.6),
            Hypothesis("water", 0.3, truth={"level": level + 27.0, "target": "B"}),
            Hypothesis("slip", 0.1, failed=["gripper"]),
        ],
        {"look": Gaussian(rows), "weigh": Gaussian(rows)},
        Alarm({"same": 0.1, "water": 0.9, "slip": 0.5}, ["target"]),
        [Declaration("A is least full", "target", support=["look"])],
    )
    return Problem(graph, model, restart=40.0, escalate=60.0, name="cups")


@pytest.fixture
def tracker():
    return Tracker(cups())


def failed_under(problem, belief):
    column = problem.failed[:, problem.graph.belief_index[belief]]
    return [problem.model.names[s] for s in np.flatnonzero(column)]


def statement(problem, belief):
    return next(d for d in problem.declarations if d.belief == belief)


# What was done


def test_nothing_is_executed_before_anything_ran_whatever_the_template_says():
    done = replace(cups().graph, actions=[replace(a, executed=True) for a in cups().graph.actions])
    problem = Tracker(replace(cups(), graph=done)).problem()
    assert problem.graph.executed == ()
    assert problem.restart_plan is not None


def test_a_block_is_executed_from_its_beginning_on(tracker):
    with tracker.action("grasp"):
        assert tracker.status("grasp") is ActionStatus.UNDER_WAY
        assert tracker.executed == ("grasp",)
    assert tracker.status("grasp") is ActionStatus.DONE
    assert tracker.status("pour") is ActionStatus.PLANNED


def test_an_action_that_ends_in_an_exception_counts_as_executed(tracker):
    with pytest.raises(OSError, match="jammed"), tracker.action("pour"):
        raise OSError("jammed")
    assert tracker.status("pour") is ActionStatus.INTERRUPTED
    assert tracker.problem().restart_plan is None, "nobody knows how much was poured"


def test_a_task_that_knows_better_says_that_nothing_is_left_of_it(tracker):
    def jam():
        with tracker.action("pour"):
            tracker.undone("pour")
            raise OSError("jammed")

    with pytest.raises(OSError, match="jammed"):
        jam()
    assert tracker.status("pour") is ActionStatus.PLANNED


def test_executed_actions_come_in_the_order_in_which_they_began(tracker):
    for name in ("wave", "grasp", "carry", "wave"):
        tracker.done(name)
    assert tracker.executed == ("grasp", "carry", "wave")
    problem = tracker.problem()
    assert [a.name for a in problem.graph.actions] == ["grasp", "carry", "wave", "pour"]
    assert problem.graph.closure(["target"]) == ("carry",)


def test_plain_calls_do_what_a_block_does(tracker):
    tracker.begin("grasp")
    tracker.value("level")
    tracker.done("grasp")
    tracker.begin("carry")
    tracker.interrupted("carry")
    assert [tracker.status(name) for name in ("grasp", "carry")] == [ActionStatus.DONE, ActionStatus.INTERRUPTED]
    assert [d.version for d in tracker.read_by("grasp")] == [0]
    tracker.undone("carry")
    assert tracker.executed == ("grasp",)


def test_a_decorated_function_is_an_action(tracker):
    @tracker.acts("grasp")
    def close(width: float, *, force: float = 1.0) -> float:
        """Close the gripper."""
        assert tracker.status("grasp") is ActionStatus.UNDER_WAY
        return width * force

    assert close(2.0, force=3.0) == 6.0
    assert (close.__name__, close.__doc__) == ("close", "Close the gripper.")
    assert tracker.status("grasp") is ActionStatus.DONE


def test_a_generator_is_refused_since_calling_it_does_nothing_yet(tracker):
    with pytest.raises(AquaMendError, match="a generator is no action"):

        @tracker.acts("grasp")
        def steps():
            yield 1


def test_an_action_cannot_begin_twice_at_once(tracker):
    with tracker.action("grasp"), pytest.raises(AquaMendError, match="'grasp' is under way already"):
        tracker.begin("grasp")
    tracker.begin("grasp")


def test_unknown_names_are_refused_with_the_known_ones(tracker):
    for call in (tracker.begin, tracker.done, tracker.undone, tracker.acts, tracker.status, tracker.read_by):
        with pytest.raises(UnknownName, match="unknown action 'fly'; valid names: 'grasp'"):
            call("fly")
    with pytest.raises(UnknownName, match="unknown belief"):
        tracker.value("weather")
    with pytest.raises(UnknownName, match="unknown probe 'sniff'"):
        tracker.declare("level", 18.0, evidence=["sniff"])
    with pytest.raises(UnknownName, match="unknown belief"):
        tracker.declare("level", 18.0, inferred_from=["weather"])
    with pytest.raises(UnknownName, match="unknown action"):
        tracker.value("level", by="fly")


# What was declared


def test_before_anybody_has_declared_it_a_belief_is_assumed_and_rests_on_nothing(tracker):
    now = statement(tracker.problem(), "target")
    assert (now.version, now.value, tuple(now.support)) == (0, "A", ())
    assert tracker["target"] == "A"
    assert tracker.versions("target") == ()


def test_every_declaration_is_a_new_version_and_old_ones_stay(tracker):
    tracker.declare("level", 18.4, evidence=["look"])
    tracker.declare("level", 17.9, evidence=["weigh", "weigh"])
    assert [(d.version, d.value, d.support) for d in tracker.versions("level")] == [
        (1, 18.4, ("look",)),
        (2, 17.9, ("weigh",)),
    ]
    problem = tracker.problem()
    now = statement(problem, "level")
    assert (now.version, now.value, now.support) == (2, 17.9, ("weigh",))
    assert problem.graph.beliefs[0].declared == 17.9


def test_of_very_many_versions_the_last_and_those_that_were_read_are_remembered(tracker):
    tracker.declare("level", 18.0)
    with tracker.action("wave"):
        tracker.value("level")
    for _ in range(1500):
        tracker.declare("level", 19.0)
    kept = [d.version for d in tracker.versions("level")]
    assert (kept[0], kept[-1], len(kept)) == (1, 1501, 1000)
    assert [d.version for d in tracker.read_by("wave")] == [1]


def test_the_names_of_the_templates_statements_stay(tracker):
    tracker.declare("target", "A", evidence=["weigh"])
    now = statement(tracker.problem(), "target")
    assert (now.name, now.version, now.support) == ("A is least full", 1, ("weigh",))


def test_support_is_what_it_really_is_and_decides_whether_a_belief_may_be_kept(tracker):
    rare = {"same": 1.0, "water": 0.1, "slip": 0.0}
    template = replace(cups(), model=replace(cups().model, alarm=Alarm(rare)))
    unsupported = Tracker(template).alarm()
    assert correction(unsupported, ()).loss == np.inf
    seen = Tracker(template)
    seen.declare("target", "A", evidence=["look"])
    assert correction(seen.alarm(), ()).loss < np.inf


def test_declaring_without_a_value_is_to_declare_the_same_again(tracker):
    tracker.declare("level", 19.0)
    assert tracker.declare("level", evidence=["weigh"]).value == 19.0


def test_a_value_within_the_tolerance_is_the_same_statement(tracker):
    tracker.declare("level", 20.5)
    problem = tracker.problem()
    assert failed_under(problem, "level") == ["water"]
    assert all("level" not in h.truth for h in problem.model.hypotheses if h.name != "water")


def test_another_value_is_wrong_wherever_the_template_does_not_make_it_true(tracker):
    tracker.declare("level", 44.0)
    tracker.declare("target", "B")
    problem = tracker.problem()
    assert failed_under(problem, "level") == ["same", "slip"]
    assert failed_under(problem, "target") == ["same", "slip"]
    assert statement(problem, "target").invalid_in == ("same", "slip")


def test_a_probe_that_reads_the_templates_value_speaks_against_another_one(tracker):
    tracker.declare("level", 45.0)
    after = tracker.alarm().after(Observation("weigh", 18.0))
    assert after.failure_probabilities[0] > 0.99


@pytest.mark.parametrize(("belief", "value"), [("level", 30.0), ("level", "full"), ("target", "C"), ("target", 1.0)])
def test_a_value_that_no_hypothesis_allows_is_refused(tracker, belief, value):
    with pytest.raises(UnknownValue, match="wrong under every hypothesis") as error:
        tracker.declare(belief, value)
    assert error.value.belief == belief
    assert tracker.versions(belief) == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, [1.0], object()])
def test_what_is_neither_text_nor_a_number_is_refused(tracker, value):
    with pytest.raises(AquaMendError, match="neither text nor a number"):
        tracker.declare("level", value)


def test_a_number_of_another_library_becomes_a_plain_one(tracker):
    assert type(tracker.declare("level", np.float32(18.5)).value) is float


def test_a_belief_without_values_may_be_declared_anything(tracker):
    with pytest.raises(AquaMendError, match="nobody has declared a value of 'gripper'"):
        tracker.value("gripper")
    tracker.declare("gripper", "holds the pitcher")
    problem = tracker.problem()
    assert tracker["gripper"] == "holds the pitcher"
    assert statement(problem, "gripper").value == "holds the pitcher"
    assert statement(problem, "gripper").invalid_in == ("slip",)
    assert failed_under(problem, "gripper") == ["slip"]


def measured(values):
    return cups(values.get("level", 18.0), values.get("target", "A"))


def test_a_template_that_is_a_function_is_asked_for_what_was_declared():
    tracker = Tracker(measured)
    tracker.declare("level", 61.0, evidence=["weigh"])
    problem = tracker.problem()
    assert failed_under(problem, "level") == ["water"]
    assert problem.model.hypotheses[1].truth["level"] == 88.0
    assert problem.model.channels["weigh"].likelihood(61.0).argmax() != 1


def test_a_function_that_forgets_a_value_is_refused():
    tracker = Tracker(lambda values: cups())
    with pytest.raises(AquaMendError, match=r"asked for 'level' = 61\.0 and declares 18\.0"):
        tracker.declare("level", 61.0)


def test_a_function_that_returns_something_else_is_refused():
    with pytest.raises(AquaMendError, match="return a Problem"):
        Tracker(lambda values: None)
    fickle = Tracker(lambda values: cups() if not values else sample_problems()[0])
    with pytest.raises(AquaMendError, match="keep their names"):
        fickle.declare("level", 17.0)


def test_a_template_must_say_what_undoing_every_action_costs():
    actions = [*cups().graph.actions[:3], Action("pour")]
    with pytest.raises(InvalidProblem, match="'pour' says neither undo nor operations, and may come to be executed"):
        Tracker(replace(cups(), graph=replace(cups().graph, actions=actions)))


def test_plans_undo_what_is_executed_and_no_more():
    executed = [replace(action, executed=True) for action in cups().graph.actions]
    plan = Plan("by hand", np.full(3, 9.0), ("target",), ("grasp", "carry"))
    template = replace(cups(), graph=replace(cups().graph, actions=executed), plans=[plan], restart=replace(plan))
    tracker = Tracker(template)
    tracker.done("carry")
    assert tracker.problem().plans[0].undo == ("carry",)
    assert tracker.problem().restart.undo == ("carry",)


# What was read


def test_a_value_read_while_an_action_is_under_way_is_a_dependence(tracker):
    with tracker.action("wave"):
        assert tracker["level"] == 18.0
    assert tracker.unsaid == (Edge("level", "wave", EdgeKind.BELIEF_TO_ACTION),)
    tracker.done("carry")
    assert tracker.problem().graph.closure(["level"]) == ("wave", "carry")


def test_a_dependence_that_the_template_knows_is_not_unsaid(tracker):
    with tracker.action("pour"):
        tracker.value("level")  # level, target, carry, pour
    assert tracker.unsaid == ()
    assert [d.belief for d in tracker.read_by("pour")] == ["level"]


def test_reading_outside_any_action_is_no_dependence(tracker):
    tracker.done("wave")
    tracker.value("level")
    assert tracker.unsaid == ()


def test_an_action_rests_on_the_version_that_it_read(tracker):
    tracker.declare("level", 18.0)
    with tracker.action("wave"):
        tracker.value("level")
    tracker.declare("level", 19.0)
    assert [(d.version, d.value) for d in tracker.read_by("wave")] == [(1, 18.0)]


def test_nested_actions_both_rest_on_what_was_read(tracker):
    with tracker.action("wave"), tracker.action("grasp"):
        tracker.value("level")
    assert {edge.target for edge in tracker.unsaid} == {"wave", "grasp"}


def test_two_threads_have_their_own_actions(tracker):
    both = threading.Barrier(2)

    def run(action, belief):
        with tracker.action(action):
            both.wait(10)
            tracker.value(belief)
            both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(run, "wave", "level"), pool.submit(run, "grasp", "target")]:
            future.result(20)
    assert {edge[:2] for edge in tracker.unsaid} == {("level", "wave"), ("target", "grasp")}


def test_asyncio_tasks_have_their_own_actions_and_hand_them_on(tracker):
    @tracker.acts("wave")
    async def wave(begun: asyncio.Event) -> None:
        begun.set()
        await asyncio.sleep(0)
        await asyncio.to_thread(tracker.value, "level")

    async def grasp(begun: asyncio.Event) -> None:
        await begun.wait()
        with tracker.action("grasp"):
            await asyncio.create_task(read("target"))

    async def read(belief: str) -> None:
        tracker.value(belief)

    async def both() -> None:
        begun = asyncio.Event()
        await asyncio.gather(wave(begun), grasp(begun))

    asyncio.run(both())
    assert {edge[:2] for edge in tracker.unsaid} == {("level", "wave"), ("target", "grasp")}
    assert tracker.status("wave") is ActionStatus.DONE


def test_a_cancelled_coroutine_has_been_interrupted(tracker):
    @tracker.acts("wave")
    async def wave() -> None:
        await asyncio.sleep(60)

    async def cancel() -> None:
        task = asyncio.create_task(wave())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert tracker.status("wave") is ActionStatus.INTERRUPTED


def test_a_bare_thread_names_the_action_that_it_works_for(tracker):
    with tracker.action("wave"):
        helper = threading.Thread(target=tracker.value, args=("level",), kwargs={"by": "wave"})
        helper.start()
        helper.join(10)
    assert tracker.unsaid == (Edge("level", "wave", EdgeKind.BELIEF_TO_ACTION),)
    assert [d.belief for d in tracker.read_by("wave")] == ["level"]


def test_two_trackers_do_not_mix(tracker):
    other = Tracker(cups())
    with other.action("wave"):
        tracker.value("level")
    assert tracker.unsaid == other.unsaid == ()


def test_many_threads_lose_nothing(tracker):
    def work(number):
        for _ in range(50):
            tracker.declare("level", 18.0 + number / 10)
            tracker.done("grasp")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [d.version for d in tracker.versions("level")] == list(range(1, 201))


def test_a_derivation_that_the_template_does_not_know_is_a_dependence(tracker):
    tracker.declare("target", "A", inferred_from=["level", "gripper"])
    assert tracker.unsaid == (Edge("gripper", "target", EdgeKind.INFERENCE),)
    tracker.done("carry")
    assert tracker.problem().graph.closure(["gripper"]) == ("carry",)


def test_a_derivation_in_a_circle_is_refused(tracker):
    with pytest.raises(AquaMendError, match="'level' cannot be derived from 'target', which itself rests on 'level'"):
        tracker.declare("level", 18.0, inferred_from=["target"])
    tracker.declare("gripper", "closed", inferred_from=["target"])
    with pytest.raises(AquaMendError, match="support must run one way"):
        tracker.declare("level", 18.0, inferred_from=["gripper"])
    assert tracker.versions("level") == ()
    with pytest.raises(AquaMendError, match="support must run one way"):
        tracker.declare("level", 18.0, inferred_from=["level"])


def test_a_declaration_that_is_refused_leaves_nothing_behind(tracker):
    with pytest.raises(AquaMendError, match="support must run one way"):
        tracker.declare("level", 18.0, inferred_from=["gripper", "target"])
    assert tracker.unsaid == ()


# Recovering


def at_carry():
    tracker = Tracker(cups())
    tracker.declare("level", 18.2, evidence=["look"])
    tracker.declare("target", "A", evidence=["look"])
    for name in ("grasp", "carry", "wave"):
        tracker.done(name)
    return tracker


def test_an_alarm_gives_the_state_of_this_moment():
    tracker = at_carry()
    state = tracker.alarm()
    assert state.alarms == 1
    assert np.array_equal(state.posterior, InformationState.alarmed(tracker.problem()).posterior)
    assert [a.name for a in state.problem.graph.executed] == ["grasp", "carry", "wave"]


def test_an_operation_done_already_costs_nothing_more():
    tracker = at_carry()
    tracker.apply(Undo("down", ("carry", "wave")))
    assert tracker.executed == ("grasp", "carry")
    assert tracker.problem().graph.correction_cost(["target"]) == 3.0
    tracker.apply(Undo("back", ("carry",)))
    assert tracker.executed == ("grasp",)
    tracker.apply(Redo("carry"))
    assert tracker.problem().graph.correction_cost(["target"]) == 5.0


def test_what_a_recovery_declares_rests_on_what_it_measured():
    tracker = at_carry()
    tracker.alarm()
    tracker.apply(Measure("weigh"))
    tracker.apply(Declare("level", 44.8))
    tracker.apply(Declare("target", "B"))
    tracker.apply(Declare("gripper"))
    assert [(d.version, d.value, d.support) for d in tracker.versions("target")][-1] == (2, "B", ("weigh",))
    assert tracker.declaration("level").support == ("weigh",)
    assert tracker.declaration("gripper").version == 1
    tracker.alarm()
    tracker.apply(Declare("target", "B"))
    assert tracker.declaration("target").support == ("weigh",), "nothing was measured since the last alarm"


def test_an_act_may_be_applied_twice_since_a_program_may_die_in_between():
    acts = [
        Measure("weigh"),
        Undo("down", ("carry", "wave")),
        Declare("level", 44.8),
        Declare("target", "B"),
        Declare("gripper"),
        Redo("wave"),
        Finish(("pour",)),
    ]
    once, twice = at_carry(), at_carry()
    for act in acts:
        once.apply(act)
        twice.apply(act)
        twice.apply(act)
    assert once.to_data() == twice.to_data()


def test_a_reading_that_no_hypothesis_knows_is_taken_for_wrong_until_something_else_is_declared():
    tracker = at_carry()
    tracker.apply(Declare("level", 30.0))
    assert failed_under(tracker.problem(), "level") == ["same", "water", "slip"]


def test_what_failed_is_taken_in_as_that():
    tracker = at_carry()
    undo = Undo("grasp", ("grasp",))
    tracker.apply(undo, undo.failed("jammed"))
    assert "grasp" in tracker.executed
    finish = Finish(("pour",))
    tracker.apply(finish, finish.failed("spilt"))
    assert tracker.status("pour") is ActionStatus.INTERRUPTED
    tracker.undone("carry")
    redo = Redo("carry")
    tracker.apply(redo, redo.failed("lost the grip"))
    assert tracker.status("carry") is ActionStatus.INTERRUPTED
    declare = Declare("target", "B")
    tracker.apply(declare, declare.failed("no"))
    assert tracker["target"] == "A"


def test_the_other_acts():
    tracker = at_carry()
    tracker.apply(HandOver())
    tracker.apply(Follow("restart", undo=("grasp", "wave")))
    assert tracker.executed == ("carry",)
    finish = Finish(("pour", "grasp"))
    tracker.apply(finish, finish.done())
    assert tracker.executed == ("carry", "pour", "grasp")


def test_what_the_robot_has_tracked_itself_stays_as_it_was_tracked():
    tracker = at_carry()
    tracker.apply(Undo("grasp", ("grasp",)))
    with tracker.action("grasp"):
        tracker.value("target")
    tracker.done("wave")
    tracker.apply(Redo("grasp"))
    assert [d.belief for d in tracker.read_by("grasp")] == ["target"]
    assert tracker.executed == ("carry", "grasp", "wave")


class Mirrored:
    """A robot with a tracker, on which water was added to the cup."""

    def __init__(self, tracker):
        self.tracker, self.alarm = tracker, tracker.alarm

    def measure(self, step):
        receipt = step.done(45.1 if self.tracker["level"] < 30 else 18.0)
        self.tracker.apply(step, receipt)
        return receipt

    def perform(self, act):
        receipt = act.done()
        self.tracker.apply(act, receipt)
        return receipt


def test_after_a_recovery_the_tracker_is_right_for_the_next_alarm():
    tracker = at_carry()
    recovery = recover(AquaMend(), Mirrored(tracker), rules=UNATTENDED)
    assert isinstance(recovery.decision, RollBack)
    assert (tracker["level"], tracker["target"]) == (45.0, "B")
    left = recovery.state.problem
    problem = tracker.problem()
    assert {a.name for a in left.graph.executed} <= {a.name for a in problem.graph.executed}
    assert tracker.status("pour") is ActionStatus.DONE, "the recovery has finished the task"
    assert [d.version for d in left.declarations if d.belief == "target"] == [statement(problem, "target").version]


# Keeping


def test_plain_data_give_the_same_tracker_back():
    tracker = at_carry()
    tracker.begin("pour")
    tracker.declare("gripper", "closed")
    tracker.value("gripper")
    tracker.apply(Undo("down", ("carry",)))
    tracker.apply(Measure("weigh"))
    again = Tracker.from_data(cups(), json.loads(json.dumps(tracker.to_data())))
    assert again.status("pour") is ActionStatus.INTERRUPTED, "its program has ended"
    assert again.unsaid == tracker.unsaid == (Edge("gripper", "pour", EdgeKind.BELIEF_TO_ACTION),)
    assert again.versions("level") == tracker.versions("level")
    assert again.read_by("pour") == tracker.read_by("pour")
    assert problem_to_data(again.problem()) == problem_to_data(tracker.problem())
    again.apply(Declare("target", "B"))
    assert again.declaration("target").support == ("weigh",)


def test_data_of_something_else_are_refused():
    with pytest.raises(AquaMendError, match="not 'aquamend-tracker/1'"):
        Tracker.from_data(cups(), {"format": "aquamend-state/1"})
    with pytest.raises(UnknownName):
        Tracker.from_data(sample_problems()[0], at_carry().to_data())


def test_a_kept_tracker_is_on_disk_after_every_call(tmp_path):
    path = tmp_path / "task.json"
    tracker = Tracker.kept(cups(), path)
    tracker.declare("level", 19.0, evidence=["look"])
    with tracker.action("wave"):
        tracker.value("level")
        during = Tracker.kept(cups(), path)
        assert during.status("wave") is ActionStatus.INTERRUPTED
        assert during.unsaid == tracker.unsaid
    after = Tracker.kept(cups(), path)
    assert after.to_data() == tracker.to_data()
    assert [p.name for p in tmp_path.iterdir()] == ["task.json"]


def test_whatever_is_declared_is_kept(tmp_path):
    for text in ("half\ud800", "\u2028", "\x00"):
        Tracker.kept(cups(), tmp_path / "task.json").declare("gripper", text)
        assert Tracker.kept(cups(), tmp_path / "task.json")["gripper"] == text


def test_what_has_ended_is_forgotten(tracker):
    def work():
        for _ in range(100):
            tracker.begin("grasp")
            tracker.done("grasp")
            tracker.begin("wave")
            tracker.undone("wave")
        return len(_UNDER_WAY.get())

    assert contextvars.Context().run(work) <= 2


@pytest.mark.parametrize("problem", sample_problems(), ids=lambda problem: problem.name)
def test_a_tracker_at_a_problem_gives_that_problem(problem):
    assert_same_decisions(Tracker.at(problem).problem(), problem)


def test_a_tracker_at_a_random_problem_gives_that_problem(random_problem):
    for seed in range(30):
        problem = random_problem(random.Random(seed))
        undoable = [replace(a, undo=0.0) if a.undo is None and not a.operations else a for a in problem.graph.actions]
        problem = replace(problem, graph=replace(problem.graph, actions=undoable))
        assert_same_decisions(Tracker.at(problem).problem(), problem)


def assert_same_decisions(one, other):
    assert np.array_equal(one.failed, other.failed)
    assert np.array_equal(one.invalid, other.invalid)
    assert one.declarations == other.declarations
    assert one.evidence_for == other.evidence_for
    states = [InformationState.alarmed(problem) for problem in (one, other)]
    assert AquaMend().next_step(states[0]) == AquaMend().next_step(states[1])


def test_the_problem_of_a_moment_can_be_written_to_a_file():
    for tracker in (Tracker(cups()), at_carry()):
        data = problem_to_data(tracker.problem())
        assert_same_decisions(parse_problem(json.loads(json.dumps(data))), tracker.problem())


OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["begin", "done", "undone", "interrupted", "redo"]), st.sampled_from(["grasp", "wave"])),
    st.tuples(st.just("declare"), st.sampled_from([17.0, 18.0, 45.0])),
    st.tuples(st.just("undo"), st.sampled_from(["grasp", "wave"])),
)


@given(st.lists(OPERATIONS, max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_happens_it_is_known_and_survives_a_restart(operations):
    """Every action is executed iff the last thing said of it is not that it was undone; versions only grow."""
    tracker, executed, declared = Tracker(cups()), set(), 0
    for what, which in operations:
        match what:
            case "declare":
                declared += 1
                assert tracker.declare("level", which).version == declared
            case "undone":
                tracker.undone(which)
            case "undo":
                tracker.apply(Undo({"grasp": "grasp", "wave": "down"}[which], (which,)))
            case "redo":
                tracker.apply(Redo(which))
            case "begin" if tracker.status(which) is ActionStatus.UNDER_WAY:
                continue
            case _:
                getattr(tracker, what)(which)
        if what in ("undone", "undo"):
            executed.discard(which)
        elif what != "declare":
            executed.add(which)
        tracker = Tracker.from_data(cups(), json.loads(json.dumps(tracker.to_data())))
    problem = tracker.problem()
    assert {action.name for action in problem.graph.executed} == executed
    level = problem.graph.beliefs[0].declared
    wrong = {"water"} if level < 30 else {"same", "slip"}
    assert set(failed_under(problem, "level")) == wrong


def test_a_tracker_is_reported_of_what_is_done_before_and_after_a_session_is_taken_up_again():
    log, tracker = MemoryLog(), at_carry()
    robot = Untold(tracker)
    waits = drive(Session.begin(tracker, AquaMend(), log=log, name="s"), robot, wait_s=0)
    assert str(waits.asked) == "finish the task"
    assert (tracker["level"], tracker["target"]) == (45.0, "B")
    assert tracker.status("pour") is ActionStatus.PLANNED
    approve(log, "s", token=waits.asked.token, by="Ada")
    assert resume(log, "s", robot, policy=AquaMend(), tracker=tracker).ending is Ending.FINISHED
    assert tracker.status("pour") is ActionStatus.DONE


class Untold:
    """A robot that leaves the tracker to the session."""

    def __init__(self, tracker):
        self.alarm = tracker.alarm

    def measure(self, step):
        return step.done(45.1)

    def perform(self, act):
        return act.done()
