"""States small enough to work out by hand, random problems, and an enumeration of their terminal decisions."""

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from aquamend.belief import InformationState, Observation
from aquamend.files import parse_problem
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Declaration, Discrete, Gaussian, Hypothesis, JointModel, Kernel
from tests.reference.generator import valued_problem as valued_data
from tests.tiers import QUICK, cases
from tests.waiting import PATIENCE_S

TESTS = Path(__file__).parent
OUTER = ("results", "examples")
"""Folders whose tests need more than the package: the committed results, and the programs in examples/."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what only `make test-all` runs: committed results, examples, and whatever opens a browser."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in OUTER or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.outer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Let nothing of the second tier be skipped where all of it has to run: what it needs is to be installed."""
    report = yield
    second = any(item.iter_markers("outer")) or any(item.iter_markers("slow"))
    if report.skipped and second and os.environ.get("ALL_TESTS_RUN"):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} was skipped: {report.longrepr}"
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Say which tier runs, for `tests.tiers.cases`, and how random tests draw."""
    os.environ.pop(QUICK, None)
    if "not slow" in config.getoption("markexpr"):
        os.environ[QUICK] = "1"
    # The same examples every time, however busy the machine: a pull request fails for what it changed.
    # `--hypothesis-profile=default` searches again.
    rules = {"derandomize": True, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("repeatable", max_examples=cases(40, 100), **rules)
    settings.load_profile(config.getoption("--hypothesis-profile") or "repeatable")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the product as users get it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=TESTS.parent, capture_output=True, check=True, timeout=PATIENCE_S)
    return next(folder.glob("*.whl"))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every drawing of a report blank, for tests that look at the rest: drawing is what takes the time."""
    from aquamend_lab.analysis import charts
    from aquamend_lab.analysis.charts import Drawing

    blank = Drawing(b'<svg viewBox="0 0 1 1"></svg>', b"")
    monkeypatch.setattr(charts, "drawing", lambda name, *, height_in, draw: blank)


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
        needs_support: bool = False,
        **rest: object,
    ) -> InformationState:
        graph = RecoveryGraph(
            [Belief("lid", residual, may_keep, needs_support=needs_support)],
            [Action("lift", undo=undo, executed=True, reversible=reversible)],
            probes or [Probe(name, 0.5) for name in kernels or {}],
            [("lid", "lift", "belief_to_action"), *((name, "lid", "detection") for name in kernels or {})],
        )
        hypotheses = [Hypothesis("on", 1 - q), Hypothesis("off", q, ("lid",))]
        model = JointModel(hypotheses, kernels or {}, declarations=declarations)
        return InformationState.alarmed(Problem(graph, model, **rest))

    return make


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
    return lid_state(Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)}, outliers=0.0))


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


@pytest.fixture
def cup_state() -> Callable[..., InformationState]:
    """Return a level, a target and a camera that are corrected by declaring another value.

    The target needs support. ``weigh`` reads the level without a source, ``look`` through the camera, which ``test``
    checks.
    """

    def make(*, may_keep: bool = True, test_uses: float = 1) -> InformationState:
        graph = RecoveryGraph(
            beliefs=[
                Belief("level", 10, declared=18.0, tolerance=3.0),
                Belief("target", 80, may_keep, declared="A", needs_support=True),
                Belief("camera", 5, declared="sound"),
            ],
            actions=[Action("grasp", undo=4, executed=True), Action("aim", undo=1, executed=True)],
            probes=[
                Probe("look", 0.2, source="camera"),
                Probe("weigh", 0.6),
                Probe("test", 0.1, max_uses=test_uses),
            ],
            edges=[
                ("look", "level", "detection"),
                ("weigh", "level", "detection"),
                ("test", "camera", "detection"),
                ("level", "target", "inference"),
                ("target", "grasp", "belief_to_action"),
                ("camera", "aim", "belief_to_action"),
            ],
        )
        hypotheses = [
            Hypothesis("fine", 0.5, cause=Cause.FALSE_ALARM),
            Hypothesis("more", 0.3, truth={"level": 45.0, "target": "B"}, cause=Cause.EXTERNAL),
            Hypothesis("off", 0.2, truth={"camera": "biased"}, cause=Cause.SELF_ERROR),
        ]
        kernels: dict[str, Kernel] = {
            "look": Discrete(["low", "high"], {"fine": [0.9, 0.1], "more": [0.1, 0.9], "off": [0.5, 0.5]}),
            "weigh": Discrete(["18", "45"], {"fine": [0.98, 0.02], "more": [0.02, 0.98], "off": [0.95, 0.05]}),
            "test": Discrete(["good", "bad"], {"fine": [0.9, 0.1], "more": [0.9, 0.1], "off": [0.05, 0.95]}),
        }
        declared = [Declaration("A is least full", "target", support=("look",))]
        problem = Problem(graph, JointModel(hypotheses, kernels, declarations=declared), escalate=60.0, unit="s")
        return InformationState.alarmed(problem)

    return make


@pytest.fixture(scope="session")
def valued_file() -> Callable[..., dict[str, Any]]:
    """Return a maker of random problem files with values: spreads, sources, the need of support."""
    return lambda seed, **options: valued_data(random.Random(seed), **options)


@pytest.fixture(scope="session")
def blinded() -> Callable[..., dict[str, Any]]:
    """Return a problem file with one more probe, "blind", which answers alike whatever is true.

    Some declarations rest on it. It costs next to nothing, so that nearly every budget allows it.
    """
    return _blinded


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
def valued_problem() -> Callable[[int], Problem]:
    """Return a maker of small random problems in which corrections need values, and values evidence."""
    return lambda seed: parse_problem(valued_data(random.Random(seed), max_beliefs=3, max_total_uses=3))


@pytest.fixture(scope="session")
def random_problem() -> Callable[..., Problem]:
    """Return a maker of small problems; ``exact`` ones have dyadic numbers, so that equal losses are equal bits."""
    return _random_problem


@pytest.fixture(scope="session")
def enumerated_stop() -> Callable[[InformationState], tuple[float, object]]:
    """Return V_stop and its decision by trying all 2^n correction sets: names, ``"restart"`` or ``"escalate"``."""
    return _enumerated_stop


@pytest.fixture(scope="session")
def reachable() -> Callable[[RecoveryGraph, str], set[str]]:
    """Return the executed actions that a depth-first search from a belief finds."""
    return _reachable


def _random_problem(
    rng: random.Random, *, exact: bool = False, gaussian: bool = False, beliefs: int = 5, probes: int = 3
) -> Problem:
    def amount(most: int) -> float:
        return rng.randrange(4 * most + 1) / 4 if exact else rng.uniform(0, most)

    def distribution(size: int) -> list[float]:
        if exact:
            cuts = sorted(rng.randrange(17) for _ in range(size - 1))
            return [(b - a) / 16 for a, b in zip([0, *cuts], [*cuts, 16], strict=True)]
        weights = [rng.choice([0.0, rng.random(), rng.random()]) for _ in range(size)]
        weights[rng.randrange(size)] += 0.5
        return [w / math.fsum(weights) for w in weights]

    def some(letter: str, least: int, most: int) -> list[str]:
        return [f"{letter}{i}" for i in range(max(rng.randint(least, most), rng.randint(least, most)))]

    b, a, p, o, h = some("b", 1, beliefs), some("a", 0, 5), some("p", 0, probes), some("o", 0, 3), some("h", 1, 6)
    edges = [(x, y, "inference") for x, y in combinations(b, 2) if rng.random() < 0.25]
    edges += [(x, y, "belief_to_action") for x in b for y in a if rng.random() < 0.4]
    edges += [(x, y, rng.choice(["action_causal", "temporal"])) for x, y in combinations(a, 2) if rng.random() < 0.25]
    measured = {name: rng.choice(b) for name in p}
    edges += [(x, y, rng.choice(["detection", "aggregation"])) for x, y in measured.items()]

    def action(name: str) -> Action:
        executed, reversible = rng.random() < 0.8, rng.random() < 0.93
        if o and rng.random() < 0.4:
            used = tuple(rng.sample(o, rng.randint(1, len(o))))
            return Action(name, operations=used, executed=executed, reversible=reversible)
        return Action(name, undo=1 + amount(7), executed=executed, reversible=reversible)

    graph = RecoveryGraph(
        [Belief(name, amount(12), may_keep=rng.random() < 0.9) for name in b],
        [action(name) for name in a],
        [Probe(name, amount(1) / 4, max_uses=rng.choice([1, 1, 2])) for name in p],
        edges,
        [Operation(name, amount(4)) for name in o],
    )
    priors = distribution(len(h))
    failed = {n: [x for x in b if rng.random() < 0.35] if i or rng.random() < 0.2 else [] for i, n in enumerate(h)}
    hypotheses = [Hypothesis(n, q, failed[n]) for n, q in zip(h, priors, strict=True)]
    kernels = {}
    for name, belief in measured.items():
        fine, odd = (rng.choice([0.0, 1 / 16, 0.25]) for _ in range(2))
        if gaussian and (name == "p0" or rng.random() < 0.5):
            kernels[name] = Gaussian({n: (2 * (belief in failed[n]) + rng.random(), rng.uniform(0.5, 2)) for n in h})
        elif rng.random() < 0.7:
            rows = {n: [odd, 1 - odd] if belief in failed[n] else [1 - fine, fine] for n in h}
            kernels[name] = Discrete(["fine", "odd"], rows)
        else:
            size = rng.randint(1, 3)
            kernels[name] = Discrete([f"y{i}" for i in range(size)], {n: distribution(size) for n in h})
    alarm = None if exact or rng.random() < 0.5 else Alarm({n: rng.uniform(0.1, 1) for n in h}, b[:1])
    return Problem(
        graph,
        JointModel(hypotheses, kernels, alarm),
        sensing_budget=amount(1) / 2 if rng.random() < 0.3 else math.inf,
        restart=amount(20) if rng.random() < 0.4 else None,
        escalate=amount(25) if rng.random() < 0.6 else None,
    )


def _blinded(data: dict[str, Any], seed: int, *, gaussian: bool | None = None) -> dict[str, Any]:
    rng = random.Random(seed)
    if not (rng.random() < 0.5 if gaussian is None else gaussian):
        shares = [rng.random() + 0.01 for _ in range(rng.randint(1, 4))]
        row = [share / sum(shares) for share in shares]
        kernel = {"outcomes": [f"o{i}" for i in range(len(row))], "likelihood": {"default": row}}
    else:
        kernel = {"gaussian": {"default": [rng.uniform(-3, 3), rng.uniform(0.1, 2)]}}
    beliefs = [belief["name"] for belief in data["beliefs"]]
    probe = {"name": "blind", "cost": 1e-6, "max_uses": 3}
    if rng.random() < 0.2:
        probe["source"] = rng.choice(beliefs)
    edges = [["blind", belief, "detection"] for belief in beliefs if rng.random() < 0.7]
    declarations = [dict(entry) for entry in data.get("declarations", [])]
    for entry in declarations:
        if rng.random() < 0.1:
            entry["support"] = [*entry.get("support", []), "blind"]
    return {
        **data,
        "probes": [*data.get("probes", []), probe],
        "edges": [*data.get("edges", []), *edges],
        "kernels": {**data.get("kernels", {}), "blind": kernel},
        **({"declarations": declarations} if declarations else {}),
    }


def _reachable(graph: RecoveryGraph, belief: str) -> set[str]:
    found, frontier = set(), [belief]
    while frontier:
        name = frontier.pop()
        if name not in found:
            found.add(name)
            frontier += [target for source, target, _ in graph.edges if source == name]
    return {action.name for action in graph.actions if action.executed and action.name in found}


def _enumerated_stop(state: InformationState) -> tuple[float, object]:
    graph, problem = state.problem.graph, state.problem
    operations = {operation.name: operation.cost for operation in graph.operations}
    actions = {action.name: action for action in graph.actions}
    masses = list(zip(problem.model.hypotheses, state.posterior, strict=True))
    q = {b.name: math.fsum(float(p) for h, p in masses if b.name in h.failed) for b in graph.beliefs}

    def loss(correct: tuple[Belief, ...]) -> float:
        undone = set().union(*(_reachable(graph, belief.name) for belief in correct))
        if any(not actions[name].reversible for name in undone):
            return math.inf
        own = [actions[name].undo or 0.0 for name in undone]
        shared = {operation for name in undone for operation in actions[name].operations}
        kept = [belief for belief in graph.beliefs if belief not in correct and q[belief.name] > 0]
        residual = [q[belief.name] * belief.residual if belief.may_keep else math.inf for belief in kept]
        return math.fsum([*own, *(operations[name] for name in shared), *residual])

    sets = [chosen for size in range(len(graph.beliefs) + 1) for chosen in combinations(graph.beliefs, size)]
    options: list[tuple[float, object]] = [(loss(chosen), tuple(belief.name for belief in chosen)) for chosen in sets]
    if problem.restart is not None and all(action.reversible or not action.executed for action in graph.actions):
        options.append((problem.restart, "restart"))
    options.append((math.inf if problem.escalate is None else problem.escalate, "escalate"))
    least = min(value for value, _ in options)
    return next(option for option in options if option[0] <= least + 1e-9) if least < math.inf else options[-1]
