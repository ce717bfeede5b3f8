"""Who does the acts of a session for a tree: a robot, called in threads, or behaviours, ticked one at a time.

And what is believed, asked and answered, on the blackboard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from py_trees.behaviour import Behaviour
from py_trees.blackboard import Client
from py_trees.common import Access, Status

from aquamend.errors import BadArgument
from aquamend.problem import RESTART, Problem
from aquamend.recovery import Receipt, Robot, Session, Stoppable, Tracker
from aquamend.recovery.acts import Act, Finish, Redo
from aquamend.recovery.drivers import in_a_thread, method_for
from aquamend.recovery.requests import Perform, RunProbe, Stop, Verify
from aquamend.text import listed

BELIEFS: Final = "/beliefs/"
"""Under it on the blackboard, the declaration in force of every belief: ``/beliefs/size.value``, ``.version``."""
ANSWERS: Final = "/answers/"
"""Under it, what the behaviour for a probe has found."""
QUESTION: Final = "/recovery/question"
"""What a person is asked, as a `Wait` with its token; None while nobody is."""


def board_key(place: str, name: str) -> str:
    """Return where something of this name stands."""
    return place + name.replace(".", "_")  # a dot would be an attribute


def client_of(owner: Behaviour, *keys: str) -> Client:
    """Return a client of a behaviour's own that may write these."""
    client = owner.attach_blackboard_client(owner.name)
    for key in keys:
        client.register_key(key, access=Access.WRITE)
    return client


class Board:
    """Writes what is believed to the blackboard; a belief that nobody has declared is in version 0."""

    def __init__(self, owner: Behaviour, tracker: Tracker) -> None:
        self._tracker = tracker
        self._keys = {belief.name: board_key(BELIEFS, belief.name) for belief in tracker.problem().graph.beliefs}
        self._client = client_of(owner, *self._keys.values())
        self.write()

    def write(self) -> None:
        """Write the declarations in force."""
        for belief, key in self._keys.items():
            self._client.set(key, self._tracker.declaration(belief))


class BeliefsToBlackboard(Behaviour):
    """Writes what is believed to the blackboard: for every belief the declaration in force. Always SUCCESS."""

    def __init__(self, name: str, tracker: Tracker) -> None:
        super().__init__(name)
        self.tracker = tracker
        self._board = Board(self, tracker)

    def update(self) -> Status:
        """Write them."""
        self._board.write()
        return Status.SUCCESS


Do = RunProbe | Perform
About = Stop | Verify


Say = Callable[[Callable[[], object]], None]
"""Has something said to a session, in a thread: its log may keep the caller waiting."""


class Calls:
    """Calls a robot in threads; what comes of a call goes to the session by itself, also between ticks."""

    def __init__(self, robot: Robot) -> None:
        self._robot: Any = robot
        self._begun = set[int]()
        self._doing: Future[Any] | None = None
        """The last act that was begun."""
        self._halting: tuple[Act, Future[Any]] | None = None
        """The call that stops it, until the session asks for what came of that."""
        self._halted = False
        self._lock = threading.Lock()

    @property
    def moving(self) -> bool:
        """Whether the last act has not returned."""
        return self._doing is not None and not self._doing.done()

    def serve(self, session: Session, say: Say) -> None:
        """Do the acts of this session from now on."""
        self._session, self._say = session, say
        self._begun.clear()

    def poll(self) -> None:
        """Do nothing: what comes is passed on by itself."""

    def begin(self, request: Do) -> None:
        """Call the robot, once for each request."""
        if isinstance(request.act, Finish):
            self._say(partial(self._session.reply, request.act.done(), to=request.number))
        elif request.number not in self._begun:
            self._halting, self._halted = None, False
            self._doing = self._answered(request, self._called(request))

    def halt(self, act: Act) -> None:
        """Have the robot stop an act, where it can."""
        with self._lock:
            if self.moving and not self._halted and isinstance(self._robot, Stoppable):
                self._halting, self._halted = (act, in_a_thread(partial(self._robot.stop, act))), True

    def _stopped(self, act: Act) -> Future[Any]:
        """Have the robot stop an act, unless it does so already."""
        with self._lock:
            begun, self._halting, self._halted = self._halting, None, True
            return begun[1] if begun and begun[0] == act else in_a_thread(partial(self._robot.stop, act))

    def attend(self, request: About) -> None:
        """Have the robot stop or verify an act, where it can."""
        if request.number in self._begun:
            return
        stops = isinstance(request, Stop) and isinstance(self._robot, Stoppable)
        self._answered(request, self._stopped(request.act) if stops else self._called(request))

    def _called(self, request: Do | About) -> Future[Any]:
        return in_a_thread(partial(method_for(self._robot, request), request.act), name=str(request.act))

    def _answered(self, request: Do | About, answer: Future[Any]) -> Future[Any]:
        self._begun.add(request.number)
        answer.add_done_callback(partial(self._came, self._session, self._say, request.number))
        return answer

    def _came(self, session: Session, say: Say, number: int, answer: Future[Any]) -> None:
        """Pass on what a robot has returned or raised; to stop or verify may come next, and begins nothing."""
        error = answer.exception()

        def reply() -> None:
            following = session.reply(answer.result() if error is None else error, to=number)
            if isinstance(following, Stop | Verify) and session is self._session:
                self.attend(following)

        say(reply)


class Subtrees:
    """Ticks behaviours, each for one act; one at a time."""

    def __init__(
        self,
        owner: Behaviour,
        acts: Mapping[str, Behaviour],
        moving: Callable[[], bool] | None,
        verify: Callable[[Act], Receipt | None] | None,
    ) -> None:
        self._acts, self._moving, self._verify = dict(acts), moving, verify
        self._number = -1
        self._stopping: Stop | None = None
        self._lock = threading.Lock()
        self._answers = owner.attach_blackboard_client(owner.name)
        for name in acts:
            for access in (Access.READ, Access.WRITE):
                self._answers.register_key(board_key(ANSWERS, name), access=access)

    @property
    def moving(self) -> bool:
        """Whether a behaviour runs, or one that was stopped still comes to rest."""
        runs = any(child.status is Status.RUNNING for child in self._acts.values())
        return runs or (self._moving is not None and self._moving())

    def serve(self, session: Session, say: Say) -> None:
        """Do the acts of this session from now on."""
        self._session, self._say, self._number, self._stopping = session, say, -1, None

    def begin(self, request: Do) -> None:
        """Tick the behaviour for an act, and reply once it has ended."""
        act, number = request.act, request.number
        child = self._acts.get(str(act))
        if child is None:  # to declare moves nothing, and the rest is left to the tree
            self._say(partial(self._session.reply, act.done(), to=number))
            return
        answer = board_key(ANSWERS, str(act))
        if number != self._number:
            self._number = number
            self._answers.set(answer, None)
        child.tick_once()
        if child.status is Status.RUNNING:
            return
        found = self._answers.get(answer)
        if child.status is not Status.SUCCESS:
            tip = child.tip()
            receipt = act.failed((tip or child).feedback_message or f"{child.name} has failed")
        elif isinstance(request, RunProbe) and found is None:
            receipt = act.failed(f"{child.name} has written nothing to {answer}")
        else:
            receipt = act.done(found)
        self._say(partial(self._session.reply, receipt, to=number))

    def halt(self, act: Act) -> None:
        """Stop the behaviour for an act."""
        child = self._acts.get(str(act))
        if child is not None and child.status is Status.RUNNING:
            child.stop(Status.INVALID)

    def attend(self, request: About) -> None:
        """Wait until what was stopped stands still, or have somebody verify what became of an act."""
        if isinstance(request, Verify):
            verify = self._verify or (lambda act: None)
            self._say(lambda: self._session.reply(verify(request.act), to=request.number))
            return
        with self._lock:
            self._stopping = request
        self.poll()

    def poll(self) -> None:
        """Say that an act was stopped, once nothing moves any more."""
        with self._lock:
            if self._stopping is None or self.moving:
                return
            request, self._stopping = self._stopping, None
        receipt = request.act.failed("it was stopped half-way")
        self._say(partial(self._session.reply, receipt, to=request.number))


Hands = Calls | Subtrees
"""What does the acts of a session."""


def check_complete(problem: Problem, acts: Mapping[str, Behaviour]) -> None:
    """Refuse behaviours that leave out something which a policy may decide to do."""
    graph = problem.graph
    undoing = [
        f"undo: {operation}"
        for action in graph.actions
        if action.reversible
        for operation in action.operations or (action.name,)
    ]
    plans = [*([] if problem.restart is None else [RESTART]), *(plan.name for plan in problem.plans)]
    wanted = dict.fromkeys([*graph.probe_index, *undoing, *plans])
    if missing := [name for name in wanted if name not in acts]:
        raise BadArgument(f"no behaviour for {listed([repr(name) for name in missing])}; give one for each")
    if unknown := sorted(set(acts) - set(wanted) - redone(problem)):
        raise BadArgument(f"behaviours for what no recovery does: {listed([repr(name) for name in unknown])}")


def redone(problem: Problem) -> set[str]:
    """Return the texts of the acts that do actions again."""
    return {f"{Redo.kind}: {action.name}" for action in problem.graph.actions}
