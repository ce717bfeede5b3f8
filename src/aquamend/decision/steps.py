"""The five things an agent can do next, and how they read.

It looks again, or ends the recovery in one of four ways: corrects beliefs, goes on, starts over, or hands over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, assert_never

from aquamend.belief import InformationState
from aquamend.codec import KeyedBy, load, write
from aquamend.problem.graph import Value
from aquamend.text import MOST_NAMES, listed, quantity, shown, value_text


class Advice(StrEnum):
    """What a check before an action says."""

    GO_ON = "go on"
    MEASURE_FIRST = "measure first"
    GO_BACK = "go back"
    """Correct something first, by undoing or by declaring another value; or start over."""
    ASK = "ask"
    """Hand over to a person."""


@dataclass(frozen=True, slots=True)
class NewDeclaration:
    """What a corrected belief is declared to be from now on."""

    belief: str
    value: Value


@dataclass(frozen=True, slots=True)
class Reprobe:
    """Run this probe, then decide again."""

    kind: ClassVar[str] = "reprobe"

    probe: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """Correct these beliefs: undo what rests on them, declare what is believed instead, then go on."""

    kind: ClassVar[str] = "roll_back"

    correct: tuple[str, ...]
    undo: tuple[str, ...] = ()
    """Executed actions to undo: at least the minimal upper closure; cancelling planned ones costs nothing."""
    declare: Annotated[tuple[NewDeclaration, ...], KeyedBy("belief")] = ()
    """New values of the corrected beliefs that declare one."""
    plan: str | None = None
    """Name of the problem's own plan, where it is one."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on, leaving every belief as it is."""

    kind: ClassVar[str] = "continue"


@dataclass(frozen=True, slots=True)
class Restart:
    """Start over."""

    kind: ClassVar[str] = "restart"


@dataclass(frozen=True, slots=True)
class Escalate:
    """Hand over to a person."""

    kind: ClassVar[str] = "escalate"


Decision = RollBack | Continue | Restart | Escalate
"""A step that ends the recovery."""

Step = Reprobe | Decision


def step_kind(step: Step) -> str:
    """Return the step's name in the decision format."""
    return step.kind


def advice(step: Step) -> Advice:
    """Return what a step says to somebody who asks before an action."""
    match step:
        case Continue():
            return Advice.GO_ON
        case Reprobe():
            return Advice.MEASURE_FIRST
        case RollBack() | Restart():
            return Advice.GO_BACK
        case Escalate():
            return Advice.ASK
        case _:
            assert_never(step)


def but_for_numbers(step: Step) -> object:
    """Return what tells a step apart from those that do not only declare other numbers."""
    if not isinstance(step, RollBack):
        return step
    said = tuple((new.belief, new.value if isinstance(new.value, str) else None) for new in step.declare)
    return step.correct, step.undo, step.plan, said


def step_to_data(step: Step) -> dict[str, Any]:
    """Return a step as plain data, in the words of the decision format."""
    always: dict[str, Any] = {"correct": [], "undo": []} if isinstance(step, RollBack | Continue) else {}
    return {"kind": step.kind, **always, **write(step)}


def step_from_data(data: object, *, where: str = "step") -> Step:
    """Return the step that plain data describe; ``InvalidData`` if they describe none."""
    entries = dict(data) if isinstance(data, Mapping) else data
    if isinstance(entries, dict) and entries.get("kind") == Continue.kind:
        entries = {key: value for key, value in entries.items() if key not in ("correct", "undo")}
    step: Step = load(Step, entries, where, complete=False)
    return step


@dataclass(frozen=True, slots=True)
class Wording:
    """How steps read at one state: beliefs with the likeliest culprit first."""

    state: InformationState

    def brief(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return a step as a short instruction: ``run probe weigh_A``, ``roll back target``."""
        match step:
            case Reprobe(probe):
                return f"run probe {shown(probe)}"
            case RollBack(plan=None):
                return f"roll back {listed(self.culprits(step.correct), most=most)}"
            case RollBack(plan=plan):
                return f"follow plan {shown(plan)}"
            case Continue():
                return "continue as is"
            case Restart():
                return "restart from the beginning"
            case Escalate():
                return "escalate to a person"
            case _:
                assert_never(step)

    def scope(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return what a step undoes and declares: ``undo pour; declare target: B``; empty if neither."""
        if not isinstance(step, RollBack):
            return ""
        parts = [f"undo {listed(step.undo, most=most)}"] if step.undo else []
        if step.declare:
            parts.append(f"declare {self.declared(step.declare, most=most)}")
        return "; ".join(parts)

    def full(self, step: Step, *, most: int = MOST_NAMES) -> str:
        """Return a step with what it undoes and declares in parentheses."""
        scope = self.scope(step, most=most)
        return f"{self.brief(step, most=most)} ({scope})" if scope else self.brief(step, most=most)

    def side_by_side(self, steps: Sequence[Step]) -> list[tuple[str, str]]:
        """Return each of several alternatives in short, and its scope: long corrections by how they differ."""
        best = next((step for step in steps if isinstance(step, RollBack)), None)
        return [(self._like(step, best), self.scope(step)) for step in steps]

    def _like(self, step: Step, best: RollBack | None) -> str:
        """Return a step in short, a long list of corrections by how it differs from the best one."""
        if not isinstance(step, RollBack) or best is None or step == best or len(step.correct) <= MOST_NAMES + 1:
            return self.brief(step)
        kept = [name for name in best.correct if name not in step.correct]
        added = [name for name in step.correct if name not in best.correct]
        if not kept + added or len(kept) + len(added) > MOST_NAMES:
            return self.brief(step)
        parts = [f"but not {listed(kept)}"] if kept else []
        parts += [f"and {listed(added)}"] if added else []
        return f"roll back the same, {' '.join(parts)}"

    def declared(self, new: Sequence[NewDeclaration], *, most: int = MOST_NAMES) -> str:
        """Return new values in words: ``level_A: 45, target: B``."""
        by_name = {one.belief: one for one in new}
        return listed([self.value_of(by_name[name]) for name in self.culprits(list(by_name))], most=most)

    def value_of(self, new: NewDeclaration) -> str:
        """Return one new value in words."""
        return f"{new.belief}: {value_text(new.value)}"

    def culprits(self, beliefs: Sequence[str]) -> list[str]:
        """Return beliefs with the likeliest to have failed first."""
        index, q = self.state.problem.graph.belief_index, self.state.failure_probabilities
        return sorted(beliefs, key=lambda name: -round(float(q[index[name]]), 9))

    def cost(self, value: float) -> str:
        """Return a loss with the problem's unit."""
        return quantity(value, self.state.problem.unit)
