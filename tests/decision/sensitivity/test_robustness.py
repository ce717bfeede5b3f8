"""The nearest flip of a decision, against hand-worked cases, linear programs over all decision rules, and sampling."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.tiers import cases

from aquamend import load_problem
from aquamend.belief import InformationState, Observation
from aquamend.decision import (
    Continue,
    Escalate,
    Reprobe,
    Restart,
    RollBack,
    best_terminal,
    price,
    probe_values,
)
from aquamend.decision.probe_value import best_probe
from aquamend.decision.sensitivity import one_step, total_variation
from aquamend.decision.sensitivity.robustness import _bends, robustness
from aquamend.decision.sensitivity.total_variation import flip_distances, nearest, shifted
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Declaration, Discrete, Gaussian, Hypothesis, JointModel

PERFECT = {"look": Discrete(["shut", "open"], {"on": [1, 0], "off": [0, 1]})}
HALF = 0.5 - 1e-9
seeds = st.integers(0, 2**32 - 1)


def random_state(seed, *, may_bar=0.0, gaussian=False, cheap=False, valued=0.0, needing=0.0, answers=0, **rest):
    """Return a state with shared operations and up to three probes of two or three answers, some of them free.

    With ``valued`` and ``needing``, beliefs have values, and some need support; p0 has given so many ``answers``.
    """
    rng = np.random.default_rng(seed)
    n_beliefs, n_actions, n_probes, n = (int(rng.integers(*ends)) for ends in [(1, 4), (1, 4), (1, 4), (2, 6)])
    names = [f"b{i}" for i in range(n_beliefs)]
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
    declares = [bool(rng.random() < valued) for _ in names]
    beliefs = [
        Belief(
            name, rng.uniform(2, 20), may_keep=bool(rng.random() >= may_bar), declared="v0" if has else None,
            needs_support=bool(rng.random() < needing),
        )
        for name, has in zip(names, declares, strict=True)
    ]  # fmt: skip
    sources = [str(rng.choice(names)) if valued and rng.random() < 0.4 else None for _ in range(n_probes)]
    probes = [
        Probe(
            f"p{i}", 0.0 if rng.random() < 0.1 else rng.uniform(0.001, 0.3 if cheap else 1.5), source=source,
            max_uses=max(1, answers),
        )
        for i, source in enumerate(sources)
    ]  # fmt: skip
    graph = RecoveryGraph(beliefs, actions, probes, edges, [Operation("o", rng.uniform(1, 5))] if any(share) else [])
    hypotheses = []
    for i in range(n):
        failing = [(name, has) for name, has in zip(names, declares, strict=True) if rng.random() < 0.4]
        truth = {name: f"v{rng.integers(1, 3)}" for name, has in failing if has}
        hypotheses.append(Hypothesis(f"h{i}", 1 / n, [name for name, has in failing if not has], truth=truth))
    kernels = {}
    for i in range(n_probes):
        weights = rng.random((n, int(rng.integers(2, 4)))) ** 3 + 1e-3
        if may_bar:
            weights[:, 1:][rng.random(weights[:, 1:].shape) < 0.3] = 0.0
        kernels[f"p{i}"] = Discrete([f"y{k}" for k in range(weights.shape[1])], weights / weights.sum(1)[:, None])
        if gaussian:
            kernels[f"p{i}"] = Gaussian(np.column_stack([rng.uniform(0, 4, n), rng.uniform(0.5, 1.5, n)]))
    declarations = [Declaration(name, name, support=["p0"] if rng.random() < 0.6 else []) for name in names]
    if not needing:
        declarations = []
    problem = Problem(
        graph,
        JointModel(hypotheses, kernels, declarations=declarations),
        restart=rng.uniform(3, 15) if rng.random() < 0.5 else None,
        escalate=rng.uniform(3, 15) if rng.random() < 0.7 else None,
    )
    posterior = rng.dirichlet(np.full(n, 0.7))
    if may_bar:
        posterior[1:][rng.random(n - 1) < 0.25] = 0.0
    state = replace(InformationState.start(problem), posterior=posterior / posterior.sum())
    for _ in range(answers):
        row = state.posterior @ problem.model.channels["p0"].table
        state = state.after(Observation("p0", f"y{rng.choice(len(row), p=row / row.sum())}"))
    limited = replace(problem, **rest)
    return replace(state, problem=limited, origin=state.origin and replace(state.origin, problem=limited))


def at(state, posterior):
    """Return the state with another posterior: what was possible at the alarm, and who spoke, stay as they are."""
    return replace(state, posterior=posterior, origin=state.origin or state)


def one_step_best(state):
    """Return the step of least loss one step ahead; ties commit."""
    values, stop = probe_values(state), best_terminal(state)
    best = best_probe(values.expected_loss, stop.loss)
    return stop.decision if best is None else Reprobe(values.branches.probes[best])


# An independent account: every terminal decision by trying all sets and all values, every rule by trying all decisions.


def decision_rows(state):
    """Return every terminal decision, more than once where there are several ways of being allowed to take it.

    Each has its loss under every hypothesis and its clauses of support.
    """
    problem, found = state.problem, []
    graph = problem.graph
    for size in range(len(graph.beliefs) + 1):
        for chosen in itertools.combinations(graph.beliefs, size):
            names = [belief.name for belief in chosen]
            undo = graph.closure(names)
            parts = [belief_parts(state, i, belief in chosen) for i, belief in enumerate(graph.beliefs)]
            for combination in itertools.product(*parts):
                row = np.full(len(problem.failed), graph.rollback_cost(undo))
                for _, loss, _ in combination:
                    row = row + loss
                values = tuple(value for value, _, _ in combination)
                clauses = [c for _, _, clauses in combination for c in clauses]
                found.append(((tuple(names), values), row, clauses))
    n = len(problem.failed)
    if problem.restart is not None:
        found.append(("restart", np.full(n, problem.restart), []))
    if problem.escalate is not None:
        found.append(("escalate", np.full(n, problem.escalate), []))
    return found


def belief_parts(state, i, corrected):
    """Return the ways of dealing with one belief: what is declared, the loss left, the clauses of support."""
    problem = state.problem
    belief, failed = problem.graph.beliefs[i], problem.failed[:, i]
    if not corrected:
        loss = failed * belief.residual if belief.may_keep else np.where(failed > 0, math.inf, 0.0)
        return allowed(state, i, None, loss, failed)
    if belief.declared is None:
        return [(None, 0.0 * failed, [])]
    truths = [hypothesis.truth.get(belief.name, belief.declared) for hypothesis in problem.model.hypotheses]
    found = []
    for value in dict.fromkeys(truths):
        if value != belief.declared:
            wrong = np.array([float(truth != value) for truth in truths])
            found += allowed(state, i, value, wrong * belief.residual, wrong)
    return found


def allowed(state, i, value, loss, wrong):
    """Return the ways in which something may be said of a belief: on evidence, or where it cannot be wrong."""
    if not state.problem.graph.beliefs[i].needs_support:
        return [(value, loss, [])]
    sure = (value, np.where(wrong > 0, math.inf, loss), [])
    evidence = [m for m, before in state.problem.evidence_for[i].items() if before or speaks(state, m, wrong)]
    return [(value, loss, [wrong[None, :], sources(state.problem, evidence)]), sure] if evidence else [sure]


def speaks(state, probe, wrong):
    """Whether what a probe has answered is twice as likely where something is right as where it is wrong."""
    name, start = state.problem.graph.probes[probe].name, state.at_alarm
    table = state.problem.model.channels[name]
    said = [table.likelihood(o.outcome) for o in state.evidence if o.probe == name]
    if not said:
        return False
    right, against = (
        start[own] @ np.prod(said, axis=0)[own] / max(start[own].sum(), 1e-300) for own in (wrong == 0, wrong > 0)
    )
    return right > 0 and right >= 2 * against


def sources(problem, probes):
    """Return one row for each probe: where its source has failed."""
    rows = [
        problem.failed[:, problem.graph.belief_index[source]] if source else np.zeros(len(problem.failed))
        for source in (problem.graph.probes[m].source for m in probes)
    ]
    return np.array(rows).reshape(len(rows), len(problem.failed))


def own_decision(state, step):
    """Return the loss row and the clauses of a terminal step, with as few of these as there may be."""
    match step:
        case Restart():
            key = "restart"
        case Escalate():
            key = "escalate"
        case _:
            graph, said = state.problem.graph, {d.belief: d.value for d in getattr(step, "declare", ())}
            correct = getattr(step, "correct", ())
            undone = set(graph.closure(correct))
            repaired = [b.name for b in graph.beliefs if not b.declares and set(graph.downstream(b.name)) <= undone]
            names = tuple(b.name for b in graph.beliefs if b.name in correct or b.name in repaired)
            key = names, tuple(said.get(b.name) for b in graph.beliefs)
    p = state.posterior
    ways = [
        (row, clauses)
        for own, row, clauses in decision_rows(state)
        if own == key and np.isfinite(row[p > 0]).all() and all((clause @ p < HALF).any() for clause in clauses)
    ]
    return min(ways, key=lambda way: len(way[1]), default=(np.full(len(p), math.inf), []))


def undominated(rows):
    rows = np.unique(rows, axis=0)
    beaten = [any((other <= row).all() and (other != row).any() for other in rows) for row in rows]
    return rows[~np.array(beaten)]


def rule_rows(state, probe):
    """Return the loss of every decision rule of a probe under every possible hypothesis, where none needs support."""
    view, x = state.probe(probe), state.posterior > 0
    losses = undominated(np.array([row[x] for _, row, _ in decision_rows(state)]))
    found = []
    for decisions in itertools.product(losses, repeat=len(view.channel.outcomes)):
        terms = [
            np.where(k > 0, k * np.where(k > 0, row, 0.0), 0.0)
            for k, row in zip(view.channel.table[x].T, decisions, strict=True)
        ]
        found.append(view.cost + np.sum(terms, axis=0))
    return undominated(np.array(found))


def by_linear_program(p, challenger, rules, *, strict, conditions=()):
    """Return the least TV(p, p') at which a challenger's rule is at least as good as every rule of the step.

    A rule that is inadmissible on the challenger's hypotheses does not count: any mass at all makes it so.
    """
    usable = np.isfinite(challenger)
    deltas = [(challenger[usable] - rule[usable]) for rule in rules if np.isfinite(rule[usable]).all()]
    if not usable.any() or (strict and any(delta.min() > -1e-9 for delta in deltas)):
        return math.inf
    n, deltas = int(usable.sum()), [*deltas, *(row[usable] for row in conditions)]
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
    """Return the smallest distance over all rules of all other alternatives; probes only where no support is needed."""
    x = state.posterior > 0  # what evidence has ruled out stays ruled out
    p, rows = state.posterior[x], decision_rows(state)
    ruled = any(belief.needs_support for belief in state.problem.graph.beliefs)
    strict, least = not isinstance(step, Reprobe), [math.inf]
    if strict:
        own, clauses = own_decision(state, step)
        mine = own[None, x]
        zero = np.zeros(len(p))
        for clause in clauses:
            least.append(by_linear_program(p, zero, [], strict=False, conditions=HALF - clause[:, x]))
    else:
        mine, own = rule_rows(state, step.probe), np.full(len(x), math.nan)
    for _, row, clauses in rows:
        if np.allclose(row[x], own[x], rtol=0.0, atol=1e-9):
            continue
        for chosen in itertools.product(*clauses):
            conditions = [c[x] - HALF + 1e-6 for c in chosen]
            least.append(by_linear_program(p, row[x], mine, strict=strict, conditions=conditions))
    if not ruled:
        others = [rule_rows(state, name) for name in state.legal_probes if step != Reprobe(name)]
        least += [by_linear_program(p, rule, mine, strict=strict) for rules in others for rule in rules]
    return min(least)


def tractable(state, most=300):
    x = state.posterior > 0
    rows = [row[x] for _, row, _ in decision_rows(state)]
    if not state.legal:
        return len(rows) <= 500
    answers = max(len(view.channel.outcomes) for view in state.legal)
    return len(rows) <= 80 and len(undominated(np.array(rows))) ** answers <= most


# Hand-worked.


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
    assert (found.challenger, found.thresholds[0].above_step) == ("run probe look", "run probe look")


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
    assert robustness(lid(PERFECT, q=0.4), Continue()).challenger == "run probe look"


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


def test_a_free_probe_gives_way_where_every_answer_leads_to_the_same_decision(lid):
    """Undoing 3 against a loss of 10: both answers say roll back once P(off | shut) = q/5 / (q/5 + 1 - q) is 0.3."""
    noisy = {"look": Discrete(["shut", "open"], {"on": [1, 0], "off": [0.2, 0.8]})}
    state = lid(noisy, q=0.5, probes=[Probe("look", 0.0)])
    found = robustness(state, Reprobe("look"))
    assert found.distance == pytest.approx(0.3 / (0.3 + 0.2 * 0.7) - 0.5)
    assert (found.challenger, found.exact) == ("roll back lid", True)


def test_a_free_probe_may_tie_with_a_decision_at_the_edge_alone(lid):
    """One answer proves the lid to be on, so that rolling back is as good only where that has become impossible."""
    telling = {
        "look": Discrete(["shut", "open", "on"], {"on": [0.16443, 0.13092, 0.70465], "off": [0.95385, 0.04615, 0]})
    }
    found = robustness(lid(telling, q=0.62, probes=[Probe("look", 0.0)]), Reprobe("look"))
    assert (found.distance, found.challenger, found.exact) == (pytest.approx(0.38), "roll back lid", True)


def test_a_last_resort_gives_way_to_whatever_becomes_admissible(lid):
    safe = Plan("stop safely", np.array([5.0, 5.0]), last_resort=True)
    state = lid(q=0.4, may_keep=False, reversible=False, plans=[safe])
    assert best_terminal(state).decision == RollBack((), (), plan="stop safely")
    found = robustness(state, best_terminal(state).decision)
    assert found.distance_at_least == pytest.approx(0.4)
    assert not found.exact


def pitcher(q=0.3, *, probes=(), kernels=None, support=("scale",), needs_support=True, source_fails=0.0):
    """Return a state with a belief that needs support, from a scale whose own soundness may be in question."""
    graph = RecoveryGraph(
        [Belief("level", 10.0, declared="low", needs_support=needs_support),
         Belief("sound", 0.0)],
        [Action("pour", undo=3.0, executed=True)],
        [Probe("scale", 0.5, max_uses=1, source="sound"), *probes],
        [("level", "pour", "belief_to_action"), ("scale", "level", "detection"),
         *((probe.name, "level", "detection") for probe in probes)],
    )  # fmt: skip
    hypotheses = [
        Hypothesis("low", (1 - q) * (1 - source_fails)),
        Hypothesis("high", q * (1 - source_fails), truth={"level": "high"}),
        Hypothesis("low, scale off", (1 - q) * source_fails, ["sound"]),
        Hypothesis("high, scale off", q * source_fails, ["sound"], truth={"level": "high"}),
    ]
    even = Discrete(["heavy", "light"], {h.name: [0.5, 0.5] for h in hypotheses})
    model = JointModel(
        [h for h in hypotheses if h.prior > 0],
        {name: Discrete(k.outcomes, {h.name: k.likelihood[h.name] for h in hypotheses if h.prior > 0})
         for name, k in {"scale": even, **(kernels or {})}.items()},
        declarations=[Declaration("level is low", "level", support=list(support))],
    )  # fmt: skip
    return InformationState.alarmed(Problem(graph, model, escalate=50.0, sensing_budget=0.0))


def test_a_step_flips_where_it_loses_its_support():
    """Continuing costs 10q, the new value "high" 3 + 10(1 - q): 0.65 ties, but continuing is rejected at one half."""
    found = robustness(pitcher(q=0.3), Continue())
    assert (found.distance, found.exact) == (pytest.approx(0.2, abs=1e-6), True)
    assert found.challenger == "roll back level"
    (threshold,) = found.thresholds
    assert (threshold.above, threshold.above_step) == (pytest.approx(0.5, abs=1e-6), "roll back level")


def test_without_a_need_for_support_it_flips_where_the_losses_cross():
    found = robustness(pitcher(q=0.3, needs_support=False), Continue())
    assert (found.distance, found.challenger) == (pytest.approx(0.35), "roll back level")


def test_a_step_flips_where_its_evidence_becomes_unusable():
    found = robustness(pitcher(q=0.1, source_fails=0.4), Continue())
    assert (found.distance, found.exact) == (pytest.approx(0.1, abs=1e-6), True)
    assert found.challenger == "escalate"


def test_a_challenger_counts_only_where_it_is_admissible():
    """Escalating costs 50; continuing is cheaper everywhere, but needs a scale that is probably sound."""
    state = pitcher(q=0.3, source_fails=0.7)
    assert best_terminal(state).decision == Escalate()
    found = robustness(state, Escalate())
    assert (found.distance, found.challenger, found.exact) == (pytest.approx(0.2, abs=1e-6), "continue", True)


def test_a_challenger_needs_no_evidence_where_it_cannot_be_wrong():
    """The scale is off with 0.7, which 0.2 would have to leave; a level that cannot be high is 0.1 away."""
    found = robustness(pitcher(q=0.1, source_fails=0.7), Escalate())
    assert (found.distance, found.challenger, found.exact) == (pytest.approx(0.1, abs=1e-6), "continue", True)


def test_a_step_that_cannot_be_wrong_does_not_flip_where_its_evidence_becomes_unusable():
    state = pitcher(q=0.3, source_fails=0.4)
    known = at(state, np.array([0.6, 0.0, 0.4, 0.0]))
    assert best_terminal(known).decision == Continue()
    found = robustness(known, Continue())
    assert (found.distance, found.exact, found.challenger) == (None, True, None)


KINDS = [{}, {"may_bar": 0.3}, {"valued": 0.6}, {"valued": 0.6, "may_bar": 0.3}]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=cases(10, 50), deadline=None)
@given(seed=seeds, cheap=st.booleans())
def test_the_distance_is_the_least_over_all_rules_of_all_alternatives(kind, seed, cheap):
    state = random_state(seed, cheap=cheap, **kind)
    if not tractable(state):
        return
    step = one_step_best(state)
    found = robustness(state, step)
    least = by_enumeration(state, step)
    assert found.exact
    assert (math.inf if found.distance is None else found.distance) == pytest.approx(least, abs=1e-7)


@settings(max_examples=cases(60, 400), deadline=None)
@given(seed=seeds, may_bar=st.sampled_from([0.0, 0.3]), answers=st.integers(0, 2))
@example(seed=282, may_bar=0.3, answers=1)  # what cannot be wrong loses the evidence that it does not need
def test_with_support_the_distance_is_the_least_over_all_decisions_and_their_conditions(seed, may_bar, answers):
    state = random_state(seed, may_bar=may_bar, valued=0.6, needing=0.6, answers=answers, sensing_budget=0.0)
    if state.legal or not tractable(state):
        return
    step = best_terminal(state).decision
    found = robustness(state, step)
    least = by_enumeration(state, step)
    assert found.exact
    assert (math.inf if found.distance is None else found.distance) == pytest.approx(least, abs=1e-5)


def nearby(rng, p, distance):
    """Return a random distribution at a total variation of at most ``distance`` from p."""
    out = np.minimum(p, rng.dirichlet(np.full(len(p), 0.3)) * distance)
    into = np.where(p > 0, rng.dirichlet(np.full(len(p), 0.3)) + 1e-12, 0.0)
    return p - out + into / into.sum() * out.sum()


def lead(state, step):
    """Return by how much the best alternative beats the step, one step ahead, by the library's own prices."""
    others = [name for name in state.legal_probes if step != Reprobe(name)]
    best = min([best_terminal(state).loss, *probe_values(state, others).expected_loss])
    own = (
        float(probe_values(state, [step.probe]).expected_loss[0])
        if isinstance(step, Reprobe)
        else price(state, step).loss
    )
    return math.inf if math.isinf(own) else own - best


SAMPLED = [{}, {"valued": 0.6}, {"valued": 0.6, "needing": 0.5}, {"gaussian": True},
           {"valued": 0.6, "needing": 0.5, "answers": 1},
           {"gaussian": True, "valued": 0.6, "needing": 0.4}]  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLED)
@settings(max_examples=cases(8, 40), deadline=None)
@given(seed=seeds, cheap=st.booleans())
@example(seed=10492, cheap=True)  # one belief gains support where another loses it: no reading lies between the two
def test_no_posterior_nearer_than_the_certified_distance_flips_the_decision(kind, seed, cheap):
    state = random_state(seed, cheap=cheap, **kind)
    step = one_step_best(state)
    if not isinstance(step, Reprobe) and math.isinf(price(state, step).loss):
        return
    found = robustness(state, step)
    rng = np.random.default_rng(seed)
    for _ in range(4 if "gaussian" in kind else 15):
        near = at(state, nearby(rng, state.posterior, found.distance_at_least))
        assert lead(near, step) <= 1e-7


@pytest.mark.parametrize("kind", SAMPLED)
@settings(max_examples=cases(8, 40), deadline=None)
@given(seed=seeds, cheap=st.booleans())
def test_at_the_witness_or_just_past_it_another_alternative_is_as_good(kind, seed, cheap):
    state = random_state(seed, cheap=cheap, **kind)
    step = one_step_best(state)
    found = robustness(state, step)
    if found.witness is None:
        return
    assert 0.5 * np.abs(found.witness - state.posterior).sum() == pytest.approx(found.distance, abs=1e-9)
    past = np.maximum(found.witness + 1e-6 * (found.witness - state.posterior), 0.0)
    posteriors = [found.witness, past / past.sum()]
    assert max(lead(at(state, x), step) for x in posteriors) >= -1e-7
    if isinstance(step, Reprobe) and any(belief.needs_support for belief in state.problem.graph.beliefs):
        assert not found.exact or found.distance == 0.0


@settings(max_examples=cases(12, 60), deadline=None)
@given(seed=seeds, cheap=st.booleans(), few=st.sampled_from(["rules", "programs", "decisions"]))
def test_what_cannot_be_searched_is_bracketed(seed, cheap, few):
    """With the work capped, the certified distance stays below the exact one and the one found above it."""
    state = random_state(seed, cheap=cheap)
    step = one_step_best(state)
    exact = robustness(state, step)
    with pytest.MonkeyPatch.context() as patch:
        if few == "rules":
            patch.setattr(total_variation, "MOST_ENTRIES", 0)
        elif few == "programs":
            patch.setattr(total_variation, "MOST_PROGRAMS", 1)
        else:
            patch.setattr(one_step, "MOST_LOSSES", 1)
            patch.setattr(one_step, "MOST_DECISIONS", 4)
        capped = robustness(state, step)
    limit = math.inf if exact.distance is None else exact.distance
    assert capped.distance_at_least <= min(1.0, limit) + 1e-8
    assert capped.distance is None or capped.distance >= limit - 1e-8
    if capped.exact:
        assert capped.distance == pytest.approx(exact.distance, abs=1e-8)


def words(step):
    """Return a step as the thresholds name it."""
    match step:
        case Reprobe(probe):
            return f"re-probe {probe}"
        case RollBack(correct):
            return f"roll back {', '.join(correct)}"
        case _:
            return type(step).__name__.lower()


def identity(step):
    """Return what tells steps apart: what is measured, or what is undone and declared."""
    return (step.undo, step.declare) if isinstance(step, RollBack) else ((), ()) if step == Continue() else step


@pytest.mark.parametrize("kind", [*KINDS, {"valued": 0.6, "needing": 0.5}])
@settings(max_examples=cases(8, 40), deadline=None)
@given(seed=seeds)
def test_the_step_changes_at_the_thresholds_and_not_before(kind, seed):
    state = random_state(seed, cheap=True, **kind)
    step = one_step_best(state)
    failed = state.problem.failed
    for threshold in robustness(state, step).thresholds:
        column = failed[:, state.problem.graph.belief_index[threshold.belief]]
        q = float(state.posterior @ column)
        assert threshold.now == pytest.approx(q)

        def moved(theta, column=column, q=q):
            posterior = state.posterior * np.where(column > 0, theta / q, (1 - theta) / (1 - q))
            return at(state, posterior / posterior.sum())

        for end, found, name in [
            (0.0, threshold.below, threshold.below_step),
            (1.0, threshold.above, threshold.above_step),
        ]:
            edge = end if found is None else found
            for share in (0.3, 0.7, 0.99):
                assert abs(edge - q) < 1e-6 or lead(moved(q + share * (edge - q)), step) <= 1e-8
            if found is not None:
                steps = (0.0, 1e-9, 1e-6, 1e-3)
                past = [end if found == end else found + share * min(end - found, edge - q, key=abs) for share in steps]
                assert max(lead(moved(theta), step) for theta in past) >= -1e-8
                if "needing" not in kind:  # there the step may come back
                    assert identity(one_step_best(moved(past[-1]))) != identity(step)
                assert isinstance(name, str)


def test_thresholds_name_the_step_beyond_them(lid):
    (threshold,) = robustness(lid(PERFECT, q=0.4), Reprobe("look")).thresholds
    assert threshold.below_step == words(Continue())
    assert threshold.above_step == words(RollBack(("lid",)))


@settings(max_examples=cases(16, 80), deadline=None)
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


@settings(max_examples=cases(16, 80), deadline=None)
@given(seed=seeds, n=st.integers(2, 8), k=st.integers(1, 5), terms=st.integers(1, 3))
def test_the_bound_of_the_multipliers_meets_the_distance_of_the_solution(seed, n, k, terms):
    """Against Σ_y min_j t_yj, that is against every choice of one row for each term."""
    rng = np.random.default_rng(seed)
    p, rule = rng.dirichlet(np.full(n, 0.5)), rng.normal(0.0, 1.0, n)
    sides = [rng.normal(0.0, 1.0, (k, n)) for _ in range(terms)]
    rules = [np.sum(rows, axis=0) for rows in itertools.product(*sides)]
    least = by_linear_program(p, rule, rules, strict=False)
    shift = nearest(p, rule, sides, np.zeros((0, n)))
    assert shift.upper == pytest.approx(least, abs=1e-7)
    assert shift.lower == pytest.approx(least, abs=1e-7)
    if shift.mixture is not None:
        assert flip_distances(p, (rule - shift.mixture)[None, :], 0.0)[0] == pytest.approx(least, abs=1e-7)


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


@settings(max_examples=cases(80, 800), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_between_the_bends_that_are_said_the_least_of_lines_is_straight(seed, n):
    at_0, at_1 = np.random.default_rng(seed).uniform(0.0, 10.0, (2, n))

    def least(theta):
        return float((at_0 + theta * (at_1 - at_0)).min())

    bends = sorted(_bends(at_0, at_1))
    assert len(bends) <= 2 * n, "at the bends, and at some crossings above them"
    for low, high in itertools.pairwise([0.0, *bends, 1.0] if n else []):
        assert 0.0 <= low < high <= 1.0
        # It is concave, so it is straight where its middle is the mean of its ends.
        assert least(0.5 * (low + high)) == pytest.approx(0.5 * (least(low) + least(high)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.outer
def test_programs_that_would_go_round_for_ever_are_given_up():
    """Amounts in steps, read by mixtures: the simplex method alone does not end on some of these programs."""
    file = Path(__file__).parents[3] / "examples" / "learning" / "pouring_by_role.yaml"
    state = InformationState.alarmed(load_problem(file))
    state = state.after(Observation("report", "level+")).after(Observation("look_target", 6.0))
    found = robustness(state, Reprobe("weigh_target"))
    assert not found.exact
    assert 0.0 <= found.distance_at_least <= found.distance < 0.5
