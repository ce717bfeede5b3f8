"""The nearest flip of a decision, against hand-worked cases, linear programs over all decision rules, and sampling."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from aquamend.decision import Continue, Escalate, Reprobe, Restart, RollBack, best_terminal, one_step, probe_values
from aquamend.decision import robustness as module
from aquamend.decision.robustness import robustness
from aquamend.decision.total_variation import flip_distances, nearest_over_cuts, shifted
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Discrete, Gaussian, Hypothesis, JointModel
from aquamend.policies.myopic import AquaMend
from aquamend.problem import Plan, Problem

PERFECT = {"look": Discrete(["shut", "open"], {"on": [1, 0], "off": [0, 1]})}
seeds = st.integers(0, 2**32 - 1)


def random_state(seed, *, may_bar=0.0, gaussian=False, beliefs=4, cheap=False):
    """Return a state with shared operations and up to three probes of two or three answers."""
    rng = np.random.default_rng(seed)
    n_beliefs, n_actions, n_probes, n = (int(rng.integers(*ends)) for ends in [(1, beliefs), (1, 4), (1, 4), (2, 6)])
    share = [bool(rng.random() < 0.3) for _ in range(n_actions)]
    actions = [
        Action(f"a{i}", operations=("o",), executed=True)
        if shared
        else Action(f"a{i}", rng.uniform(1, 6), executed=True)
        for i, shared in enumerate(share)
    ]
    edges = [(f"p{i}", f"b{rng.integers(n_beliefs)}", "detection") for i in range(n_probes)]
    edges += [
        (f"b{i}", f"a{j}", "belief_to_action")
        for i, j in itertools.product(range(n_beliefs), range(n_actions))
        if rng.random() < 0.5
    ]
    graph = RecoveryGraph(
        [Belief(f"b{i}", rng.uniform(2, 20), may_keep=bool(rng.random() >= may_bar)) for i in range(n_beliefs)],
        actions,
        [Probe(f"p{i}", rng.uniform(0.001, 0.3 if cheap else 1.5)) for i in range(n_probes)],
        edges,
        [Operation("o", rng.uniform(1, 5))] if any(share) else [],
    )
    failures = [[f"b{j}" for j in range(n_beliefs) if rng.random() < 0.4] for _ in range(n)]
    kernels = {}
    for i in range(n_probes):
        weights = rng.random((n, int(rng.integers(2, 4)))) ** 3 + 1e-3
        if may_bar:
            weights[:, 1:][rng.random(weights[:, 1:].shape) < 0.3] = 0.0
        kernels[f"p{i}"] = Discrete([f"y{k}" for k in range(weights.shape[1])], weights / weights.sum(1)[:, None])
        if gaussian:
            kernels[f"p{i}"] = Gaussian(np.column_stack([rng.uniform(0, 4, n), rng.uniform(0.5, 1.5, n)]))
    problem = Problem(
        graph,
        JointModel([Hypothesis(f"h{i}", 1 / n, failed) for i, failed in enumerate(failures)], kernels),
        restart=rng.uniform(3, 15) if rng.random() < 0.5 else None,
        escalate=rng.uniform(3, 15) if rng.random() < 0.7 else None,
    )
    posterior = rng.dirichlet(np.full(n, 0.7))
    if may_bar:
        posterior[1:][rng.random(n - 1) < 0.25] = 0.0
    return replace(InformationState.start(problem), posterior=posterior / posterior.sum())


def identity(step):
    """Return what tells steps apart here: what is measured or undone."""
    match step:
        case Reprobe(probe):
            return "probe", probe
        case RollBack(_, undo, None):
            return "undo", undo
        case RollBack(_, _, plan):
            return "plan", plan
        case Continue():
            return "undo", ()
        case Restart() | Escalate():
            return type(step).__name__, ()


def decision_rows(problem):
    """Return the loss of every terminal decision under every hypothesis, by trying all correction sets."""
    graph, rows = problem.graph, {}
    for size in range(len(graph.beliefs) + 1):
        for chosen in itertools.combinations(graph.beliefs, size):
            undo = graph.closure([belief.name for belief in chosen])
            row = np.full(len(problem.failed), graph.rollback_cost(undo))
            for belief, failed in zip(graph.beliefs, problem.failed.T, strict=True):
                if not set(graph.downstream(belief.name)) <= set(undo):
                    row = row + np.where(failed > 0, belief.residual if belief.may_keep else math.inf, 0.0)
            rows["undo", undo] = row
    if problem.restart_loss < math.inf:
        rows["Restart", ()] = np.full(len(problem.failed), problem.restart_loss)
    if problem.escalate_loss < math.inf:
        rows["Escalate", ()] = np.full(len(problem.failed), problem.escalate_loss)
    return rows


def rule_rows(problem, probe, rows):
    """Return the loss of every decision rule of a probe under every hypothesis."""
    kernel = problem.model.tables[probe].likelihood
    cost = problem.graph.probes[problem.graph.probe_index[probe]].cost
    found = []
    for decisions in itertools.product(rows.values(), repeat=kernel.shape[1]):
        terms = [
            np.where(k > 0, k * np.where(k > 0, row, 0.0), 0.0) for k, row in zip(kernel.T, decisions, strict=True)
        ]
        found.append(cost + np.sum(terms, axis=0))
    return np.unique(found, axis=0)


def by_linear_program(p, challenger, rules, *, strict):
    """Return the least TV(p, p') at which a challenger's rule is at least as good as every rule of the step.

    A rule that is inadmissible on the challenger's hypotheses does not count: any mass at all makes it so.
    """
    usable = np.isfinite(challenger)
    deltas = [(challenger[usable] - rule[usable]) for rule in rules if np.isfinite(rule[usable]).all()]
    if not usable.any() or (strict and any(delta.min() > -1e-9 for delta in deltas)):
        return math.inf
    n = int(usable.sum())
    rows = [np.hstack([-np.eye(n), -np.eye(n)]), *(np.append(delta, np.zeros(n))[None, :] for delta in deltas)]
    solved = linprog(
        np.append(np.zeros(n), np.ones(n)),
        A_ub=np.vstack(rows),
        b_ub=np.append(-p[usable], np.zeros(len(deltas))),
        A_eq=[np.append(np.ones(n), np.zeros(n))],
        b_eq=[1.0],
    )
    return solved.fun + p[~usable].sum() if solved.status == 0 else math.inf


def by_enumeration(state, step):
    """Return the smallest distance over all rules of all other alternatives."""
    rows, own = decision_rows(state.problem), identity(step)
    probes = {("probe", name): rule_rows(state.problem, name, rows) for name in state.legal_probes}
    mine = probes[own] if own in probes else rows[own][None, :]
    others = [rules for name, rules in probes.items() if name != own]
    others += [row[None, :] for name, row in rows.items() if name != own and not np.array_equal(row, mine[0])]
    strict = own not in probes
    x = state.posterior > 0  # what evidence has ruled out stays ruled out
    return min(
        (
            by_linear_program(state.posterior[x], rule[x], mine[:, x], strict=strict)
            for rules in others
            for rule in rules
        ),
        default=math.inf,
    )


def tractable(state, most=250):
    rules = [
        len(decision_rows(state.problem)) ** state.problem.model.tables[p].likelihood.shape[1]
        for p in state.legal_probes
    ]
    return max(rules, default=0) <= most


def nearby(rng, p, distance):
    """Return a random distribution at a total variation of at most ``distance`` from p."""
    out = np.minimum(p, rng.dirichlet(np.full(len(p), 0.3)) * distance)
    into = np.where(p > 0, rng.dirichlet(np.full(len(p), 0.3)) + 1e-12, 0.0)
    return p - out + into / into.sum() * out.sum()


def lead(state, step):
    """Return by how much the best other alternative beats the step, one step ahead, by the library's own prices."""
    values = probe_values(state)
    rows, own = decision_rows(state.problem), identity(step)
    possible = state.posterior > 0
    losses = {name: float(row[possible] @ state.posterior[possible]) for name, row in rows.items()}
    losses |= {("probe", n): float(x) for n, x in zip(values.branches.probes, values.expected_loss, strict=True)}
    return losses.pop(own) - min(losses.values(), default=math.inf)


def test_a_roll_back_flips_to_continuing_where_the_risk_falls_to_its_cost(lid):
    """Undoing costs 3 and the failure 10, so continuing wins below q = 0.3, a move of 0.1 from 0.4."""
    found = robustness(lid(q=0.4), RollBack(("lid",), ("lift",)))
    assert found.distance == pytest.approx(0.1)
    assert (found.distance_at_least, found.exact, found.challenger) == (found.distance, True, "continue")
    assert found.witness == pytest.approx([0.7, 0.3])
    (threshold,) = found.thresholds
    assert (threshold.below, threshold.below_step) == (pytest.approx(0.3), "continue")
    assert (threshold.above, threshold.above_step) == (None, None)


def test_a_probe_flips_to_a_decision_where_certainty_makes_it_worthless(lid):
    """0.5 + 3q against 10q and 3: probing is best for 1/14 < q < 5/6."""
    found = robustness(lid(PERFECT, q=0.4), Reprobe("look"))
    assert found.distance == pytest.approx(0.4 - 1 / 14)
    assert (found.challenger, found.exact) == ("continue", True)
    (threshold,) = found.thresholds
    assert (threshold.below, threshold.above) == (pytest.approx(1 / 14), pytest.approx(5 / 6))
    assert (threshold.below_step, threshold.above_step) == ("continue", "roll back lid")


def test_a_decision_flips_to_a_probe_where_doubt_makes_it_worthwhile(lid):
    found = robustness(lid(PERFECT, q=0.05), Continue())
    assert found.distance == pytest.approx(1 / 14 - 0.05)
    assert (found.challenger, found.thresholds[0].above_step) == ("re-probe look", "re-probe look")


def test_a_forbidden_alternative_needs_all_mass_off_what_forbids_it(lid):
    found = robustness(lid(q=0.4, may_keep=False), RollBack(("lid",), ("lift",)))
    assert found.distance == pytest.approx(0.4)
    assert (found.thresholds[0].below, found.thresholds[0].below_step) == (0.0, "continue")


def test_a_hypothesis_that_evidence_ruled_out_cannot_flip_the_step(lid):
    """Any mass on the failure would forbid continuing, but none may go there."""
    state = replace(lid(q=0.4, may_keep=False), posterior=np.array([1.0, 0.0]))
    found = robustness(state, Continue())
    assert (found.distance, found.exact, found.challenger) == (None, True, None)


def test_a_decision_that_is_best_under_every_hypothesis_cannot_be_flipped(lid):
    found = robustness(lid(q=0.4, residual=2.0), Continue())
    assert (found.distance, found.exact, found.challenger, found.distance_at_least) == (None, True, None, 1.0)


def test_an_alternative_of_equal_loss_everywhere_is_no_challenger(lid):
    found = robustness(lid(q=0.4, restart=3.0), RollBack(("lid",), ("lift",)))
    assert found.challenger == "continue"


def test_a_step_worse_than_another_now_has_distance_zero(lid):
    found = robustness(lid(q=0.4, restart=2.0), Continue())
    assert (found.distance, found.exact, found.challenger) == (0.0, True, "restart")
    assert robustness(lid(PERFECT, q=0.4), Continue()).challenger == "re-probe look"


def test_a_contradicted_state_has_nothing_to_move(lid):
    certain = {"look": Discrete(["shut", "open"], {"on": [1, 0], "off": [1, 0]})}
    state = lid(certain).after(Observation("look", "open"))
    found = robustness(state, best_terminal(state).decision)
    assert (found.distance, found.exact, found.challenger, found.thresholds) == (None, True, None, ())


def test_plans_are_alternatives_by_name(lid):
    state = lid(q=0.4, plans=[Plan("wipe", np.array([0.5, 4.0]))])
    found = robustness(state, RollBack((), (), plan="wipe"))
    # 0.5 + 3.5q against 10q and 3: continuing wins below 1/13.
    assert found.distance == pytest.approx(min(0.4 - 1 / 13, 2.5 / 3.5 - 0.4))
    assert found.challenger == "roll back lid"


def test_nothing_admissible_is_left_until_the_mass_moves(lid):
    state = lid(q=0.4, may_keep=False, reversible=False)
    assert best_terminal(state).decision == Escalate()
    found = robustness(state, Escalate())
    assert (found.distance, found.challenger) == (pytest.approx(0.4), "continue")


@settings(max_examples=40, deadline=None)
@given(seed=seeds, may_bar=st.sampled_from([0.0, 0.3]), cheap=st.booleans())
def test_the_distance_is_the_least_over_all_rules_of_all_alternatives(seed, may_bar, cheap):
    state = random_state(seed, may_bar=may_bar, cheap=cheap)
    if not tractable(state):
        return
    step = AquaMend().next_step(state)
    found = robustness(state, step)
    least = by_enumeration(state, step)
    assert found.exact
    assert (math.inf if found.distance is None else found.distance) == pytest.approx(least, abs=1e-7)


@settings(max_examples=80, deadline=None)
@given(seed=seeds, gaussian=st.booleans(), cheap=st.booleans())
def test_no_posterior_nearer_than_the_certified_distance_flips_the_decision(seed, gaussian, cheap):
    state = random_state(seed, gaussian=gaussian, cheap=cheap)
    step = AquaMend().next_step(state)
    found = robustness(state, step)
    rng = np.random.default_rng(seed)
    for _ in range(4 if gaussian else 15):
        near = replace(state, posterior=nearby(rng, state.posterior, found.distance_at_least))
        assert lead(near, step) <= 1e-7


@settings(max_examples=80, deadline=None)
@given(seed=seeds, cheap=st.booleans())
def test_at_the_witness_another_alternative_is_as_good(seed, cheap):
    state = random_state(seed, cheap=cheap)
    step = AquaMend().next_step(state)
    found = robustness(state, step)
    if found.witness is None:
        return
    assert 0.5 * np.abs(found.witness - state.posterior).sum() == pytest.approx(found.distance, abs=1e-9)
    assert lead(replace(state, posterior=found.witness), step) >= -1e-7


@settings(max_examples=60, deadline=None)
@given(seed=seeds, cheap=st.booleans(), few=st.sampled_from(["rules", "programs", "decisions"]))
def test_what_cannot_be_searched_is_bracketed(seed, cheap, few):
    """With the work capped, the certified distance stays below the exact one and the one found above it."""
    state = random_state(seed, cheap=cheap)
    step = AquaMend().next_step(state)
    exact = robustness(state, step)
    with pytest.MonkeyPatch.context() as patch:
        if few == "rules":
            patch.setattr(module, "MOST_ENTRIES", 0)
        elif few == "programs":
            patch.setattr(module, "MOST_PROGRAMS", 1)
        else:
            patch.setattr(one_step, "MOST_DECISIONS", 1)
        capped = robustness(state, step)
    limit = math.inf if exact.distance is None else exact.distance
    assert capped.distance_at_least <= min(1.0, limit) + 1e-8
    if few != "decisions" or not isinstance(step, Reprobe):  # a probe priced with fewer decisions looks worse
        assert capped.distance is None or capped.distance >= limit - 1e-8
    if capped.exact:
        assert capped.distance == pytest.approx(exact.distance, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, may_bar=st.sampled_from([0.0, 0.3]))
def test_the_policy_changes_its_step_at_the_thresholds_and_not_before(seed, may_bar):
    state = random_state(seed, may_bar=may_bar, cheap=True)
    step = AquaMend().next_step(state)
    failed = state.problem.failed
    for threshold in robustness(state, step).thresholds:
        column = failed[:, state.problem.graph.belief_index[threshold.belief]]
        q = float(state.posterior @ column)
        assert threshold.now == pytest.approx(q)

        def step_at(theta, column=column, q=q):
            moved = state.posterior * np.where(column > 0, theta / q, (1 - theta) / (1 - q))
            return AquaMend().next_step(replace(state, posterior=moved / moved.sum()))

        for end, found, name in [
            (0.0, threshold.below, threshold.below_step),
            (1.0, threshold.above, threshold.above_step),
        ]:
            edge = end if found is None else found
            for share in (0.3, 0.7, 0.99):
                theta = q + share * (edge - q)
                assert abs(edge - q) < 1e-6 or identity(step_at(theta)) == identity(step)
            if found is not None:
                past = end if found == end else found + 1e-4 * (end - found)
                assert identity(step_at(past)) != identity(step)
                if isinstance(step_at(past), Reprobe):
                    assert name == f"re-probe {step_at(past).probe}"
                elif isinstance(step_at(past), RollBack):
                    assert name == f"roll back {', '.join(step_at(past).correct)}"
                else:
                    assert name == type(step_at(past)).__name__.lower()


@settings(max_examples=80, deadline=None)
@given(seed=seeds, n=st.integers(2, 8))
def test_the_closed_form_solves_the_linear_program_of_one_inequality(seed, n):
    rng = np.random.default_rng(seed)
    p, delta = rng.dirichlet(np.full(n, 0.5)), rng.normal(0.3, 1.0, n)
    least = by_linear_program(p, delta, [np.zeros(n)], strict=True)
    assert flip_distances(p, delta[None, :], -1e-9)[0] == pytest.approx(least, abs=1e-8)
    shift = shifted(p, delta, -1e-9)
    if shift.witness is not None:
        assert 0.5 * np.abs(shift.witness - p).sum() == pytest.approx(least, abs=1e-8)
        assert shift.witness @ delta <= 1e-9
        assert shift.witness.min() >= -1e-12


@settings(max_examples=80, deadline=None)
@given(seed=seeds, n=st.integers(2, 8), k=st.integers(1, 12))
def test_cutting_planes_solve_the_linear_program_of_many_inequalities(seed, n, k):
    rng = np.random.default_rng(seed)
    p, challenger, rules = rng.dirichlet(np.full(n, 0.5)), rng.normal(0.0, 1.0, n), rng.normal(0.3, 1.0, (k, n))
    least = by_linear_program(p, challenger, rules, strict=False)
    shift = nearest_over_cuts(p, challenger, lambda x, _: rules[(rules @ x).argmin()], [], below=math.inf)
    assert shift.upper == pytest.approx(least, abs=1e-7)
    assert shift.lower == pytest.approx(least, abs=1e-7)


def test_the_cost_of_a_large_problem_is_bounded_and_its_bracket_honest():
    """Forty independent beliefs have 2^40 correction sets: neighbours suffice between them, and are exact."""
    names = [f"b{i}" for i in range(40)]
    rng = np.random.default_rng(3)
    graph = RecoveryGraph(
        [Belief(name, 10.0) for name in names],
        [Action(f"undo {name}", 3.0, executed=True) for name in names],
        [],
        [(name, f"undo {name}", "belief_to_action") for name in names],
    )
    failures = [[name for name in names if rng.random() < 0.3] for _ in range(50)]
    model = JointModel([Hypothesis(f"h{i}", 0.02, failed) for i, failed in enumerate(failures)])
    state = InformationState.start(Problem(graph, model))
    found = robustness(state, best_terminal(state).decision)
    q = state.failure_probabilities
    assert not found.exact
    # The nearest belief to its break-even of 0.3: moving t from failed to valid (or back) moves q by t.
    assert found.distance == pytest.approx(np.abs(q - 0.3).min())
    assert found.distance_at_least == pytest.approx(found.distance)
