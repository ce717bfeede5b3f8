"""Two hypotheses and whatever probes a test needs; random problems with values and their reference."""

from collections.abc import Callable

import pytest
from tests.reference.brute_force import Reference

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Hypothesis, JointModel, Kernel


@pytest.fixture(scope="session")
def start() -> Callable[..., InformationState]:
    """Return the state before the alarm of a problem in which ``bad`` makes belief ``b`` fail."""

    def make(
        kernels: dict[str, Kernel],
        *,
        bad: float = 0.5,
        alarm: tuple[float, float] | None = None,
        cost: float = 0.1,
        uses: float = 1,
        declarations=(),
        edges=(),
        budget: float = float("inf"),
    ) -> InformationState:
        graph = RecoveryGraph(
            [Belief("b", 1.0), Belief("c", 1.0)], (), [Probe(name, cost, max_uses=uses) for name in kernels], edges
        )
        heard = None if alarm is None else Alarm({"ok": alarm[0], "bad": alarm[1]}, ["b"])
        hypotheses = [Hypothesis("ok", 1 - bad, (), "false_alarm"), Hypothesis("bad", bad, ("b",), "external")]
        model = JointModel(hypotheses, kernels, heard, declarations)
        return InformationState.start(Problem(graph, model, sensing_budget=budget))

    return make


@pytest.fixture(scope="session")
def walked(valued_file, after_some_answers) -> Callable[..., tuple[InformationState, Reference]]:
    """Return a state some possible answers into a random problem with values, and the reference of that problem."""

    def make(seed: int, *, gaussian: bool = False) -> tuple[InformationState, Reference]:
        data = valued_file(seed, gaussian=gaussian)
        return after_some_answers(data, seed), Reference(data)

    return make
