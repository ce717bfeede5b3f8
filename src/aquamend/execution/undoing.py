"""Undoing actions in a world: what it takes, each operation paid once."""

from __future__ import annotations

from collections.abc import Iterable

from aquamend.errors import UnknownName
from aquamend.execution.receipts import Charge, Receipt
from aquamend.graph import RecoveryGraph


def undo(graph: RecoveryGraph, actions: Iterable[str]) -> tuple[tuple[str, ...], list[Receipt]]:
    """Return the actions undone, in the order of the graph, and a receipt for every operation that took."""
    wanted = set(actions)
    unknown = sorted(wanted - {action.name for action in graph.executed})
    if unknown:
        raise UnknownName("executed action", unknown[0], [action.name for action in graph.executed])
    undone, paid, receipts = [], set[int](), []
    for action, charges in zip(graph.executed, graph.action_charges, strict=True):
        if action.name not in wanted:
            continue
        undone.append(action.name)
        for charge in charges:
            if charge not in paid:
                paid.add(charge)
                operation = graph.charges[charge]
                receipts.append(Receipt(Charge.RECOVERY, f"undo: {operation.name}", operation.cost))
    return tuple(undone), receipts
