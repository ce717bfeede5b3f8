"""Acts: a decision broken down into what a robot does one after another, ordered by the graph.

A decision to roll back is: undo, operation by operation, the latest action first; declare what is believed from now on;
do again what was undone; finish the task. Undoing by itself corrects nothing: the declaration does.

Every act is answered with a receipt, which says what it cost; totals are derived from receipts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real
from typing import Any, ClassVar

from aquamend.belief import InformationState
from aquamend.codec import Amount
from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import completed
from aquamend.errors import BadStep, UnknownName
from aquamend.problem import RESTART, Plan, Problem
from aquamend.problem.graph import RecoveryGraph, Value
from aquamend.text import value_text

MOST_NESTED = 20
"""How many levels of parts a receipt may have."""


class Charge(StrEnum):
    """What a cost was for. Every cost is under one of the four, and together they are the complete loss."""

    SENSING = "sensing"
    """What was measured."""
    ROLLBACK = "rollback"
    """What was undone."""
    CONTINUATION = "continuation"
    """What was done again or done on, by the robot or by the person it handed over to."""
    RESIDUAL = "residual"
    """What was left wrong; known to judges alone."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One thing done and paid for."""

    kind: ClassVar[str] = "receipt"

    charge: Charge
    what: str
    cost: Amount
    start_s: float | None = None
    end_s: float | None = None
    """When it began and ended, on the clock of the robot that did it; None where it did not say."""
    succeeded: bool = True
    finding: str | float | None = None
    """What was found: the answer of a probe, or why something failed."""
    alarm: bool = False
    """Whether the monitor raised another alarm meanwhile."""
    parts: tuple[Receipt, ...] = ()
    """What it consisted of, where it took several primitives: their costs make up its own."""

    @property
    def leaves(self) -> Iterator[Receipt]:
        """Yield the receipts of the primitives: the parts, down to those that have none."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves

    @property
    def seconds(self) -> float | None:
        """How long it took; None where nobody said."""
        return None if self.start_s is None or self.end_s is None else self.end_s - self.start_s


def charged(receipts: Iterable[Receipt], *charges: Charge) -> float:
    """Return the total of the receipts under these charges, or of all of them if none is named."""
    leaves = (leaf for receipt in receipts for leaf in (receipt.leaves if receipt.parts else (receipt,)))
    return math.fsum(leaf.cost for leaf in leaves if not charges or leaf.charge in charges)


def receipt_fault(receipt: object) -> str:
    """Return what is wrong with what somebody handed over as a receipt; empty if nothing is."""
    if not isinstance(receipt, Receipt):
        return f"returned {receipt!r}, which is no receipt; return act.done(...) or act.failed(...)"
    if fault := _fault(receipt, 0):
        return fault
    if receipt.parts and not math.isclose(receipt.cost, total := charged([receipt]), rel_tol=1e-9, abs_tol=1e-9):
        return f"returned a cost of {receipt.cost!r} whose parts make {total!r}; leave the cost out"
    return ""


def _fault(receipt: Any, depth: int) -> str:
    """Return what is wrong with one receipt or its parts: a stranger's robot may put anything there."""
    if not isinstance(receipt, Receipt) or depth > MOST_NESTED:
        return f"returned a part that is no receipt, or more than {MOST_NESTED} levels of parts"
    claimed: Any = receipt
    if not isinstance(claimed.cost, Real) or not float(claimed.cost) >= 0:
        return f"returned a cost of {claimed.cost!r} for {claimed.what!r}; give a number of at least 0"
    if claimed.finding is not None and not isinstance(claimed.finding, (str, Real)):
        return f"returned {claimed.finding!r} as what {claimed.what!r} found; give a text or a number"
    for moment in (claimed.start_s, claimed.end_s):
        if moment is not None and not (isinstance(moment, Real) and math.isfinite(moment)):
            return f"returned {moment!r} as a time of {claimed.what!r}; give seconds, or leave it out"
    return next((fault for part in receipt.parts if (fault := _fault(part, depth + 1))), "")


def in_plain_types(receipt: Receipt) -> Receipt:
    """Return a receipt without fault in Python's own types, so that it is the same after it was written and read.

    A finding that is neither a text nor a finite number is written in words.
    """
    finding = receipt.finding
    if finding is not None and not isinstance(finding, str):
        finding = float(finding) if math.isfinite(finding) and not isinstance(finding, bool) else str(finding)
    return replace(
        receipt,
        charge=Charge(receipt.charge),
        what=str(receipt.what),
        cost=float(receipt.cost),
        start_s=None if receipt.start_s is None else float(receipt.start_s),
        end_s=None if receipt.end_s is None else float(receipt.end_s),
        succeeded=bool(receipt.succeeded),
        finding=finding,
        alarm=bool(receipt.alarm),
        parts=tuple(in_plain_types(part) for part in receipt.parts),
    )


@dataclass(frozen=True, slots=True)
class _Act:
    """One thing for a robot to do; it is answered with ``act.done(...)`` or ``act.failed(...)``."""

    kind: ClassVar[str]
    charge: ClassVar[Charge]
    about: ClassVar[str] = "kind"
    """Which field says whom or what it is about."""

    cost: Amount = field(default=0.0, kw_only=True)
    """What the problem says it costs; a receipt that says nothing else charges this."""

    @property
    def name(self) -> str:
        """Whom or what it is about: a probe, an operation, an action, a belief or a plan."""
        return str(getattr(self, self.about))

    @property
    def irreversible(self) -> bool:
        """Whether it cannot be undone once it is done."""
        return not getattr(self, "reversible", True)

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"

    def done(
        self,
        finding: str | float | None = None,
        *,
        cost: float | None = None,
        start_s: float | None = None,
        end_s: float | None = None,
        alarm: bool = False,
        parts: tuple[Receipt, ...] = (),
    ) -> Receipt:
        """Return the receipt for having done it, at its own price unless another cost or parts are given."""
        if cost is None:
            cost = charged(parts) if parts else self.cost
        return Receipt(self.charge, str(self), cost, start_s, end_s, True, finding, alarm, tuple(parts))

    def failed(
        self,
        why: str,
        *,
        cost: float | None = None,
        start_s: float | None = None,
        end_s: float | None = None,
        alarm: bool = False,
        parts: tuple[Receipt, ...] = (),
    ) -> Receipt:
        """Return the receipt for having tried: what it cost all the same, and why it failed.

        Of an act that was partly done, the parts say which.
        """
        done = self.done(why, cost=cost, start_s=start_s, end_s=end_s, alarm=alarm, parts=parts)
        return replace(done, succeeded=False)


@dataclass(frozen=True, slots=True)
class Measure(_Act):
    """Run a probe; its receipt's finding is the answer."""

    kind: ClassVar[str] = "measure"
    charge: ClassVar[Charge] = Charge.SENSING
    about: ClassVar[str] = "probe"

    probe: str

    def __str__(self) -> str:
        return self.probe


@dataclass(frozen=True, slots=True)
class Undo(_Act):
    """Perform one recovery operation."""

    kind: ClassVar[str] = "undo"
    charge: ClassVar[Charge] = Charge.ROLLBACK
    about: ClassVar[str] = "operation"

    operation: str
    """A shared operation of the graph, or the name of an action with an undoing of its own."""
    actions: tuple[str, ...]
    """The executed actions that it helps to undo."""


@dataclass(frozen=True, slots=True)
class Declare(_Act):
    """Believe this from now on."""

    kind: ClassVar[str] = "declare"
    charge: ClassVar[Charge] = Charge.CONTINUATION
    about: ClassVar[str] = "belief"

    belief: str
    value: Value | None = None
    """None where the problem knows no value: the belief is made right as it stands."""

    def __str__(self) -> str:
        return f"declare: {self.belief}" + ("" if self.value is None else f" = {value_text(self.value)}")


@dataclass(frozen=True, slots=True)
class Redo(_Act):
    """Do an action again that was undone, on the strength of what is believed now."""

    kind: ClassVar[str] = "redo"
    charge: ClassVar[Charge] = Charge.CONTINUATION
    about: ClassVar[str] = "action"

    action: str
    reversible: bool = True
    """Whether the action can be undone."""


@dataclass(frozen=True, slots=True)
class Follow(_Act):
    """Carry out one of the problem's own plans, or the restart, to its end."""

    kind: ClassVar[str] = "follow"
    charge: ClassVar[Charge] = Charge.ROLLBACK
    about: ClassVar[str] = "plan"

    plan: str
    correct: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    reversible: bool = True
    """Whether all that was planned can be undone: the task is carried on to its end, too. A last resort does not."""

    def __str__(self) -> str:
        return self.plan


@dataclass(frozen=True, slots=True)
class Finish(_Act):
    """Do the rest of the task: the planned actions."""

    kind: ClassVar[str] = "finish"
    charge: ClassVar[Charge] = Charge.CONTINUATION

    actions: tuple[str, ...] = ()
    reversible: bool = True
    """Whether all of them can be undone."""

    def __str__(self) -> str:
        return "finish the task"


@dataclass(frozen=True, slots=True)
class HandOver(_Act):
    """Leave it to a person, safely."""

    kind: ClassVar[str] = "hand over"
    charge: ClassVar[Charge] = Charge.CONTINUATION

    reason: str = ""

    def __str__(self) -> str:
        return "hand over to a person"


Act = Measure | Undo | Declare | Redo | Follow | Finish | HandOver


def acts_of(state: InformationState, step: Step, *, undone: tuple[str, ...] = (), reason: str = "") -> tuple[Act, ...]:
    """Return what a robot has to do to carry out a step, in order.

    ``undone`` names what an earlier decision of the same recovery has undone and nobody has done again.
    """
    problem, graph = state.problem, state.problem.graph
    match step:
        case Reprobe(probe):
            return (Measure(probe, cost=state.probe(probe).cost),)
        case Escalate():
            return (HandOver(reason or "the policy calls a person", cost=problem.escalate_loss),)
        case Continue():
            return (*_again(graph, undone), _finish(graph, undone))
        case Restart():
            return (_follow(graph, RESTART, problem.restart_plan),)
        case RollBack(plan=str(name)):
            known = next((plan for plan in problem.plans if plan.name == name), None)
            return (_follow(graph, name, known, step),)
        case RollBack():
            graph.rollback_cost(step.undo)  # unknown names are reported
            whole = completed(state, step)
            going = (*undone, *whole.undo)
            return (
                *_undoing(graph, whole.undo),
                *_declaring(state, whole),
                *_again(graph, going),
                _finish(graph, going),
            )
        case _:
            raise BadStep(
                f"the policy returned {step!r}, which is not a step; return one of the five in aquamend.decision"
            )


def check_known(problem: Problem, act: Act) -> None:
    """Refuse an act that is about something that the problem does not have (``UnknownName``); for robots."""
    graph = problem.graph
    actions = [action.name for action in graph.actions]
    operations = [operation.name for operation in graph.operations]
    about: list[tuple[str, Sequence[str], Sequence[str]]]
    match act:
        case Measure(probe):
            about = [("probe", [probe], list(graph.probe_index))]
        case Undo(operation, undone):
            about = [("operation", [operation], [*operations, *actions]), ("action", undone, actions)]
        case Declare(belief):
            about = [("belief", [belief], list(graph.belief_index))]
        case Redo(action):
            about = [("action", [action], actions)]
        case Follow(plan):
            about = [("plan", [plan], [RESTART, *(own.name for own in problem.plans)])]
        case Finish(planned):
            about = [("action", planned, actions)]
        case HandOver():
            about = []
    for kind, names, known in about:
        for name in names:
            if name not in known:
                raise UnknownName(kind, name, known)


def _undoing(graph: RecoveryGraph, wanted: Collection[str]) -> Iterator[Undo]:
    """Yield the operations that undoing these actions takes, each once, the latest action's first."""
    position = {action.name: i for i, action in enumerate(graph.executed)}
    latest_first = [name for name in reversed(graph.topological_order) if name in wanted and name in position]
    users: dict[int, list[str]] = {}
    for name in latest_first:
        for charge in graph.action_charges[position[name]]:
            if charge < graph.n_operations:
                users.setdefault(charge, []).append(name)
    for charge, actions in users.items():
        operation = graph.charges[charge]
        yield Undo(operation.name, tuple(actions), cost=operation.cost)


def _declaring(state: InformationState, step: RollBack) -> Iterator[Declare]:
    """Yield what is declared of every corrected belief, causes before what follows from them."""
    graph = state.problem.graph
    said = {new.belief: new.value for new in step.declare}
    for belief in _in_order(graph, step.correct):
        yield Declare(belief, said.get(belief))


def _again(graph: RecoveryGraph, undone: Iterable[str]) -> Iterator[Redo]:
    actions = {action.name: action for action in graph.actions}
    for name in _in_order(graph, undone):
        yield Redo(name, actions[name].reversible, cost=actions[name].redo)


def _in_order(graph: RecoveryGraph, names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [name for name in graph.topological_order if name in wanted]


def _finish(graph: RecoveryGraph, undone: tuple[str, ...]) -> Finish:
    left = [action for action in graph.actions if not action.executed and action.name not in undone]
    return Finish(tuple(action.name for action in left), all(action.reversible for action in left))


def _follow(graph: RecoveryGraph, name: str, plan: Plan | None, step: RollBack | None = None) -> Follow:
    """Return a plan as one act, at its price."""
    reversible = all(action.reversible for action in graph.actions if not action.executed)
    if plan is not None:
        return Follow(name, plan.correct, plan.undo, reversible or plan.last_resort, cost=plan.price)
    if step is None:  # a restart that the problem does not have is infinitely costly
        return Follow(name, cost=math.inf)
    return Follow(name, step.correct, step.undo, reversible)  # one that it does not price is the robot's own affair
