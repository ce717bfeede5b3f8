"""Every ending at one price: V_stop of many branches at once, its slopes, its relaxation, and the minimum cut."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend.belief import InformationState
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken
from aquamend.decision import best_terminal, closures
from aquamend.decision.endings import ROWS_AT_ONCE, endings_of, worst_case_endings
from aquamend.decision.probe_value import clairvoyant_losses, could_answer
from aquamend.files import parse_problem
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel

NOBODY = np.zeros(0, dtype=bool)


def branch_weights(n, seed, *, size=24):
    """Return unnormalised joint weights, many of them zero, none of the rows empty."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 0.5), size=size) * (rng.random((size, n)) < 0.8)
    weights[:, int(rng.integers(n))] += 1e-3
    return weights * rng.uniform(0.01, 2.0, (size, 1))


def said(state):
    """Return who speaks for what at a state."""
    return spoken(endings_of(state.problem).support, state)


def some_speak(support, seed, size=()):
    """Return who may speak for what, drawn at random; nobody's pairs never do, and what did before the alarm does."""
    n_probes = int(support.probe.max(initial=0))
    drawn = np.random.default_rng(seed).random((*size, len(support.probe))) < 0.5
    return (drawn & (support.probe < n_probes)) | support.before


def conditions_of(endings, sums):
    """Return which conditions on the posterior are broken, ``(n_conditions, n_branches)``."""
    support, mass = endings.support, sums[:, 0]
    wrong = sums[:, support.column] / support.weight
    below_half = np.hstack([wrong, sums[:, support.sources]]) < REJECT_AT * mass[:, None]
    return np.hstack([below_half, wrong > 0.0]).T


def with_plans(problem, seed):
    """Return the problem with plans of its own: flat or varying, barred in places, some of them last resorts."""
    rng, n = random.Random(seed), len(problem.model.hypotheses)

    def losses():
        if rng.random() < 0.3:
            return np.full(n, rng.uniform(1, 30))
        return np.array([math.inf if rng.random() < 0.15 else rng.uniform(0, 30) for _ in range(n)])

    plans = [Plan(f"plan {k}", losses(), last_resort=rng.random() < 0.4) for k in range(rng.randint(0, 3))]
    restart = Plan("afresh", losses()) if rng.random() < 0.3 else problem.restart
    return replace(problem, plans=plans, restart=restart, corrections=rng.random() < 0.85)


@pytest.fixture(scope="module")
def planned(valued_file, after_some_answers):
    """Return a state of a random problem with values that has plans of its own as well."""
    return lambda seed: after_some_answers(with_plans(parse_problem(valued_file(seed)), seed), seed)


def test_v_stop_is_the_loss_of_the_best_terminal_decision(planned):
    finite = 0
    for seed in range(250):
        state = planned(seed)
        endings = endings_of(state.problem)
        (value,) = endings.values((state.posterior @ endings.features)[None, :], said(state))
        assert value == pytest.approx(best_terminal(state).loss), seed
        finite += math.isfinite(value)
    assert 150 < finite < 250


def test_slopes_times_sums_are_the_values_and_infinite_where_these_are(planned):
    infinite = 0
    for seed in range(250):
        state = planned(seed)
        endings = endings_of(state.problem)
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        values, slopes = endings.values(sums, said(state)), endings.slopes(sums.copy(), said(state)).as_matrix()
        finite = np.isfinite(values)
        np.testing.assert_allclose((slopes[finite] * sums[finite]).sum(axis=1), values[finite], atol=1e-9)
        assert np.isinf(slopes[~finite, 0]).all(), seed
        infinite += int((~finite).sum())
    assert infinite > 50


def test_between_two_branches_of_equal_slopes_and_conditions_the_price_is_the_same_function(planned):
    """Equal slopes are one decision: mixing the two branches adds up their values, if support does not change."""
    compared = 0
    for seed in range(120):
        state = planned(seed)
        endings = endings_of(state.problem)
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        slopes, broken = endings.slopes(sums.copy(), said(state)).as_matrix(), conditions_of(endings, sums)
        values = endings.values(sums, said(state))
        for i in range(len(sums) - 1):
            alike = (slopes[i] == slopes[i + 1]).all() and (broken[:, i] == broken[:, i + 1]).all()
            if alike and np.isfinite(values[[i, i + 1]]).all():
                (mixed,) = endings.values((sums[i] + sums[i + 1])[None, :], said(state))
                assert mixed == pytest.approx(values[i] + values[i + 1], abs=1e-9), seed
                compared += 1
    assert compared > 300


def test_leaving_out_support_never_raises_a_value_and_makes_it_concave(planned):
    lower = 0
    for seed in range(250):
        state = planned(seed)
        endings = endings_of(state.problem)
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        values = endings.values(sums, said(state))
        relaxed = endings.values(sums, said(state), relaxed=True)
        assert (relaxed <= values + 1e-9).all(), seed
        lower += int((relaxed < values - 1e-9).sum())
        half = len(sums) // 2
        share = np.linspace(0, 1, half)[:, None]
        mixed = endings.values(share * sums[:half] + (1 - share) * sums[half:], said(state), relaxed=True)
        ends = (np.where(share.T > 0, relaxed[:half], 0.0) * np.where(share.T > 0, share.T, 1.0))[0]
        ends = ends + (np.where(share.T < 1, relaxed[half:], 0.0) * np.where(share.T < 1, 1 - share.T, 1.0))[0]
        finite = np.isfinite(mixed)
        assert (mixed[finite] >= ends[finite] - 1e-9).all(), seed
    assert lower > 100


def test_relaxed_values_ask_for_evidence_and_for_nothing_else_of_support(valued_file):
    """Where there is evidence for all, they are those of the same problem without the need of it; else never less."""
    same = more = 0
    for seed in range(100):
        data = valued_file(seed)
        free = {**data, "beliefs": [{k: v for k, v in b.items() if k != "needs_support"} for b in data["beliefs"]]}
        ruled, unruled = endings_of(parse_problem(data)), endings_of(parse_problem(free))
        weights = branch_weights(len(ruled.features), seed)
        speaks = some_speak(ruled.support, seed)
        relaxed = ruled.values(weights @ ruled.features, speaks, relaxed=True)
        without = unruled.values(weights @ unruled.features, NOBODY)
        assert (relaxed >= without - 1e-9).all(), seed
        if np.logical_or.reduceat(speaks, ruled.support.first).all() if len(speaks) else True:
            np.testing.assert_allclose(relaxed, without, atol=1e-9)
            same += 1
        more += int((relaxed > without + 1e-9).any())
    assert same > 20
    assert more > 5


def test_who_speaks_only_adds_options(planned):
    """But a last resort is none where something else has become one."""
    fell = 0
    for seed in range(250):
        state = planned(seed)
        endings = endings_of(state.problem)
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        more = said(state) | some_speak(endings.support, seed)
        for relaxed in (False, True):
            before = endings.values(sums, said(state), relaxed=relaxed)
            after = endings.values(sums, more, relaxed=relaxed)
            last_resort = bool(endings.others.last_resorts) and not relaxed
            assert last_resort or (after <= before + 1e-9).all(), seed
            fell += int((after < before - 1e-9).sum())
    assert fell > 100


def test_who_speaks_may_differ_from_branch_to_branch(planned):
    differed = 0
    for seed in range(150):
        state = planned(seed)
        endings = endings_of(state.problem)
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        speaks = some_speak(endings.support, seed, (len(sums),))
        each = [endings.values(row[None, :], who)[0] for row, who in zip(sums, speaks, strict=True)]
        np.testing.assert_allclose(endings.values(sums, speaks), each, atol=1e-12)
        each = [endings.slopes(row[None, :].copy(), who).as_matrix()[0] for row, who in zip(sums, speaks, strict=True)]
        np.testing.assert_array_equal(endings.slopes(sums.copy(), speaks).as_matrix(), each)
        differed += bool((endings.values(sums, speaks) != endings.values(sums, said(state))).any())
    assert differed > 10


def test_support_without_any_source_or_new_value_is_priced():
    """A belief that needs support and is repaired, and instruments that trust no source."""
    graph = RecoveryGraph(
        [Belief("b", 5.0, needs_support=True)],
        [Action("a", undo=2.0, executed=True)],
        [Probe("p", 0.1)],
        [("p", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    model = JointModel(
        [Hypothesis("h", 0.7), Hypothesis("k", 0.3, ("b",))], {"p": Discrete(["y"], {"h": [1], "k": [1]})}
    )
    endings = endings_of(Problem(graph, model))
    sums = np.array([[0.7, 0.3]]) @ endings.features
    assert endings.support.probe.tolist() == [1, 0]  # nobody, who never speaks, and p
    assert endings.values(sums, np.array([False, False])).tolist() == [2.0]
    assert endings.values(sums, np.array([False, True])) == pytest.approx([1.5])


@settings(max_examples=150, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random), t=st.floats(0, 1))
def test_the_value_of_stopping_is_concave_in_the_posterior(random_problem, rng, t):
    problem = random_problem(rng)
    endings = endings_of(problem)
    n = len(endings.features)
    p, q = (np.array([rng.choice([0.0, rng.random()]) for _ in range(n)]) + 1e-3 for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    mixed, at_p, at_q = endings.values(np.array([t * p + (1 - t) * q, p, q]) @ endings.features, NOBODY)
    if math.isfinite(mixed):
        assert mixed >= t * at_p + (1 - t) * at_q - 1e-9


@pytest.mark.parametrize("residual", [0.0, 5e-324, 1e-200])
def test_what_may_not_be_kept_is_corrected_however_little_its_failure_costs(residual):
    edges = [("b", "a", "belief_to_action")]
    graph = RecoveryGraph([Belief("b", residual, may_keep=False)], [Action("a", undo=1.0, executed=True)], [], edges)
    problem = Problem(graph, JointModel([Hypothesis("sound", 0.5), Hypothesis("broken", 0.5, ("b",))], {}))
    assert best_terminal(InformationState.alarmed(problem)).loss == 1.0


@settings(max_examples=50, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random), mass=st.floats(1e-6, 1e3))
def test_the_value_of_an_unnormalised_branch_is_its_weight_times_its_value(random_problem, rng, mass):
    problem = random_problem(rng)
    endings, state = endings_of(problem), InformationState.alarmed(problem)
    (value,) = endings.values((mass * state.posterior @ endings.features)[None, :], said(state))
    assert value == pytest.approx(mass * best_terminal(state).loss, rel=1e-9, abs=1e-9 * mass)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), mass=st.floats(1e-6, 1e3))
def test_the_value_of_an_unnormalised_branch_is_its_weight_times_its_value_under_support_too(walked, seed, mass):
    state = walked(seed)
    endings = endings_of(state.problem)
    (value,) = endings.values((mass * state.posterior @ endings.features)[None, :], said(state))
    assert value == pytest.approx(mass * best_terminal(state).loss, rel=1e-9, abs=1e-9 * mass)


def test_many_branches_are_priced_as_one_by_one(random_problem, planned):
    for state in (InformationState.alarmed(random_problem(random.Random(5))), planned(4), planned(9)):
        endings = endings_of(state.problem)
        weights = branch_weights(len(state.posterior), 0, size=2 * ROWS_AT_ONCE + 7)
        sums = weights @ endings.features
        np.testing.assert_allclose(
            endings.values(sums, said(state))[::500],
            [endings.values(row[None, :], said(state))[0] for row in sums[::500]],
            rtol=1e-12,
        )


def test_an_impossible_branch_costs_nothing(planned):
    for seed in range(40):
        state = planned(seed)
        endings = endings_of(state.problem)
        if endings.corrections or endings.others.flat < math.inf:
            assert endings.values(np.zeros((2, endings.features.shape[1])), said(state)).tolist() == [0.0, 0.0], seed


def test_every_condition_of_support_has_a_margin_that_changes_its_sign_where_it_breaks(planned):
    compared = 0
    for seed in range(80):
        endings = endings_of(planned(seed).problem)
        weights = branch_weights(len(endings.features), seed)
        sums, margins = weights @ endings.features, weights @ endings.margins
        columns = [(c, w) for c, w in zip(endings.support.column, endings.support.weight, strict=True)]
        for column, weight in [*columns, *((c, 1.0) for c in endings.support.sources)]:
            distance = sums[:, column] / weight - 0.5 * sums[:, 0]
            off = np.minimum(np.abs(margins.T - distance), np.abs(margins.T + distance)).max(axis=1)
            assert off.min() < 1e-12, seed
            compared += 1
        assert endings.margins.shape[1] <= len(columns) + len(endings.support.sources)
    assert compared > 50


def test_features_of_which_it_matters_whether_they_are_zero_are_those_that_bar_something(planned):
    """Make any other feature a little larger than zero, and no value jumps; with one of these it may."""
    jumped = 0
    for seed in range(120):
        state = planned(seed)
        endings = endings_of(state.problem)
        speaks, exact = said(state), set(endings.exact_zeros.tolist())
        sums = branch_weights(len(state.posterior), seed) @ endings.features
        before = endings.values(sums, speaks)
        for column in range(1, sums.shape[1]):
            lifted = sums.copy()
            lifted[:, column] = np.where(sums[:, column] == 0.0, 1e-200, sums[:, column])
            with np.errstate(invalid="ignore"):
                jumps = ~((np.abs(endings.values(lifted, speaks) - before) < 1e-9) | np.isinf(before))
            assert column in exact or not jumps.any(), (seed, column)
            jumped += bool(jumps.any())
    assert jumped > 10


def test_a_clairvoyant_loses_at_most_what_any_posterior_loses_whoever_speaks_by_then(planned):
    for seed in range(120):
        state = planned(seed)
        endings = endings_of(state.problem)
        everybody = endings.support.once_answered(could_answer(state))
        assert (said(state) <= everybody).all(), seed
        clairvoyant = endings.clairvoyant(everybody)
        weights = branch_weights(len(state.posterior), seed)
        for speaks in (said(state), everybody, everybody & some_speak(endings.support, seed)):
            values = endings.values(weights @ endings.features, speaks)
            bound = [np.dot(w[w > 0], clairvoyant[w > 0]) for w in weights]
            assert (values >= np.array(bound) - 1e-9).all(), seed


# Minimum cuts.


def test_cutting_decides_as_listing_does(random_problem, monkeypatch, solver):
    """The same problems twice: closures listed, and solved by minimum cut."""
    cut, count = 0, cases(100, 300)
    for seed in range(count):
        states = []
        for most in (4096, 1):
            with monkeypatch.context() as patch:
                patch.setattr(closures, "MOST_CLOSURES", most)
                problem = random_problem(random.Random(seed), exact=seed % 2 == 0, beliefs=6)
                endings_of(problem)
                worst_case_endings(problem)
            states.append(InformationState.alarmed(problem))
        listed, solved = states
        assert not endings_of(listed.problem).groups.cuts
        cut += bool(endings_of(solved.problem).groups.cuts)
        assert best_terminal(solved).loss == pytest.approx(best_terminal(listed).loss, rel=1e-12, abs=1e-9), seed
        assert best_terminal(solved).decision == best_terminal(listed).decision, seed
        sums = branch_weights(len(listed.posterior), seed, size=5) @ endings_of(listed.problem).features
        np.testing.assert_allclose(
            endings_of(solved.problem).values(sums, NOBODY),
            endings_of(listed.problem).values(sums, NOBODY),
            rtol=1e-9,
        )
    assert cut > 0.3 * count


def test_cutting_decides_as_listing_does_where_corrections_need_values_and_support(
    valued_file, after_some_answers, monkeypatch, solver
):
    cut, count = 0, cases(80, 250)
    for seed in range(count):
        listed = after_some_answers(with_plans(parse_problem(valued_file(seed)), seed), seed)
        with monkeypatch.context() as patch:
            patch.setattr(closures, "MOST_CLOSURES", 1)
            problem = with_plans(parse_problem(valued_file(seed)), seed)
            endings = endings_of(problem)
        if not endings.groups.cuts:
            continue
        cut += 1
        origin = listed.origin and replace(listed.origin, problem=problem)
        solved = replace(listed, problem=problem, origin=origin)
        assert best_terminal(solved).loss == pytest.approx(best_terminal(listed).loss, rel=1e-9), seed
        assert best_terminal(solved).decision == best_terminal(listed).decision, seed
        sums = branch_weights(len(listed.posterior), seed, size=6) @ endings.features
        for relaxed in (False, True):
            np.testing.assert_allclose(
                endings.values(sums, said(listed), relaxed=relaxed),
                endings_of(listed.problem).values(sums, said(listed), relaxed=relaxed),
                rtol=1e-9,
            )
        values, slopes = endings.values(sums, said(listed)), endings.slopes(sums.copy(), said(listed)).as_matrix()
        finite = np.isfinite(values)
        np.testing.assert_allclose((slopes[finite] * sums[finite]).sum(axis=1), values[finite], rtol=1e-8, atol=1e-8)
        assert (clairvoyant_losses(solved) <= clairvoyant_losses(listed) + 1e-9).all(), seed
    assert cut > 0.16 * count


def test_the_operations_of_a_cut_group_are_charged_once(monkeypatch):
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    graph = RecoveryGraph(
        [Belief("x", 5.0), Belief("y", 5.0)],
        [Action(name, operations=("arm",), executed=True) for name in ("ax", "ay")],
        (),
        [("x", "ax", "belief_to_action"), ("y", "ay", "belief_to_action")],
        [Operation("arm", 3.0)],
    )
    hypotheses = [Hypothesis("hx", 0.4, ("x",)), Hypothesis("hy", 0.4, ("y",)), Hypothesis("ok", 0.2)]
    state = InformationState.start(Problem(graph, JointModel(hypotheses)))
    assert endings_of(state.problem).groups.cuts
    assert best_terminal(state).loss == 3.0
