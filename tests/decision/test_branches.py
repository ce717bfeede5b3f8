"""Probes that read numbers, priced by intervals: against quadrature, ever finer bins, and cuts by hand."""

import math
import random

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import norm
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken
from aquamend.decision import closures, probe_values
from aquamend.decision.branches import branches_of, planning_cuts, planning_likelihood, predictive_quantiles
from aquamend.decision.endings import endings_of
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Declaration, Discrete, Gaussian, Hypothesis, JointModel, Readings


def weighing(seed, kernel=None):
    """Return three beliefs of which two share an operation, four hypotheses and one Gaussian probe."""
    rng = random.Random(seed)
    graph = RecoveryGraph(
        [Belief(name, rng.uniform(2, 12)) for name in "xyz"],
        [
            Action("ax", operations=("arm",), executed=True),
            Action("ay", operations=("arm", "hand"), executed=True),
            Action("az", undo=rng.uniform(0, 4), executed=True),
        ],
        [Probe("weigh", 0.1)],
        [(name, f"a{name}", "belief_to_action") for name in "xyz"],
        [Operation("arm", rng.uniform(0, 3)), Operation("hand", rng.uniform(0, 3))],
    )
    weights = [rng.random() for _ in range(4)]
    failed = [(), ("x",), ("y", "z"), ("x", "y")]
    hypotheses = [Hypothesis(f"h{i}", w / sum(weights), failed[i]) for i, w in enumerate(weights)]
    rows = np.array([[rng.uniform(-3, 3), rng.uniform(0.4, 2)] for _ in range(4)])
    model = JointModel(hypotheses, {"weigh": Gaussian(rows) if kernel is None else kernel(rows)})
    return InformationState.alarmed(Problem(graph, model, escalate=9.0)), rows


def best_joint_losses(state, joint):
    """Return each row's least joint loss over all eight correction sets and escalation, written out."""
    graph, mass = state.problem.graph, joint.sum(axis=1)
    residual = np.array([belief.residual for belief in graph.beliefs])
    losses = [9.0 * mass]
    for correct in np.ndindex(2, 2, 2):
        chosen = np.array(correct, dtype=bool)
        cost = graph.correction_cost([b.name for b, c in zip(graph.beliefs, chosen, strict=True) if c])
        losses.append(cost * mass + joint @ state.problem.failed @ (residual * ~chosen))
    return np.min(losses, axis=0)


@pytest.mark.parametrize("seed", range(25))
def test_the_expected_loss_is_the_integral_over_all_readings(seed):
    state, rows = weighing(seed)
    readings = np.linspace((rows[:, 0] - 9 * rows[:, 1]).min(), (rows[:, 0] + 9 * rows[:, 1]).max(), 100_001)
    joint = state.posterior * norm.pdf(readings[:, None], rows[:, 0], rows[:, 1])
    integral = simpson(best_joint_losses(state, joint), x=readings)
    assert probe_values(state).expected_loss[0] == pytest.approx(0.1 + integral, abs=1e-6)


def speaks_at(state, view, density):
    """Return who speaks for what after each of some readings, ``(n_readings, n_pairs)``, by the rule as it is written.

    ``density`` is ``(n_readings, n_hypotheses)``.
    """
    support = endings_of(state.problem).support
    speaks = np.repeat(spoken(support, state)[None, :], len(density), axis=0)
    said = density * state.answers.get(view.index, 1.0)
    for pair in np.flatnonzero((support.probe == view.index) & ~support.before):
        wrong = support.wrong[:, support.option[pair]] > 0
        right, against = (
            said[:, own] @ state.at_alarm[own] / max(state.at_alarm[own].sum(), 1e-300) for own in (~wrong, wrong)
        )
        speaks[:, pair] = (right >= 2.0 * (1.0 - 1e-9) * against) & (state.at_alarm[~wrong].sum() > 0.0)
    return speaks


NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


def quadrature(state, view):
    """Return the integral of V_stop over the readings of one probe; halved for ever where the decision changes."""
    channel, endings = view.channel, endings_of(state.problem)

    def at(readings):
        density = channel.density(readings)[:, channel.of]
        return (density * state.posterior) @ endings.features, speaks_at(state, view, density)

    grid = np.linspace((channel.mean - 10 * channel.sd).min(), (channel.mean + 10 * channel.sd).max(), 4001)
    (cuts,) = branches_of(state, [view.name]).cuts
    # Between two cuts closer than the grid something else may be decided: points there refine the grid, no more.
    grid = np.unique(np.concatenate([grid, cuts, 0.5 * (cuts[:-1] + cuts[1:])]))
    left, right, total = grid[:-1], grid[1:], 0.0
    for halvings_left in reversed(range(40)):
        before, after = (endings.slopes(*at(ends)).as_matrix() for ends in (left, right))
        same = (before == after).all(axis=1) | (halvings_left == 0)
        low, high = left[same], right[same]
        readings = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * NODES
        values = endings.values(*at(readings.ravel())).reshape(readings.shape)
        total += float((0.5 * (high - low) * (values @ WEIGHTS)).sum())
        low, high = left[~same], right[~same]
        middle = 0.5 * (low + high)
        left, right = np.concatenate([low, middle]), np.concatenate([middle, high])
        if not len(left):
            break
    return total


def with_other_kernels(data, kind, seed):
    """Return the problem file with its Gaussian probes read by a kernel of another kind, where rows are numbers."""
    rng = random.Random(seed)
    kernels = {}
    for probe, kernel in data["kernels"].items():
        rows = kernel.get("gaussian")
        if rows is None or kind == "gaussian" or any(isinstance(mean, str) for mean, _ in rows.values()):
            kernels[probe] = kernel
        elif kind == "mixture":
            share = {h: rng.uniform(0.2, 0.8) for h in rows}
            kernels[probe] = {
                "mixture": {
                    h: [[share[h], m, sd], [1 - share[h], m + rng.uniform(-4, 4), sd * rng.uniform(0.5, 2)]]
                    for h, (m, sd) in rows.items()
                }
            }
        else:
            kernels[probe] = {"samples": {h: [rng.gauss(m, sd) for _ in range(5)] for h, (m, sd) in rows.items()}}
    return {**data, "kernels": kernels}


@pytest.fixture(scope="module")
def integrated(valued_file, after_some_answers):
    """Return how many probes that read numbers were worth their integral, on the problems of these seeds.

    And of how many the reading decides for what they speak.
    """

    def compare(kind, seeds):
        compared = speaking = 0
        for seed in seeds:
            data = with_other_kernels(valued_file(seed, gaussian=True), kind, seed)
            state = after_some_answers(data, seed, most=2)
            for view in state.legal:
                if isinstance(view.channel, Readings):
                    expected = probe_values(state, [view.name]).expected_loss[0] - view.cost
                    # An interval of readings so narrow that it hardly ever comes may be stepped over, at a loss.
                    assert -1e-7 <= expected - quadrature(state, view) < 1e-6, (seed, view.name)
                    compared += 1
                    said = probe_values(state, [view.name]).branches.speaks
                    speaking += bool((said != said[:1]).any())
        return compared, speaking

    return compare


@pytest.mark.parametrize("kind", ["gaussian", "mixture", "samples"])
def test_the_expected_loss_is_the_integral_also_where_what_a_reading_speaks_for_changes(integrated, kind):
    compared, speaking = integrated(kind, range(40))
    assert compared > 15
    assert speaking > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "mixture", "samples"])
def test_the_expected_loss_is_the_integral_on_hundreds_of_problems(integrated, kind):
    compared, speaking = integrated(kind, range(1000, 1250))
    assert compared > 100
    assert speaking > 10


@pytest.mark.parametrize("verdicts", [False, True])
def test_branches_are_probabilities_that_sum_to_one_and_their_cuts_are_sorted(
    valued_file, after_some_answers, verdicts
):
    for seed in range(40):
        kind = ("gaussian", "mixture", "samples")[seed % 3]
        data = with_other_kernels(valued_file(seed, gaussian=True), kind, seed)
        state = after_some_answers(data, seed, most=2)
        branches = branches_of(state, state.legal_probes, verdicts=verdicts)
        for view, cuts in zip(state.legal, branches.cuts, strict=True):
            rows = branches.likelihood[branches.of(view.name)]
            assert (rows >= 0).all()
            np.testing.assert_allclose(rows.sum(axis=0), 1.0, atol=1e-12)
            assert (cuts is None) == isinstance(state.problem.model.kernels[view.name], Discrete)
            if cuts is not None:
                assert len(rows) == len(cuts) + 1
                assert np.isfinite(cuts).all()
                assert (np.diff(cuts) > 0).all()
            support, speaks = endings_of(state.problem).support, branches.speaks[branches.of(view.name)]
            others = (support.probe != view.index) | support.before
            assert (speaks[:, others] == spoken(support, state)[others]).all()


def test_what_a_reading_speaks_for_is_the_same_all_over_its_interval(valued_file, after_some_answers):
    compared = differed = 0
    for seed in range(cases(120, 400)):
        state = after_some_answers(valued_file(seed, gaussian=True), seed, most=2)
        support = endings_of(state.problem).support
        for view in state.legal if len(support) else ():
            if not isinstance(view.channel, Readings):
                continue
            branches = branches_of(state, [view.name])
            cuts = branches.cuts[0]
            ends = [cuts[0] - view.channel.sd.max(), *cuts, cuts[-1] + view.channel.sd.max()] if len(cuts) else [0, 1]
            for low, high, speaks in zip(ends[:-1], ends[1:], branches.speaks, strict=True):
                for share in (0.01, 0.3, 0.9):
                    after = state.after(Observation(view.name, low + share * (high - low)))
                    assert (spoken(support, after) == speaks).all(), (seed, view.name, low, high)
                    compared += 1
            differed += bool((branches.speaks != branches.speaks[:1]).any())
    assert compared > 300
    assert differed > 10


def test_probes_are_cut_together_as_each_one_alone(valued_file, after_some_answers):
    for seed in range(20):
        state = after_some_answers(valued_file(seed, gaussian=True), seed, most=1)
        together = branches_of(state, state.legal_probes)
        for name in state.legal_probes:
            alone = branches_of(state, [name])
            np.testing.assert_allclose(together.likelihood[together.of(name)], alone.likelihood, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_bins_lose_information_and_ever_finer_ones_ever_less(seed):
    exact = probe_values(weighing(seed)[0]).expected_loss[0]
    losses = []
    for n in (1, 4, 16, 64, 256):  # each grid refines the one before

        def binned(rows, n=n):
            names = [str(i) for i in range(len(rows))]
            channel = Gaussian(rows).channel(names)
            table = channel.intervals(np.linspace(-8, 8, n + 1)[1:-1])[channel.of]
            return Discrete([str(i) for i in range(n)], table)

        losses.append(probe_values(weighing(seed, binned)[0]).expected_loss[0])
    assert losses == sorted(losses, reverse=True) or np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] >= exact - 1e-9
    assert losses[-1] == pytest.approx(exact, abs=2e-2)


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_group_prices_a_gaussian_probe_a_little_above_the_integral_and_never_below(seed, monkeypatch):
    exact = probe_values(weighing(seed)[0]).expected_loss[0]
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    state, _ = weighing(seed)
    assert endings_of(state.problem).groups.cuts
    assert -1e-9 <= probe_values(state).expected_loss[0] - exact < 0.05


def test_a_single_threshold_is_found_to_the_last_digits(lid):
    """Correct if q(y)·10 > 3; with equal deviations the odds cross at y = 1 + ln(0.6·0.3 / 0.4·0.7) / 2."""
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})})
    cut = 1 + math.log(0.6 * 0.3 / (0.4 * 0.7)) / 2
    branches = branches_of(state, ["weigh"], verdicts=True)
    half = _rejected_from(0.6, 0.4)  # and the declaration is rejected from q(y) = 1/2 on
    np.testing.assert_allclose(branches.cuts[0], [cut, half], atol=1e-11)
    on = branches.likelihood[:, 0]
    np.testing.assert_allclose(np.cumsum(on)[:-1], norm.cdf([cut, half]), atol=1e-11)
    np.testing.assert_allclose(probe_values(state).branches.cuts[0], [cut], atol=1e-11)


def _rejected_from(on, off):
    """Return the reading at which N(2, 1) against N(0, 1) makes the second half as likely as not, rounding allowed."""
    return 1 + math.log(on / off * REJECT_AT / (1 - REJECT_AT)) / 2


def test_support_is_gained_at_a_cut_that_is_right_to_the_last_digits(lid):
    """What may be kept only while q < 1/2 changes the loss by a jump, so the cut may not be out of place.

    And so does what may be kept only where the reading is twice as likely if it is right: from 1 − ln 2 / 2 on.
    """
    kernels = {"weigh": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})}
    support = [Declaration("it is on", "lid", support=["weigh"])]
    (cuts,) = probe_values(lid(kernels, needs_support=True, undo=8.0, declarations=support)).branches.cuts
    assert np.abs(cuts - (1 + math.log(0.6 / 0.4) / 2)).min() < 1e-11
    (cuts,) = probe_values(lid(kernels, needs_support=True, undo=8.0)).branches.cuts
    assert np.abs(cuts - (1 - math.log(2) / 2)).min() < 1e-9  # less the rounding that twice allows


def test_a_reading_that_speaks_for_nothing_is_priced_as_no_evidence(lid):
    """Below 1 − ln 2 / 2 the lid may be kept, at 10 q; else it is repaired at 8, also where keeping would cost less."""
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})}, needs_support=True, undo=8.0)
    at = 1 - math.log(2) / 2
    kept, repaired = 10 * 0.4 * norm.cdf(at - 2), 8 * (0.6 * norm.sf(at) + 0.4 * norm.sf(at - 2))
    assert probe_values(state).expected_loss[0] == pytest.approx(0.5 + kept + repaired, abs=1e-8)


@pytest.mark.parametrize("distance", [10.0, 14.5, 15.0, 15.5, 16.0, 16.5, 17.0, 30.0, 1e4])
@pytest.mark.parametrize("outliers", [0.0, 1e-12, 1e-9])
def test_decisions_are_told_apart_across_a_gap_in_which_nothing_is_ever_read(lid, distance, outliers):
    """A probe that tells the two hypotheses apart for sure is worth what perfect information is."""
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (distance, 1.0)}, outliers)})
    assert probe_values(state).expected_loss[0] == pytest.approx(0.5 + 0.4 * 3, abs=1e-5)


def test_readings_are_not_cut_where_no_decision_depends_on_them(lid):
    state = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (0.0, 1.0)})})
    assert len(probe_values(state).branches.likelihood) == 1
    resolved = lid({"weigh": Gaussian({"on": (0.0, 1.0), "off": (5.0, 1.0)})}, q=0.0)
    assert len(probe_values(resolved).branches.likelihood) == 1


def test_a_plan_tells_apart_where_decisions_change_and_even_quantiles(valued_file, after_some_answers):
    for seed in range(20):
        state = after_some_answers(valued_file(seed, gaussian=True), seed, most=1)
        for view in state.legal:
            rows = planning_likelihood(state, view)
            np.testing.assert_allclose(rows.sum(axis=0), 1.0, atol=1e-12)
            if not isinstance(view.channel, Readings):
                np.testing.assert_array_equal(rows, view.channel.table.T)
                continue
            cuts = planning_cuts(state, view)
            assert len(rows) == len(cuts) + 1
            assert (np.diff(cuts) > 0).all()
            (own,) = branches_of(state, [view.name]).cuts
            assert np.isin(own, cuts).all()
            assert (rows @ state.posterior).max() < 0.06


def test_quantiles_are_where_the_predictive_distribution_reaches_them():
    state, rows = weighing(2)
    channel = state.problem.model.channels["weigh"]
    levels = np.array([0.1, 0.5, 0.9])
    readings = predictive_quantiles(state, channel, levels)
    reached = [float(state.posterior @ norm.cdf((y - rows[:, 0]) / rows[:, 1])) for y in readings]
    np.testing.assert_allclose(reached, levels, atol=5e-3)
