"""A fake robot for tests: it answers by a problem's own model, and fails in every way that a robot can."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aquamend.errors import UnknownName
from aquamend.inference import InformationState
from aquamend.problem import Problem
from aquamend.recovery import Act, Measure, Receipt, Recovery, Verdict, check_known
from aquamend.worlds import ModelWorld


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

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Return what comes of the act, or raise; ``do`` does it."""
        return do()


@dataclass(frozen=True, slots=True)
class Fails(Failure):
    """It is not done, and the robot says so."""

    why: str = "it slipped"

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Return a receipt for having tried."""
        return act.failed(self.why)


@dataclass(frozen=True, slots=True)
class NeverAnswers(Failure):
    """A probe that gives no answer, however often it is asked."""

    times: float = field(default=math.inf, kw_only=True)

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Return a receipt for having asked."""
        return act.failed("no answer")


@dataclass(frozen=True, slots=True)
class PartlyDone(Failure):
    """It fails half-way: the first part was done, the second was not."""

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Return a receipt with both parts, half the price each."""
        half = (act.cost if math.isfinite(act.cost) else 0.0) / 2
        first = Receipt(act.charge, f"{act}: first half", half)
        second = Receipt(act.charge, f"{act}: second half", half, succeeded=False)
        return act.failed("it got stuck half-way", parts=(first, second))


@dataclass(frozen=True, slots=True)
class Raises(Failure):
    """The robot's program raises before anything is done."""

    error: Exception = field(default_factory=lambda: RuntimeError("the driver crashed"))

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Raise the error."""
        raise self.error


@dataclass(frozen=True, slots=True)
class LosesReceipt(Failure):
    """It is done, but the receipt gets lost on its way."""

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Do it, and raise."""
        do()
        raise ConnectionError("the receipt got lost")


@dataclass(frozen=True, slots=True)
class TimesOut(Failure):
    """It takes its time, and is done in the end: too late, where the rules allow less."""

    seconds: float = 1.0

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Wait, and do it."""
        time.sleep(self.seconds)
        return do()


@dataclass(frozen=True, slots=True)
class AlarmsAgain(Failure):
    """It is done, and meanwhile the monitor raises another alarm."""

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Do it; the receipt tells of the alarm."""
        receipt = do()
        return act.done(receipt.finding, cost=receipt.cost, alarm=True)


@dataclass(frozen=True, slots=True)
class Dies(Failure):
    """The robot's program ends (``SystemExit``) between intent and receipt; ``resume`` has to take over."""

    done: bool = False
    """Whether the act was done before that."""

    def happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Do it or not, and exit."""
        if self.done:
            do()
        raise SystemExit(f"the robot's program ended during {str(act)!r}")


class FakeRobot:
    """One hypothesis of a problem is true, probes answer by its kernels, and the failures given happen.

    The same arguments give the same answers. ``asked`` holds everything that was asked of it, ``did`` what it really
    did. Where it ``verifies``, it can tell afterwards what came of an act.
    """

    verify: Callable[[Act], Receipt | None]

    def __init__(
        self,
        start: Problem | InformationState,
        *,
        truth: str | None = None,
        seed: int = 0,
        failures: Sequence[Failure] = (),
        verifies: bool = True,
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
        self._world = ModelWorld(state, model.hypothesis_index[truth], (seed,))
        self._met = [0] * len(self.failures)
        self._came_of_last: Receipt | None = None
        if verifies:
            self.verify = self._verify

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

    def _verify(self, act: Act) -> Receipt | None:
        """Return what came of the last act; None while it is still under way. No other can be in doubt."""
        # An earlier one of the same name says nothing: what was undone then may have been done again since.
        return self._came_of_last if self.asked[-1:] == [act] else act.failed("it was never begun")

    def _tried(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        self.asked.append(act)
        self._came_of_last, before = None, len(self.did)

        def done() -> Receipt:
            receipt = do()
            self.did.append(act)
            self._came_of_last = receipt
            return receipt

        try:
            receipt = self._happens(act, done)
        except BaseException as error:
            if len(self.did) == before:
                self._came_of_last = act.failed(str(error))
            raise
        self._came_of_last = receipt
        return receipt

    def _happens(self, act: Act, do: Callable[[], Receipt]) -> Receipt:
        """Let the first failure happen whose turn it is; do it where there is none."""
        due = None
        for i, failure in enumerate(self.failures):
            if failure.concerns(act):
                turn = self._met[i]
                self._met[i] += 1
                if due is None and failure.after <= turn < failure.after + failure.times:
                    due = failure
        return do() if due is None else due.happens(act, do)
