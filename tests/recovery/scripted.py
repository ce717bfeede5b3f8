"""A robot that does as a script says, for tests: what each probe answers, and what goes wrong with which act."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aquamend.belief import InformationState
from aquamend.recovery import Act, Measure, Receipt

Happens = Callable[[Act], Receipt]


def fails(why: str = "slipped") -> Happens:
    return lambda act: act.failed(why)


def raises(error: BaseException) -> Happens:
    def happens(act: Act) -> Receipt:
        raise error

    return happens


@dataclass
class Scripted:
    """Everything succeeds at its price, but for what the script says of the acts by their text, turn by turn."""

    state: InformationState
    answers: Mapping[str, Sequence[str | float]] = field(default_factory=dict)
    script: Mapping[str, Sequence[Happens | None]] = field(default_factory=dict)
    did: list[str] = field(default_factory=list)
    """What was asked of it, in order."""

    def alarm(self) -> InformationState:
        return self.state

    def measure(self, step: Measure) -> Receipt:
        turn = self._turn(step)
        happens = self._scripted(step, turn)
        return happens(step) if happens else step.done(self.answers[step.probe][turn])

    def perform(self, act: Act) -> Receipt:
        happens = self._scripted(act, self._turn(act))
        return happens(act) if happens else act.done()

    def _turn(self, act: Act) -> int:
        self.did.append(str(act))
        return self.did.count(str(act)) - 1

    def _scripted(self, act: Act, turn: int) -> Happens | None:
        turns = self.script.get(str(act), ())
        return turns[turn] if turn < len(turns) else None


@dataclass
class Steps:
    """A policy that takes these steps, one after another, whatever it sees; it keeps what it saw."""

    steps: Sequence[object]
    saw: list[InformationState] = field(default_factory=list)

    def next_step(self, state: InformationState) -> object:
        self.saw.append(state)
        return self.steps[len(self.saw) - 1]
