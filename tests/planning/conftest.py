"""Small random problems with discrete probes, for theorems about plans; those with values and their reference."""

import math
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend.files import parse_problem
from aquamend.planning.bounds import Bounds
from tests.reference.brute_force import Reference
from tests.reference.generator import random_problem, valued_problem


def random_state(seed: int, *, n_beliefs: int = 3, uses: float = 2, budget: float = np.inf) -> InformationState:
    """A state with shared closures, noisy probes of two or three outcomes, and now and then a perfect one."""
    rng = np.random.default_rng(seed)
    n_hypotheses, n_probes = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    beliefs = [f"b{i}" for i in range(n_beliefs)]
    kernels = {}
    for m in range(n_probes):
        n_outcomes = int(rng.integers(2, 4))
        rows = rng.dirichlet(np.full(n_outcomes, 0.6), n_hypotheses)
        if rng.random() < 0.3:
            rows = np.eye(n_outcomes)[rng.integers(0, n_outcomes, n_hypotheses)]
        kernels[f"p{m}"] = Discrete([f"y{o}" for o in range(n_outcomes)], rows)
    graph = RecoveryGraph(
        beliefs=[Belief(b, residual=float(rng.uniform(2, 12)), may_keep=rng.random() > 0.1) for b in beliefs],
        actions=[Action(f"a{j}", undo=float(rng.uniform(0.5, 5)), executed=True) for j in range(3)],
        probes=[Probe(f"p{m}", cost=float(rng.uniform(0.05, 0.8)), max_uses=uses) for m in range(n_probes)],
        edges=[(b, f"a{j}", "belief_to_action") for b in beliefs for j in range(3) if rng.random() < 0.5],
    )
    model = JointModel(
        [
            Hypothesis(f"h{s}", float(p), tuple(b for b in beliefs if rng.random() < 0.4))
            for s, p in enumerate(rng.dirichlet(np.ones(n_hypotheses)))
        ],
        kernels,
    )
    return InformationState.alarmed(Problem(graph, model, sensing_budget=budget, restart=15.0, escalate=25.0))


@pytest.fixture
def make_state() -> Callable[..., InformationState]:
    return random_state


@pytest.fixture(scope="session")
def referenced(valued_file) -> Callable[..., tuple[InformationState, Any]]:
    """Return the alarmed state of a random problem with values, and a reference that solves it by brute force."""

    @cache  # a reference keeps its optimum, which several tests ask for
    def make(seed: int, **options: Any) -> tuple[InformationState, Any]:
        data = valued_file(seed, **options)
        return InformationState.alarmed(parse_problem(data)), Reference(data)

    return make


@pytest.fixture(scope="session")
def both_kinds() -> Callable[[int], tuple[InformationState, Any]]:
    """Return a maker of random problems, without values and with them in turn, each with its reference."""

    def make(seed: int) -> tuple[InformationState, Any]:
        rng = random.Random(seed)
        data = random_problem(rng) if seed % 2 else valued_problem(rng)
        return InformationState.alarmed(parse_problem(data)), Reference(data)

    return make


@pytest.fixture(autouse=True, scope="module")
def no_bound_contradicts_another():
    """Hear of every lower bound that is above an upper one, which the program itself takes for rounding."""
    tighter = Bounds.__and__

    def checked(self, other):
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        assert lower <= upper + 1e-7 * max(1.0, abs(upper)) or math.isinf(upper), f"{self} and {other}"
        return tighter(self, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bounds, "__and__", checked)
        yield
