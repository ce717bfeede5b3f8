"""The reference itself, on problems small enough to do by hand."""

import itertools
import math
import random
from statistics import NormalDist

import pytest

PERFECT = {"outcomes": ["fine", "broken"], "likelihood": {"ok": [1, 0], "bad": [0, 1]}}


def one_belief(*, q=0.3, keep_loss=10.0, undo=4.0, cost=0.5, **more):
    """One belief, one executed action resting on it, one probe that resolves it."""
    return {
        "format": "aquamend-problem/1",
        "name": "one belief",
        "beliefs": [{"name": "b", "residual": keep_loss}],
        "actions": [{"name": "a", "undo": undo, "status": "executed"}],
        "probes": [{"name": "p", "cost": cost}],
        "edges": [["p", "b", "detection"], ["b", "a", "belief_to_action"]],
        "hypotheses": [
            {"name": "ok", "prior": 1 - q, "failed": [], "cause": "false_alarm"},
            {"name": "bad", "prior": q, "failed": ["b"], "cause": "external"},
        ],
        "kernels": {"p": PERFECT},
    } | more


def evidence_chain(count):
    """M1-Depth of the paper without its seed perturbation: exactly one of ``count`` beliefs has failed."""
    names = range(count)
    return {
        "format": "aquamend-problem/1",
        "name": "evidence chain",
        "beliefs": [{"name": f"b{i}", "residual": 4} for i in names],
        "actions": [{"name": f"a{i}", "undo": 2, "status": "executed"} for i in names],
        "probes": [{"name": f"p{i}", "cost": 0.3 + 1.5 / count} for i in names],
        "edges": [[f"p{i}", f"b{i}", "detection"] for i in names]
        + [[f"b{i}", f"a{i}", "belief_to_action"] for i in names],
        "hypotheses": [{"name": f"h{i}", "prior": 1 / count, "failed": [f"b{i}"], "cause": "external"} for i in names],
        "kernels": {
            f"p{i}": {"outcomes": ["fine", "broken"], "likelihood": {f"h{j}": [i != j, i == j] for j in names}}
            for i in names
        },
        "restart": 99,
    }


@pytest.mark.parametrize("q", [0.0, 0.05, 0.3, 0.6, 0.95, 1.0])
@pytest.mark.parametrize(("undo", "keep_loss"), [(4.0, 10.0), (10.0, 4.0), (3.0, 3.0)])
@pytest.mark.parametrize("cost", [0.0, 0.5, 2.0])
def test_one_resolved_belief_obeys_the_three_way_threshold(brute_force, q, undo, keep_loss, cost):
    reference = brute_force.Reference(one_belief(q=q, keep_loss=keep_loss, undo=undo, cost=cost))
    expected = min(q * keep_loss, undo, cost + q * min(undo, keep_loss))
    for policy in ("aquamend", "lookahead-2", "exact"):
        assert reference.evaluate(policy)["expected_loss"] == pytest.approx(expected, abs=1e-9)
    assert reference.optimum() == pytest.approx(expected, abs=1e-12)


def test_a_tie_between_probing_and_stopping_stops(brute_force):
    reference = brute_force.Reference(one_belief(q=0.5, keep_loss=10, undo=4, cost=2))
    assert reference.probe_loss("p", ()) == reference.best_stop(())[1] == 4
    assert reference.next_step("exact").kind == "roll_back"


def test_evaluation_counts_probes_undone_actions_and_success(brute_force):
    reference = brute_force.Reference(one_belief())
    assert reference.evaluate("aquamend") == pytest.approx(
        {"expected_loss": 1.7, "expected_probes": 1.0, "expected_undone": 0.3, "success": 1.0}
    )
    assert reference.evaluate("no-reprobe") == pytest.approx(
        {"expected_loss": 3.0, "expected_probes": 0.0, "expected_undone": 0.0, "success": 0.7}
    )
    assert reference.evaluate("restart") == {
        "expected_loss": math.inf,
        "expected_probes": 0.0,
        "expected_undone": 0.0,
        "success": 0.0,
    }


def test_downstream_runs_through_inferred_beliefs_and_planned_actions(brute_force):
    problem = one_belief(
        beliefs=[{"name": "b", "residual": 1}, {"name": "c", "residual": 1}],
        actions=[
            {"name": "unrelated", "undo": 1, "status": "executed"},
            {"name": "planned", "undo": 1},
            {"name": "last", "undo": 1, "status": "executed"},
        ],
        edges=[["b", "c", "inference"], ["c", "planned", "belief_to_action"], ["planned", "last", "action_causal"]],
    )
    assert brute_force.downstream(problem, "b") == brute_force.downstream(problem, "c") == {"last"}


def test_shared_operations_and_actions_are_charged_once(brute_force):
    problem = one_belief(
        actions=[
            {"name": "a", "operations": ["x", "y"], "status": "executed"},
            {"name": "c", "operations": ["y", "z"], "status": "executed"},
            {"name": "d", "undo": 8, "status": "executed"},
        ],
        operations=[{"name": "x", "cost": 1}, {"name": "y", "cost": 2}, {"name": "z", "cost": 4}],
    )
    assert brute_force.undo_cost(problem, {"a", "c", "d"}) == 15
    assert brute_force.undo_cost(problem, set()) == 0


def test_an_irreversible_action_rules_out_correction_and_restart(brute_force):
    problem = one_belief(
        actions=[{"name": "a", "undo": 1, "status": "executed", "reversible": False}], restart=1, escalate=50
    )
    reference = brute_force.Reference(problem)
    assert [terminal.kind for terminal in reference.stops] == ["continue", "roll_back", "escalate"]
    assert reference.stops[1].losses == {"ok": math.inf, "bad": math.inf}
    assert reference.next_step("restart").kind == "escalate"


def test_an_irreversible_planned_action_costs_nothing(brute_force):
    reference = brute_force.Reference(one_belief(actions=[{"name": "a", "undo": 1, "reversible": False}], restart=9))
    stop, loss = reference.best_stop(())
    assert (stop.kind, stop.correct, stop.undo, loss) == ("roll_back", ("b",), (), 0)


def test_a_belief_that_may_not_be_kept_may_be_kept_once_resolved(brute_force):
    reference = brute_force.Reference(one_belief(beliefs=[{"name": "b", "residual": 1, "may_keep": False}]))
    assert reference.best_stop(())[0].kind == "roll_back"
    assert reference.best_stop((("p", "fine"),))[0].kind == "continue"
    assert reference.probe_loss("p", ()) == pytest.approx(0.5 + 0.3 * 4)


def test_where_nothing_is_finite_the_decision_is_to_escalate_at_infinity(brute_force):
    problem = one_belief(
        beliefs=[{"name": "b", "residual": "inf"}],
        actions=[{"name": "a", "undo": 1, "status": "executed", "reversible": False}],
    )
    reference = brute_force.Reference(problem)
    stop, loss = reference.best_stop(())
    assert (stop.kind, loss) == ("escalate", math.inf)
    assert reference.optimum() == math.inf


def test_equal_stops_resolve_to_the_smallest_set_then_file_order_then_restart_then_escalate(brute_force):
    problem = one_belief(
        beliefs=[{"name": "b", "residual": 8}, {"name": "c", "residual": 8}],
        hypotheses=[{"name": "bad", "prior": 1, "failed": ["b", "c"], "cause": "external"}],
        kernels={"p": {"outcomes": ["only"], "likelihood": {"bad": [1]}}},
        actions=[{"name": "a", "undo": 8, "status": "executed"}, {"name": "d", "undo": 8, "status": "executed"}],
        edges=[["b", "a", "belief_to_action"], ["c", "d", "belief_to_action"]],
        restart=16,
        escalate=16,
    )
    assert brute_force.Reference(problem).best_stop(())[0].correct == ()
    problem["beliefs"] = [{"name": "b", "residual": 9}, {"name": "c", "residual": 9}]
    assert brute_force.Reference(problem).best_stop(())[0].correct == ("b", "c")
    problem["actions"][0]["undo"] = 8.5
    problem["actions"][1]["undo"] = 8.5
    assert brute_force.Reference(problem).best_stop(())[0].kind == "restart"
    del problem["restart"]
    assert brute_force.Reference(problem).best_stop(())[0].kind == "escalate"


def test_equal_single_corrections_resolve_in_file_order(brute_force):
    problem = one_belief(
        beliefs=[{"name": "c", "residual": 8}, {"name": "b", "residual": 8}],
        hypotheses=[{"name": "bad", "prior": 1, "failed": ["b", "c"], "cause": "external"}],
        kernels={"p": {"outcomes": ["only"], "likelihood": {"bad": [1]}}},
        actions=[{"name": "a", "undo": 3, "status": "executed"}, {"name": "d", "undo": 3, "status": "executed"}],
        edges=[["b", "a", "belief_to_action"], ["c", "d", "belief_to_action"]],
    )
    problem["actions"].append({"name": "fixed", "undo": 0, "status": "executed", "reversible": False})
    assert brute_force.Reference(problem).best_stop(())[0].correct == ("c", "b")
    problem["edges"].append(["c", "fixed", "belief_to_action"])
    assert brute_force.Reference(problem).best_stop(())[0].correct == ("b",)


def test_posterior_conditions_on_the_alarm_once_and_on_every_observation(brute_force):
    problem = one_belief(
        alarm={"suspects": ["b"], "likelihood": {"ok": 0.2, "bad": 0.8}},
        kernels={"p": {"outcomes": ["fine", "broken"], "likelihood": {"ok": [0.9, 0.1], "bad": [0.3, 0.7]}}},
    )
    problem["probes"][0]["max_uses"] = 2
    seen = (("p", "broken"), ("p", "fine"))
    weights = 0.7 * 0.2 * 0.1 * 0.9, 0.3 * 0.8 * 0.7 * 0.3
    assert brute_force.posterior(problem, seen)["bad"] == pytest.approx(weights[1] / sum(weights))
    assert brute_force.Reference(problem).marginals(seen) == pytest.approx({"b": weights[1] / sum(weights)})
    assert brute_force.Reference(problem).attribution(seen)["external"] == pytest.approx(weights[1] / sum(weights))


def test_gaussian_evidence_far_from_every_mean_still_has_a_posterior(brute_force):
    problem = one_belief(kernels={"p": {"gaussian": {"ok": [0, 1], "bad": [1, 1]}}}, q=0.5)
    assert brute_force.posterior(problem, (("p", 1.0),))["bad"] == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert brute_force.posterior(problem, (("p", 1000.0),)) == pytest.approx({"ok": 0, "bad": 1})


def test_power_counts_the_outcomes_that_lift_invalidity_to_one_half(brute_force):
    kernel = {"outcomes": ["x", "y", "z"], "likelihood": {"ok": [0.6, 0.3, 0.1], "bad": [0.2, 0.3, 0.5]}}
    claims = [
        {"name": "holds", "version": 1, "belief": "b", "invalid_in": ["bad"]},
        {"name": "always", "version": 1, "belief": "b", "invalid_in": []},
    ]
    reference = brute_force.Reference(one_belief(q=0.5, kernels={"p": kernel}, declarations=claims))
    assert reference.power("p") == pytest.approx({"holds": 0.8, "always": None})
    assert brute_force.Reference(one_belief(q=0.3, kernels={"p": kernel})).power("p") == pytest.approx({"b": 0.5})


@pytest.mark.parametrize(("distance", "undo"), [(1.0, 4.0), (2.5, 1.0), (0.3, 6.0)])
def test_gaussian_probe_loss_and_power_match_their_closed_forms(brute_force, distance, undo):
    keep_loss, cost, phi = 10.0, 0.5, NormalDist().cdf
    problem = one_belief(q=0.5, undo=undo, kernels={"p": {"gaussian": {"ok": [0, 1], "bad": [distance, 1]}}})
    reference = brute_force.Reference(problem)
    ratio = undo / keep_loss
    cut = (math.log(ratio / (1 - ratio)) + distance**2 / 2) / distance
    expected = 0.5 * keep_loss * phi(cut - distance) + undo * (0.5 * phi(-cut) + 0.5 * phi(distance - cut))
    assert reference.probe_loss("p", ()) == pytest.approx(cost + expected, abs=1e-10)
    assert reference.power("p") == pytest.approx({"b": phi(distance / 2)}, abs=1e-7)


def test_a_probe_is_legal_while_uses_and_budget_last(brute_force):
    problem = one_belief(sensing_budget=1.0)
    problem["probes"] = [{"name": "p", "cost": 0.5, "max_uses": 2}, {"name": "r", "cost": 0.75}]
    reference = brute_force.Reference(problem)
    assert reference.legal(()) == ["p", "r"]
    assert reference.legal((("p", "fine"),)) == ["p"]
    assert reference.legal((("p", "fine"), ("p", "fine"))) == []


def test_equal_probes_resolve_in_file_order(brute_force):
    problem = one_belief(kernels={"p": PERFECT, "first": PERFECT})
    problem["probes"] = [{"name": "first", "cost": 0.5}, {"name": "p", "cost": 0.5}]
    assert brute_force.Reference(problem).next_step("exact") == "first"


@pytest.mark.parametrize("count", [4, 5, 6])
def test_the_evidence_chain_separates_planning_depths_as_in_the_paper(brute_force, count):
    reference = brute_force.Reference(evidence_chain(count))
    runs = sum(math.prod((count - j - 1) / (count - j) for j in range(i)) for i in range(count - 1))
    full = (0.3 + 1.5 / count) * runs + 2
    assert reference.evaluate("aquamend") == pytest.approx(
        {"expected_loss": 4, "expected_probes": 0, "expected_undone": 0, "success": 0}
    )
    assert reference.evaluate("exact") == pytest.approx(
        {"expected_loss": full, "expected_probes": runs, "expected_undone": 1, "success": 1}
    )
    assert reference.evaluate(f"lookahead-{count - 1}")["expected_loss"] == pytest.approx(full)
    assert reference.value((), count - 2) > full + 0.01


@pytest.mark.parametrize("seed", range(60))
def test_no_policy_beats_the_optimum_and_exact_attains_it(brute_force, generator, seed):
    reference = brute_force.Reference(generator.random_problem(random.Random(seed)))
    optimum = reference.optimum()
    for policy in ("aquamend", "lookahead-2", "no-reprobe", "restart"):
        assert reference.evaluate(policy)["expected_loss"] >= optimum - 1e-9
    assert reference.evaluate("exact")["expected_loss"] == pytest.approx(optimum, abs=1e-7)
    deeper = [reference.value((), depth) for depth in range(4)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise([*deeper, optimum]))


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_same_seed_gives_the_same_valid_problem(generator, gaussian):
    for seed in range(50):
        problem = generator.random_problem(random.Random(seed), gaussian=gaussian)
        assert problem == generator.random_problem(random.Random(seed), gaussian=gaussian)
        names = [hypothesis["name"] for hypothesis in problem["hypotheses"]]
        assert sum(hypothesis["prior"] for hypothesis in problem["hypotheses"]) == pytest.approx(1, abs=1e-12)
        for kernel in problem["kernels"].values():
            rows = kernel.get("gaussian") or kernel["likelihood"]
            assert sorted(rows) == sorted(names)
            if "likelihood" in kernel:
                assert all(sum(row) == pytest.approx(1, abs=1e-12) for row in rows.values())
