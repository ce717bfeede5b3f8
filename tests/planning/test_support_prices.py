"""What rules of support cost at least: never more than the optimum, for every plan there is, rounding ones included."""

import math
import random
from typing import Any

import numpy as np
import pytest

from aquamend import (
    Action,
    Belief,
    Discrete,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
)
from aquamend.arrays import Floats
from aquamend.decision.endings import endings_of
from aquamend.files import parse_problem
from aquamend.planning import exact
from aquamend.planning.evidence_tree import EvidenceTree
from aquamend.planning.finite_probes import (
    Answers,
    better_informed,
    discrete_answers,
    garbled,
    less_informed,
    reads_numbers,
)
from aquamend.planning.limits import Limits
from aquamend.planning.search import search
from aquamend.planning.support_prices import SupportPrices
from aquamend.problem.model.kernels import Outcomes, Readings
from tests.reference.generator import extra_problem, ruled_problem, valued_problem
from tests.tiers import cases


def doubtful(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Let more beliefs need support, more evidence hang on a source, and some hypotheses be far more probable."""
    for belief in data["beliefs"]:
        if rng.random() < 0.6:
            belief["needs_support"] = True
    for probe in data["probes"]:
        if rng.random() < 0.6:
            probe["source"] = rng.choice(data["beliefs"])["name"]
        if rng.random() < 0.5:
            probe["cost"] = rng.choice([0.05, 0.5, 2.0])
    prior = np.array([hypothesis["prior"] for hypothesis in data.get("hypotheses", ())])
    if len(prior) and prior.min() > 0.0 and rng.random() < 0.5:
        prior = prior ** rng.choice([0.3, 2.0, 4.0])
        for hypothesis, p in zip(data["hypotheses"], prior / prior.sum(), strict=True):
            hypothesis["prior"] = float(p)
    if rng.random() < 0.6:
        data["escalate"] = rng.choice([5.0, 30.0, 100.0])
    return data


def doubtful_state(seed: int, **options: Any) -> InformationState | None:
    """A random state at which a rule of support and a probe are left, now and then after an answer; None elsewhere."""
    rng = random.Random(seed)
    make = (valued_problem, extra_problem, valued_problem, ruled_problem)[0 if options else seed % 4]
    state = InformationState.alarmed(parse_problem(doubtful(make(rng, **options), rng)))
    legal = [view for view in state.legal if isinstance(view.channel, Outcomes)]
    if seed % 3 == 0 and legal and state.contradiction is None:
        state = state.after(Observation(legal[0].name, rng.choice(legal[0].channel.outcomes)))
    ready = state.contradiction is None and state.legal and SupportPrices.accepts(state)
    return state if ready else None


def listed_state(seed: int) -> InformationState | None:
    """One of those where every probe has outcomes."""
    state = doubtful_state(seed)
    return None if state is None or reads_numbers(state) else state


@pytest.mark.parametrize("relaxed", [False, True])
def test_no_tree_has_a_lower_bound_above_the_optimum(relaxed):
    compared = listed = doubted = 0
    for seed in range(cases(300, 2000)):
        state = listed_state(seed)
        table = None if state is None else exact.solve(state)
        if state is None or table is None or math.isinf(table.loss):
            continue
        tree, rounds = EvidenceTree(state, discrete_answers(state), relaxed=relaxed), 0
        slack = 1e-8 * max(1.0, table.loss)
        while True:
            assert tree.bounds.lower <= table.loss + slack, (seed, rounds)
            assert relaxed or tree.bounds.upper >= table.loss - slack, (seed, rounds)
            rounds += 1
            if rounds > 200 or not tree.grow():
                break
        assert relaxed or tree.bounds.gap <= 1e-7, seed
        prices = SupportPrices(state)
        compared, listed, doubted = compared + 1, listed + (prices.n_lists > 1), doubted + prices.doubts_something
    assert compared > cases(150, 1000)
    assert listed > compared / 5
    assert doubted > 2


def test_what_stopping_costs_at_least_is_concave_and_never_above_what_it_costs():
    for seed in range(cases(60, 600)):
        state = listed_state(seed)
        if state is None:
            continue
        prices, endings, rng = SupportPrices(state), endings_of(state.problem), np.random.default_rng(seed)
        possible = state.posterior > 0.0
        some = rng.dirichlet(np.full(int(possible.sum()), 0.3), 40)
        posterior = np.zeros((40, len(possible)))
        posterior[:, possible] = some
        answered = np.repeat(rng.random((1, len(state.answered))) < 0.5, 40, axis=0)
        speaks = endings.support.once_answered(answered)
        least = prices.stop(posterior, answered)
        assert (least <= endings.values(posterior @ endings.features, speaks) + 1e-9).all(), seed
        middle = prices.stop(0.5 * (posterior[::2] + posterior[1::2]), answered[::2])
        outer = 0.5 * (least[::2] + least[1::2])
        with np.errstate(invalid="ignore"):
            assert (np.isinf(middle) | (middle >= outer - 1e-9)).all(), seed


def rounded(state: InformationState, channel: Readings, rng: np.random.Generator) -> Answers:
    """A probe of which one learns only in which interval, or in which of some heaps of intervals, its reading is."""
    cuts = np.unique(rng.choice(channel.sampled[0], int(rng.integers(1, 8))))
    cells = garbled(channel, cuts)
    if rng.random() < 0.5:
        heap = np.unique(rng.integers(0, 3, cells.shape[1]), return_inverse=True)[1]
        cells = cells @ np.eye(int(heap.max()) + 1)[heap]
    happens = cells[state.posterior > 0.0].any(axis=0)
    return Answers(cells[:, happens], np.zeros(len(cells)), np.arange(int(happens.sum())), cuts=cuts)


def test_no_plan_beats_the_lower_bound_by_rounding_what_it_reads():
    """Rounding may pay under rules of support, so the bound has to hold for every way of doing that."""
    compared = near = 0
    for seed in range(cases(40, 300)):
        state = doubtful_state(seed, gaussian=True, max_total_uses=3)
        if state is None or not reads_numbers(state):
            continue
        rng = np.random.default_rng(seed)
        below, least = grown(EvidenceTree(state, better_informed(state, 24), relaxed=True)), math.inf
        coarse = [view.channel for view in state.legal]
        for _ in range(4):
            answers = [
                rounded(state, channel, rng) if isinstance(channel, Readings) else own
                for channel, own in zip(coarse, less_informed(state, 8), strict=True)
            ]
            least = min(least, grown(EvidenceTree(state, answers)).bounds.upper)
        assert below.bounds.lower <= least + 1e-8 * max(1.0, least), seed
        compared, near = compared + 1, near + (below.bounds.lower > 0.9 * least)
    assert compared > cases(15, 100)
    assert near > compared / 3


def grown(tree: EvidenceTree) -> EvidenceTree:
    rounds = 0
    while tree.bounds.gap > 1e-6 * tree.bounds.upper and tree.work < 1e8 and rounds < 60 and tree.grow():
        rounds += 1
    return tree


def camera(biased: float, weigh: float | None = 1.5) -> InformationState:
    """A level that a camera saw, and that a scale may weigh, if there is one; the camera is tested now and then."""
    scale = [] if weigh is None else [Probe("weigh", cost=weigh)]
    names, noisy = ("fine", "biased", "spilt", "both"), [[0.9, 0.1], [0.1, 0.9]]
    kernels: dict[str, Any] = {"test": Discrete(["ok", "bad"], [noisy[0], noisy[1], noisy[0], noisy[1]])}
    if scale:
        kernels["weigh"] = Discrete(["same", "other"], [noisy[0], noisy[0], noisy[1], noisy[1]])
    kernels["look"] = Discrete(["same"], np.ones((4, 1)))
    level = Belief("level", 10.0, declared="full", needs_support=True)
    graph = RecoveryGraph(
        [level, Belief("camera", 40.0, declared="sound")],
        [Action("lift", undo=2.0, executed=True)],
        [Probe("look", cost=0.1, source="camera"), Probe("test", cost=0.3), *scale],
        [("look", "level", "detection"), ("test", "camera", "detection"), ("level", "lift", "belief_to_action")]
        + [("weigh", "level", "detection") for _ in scale],
    )
    truths: list[dict[str, str]] = [{}, {"camera": "biased"}, {"level": "low"}, {"level": "low", "camera": "biased"}]
    priors = [0.95 * (1 - biased), 0.95 * biased, 0.05 * (1 - biased), 0.05 * biased]
    hypotheses = [Hypothesis(name, p, truth=truth) for name, p, truth in zip(names, priors, truths, strict=True)]
    return InformationState.start(Problem(graph, JointModel(hypotheses, kernels), escalate=30.0))


def known(state: InformationState) -> Floats:
    """What each hypothesis costs at least at a state."""
    may = np.zeros_like(state.answered)
    may[[view.index for view in state.legal]] = True
    return SupportPrices(state).known(state.answered, may)


def test_a_camera_that_is_biased_has_to_be_weighed_past():
    """Either it is said to be biased, and then the level needs the scale, or it is not, which costs 40."""
    assert known(camera(0.7))[1] == pytest.approx(1.5)
    assert known(camera(0.7, weigh=100.0))[1] == pytest.approx(30.0)  # handing over is cheaper
    assert known(camera(0.7, weigh=None))[1] == pytest.approx(30.0)


def test_the_bounds_of_a_search_meet_where_a_camera_is_in_doubt():
    for biased in (0.02, 0.3, 0.5, 0.7, 0.98):
        state = camera(biased)
        table = exact.solve(state)
        assert table is not None
        bounds = search(state, Limits(gap=1e-9)).bounds
        assert bounds.lower == pytest.approx(table.loss, abs=1e-8)
        assert bounds.upper == pytest.approx(table.loss, abs=1e-8)
