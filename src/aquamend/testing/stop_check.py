"""The conformance check of ``stop``: acts are stopped half-way, and after that nothing may move any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any, cast

from aquamend.errors import AquaMendError
from aquamend.recovery import Act, Finish, Follow, Measure, Receipt, Redo, Undo
from aquamend.testing.watched_robot import RobotFault, WatchedRobot

MOVING_KINDS = (Measure, Undo, Redo, Follow, Finish)
"""Kinds of acts that may move something, and so may have to be stopped."""

PAUSE_S = 0.01
"""How long to wait before asking once more, where a robot did not know yet what it was to stop."""

Moving = Callable[[Any], bool]
"""Whether anything moves at a robot now."""


class StoppedRobot:
    """A watched robot; the first act of one kind is stopped half-way, and the recovery goes on from there."""

    verify: Callable[[Act], Receipt | None]

    def __init__(self, watched: WatchedRobot, kind: type[Act], *, stop_s: float, moving: Moving | None) -> None:
        self.alarm = watched.alarm
        self.caught = False
        """Whether that act was under way when it was stopped."""
        self.watched, self._kind, self._stop_s, self._moving = watched, kind, stop_s, moving
        self._tried = False
        if hasattr(watched, "verify"):
            self.verify = watched.verify

    def measure(self, step: Measure) -> Receipt:
        """Have a probe run, and stopped where its turn has come."""
        return self._sent(self.watched.measure, step)

    def perform(self, act: Act) -> Receipt:
        """Have an act done, and stopped where its turn has come."""
        return self._sent(self.watched.perform, act)

    def _sent(self, call: Callable[[Any], Receipt], act: Act) -> Receipt:
        if self._tried or not isinstance(act, self._kind):
            return call(act)
        self._tried = True
        try:
            return self._begun_and_stopped(act)
        except RobotFault as fault:
            # That ends the recovery at once: a robot that has not stopped is not asked for anything else.
            raise SystemExit(str(fault)) from fault

    def _begun_and_stopped(self, act: Act) -> Receipt:
        self._check_too_early(act)
        watched, robot = self.watched, cast("Any", self.watched.robot)
        answer = _called(robot.measure if isinstance(act, Measure) else robot.perform, act)
        wait_for([answer], watched.known.took.get(str(act), 0.0) / 2)
        receipt = self._stopped(act, answer)
        if receipt is None:  # it had come to its end by itself
            return watched.took_in(act, self._returned(act, answer))
        self.caught = True
        self._check_still(act)
        self._check_own_receipt(act, receipt, answer)
        self._check_still(act)
        watched.check_verified(act, done=receipt.succeeded, when="which was stopped and is not done")
        return watched.took_in(act, receipt)

    def _check_too_early(self, act: Act) -> None:
        """Have an act stopped that has not begun: a session may ask for that while the call is on its way."""
        if (receipt := self._asked(act)) is not None:
            self.watched.fail(
                f"returns {receipt!r} when {str(act)!r} is stopped before it has begun; the call for it may be on its "
                "way, so return None"
            )

    def _stopped(self, act: Act, answer: Future[Any]) -> Receipt | None:
        """Return the receipt of stopping an act; None if the act had ended before that."""
        deadline = time.monotonic() + self._stop_s
        while not answer.done():
            if (receipt := self._asked(act)) is not None:
                return receipt
            if time.monotonic() >= deadline and not answer.done():
                self.watched.fail(
                    f"does not stop {str(act)!r}: stop() has returned no receipt within {self._stop_s:g} s, and the "
                    "act goes on; stop what moves, and return act.failed(...) or act.done(...)"
                )
            wait_for([answer], PAUSE_S)
        return None

    def _asked(self, act: Act) -> Receipt | None:
        """Return what ``stop`` returns, checked; None where it ran into something."""
        watched, robot = self.watched, self.watched.robot
        came = _called(robot.stop, act)  # type: ignore[attr-defined]
        if not wait_for([came], self._stop_s).done:
            watched.fail(
                f"has not returned from stop() of {str(act)!r} within {self._stop_s:g} s; return None where the act "
                "cannot be stopped by then"
            )
        error = came.exception()
        if error is not None and not isinstance(error, AquaMendError | OSError):
            watched.fail(f"raises {error!r} when it is to stop {str(act)!r}; return None where that cannot be done")
        receipt = None if error is not None else came.result()
        if receipt is not None:
            watched.check_receipt(act, receipt)
        return receipt

    def _check_own_receipt(self, act: Act, stopped: Receipt, answer: Future[Any]) -> None:
        """Check that the call of an act ends once it is stopped, and says the same."""
        if not wait_for([answer], self._stop_s).done:
            self.watched.fail(
                f"says that {str(act)!r} is stopped, but the call for it goes on for {self._stop_s:g} s after that; "
                "return from stop() once nothing moves any more, or return None"
            )
        own = None if isinstance(answer.exception(), AquaMendError | OSError) else self._returned(act, answer)
        if own is not None and own.succeeded != stopped.succeeded:
            said = {True: "it was done", False: "it was not done"}
            self.watched.fail(
                f"says of {str(act)!r} when it is stopped that {said[stopped.succeeded]}, and in the receipt of the "
                f"act itself that {said[own.succeeded]}"
            )

    def _returned(self, act: Act, answer: Future[Any]) -> Receipt:
        """Return what the call of an act returned, or raise what a robot may raise."""
        error = answer.exception()
        if error is not None and not isinstance(error, AquaMendError | OSError):
            self.watched.fail(f"raises {error!r} at {str(act)!r}; return act.failed(why) for what can go wrong")
        receipt: Receipt = answer.result()
        self.watched.check_receipt(act, receipt)
        return receipt

    def _check_still(self, act: Act) -> None:
        if self._moving is not None and self._moving(self.watched.original):
            self.watched.fail(
                f"says that {str(act)!r} is stopped, and still moves; return from stop() once nothing moves any more, "
                "or return None"
            )


def _called(call: Callable[[Any], Any], act: Act) -> Future[Any]:
    """Call a method of a robot in a thread of its own, as the drivers do; return once it has begun."""
    answer: Future[Any] = Future()
    begun = threading.Event()

    def run() -> None:
        begun.set()
        try:
            answer.set_result(call(act))
        except BaseException as error:  # noqa: BLE001 - the waiting thread looks at it
            answer.set_exception(error)

    threading.Thread(target=run, name=f"check of {act}", daemon=True).start()
    begun.wait()
    return answer
