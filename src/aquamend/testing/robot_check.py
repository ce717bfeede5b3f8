"""A conformance check for robots, other people's above all."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from aquamend.belief import InformationState
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.errors import AquaMendError
from aquamend.policies import AquaMend, Greedy, NoReprobe, Policy, RollbackOnly
from aquamend.policies.policy import Committed
from aquamend.problem import Problem
from aquamend.recovery import (
    UNATTENDED,
    Act,
    AsyncRobot,
    Measure,
    MemoryLog,
    Receipt,
    Recovery,
    Redo,
    Robot,
    Stoppable,
    Undo,
    Verifying,
    recover,
    resume,
)
from aquamend.testing.watched_robot import MOVING_KINDS, Known, Moving, RobotFault, StoppedRobot, WatchedRobot

MOST_USES = 2
"""How often each probe is run when all of them are: enough to tell one use from the next."""

UNKNOWN_NAME = "something that nobody has"

UNWATCHED: Final = replace(UNATTENDED, decisions=500)
"""Nobody is asked during a check, where robots are as harmless as simulations."""

STOP_S = 10.0
"""How long a robot may take to stop, unless said otherwise; the same as in ``Rules``."""

LEAVING_S = 1.0
"""How long to wait for an event loop to end; one that a robot blocks is left behind."""

NO_STOP = (
    "it has no stop(): an act that takes too long is in doubt, and nothing that moves is begun until its receipt comes "
    "or a person says what became of it"
)
NO_VERIFY = (
    "it has no verify(): an act whose receipt got lost is in doubt, and a person has to say what became of it or to "
    "take over"
)
NEVER_CAUGHT = (
    "no act was under way long enough to be stopped half-way: let the acts of the robot to be checked take some 0.1 s"
)


@dataclass(frozen=True, slots=True)
class RobotCheck:
    """What a check saw."""

    recoveries: int
    """Recoveries followed to their end, each with a new robot."""
    harmed: int
    """Those among them in which something was made to go wrong."""
    probes: int
    """Answers in all of them."""
    acts: int
    """Receipts of everything else."""
    stopped: int = 0
    """Acts that were stopped half-way, after which nothing moved any more."""
    lacks: tuple[str, ...] = ()
    """What the robot goes without, and what that costs. None of it is a broken promise."""


@dataclass(frozen=True, slots=True)
class EveryProbe:
    """Run every legal probe, in graph order or backwards, up to twice each; then end the recovery."""

    ending: Decision
    backwards: bool = False

    def next_step(self, state: InformationState) -> Step:
        """Return the first legal probe that has not run twice, then the ending."""
        waiting = [name for name in state.legal_probes if state.uses.get(name, 0) < MOST_USES]
        if not waiting:
            return self.ending
        return Reprobe(waiting[-1] if self.backwards else waiting[0])


class Harm(Enum):
    """What is made to go wrong between a recovery and a robot."""

    FAILS = auto()
    RAISES = auto()
    TIMES_OUT = auto()
    SAYS_NOTHING = auto()
    DIES_BEFORE = auto()
    """The program ends when the act is intended, and the robot never hears of it."""
    DIES_AFTER = auto()
    """The program ends when the act is done, and its receipt gets lost."""
    LOSES_RECEIPT = auto()
    ALARMS_AGAIN = auto()

    @property
    def reaches_the_robot(self) -> bool:
        """Whether the robot does what it was asked to."""
        return self in (Harm.DIES_AFTER, Harm.LOSES_RECEIPT, Harm.ALARMS_AGAIN)


class _HarmedRobot:
    """A watched robot; the first act of one kind goes wrong on the way to it or on the way back."""

    verify: Callable[[Act], Receipt | None]

    def __init__(self, watched: WatchedRobot, kind: type[Act], harm: Harm) -> None:
        self.alarm = watched.alarm
        self._watched, self._kind, self._harm = watched, kind, harm
        self.harmed: Act | None = None
        self._done: bool | None = None
        """Whether it was done after all; None where the robot itself left that open."""
        if hasattr(watched, "verify"):
            self.verify = self._verify

    def measure(self, step: Measure) -> Receipt:
        return self._sent(self._watched.measure, step)

    def perform(self, act: Act) -> Receipt:
        return self._sent(self._watched.perform, act)

    def _verify(self, act: Act) -> Receipt | None:
        if act == self.harmed and self._done is not None:
            self._watched.check_verified(act, done=self._done)
        return self._watched.verify(act)

    def _sent(self, call: Callable[[Any], Receipt], act: Act) -> Receipt:
        if self.harmed is not None or not isinstance(act, self._kind):
            self._done = None  # from now on, it is the robot's own
            return call(act)
        self.harmed = act
        receipt = call(act) if self._harm.reaches_the_robot else act.failed("made to fail")
        self._done = receipt.succeeded
        match self._harm:
            case Harm.FAILS:
                return receipt
            case Harm.RAISES:
                raise RuntimeError("made to raise")
            case Harm.TIMES_OUT:
                raise TimeoutError("made to time out")
            case Harm.SAYS_NOTHING:
                return None  # type: ignore[return-value]
            case Harm.DIES_BEFORE | Harm.DIES_AFTER:
                raise SystemExit("made to die")
            case Harm.LOSES_RECEIPT:
                raise ConnectionError("made to lose the receipt")
            case Harm.ALARMS_AGAIN if receipt.succeeded:
                return act.done(receipt.finding, cost=receipt.cost, alarm=True)
            case Harm.ALARMS_AGAIN:
                return receipt


class _Blocking:
    """An asyncio robot, called from outside of its event loop, from any thread."""

    def __init__(self, robot: AsyncRobot, loop: asyncio.AbstractEventLoop) -> None:
        def waited(method: Callable[..., Any]) -> Callable[..., Any]:
            async def call(*args: Any) -> tuple[Any, str | None]:
                try:
                    answer = method(*args)
                    return await answer if inspect.isawaitable(answer) else answer, None
                except SystemExit as error:  # it would end the loop instead of the caller
                    return None, str(error)

            def called(*args: Any) -> Any:
                answer, died = asyncio.run_coroutine_threadsafe(call(*args), loop).result()
                if died is not None:
                    raise SystemExit(died)
                return answer

            return called

        for name in ("alarm", "measure", "perform", "verify", "stop", "judge"):
            if hasattr(robot, name):
                setattr(self, name, waited(getattr(robot, name)))


@contextmanager
def _running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread of its own, so that an act under way can be stopped from outside."""
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def until_over() -> None:
        over = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), over))
        await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(until_over()), name="robots to be checked", daemon=True)
    thread.start()
    loop, over = ready.result()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=LEAVING_S)


def check_robot(
    make_robot: Callable[[], Robot] | Callable[[], AsyncRobot],
    policies: Sequence[Policy] | None = None,
    *,
    repeatable: bool = True,
    harm: bool = True,
    stop_s: float = STOP_S,
    moving: Moving | None = None,
) -> RobotCheck:
    """Follow policies through recoveries with new robots, and raise ``RobotFault`` at the first broken promise.

    ``make_robot`` returns a new robot in the same situation each time. Checked: the alarm is the same public evidence
    each time, conditioned on once, and nobody changes it later; an answer is one that the model knows; every receipt
    is of the act asked, its costs are numbers of at least 0 and its parts add up; what the robot does not know is an
    ``AquaMendError`` or a failed receipt, and what can go wrong is a failed receipt, not a programming error;
    ``verify``, where there is one, tells done from not done; a robot that also judges calls nothing a success that
    left something wrong or was handed over, and charges what the problem says. If it is ``repeatable``, the n-th use
    of a probe answers the same in all of them; say False where the noise is real.

    Then things are made to go wrong, unless ``harm`` is False: the first act of each kind fails, raises, times out,
    says nothing, loses its receipt, brings another alarm, or the program dies before or after it and is resumed.
    Every such recovery has to end, and what was done already is not done again.

    A robot with ``stop`` also has the first act of each kind that moves stopped half-way: ``stop`` has to return
    within ``stop_s`` with the receipt of the act, and nothing may move after that. The call for the act has to
    end, its receipt and ``verify`` have to say the same, and ``moving``, which says whether anything moves at a robot
    now, has to agree. A robot without ``stop`` or ``verify`` is sound; what that costs is in ``lacks``.

    Without policies of your own, four shipped ones are followed; two that run every probe, one that corrects all it
    can, the plans that the problem prices itself, and a restart where it has one, always are.
    """
    known, seen = Known(repeatable), _Seen()
    with ExitStack() as stack:
        loop: list[asyncio.AbstractEventLoop] = []

        def made(known: Known = known) -> WatchedRobot:
            robot: Any = make_robot()
            if not inspect.iscoroutinefunction(getattr(robot, "perform", None)):
                return WatchedRobot(robot, known)
            loop[:] = loop or [stack.enter_context(_running_loop())]
            return WatchedRobot(_Blocking(robot, loop[0]), known, original=robot)  # type: ignore[arg-type]

        first = made()
        stoppable, verifying = isinstance(first.robot, Stoppable), isinstance(first.robot, Verifying)
        problem = first.alarm().problem
        for act in (Measure(UNKNOWN_NAME), Undo(UNKNOWN_NAME, ()), Redo(UNKNOWN_NAME)):
            _check_unknown(made(), act)
        for policy in _followed(problem, policies):
            watched = made()
            seen.add(_follow(policy, watched))
            seen.first_with = {**dict.fromkeys(watched.kinds, policy), **seen.first_with}
        for kind, policy in seen.first_with.items() if harm else ():
            for how in Harm:
                seen.add(_follow_harmed(policy, made(), kind, how))
                seen.harmed += 1
            if stoppable and kind in MOVING_KINDS:
                # What was stopped half-way may count as a use of a probe or not.
                robot = StoppedRobot(made(replace(known, repeatable=False)), kind, stop_s=stop_s, moving=moving)
                seen.add(_follow_stopped(policy, robot))
                seen.stopped += robot.caught
    never_caught = stoppable and harm and not seen.stopped
    lacks = {NO_STOP: not stoppable, NO_VERIFY: not verifying, NEVER_CAUGHT: never_caught}
    missing = tuple(what for what, lacking in lacks.items() if lacking)
    return RobotCheck(seen.recoveries, seen.harmed, seen.probes, seen.acts, seen.stopped, missing)


class _Seen:
    """What was seen so far, and which policy first led to each kind of act."""

    def __init__(self) -> None:
        self.recoveries = self.harmed = self.stopped = self.probes = self.acts = 0
        self.first_with: dict[type[Act], Policy] = {}

    def add(self, recovery: Recovery) -> None:
        self.recoveries += 1
        self.probes += len(recovery.evidence)
        self.acts += sum(receipt.charge is not Measure.charge for receipt in recovery.receipts)


def _followed(problem: Problem, policies: Sequence[Policy] | None) -> Iterator[Policy]:
    yield from (AquaMend(), NoReprobe(), Greedy(), RollbackOnly()) if policies is None else policies
    for plan in problem.plans:
        yield Committed(RollBack(plan.correct, plan.undo, plan=plan.name))
    if problem.restart_plan is not None:
        yield Committed(Restart())
    if problem.corrections:
        graph = problem.graph
        correct = tuple(b.name for b in graph.beliefs if math.isfinite(graph.correction_cost([b.name])))
        yield EveryProbe(RollBack(correct, graph.closure(correct)) if correct else Continue())
    yield EveryProbe(Continue())
    yield EveryProbe(Escalate(), backwards=True)


def _follow(policy: Policy, watched: WatchedRobot) -> Recovery:
    """Let a policy recover; what is wrong with the policy is not blamed on the robot."""
    try:
        recovery = recover(policy, watched, rules=UNWATCHED, strict=True)
    except AquaMendError as error:
        raise watched.fault or error from None
    watched.check_ended(recovery)
    return recovery


def _follow_harmed(policy: Policy, watched: WatchedRobot, kind: type[Act], harm: Harm) -> Recovery:
    """Let a policy recover while something is made to go wrong; a program that dies is started again."""
    robot, log = _HarmedRobot(watched, kind, harm), MemoryLog()
    try:
        recovery = recover(policy, robot, journal=log, session="check", rules=UNWATCHED)
    except SystemExit:
        recovery = resume(log, "check", robot, policy=policy)
    watched.check_ended(recovery)
    return recovery


def _follow_stopped(policy: Policy, robot: StoppedRobot) -> Recovery:
    """Let a policy recover while an act is stopped half-way: the recovery goes on from there."""
    try:
        recovery = recover(policy, robot, rules=UNWATCHED)
    except SystemExit as ended:
        raise robot.watched.fault or RobotFault(f"the robot ends the program: {ended}") from None
    robot.watched.check_ended(recovery)
    return recovery


def _check_unknown(watched: WatchedRobot, act: Act) -> None:
    """Ask a robot for something that it cannot have."""
    call: Callable[[Any], object] = watched.robot.measure if isinstance(act, Measure) else watched.robot.perform
    try:
        receipt = call(act)
    except AquaMendError:
        return
    except Exception as error:
        raise RobotFault(f"the robot raises {error!r} at {str(act)!r}; raise an AquaMendError") from error
    if not isinstance(receipt, Receipt) or receipt.succeeded:
        raise RobotFault(
            f"the robot returns {receipt!r} for {str(act)!r}; raise an AquaMendError, or return act.failed"
        )
