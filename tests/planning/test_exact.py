"""The evidence lattice against plain recursion."""

import math

import numpy as np
import pytest

from aquamend import Exact, InformationState, Observation, Reprobe, evaluate
from aquamend.decision import best_terminal
from aquamend.files import parse_problem
from aquamend.planning import exact
from aquamend.planning.evidence_tree import EvidenceTree
from aquamend.planning.finite_probes import discrete_answers
from aquamend.planning.lookahead import lookahead_losses
from tests.tiers import cases


def recursive_optimum(
    state: InformationState, depth: float = math.inf, known: dict[object, float] | None = None
) -> float:
    """Walk the whole tree of answers; those that came in another order before are not walked again."""
    known = {} if known is None else known
    seen = (depth, tuple(sorted(map(str, state.evidence))))
    if seen not in known:
        known[seen] = _walked(state, depth, known)
    return known[seen]


def _walked(state: InformationState, depth: float, known: dict[object, float]) -> float:
    best = best_terminal(state).loss
    if depth == 0:
        return best
    for probe in state.legal_probes:
        view = state.probe(probe)
        loss = view.cost
        for outcome, p in zip(view.channel.outcomes, state.posterior @ view.channel.table, strict=True):
            if p > 0:
                loss += p * recursive_optimum(state.after(Observation(probe, outcome)), depth - 1, known)
        best = min(best, loss)
    return best


@pytest.mark.parametrize("seed", range(25))
def test_the_lattice_gives_the_same_optimum_as_plain_recursion(make_state, seed):
    state = make_state(seed, uses=1 if seed % 2 else 2)
    assert exact.solve(state).loss == pytest.approx(recursive_optimum(state), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_depth_limit_counts_probes_from_the_root(make_state, seed, depth):
    state = make_state(seed)
    assert exact.solve(state, depth=depth).loss == pytest.approx(recursive_optimum(state, depth), abs=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_a_sensing_budget_binds_inside_the_plan(make_state, seed):
    state = make_state(seed, budget=0.9)
    assert exact.solve(state).loss == pytest.approx(recursive_optimum(state), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_following_the_exact_policy_costs_what_the_plan_promised(make_state, seed):
    state = make_state(seed)
    assert evaluate(Exact(), state).expected_loss == pytest.approx(exact.solve(state).loss, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_made_at_the_root_answers_like_one_made_at_the_descendant(make_state, seed):
    policy, state = Exact(), make_state(seed)
    while isinstance(step := policy.next_step(state), Reprobe):
        channel = state.problem.model.channels[step.probe]
        likely = channel.outcomes[int(np.argmax(state.posterior @ channel.table))]
        state = state.after(Observation(step.probe, likely))
        fresh = Exact()
        assert policy.next_step(state) == fresh.next_step(state)
        assert policy.bounds(state).upper == pytest.approx(fresh.bounds(state).upper, abs=1e-9)


# Against the reference: values, sources, the need of support.


@pytest.mark.parametrize("block", range(4))
def test_the_exact_plan_is_the_reference_optimum_on_hundreds_of_problems(referenced, block):
    infinite = 0
    for seed in range(100 * block, 100 * block + 100):
        state, reference = referenced(seed)
        table = exact.solve(state)
        assert table is not None, seed
        assert table.loss == pytest.approx(reference.optimum(), rel=1e-9, abs=1e-9), seed
        infinite += math.isinf(table.loss)
    assert 0 < infinite < 50


@pytest.mark.parametrize("depth", [1, 2])
def test_a_depth_limited_plan_is_the_reference_value_at_that_depth(referenced, depth):
    for seed in range(200):
        state, reference = referenced(seed)
        expected = reference.value((), depth)
        assert exact.solve(state, depth=depth).loss == pytest.approx(expected, rel=1e-9, abs=1e-9), seed


def test_every_probe_is_worth_what_the_reference_says_if_run_first(referenced):
    for seed in range(150):
        state, reference = referenced(seed)
        losses = exact.solve(state).probe_losses()
        expected = [reference.probe_loss(probe, (), math.inf) for probe in state.legal_probes]
        np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-9, err_msg=str(seed))


def test_a_plan_goes_on_after_answers_as_the_reference_does(referenced):
    compared = 0
    for seed in range(100):
        state, reference = referenced(seed)
        root = exact.solve(state)
        for view in state.legal:
            for outcome, p in zip(view.channel.outcomes, state.posterior @ view.channel.table, strict=True):
                if p < 1e-12:
                    continue
                after = state.after(Observation(view.name, outcome))
                expected = reference.optimum(((view.name, outcome),))
                assert exact.solve(after).loss == pytest.approx(expected, rel=1e-9, abs=1e-9), seed
                cell = root.cell_after(after.evidence)
                if cell is not None:
                    inside = root.value[cell] / root.mass[cell]
                    assert inside == pytest.approx(expected, rel=1e-9, abs=1e-8), seed
                    compared += 1
                else:  # one decision is best under all that is left
                    assert best_terminal(after).loss == pytest.approx(expected, rel=1e-9, abs=1e-9), seed
    assert compared > 80


@pytest.mark.slow
def test_the_exact_plan_is_the_reference_optimum_on_thousands_of_problems(referenced):
    for seed in range(1000, 4000):
        state, reference = referenced(seed)
        assert exact.solve(state).loss == pytest.approx(reference.optimum(), rel=1e-9, abs=1e-9), seed


def test_a_probe_that_tells_nothing_changes_no_optimum_with_rules_of_support_too(valued_file, blinded):
    """As if it were not there: in the table of all evidence states, some probes ahead, and in the tree of evidence."""
    ruled = compared = 0
    for seed in range(cases(80, 400)):
        data = blinded(valued_file(seed, max_total_uses=2), seed, gaussian=False)
        data.pop("sensing_budget", None)  # which even its price might use up
        spent = [{**probe, "max_uses": 0} if probe["name"] == "blind" else probe for probe in data["probes"]]
        state, without = (InformationState.alarmed(parse_problem(d)) for d in (data, {**data, "probes": spent}))
        if not state.legal_probes or state.legal_probes[-1] != "blind":
            continue
        optimum = exact.solve(without).loss
        table = exact.solve(state)
        assert table.loss == pytest.approx(optimum, abs=1e-9), seed
        assert table.probe_losses()[-1] == pytest.approx(optimum + 1e-6, abs=1e-9), seed
        ahead = exact.solve(without, depth=1).loss
        assert lookahead_losses(state, 2)[-1] == pytest.approx(ahead + 1e-6, abs=1e-9), seed
        tree = EvidenceTree(state, discrete_answers(state))
        for _ in range(4):
            assert tree.bounds.lower <= optimum + 1e-9, seed
            assert tree.bounds.upper >= optimum - 1e-9, seed
            if not tree.grow():
                break
        ruled += any(belief.needs_support for belief in state.problem.graph.beliefs)
        compared += 1
    assert compared > 60
    assert ruled > 20


def test_too_many_evidence_states_are_refused_rather_than_tried(make_state, monkeypatch):
    monkeypatch.setattr(exact, "MOST_CELLS", 3)
    assert exact.solve(make_state(0)) is None
