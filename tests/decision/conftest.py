"""States small enough to work out by hand, and random ones of format 2."""

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aquamend.inference import InformationState, Observation
from aquamend.problem import Problem
from aquamend.problem_file import parse_problem


def _generator() -> ModuleType:
    qualified = "aquamend_reference_generator"
    if qualified not in sys.modules:
        path = Path(__file__).parents[1] / "reference" / "generator.py"
        spec = importlib.util.spec_from_file_location(qualified, path)
        module = sys.modules[qualified] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[qualified]


@pytest.fixture(scope="session")
def format_2() -> Callable[..., dict[str, Any]]:
    """Return a maker of random problem files of format 2: values, sources, accuracies, the need of support."""

    def make(seed: int, **options: Any) -> dict[str, Any]:
        return _generator().format_2_problem(random.Random(seed), **options)

    return make


@pytest.fixture(scope="session")
def after_some_answers() -> Callable[..., InformationState]:
    """Return a state that a few possible answers lead to from the alarm on."""

    def make(data: dict[str, Any] | Problem, seed: int, *, most: int = 3) -> InformationState:
        problem = data if isinstance(data, Problem) else parse_problem(data)
        state, rng = InformationState.alarmed(problem), random.Random(seed)
        truth = rng.choices(range(len(state.posterior)), weights=state.posterior)[0]
        draws = np.random.default_rng(seed)
        for _ in range(rng.randint(0, most)):
            if state.legal:
                view = rng.choice(state.legal)
                state = state.after(Observation(view.name, view.channel.sample(truth, draws)))
        return state

    return make


@pytest.fixture(scope="session")
def walked(format_2, after_some_answers) -> Callable[[int], InformationState]:
    """Return a state some possible answers into the random problem of format 2 with this number."""
    return lambda seed: after_some_answers(format_2(seed), seed)
