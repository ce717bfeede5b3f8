"""Who takes part: every policy by name, and the oracle, which alone knows what failed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import normalised
from aquamend.decision.steps import Decision, NewDeclaration, RollBack, Step
from aquamend.decision.terminal import best_terminal, correction
from aquamend.errors import UnknownName
from aquamend.policies import DescribedPolicy, Description, Policy, policy_named
from aquamend.policies.policy import hand_over
from aquamend.problem import Problem
from aquamend.problem.graph import Value

ORACLE = "oracle"
KNOWING_THE_TRUTH = (ORACLE,)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Roll back the minimal closure of what truly failed, without looking; hand over where that is infeasible.

    The paper's rule; where only a world's own plans end a recovery, the best of them for what failed. A lower bound on
    every policy's loss only where correcting each failure costs no more than leaving it; a reference elsewhere.
    """

    failed: tuple[str, ...]
    values: Mapping[str, Value] = field(default_factory=dict)
    """What is true of beliefs that declare a value, as far as it knows."""

    description: ClassVar[Description] = Description(
        "Oracle",
        "Rolls back exactly what failed, which it alone knows.",
        "#1b1c1e",
        "*",
        "the paper's Oracle",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the rollback of the failed set's closure."""
        informed = self.informed(state)
        if not state.problem.corrections:
            return best_terminal(informed).decision
        stop = correction(informed, self.failed)
        return hand_over(informed) if math.isinf(stop.recovery) else self._declaring(informed, stop.decision)

    def _declaring(self, state: InformationState, decision: Decision) -> Decision:
        """Return a correction with the values nearest to what is true: of those within tolerance, any would do else."""
        if not isinstance(decision, RollBack) or decision.plan is not None:
            return decision
        problem, said = state.problem, {new.belief: new for new in decision.declare}
        for name in decision.correct:
            true = self.values.get(name)
            known = [new.value for new in problem.new_values[problem.graph.belief_index[name]]]
            numbers = [value for value in known if isinstance(value, int | float)]
            if isinstance(true, int | float) and numbers:
                said[name] = NewDeclaration(name, min(numbers, key=lambda value: abs(value - true)))
        return replace(decision, declare=tuple(said[name] for name in decision.correct if name in said))

    def informed(self, state: InformationState) -> InformationState:
        """Return the state in which only what breaks exactly the failed set is possible, and makes these values true.

        Itself where nothing does.
        """
        problem = state.problem
        true = [belief.name in self.failed for belief in problem.graph.beliefs]
        same = (problem.failed == true).all(axis=1)
        for belief, value in self.values.items():
            same &= problem.wrong_where(problem.graph.belief_index[belief], value) == 0.0
        mass = state.posterior * same
        if mass.sum() <= 0.0 or not state.posterior[~same].any():
            return state
        return replace(state, posterior=normalised(mass), origin=None)


@dataclass(frozen=True, slots=True)
class FromMemory:
    """A policy that answers the same evidence on the same problem from memory: one scenario asks for it many times."""

    policy: Policy
    _known: dict[tuple[Problem, tuple[Observation, ...]], Step] = field(default_factory=dict, init=False)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step at this evidence; acts that failed or changed something make another problem."""
        key = (state.problem, state.evidence)
        if key not in self._known:
            self._known[key] = self.policy.next_step(state)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class FacingAVersion:
    """A policy as it is, under a title that says which version of the scenarios it faces."""

    name: str
    version: str
    colour: str

    @property
    def description(self) -> Description:
        """The policy's own, under a title that says so."""
        about = description_of(self.name)
        return replace(about, title=f"{about.title}, {self.version}", colour=self.colour)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step."""
        return policy_named(self.name).next_step(state)


def description_of(name: str) -> Description:
    """Return what one of our policies says of itself."""
    return cast(DescribedPolicy, policy_named(name)).description


def check_names(names: list[str], *, also: tuple[str, ...] = ()) -> None:
    """Raise where a name is unknown, listing those that are known and all who take part."""
    for name in names:
        if name in KNOWING_THE_TRUTH:
            continue
        try:
            policy_named(name)
        except UnknownName as error:
            valid = dict.fromkeys([*error.valid, *KNOWING_THE_TRUTH, *also])
            raise UnknownName("policy", error.name, valid) from None
