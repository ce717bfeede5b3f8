"""A fake robot for tests: it answers by a problem's own model, and fails in every way that a robot can.

Its ``motions`` record what moved when, from which a test can tell that no two acts were ever under way at once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import combinations

import numpy as np

from aquamend.belief import InformationState
from aquamend.errors import UnknownName
from aquamend.problem import Problem
from aquamend.recovery import Act, Declare, HandOver, Measure, Receipt, Recovery, Verdict, check_known
from aquamend.testing.model_world import ModelWorld

STOPPED = "it was stopped half-way"


@dataclass(frozen=True, slots=True)
class Motion:
    """One act that moved something, from when to when."""

    act: Act
    began: int
    """Its place among all beginnings and ends: no clock is needed to tell what came first."""
    ended: int | None = None
    """The same for its end; None while it moves."""

    def overlaps(self, other: Motion) -> bool:
        """Whether both moved at the same time."""
        first, second = sorted((self, other), key=lambda motion: motion.began)
        return first.ended is None or first.ended > second.began


class Motions:
    """Everything that has moved, noted by what moves it, from any thread. Declaring and handing over move nothing.

    Once the recovery has ended, ``close`` it: what begins after that has no business to.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._motions: list[Motion] = []
        self._places = 0
        self._closed: int | None = None

    def begin(self, act: Act) -> int | None:
        """Note that something begins to move; return the number to end it by, None for what moves nothing."""
        if isinstance(act, Declare | HandOver):
            return None
        with self._changed:
            self._motions.append(Motion(act, self._place()))
            self._changed.notify_all()
            return len(self._motions) - 1

    def end(self, number: int | None) -> None:
        """Note that it moves no more; a second time says nothing new."""
        with self._changed:
            if number is not None and self._motions[number].ended is None:
                self._motions[number] = replace(self._motions[number], ended=self._place())
                self._changed.notify_all()

    def close(self) -> None:
        """Note that the recovery has ended."""
        with self._changed:
            self._closed = self._place()

    @property
    def all(self) -> tuple[Motion, ...]:
        """Every motion, in the order in which they began."""
        with self._changed:
            return tuple(self._motions)

    @property
    def under_way(self) -> tuple[Act, ...]:
        """What moves now."""
        return tuple(motion.act for motion in self.all if motion.ended is None)

    @property
    def at_once(self) -> tuple[tuple[Act, Act], ...]:
        """Acts that moved at the same time, in pairs: there should be none."""
        return tuple((one.act, other.act) for one, other in combinations(self.all, 2) if one.overlaps(other))

    @property
    def after_the_end(self) -> tuple[Act, ...]:
        """What began to move after the end: there should be nothing."""
        return tuple(motion.act for motion in self.all if self._closed is not None and motion.began > self._closed)

    def wait_for(self, what: str, *, timeout_s: float) -> None:
        """Wait until an act of this text moves; a ``TimeoutError`` if it does not within so many seconds."""
        with self._changed:
            moving = self._changed.wait_for(
                lambda: any(str(one.act) == what and one.ended is None for one in self._motions), timeout_s
            )
        if not moving:
            raise TimeoutError(f"{what!r} has not begun within {timeout_s:g} s")

    def wait_until_still(self, *, timeout_s: float) -> None:
        """Wait until nothing moves; a ``TimeoutError`` if something still does after so many seconds."""
        with self._changed:
            still = self._changed.wait_for(lambda: all(one.ended is not None for one in self._motions), timeout_s)
        if not still:
            raise TimeoutError(f"{', '.join(map(str, self.under_way))}: still under way after {timeout_s:g} s")

    def _place(self) -> int:
        self._places += 1
        return self._places


class Doing:
    """An act under way. Call it to have the act done; ``wait`` lets it take its time before that."""

    def __init__(self, act: Act, do: Callable[[], Receipt], changed: threading.Condition, motions: Motions) -> None:
        self.act = act
        self.came: Receipt | None = None
        """What came of it; None while there is no telling."""
        self.moves = self.free = self.stopped = False
        """Whether it still moves, whether nothing holds it up any more, and whether it is to stop."""
        self._do, self._changed, self._motions = do, changed, motions
        self._number: int | None = None

    def __call__(self) -> Receipt:
        """Do it: nothing moves after that."""
        receipt = self._do()
        self.rest(receipt)
        return receipt

    def wait(self, seconds: float) -> bool:
        """Go on moving for so long, until stopped or set free; return whether it was stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self.free, None if math.isinf(seconds) else seconds)
            return self.stopped

    def hold(self) -> None:
        """Keep the caller waiting until the robot lets go, whatever has become of the act."""
        with self._changed:
            self._changed.wait_for(lambda: self.free)

    def begin(self) -> None:
        """Begin to move."""
        self._number, self.moves = self._motions.begin(self.act), True

    def rest(self, came: Receipt | None) -> None:
        """Come to rest, with what is known to have come of it."""
        with self._changed:
            self.came, self.moves = came or self.came, False
            self._motions.end(self._number)
            self._changed.notify_all()

    def stop(self) -> Receipt | None:
        """Have it stop, wait until it has come to rest, and return what came of it."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self.moves)
            return self.came

    def set_free(self) -> None:
        """Hold it up no longer."""
        with self._changed:
            self.free = True
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that goes wrong with an act: the base of all of them, and of those that you write yourself."""

    what: str
    """The act's text (``undo: grasp``, ``finish the task``), its kind (``undo``), or the name of what it is about."""
    times: float = field(default=1, kw_only=True)
    """How often; ``math.inf`` for always."""
    after: int = field(default=0, kw_only=True)
    """How often it goes well before."""

    def concerns(self, act: Act) -> bool:
        """Whether it is this act that goes wrong."""
        return self.what in (str(act), act.name, act.kind, f"{act.kind}: {act.name}")

    def happens(self, act: Act, do: Doing) -> Receipt | None:
        """Return what comes of the act, or raise; ``do()`` does it, and ``do.wait(seconds)`` takes so long."""
        return do()


@dataclass(frozen=True, slots=True)
class Fails(Failure):
    """It is not done, and the robot says so."""

    why: str = "it slipped"

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Return a receipt for having tried."""
        return act.failed(self.why)


@dataclass(frozen=True, slots=True)
class NeverAnswers(Failure):
    """A probe that gives no answer, however often it is asked."""

    times: float = field(default=math.inf, kw_only=True)

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Return a receipt for having asked."""
        return act.failed("no answer")


@dataclass(frozen=True, slots=True)
class PartlyDone(Failure):
    """It fails half-way: the first part was done, the second was not."""

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Return a receipt with both parts, half the price each."""
        half = (act.cost if math.isfinite(act.cost) else 0.0) / 2
        first = Receipt(act.charge, f"{act}: first half", half)
        second = Receipt(act.charge, f"{act}: second half", half, succeeded=False)
        return act.failed("it got stuck half-way", parts=(first, second))


@dataclass(frozen=True, slots=True)
class Raises(Failure):
    """The robot's program raises before anything is done."""

    error: Exception = field(default_factory=lambda: RuntimeError("the driver crashed"))

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Raise the error."""
        raise self.error


@dataclass(frozen=True, slots=True)
class LosesReceipt(Failure):
    """It is done, but the receipt gets lost on its way."""

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Do it, and raise."""
        do()
        raise ConnectionError("the receipt got lost")


@dataclass(frozen=True, slots=True)
class TimesOut(Failure):
    """It takes its time, and is done in the end: too late, where the rules allow less.

    ``math.inf`` is until somebody stops it, or the robot is told to ``let_go``.
    """

    seconds: float = 1.0

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Move for so long, and do it, unless it is stopped before that."""
        return act.failed(STOPPED) if do.wait(self.seconds) else do()


@dataclass(frozen=True, slots=True)
class HoldsReceipt(Failure):
    """It is done, but its receipt comes late: not before the robot is told to ``let_go``."""

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Do it, and wait."""
        receipt = do()
        do.hold()
        return receipt


@dataclass(frozen=True, slots=True)
class SaysNothing(Failure):
    """It is done, and the robot returns None in place of a receipt."""

    def happens(self, act: Act, do: Doing) -> None:
        """Do it, and say nothing."""
        do()


@dataclass(frozen=True, slots=True)
class AlarmsAgain(Failure):
    """It is done, and meanwhile the monitor raises another alarm."""

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Do it; the receipt tells of the alarm."""
        receipt = do()
        return act.done(receipt.finding, cost=receipt.cost, alarm=True)


@dataclass(frozen=True, slots=True)
class Dies(Failure):
    """The robot's program ends (``SystemExit``) between intent and receipt; ``resume`` has to take over."""

    done: bool = False
    """Whether the act was done before that."""

    def happens(self, act: Act, do: Doing) -> Receipt:
        """Do it or not, and exit."""
        if self.done:
            do()
        raise SystemExit(f"the robot's program ended during {str(act)!r}")


class StopBehaviour(Enum):
    """How a fake robot stops an act under way."""

    AT_ONCE = auto()
    """As it should: it returns the receipt of the act once nothing moves any more."""
    LATE = auto()
    """The act is stopped, but that is not said before the robot is told to ``let_go``."""
    SAYS_NOTHING = auto()
    """It says None, and the act goes on: it cannot be stopped."""
    RAISES = auto()
    HANGS = auto()
    """It does not return before the robot is told to ``let_go``, and the act goes on."""
    LIES = auto()
    """It returns a receipt although the act goes on."""


class FakeRobot:
    """One hypothesis of a problem is true, probes answer by its kernels, and the failures given happen.

    The same arguments give the same answers. ``asked`` holds everything that was asked of it, ``did`` what it really
    did, and ``motions`` what moved when. Where it ``verifies``, it can tell afterwards what came of an act; where
    ``stops`` says how, it can stop one.
    """

    verify: Callable[[Act], Receipt | None]
    stop: Callable[[Act], Receipt | None]

    def __init__(
        self,
        start: Problem | InformationState,
        *,
        truth: str | None = None,
        seed: int = 0,
        failures: Sequence[Failure] = (),
        verifies: bool = True,
        stops: StopBehaviour | None = None,
    ) -> None:
        state = InformationState.alarmed(start) if isinstance(start, Problem) else start
        model = state.problem.model
        if truth is None:
            drawn = np.random.default_rng(seed).choice(len(model.names), p=state.posterior)
            truth = model.names[drawn]
        elif truth not in model.hypothesis_index:
            raise UnknownName("hypothesis", truth, model.names)
        self.truth = truth
        self.failures = tuple(failures)
        self.asked: list[Act] = []
        self.did: list[Act] = []
        self.motions = Motions()
        self._world = ModelWorld(state, model.hypothesis_index[truth], (seed,))
        self._met = [0] * len(self.failures)
        self._doings: list[Doing] = []
        self._changed = threading.Condition(threading.RLock())
        self._lets_go = threading.Event()
        if verifies:
            self.verify = self._verify
        if stops is not None:
            self.stop = lambda act: self._stop(act, stops)

    @property
    def moving(self) -> bool:
        """Whether anything moves now."""
        return bool(self.motions.under_way)

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._world.alarm()

    def measure(self, step: Measure) -> Receipt:
        """Run a probe."""
        check_known(self._world.start.problem, step)
        return self._tried(step, lambda: self._world.measure(step))

    def perform(self, act: Act) -> Receipt:
        """Do one thing; what the problem does not know is refused."""
        check_known(self._world.start.problem, act)
        return self._tried(act, lambda: self._world.perform(act))

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong."""
        return self._world.judge(recovery)

    def let_go(self) -> None:
        """Hold nothing up any longer: what is stuck ends, and what was kept back is returned."""
        with self._changed:
            self._lets_go.set()
            for doing in self._doings:
                doing.set_free()

    def _verify(self, act: Act) -> Receipt | None:
        """Return what came of the last act; None while it is still under way. No other can be in doubt."""
        # An earlier one of the same name says nothing: what was undone then may have been done again since.
        last = self._doings[-1] if self._doings else None
        return last.came if last is not None and last.act == act else act.failed("it was never begun")

    def _stop(self, act: Act, how: StopBehaviour) -> Receipt | None:
        last = next((doing for doing in reversed(self._doings) if doing.act == act), None)
        if last is None:
            return None  # the call for it may be on its way
        match how:
            case StopBehaviour.AT_ONCE:
                return last.stop()
            case StopBehaviour.LATE:
                receipt = last.stop()
                self._lets_go.wait()
                return receipt
            case StopBehaviour.SAYS_NOTHING:
                return None
            case StopBehaviour.RAISES:
                raise ConnectionError("the controller does not answer")
            case StopBehaviour.HANGS:
                self._lets_go.wait()
                return last.came
            case StopBehaviour.LIES:
                return act.failed(STOPPED)

    def _tried(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        def done() -> Receipt:
            receipt = do()
            self.did.append(act)
            return receipt

        doing = Doing(act, done, self._changed, self.motions)
        with self._changed:
            doing.free = self._lets_go.is_set()
            doing.begin()
            self.asked.append(act)
            self._doings.append(doing)
        try:
            receipt = self._happens(act, doing)
        except BaseException as error:
            doing.rest(None if doing.came else act.failed(str(error)))
            raise
        doing.rest(receipt)
        return receipt  # type: ignore[return-value]  # it may say nothing where that is what goes wrong

    def _happens(self, act: Act, do: Doing) -> Receipt | None:
        """Let the first failure happen whose turn it is; do it where there is none."""
        due = None
        for i, failure in enumerate(self.failures):
            if failure.concerns(act):
                turn = self._met[i]
                self._met[i] += 1
                if due is None and failure.after <= turn < failure.after + failure.times:
                    due = failure
        return do() if due is None else due.happens(act, do)
