"""Anytime planning: a certificate at every size and deadline, never a wrong one."""

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    AquaMend,
    Belief,
    Discrete,
    Exact,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Probe,
    Problem,
    RecoveryGraph,
    evaluate,
)
from aquamend.belief.support import spoken, spoken_by
from aquamend.decision import best_terminal, probe_values
from aquamend.decision.endings import endings_of
from aquamend.files import load_problem, parse_problem
from aquamend.planning import evidence_tree, exact
from aquamend.planning import search as search_module
from aquamend.planning.bounds import Bounds
from aquamend.planning.evidence_tree import EvidenceTree
from aquamend.planning.finite_probes import discrete_answers
from aquamend.planning.limits import Limits, progress
from aquamend.planning.search import search
from aquamend.policies import Lookahead
from aquamend.problem.model.kernels import Outcomes
from aquamend_lab.benchmarks.catalogue import SUITES
from tests.planning.conftest import random_state
from tests.reference.generator import random_problem, valued_problem
from tests.tiers import cases


@pytest.fixture(autouse=True, scope="module")
def untabulated():
    """Leave out the table of all evidence states, which would answer for most problems here before a search begins."""
    methods = search_module.METHODS
    search_module.METHODS = tuple(m for m in methods if not isinstance(m, search_module.TableBound))
    yield
    search_module.METHODS = methods


def optimum(state: InformationState) -> float:
    return exact.solve(state).loss


@given(seed=st.integers(0, 10_000), first=st.sampled_from([1, 30, 2000]))
@settings(max_examples=40, deadline=None)
def test_bounds_bracket_the_optimum_after_every_round(seed, first):
    state, heard = random_state(seed), []
    original = evidence_tree.FIRST_ANSWERS
    evidence_tree.FIRST_ANSWERS = first
    try:
        with progress(lambda bounds, _: heard.append(bounds)):
            search(state, Limits(gap=1e-6))
    finally:
        evidence_tree.FIRST_ANSWERS = original
    for bounds in heard:
        assert bounds.lower <= optimum(state) + 1e-9
        assert bounds.upper >= optimum(state) - 1e-9
    assert heard[-1].gap <= 1e-6


def test_bounds_bracket_the_optimum_where_corrections_need_values_and_support(referenced):
    """Support breaks concavity, which the search over discrete evidence does not need."""
    closed = 0
    for seed in range(80):
        state, reference = referenced(seed)
        bounds, optimum = search(state, Limits(gap=1e-6)).bounds, reference.optimum()
        assert bounds.lower <= optimum + 1e-9, seed
        assert bounds.upper >= optimum - 1e-9, seed
        closed += bounds.gap <= 1e-6
    assert closed == 80


@pytest.mark.slow
def test_bounds_meet_at_the_optimum_on_thousands_of_problems_of_both_kinds(both_kinds):
    for seed in range(1000, 3000):
        state, reference = both_kinds(seed)
        bounds, optimum = search(state, Limits(gap=1e-6)).bounds, reference.optimum()
        assert bounds.lower <= optimum + 1e-9, seed
        assert bounds.upper >= optimum - 1e-9, seed
        assert bounds.gap <= 1e-6, seed


def test_the_probe_planned_first_is_legal_and_begins_a_plan_that_beats_stopping(referenced):
    probed = 0
    for seed in range(100):
        state, reference = referenced(seed)
        plan = search(state, Limits(gap=1e-6))
        if plan.probe is None:
            continue
        probed += 1
        assert plan.probe in state.legal_probes
        assert reference.probe_loss(plan.probe, (), math.inf) <= plan.bounds.upper + 1e-9, seed
        assert plan.bounds.upper < best_terminal(state).loss or math.isinf(plan.bounds.upper), seed
    assert probed > 15


@pytest.mark.parametrize("seed", range(10))
def test_counting_all_uses_closes_the_gap(seed):
    state = random_state(seed, uses=1)
    plan = search(state, Limits())
    assert plan.bounds.lower == pytest.approx(optimum(state), abs=1e-7)
    assert plan.bounds.upper == pytest.approx(optimum(state), abs=1e-7)


@pytest.mark.parametrize("seed", range(cases(3, 6)))
def test_endless_yes_or_no_probes_get_a_certified_gap(seed):
    state = endless_state(seed)
    plan = search(state, Limits(gap=0.01))
    assert plan.bounds.gap <= 0.01
    if plan.probe is not None:
        assert plan.probe in state.legal_probes
        assert plan.bounds.upper < terminal_value(state)


def endless_state(seed: int) -> InformationState:
    """One of four beliefs failed, or none; each has a noisy yes-or-no probe that may be repeated without end."""
    rng = np.random.default_rng(seed)
    beliefs = [f"b{i}" for i in range(4)]
    graph = RecoveryGraph(
        beliefs=[Belief(b, residual=float(rng.uniform(5, 12))) for b in beliefs],
        actions=[Action(f"a{j}", undo=float(rng.uniform(1, 4)), executed=True) for j in range(3)],
        probes=[Probe(f"p{b}", cost=float(rng.uniform(0.2, 0.5)), max_uses=math.inf) for b in beliefs],
        edges=[(b, f"a{j}", "belief_to_action") for i, b in enumerate(beliefs) for j in {i % 3, (i + 1) % 3}],
    )
    right = rng.uniform(0.75, 0.95, (4, 2))
    kernels = {
        f"p{b}": Discrete(["no", "yes"], np.array([[1 - r[0], r[0]] if s == i else [r[1], 1 - r[1]] for s in range(5)]))
        for i, (b, r) in enumerate(zip(beliefs, right, strict=True))
    }
    priors = rng.dirichlet(np.full(5, 3.0))
    failed = [*((b,) for b in beliefs), ()]
    hypotheses = [Hypothesis(f"h{s}", float(p), f) for s, (p, f) in enumerate(zip(priors, failed, strict=True))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), restart=20.0))


def terminal_value(state: InformationState) -> float:
    return best_terminal(state).loss


@pytest.mark.parametrize("seed", range(8))
def test_no_policy_beats_the_lower_bound(seed):
    state = random_state(seed)
    lower = search(state, Limits(gap=0.1)).bounds.lower
    for policy in (AquaMend(), Lookahead(2), Exact()):
        assert evaluate(policy, state).expected_loss >= lower - 1e-9


def wordy_state(seed: int) -> InformationState:
    """Four hypotheses and three probes with twelve outcomes each, many of them rare."""
    rng = np.random.default_rng(seed)
    probes = ["p", "q", "r"]
    graph = RecoveryGraph(
        [Belief("a", residual=8.0), Belief("b", residual=5.0)],
        [Action("lift", undo=2.0, executed=True)],
        [Probe(name, cost=0.05, max_uses=1) for name in probes],
        [(p, "a", "detection") for p in probes] + [(belief, "lift", "belief_to_action") for belief in ("a", "b")],
    )
    failed = [(), ("a",), ("b",), ("a", "b")]
    hypotheses = [Hypothesis(f"h{s}", 0.25, f) for s, f in enumerate(failed)]
    kernels = {name: Discrete([f"y{k}" for k in range(12)], rng.dirichlet(np.full(12, 0.3), 4)) for name in probes}
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels)))


@pytest.mark.parametrize("seed", range(cases(4, 20)))
def test_rare_answers_left_together_are_bounded_and_come_apart_in_the_end(seed):
    state = wordy_state(seed)
    best, tree = optimum(state), EvidenceTree(state, discrete_answers(state))
    tree.grow()
    assert 1 < tree.n_nodes < 1 + 36
    while tree.grow():
        assert tree.bounds.lower <= best + 1e-9
        assert tree.bounds.upper >= best - 1e-9
    assert tree.bounds.gap <= 1e-9
    assert tree.bounds.upper == pytest.approx(best, abs=1e-9)


def tied_state(n: int, uses: float) -> InformationState:
    """One probe with n outcomes that are equally probable, and another that is more."""
    graph = RecoveryGraph(
        [Belief("a", residual=8.0)],
        [Action("lift", undo=2.0, executed=True)],
        [Probe("p", cost=0.1, max_uses=uses)],
        [("p", "a", "detection"), ("a", "lift", "belief_to_action")],
    )
    rows = np.array([[0.7, *[0.3 / n] * n], [0.4, *[0.6 / n] * n]])
    hypotheses = [Hypothesis("sound", 0.7), Hypothesis("failed", 0.3, ("a",))]
    kernels = {"p": Discrete([f"y{k}" for k in range(n + 1)], rows)}
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels)))


@pytest.mark.parametrize("n", [4, 5, 7, 10, 23])
def test_equally_probable_answers_come_apart_as_well(n):
    state = tied_state(n, uses=3)
    best, tree = optimum(state), EvidenceTree(state, discrete_answers(state))
    rounds = 0
    while tree.grow():
        rounds += 1
        assert rounds < 200
    assert tree.bounds.gap <= 1e-9
    assert tree.bounds.upper == pytest.approx(best, abs=1e-9)


def settled_state(data: dict[str, Any], power: float) -> InformationState:
    """The alarmed state of a problem where what is probable is far more so, and the rest next to impossible."""
    prior = np.array([hypothesis["prior"] for hypothesis in data["hypotheses"]]) ** power
    for hypothesis, p in zip(data["hypotheses"], prior / prior.sum(), strict=True):
        hypothesis["prior"] = float(p)
    return InformationState.alarmed(parse_problem(data))


def grown(state: InformationState) -> EvidenceTree:
    """A tree brought to the optimum, rules of support relaxed where there are some."""
    tree = EvidenceTree(state, discrete_answers(state), relaxed=endings_of(state.problem).ruled)
    rounds = 0
    while tree.bounds.gap > 1e-12 and tree.grow():
        rounds += 1
        assert rounds < 500
    return tree


def test_probes_that_cannot_pay_are_left_out_without_a_difference(monkeypatch):
    smaller = 0
    for seed in range(cases(150, 1500)):
        rng = random.Random(seed)
        data = random_problem(rng) if seed % 2 else valued_problem(rng)
        state = settled_state(data, power=[4, 8, 16][seed % 3])
        if state.contradiction is not None or not state.legal:
            continue
        without = grown(state)
        with monkeypatch.context() as patch:
            patch.setattr(evidence_tree, "MOST_STORIES", 0)
            everything = grown(state)
        assert without.bounds.lower == pytest.approx(everything.bounds.lower, abs=1e-9), seed
        assert without.bounds.upper == pytest.approx(everything.bounds.upper, abs=1e-9), seed
        smaller += without.n_nodes < everything.n_nodes
    assert smaller > cases(10, 100)


def scale_state(seed: int, uses: float = 1) -> InformationState:
    """Three weights and one scale: which of two beliefs failed, if any."""
    rng = np.random.default_rng(seed)
    graph = RecoveryGraph(
        [Belief("a", residual=8.0), Belief("b", residual=5.0)],
        [Action("lift", undo=float(rng.uniform(1, 4)), executed=True)],
        [Probe("weigh", cost=0.2, max_uses=uses)],
        [("weigh", "a", "detection"), ("a", "lift", "belief_to_action"), ("b", "lift", "belief_to_action")],
    )
    rows = np.column_stack([rng.uniform(0, 4, 3), rng.uniform(0.5, 1.5, 3)])
    priors = rng.dirichlet(np.full(3, 2.0))
    failed = [(), ("a",), ("b",)]
    hypotheses = [Hypothesis(f"h{s}", float(p), f) for s, (p, f) in enumerate(zip(priors, failed, strict=True))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"weigh": Gaussian(rows)})))


@pytest.mark.parametrize("seed", range(cases(5, 12)))
def test_one_use_of_a_scale_is_bounded_by_its_exact_value_and_closely(seed):
    state = scale_state(seed)
    values = probe_values(state)
    exact_loss = min(values.stop_loss, float(values.expected_loss[0]))
    bounds = search(state, Limits()).bounds
    assert bounds.lower <= exact_loss + 1e-9
    assert bounds.upper == pytest.approx(exact_loss, abs=1e-9)
    assert bounds.gap <= 0.03 * exact_loss


def rare(prior: float) -> InformationState:
    """Return a failure that may not be kept and hardly ever happens, and then not alone: two beliefs depend on it.

    Looking at ``a`` rules it out; nothing else does.
    """
    graph = RecoveryGraph(
        [Belief("a", residual=3.0), Belief("b", residual=5.0, may_keep=False)],
        [Action("lift", undo=4.0, executed=True)],
        [Probe("look", cost=0.2)],
        [("look", "a", "detection"), ("b", "lift", "belief_to_action")],
    )
    hypotheses = [Hypothesis("fine", 0.5), Hypothesis("a", 0.5 - prior, ["a"]), Hypothesis("both", prior, ["a", "b"])]
    kernel = Discrete(["y", "n"], {"fine": [1.0, 0.0], "a": [0.0, 1.0], "both": [0.0, 1.0]})
    return InformationState.start(Problem(graph, JointModel(hypotheses, {"look": kernel})))


@pytest.mark.parametrize("prior", [1e-3, 1e-8, 1e-10, 1e-12, 1e-100, 1e-300])
def test_what_hardly_ever_happens_is_never_taken_for_impossible(prior):
    """Half of the time looking saves the correction of what may not be kept, however improbable its failure."""
    state = rare(prior)
    assert optimum(state) == pytest.approx(0.2 + 0.5 * 4.0)
    bounds = search(state, Limits()).bounds
    assert bounds.lower <= optimum(state) + 1e-9
    assert bounds.upper == pytest.approx(optimum(state), abs=1e-9)


def test_improbable_failures_that_may_not_be_kept_make_no_certificate_wrong(valued_file):
    """Priors down to 1e-300, tiny and huge costs: every bound against the exact optimum."""
    compared = 0
    for seed in range(120):
        rng, data = np.random.default_rng(seed), valued_file(seed)
        for hypothesis in data["hypotheses"]:
            if rng.random() < 0.5:
                hypothesis["prior"] *= float(rng.choice([1e-6, 1e-9, 1e-10, 1e-12, 1e-20, 1e-300]))
        total = sum(hypothesis["prior"] for hypothesis in data["hypotheses"])
        for hypothesis in data["hypotheses"]:
            hypothesis["prior"] /= total
        for belief in data["beliefs"]:
            belief["may_keep"] = bool(rng.random() < 0.6) and belief.get("may_keep", True)
        for probe in data["probes"]:
            if rng.random() < 0.2:
                probe["cost"] = float(rng.choice([1e-300, 1e-12, 5e-324, 1e6]))
        data.pop("alarm", None)
        state = InformationState.alarmed(parse_problem(data))
        table = exact.solve(state)
        if table is None or math.isinf(table.loss):
            continue
        bounds = search(state, Limits(gap=1e-6)).bounds
        slack = 1e-9 * max(1.0, table.loss)
        assert bounds.lower <= table.loss + slack, seed
        assert bounds.upper >= table.loss - slack, seed
        compared += 1
    assert compared > 70


@pytest.mark.parametrize("uses", [3, 10**9, math.inf])
@pytest.mark.parametrize("cost", [1e-300, 5e-324])
@pytest.mark.filterwarnings("error")
def test_a_probe_that_costs_next_to_nothing_within_a_budget_is_planned_without_a_warning(cost, uses):
    graph = RecoveryGraph(
        [Belief("a", residual=8.0)],
        [Action("lift", undo=3.0, executed=True)],
        [Probe("look", cost=cost, max_uses=uses), Probe("dear", cost=1e100, max_uses=2**63)],
        [("look", "a", "detection"), ("a", "lift", "belief_to_action")],
    )
    noisy = Discrete(["y", "n"], [[0.9, 0.1], [0.2, 0.8]])
    model = JointModel([Hypothesis("fine", 0.6), Hypothesis("bad", 0.4, ["a"])], {"look": noisy, "dear": noisy})
    state = InformationState.start(Problem(graph, model, sensing_budget=4.0))
    table = exact.solve(state)
    assert (table is None) == (uses > 3)
    bounds = search(state, Limits(deadline_s=0.5)).bounds
    assert 0.0 <= bounds.lower <= bounds.upper <= best_terminal(state).loss
    if table is not None:
        assert table.loss == pytest.approx(bounds.upper, abs=1e-9)


def test_the_wrong_certificate_that_was_found_is_right():
    """A failure that may not be kept has prior 1e-10; the bounds were once 3.6355 and 3.6355."""
    state = InformationState.alarmed(load_problem(Path(__file__).parent / "lower_above_optimum.json"))
    bounds = search(state, Limits()).bounds
    assert bounds.lower == pytest.approx(3.1864095295, abs=1e-9)
    assert bounds.upper == pytest.approx(3.1864095295, abs=1e-9)
    assert optimum(state) == pytest.approx(3.1864095295, abs=1e-9)


def test_every_method_says_where_it_applies_and_bounds_the_optimum_there(both_kinds):
    methods = (*search_module.METHODS, search_module.TableBound())
    accepted = dict.fromkeys(methods, 0)
    for seed in range(40):
        state, reference = both_kinds(seed)
        for method in methods:
            if not method.accepts(state):
                continue
            accepted[method] += 1
            for plan in method.improve(state, Limits(gap=1e-6)):
                assert plan.bounds.lower <= reference.optimum() + 1e-9, (seed, method)
                assert plan.bounds.upper >= reference.optimum() - 1e-9, (seed, method)
    assert min(n for method, n in accepted.items() if not isinstance(method, search_module.ReadingsBound)) > 0


def test_a_table_of_all_evidence_states_is_the_optimum_with_its_first_probe():
    probed = 0
    for seed in range(20):
        state = random_state(seed)
        (plan,) = search_module.TableBound().improve(state, Limits())
        searched = search(state, Limits(gap=1e-9))
        assert plan.bounds.lower == plan.bounds.upper == pytest.approx(searched.bounds.upper, abs=1e-9)
        if plan.probe is not None:
            first = state.legal_probes.index(plan.probe)
            assert Lookahead(20).losses(state)[first] == pytest.approx(plan.bounds.upper, abs=1e-9)
            probed += 1
    assert probed > 5


def test_a_table_is_not_begun_without_the_room_or_the_time_for_it():
    table, state = search_module.TableBound(), random_state(0)
    assert len(list(table.improve(state, Limits()))) == 1
    assert not list(table.improve(state, Limits(memory=100.0)))
    assert not list(table.improve(state, Limits(deadline_s=0.0)))
    assert not table.accepts(endless_state(0))
    assert not table.accepts(scale_state(1))


def test_a_chain_of_probes_that_rule_out_one_change_each_takes_few_rounds():
    """Along the best probes such a tree has a single leaf; expanding it alone would take hundreds of rounds."""
    state, heard = SUITES["m1-depth-scaled-v1"].make(0, 5).state, []
    with progress(lambda bounds, _: heard.append(bounds)):
        search(state, Limits(gap=0.01))
    assert heard[-1].gap <= 0.01
    assert len(heard) < 60


@pytest.mark.slow
def test_where_rules_keep_the_gap_open_the_upper_bound_still_comes_down_to_its_own():
    """A tree with 224 cuts in all, solved by itself, has 4.6253 to 4.6257, and one of 112 has 4.6365 to 4.6373."""
    state = InformationState.alarmed(load_problem(Path(__file__).parents[2] / "examples" / "least_full_cup.yaml"))
    bounds = search(state, Limits()).bounds
    assert bounds.upper == pytest.approx(4.622, abs=0.003)
    assert 0.005 < bounds.gap / bounds.upper < 0.012


@pytest.mark.slow
@pytest.mark.parametrize("seed", [31, 53, 55, 76, 84, 118, 125])
def test_with_rules_the_optimum_of_exact_readings_is_hardly_above_the_upper_bound(valued_file, seed):
    """The bounds are for policies that may round what they read; one that may not loses 0.7 % more on the third."""
    state = InformationState.alarmed(parse_problem(valued_file(seed, gaussian=True, max_beliefs=3, max_total_uses=2)))
    assert len(endings_of(state.problem).support)
    found = integrated(state, state.posterior[None, :], {}, 320)[0]
    bounds = search(state, Limits(gap=1e-4, memory=1e8)).bounds
    assert bounds.lower * (1 - 1e-3) <= found <= bounds.upper * (1 + (8e-3 if seed == 55 else 3e-3))


def integrated(state: InformationState, weight: np.ndarray, said: dict[int, np.ndarray], n: int) -> np.ndarray:
    """Return the optimal losses at weights ``(n_rows, n_hypotheses)``, each reading being one of n exact ones.

    ``said`` has, for each probe used, the likelihood of its answer in each row.
    """
    endings = endings_of(state.problem)
    speaks = np.repeat(spoken(endings.support, state)[None, :], len(weight), axis=0)
    for m, likelihood in said.items():
        index = state.legal[m].index
        speaks[:, endings.support.pairs_of(index)] = spoken_by(endings.support, state, index, likelihood)
    best = endings.values(weight @ endings.features, speaks)
    for m, view in enumerate(state.legal):
        if m in said:
            continue
        channel = view.channel
        if isinstance(channel, Outcomes):
            table = channel.table
        else:
            sampled = channel.sampled[0]
            edges = np.interp(np.linspace(0, len(sampled) - 1, n + 1), np.arange(len(sampled)), sampled)
            density = channel.density((edges[1:] + edges[:-1]) / 2)
            table = density * np.diff(edges)[:, None]
            table = (table / table.sum(axis=0))[:, channel.of].T
        after = (weight[:, None, :] * table.T).reshape(-1, weight.shape[1])
        heard = {k: np.repeat(likelihood, table.shape[1], axis=0) for k, likelihood in said.items()}
        heard[m] = np.tile(table.T, (len(weight), 1))
        later = integrated(state, after, heard, n).reshape(len(weight), -1).sum(axis=1)
        best = np.minimum(best, view.cost * weight.sum(axis=1) + later)
    return best


def test_a_reading_is_a_matter_for_the_two_trees_alone():
    accepting = [method for method in search_module.METHODS if method.accepts(scale_state(1))]
    assert search_module.ReadingsBound in map(type, accepting)
    assert search_module.Evidence not in map(type, accepting)


def test_an_interrupt_ends_a_search_that_is_listened_to_with_the_bounds_reached():
    heard = []

    def impatient(bounds: Bounds, _: float) -> None:
        heard.append(bounds)
        if len(heard) == 3:
            raise KeyboardInterrupt

    with progress(impatient):
        plan = search(endless_state(1), Limits())
    assert len(heard) == 3
    assert plan.bounds == heard[-1]


def test_an_interrupt_that_nobody_waits_for_ends_the_program():
    class Interrupted:
        def accepts(self, state: InformationState) -> bool:
            raise KeyboardInterrupt

    methods = search_module.METHODS
    search_module.METHODS = (Interrupted(),)
    try:
        with pytest.raises(KeyboardInterrupt):
            search(endless_state(1), Limits())
    finally:
        search_module.METHODS = methods


def test_the_same_limits_give_the_same_bytes():
    first, second = (search(endless_state(3), Limits(gap=0.01, memory=1e6)) for _ in range(2))
    assert first == second
    assert first.bounds.gap > 0.01  # it ended for lack of memory


def test_no_search_goes_on_long_after_its_deadline():
    heard = []
    with progress(lambda bounds, after_s: heard.append(after_s)):
        search(endless_state(1), Limits(deadline_s=0.05))
    assert all(after_s < 0.05 for after_s in heard[:-1])
