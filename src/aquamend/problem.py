"""One recovery problem: a graph, a joint model, and what else may end the recovery."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import Fault, InvalidProblem, UnknownName
from aquamend.graph import RecoveryGraph
from aquamend.model.declarations import Declaration
from aquamend.model.joint_model import JointModel
from aquamend.model.validation import reference_faults


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A way of ending the recovery that a world prices itself, hypothesis by hypothesis."""

    name: str
    loss: NDArray[np.float64]
    """Shape ``(n_hypotheses,)``; expected remaining loss under each; infinity where inadmissible."""
    correct: tuple[str, ...] = ()
    """Beliefs it corrects."""
    undo: tuple[str, ...] = ()
    """Executed actions it undoes."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What may be wrong, what can be measured, and what every way of recovering costs."""

    graph: RecoveryGraph
    model: JointModel
    sensing_budget: float = math.inf
    restart: float | None = None
    """Cost of starting over, which corrects everything; None where that is no option."""
    escalate: float | None = None
    """Flat loss of handing over to a person; None where nobody is there."""
    plans: Sequence[Plan] = ()
    """Terminal decisions beyond the correction sets of the graph."""
    corrections: bool = True
    """Whether the graph's correction sets are terminal decisions, beside the plans."""
    name: str = "recovery problem"
    unit: str = ""
    _compiled: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plans", tuple(self.plans))
        model, graph = self.model, self.graph
        faults = list(
            reference_faults(
                model.hypotheses, model.kernels, model.alarm, model.declarations,
                [belief.name for belief in graph.beliefs], [probe.name for probe in graph.probes],
            )
        )  # fmt: skip
        faults += terminal_faults(self.sensing_budget, self.restart, self.escalate)
        for i, plan in enumerate(self.plans):
            if np.shape(plan.loss) != (len(model.hypotheses),) or not bool(np.all(np.asarray(plan.loss) >= 0)):
                faults.append(
                    Fault(
                        f"plans[{i}].loss",
                        f"shape {np.shape(plan.loss)} or an entry below zero",
                        f"give one loss of at least 0 for each of the {len(model.hypotheses)} hypotheses",
                    )
                )
        if faults:
            raise InvalidProblem(faults)

    @cached_property
    def failed(self) -> NDArray[np.float64]:
        """Z, shape ``(n_hypotheses, n_beliefs)``."""
        return self.model.failure_matrix(self.graph.belief_index)

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """The declarations given, or one per belief that is invalid where the belief failed."""
        if self.model.declarations:
            return tuple(self.model.declarations)
        names = [hypothesis.name for hypothesis in self.model.hypotheses]
        return tuple(
            Declaration(
                name=belief.name,
                belief=belief.name,
                invalid_in=tuple(names[h] for h in np.flatnonzero(self.failed[:, i])),
                support=self.graph.direct_probes[belief.name],
            )
            for i, belief in enumerate(self.graph.beliefs)
        )

    def plan_named(self, name: str) -> Plan:
        """Return one of the problem's own plans by name."""
        plans = {plan.name: plan for plan in self.plans}
        if name not in plans:
            raise UnknownName("plan", name, plans)
        return plans[name]

    @cached_property
    def restart_loss(self) -> float:
        """Loss of restarting: infinite where no restart is given or an irreversible action was executed."""
        if self.restart is None or self.graph.irreversible_executed:
            return math.inf
        return self.restart

    @property
    def escalate_loss(self) -> float:
        """Loss of escalating: infinite where none is given."""
        return math.inf if self.escalate is None else self.escalate


def terminal_faults(sensing_budget: float, restart: float | None, escalate: float | None) -> list[Fault]:
    """Return the faults of a problem's three numbers."""
    given = {"sensing_budget": sensing_budget, "restart": restart, "escalate": escalate}
    return [
        Fault(key, f"{value!r} is not a cost", "give a number of at least 0, or inf")
        for key, value in given.items()
        if value is not None and not value >= 0
    ]


_Compiled = TypeVar("_Compiled")


def once_per_problem(compile_: Callable[[Problem], _Compiled]) -> Callable[[Problem], _Compiled]:
    """Decorate a pure function of a problem so that its result is kept with the problem."""

    @wraps(compile_)
    def compiled(problem: Problem) -> _Compiled:
        store = problem._compiled
        if compile_ not in store:
            store[compile_] = compile_(problem)
        result: _Compiled = store[compile_]
        return result

    return compiled
