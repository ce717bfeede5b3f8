"""A recovery as a behaviour, and subtrees beside it that are actions: tracked, and run only where that is allowed."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, cast
from weakref import WeakKeyDictionary, WeakSet

from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.decorators import Decorator

from aquamend.adapters.trees.hands import QUESTION, Board, Calls, Hands, Subtrees, check_complete, client_of, redone
from aquamend.belief import InformationState
from aquamend.errors import AquaMendError, StaleReply
from aquamend.policies import Policy
from aquamend.recovery import ActionStatus, Check, Log, Receipt, Robot, Rules, Session, Thinking, Tracker
from aquamend.recovery.acts import Act, Declare, Finish, HandOver, Redo
from aquamend.recovery.clock import Time
from aquamend.recovery.drivers import POLL_S, in_a_thread
from aquamend.recovery.events import Ending
from aquamend.recovery.requests import Decide, End, Perform, RunProbe, Stop, Verify, Wait
from aquamend.recovery.tracker import check_action
from aquamend.text import listed, quantity

PREEMPTED: Final = "the tree has gone elsewhere"

RECOVERIES: WeakKeyDictionary[Tracker, WeakSet[RecoverBeliefs]] = WeakKeyDictionary()
"""The recoveries beside each tracker: while one is under way, nothing that is tracked begins."""


class RecoverBeliefs(Behaviour):
    """A recovery as a behaviour: RUNNING while it goes on, SUCCESS where it finished, else FAILURE.

    What it does is done by a robot, in threads of its own, or by behaviours of yours, by the text of the act
    (``"weigh"``, ``"undo: grasp"``, ``"redo: grasp"``); a behaviour for a probe writes what it has found to
    ``/answers/weigh``. To finish the task is left to the tree; to do an action again too, unless there is a behaviour
    for it: the tracker then says that it is planned.

    Preempted, it has the act under way stopped and begins nothing more. The next time it is ticked, it goes on where it
    was, once nothing moves. ``moving`` tells whether something does, where a behaviour that was stopped may still come
    to rest; unless given, one that was stopped stands still.
    """

    def __init__(
        self,
        name: str,
        tracker: Tracker,
        acts: Robot | Mapping[str, Behaviour],
        *,
        policy: Policy | str = "best",
        rules: Rules | None = None,
        log: Log | None = None,
        resume: str | None = None,
        attended: bool | None = None,
        rung: str | Iterable[str] | Callable[[], Iterable[str]] = (),
        silent: str | Iterable[str] = (),
        moving: Callable[[], bool] | None = None,
        verify: Callable[[Act], Receipt | None] | None = None,
    ) -> None:
        """``resume`` names a session of the log to take up first; ``rung`` may be asked when the recovery begins."""
        super().__init__(name)
        self.tracker, self.policy, self.rules, self.log = tracker, policy, rules, log
        self.attended, self.rung, self.silent = attended, rung, silent
        self.start: InformationState | None = None
        """Where the next recovery begins, if not with an alarm; a guard says so."""
        self.session: Session | None = None
        """The recovery of now, or the last one; its ``alarm``, ``answer`` and ``cancel`` may be called at any time."""
        self._resume = resume
        self._beginning: Future[Session] | None = None
        self._thinking: Thinking | None = None
        self._aside = ThreadPoolExecutor(1, thread_name_prefix=name)
        """Says everything to the session, one thing after another, so that no tick waits for its log."""
        self._said: deque[Future[None]] = deque()
        self._listening: Session | None = None
        """The session that hears what is said; one that another has taken the place of writes nothing any more."""
        self._looked = -math.inf
        self._lost = False
        """Whether the session cannot go on here."""
        self._hands: Hands
        if isinstance(acts, Mapping):
            check_complete(tracker.problem(), acts)
            self._hands = Subtrees(self, acts, moving, verify)
            self.children.extend(acts.values())
            for child in acts.values():
                child.parent = self
        else:
            self._hands = Calls(acts)
        self._leaves_redo = frozenset(redone(tracker.problem()) - set(acts)) if isinstance(acts, Mapping) else ()
        self._question = client_of(self, QUESTION)
        self._board = Board(self, tracker)
        self._question.set(QUESTION, None)
        RECOVERIES.setdefault(tracker, WeakSet()).add(self)

    @property
    def under_way(self) -> bool:
        """Whether a recovery has begun and not ended, preempted or not."""
        return self._beginning is not None or (self.session is not None and self.session.recovery.ending is None)

    @property
    def moving(self) -> bool:
        """Whether something that the recovery has begun may still move."""
        self._hands.poll()
        act = None if self.session is None or self._lost else self.session.recovery.act
        return self._hands.moving or (act is not None and not isinstance(act, Declare | HandOver))

    @property
    def left_to_do(self) -> tuple[str, ...]:
        """Actions that the last recovery has undone and left to the tree."""
        names = () if self.session is None else self.session.recovery.undone
        return tuple(name for name in names if f"{Redo.kind}: {name}" in self._leaves_redo)

    def initialise(self) -> None:
        """Begin a recovery, or go on with the one that was preempted, or that its log had kept from going on."""
        if self._lost and self.session is not None:
            self._resume = self.session.name
        if self._lost or not self.under_way:
            self.session, self._thinking, self._lost = None, None, False
            self._said.clear()
            self._beginning = self._aside.submit(self._begun)  # after all that was said to the session before

    def _begun(self) -> Session:
        """Begin or resume a session, which tells the tracker of what it does."""
        self._listening = None
        if self._resume is not None and self.log is not None:
            policy = None if isinstance(self.policy, str) else self.policy
            session = Session.resume(self.log, self._resume, policy=policy, decide_apart=True)
            self._resume = None
        else:
            rung = self.rung() if callable(self.rung) else self.rung
            rung, silent = ((names,) if isinstance(names, str) else tuple(names) for names in (rung, self.silent))
            start = self.tracker.alarm(*rung, silent=silent) if self.start is None else self.start
            session = Session.begin(
                start, self.policy, log=self.log, rules=self.rules, attended=self.attended, decide_apart=True
            )
        session.tracker = cast("Tracker", TellsTracker(self.tracker, frozenset(self._leaves_redo)))
        self._listening = session
        return session

    def update(self) -> Status:
        """Do what is wanted now, without waiting for anything."""
        if self._thinking is None:
            if self._beginning is None or not self._beginning.done():
                return self._says("taking in what has happened")
            future, self._beginning = self._beginning, None
            try:
                self.session = future.result()
            except (AquaMendError, OSError) as fault:  # the log does not answer, or the alarm means nothing
                self._says(f"it cannot begin: {fault}")
                return Status.FAILURE
            self._thinking = Thinking(self.session)
            self._hands.serve(self.session, partial(self._say, to=self.session))
        session = self._thinking.session
        self._hands.poll()
        while self._said and self._said[0].done():
            if (error := self._said.popleft().exception()) is not None:
                return self._cannot_go_on(session, error)
        if self._said:
            return self._says(self.feedback_message)
        request = session.request
        asks = isinstance(request, Wait) and bool(request.token)
        if not asks or time.monotonic() - self._looked >= POLL_S:  # whether a person has answered, the log says
            self._looked = time.monotonic()
            self._say(self._thinking.tick)
        self._question.set(QUESTION, request if asks else None)
        match request:
            case Decide():
                return self._says("deciding")
            case RunProbe(act=act) | Perform(act=act):
                self._hands.begin(request)
                return self._says(str(act))
            case Stop(act=act, reason=reason) | Verify(act=act, reason=reason):
                if isinstance(request, Stop):
                    self._hands.halt(act)
                self._hands.attend(request)
                return self._says(f"{request.kind} {str(act)!r}: {reason}")
            case Wait(act=act, reason=reason, token=token):
                return self._says(f"a person has to allow this: {act} ({reason})" if token else f"{act}: {reason}")
            case End(ending=ending, reason=reason):
                cost = quantity(session.recovery.cost, session.recovery.start.problem.unit)
                self._says(f"{ending}: {reason}" if reason else f"{ending}, which cost {cost}")
                return Status.SUCCESS if ending is Ending.FINISHED else Status.FAILURE

    def terminate(self, new_status: Status) -> None:
        """Where the tree goes elsewhere, have the act under way stopped; nothing else is begun."""
        session = self.session
        if new_status is Status.INVALID and session is not None and not self._lost and session.recovery.ending is None:
            act = session.recovery.act
            self._say(partial(self._interrupt, session))  # before the receipt, which is then no fault of the act
            if act is not None:
                self._hands.halt(act)
        self._board.write()

    def _interrupt(self, session: Session) -> None:
        request = session.interrupt(PREEMPTED)
        if isinstance(request, Stop | Verify):
            self._hands.attend(request)

    def _say(self, call: Callable[[], object], *, to: Session | None = None) -> None:
        session = to or self.session

        def said() -> None:
            if session is self._listening:
                with suppress(StaleReply):  # settled meanwhile
                    call()

        self._said.append(self._aside.submit(said))

    def _cannot_go_on(self, session: Session, error: BaseException) -> Status:
        """Stop what is under way, where the log fails or somebody else conducts the session now; the tree goes on."""
        if not isinstance(error, AquaMendError | OSError):
            raise error
        self._lost = True
        if session.recovery.act is not None:
            self._hands.halt(session.recovery.act)
        self._says(f"it cannot go on here: {error}")
        return Status.FAILURE

    def _says(self, text: str) -> Status:
        self.feedback_message = text
        self._board.write()
        return Status.RUNNING


class Still(Behaviour):
    """RUNNING while something that a recovery has begun may still move, then SUCCESS: for what preempts it."""

    def __init__(self, name: str, recovery: RecoverBeliefs) -> None:
        super().__init__(name)
        self.recovery = recovery

    def update(self) -> Status:
        """Say whether anything moves."""
        moving = self.recovery.moving
        self.feedback_message = "something still moves" if moving else "nothing moves"
        return Status.RUNNING if moving else Status.SUCCESS


class TellsTracker:
    """Tells a tracker what a recovery has done; what is left to the tree, the tree says itself."""

    def __init__(self, tracker: Tracker, left: frozenset[str]) -> None:
        self._tracker, self._left = tracker, left

    def apply(self, act: Act, receipt: Receipt | None = None, *, at: Time = None) -> None:
        """Take in an act."""
        if isinstance(act, Finish):
            act = replace(act, actions=())  # what was measured and kept is young again; nothing has been done
        if str(act) not in self._left:
            self._tracker.apply(act, receipt, at=at)


class Tracked(Decorator):
    """Runs a subtree that is an action of the problem, and tells the tracker how far it has come.

    An action that has been done, and that nothing has undone, is not done again: SUCCESS at once. While a recovery of
    the same task is under way nothing begins: FAILURE.
    """

    def __init__(self, name: str, child: Behaviour, tracker: Tracker, action: str) -> None:
        super().__init__(name=name, child=child)
        tracker.status(action)  # one that nobody knows is refused
        self.tracker, self.action = tracker, action
        self._allowed = False
        self._board = Board(self, tracker)

    def initialise(self) -> None:
        """Begin."""
        self._allowed = False

    def tick(self) -> Iterator[Behaviour]:
        """Tick the subtree, if it is to run now."""
        if self.status != Status.RUNNING:
            self.initialise()
        status = self._standing()
        if status is None and not self._allowed:
            status = yield from self._before()
        if status is None:
            self._allowed = True
            if self.decorated.status != Status.RUNNING:
                self.tracker.begin(self.action)
            yield from self.decorated.tick()
            status = self.update()
        if status != Status.RUNNING:
            self.stop(status)
        self.status = status
        self._board.write()
        yield self

    def _standing(self) -> Status | None:
        """Return what there is to say before anything runs; None where the action is to be done."""
        if self._allowed:
            return None
        if self.tracker.status(self.action) is ActionStatus.DONE:
            self.feedback_message = f"{self.action} has been done"
            return Status.SUCCESS
        if any(other.under_way and not self._owns(other) for other in RECOVERIES.get(self.tracker, ())):
            self.feedback_message = "a recovery is under way, and comes first; in a sequence, it needs memory=True"
            return Status.FAILURE
        return None

    def _owns(self, recovery: RecoverBeliefs) -> bool:
        return False

    def _before(self) -> Generator[Behaviour, None, Status | None]:
        """Run what comes before the subtree; return None once it may begin."""
        yield from ()
        return None

    def update(self) -> Status:
        """Say to the tracker how the subtree has ended."""
        self.feedback_message = self.decorated.feedback_message
        if self.decorated.status is Status.SUCCESS:
            self.tracker.done(self.action)
        elif self.decorated.status is not Status.RUNNING:
            self.tracker.interrupted(self.action)
        return self.decorated.status

    def terminate(self, new_status: Status) -> None:
        """Where the tree goes elsewhere, nobody knows how far the action came."""
        if new_status is Status.INVALID and self.decorated.status is Status.RUNNING:
            self.tracker.interrupted(self.action)


class Guarded(Tracked):
    """Runs and tracks a subtree only where what it rests on allows that.

    What going on costs is weighed against measuring first, going back and asking. Where something else comes first, it
    is left to ``recovery``, and the subtree runs once that has finished; without one, or where it has left actions to
    be done again, the guard fails, and says why. The check is made when the subtree begins, in a thread.
    """

    def __init__(
        self,
        name: str,
        child: Behaviour,
        tracker: Tracker,
        action: str,
        *,
        recovery: RecoverBeliefs | None = None,
        silent: str | Iterable[str] = (),
        policy: Policy | None = None,
    ) -> None:
        super().__init__(name, child, tracker, action)
        self.recovery, self.policy = recovery, policy
        self.silent = (silent,) if isinstance(silent, str) else tuple(silent)
        self.check: Check | None = None
        """The last answer, with all its numbers."""
        self._checking: Future[Check] | None = None
        if recovery is not None:
            self.children.append(recovery)
            recovery.parent = self

    def initialise(self) -> None:
        """Begin with a check, unless a recovery is to go on."""
        super().initialise()
        if self.recovery is None or not self.recovery.under_way:
            self.check = None

    def _owns(self, recovery: RecoverBeliefs) -> bool:
        return recovery is self.recovery

    def _before(self) -> Generator[Behaviour, None, Status | None]:
        if self.check is None:
            self._checking = self._checking or in_a_thread(self._checked)
            if not self._checking.done():
                self.feedback_message = f"checking what {self.action} rests on"
                return Status.RUNNING
            future, self._checking = self._checking, None
            if (error := future.exception()) is not None:  # whatever a policy does, what is doubtful does not run
                self.feedback_message = f"{self.action} could not be checked: {type(error).__name__}: {error}"
                return Status.FAILURE
            self.check = future.result()
        self.feedback_message = str(self.check)
        if self.check:
            return None
        if self.recovery is None:
            return Status.FAILURE
        self.recovery.start = None if self.check.report is None else self.check.report.state
        yield from self.recovery.tick()
        return self._after(self.recovery)

    def _checked(self) -> Check:
        # The tracker's own check would keep everybody else waiting for its lock.
        problem = self.tracker.problem()
        actions = [replace(a, executed=a.executed and a.name != self.action) for a in problem.graph.actions]
        planned = replace(problem, graph=replace(problem.graph, actions=actions))  # where it was interrupted before
        return check_action(planned, self.action, silent=self.silent, policy=self.policy)

    def _after(self, recovery: RecoverBeliefs) -> Status | None:
        self.feedback_message = recovery.feedback_message
        if recovery.status is not Status.SUCCESS:
            return recovery.status
        if again := recovery.left_to_do:
            self.feedback_message = f"to be done again before {self.action}: {listed(again)}"
            return Status.FAILURE
        return None

    def terminate(self, new_status: Status) -> None:
        """Where the tree goes elsewhere, stop what runs."""
        self._checking = None
        if new_status is Status.INVALID and self.recovery is not None and self.recovery.status is Status.RUNNING:
            self.recovery.stop(new_status)
        super().terminate(new_status)
