"""States small enough to work out by hand."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState
from aquamend.model import Declaration, Hypothesis, JointModel, Kernel
from aquamend.problem import Problem


@pytest.fixture(scope="session")
def lid() -> Callable[..., InformationState]:
    """Return a state with one belief, failed with probability ``q``, under one executed action."""

    def make(
        kernels: Mapping[str, Kernel] | None = None,
        *,
        q: float = 0.4,
        residual: float = 10.0,
        undo: float = 3.0,
        may_keep: bool = True,
        reversible: bool = True,
        probes: Sequence[Probe] = (),
        declarations: Sequence[Declaration] = (),
        **rest: object,
    ) -> InformationState:
        graph = RecoveryGraph(
            [Belief("lid", residual, may_keep)],
            [Action("lift", undo=undo, executed=True, reversible=reversible)],
            probes or [Probe(name, 0.5) for name in kernels or {}],
            [("lid", "lift", "belief_to_action"), *((name, "lid", "detection") for name in kernels or {})],
        )
        hypotheses = [Hypothesis("on", 1 - q), Hypothesis("off", q, ("lid",))]
        model = JointModel(hypotheses, kernels or {}, declarations=declarations)
        return InformationState.alarmed(Problem(graph, model, **rest))

    return make
