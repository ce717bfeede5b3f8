"""Re-probing as two substeps (Section 3.4 of the paper), as its earlier tables ran it: detect, then re-estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aquamend.belief import InformationState
from aquamend.belief.support import usable
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal, best_value, may_be_kept
from aquamend.policies.baselines import PowerPerCost
from aquamend.policies.policy import Description


@dataclass(frozen=True, slots=True)
class TwoStep:
    """Detect by power per cost until every suspected declaration is decided; then measure again what lost support.

    A belief has lost its support where it may neither be kept nor declared as any other value. It is measured by its
    cheapest probe that can be relied on and has not answered yet. What an answer is worth is never asked.
    """

    description: ClassVar[Description] = Description(
        "AquaMend, two steps",
        "Detect by power per cost until every suspected declaration is decided, measure again what has lost its "
        "support, then take the best ending.",
        "#b34700",
        "o",
        "AquaMend in the paper's T4 tables (Section 3.4)",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the detecting probe, else one that gives support again, else the best terminal decision."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        detecting = PowerPerCost().next_step(state)
        if isinstance(detecting, Reprobe):
            return detecting
        again = _supporting_probe(state)
        return detecting if again is None else Reprobe(again)


def _supporting_probe(state: InformationState) -> str | None:
    """Return the cheapest probe of the first belief without support, in the order of the graph."""
    graph = state.problem.graph
    for i, belief in enumerate(graph.beliefs):
        if may_be_kept(state, i) or best_value(state, i) is not None:
            continue
        own = graph.direct_probes[belief.name]
        able = [v for v in state.legal if v.name in own and v.name not in state.uses and usable(state, v.index)]
        if able:
            return min(able, key=lambda view: view.cost).name
    return None


POLICIES = {"aquamend-two-step": TwoStep}
