"""Subtrees that are actions of a problem: tracked, and run only where what they rest on allows that."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace

from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.decorators import Decorator

from aquamend.adapters.trees.board import Board
from aquamend.adapters.trees.recovering import RECOVERIES, RecoverBeliefs
from aquamend.policies import Policy
from aquamend.recovery import ActionStatus, Check, Tracker
from aquamend.recovery.drivers import in_a_thread
from aquamend.recovery.tracker import check_action
from aquamend.text import listed


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
