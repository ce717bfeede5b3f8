"""Two hypotheses and whatever probes a test needs; random problems of format 2 with their reference."""

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aquamend.graph import Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Alarm, Hypothesis, JointModel, Kernel
from aquamend.problem import Problem
from aquamend.problem_file import parse_problem


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


def _reference(name: str) -> ModuleType:
    qualified = f"aquamend_reference_{name}"
    if qualified not in sys.modules:
        path = Path(__file__).parents[1] / "reference" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(qualified, path)
        module = sys.modules[qualified] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[qualified]


@pytest.fixture(scope="session")
def walked() -> Callable[..., tuple[InformationState, Any]]:
    """Return a state some possible answers into a random problem of format 2, and the reference of that problem."""

    def make(seed: int, *, gaussian: bool = False) -> tuple[InformationState, Any]:
        rng = random.Random(seed)
        data = _reference("generator").format_2_problem(rng, gaussian=gaussian)
        state = InformationState.alarmed(parse_problem(data))
        truth = rng.choices(range(len(state.posterior)), weights=state.posterior)[0]
        draws = np.random.default_rng(seed)
        for _ in range(rng.randint(0, 3)):
            if state.legal:
                view = rng.choice(state.legal)
                state = state.after(Observation(view.name, view.channel.sample(truth, draws)))
        return state, _reference("brute_force").Reference(data)

    return make
