"""Problems at the edges: endless or very many probes, tiny numbers, many beliefs."""

import json

import numpy as np
import pytest
from tests.tiers import cases
from typer.testing import CliRunner

from aquamend import (
    Action,
    AquaMend,
    Belief,
    Continue,
    Discrete,
    Exact,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
    Reprobe,
    evaluate,
    policy_named,
)
from aquamend.decision.min_cut import Requirements, best_closures
from aquamend.errors import TooLarge
from aquamend.planning.bounds import Bounds
from aquamend.planning.limits import Limits
from aquamend.planning.search import search


def coin(uses: float, *, cost: float = 0.1, n_probes: int = 1, budget: float = np.inf) -> InformationState:
    """One belief, noisy 90 % probes."""
    graph = RecoveryGraph(
        [Belief("b", residual=10.0)],
        [Action("a", undo=3.0, executed=True)],
        [Probe(f"p{m}", cost=cost, max_uses=uses) for m in range(n_probes)],
        [("b", "a", "belief_to_action")],
    )
    rows = Discrete(["y", "n"], [[0.9, 0.1], [0.1, 0.9]])
    model = JointModel([Hypothesis("ok", 0.6), Hypothesis("bad", 0.4, ["b"])], {f"p{m}": rows for m in range(n_probes)})
    return InformationState.alarmed(Problem(graph, model, sensing_budget=budget))


@pytest.mark.parametrize("state", [coin(300), coin(np.inf, budget=20.0), coin(10**12)], ids=["300", "budget", "1e12"])
def test_exact_plans_with_probes_of_very_many_uses(state):
    policy = Exact(gap=1e-3)
    assert isinstance(policy.next_step(state), Reprobe)
    assert policy.bounds(state).gap <= 1e-3


def test_exact_plans_with_more_than_a_hundred_probes():
    assert isinstance(Exact(gap=0.1).next_step(coin(3, n_probes=140)), Reprobe)


def test_endless_probing_is_evaluated_to_the_end_that_probability_gives_it():
    endless, many = evaluate(AquaMend(), coin(np.inf)), evaluate(AquaMend(), coin(400))
    assert endless.expected_loss == pytest.approx(many.expected_loss, abs=1e-9)
    assert endless.expected_probes > 1


def test_any_depth_of_lookahead_has_a_name_and_too_deep_a_one_says_so():
    assert policy_named("lookahead-100000").next_step(coin(2)) == policy_named("lookahead-2").next_step(coin(2))
    with pytest.raises(TooLarge, match="use exact"):
        policy_named("lookahead-100000").next_step(coin(np.inf))


def test_two_small_probabilities_do_not_make_an_impossible_one():
    rows = Discrete(["y", "n"], [[1.0, 0.0], [1 - 1e-200, 1e-200]])
    graph = RecoveryGraph([Belief("b")], probes=[Probe("p", 1.0)])
    model = JointModel([Hypothesis("ok", 1 - 1e-200), Hypothesis("bad", 1e-200, ["b"])], {"p": rows})
    state = InformationState.start(Problem(graph, model)).after(Observation("p", "n"))
    assert state.contradiction is None
    assert state.failure_probabilities == pytest.approx([1.0])


@pytest.mark.parametrize("unit", [1e-9, 1e-15])
def test_the_unit_of_a_reading_changes_nothing(unit):
    expected = bounds_in_units_of(1.0)
    assert expected.lower == pytest.approx(2.5, abs=1.0)
    bounds = bounds_in_units_of(unit)
    assert (bounds.lower, bounds.upper) == pytest.approx((expected.lower, expected.upper), rel=1e-4)


def bounds_in_units_of(unit: float) -> Bounds:
    graph = RecoveryGraph(
        [Belief("b", residual=10.0)], [Action("a", undo=4.0, executed=True)], [Probe("p", 0.25, max_uses=2)],
        [("b", "a", "belief_to_action")],
    )  # fmt: skip
    rows = Gaussian([[1.0 * unit, 0.5 * unit], [2.0 * unit, 0.5 * unit]])
    model = JointModel([Hypothesis("ok", 0.6), Hypothesis("bad", 0.4, ["b"])], {"p": rows})
    return search(InformationState.start(Problem(graph, model)), Limits(memory=1e7)).bounds


def test_readings_far_apart_plan_without_a_warning():
    graph = RecoveryGraph(
        [Belief("b", residual=10.0)], [Action("a", undo=4.0, executed=True)], [Probe("p", 0.25)],
        [("b", "a", "belief_to_action")],
    )  # fmt: skip
    hypotheses = [Hypothesis("ok", 0.25), Hypothesis("bad", 0.25, ["b"]), Hypothesis("worse", 0.5, ["b"])]
    model = JointModel(hypotheses, {"p": Gaussian([[0.0, 1.0], [1.0, 1.0], [1000.0, 1.0]])})
    bounds = search(InformationState.start(Problem(graph, model)), Limits()).bounds
    assert np.isfinite([bounds.lower, bounds.upper]).all()


@pytest.mark.parametrize("scale", [1.0, 100.0, 10_000.0])
@pytest.mark.parametrize("n", [14, 300])
def test_a_cut_tells_near_ties_apart(n, scale):
    """Every belief needs one shared operation; together they gain just more than it costs, or just less."""
    needs = Requirements(n + 1, np.arange(n, dtype=np.int32), np.full(n, n, dtype=np.int32))
    gain = np.full(n, scale)
    for surplus, chosen in ((1e-7, True), (-1e-7, False)):
        weight = np.append(gain, -(gain.sum() - surplus * scale))
        assert best_closures(weight[None, :], needs)[0, :n].all() == chosen
        assert best_closures(weight[None, :], needs)[0, :n].any() == chosen


def test_the_text_of_very_many_beliefs_fits_and_ends(tmp_path):
    from aquamend.cli.main import app

    n = cases(400, 1500)
    data = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": f"b{i}", "residual": 2} for i in range(n)],
        "actions": [{"name": f"a{i}", "undo": 1.0, "status": "executed"} for i in range(n)],
        "edges": [[f"b{i}", f"a{i}", "belief_to_action"] for i in range(n)],
        "hypotheses": [{"name": "all", "prior": 1.0, "failed": [f"b{i}" for i in range(n)]}],
    }
    file = tmp_path / "many.json"
    file.write_text(json.dumps(data))
    result = CliRunner().invoke(app, ["decide", str(file)])
    assert result.exit_code == 0
    assert "roll back" in result.output
    assert len(result.output) < 20_000


def test_nothing_to_decide_is_continuing():
    problem = Problem(RecoveryGraph([Belief("b", residual=1.0)]), JointModel([Hypothesis("fine", 1.0)]))
    assert AquaMend().next_step(InformationState.start(problem)) == Continue()


def test_evaluating_exact_beyond_its_table_gives_the_bounds_instead_of_waiting():
    with pytest.raises(TooLarge, match="lies between") as error:
        evaluate(Exact(gap=0.5, deadline_s=1.0), coin(np.inf))
    assert error.value.lower <= error.value.upper


def test_exact_comes_back_from_the_papers_decision_size():
    """72 hypotheses with a kernel row each, and 115 outcomes a probe: nothing merges, and nothing can be tabulated."""
    rng = np.random.default_rng(0)
    graph = RecoveryGraph(
        [Belief("b", residual=10.0)], [Action("a", undo=4.0, executed=True)],
        [Probe(f"p{m}", cost=0.2) for m in range(4)], [("b", "a", "belief_to_action")],
    )  # fmt: skip
    priors = rng.dirichlet(np.ones(72))
    hypotheses = [Hypothesis(f"h{s}", float(p), ["b"] if s % 2 else []) for s, p in enumerate(priors)]
    kernels = {f"p{m}": Discrete([str(o) for o in range(115)], rng.dirichlet(np.ones(115), 72)) for m in range(4)}
    policy = Exact(deadline_s=0.5)
    state = InformationState.start(Problem(graph, JointModel(hypotheses, kernels)))
    assert policy.next_step(state) == AquaMend().next_step(state)
    bounds = policy.bounds(state)
    assert 0.0 <= bounds.lower <= bounds.upper <= AquaMend().bounds(state).upper + 1e-9
