"""The parts of a story that are known only once it is over: statements, graph and ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe
from aquamend.recovery import Charge, Judged, Receipt, Recovery
from aquamend.story.story import Node, Statement
from aquamend.text import percent
from aquamend_lab.pouring.demonstration.wording import BELIEFS, primitive


def statements(states: Sequence[InformationState], failed: Collection[str]) -> tuple[Statement, ...]:
    """Return what was declared at the alarm, with the doubt in it at every later state."""
    return tuple(
        Statement(
            name=declaration.name,
            version=declaration.version,
            value="" if declaration.value is None else str(declaration.value),
            support=tuple(declaration.support),
            doubt=tuple(_doubt(state, declaration.name) for state in states),
            failed=declaration.name in failed,
        )
        for declaration in states[0].problem.declarations
    )


def _doubt(state: InformationState, name: str) -> float | None:
    """Return how likely a declaration is invalid; None where that is not known, or it is no longer in force."""
    at = next((i for i, declaration in enumerate(state.problem.declarations) if declaration.name == name), None)
    return None if state.invalidity is None or at is None else float(state.invalidity[at])


def nodes(recovery: Recovery, failed: Collection[str]) -> Iterator[Node]:
    """Yield the nodes of the graph with the doubt at the last decision, and what became of them."""
    graph, alarm = recovery.start.problem.graph, recovery.start.problem.model.alarm
    used = {step.probe for step in recovery.steps if isinstance(step, Reprobe)}
    used |= {observation.probe for observation in recovery.start.evidence}
    suspected = set(alarm.suspects) if alarm else set()
    marked = {"suspected": suspected, "failed": set(failed), "corrected": set(recovery.corrected)}
    for probe in graph.probes:
        yield Node(probe.name, "probe", f"{probe.cost:.3g} s", ("used",) if probe.name in used else ())
    for belief, q in zip(graph.beliefs, recovery.decided_at.failure_probabilities, strict=True):
        marks = tuple(mark for mark, names in marked.items() if belief.name in names)
        yield Node(belief.name, "belief", f"{percent(float(q))} doubt", marks)
    for action in graph.actions:
        if action.executed:
            undone = ("undone",) if action.name in recovery.undone else ()
            yield Node(action.name, "action", f"undo and redo {graph.rollback_cost([action.name]):.1f} s", undone)
        else:
            yield Node(action.name, "action", "planned", ("planned",))


def ledger(judged: Judged, *, alarm: Receipt, declared_g: Mapping[str, float], end_s: float) -> Iterator[Receipt]:
    """Yield what was paid for, primitive by primitive, and what failed although it cost nothing; each with its time.

    What was measured for the alarm itself was measured then, and what was left wrong shows in the end.
    """
    for receipt in judged.receipts:
        for leaf in (leaf for leaf in receipt.leaves if leaf.cost > 0 or not leaf.succeeded):
            if leaf.charge is Charge.RESIDUAL:
                left = f"left wrong: {BELIEFS.get(leaf.what, leaf.what)}"
                yield replace(leaf, what=left, start_s=end_s, end_s=end_s)
            elif leaf.start_s is None:
                yield replace(primitive(leaf, declared_g), start_s=alarm.start_s, end_s=alarm.end_s)
            else:
                yield primitive(leaf, declared_g)
