"""The parts of a story that are known only once it is over: statements, graph and ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from aquamend.decision.steps import Reprobe
from aquamend.inference import InformationState
from aquamend.recovery import Judged, Receipt, Recovery
from aquamend.replay.story import Node, Statement
from aquamend.text.words import percent


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


def nodes(recovery: Recovery, failed: Collection[str]) -> Iterator[Node]:
    """Yield the nodes of the graph with the doubt at the last decision, and what became of them."""
    graph, alarm = recovery.start.problem.graph, recovery.start.problem.model.alarm
    used = {step.probe for step in recovery.steps if isinstance(step, Reprobe)}
    suspected = set(alarm.suspects) if alarm else set()
    marked = {"suspected": suspected, "failed": set(failed), "corrected": set(recovery.corrected)}
    for probe in graph.probes:
        yield Node(probe.name, "probe", f"{probe.cost:g} s", ("used",) if probe.name in used else ())
    for belief, q in zip(graph.beliefs, recovery.decided_at.failure_probabilities, strict=True):
        marks = tuple(mark for mark, names in marked.items() if belief.name in names)
        yield Node(belief.name, "belief", f"{percent(float(q))} doubt", marks)
    for action in graph.actions:
        if action.executed:
            undone = ("undone",) if action.name in recovery.undone else ()
            yield Node(action.name, "action", f"undo {graph.rollback_cost([action.name]):.1f} s", undone)
        else:
            yield Node(action.name, "action", "planned", ("planned",))


def ledger(judged: Judged) -> Iterator[Receipt]:
    """Yield what was paid for, primitive by primitive, and what failed although it cost nothing."""
    for receipt in judged.receipts:
        yield from (leaf for leaf in receipt.leaves if leaf.cost > 0 or not leaf.succeeded)
