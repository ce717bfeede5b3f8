"""The ledger of one recovery: a receipt for everything a world does, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from aquamend.errors import UnknownName
from aquamend.execution.receipts import Charge, Receipt, charged
from aquamend.execution.world import Outcome
from aquamend.graph import RecoveryGraph


@dataclass(eq=False, slots=True)
class Ledger:
    """What a world has done so far; it charges probes, operations and failures as the graph prices them."""

    graph: RecoveryGraph
    receipts: list[Receipt] = field(default_factory=list)
    uses: dict[str, int] = field(default_factory=dict)

    def pay(self, charge: Charge, what: str, cost: float) -> None:
        """Write a receipt."""
        self.receipts.append(Receipt(charge, what, cost))

    def run_probe(self, probe: str) -> tuple[int, int]:
        """Pay for a probe; return its position in the graph and which use of it this is: the seed of its answer."""
        if probe not in self.graph.probe_index:
            raise UnknownName("probe", probe, self.graph.probe_index)
        index = self.graph.probe_index[probe]
        self.uses[probe] = self.uses.get(probe, 0) + 1
        self.pay(Charge.SENSING, probe, self.graph.probes[index].cost)
        return index, self.uses[probe]

    def undo(self, actions: Iterable[str]) -> tuple[str, ...]:
        """Pay for every operation that undoing takes, each once; return the actions, in the order of the graph."""
        wanted = set(actions)
        unknown = sorted(wanted - {action.name for action in self.graph.executed})
        if unknown:
            raise UnknownName("executed action", unknown[0], [action.name for action in self.graph.executed])
        undone, paid = [], set[int]()
        for action, charges in zip(self.graph.executed, self.graph.action_charges, strict=True):
            if action.name not in wanted:
                continue
            undone.append(action.name)
            for charge in charges:
                if charge not in paid:
                    paid.add(charge)
                    operation = self.graph.charges[charge]
                    self.pay(Charge.RECOVERY, f"undo: {operation.name}", operation.cost)
        return tuple(undone)

    def handed_over(self, cost: float, failed: Iterable[str]) -> Outcome:
        """Return the end with a person called: that flat loss is all that is paid for what has failed."""
        self.pay(Charge.ESCALATION, "a person takes over", cost)
        return Outcome(tuple(self.receipts), (), tuple(failed), success=False)

    def ended(self, undone: tuple[str, ...], left: Iterable[str], declared: Iterable[str] = ()) -> Outcome:
        """Return the end with these failures left as they were and these declared anew but wrong, each at its residual.

        Only what was left as it was may be something that may not be kept.
        """
        beliefs = {belief.name: belief for belief in self.graph.beliefs}
        kept, wrong = tuple(left), tuple(declared)
        for name in kept:
            self.pay(Charge.RESIDUAL, name, beliefs[name].residual if beliefs[name].may_keep else math.inf)
        for name in wrong:
            self.pay(Charge.RESIDUAL, name, beliefs[name].residual)
        return self.settled(undone, (*kept, *wrong))

    def settled(self, undone: tuple[str, ...], left: tuple[str, ...]) -> Outcome:
        """Return the end with everything paid; no success where something is left, or was infeasible."""
        done = math.isfinite(charged(self.receipts))
        return Outcome(tuple(self.receipts), undone, left, success=not left and done)
