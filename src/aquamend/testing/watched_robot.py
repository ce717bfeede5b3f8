"""A robot with every call to it checked: the promises of ``aquamend.recovery.Robot``, one by one.

That of ``stop``: acts are stopped half-way, and after that nothing may move any more.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NoReturn, cast

import numpy as np

from aquamend.belief import InformationState
from aquamend.errors import AquaMendError
from aquamend.problem.model.kernels import Outcomes
from aquamend.recovery import (
    Act,
    Ending,
    Finish,
    Follow,
    Judge,
    Measure,
    Receipt,
    Recovery,
    Redo,
    Robot,
    Undo,
    Verdict,
    Verifying,
    residuals,
)
from aquamend.recovery.acts import Charge, receipt_fault

MOVING_KINDS = (Measure, Undo, Redo, Follow, Finish)
"""Kinds of acts that may move something, and so may have to be stopped."""

PAUSE_S = 0.01
"""How long to wait before asking once more, where a robot did not know yet what it was to stop."""

Moving = Callable[[Any], bool]
"""Whether anything moves at a robot now."""


class RobotFault(AquaMendError, AssertionError):
    """A robot broke the contract; says after what and how."""


@dataclass(slots=True)
class Known:
    """What robots of the same situation have said so far; each new one has to agree, where they are repeatable."""

    repeatable: bool = True
    start: InformationState | None = None
    answers: dict[tuple[str, int], object] = field(default_factory=dict)
    """By probe and how many times it had been run."""
    took: dict[str, float] = field(default_factory=dict)
    """Seconds that each act took at least, by its text."""


class WatchedRobot:
    """A robot, with every call to it checked.

    A recovery takes whatever a robot raises for a failure of the robot, so the first fault is kept here as well.
    """

    verify: Callable[[Act], Receipt | None]

    def __init__(self, robot: Robot, known: Known, *, original: object = None) -> None:
        for method in ("alarm", "measure", "perform"):
            if not callable(getattr(robot, method, None)):
                raise RobotFault(f"{robot!r} has no {method}(); see aquamend.recovery.Robot")
        self.robot, self.known = robot, known
        self.original = robot if original is None else original
        """The robot as it was made, where what is called stands for it."""
        self.fault: RobotFault | None = None
        self.said: list[str] = []
        """Answers and acts so far."""
        self.kinds: dict[type[Act], None] = {}
        """Kinds of acts that were asked of it."""
        self.uses: dict[str, int] = {}
        self.started: tuple[InformationState, InformationState] | None = None
        """The state that the robot gave at the alarm, and a copy of it."""
        self._done: set[str] = set()
        """Acts whose effect stands, by their text."""
        if isinstance(robot, Verifying):
            self.verify = self._verify

    def alarm(self) -> InformationState:
        """Return the public evidence, checked against that of the other robots."""
        state: object = self.robot.alarm()  # a stranger's robot may return anything
        if not isinstance(state, InformationState):
            self.fail(f"returns {state!r} as its alarm, which is not an information state")
        self.started = state, replace(state, posterior=state.posterior.copy())
        if state.problem.model.alarm is not None and not state.alarm_heard:
            self.fail("starts from a state that has not heard the alarm; use InformationState.alarmed")
        if not np.allclose(state.posterior, _replayed(state).posterior, rtol=1e-6, atol=1e-12):
            self.fail("starts from a posterior other than prior, alarm (once) and evidence make")
        again: object = self.robot.alarm()
        if not isinstance(again, InformationState) or not _alike(state, again):
            self.fail("returns another alarm when it is asked again")
        if self.known.repeatable:
            self.known.start = self.known.start or self.started[1]
            if not _alike(state, self.known.start):
                self.fail("returns another alarm than an earlier robot of the same situation")
        return state

    def measure(self, step: Measure) -> Receipt:
        """Return the robot's answer, checked against the model and the other robots."""
        return self.took_in(step, self._called(self.robot.measure, step))

    def _noted(self, step: Measure, receipt: Receipt) -> None:
        use = self.uses[step.probe] = self.uses.get(step.probe, 0) + 1
        if receipt.succeeded:
            self._check_answer(step, receipt.finding)
            before = self.known.answers.setdefault((step.probe, use), receipt.finding)
            if self.known.repeatable and before != receipt.finding:
                self.fail(
                    f"answers {receipt.finding!r} to use {use} of {step.probe!r}, but {before!r} where else was asked "
                    "before; if its noise is real, check it with repeatable=False"
                )
        came = f"{step} = {receipt.finding}" if receipt.succeeded else f"{step} failed"
        self.said.append(came)

    def perform(self, act: Act) -> Receipt:
        """Return the receipt of an act, checked; where the robot verifies, before and after."""
        if isinstance(act, Undo | Redo) and str(act) not in self._done:
            self._check_not_done(act, "before it was begun")
        receipt = self.took_in(act, self._called(self.robot.perform, act))
        if receipt.succeeded:
            self._check_done(act)
        elif isinstance(act, Undo | Redo):
            self._check_not_done(act, "which failed by its own receipt")
        return receipt

    def took_in(self, act: Act, receipt: Receipt) -> Receipt:
        """Note what came of an act, and return it; the answer of a probe is checked."""
        if isinstance(act, Measure):
            self._noted(act, receipt)
        else:
            self.note(act, done=receipt.succeeded)
        return receipt

    def note(self, act: Act, *, done: bool) -> None:
        """Note whether an act was done."""
        self.said.append(str(act) if done else f"{act} failed")
        if not done:
            return
        self._done.add(str(act))
        opposite = {str(Redo(name)) for name in act.actions} if isinstance(act, Undo) else set()
        if isinstance(act, Redo):
            opposite = {text for text in self._done if text.startswith(f"{Undo.kind}: ")}
        self._done -= opposite

    def check_ended(self, recovery: Recovery) -> None:
        """Check what a recovery has come to; a robot that also judges has to judge rightly."""
        if self.fault is not None:
            raise self.fault
        if recovery.ending is None:
            self.fail("has not come to an end")
        if isinstance(self.robot, Judge):
            verdict: object = self.robot.judge(recovery)
            if not isinstance(verdict, Verdict):
                self.fail(f"returns {verdict!r} as its verdict, which is none")
            self._check_verdict(recovery, verdict)
            if self.robot.judge(recovery) != verdict:
                self.fail("judges the same recovery differently when it is asked again")
        self._check_untouched()

    def _called(self, call: Callable[[Measure], Receipt] | Callable[[Act], Receipt], act: Act) -> Receipt:
        self.kinds[type(act)] = None
        began = time.monotonic()
        try:
            receipt: object = call(act)  # type: ignore[arg-type]
        except (AquaMendError, OSError):  # what a robot may run into: a refusal, a timeout, a lost connection
            self.said.append(f"{act} raised")
            raise
        except Exception as error:  # noqa: BLE001 - a stranger's robot may raise anything
            self.fail(f"raises {error!r} at {str(act)!r}; return act.failed(why) for what can go wrong")
        self.known.took[str(act)] = min(self.known.took.get(str(act), math.inf), time.monotonic() - began)
        self.check_receipt(act, receipt)
        self._check_untouched()
        return receipt  # type: ignore[return-value]

    def check_receipt(self, act: Act, receipt: object) -> None:
        """Check that a receipt is one, and of this act."""
        if fault := receipt_fault(receipt):
            self.fail(f"at {str(act)!r}: {fault}")
        if not isinstance(receipt, Receipt):
            return
        if (receipt.what, receipt.charge) != (str(act), act.charge):
            self.fail(
                f"returns a receipt of {receipt.what!r} under {receipt.charge} for {str(act)!r}, which is "
                f"{act.charge}; return act.done(...) or act.failed(...)"
            )
        if receipt.seconds is not None and receipt.seconds < 0:
            self.fail(f"says that {str(act)!r} ended at {receipt.end_s:g} s, before it began at {receipt.start_s:g} s")
        if receipt.succeeded and math.isinf(receipt.cost) and math.isfinite(act.cost):
            self.fail(f"charges infinity for {str(act)!r}, which was feasible")

    def _check_answer(self, step: Measure, answer: object) -> None:
        if self.started is None:
            return
        channel = self.started[0].problem.model.channels[step.probe]
        if isinstance(channel, Outcomes):
            if answer not in channel.outcomes:
                self.fail(f"answers {answer!r} to {step.probe!r}, which is none of {list(channel.outcomes)}")
        elif not isinstance(answer, Real) or not math.isfinite(answer):
            self.fail(f"answers {answer!r} to {step.probe!r}, which is not a finite number")

    def _verify(self, act: Act) -> Receipt | None:
        """Return what the robot says of an act whose receipt got lost, checked."""
        try:
            receipt: object = self.robot.verify(act)  # type: ignore[attr-defined]
        except (AquaMendError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a stranger's robot may raise anything
            self.fail(f"raises {error!r} when asked to verify {str(act)!r}; return None where there is no telling")
        if receipt is not None:
            self.check_receipt(act, receipt)
        return receipt  # type: ignore[return-value]

    def check_verified(self, act: Act, *, done: bool, when: str = "which never reached it") -> None:
        """Check what the robot says of an act that it did, or did not, and why not; a probe may be asked again."""
        if done and not isinstance(act, Measure):
            self._check_done(act)
        elif isinstance(act, Undo | Redo):
            self._check_not_done(act, when)

    def _check_done(self, act: Act) -> None:
        came = self._verify(act) if isinstance(self.robot, Verifying) else None
        if came is not None and not came.succeeded:
            self.fail(f"verifies {str(act)!r} as not done ({came.finding}), which it has done")

    def _check_not_done(self, act: Act, when: str) -> None:
        came = self._verify(act) if isinstance(self.robot, Verifying) else None
        if came is not None and came.succeeded:
            self.fail(f"verifies {str(act)!r} as done, {when}")

    def _check_verdict(self, recovery: Recovery, verdict: Verdict) -> None:
        problem = recovery.start.problem
        unknown = [name for name in verdict.left if name not in problem.graph.belief_index]
        if unknown:
            self.fail(f"left {unknown} wrong, which is no belief of the graph")
        if verdict.success and verdict.left:
            self.fail(f"calls it a success and left {list(verdict.left)} wrong")
        if verdict.success and recovery.ending is not Ending.FINISHED:
            self.fail(f"calls it a success that was {recovery.ending}")
        costs = {receipt.what: receipt.cost for receipt in verdict.residual}
        foreign = any(receipt.charge is not Charge.RESIDUAL for receipt in verdict.residual)
        if foreign or not set(costs) <= set(verdict.left):
            self.fail(f"charges {costs} for what was left wrong, which is {list(verdict.left)}")
        if recovery.ending is Ending.FINISHED and recovery.followed is None:
            kept = [name for name in verdict.left if name not in recovery.corrected]
            declared = [name for name in verdict.left if name in recovery.corrected]
            due = {receipt.what: receipt.cost for receipt in residuals(problem, kept, declared)}
            if costs != due:
                self.fail(f"charges {costs} for what was left wrong; by the problem it is {due}")

    def _check_untouched(self) -> None:
        if self.started is not None and not _alike(*self.started):
            self.fail("changes the information state that it gave at the alarm")

    def fail(self, what: str) -> NoReturn:
        """Raise the fault, and keep the first one."""
        name = "" if self.started is None else f"in {self.started[0].problem.name!r}, "
        came = f"{name}after {', '.join(self.said) or 'nothing yet'}: the robot {what}"
        self.fault = self.fault or RobotFault(came)
        raise self.fault


def _replayed(state: InformationState) -> InformationState:
    """Return the state that prior, alarm and the evidence of a state lead to; itself where they contradict."""
    if state.contradiction is not None:
        return state
    replayed = InformationState.alarmed(state.problem)
    for observation in state.evidence:
        replayed = replayed.after(observation)
    return replayed


def _alike(one: InformationState, other: InformationState) -> bool:
    """Whether two states say the same, whatever they keep in their caches."""
    return bool(np.array_equal(one.posterior, other.posterior)) and _said(one) == _said(other)


def _said(state: InformationState) -> tuple[object, ...]:
    problem, graph = state.problem, state.problem.graph
    return (
        *(state.evidence, state.alarms, state.contradiction, problem.declarations),
        *(graph.beliefs, graph.actions, graph.probes, graph.operations, graph.edges),
        [(h.name, tuple(h.failed), h.cause, dict(h.truth)) for h in problem.model.hypotheses],
        *(problem.sensing_budget, problem.escalate),
        [(plan.name, plan.loss.tolist()) for plan in (*problem.plans, problem.restart_plan) if plan is not None],
    )


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
