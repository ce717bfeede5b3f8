"""What a probe is worth: theorems of the value of information, and numbers by hand."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.decision import best_terminal, closures, probe_values
from aquamend.decision.branches import branches_of
from aquamend.decision.detection import value_of_perfect_information
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import best_probe, clairvoyant_loss, clairvoyant_losses
from aquamend.decision.terminal import may_be_kept
from aquamend.problem.model import Discrete

SHARP = Discrete(["on", "off"], {"on": [1, 0], "off": [0, 1]})
NOISY = Discrete(["on", "off"], {"on": [0.9, 0.1], "off": [0.2, 0.8]})
BLIND = Discrete(["on", "off"], {"on": [0.3, 0.7], "off": [0.3, 0.7]})


def test_the_expected_loss_of_a_noisy_look_by_hand(lid):
    """Answer on (0.62): keep at 0.08·10; answer off (0.38): correct at 3."""
    values = probe_values(lid({"look": NOISY}))
    assert values.stop_loss == 3.0
    assert values.expected_loss[0] == pytest.approx(0.5 + 0.08 * 10 + 0.38 * 3)
    assert values.net_benefit[0] == pytest.approx(3.0 - 2.44)


def test_a_resolving_probe_costs_its_price_and_the_correction_where_it_is_due(lid):
    assert probe_values(lid({"look": SHARP})).expected_loss[0] == pytest.approx(0.5 + 0.4 * 3)


def test_a_blind_probe_loses_exactly_its_cost(lid):
    assert probe_values(lid({"look": BLIND})).net_benefit[0] == pytest.approx(-0.5)


def test_several_probes_are_valued_as_each_one_alone_and_in_the_order_asked(lid):
    state = lid({"look": NOISY, "blind": BLIND, "peek": SHARP})
    together = probe_values(state).expected_loss
    alone = [probe_values(state, [name]).expected_loss[0] for name in ("look", "blind", "peek")]
    np.testing.assert_allclose(together, alone, rtol=1e-14)
    np.testing.assert_allclose(probe_values(state, ["peek", "look"]).expected_loss, [alone[2], alone[0]], rtol=1e-14)


def test_only_legal_probes_are_valued_by_default(lid):
    state = lid({"look": NOISY, "peek": SHARP}).after(Observation("look", "off"))
    assert probe_values(state).branches.probes == ("peek",)
    used_up = state.after(Observation("peek", "off"))
    assert probe_values(used_up).expected_loss.shape == (0,)


def test_a_probe_that_may_end_an_infinite_loss_has_infinite_benefit(lid):
    state = lid({"look": Discrete(["on"], {"on": [1], "off": [1]})}, may_keep=False, reversible=False)
    values = probe_values(state)
    assert values.stop_loss == math.inf
    assert np.isnan(values.net_benefit[0])
    handed_over = probe_values(lid({"look": SHARP}, may_keep=False, reversible=False, escalate=8.0))
    assert handed_over.expected_loss[0] == pytest.approx(0.5 + 0.4 * 8)


@settings(max_examples=150, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_a_probe_never_hurts_before_its_cost_and_perfect_information_bounds_it(random_problem, rng):
    state = InformationState.alarmed(random_problem(rng))
    values = probe_values(state)
    if math.isinf(values.stop_loss):
        return
    gross = values.net_benefit + values.branches.cost
    assert (gross >= -1e-9).all()
    assert (gross <= value_of_perfect_information(state) + 1e-9).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_gaussian_probe_never_hurts_and_perfect_information_bounds_it(random_problem, seed):
    rng = random.Random(seed)
    state = InformationState.alarmed(random_problem(rng, gaussian=True))
    values = probe_values(state)
    if math.isinf(values.stop_loss) or np.isinf(values.expected_loss).any():
        return
    gross = values.net_benefit + values.branches.cost
    assert (gross >= -1e-9).all()
    assert (gross <= value_of_perfect_information(state) + 1e-9).all()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans())
def test_the_predictive_mass_of_every_probe_sums_to_one(random_problem, seed, gaussian):
    state = InformationState.alarmed(random_problem(random.Random(seed), gaussian=gaussian))
    branches = branches_of(state, state.legal_probes)
    for probe in branches.probes:
        rows = branches.likelihood[branches.of(probe)]
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=0), 1, atol=1e-12)
        assert (rows @ state.posterior).sum() == pytest.approx(1)
    assert sum(len(branches.likelihood[branches.of(probe)]) for probe in branches.probes) == len(branches.likelihood)


@settings(max_examples=100, deadline=None)
@given(rng=st.integers(0, 10**6).map(random.Random))
def test_the_expected_loss_is_the_mean_of_the_stops_that_follow(random_problem, rng):
    """Folding every outcome into a state and stopping there prices each branch independently of the table."""
    state = InformationState.alarmed(random_problem(rng))
    values = probe_values(state)
    for probe, expected in zip(values.branches.probes, values.expected_loss, strict=True):
        assert expected == pytest.approx(_mean_of_what_follows(state, probe), rel=1e-9, abs=1e-8)


def _mean_of_what_follows(state, probe):
    view = state.probe(probe)
    chances = (state.posterior @ view.channel.table).tolist()
    after = [
        chance * best_terminal(state.after(Observation(probe, outcome))).loss
        for chance, outcome in zip(chances, view.channel.outcomes, strict=True)
        if chance > 1e-12
    ]
    return view.cost + math.fsum(after)


def test_the_expected_loss_is_the_mean_of_the_stops_that_follow_where_answers_bring_values_and_support(walked):
    compared = 0
    for seed in range(200):
        state = walked(seed)
        values = probe_values(state)
        for probe, expected in zip(values.branches.probes, values.expected_loss, strict=True):
            assert expected == pytest.approx(_mean_of_what_follows(state, probe), rel=1e-9, abs=1e-8), seed
            compared += 1
    assert compared > 150


def test_no_answer_is_expected_to_leave_less_than_the_clairvoyant_loses(walked):
    """Who may still answer is taken to speak for everything, and the other rules of support are left out."""
    for seed in range(300):
        state = walked(seed)
        values = probe_values(state)
        least = clairvoyant_loss(state)
        assert values.stop_loss >= least - 1e-9, seed
        assert (values.expected_loss - values.branches.cost >= least - 1e-9).all(), seed


def without_rules(data):
    """Return the problem file with no belief in need of support."""
    return {**data, "beliefs": [{k: v for k, v in b.items() if k != "needs_support"} for b in data["beliefs"]]}


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_probe_that_tells_nothing_is_worth_nothing_with_rules_of_support_too(
    valued_file, blinded, after_some_answers, gaussian
):
    """Neither the posterior nor who speaks for what has changed, so it costs what stopping now does, and its price."""
    ruled = answered = barred = 0
    for seed in range(cases(250, 1000)):
        data = blinded(valued_file(seed, gaussian=gaussian), seed)
        state = after_some_answers(data, seed)
        if "blind" not in state.legal_probes:
            continue
        values = probe_values(state, ["blind"])
        assert values.expected_loss[0] >= values.stop_loss - 1e-9, seed
        assert values.expected_loss[0] == pytest.approx(1e-6 + values.stop_loss, abs=1e-9), seed
        if "blind" not in state.uses:
            later = state.after(
                Observation("blind", state.probe("blind").channel.sample(0, np.random.default_rng(seed)))
            )
            assert best_terminal(later).loss == pytest.approx(values.stop_loss, abs=1e-9), seed
        ruled += len(endings_of(state.problem).support) > 0
        barred += any(b.needs_support and not may_be_kept(state, i) for i, b in enumerate(state.problem.graph.beliefs))
        answered += bool(state.uses)
    assert min(ruled, answered, barred) > 40


@pytest.mark.parametrize("gaussian", [False, True])
def test_without_rules_of_support_no_answer_hurts_before_its_cost(valued_file, after_some_answers, gaussian):
    compared = declaring = 0
    for seed in range(cases(200, 1000)):
        state = after_some_answers(without_rules(valued_file(seed, gaussian=gaussian)), seed)
        values = probe_values(state)
        if math.isinf(values.stop_loss):
            continue
        gross = values.stop_loss - (values.expected_loss - values.branches.cost)
        assert (gross >= -1e-9 * max(1.0, values.stop_loss)).all(), seed
        compared += len(gross)
        declaring += bool(getattr(best_terminal(state).decision, "declare", ()))
    assert compared > 100
    assert declaring > 20


def test_only_where_support_is_needed_may_an_answer_hurt_before_its_cost(walked):
    hurt = 0
    for seed in range(cases(250, 600)):
        state = walked(seed)
        values = probe_values(state)
        if math.isinf(values.stop_loss):
            continue
        gross = values.net_benefit + values.branches.cost
        needs_support = any(belief.needs_support for belief in state.problem.graph.beliefs)
        assert needs_support or (gross >= -1e-9).all(), seed
        hurt += bool((gross < -1e-9).any())
    assert hurt > 0


@pytest.mark.parametrize(
    ("losses", "stop", "best"),
    [
        ([3.0, 2.0, 2.0], 4.0, 1),
        ([3.0, 2.0 + 5e-10, 2.0], 4.0, 1),
        ([2.0], 2.0 + 5e-10, None),
        ([2.0], 2.0 + 5e-9, 0),
        ([math.inf, math.inf], math.inf, None),
        ([math.inf, 7.0], math.inf, 1),
        ([], 3.0, None),
    ],
)
def test_a_probe_must_beat_stopping_by_more_than_a_tie_and_the_first_of_equals_runs(losses, stop, best):
    assert best_probe(np.array(losses), stop) == best


def test_the_clairvoyant_loses_least_under_every_hypothesis(random_problem, enumerated_stop):
    for seed in range(100):
        problem = random_problem(random.Random(seed))
        losses = clairvoyant_losses(InformationState.start(problem))
        for h, loss in enumerate(losses):
            certain = np.eye(len(losses))[h]
            state = InformationState(problem, certain)
            assert loss == pytest.approx(enumerated_stop(state)[0]), (seed, h)


def test_the_clairvoyant_bound_of_a_cut_group_is_below_the_clairvoyant(random_problem, monkeypatch):
    compared = 0
    for seed in range(150):
        true = clairvoyant_losses(InformationState.start(random_problem(random.Random(seed))))
        with monkeypatch.context() as patch:
            patch.setattr(closures, "MOST_CLOSURES", 1)
            problem = random_problem(random.Random(seed))
            bound = clairvoyant_losses(InformationState.start(problem))
        compared += bool(endings_of(problem).groups.cuts)
        assert (bound <= true + 1e-9).all(), seed
    assert compared > 30


def test_perfect_information_is_worth_the_stop_less_the_clairvoyant_loss(lid):
    assert value_of_perfect_information(lid()) == pytest.approx(3.0 - 0.4 * 3.0)
    assert value_of_perfect_information(lid(q=0.0)) == 0.0
    assert value_of_perfect_information(lid(may_keep=False, reversible=False)) == math.inf
