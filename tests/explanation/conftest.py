"""States small enough to work out by hand."""

from collections.abc import Callable

import pytest

from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState
from aquamend.model import Cause, Discrete, Gaussian, Hypothesis, JointModel, Kernel
from aquamend.problem import Problem


@pytest.fixture
def lid_state() -> Callable[..., InformationState]:
    """Return one belief (0.4 failed, residual 10) under an executed action (undo 3), and a probe of cost 0.5."""

    def make(kernel: Kernel | None = None, *, may_keep: bool = True, reversible: bool = True) -> InformationState:
        graph = RecoveryGraph(
            beliefs=[Belief("lid", residual=10, may_keep=may_keep)],
            actions=[Action("lift", undo=3, executed=True, reversible=reversible)],
            probes=[Probe("look", 0.5, max_uses=2)],
            edges=[("look", "lid", "detection"), ("lid", "lift", "belief_to_action")],
        )
        hypotheses = [
            Hypothesis("on", 0.6, cause=Cause.FALSE_ALARM),
            Hypothesis("off", 0.4, failed=("lid",), cause=Cause.EXTERNAL),
        ]
        given = kernel or Discrete(["yes", "no"], {"on": [0.9, 0.1], "off": [0.2, 0.8]})
        return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"look": given}), unit="s"))

    return make


@pytest.fixture
def gaussian_state(lid_state) -> InformationState:
    return lid_state(Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)}))


@pytest.fixture
def many_state() -> InformationState:
    """Return forty beliefs, each with an action and a probe of its own."""
    n = 40
    graph = RecoveryGraph(
        beliefs=[Belief(f"b{i}", residual=10 + i) for i in range(n)],
        actions=[Action(f"a{i}", undo=1 + 0.1 * i, executed=True) for i in range(n)],
        probes=[Probe(f"p{i}", 0.001) for i in range(n)],
        edges=[
            edge for i in range(n) for edge in ((f"p{i}", f"b{i}", "detection"), (f"b{i}", f"a{i}", "belief_to_action"))
        ],
    )
    hypotheses = [Hypothesis("ok", 0.5), *(Hypothesis(f"h{i}", 0.5 / n, failed=(f"b{i}",)) for i in range(n))]
    quiet, loud = [0.9, 0.1], [0.1, 0.9]
    kernels = {
        f"p{i}": Discrete(["fine", "odd"], {h.name: loud if h.name == f"h{i}" else quiet for h in hypotheses})
        for i in range(n)
    }
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels)))
