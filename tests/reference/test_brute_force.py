"""The reference itself, on problems small enough to do by hand."""

import copy
import itertools
import math
import random
from statistics import NormalDist

import pytest
from tests.tiers import cases

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


NOISY = {"outcomes": ["fine", "broken"], "likelihood": {"ok": [0.9, 0.1], "bad": [0.2, 0.8]}}


def one_value(*, q=0.3, undo=1.0, cost=0.5, belief=None, probe=None, **more):
    """One belief that declares A where B may be true, and a noisy probe that reads it rightly nine times in ten."""
    return {
        "format": "aquamend-problem/2",
        "name": "one value",
        "beliefs": [{"name": "b", "residual": 10, "correction": "supported", "declared": "A"} | (belief or {})],
        "actions": [{"name": "a", "undo": undo, "status": "executed"}],
        "probes": [{"name": "p", "cost": cost, "accuracy": 0.9} | (probe or {})],
        "edges": [["p", "b", "detection"], ["b", "a", "belief_to_action"]],
        "hypotheses": [{"name": "ok", "prior": 1 - q}, {"name": "bad", "prior": q, "truth": {"b": "B"}}],
        "kernels": {"p": NOISY},
    } | more


def with_camera(*, blind=0.2, **more):
    """Add to ``one_value`` a camera that may be off, the probe's source; three hypotheses, 0.5, 0.3 and 0.2."""
    problem = one_value(probe={"source": "camera"}, **more)
    problem["beliefs"].append({"name": "camera", "residual": 0})
    problem["hypotheses"] = [
        {"name": "ok", "prior": 0.7 - blind},
        {"name": "bad", "prior": 0.3, "truth": {"b": "B"}},
        {"name": "blind", "prior": blind, "failed": ["camera"]},
    ]
    even = {"ok": [0.5, 0.5], "bad": [0.5, 0.5], "blind": [0.5, 0.5]}
    problem["kernels"] = {"p": {"outcomes": ["fine", "broken"], "likelihood": even}}
    return problem


@pytest.mark.parametrize(
    ("declared", "true", "tolerance", "failed"),
    [
        ("A", "A", 0, False),
        ("A", "B", 0, True),
        (18.0, 18, 0, False),
        (18, 18.001, 0, True),
        (18.0, 21.0, 3.0, False),
        (18.0, 15.0, 3.0, False),
        (18.0, 21.001, 3.0, True),
        (0.1, 0.4, 0.3, False),
        (0.1, 0.401, 0.3, True),
    ],
)
def test_a_belief_has_failed_where_the_truth_differs_by_more_than_the_tolerance(
    brute_force, declared, true, tolerance, failed
):
    belief = {"name": "b", "residual": 1, "declared": declared, "tolerance": tolerance}
    assert brute_force.has_failed(belief, {"name": "h", "prior": 1, "truth": {"b": true}}) is failed
    assert not brute_force.has_failed(belief, {"name": "h", "prior": 1})


@pytest.mark.parametrize(
    ("given", "ok", "off", "own"),
    [
        ({}, 1, 1, 1),
        ({"source": "camera"}, 1, 0, 0),
        ({"accuracy": 0.9}, 0.9, 0.9, 0.9),
        ({"accuracy": 0.9, "source": "camera"}, 0.9, 0, 0),
        ({"accuracy": {"own": 0.1}, "source": "camera"}, 1, 0, 0.1),
        ({"accuracy": {"default": 0.8, "own": 0.1}, "source": "camera"}, 0.8, 0, 0.1),
        ({"accuracy": {"default": 0.8, "own": 0.1}}, 0.8, 0.8, 0.1),
    ],
)
def test_accuracy_is_lost_with_the_source_unless_a_hypothesis_has_its_own(brute_force, given, ok, off, own):
    problem = {"beliefs": [{"name": "camera", "residual": 1, "declared": "sound"}]}
    probe = {"name": "p", "cost": 1} | given
    hypotheses = {
        "ok": {"name": "ok"},
        "off": {"name": "off", "truth": {"camera": "biased"}},
        "own": {"name": "own", "truth": {"camera": "biased"}},
    }
    found = {name: brute_force.accuracy(problem, probe, h) for name, h in hypotheses.items()}
    assert found == {"ok": ok, "off": off, "own": own}


def test_undoing_alone_corrects_nothing(brute_force):
    """At first there is the old value, wrong with 0.3, and B, wrong with 0.7: undoing costs 1 and saves nothing."""
    reference = brute_force.Reference(one_value())
    assert [(t.kind, t.loss(reference.posterior(()))) for t in reference.stops] == [
        ("continue", pytest.approx(3)),
        ("roll_back", pytest.approx(1 + 3)),
    ]
    assert reference.values("b") == [({"value": "A"}, pytest.approx(0.3)), ({"value": "B"}, pytest.approx(0.7))]
    assert brute_force.Reference(one_value(q=0.8)).best_stop(())[0].declare == {"b": {"value": "B"}}
    assert brute_force.Reference(one_value(q=0.8)).best_stop(())[1] == pytest.approx(1 + 10 * 0.2)


def test_an_answer_is_a_value_to_declare(brute_force):
    """After ``broken`` the weights are 0.07 and 0.24: A is wrong with 24/31, what was read with 0.1, B with 7/31."""
    reference = brute_force.Reference(one_value())
    stop, loss = reference.best_stop((("p", "broken"),))
    assert (stop.correct, stop.undo, stop.declare) == (("b",), ("a",), {"b": {"from": "p"}})
    assert loss == pytest.approx(1 + 10 * 0.1)
    assert reference.values("b", (("p", "broken"),)) == [
        ({"value": "A"}, pytest.approx(24 / 31)),
        ({"from": "p"}, pytest.approx(0.1)),
        ({"value": "B"}, pytest.approx(7 / 31)),
    ]
    assert reference.best_stop((("p", "fine"),))[1] == pytest.approx(10 * 6 / 69)
    expected = 0.5 + 0.31 * 2 + 0.69 * (60 / 69)
    assert reference.probe_loss("p", ()) == pytest.approx(expected)
    assert reference.optimum() == pytest.approx(expected)
    assert reference.evaluate("aquamend") == pytest.approx(
        {"expected_loss": expected, "expected_probes": 1, "expected_undone": 0.31, "success": 0.63 + 0.31 * 0.9}
    )


def test_a_policy_may_be_a_function_of_what_was_seen(brute_force):
    """Look once and then carry on whatever was seen: 0.5 + 10 * 0.3, and right with 0.7."""
    reference = brute_force.Reference(one_value())
    found = reference.evaluate(lambda seen: reference.stops_at(seen)[0] if seen else "p")
    assert found == pytest.approx({"expected_loss": 3.5, "expected_probes": 1, "expected_undone": 0, "success": 0.7})


def test_an_aggregation_edge_is_no_reading_but_evidence(brute_force):
    problem = one_value(belief={"needs_support": True})
    problem["edges"][0][2] = "aggregation"
    reference = brute_force.Reference(problem)
    assert reference.values("b") == []
    assert reference.values("b", (("p", "fine"),)) == [({"value": "A"}, pytest.approx(6 / 69))]


def test_a_value_may_be_right_of_several_truths(brute_force):
    """Declared 10, tolerance 2, truths 14, 15 and 17: 15 is right with 14 and, at the distance of 2, with 17."""
    problem = one_value(
        belief={"declared": 10, "tolerance": 2},
        hypotheses=[
            {"name": "ok", "prior": 0.1, "truth": {"b": 11}},
            {"name": "h14", "prior": 0.4, "truth": {"b": 14}},
            {"name": "h15", "prior": 0.2, "truth": {"b": 15}},
            {"name": "h17", "prior": 0.3, "truth": {"b": 17}},
        ],
        kernels={"p": {"outcomes": ["x"], "likelihood": {name: [1] for name in ("ok", "h14", "h15", "h17")}}},
    )
    reference = brute_force.Reference(problem)
    assert reference.marginals() == pytest.approx({"b": 0.9})
    assert reference.values("b") == [
        ({"value": 10}, pytest.approx(0.9)),
        ({"value": 11}, pytest.approx(0.9)),
        ({"value": 14}, pytest.approx(0.4)),
        ({"value": 15}, pytest.approx(0.1)),
        ({"value": 17}, pytest.approx(0.5)),
    ]
    assert reference.best_stop(())[0].declare == {"b": {"value": 15}}
    assert reference.best_stop(())[1] == pytest.approx(1 + 10 * 0.1)


def test_equal_values_resolve_to_the_reading_of_the_first_probe(brute_force):
    """With q = 0.75 and no other news what p and r read is wrong with 0.25, and so is B."""
    even = {"outcomes": ["x"], "likelihood": {"ok": [1], "bad": [1]}}
    problem = one_value(q=0.75, kernels={"r": even, "p": even})
    problem["probes"] = [{"name": "r", "cost": 0, "accuracy": 0.75}, {"name": "p", "cost": 0, "accuracy": 0.75}]
    problem["edges"].append(["r", "b", "detection"])
    reference = brute_force.Reference(problem)
    assert reference.best_stop((("p", "x"), ("r", "x")))[0].declare == {"b": {"from": "r"}}
    assert reference.best_stop((("p", "x"),))[0].declare == {"b": {"from": "p"}}
    assert reference.best_stop(())[0].declare == {"b": {"value": "B"}}


def test_a_belief_that_may_not_be_kept_is_not_declared_anew_either_but_its_correction_may_be_wrong(brute_force):
    """Keeping is out at any price; B is wrong with 0.7 and leaves 10 * 0.7, what p read 10 * 0.1."""
    reference = brute_force.Reference(one_value(belief={"may_keep": False}, escalate=60))
    stop, loss = reference.best_stop(())
    assert (stop.declare, loss) == ({"b": {"value": "B"}}, pytest.approx(1 + 7))
    stop, loss = reference.best_stop((("p", "fine"),))
    assert (stop.declare, loss) == ({"b": {"from": "p"}}, pytest.approx(1 + 1))
    assert reference.probe_loss("p", ()) == pytest.approx(0.5 + 2)


def test_a_supported_correction_without_any_value_is_none(brute_force):
    problem = one_value(belief={"may_keep": False}, escalate=60)
    del problem["beliefs"][0]["declared"]
    problem["hypotheses"] = [{"name": "ok", "prior": 0.7}, {"name": "bad", "prior": 0.3, "failed": ["b"]}]
    reference = brute_force.Reference(problem)
    assert [terminal.kind for terminal in reference.stops] == ["continue", "escalate"]
    assert (reference.best_stop(())[0].kind, reference.best_stop(())[1]) == ("escalate", 60)
    assert reference.best_stop((("p", "fine"),))[1] == pytest.approx(1 + 1)


def test_without_evidence_a_belief_that_needs_it_is_neither_kept_nor_corrected(brute_force):
    """One look is evidence; before it nothing is left but what the file gives, and without that infinity."""
    cases = [({}, "escalate", math.inf), ({"escalate": 50}, "escalate", 50), ({"restart": 9}, "restart", 9)]
    for more, kind, loss in cases:
        reference = brute_force.Reference(one_value(belief={"needs_support": True}, **more))
        stop, found = reference.best_stop(())
        assert (stop.kind, found) == (kind, loss)
        assert reference.next_step("aquamend") == "p"
        assert reference.optimum() == pytest.approx(1.72)
    claims = [{"name": "it is A", "belief": "b", "support": ["p"]}]
    reference = brute_force.Reference(one_value(belief={"needs_support": True}, declarations=claims))
    assert (reference.best_stop(())[0].kind, reference.best_stop(())[1]) == ("continue", pytest.approx(3))


def test_a_belief_that_needs_support_is_not_kept_at_one_half(brute_force):
    """At q = 0.5 A is wrong as often as B: neither may be declared, and A may not be kept."""
    claims = [{"name": "it is A", "belief": "b", "support": ["p"]}]
    cases = {0.49: ["continue", "roll_back", "escalate"], 0.5: ["escalate"], 0.51: ["roll_back", "escalate"]}
    for q, kinds in cases.items():
        problem = one_value(q=q, belief={"needs_support": True}, declarations=claims, escalate=50)
        assert [terminal.kind for terminal in brute_force.Reference(problem).stops] == kinds
    problem = one_value(q=0.5, belief={"needs_support": True, "correction": "assured"}, escalate=50)
    assert brute_force.Reference(problem).best_stop(())[1] == 1


def test_evidence_is_usable_while_its_source_probably_holds(brute_force):
    claims = [{"name": "it is A", "belief": "b", "support": ["p"]}]
    sound = brute_force.Reference(with_camera(belief={"needs_support": True}, declarations=claims, escalate=50))
    assert (sound.best_stop(())[0].kind, sound.best_stop(())[1]) == ("continue", pytest.approx(3))
    # What was read is wrong with 0.1 * 0.8 + 0.2 = 0.28, no better than A, which is wrong with 0.3, by 1.
    assert sound.values("b", (("p", "fine"),))[1] == ({"from": "p"}, pytest.approx(0.28))
    assert sound.best_stop((("p", "fine"),))[0].kind == "continue"
    off = brute_force.Reference(
        with_camera(blind=0.5, belief={"needs_support": True}, declarations=claims, escalate=50)
    )
    assert off.best_stop(())[0].kind == off.best_stop((("p", "fine"),))[0].kind == "escalate"
    assert off.values("b", (("p", "fine"),)) == []


def test_a_reading_needs_its_own_source_and_another_value_any_evidence(brute_force):
    """The camera is off with 0.6, so what p read is out; r is sound and far away, and makes A and B declarable."""
    problem = with_camera(blind=0.6, belief={"needs_support": True}, escalate=50)
    problem["probes"].append({"name": "r", "cost": 0})
    problem["edges"].append(["r", "far", "detection"])
    problem["edges"].append(["far", "b", "inference"])
    problem["beliefs"].append({"name": "far", "residual": 0})
    problem["kernels"]["r"] = problem["kernels"]["p"]
    reference = brute_force.Reference(problem)
    assert reference.values("b", (("p", "fine"),)) == []
    assert reference.values("b", (("p", "fine"), ("r", "fine"))) == [({"value": "A"}, pytest.approx(0.3))]
    assert reference.best_stop((("r", "fine"),))[1] == pytest.approx(3)
    problem["edges"].remove(["far", "b", "inference"])
    assert brute_force.Reference(problem).values("b", (("r", "fine"),)) == []


def test_two_new_values_are_wrong_independently_given_the_hypothesis(brute_force):
    """Both failed for certain; what p read is right with 0.9 and with 0.8: success 0.72, loss 2 + 1 + 2."""
    beliefs = [{"name": name, "residual": 10, "correction": "supported"} for name in ("b", "c")]
    problem = one_value(
        beliefs=beliefs,
        probes=[{"name": "p", "cost": 0.5, "accuracy": 0.9}, {"name": "r", "cost": 0.25, "accuracy": 0.8}],
        actions=[{"name": "a", "undo": 2, "status": "executed"}],
        edges=[
            ["p", "b", "detection"],
            ["r", "c", "detection"],
            ["b", "a", "belief_to_action"],
            ["c", "a", "belief_to_action"],
        ],
        hypotheses=[{"name": "bad", "prior": 1, "failed": ["b", "c"]}],
        kernels={name: {"outcomes": ["x"], "likelihood": {"bad": [1]}} for name in ("p", "r")},
    )
    reference = brute_force.Reference(problem)
    assert reference.best_stop(())[1] == 20
    assert reference.evaluate("exact") == pytest.approx(
        {"expected_loss": 0.75 + 2 + 1 + 2, "expected_probes": 2, "expected_undone": 1, "success": 0.72}
    )
    assert reference.evaluate("no-reprobe")["success"] == 0


def test_a_source_decides_where_a_reading_is_right_and_counts_as_a_failure_itself(brute_force):
    """What p reads is right unless the camera is off, which has 0.2; then the camera itself is left wrong too."""
    problem = with_camera(undo=0.25, cost=0)
    problem["probes"][0]["accuracy"] = 1
    reference = brute_force.Reference(problem)
    stop, loss = reference.best_stop((("p", "fine"),))
    # What p read is wrong with 0.2, A with 0.3. Correcting the camera would cost nothing, and save nothing.
    assert (stop.correct, stop.declare, loss) == (("b",), {"b": {"from": "p"}}, pytest.approx(0.25 + 2))
    assert reference.evaluate("aquamend")["success"] == pytest.approx(0.8)


def test_a_gaussian_answer_is_a_value_even_if_it_tells_nothing_else(brute_force):
    kernels = {"p": {"gaussian": {"ok": [4, 2], "bad": [4, 2]}}}
    reference = brute_force.Reference(one_value(kernels=kernels))
    assert reference.probe_loss("p", ()) == pytest.approx(0.5 + 1 + 1, abs=1e-9)


@pytest.mark.parametrize("distance", [0.5, 2.0, 3.5])
def test_the_loss_jumps_where_a_gaussian_answer_takes_away_the_right_to_keep(brute_force, distance):
    """Up to half way the belief is kept, for 10 q(y); beyond, though q(y) < 0.9, it is corrected for 8 + 1."""
    kernels = {"p": {"gaussian": {"ok": [0, 1], "bad": [distance, 1]}}}
    problem = one_value(q=0.5, undo=8, belief={"needs_support": True}, kernels=kernels, escalate=50)
    phi = NormalDist().cdf
    # Corrected, b is given what p read, wrong with 0.1, or where q(y) > 0.9 the value B, wrong with 1 - q(y).
    cut = (math.log(9) + distance**2 / 2) / distance
    read = 0.5 * (phi(cut) - phi(distance / 2)) + 0.5 * (phi(cut - distance) - phi(-distance / 2))
    known = 8 * (0.5 * phi(-cut) + 0.5 * phi(distance - cut)) + 10 * 0.5 * phi(-cut)
    expected = 10 * 0.5 * phi(-distance / 2) + 9 * read + known
    assert brute_force.Reference(problem).probe_loss("p", ()) == pytest.approx(0.5 + expected, abs=1e-7)
    del problem["beliefs"][0]["needs_support"]
    free = 10 * 0.5 * phi(cut - distance) + known
    assert brute_force.Reference(problem).probe_loss("p", ()) == pytest.approx(0.5 + free, abs=1e-9)


def test_declarations_in_force_say_how_likely_they_are_invalid_and_whether_they_are_usable(brute_force):
    claims = [
        {"name": "it is A", "belief": "b", "support": ["p"]},
        {"name": "it sees", "belief": "camera", "version": 2, "invalid_in": ["blind"]},
    ]
    expected = [
        {"name": "it is A", "belief": "b", "version": 1, "value": "A", "support": ["p"], "usable": True},
        {"name": "it sees", "belief": "camera", "version": 2, "value": None, "support": [], "usable": False},
    ]
    expected[0]["invalid"], expected[1]["invalid"] = pytest.approx(0.3), pytest.approx(0.2)
    assert brute_force.Reference(with_camera(declarations=claims)).in_force() == expected
    expected[0]["usable"], expected[1]["invalid"] = False, pytest.approx(0.6)
    assert brute_force.Reference(with_camera(blind=0.6, declarations=claims)).in_force() == expected
    default = brute_force.Reference(one_value()).in_force((("p", "fine"),))
    assert [(d["name"], d["support"], d["invalid"], d["usable"]) for d in default] == [
        ("b", [], pytest.approx(6 / 69), True)
    ]
    assert brute_force.Reference(one_value()).power("p") == pytest.approx({"b": 0.8})


@pytest.mark.parametrize("seed", range(40))
def test_values_alone_change_nothing_where_a_correction_is_assured(brute_force, generator, seed):
    """What format 1 says with ``failed``, format 2 may say with values; what follows from it is the same."""
    problem = generator.random_problem(random.Random(seed))
    valued = copy.deepcopy(problem) | {"format": "aquamend-problem/2"}
    for belief in valued["beliefs"][::2]:
        belief |= {"correction": "assured", "declared": "right", "needs_support": False}
        for hypothesis in valued["hypotheses"]:
            if belief["name"] in hypothesis["failed"]:
                hypothesis["failed"].remove(belief["name"])
                hypothesis.setdefault("truth", {})[belief["name"]] = "other"
    one, two = brute_force.Reference(problem), brute_force.Reference(valued)
    assert one.evaluate("aquamend") == two.evaluate("aquamend")
    assert one.optimum() == two.optimum()
    assert one.declarations == two.declarations
    assert one.marginals() == two.marginals()


@pytest.mark.parametrize("seed", range(100))
def test_stopping_costs_the_least_of_every_set_with_every_combination_of_values(brute_force, generator, seed):
    """Also: no policy beats the optimum, ``exact`` attains it, and looking further ahead never hurts."""
    problem = generator.format_2_problem(random.Random(seed))
    reference = brute_force.Reference(problem)
    optimum = reference.optimum()
    for policy in ("aquamend", "lookahead-2", "no-reprobe", "restart"):
        assert reference.evaluate(policy)["expected_loss"] >= optimum - 1e-9
    assert reference.evaluate("exact")["expected_loss"] == pytest.approx(optimum, abs=1e-7)
    deeper = [reference.value((), depth) for depth in range(4)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise([*deeper, optimum]))
    some = random.Random(seed).sample(sorted(reference._stop), min(20, len(reference._stop)))
    for seen in some:
        mass, losses = reference.posterior(seen), [math.inf]
        for option in brute_force.every_option(problem, reference.undoing, brute_force.answered(seen)):
            if all(choice.admissible(problem, mass) for choice in option.choices):
                losses.append(option.loss(mass))
        assert reference.best_stop(seen)[1] == pytest.approx(min(losses), abs=1e-7)


def test_a_gaussian_integral_agrees_with_a_fine_sum(brute_force, generator):
    """The sum walks a fine grid of answers and stops at each as after any other observation."""
    checked = 0
    for seed in range(cases(4, 12)):
        problem = generator.format_2_problem(random.Random(seed), gaussian=True)
        reference = brute_force.Reference(problem)
        for probe in reference.legal(()):
            kernel, mass = problem["kernels"][probe], reference.posterior(())
            if "gaussian" not in kernel:
                continue
            shapes = {name: NormalDist(*kernel["gaussian"][name]) for name in mass if mass[name] > 0}
            low = min(shape.mean - 6 * shape.stdev for shape in shapes.values())
            high = max(shape.mean + 6 * shape.stdev for shape in shapes.values())
            width, total = (high - low) / 600, 0.0
            for y in (low + (i + 0.5) * width for i in range(600)):
                density = sum(mass[name] * shape.pdf(y) for name, shape in shapes.items())
                total += width * density * reference.best_stop(((probe, y),))[1]
            cost = brute_force.number(brute_force.named(problem["probes"], probe)["cost"])
            assert reference.probe_loss(probe, ()) == pytest.approx(cost + total, abs=0.1, rel=0.005)
            checked += 1
    assert checked >= cases(3, 11)


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_same_seed_gives_the_same_problem_of_format_2(generator, brute_force, gaussian):
    for seed in range(50):
        problem = generator.format_2_problem(random.Random(seed), gaussian=gaussian)
        assert problem == generator.format_2_problem(random.Random(seed), gaussian=gaussian)
        names = [hypothesis["name"] for hypothesis in problem["hypotheses"]]
        valued = {belief["name"] for belief in problem["beliefs"] if "declared" in belief}
        for hypothesis in problem["hypotheses"]:
            assert not valued & set(hypothesis.get("failed", []))
            assert valued >= set(hypothesis.get("truth", {}))
        for kernel in problem["kernels"].values():
            rows = kernel.get("gaussian") or kernel["likelihood"]
            assert sorted(rows) == sorted(names)
            if "likelihood" in kernel:
                assert all(sum(row) == pytest.approx(1, abs=1e-12) for row in rows.values())


def test_the_problems_of_format_2_reach_every_corner(brute_force, generator):
    """Every kind of value is declared, keeping is refused, nothing is admissible, and a probe opens the way."""
    declared, refused, stuck, opened, exact_distance = set(), 0, 0, 0, 0
    for seed in range(150):
        problem = generator.format_2_problem(random.Random(seed))
        reference = brute_force.Reference(problem)
        opened += reference.best_stop(())[1] == math.inf > reference.optimum()
        for seen in reference._stop:
            declared |= {word for value in reference.best_stop(seen)[0].declare.values() for word in value}
            kinds = [terminal.kind for terminal in reference.stops_at(seen)]
            refused += "continue" not in kinds
            stuck += not {"continue", "roll_back"} & set(kinds)
        for belief, hypothesis in itertools.product(problem["beliefs"], problem["hypotheses"]):
            if isinstance(belief.get("declared"), int | float) and belief.get("tolerance"):
                distance = abs(brute_force.truth(belief, hypothesis) - belief["declared"])
                exact_distance += abs(distance - belief["tolerance"]) < 1e-9
    assert declared == {"from", "value"}
    assert min(refused, stuck, opened, exact_distance) >= 5
