"""The parts of a story that are known only once it is over: statements, graph and ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from aquamend.decision.steps import Reprobe, RollBack, Step
from aquamend.execution import Charge, Outcome
from aquamend.inference import InformationState
from aquamend.replay.story import Bill, Node, Statement
from aquamend.text.words import percent
from aquamend.worlds.pouring.leaf import Leaf


def outcome_text(leaf: Leaf) -> str:
    """Return how a primitive ended."""
    return f"{'done' if leaf.finding.succeeded else 'failed'}: {leaf.finding.told}"


def statements(states: Sequence[InformationState], failed: Collection[str]) -> tuple[Statement, ...]:
    """Return what was declared at the alarm, with the doubt in it at every later state."""
    return tuple(
        Statement(
            name=declaration.name,
            version=declaration.version,
            value=str(declaration.value or ""),
            support=tuple(declaration.support),
            doubt=tuple(None if state.invalidity is None else float(state.invalidity[i]) for state in states),
            failed=declaration.name in failed,
        )
        for i, declaration in enumerate(states[0].problem.declarations)
    )


def nodes(state: InformationState, steps: Sequence[Step], outcome: Outcome, failed: Collection[str]) -> Iterator[Node]:
    """Yield the nodes of the graph as they stood when the decision was made, and what became of them."""
    graph, alarm = state.problem.graph, state.problem.model.alarm
    used = {step.probe for step in steps if isinstance(step, Reprobe)}
    corrected = {name for step in steps if isinstance(step, RollBack) for name in step.correct}
    marked = {"suspected": set(alarm.suspects) if alarm else set(), "failed": set(failed), "corrected": corrected}
    for probe in graph.probes:
        yield Node(probe.name, "probe", f"{probe.cost:g} s", ("used",) if probe.name in used else ())
    for belief, q in zip(graph.beliefs, state.failure_probabilities, strict=True):
        marks = tuple(mark for mark, names in marked.items() if belief.name in names)
        yield Node(belief.name, "belief", f"{percent(float(q))} doubt", marks)
    for action in graph.actions:
        if action.executed:
            undone = ("undone",) if action.name in outcome.undone else ()
            yield Node(action.name, "action", f"undo {graph.rollback_cost([action.name]):.1f} s", undone)
        else:
            yield Node(action.name, "action", "planned", ("planned",))


def bills(leaves: Sequence[Leaf], outcome: Outcome) -> Iterator[Bill]:
    """Yield what was paid for: every primitive since the alarm, then failures left and people called."""
    for leaf in leaves:
        if leaf.charge is not Charge.ESCALATION:  # a flat loss covers all of a safe stop
            yield Bill(str(leaf.charge), leaf.what, leaf.seconds, leaf.start_s, leaf.end_s, outcome_text(leaf))
    for receipt in outcome.receipts:
        if receipt.charge in (Charge.RESIDUAL, Charge.ESCALATION) and receipt.cost > 0:
            yield Bill(str(receipt.charge), receipt.what, receipt.cost)
