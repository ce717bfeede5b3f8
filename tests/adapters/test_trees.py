"""Recovery in a behaviour tree: no tick waits, preempting is safe, and a guard weighs what a subtree rests on."""

import math
import threading
import time

import py_trees
import pytest
from py_trees.blackboard import Blackboard
from py_trees.common import Status
from tests.adapters.problems import cup_problem
from tests.waiting import PATIENCE_S

from aquamend.adapters.trees import BeliefsToBlackboard, Guarded, RecoverBeliefs, Still, Tracked
from aquamend.errors import BadArgument, BadJournal, ForeignSession
from aquamend.policies import policy_named
from aquamend.recovery import Journal, MemoryLog, Rules, Tracker, Wait, recover
from aquamend.testing import FakeRobot, StopBehaviour, TimesOut

ALONE = Rules(ask_before_irreversible=False)
FOREVER = TimesOut("undo: grasp", seconds=math.inf)


@pytest.fixture(autouse=True)
def _clean_blackboard():
    Blackboard.clear()


@pytest.fixture
def tracker():
    """A tracker beside a task that has declared a level and grasped the cup."""
    tracker = Tracker(cup_problem())
    tracker.declare("level", 18.0, evidence=["weigh"])
    tracker.done("grasp")
    return tracker


class Takes(py_trees.behaviour.Behaviour):
    """Takes some ticks, writes an answer where it has one, and can be seen to have been stopped."""

    def __init__(self, name, ticks=2, answer=None, fails=False):
        super().__init__(name)
        self.ticks, self.answer, self.fails = ticks, answer, fails
        self.began = self.ended = self.stopped = 0
        if answer is not None:
            self.board = self.attach_blackboard_client(name)
            self.board.register_key(f"/answers/{name}", access=py_trees.common.Access.WRITE)

    def initialise(self):
        self.began, self.left = self.began + 1, self.ticks

    def update(self):
        self.left -= 1
        if self.left > 0:
            return Status.RUNNING
        self.ended += 1
        if self.answer is not None:
            self.board.set(f"/answers/{self.name}", self.answer)
        self.feedback_message = "it slipped" if self.fails else ""
        return Status.FAILURE if self.fails else Status.SUCCESS

    def terminate(self, new_status):
        self.stopped += new_status is Status.INVALID and self.status is Status.RUNNING


def behaviours(**given):
    """Behaviours for everything that a recovery of the cup may do."""
    made = {"weigh": Takes("weigh", answer="45"), "look": Takes("look", answer="there")}
    made |= {"undo: grasp": Takes("undo grasp"), "restart": Takes("restart")}
    return made | given


def ticked(node, until=lambda node: node.status is not Status.RUNNING, most_s=PATIENCE_S):
    """Tick until something holds; return what its feedback said on the way."""
    said, end = [], time.monotonic() + most_s
    while time.monotonic() < end:
        node.tick_once()
        if not said or said[-1] != node.feedback_message:
            said.append(node.feedback_message)
        if until(node):
            return said
        time.sleep(0.001)
    raise AssertionError(f"it still says {said[-3:]}")


def says(text):
    return lambda node: text in node.feedback_message


# Ticks and what they say


def test_a_recovery_by_a_robot_is_the_one_that_recover_conducts(tracker):
    other = FakeRobot(tracker.alarm(), truth="more")
    inside = recover("best", other, rules=ALONE)
    robot = FakeRobot(tracker.alarm(), truth="more")
    node = RecoverBeliefs("recover", tracker, robot, rules=ALONE)
    ticked(node)
    assert node.status is Status.SUCCESS
    now = node.session.recovery
    assert now.steps == inside.steps
    assert now.receipts == inside.receipts
    assert [str(act) for act in robot.did] == [str(act) for act in other.did if str(act) != "finish the task"]
    assert tracker["level"] == 45.0


def test_no_tick_waits_for_the_policy_or_the_robot(tracker):
    free = threading.Event()

    class Slow:
        def next_step(self, state):
            assert free.wait(PATIENCE_S)
            return policy_named("best").next_step(state)

    robot = FakeRobot(tracker.alarm(), truth="more", failures=[TimesOut("weigh", seconds=math.inf)])
    node = RecoverBeliefs("recover", tracker, robot, policy=Slow(), rules=ALONE)
    ticked(node, says("deciding"))
    for _ in range(20):
        node.tick_once()  # would never return if it waited
        assert (node.status, node.feedback_message) == (Status.RUNNING, "deciding")
    free.set()
    ticked(node, says("weigh"))
    for _ in range(20):
        node.tick_once()
        assert (node.status, node.feedback_message) == (Status.RUNNING, "weigh")
    robot.let_go()
    ticked(node)
    assert node.status is Status.SUCCESS
    assert robot.asked.count(robot.asked[0]) == 1  # it was begun once, however often it was ticked


def test_feedback_tells_the_act_and_in_the_end_what_it_cost(tracker):
    acts = behaviours(**{"redo: grasp": Takes("redo grasp")})
    node = RecoverBeliefs("recover", tracker, acts, rules=ALONE)
    said = ticked(node)
    assert [text for text in said if "deciding" not in text and "taking in" not in text] == [
        "weigh",
        "undo: grasp",
        "declare: level = 45",
        "declare: cup",
        "redo: grasp",
        "finish the task",
        "finished, which cost 4.6 s",
    ]


def test_a_behaviour_that_fails_is_a_failed_act_and_is_tried_again(tracker):
    acts = behaviours(**{"undo: grasp": Takes("undo grasp", fails=True)})
    node = RecoverBeliefs("recover", tracker, acts, rules=Rules(ask_before_irreversible=False, attempts=2))
    ticked(node)
    assert node.status is Status.SUCCESS
    assert (acts["undo: grasp"].began, acts["restart"].ended) == (2, 1)
    assert [r.finding for r in node.session.recovery.receipts if not r.succeeded] == ["it slipped"] * 2


def test_a_probe_that_writes_no_answer_has_failed_and_an_old_answer_does_not_count(tracker):
    Blackboard.set("/answers/weigh", 18.0)
    node = RecoverBeliefs("recover", tracker, behaviours(weigh=Takes("weigh")), rules=ALONE)
    ticked(node)
    first = node.session.recovery.receipts[0]
    assert (first.succeeded, first.finding) == (False, "weigh has written nothing to /answers/weigh")


def test_behaviours_that_leave_something_out_are_refused(tracker):
    acts = behaviours()
    del acts["undo: grasp"]
    with pytest.raises(BadArgument, match="no behaviour for 'undo: grasp'"):
        RecoverBeliefs("recover", tracker, acts)
    with pytest.raises(BadArgument, match="what no recovery does: 'dance'"):
        RecoverBeliefs("recover", tracker, behaviours(dance=Takes("dance")))


def test_a_person_is_asked_on_the_blackboard_and_no_tick_waits_for_the_answer(tracker, tmp_path):
    with Journal(tmp_path / "a.journal") as journal:
        node = RecoverBeliefs("recover", tracker, behaviours(), log=journal)
        ticked(node, says("a person has to allow this"))
        question = Blackboard.get("/recovery/question")
        assert isinstance(question, Wait)
        node.session.answer(granted=True, by="Ada", token=question.token)
        ticked(node)
        assert node.status is Status.SUCCESS
        assert Blackboard.get("/recovery/question") is None


# Preempting


def preempted(node):
    node.stop(Status.INVALID)
    assert node.status is Status.INVALID


def test_preempting_stops_the_act_and_going_on_begins_nothing_while_it_moves(tracker):
    robot = FakeRobot(
        tracker.alarm(),
        truth="more",
        failures=[TimesOut("undo: grasp", seconds=math.inf)],
        stops=StopBehaviour.AT_ONCE,
    )
    node = RecoverBeliefs("recover", tracker, robot, rules=ALONE)
    ticked(node, says("undo: grasp"))
    ticked(node, lambda _: robot.moving)
    session = node.session
    preempted(node)
    ticked(Still("still", node))
    assert not robot.moving
    begun = len(robot.asked)
    time.sleep(0.05)
    assert len(robot.asked) == begun  # nobody ticks it, so nothing begins
    ticked(node)
    assert node.status is Status.SUCCESS
    assert node.session is session  # it went on, and measured nothing twice
    assert [str(act) for act in robot.did].count("weigh") == 1
    assert robot.motions.at_once == ()
    assert session.recovery.failures == {}  # to be called off is no fault of the act


def test_where_the_robot_cannot_stop_its_act_is_waited_for(tracker):
    robot = FakeRobot(tracker.alarm(), truth="more", failures=[TimesOut("undo: grasp", seconds=math.inf)])
    node = RecoverBeliefs("recover", tracker, robot, rules=ALONE)
    ticked(node, says("undo: grasp"))
    ticked(node, lambda _: robot.moving)
    preempted(node)
    still = Still("still", node)
    still.tick_once()
    assert still.status is Status.RUNNING
    ticked(node, says("its receipt is waited for"))
    preempted(node)
    robot.let_go()
    ticked(still)
    ticked(node)
    assert node.status is Status.SUCCESS
    assert [str(act) for act in robot.did].count("undo: grasp") == 1
    assert robot.motions.at_once == ()


def test_a_preempted_behaviour_is_stopped_and_what_comes_to_rest_is_waited_for(tracker):
    acts, moves = behaviours(**{"undo: grasp": Takes("undo grasp", ticks=50)}), [True]
    node = RecoverBeliefs("recover", tracker, acts, rules=ALONE, moving=lambda: moves[0])
    ticked(node, says("undo: grasp"))
    preempted(node)
    assert acts["undo: grasp"].stopped == 1
    assert node.moving
    ticked(node, says("stop 'undo: grasp'"))
    for _ in range(5):
        node.tick_once()
        assert node.feedback_message.startswith("stop 'undo: grasp'")
    moves[0] = False
    ticked(Still("still", node))
    ticked(node)
    assert node.status is Status.SUCCESS
    assert (acts["undo: grasp"].began, acts["undo: grasp"].ended) == (2, 1)
    assert tracker.status("grasp") == "planned"  # undone, and to be done again by the tree


def test_preempting_before_anything_has_begun_harms_nothing(tracker):
    node = RecoverBeliefs("recover", tracker, behaviours(), rules=ALONE)
    preempted(node)
    node.tick_once()
    preempted(node)
    ticked(node)
    assert node.status is Status.SUCCESS


def test_after_a_power_cut_the_tree_takes_the_session_up_and_repeats_nothing(tracker, tmp_path):
    with Journal(tmp_path / "a.journal") as journal:
        node = RecoverBeliefs("recover", tracker, behaviours(), rules=ALONE, log=journal)
        ticked(node, says("undo: grasp"))
        name = node.session.name
    acts = behaviours()
    with Journal(tmp_path / "a.journal") as journal:  # the program that had begun it is gone
        again = RecoverBeliefs(
            "again", tracker, acts, rules=ALONE, log=journal, resume=name, verify=lambda act: act.done()
        )
        ticked(again)
    assert again.status is Status.SUCCESS
    assert [acts[name].began for name in ("weigh", "undo: grasp")] == [0, 0]
    assert tracker["level"] == 45.0


def test_the_next_alarm_begins_another_recovery(tracker):
    acts = behaviours(**{"redo: grasp": Takes("redo grasp")}, weigh=Takes("weigh", answer="18"))
    node = RecoverBeliefs("recover", tracker, acts, rules=ALONE)
    ticked(node)
    first = node.session
    ticked(node)
    assert node.session is not first
    assert node.session.recovery.start.alarms == 1


# Logs that are slow, or fail


class Stubborn(MemoryLog):
    """A log that keeps whoever writes waiting, or fails."""

    def __init__(self):
        super().__init__()
        self.free, self.error = threading.Event(), None
        self.free.set()

    def append(self, session, after, events, *, at=None):
        assert self.free.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        super().append(session, after, events, at=at)


def test_no_tick_waits_for_the_log(tracker):
    log = Stubborn()
    robot = FakeRobot(tracker.alarm(), truth="more", failures=[FOREVER], stops=StopBehaviour.AT_ONCE)
    node = RecoverBeliefs("recover", tracker, robot, rules=ALONE, log=log)
    log.free.clear()
    for _ in range(20):
        node.tick_once()  # would never return if it waited
        assert node.status is Status.RUNNING
    log.free.set()
    ticked(node, says("undo: grasp"))
    ticked(node, lambda _: robot.moving)
    log.free.clear()
    preempted(node)  # nor does preempting, and the robot stops all the same
    ticked(Still("still", node), lambda _: not robot.moving)
    log.free.set()
    ticked(node)
    assert node.status is Status.SUCCESS
    assert robot.motions.at_once == ()


@pytest.mark.parametrize("hands", ["robot", "behaviours"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadJournal("a.journal", "cannot grow: the disk is full", "make room"), "the disk is full; make room"),
        (ForeignSession("x"), "somebody else has written to it meanwhile"),
    ],
)
def test_where_the_log_fails_what_moves_is_stopped_and_the_tree_goes_on(tracker, hands, error, said):
    log = Stubborn()
    robot = FakeRobot(tracker.alarm(), truth="more", failures=[FOREVER], stops=StopBehaviour.AT_ONCE)
    acts = behaviours(**{"undo: grasp": Takes("undo grasp", ticks=10**9)})
    node = RecoverBeliefs(
        "recover", tracker, robot if hands == "robot" else acts, rules=ALONE, log=log,
        verify=lambda act: act.failed("stopped half-way"),
    )  # fmt: skip
    ticked(node, says("undo: grasp"))
    ticked(node, lambda _: robot.moving or acts["undo: grasp"].status is Status.RUNNING)
    log.error = error
    with pytest.raises(type(error)):
        node.session.alarm()  # it cannot be written down
    node._say(node.session.alarm)  # as if the tree itself had something to write
    ticked(node)
    assert (node.status, said in node.feedback_message) == (Status.FAILURE, True)
    ticked(Still("still", node))
    assert not robot.moving
    assert acts["undo: grasp"].status is not Status.RUNNING
    log.error, acts["undo: grasp"].ticks = None, 2
    ticked(node)  # it takes the session up again
    assert node.status is Status.SUCCESS
    assert len({entry.number for entry in log.read(node.session.name)}) > 10


# Guards


class Full(MemoryLog):
    """Takes nothing in until there is room again."""

    room = False

    def append(self, *args, **rest):
        if not self.room:
            raise OSError("no space left on device")
        super().append(*args, **rest)


def test_where_a_recovery_cannot_begin_the_tree_goes_on_and_tries_again(tracker):
    log = Full()
    recovery = RecoverBeliefs("recover", tracker, behaviours(), rules=ALONE, log=log)
    ticked(recovery)
    assert (recovery.status, recovery.feedback_message) == (
        Status.FAILURE,
        "it cannot begin: no space left on device",
    )
    log.room = True
    ticked(recovery)
    assert recovery.status is Status.SUCCESS


def test_a_session_that_cannot_be_taken_up_now_is_not_replaced_by_another(tracker):
    recovery = RecoverBeliefs("recover", tracker, behaviours(), rules=ALONE, log=MemoryLog(), resume="lid-17")
    for _ in range(2):
        ticked(recovery)
        assert recovery.status is Status.FAILURE
        assert "unknown session 'lid-17'" in recovery.feedback_message
        assert recovery.session is None


def test_what_a_broken_policy_was_to_check_does_not_run(tracker):
    class Broken:
        def next_step(self, state):
            raise ZeroDivisionError

    pour = Takes("pour")
    guard = Guarded("guard", pour, tracker, "pour", policy=Broken())
    ticked(guard)
    assert guard.status is Status.FAILURE
    assert "pour could not be checked: ZeroDivisionError" in guard.feedback_message
    assert pour.began == 0


def test_a_guard_lets_run_what_rests_on_nothing_doubtful_and_tracks_it():
    tracker = Tracker(parse_without_alarm())
    node = Guarded("pour", Takes("pour"), tracker, "pour")
    ticked(node, lambda node: node.decorated.status is Status.RUNNING)
    assert tracker.status("pour") == "under way"
    ticked(node)
    assert (node.status, tracker.status("pour")) == (Status.SUCCESS, "done")
    ticked(node)
    assert (node.decorated.began, node.feedback_message) == (1, "pour has been done")


def parse_without_alarm():
    from tests.adapters.problems import CUP

    from aquamend.files import parse_problem

    data = {key: value for key, value in CUP.items() if key != "alarm"}
    kernels = {**CUP["kernels"], "look": {"outcomes": ["there", "gone"], "likelihood": {"nothing": [0.9, 0.1]}}}
    return parse_problem({**data, "hypotheses": [{"name": "nothing", "prior": 1.0}], "kernels": kernels})


def test_a_guard_fails_with_the_price_where_something_comes_first(tracker):
    child = Takes("pour")
    node = Guarded("pour", child, tracker, "pour")
    ticked(node)
    assert node.status is Status.FAILURE
    assert child.began == 0
    assert node.feedback_message.startswith("before 'pour': measure first: run probe weigh")
    assert "going on costs" in node.feedback_message
    assert node.check.loss < node.check.loss_of_going_on


def test_a_guard_prices_and_does_not_judge_by_a_threshold(tracker):
    """The same doubt, with nothing to lose: the subtree runs."""
    beliefs = [
        {"name": "level", "residual": 0.01, "declared": 18.0, "tolerance": 3.0},
        {"name": "cup", "residual": 0.01},
    ]
    careless = Tracker(cup_problem(beliefs=beliefs))
    node = Guarded("pour", Takes("pour"), careless, "pour")
    ticked(node)
    assert node.status is Status.SUCCESS


def test_a_guard_recovers_first_and_then_runs_its_subtree(tracker):
    acts = behaviours(**{"redo: grasp": Takes("redo grasp")})
    child = Takes("pour")
    node = Guarded("pour", child, tracker, "pour", recovery=RecoverBeliefs("recover", tracker, acts, rules=ALONE))
    ticked(node)
    assert node.status is Status.SUCCESS
    assert [acts[name].ended > 0 for name in ("weigh", "undo: grasp", "redo: grasp")] == [True] * 3
    assert (child.ended, tracker["level"]) == (1, 45.0)
    assert tracker.executed == ("grasp", "pour")


def task(tracker, acts, pour, grasp, *, memory):
    """Return a task whose pouring recovers first, and leaves it to the tree to grasp again."""
    recovery = RecoverBeliefs("recover", tracker, acts, rules=ALONE)
    guards = [
        Tracked("grasp", grasp, tracker, "grasp"),
        Guarded("pour", pour, tracker, "pour", recovery=recovery),
    ]
    return py_trees.composites.Sequence("task", memory=memory, children=guards)


def test_what_a_recovery_leaves_to_the_tree_the_tree_does_again_on_its_next_round(tracker):
    pour, grasp = Takes("pour"), Takes("grasp")
    root = task(tracker, behaviours(), pour, grasp, memory=True)
    ticked(root)
    assert root.status is Status.FAILURE
    assert root.children[1].feedback_message == "to be done again before pour: grasp"
    assert (tracker.status("grasp"), tracker["level"], pour.began, grasp.began) == ("planned", 45.0, 0, 0)
    ticked(root)
    assert (grasp.ended, tracker.status("grasp")) == (1, "done")


def test_nothing_guarded_begins_while_a_recovery_of_the_task_is_under_way(tracker):
    """In a sequence without memory, what was undone would else be done again before the new value is declared."""
    pour, grasp = Takes("pour"), Takes("grasp")
    root = task(tracker, behaviours(), pour, grasp, memory=False)
    ticked(root)
    assert root.status is Status.FAILURE
    assert "comes first" in root.children[0].feedback_message
    assert (tracker.status("grasp"), tracker["level"], grasp.began, pour.began) == ("planned", 18.0, 0, 0)


def test_a_guarded_subtree_that_is_preempted_counts_as_begun_and_may_run_again():
    tracker = Tracker(parse_without_alarm())
    node = Guarded("pour", Takes("pour", ticks=5), tracker, "pour")
    ticked(node, lambda node: node.decorated.status is Status.RUNNING)
    preempted(node)
    assert tracker.status("pour") == "interrupted"
    assert node.decorated.stopped == 1
    ticked(node)
    assert (node.status, tracker.status("pour")) == (Status.SUCCESS, "done")


def test_a_preempted_guard_stops_its_recovery_and_goes_on_with_it(tracker):
    acts = behaviours(weigh=Takes("weigh", ticks=20, answer="18"))
    recovery = RecoverBeliefs("recover", tracker, acts, rules=ALONE)
    node = Guarded("pour", Takes("pour"), tracker, "pour", recovery=recovery)
    ticked(node, says("weigh"))
    ticked(node, lambda _: acts["weigh"].status is Status.RUNNING)
    session = recovery.session
    preempted(node)
    assert acts["weigh"].stopped == 1
    ticked(node)
    assert node.status is Status.SUCCESS
    assert recovery.session is session


def test_what_is_believed_stands_on_the_blackboard_with_its_version(tracker):
    BeliefsToBlackboard("beliefs", tracker).tick_once()
    assert Blackboard.get("/beliefs/level.value") == 18.0
    assert Blackboard.get("/beliefs/level.version") == 1
    assert Blackboard.get("/beliefs/cup.version") == 0
    ticked(RecoverBeliefs("recover", tracker, behaviours(), rules=ALONE))
    now = Blackboard.get("/beliefs/level")
    assert (now.value, now.version, now.support) == (45.0, 2, ("weigh",))
