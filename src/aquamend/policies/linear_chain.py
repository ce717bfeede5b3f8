"""AquaMend without the causal graph: undoing an action undoes everything executed after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aquamend.decision.steps import Step
from aquamend.inference import InformationState
from aquamend.policies.myopic import AquaMend
from aquamend.problem import Problem, once_per_problem


@dataclass(frozen=True, slots=True)
class LinearChain:
    """Decide as AquaMend does, on the linear-chain view of the graph (Table 4 of the paper).

    Model, probes and residuals are the same; a rollback undoes the executed suffix from its earliest action on, and is
    priced and carried out so.
    """

    def next_step(self, state: InformationState) -> Step:
        """Return AquaMend's step on the chain; its rollbacks undo whole suffixes."""
        return AquaMend().next_step(replace(state, problem=chain_view(state.problem)))


@once_per_problem
def chain_view(problem: Problem) -> Problem:
    """Return the same problem with every executed action followed by all that was executed after it."""
    return replace(problem, graph=problem.graph.linear_chain())
