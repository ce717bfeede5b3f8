"""The reference itself, on problems small enough to do by hand."""

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
    assert [(ending.kind, ending.loss) for ending in reference.endings()] == [
        ("continue", pytest.approx(3)),
        ("roll_back", math.inf),
        ("escalate", 50),
    ]
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
    assert brute_force.Reference(problem).posterior(seen)["bad"] == pytest.approx(weights[1] / sum(weights))
    assert brute_force.Reference(problem).marginals(seen) == pytest.approx({"b": weights[1] / sum(weights)})
    assert brute_force.Reference(problem).attribution(seen)["external"] == pytest.approx(weights[1] / sum(weights))


def test_gaussian_evidence_far_from_every_mean_still_has_a_posterior(brute_force):
    problem = one_belief(kernels={"p": {"gaussian": {"ok": [0, 1], "bad": [1, 1]}}}, q=0.5)
    reference = brute_force.Reference(problem)
    assert reference.posterior((("p", 1.0),))["bad"] == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert reference.posterior((("p", 1000.0),)) == pytest.approx({"ok": 0, "bad": 1})


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
    problem = one_belief(sensing_budget=1.0, kernels={"p": PERFECT, "r": PERFECT})
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


# Truths, spreads, effects, kernels.


def cups(**more):
    """The levels of two cups, which of them is less full, and the camera."""
    return {
        "format": "aquamend-problem/1",
        "beliefs": [
            {"name": "level_A", "residual": 10, "declared": 18.0, "tolerance": 3.0},
            {"name": "level_B", "residual": 10, "declared": 30, "tolerance": 3.0},
            {"name": "target", "residual": 80, "declared": "A"},
            {"name": "grip", "residual": 5},
        ],
        "hypotheses": [{"name": "nothing", "prior": 1}],
    } | more


def worlds_from(brute_force, truth, **more):
    hypotheses = [{"name": "nothing", "prior": 0.6}, {"name": "water", "prior": 0.4, "truth": truth}]
    return brute_force.worlds_of(cups(hypotheses=hypotheses, **more))


@pytest.mark.parametrize(
    ("declared", "true", "tolerance", "failed"),
    [
        ("A", "A", 0, False),
        ("A", "B", 0, True),
        ("4", 4, 0, False),
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
    hypotheses = [{"name": "same", "prior": 0.5}, {"name": "other", "prior": 0.5, "truth": {"b": true}}]
    same, other = brute_force.worlds_of({"beliefs": [belief], "hypotheses": hypotheses})
    assert (same.fails(belief), other.fails(belief)) == (False, failed)


def test_a_belief_that_failed_without_a_value_makes_every_value_wrong(brute_force):
    hypotheses = [{"name": "nothing", "prior": 0.5}, {"name": "gone", "prior": 0.5, "failed": ["level_A"]}]
    problem = cups(hypotheses=hypotheses)
    _, gone = brute_force.worlds_of(problem)
    level = problem["beliefs"][0]
    assert gone.fails(level)
    assert gone.value(level) is None
    assert gone.makes_wrong(level, 18.0)
    assert gone.makes_wrong(level, 45.0)


def test_a_normal_spread_comes_in_steps_of_two_thirds_of_the_tolerance_out_to_three_deviations(brute_force):
    worlds = worlds_from(brute_force, {"level_A": {"normal": [40, 14]}})
    levels = [40.0 + 2 * k for k in range(-21, 22) if abs(40.0 + 2 * k - 18) > 3]
    assert [world.truth["level_A"] for world in worlds[1:]] == levels
    assert worlds[1].name == "water (level_A=-2)"
    density = [math.exp(-0.5 * ((level - 40) / 14) ** 2) for level in levels]
    assert [w.prior for w in worlds[1:]] == pytest.approx([0.4 * d / sum(density) for d in density])
    assert {w.widths["level_A"] for w in worlds[1:]} == {2.0}


def test_a_uniform_spread_is_even_reaches_its_upper_end_and_leaves_out_what_is_as_declared(brute_force):
    worlds = worlds_from(brute_force, {"level_A": {"uniform": [20, 24], "step": 0.5}})
    assert [w.truth["level_A"] for w in worlds[1:]] == [21.5, 22.0, 22.5, 23.0, 23.5, 24.0]
    assert [w.prior for w in worlds[1:]] == pytest.approx([0.4 / 6] * 6)


def test_listed_values_share_by_weight_and_spreads_multiply(brute_force):
    truth = {"level_A": {"values": {"40": 3, "45": 1}}, "target": {"values": ["B", "C"]}, "level_B": 60}
    worlds = worlds_from(brute_force, truth)
    assert [(w.name, w.prior) for w in worlds[1:]] == [
        ("water (level_A=40, target=B)", pytest.approx(0.15)),
        ("water (level_A=40, target=C)", pytest.approx(0.15)),
        ("water (level_A=45, target=B)", pytest.approx(0.05)),
        ("water (level_A=45, target=C)", pytest.approx(0.05)),
    ]
    assert all(w.truth["level_B"] == 60.0 and "water" in w.names and not w.widths for w in worlds[1:])


CONDITIONS = [
    ("water", True),
    ("nothing", False),
    ("not nothing", True),
    ("level_A", True),
    ("level_B", False),
    ("level_A > level_B", True),
    ("level_A >= 45", True),
    ("level_A < 45", False),
    ("level_A <= 45 & target = B", True),
    ("target = A | level_B > level_A", False),
    ("target = A | not level_B > level_A", True),
    ("not target = A & water", True),
    ("grip", True),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_a_condition_reads_names_and_compares_truths(brute_force, condition, expected):
    hypothesis = {
        "name": "water",
        "prior": 1,
        "truth": {"level_A": {"values": [45]}, "target": "B"},
        "failed": ["grip"],
    }
    problem = cups(hypotheses=[hypothesis])
    (world,) = brute_force.worlds_of(problem)
    assert brute_force.holds(problem, condition, world) is expected


def test_a_comparison_with_a_belief_that_failed_without_a_value_does_not_hold(brute_force):
    problem = cups(hypotheses=[{"name": "gone", "prior": 1, "failed": ["level_A"]}])
    (world,) = brute_force.worlds_of(problem)
    said = ["level_A > level_B", "level_A <= level_B", "not level_A > level_B", "level_B > level_A"]
    assert [brute_force.holds(problem, condition, world) for condition in said] == [False, False, True, False]


def test_each_effect_sees_what_earlier_ones_set_and_the_last_decides(brute_force):
    effects = [
        {"when": "level_A > level_B", "truth": {"target": "B"}},
        {"when": "target = B & level_A >= 45", "truth": {"target": "C"}},
        {"when": "target = C", "failed": ["grip"]},
        {"when": "level_A = 50", "failed": ["level_A", "target"]},
        {"when": "water", "truth": {"level_B": 30}},
    ]
    truth = {"level_A": {"values": [25, 35, 45, 50]}, "level_B": 33.5, "target": "D"}
    problem = cups(effects=effects)
    nothing, *wet = worlds_from(brute_force, truth, effects=effects)
    target, grip, level_b = problem["beliefs"][2], problem["beliefs"][3], problem["beliefs"][1]
    assert [w.value(target) for w in wet] == ["D", "B", "C", None]
    assert [w.fails(grip) for w in wet] == [False, False, True, True]
    assert not any(w.fails(level_b) for w in wet)
    assert not nothing.fails(target)


def test_a_mean_that_follows_a_step_is_as_wide_as_the_step(brute_force):
    hypotheses = [
        {"name": "nothing", "prior": 0.5},
        {"name": "water", "prior": 0.25, "truth": {"level_A": {"normal": [40, 0.5]}}},
        {"name": "off", "prior": 0.25, "truth": {"level_A": {"values": [25]}}},
    ]
    rows = {"default": ["2 * level_A + 9", 0.7], "off": ["level_A - 1", 0.7]}
    problem = cups(hypotheses=hypotheses, probes=[{"name": "p", "cost": 1}], kernels={"p": {"gaussian": rows}})
    kernel = brute_force.Reference(problem).kernels["p"]
    assert kernel.mean.tolist() == [45, 89, 24]
    assert kernel.sd.tolist() == pytest.approx([0.7, math.sqrt(0.49 + 16 / 12), 0.7])


def test_a_probe_that_answers_a_value_errs_evenly(brute_force):
    hypotheses = [
        {"name": "nothing", "prior": 0.4},
        {"name": "more", "prior": 0.2, "truth": {"target": "C"}},
        {"name": "most", "prior": 0.1, "truth": {"target": "B"}},
        {"name": "gone", "prior": 0.3, "failed": ["target"]},
    ]
    kernels = {
        "p": {"of": "target", "right": 0.9, "none": 0.04},
        "r": {"of": "target", "right": 0.9, "likelihood": {"most": [0, 0.5, 0.5]}},
        "s": {"of": "level_A", "right": 0.9, "none": 0.25},
    }
    probes = [{"name": name, "cost": 1} for name in kernels]
    found = brute_force.Reference(cups(hypotheses=hypotheses, probes=probes, kernels=kernels)).kernels
    assert found["p"].outcomes == ("A", "C", "B", "none")
    assert found["p"].table.tolist() == [
        pytest.approx([0.9, 0.03, 0.03, 0.04]),
        pytest.approx([0.03, 0.9, 0.03, 0.04]),
        pytest.approx([0.03, 0.03, 0.9, 0.04]),
        pytest.approx([0.32, 0.32, 0.32, 0.04]),
    ]
    assert found["r"].table[2].tolist() == [0, 0.5, 0.5]
    assert (found["s"].outcomes, found["s"].table[0].tolist()) == (("18", "none"), [0.75, 0.25])


def test_causes_are_independent_and_those_left_by_together_sum_to_one(brute_force):
    causes = [
        {"name": "wet", "prior": 0.5, "truth": {"level_A": {"values": [40, 45]}}, "kind": "external"},
        {"name": "shelf", "states": {"moved": {"prior": 0.2, "failed": ["grip"]}, "gone": {"prior": 0.1}}},
    ]
    problem = cups(causes=causes, effects=[{"when": "wet & shelf=gone", "truth": {"target": "B"}}])
    del problem["hypotheses"]
    found = {world.name: world for world in brute_force.worlds_of(problem)}
    expected = {"nothing": 0.35, "wet (level_A=40)": 0.175, "wet (level_A=45)": 0.175, "shelf=moved": 0.1}
    expected |= {"shelf=gone": 0.05, "wet + shelf=moved (level_A=40)": 0.05, "wet + shelf=moved (level_A=45)": 0.05}
    expected |= {"wet + shelf=gone (level_A=40)": 0.025, "wet + shelf=gone (level_A=45)": 0.025}
    assert {name: world.prior for name, world in found.items()} == pytest.approx(expected)
    assert found["wet + shelf=gone (level_A=40)"].truth["target"] == "B"
    assert [found[name].cause for name in ("nothing", "wet (level_A=40)", "shelf=gone")] == [
        "false_alarm",
        "external",
        "unknown",
    ]
    few = brute_force.worlds_of(problem | {"together": 1})
    assert [w.prior for w in few] == pytest.approx([0.35 / 0.85, 0.175 / 0.85, 0.175 / 0.85, 0.1 / 0.85, 0.05 / 0.85])


# Correcting.

NOISY = {"outcomes": ["fine", "broken"], "likelihood": {"ok": [0.9, 0.1], "bad": [0.2, 0.8]}}


def one_value(*, q=0.3, undo=1.0, cost=0.5, belief=None, probe=None, **more):
    """One belief that declares A where B may be true, and a probe that is wrong with 0.1 and with 0.2."""
    return {
        "format": "aquamend-problem/1",
        "name": "one value",
        "beliefs": [{"name": "b", "residual": 10, "declared": "A"} | (belief or {})],
        "actions": [{"name": "a", "undo": undo, "status": "executed"}],
        "probes": [{"name": "p", "cost": cost} | (probe or {})],
        "edges": [["p", "b", "detection"], ["b", "a", "belief_to_action"]],
        "hypotheses": [{"name": "ok", "prior": 1 - q}, {"name": "bad", "prior": q, "truth": {"b": "B"}}],
        "kernels": {"p": NOISY},
    } | more


def test_undoing_alone_corrects_nothing_and_the_declared_value_is_never_declared_again(brute_force):
    """At first B, the only other value, is wrong with 0.7: undoing costs 1 and leaves 7."""
    reference = brute_force.Reference(one_value())
    assert [(ending.kind, ending.loss, ending.declare) for ending in reference.endings()] == [
        ("continue", pytest.approx(3), {}),
        ("roll_back", pytest.approx(1 + 7), {"b": {"value": "B"}}),
    ]
    assert reference.values("b") == [({"value": "B"}, pytest.approx(0.7))]
    assert brute_force.Reference(one_value(q=0.8)).best_stop()[1] == pytest.approx(1 + 10 * 0.2)


def test_the_posterior_alone_says_what_a_value_is_worth(brute_force):
    """After ``broken`` the weights are 0.07 and 0.24, after ``fine`` 0.63 and 0.06."""
    reference = brute_force.Reference(one_value())
    stop, loss = reference.best_stop((("p", "broken"),))
    assert (stop.correct, stop.undo, stop.declare) == (("b",), ("a",), {"b": {"value": "B"}})
    assert loss == pytest.approx(1 + 70 / 31)
    assert reference.best_stop((("p", "fine"),))[1] == pytest.approx(60 / 69)
    expected = 0.5 + 0.31 * (1 + 70 / 31) + 0.69 * (60 / 69)
    assert reference.probe_loss("p") == pytest.approx(expected)
    assert reference.optimum() == pytest.approx(expected)
    assert reference.evaluate("aquamend") == pytest.approx(
        {"expected_loss": expected, "expected_probes": 1, "expected_undone": 0.31, "success": 0.63 + 0.24}
    )


def test_an_answer_that_tells_nothing_is_worth_nothing(brute_force):
    even = {"outcomes": ["x", "y"], "likelihood": {"ok": [0.5, 0.5], "bad": [0.5, 0.5]}}
    reference = brute_force.Reference(one_value(kernels={"p": even}))
    assert reference.probe_loss("p") == pytest.approx(0.5 + 3)
    assert reference.next_step("exact").kind == "continue"


def test_a_policy_may_be_a_function_of_what_was_seen(brute_force):
    """Look once and then carry on whatever was seen: 0.5 + 10 * 0.3, and right with 0.7."""
    reference = brute_force.Reference(one_value())
    found = reference.evaluate(lambda seen: reference.endings(seen)[0] if seen else "p")
    assert found == pytest.approx({"expected_loss": 3.5, "expected_probes": 1, "expected_undone": 0, "success": 0.7})


def test_a_value_may_be_right_of_several_truths(brute_force):
    """Declared 10, tolerance 2, truths 14, 15 and 17: 15 is right with 14 and, at the distance of 2, with 17."""
    names = ("ok", "h14", "h15", "h17")
    problem = one_value(
        belief={"declared": 10, "tolerance": 2},
        hypotheses=[
            {"name": name, "prior": prior, "truth": {"b": value}}
            for name, prior, value in zip(names, (0.1, 0.4, 0.2, 0.3), (11, 14, 15, 17), strict=True)
        ],
        kernels={"p": {"outcomes": ["x"], "likelihood": {name: [1] for name in names}}},
    )
    reference = brute_force.Reference(problem)
    assert reference.marginals() == pytest.approx({"b": 0.9})
    assert reference.values("b") == [
        ({"value": 11}, pytest.approx(0.9)),
        ({"value": 14}, pytest.approx(0.4)),
        ({"value": 15}, pytest.approx(0.1)),
        ({"value": 17}, pytest.approx(0.5)),
    ]
    assert reference.best_stop()[0].declare == {"b": {"value": 15}}
    assert reference.best_stop()[1] == pytest.approx(1 + 10 * 0.1)


def three_values(priors, **more):
    """b declares A; B, C and no value at all are possible too."""
    names = ("ok", "isB", "isC", "lost")
    hypotheses = [
        {"name": "ok", "prior": priors[0]},
        {"name": "isB", "prior": priors[1], "truth": {"b": "B"}},
        {"name": "isC", "prior": priors[2], "truth": {"b": "C"}},
        {"name": "lost", "prior": priors[3], "failed": ["b"]},
    ]
    kernels = {"p": {"outcomes": ["x"], "likelihood": {name: [1] for name in names}}}
    return one_value(hypotheses=hypotheses, kernels=kernels, **more)


def test_of_values_exactly_as_often_wrong_the_first_in_the_file_is_declared(brute_force):
    reference = brute_force.Reference(three_values([0.1, 0.3, 0.3, 0.3]))
    assert reference.best_stop()[0].declare == {"b": {"value": "B"}}
    hardly = brute_force.Reference(three_values([0.1, 0.3 - 1e-11, 0.3 + 1e-11, 0.3]))
    assert hardly.best_stop()[0].declare == {"b": {"value": "C"}}


def test_what_failed_without_a_value_is_wrong_whatever_is_declared(brute_force):
    reference = brute_force.Reference(three_values([0.1, 0.3, 0.4, 0.2]))
    assert reference.best_stop()[1] == pytest.approx(1 + 10 * 0.6)
    assert reference.evaluate("exact")["success"] == pytest.approx(0.4)


def test_a_value_of_prior_0_may_be_declared_too(brute_force):
    reference = brute_force.Reference(three_values([0.1, 0, 0, 0.9]))
    assert [entry["value"] for entry, _ in reference.values("b")] == ["B", "C"]


def test_ties_are_of_losses_and_never_of_probabilities(brute_force):
    """12 is right in every world; 10 is wrong with 1e-12, at an infinite loss."""
    problem = {
        "beliefs": [{"name": "level", "residual": "inf", "declared": 10, "tolerance": 3}],
        "hypotheses": [
            {"name": "as_declared", "prior": 0.998999999999},
            {"name": "a_little_more", "prior": 0.001, "truth": {"level": 12}},
            {"name": "more", "prior": 1e-12, "truth": {"level": 13.5}},
        ],
        "restart": 1000,
    }
    stop, loss = brute_force.Reference(problem).best_stop()
    assert (stop.declare, loss) == ({"level": {"value": 12.0}}, 0)


def test_a_value_that_may_not_be_kept_may_be_replaced_by_one_that_is_wrong_at_the_residual_given(brute_force):
    reference = brute_force.Reference(one_value(belief={"may_keep": False}, escalate=60))
    stop, loss = reference.best_stop()
    assert (stop.declare, loss) == ({"b": {"value": "B"}}, pytest.approx(1 + 7))
    perfect = brute_force.Reference(one_value(belief={"may_keep": False}, kernels={"p": PERFECT}))
    assert perfect.best_stop((("p", "fine"),))[0].kind == "continue"


# Support.


def ruled(**more):
    """Return `one_value` with a belief that needs support."""
    return one_value(belief={"needs_support": True}, **more)


def test_without_evidence_a_belief_that_needs_it_is_neither_kept_nor_corrected(brute_force):
    """One look is evidence either way; before it nothing is left but what the file gives."""
    for more, kind, loss in [
        ({}, "escalate", math.inf),
        ({"escalate": 50}, "escalate", 50),
        ({"restart": 9}, "restart", 9),
    ]:
        reference = brute_force.Reference(ruled(**more))
        stop, found = reference.best_stop()
        assert (stop.kind, found) == (kind, loss)
        assert reference.next_step("aquamend") == "p"
        assert reference.optimum() == pytest.approx(0.5 + 0.31 + 0.7 + 0.6)


def weak(fine, broken, **more):
    """Return a problem whose probe answers ``fine`` with these probabilities, under ok and under bad."""
    kernel = {"outcomes": ["fine", "broken"], "likelihood": {"ok": [fine, 1 - fine], "bad": [broken, 1 - broken]}}
    return ruled(kernels={"p": kernel}, probe={"max_uses": 2}, escalate=50, **more)


@pytest.mark.parametrize(
    ("fine", "broken", "answers", "kept"),
    [
        (0.6, 0.4, ["fine"], False),
        (0.6, 0.4, ["fine", "fine"], True),
        (0.6, 0.4, ["broken", "fine"], False),
        (2 / 3, 1 / 3, ["fine"], True),
        (0.6, 0.3, ["fine"], True),
        (0.6, 0.301, ["fine"], False),
        (0.5, 0.5, ["fine", "fine"], False),
        (0.5, 0, ["fine"], True),
    ],
)
def test_answers_are_evidence_if_together_they_are_twice_as_likely_where_the_value_is_right(
    brute_force, fine, broken, answers, kept
):
    reference = brute_force.Reference(weak(fine, broken, q=0.1))
    stop, _ = reference.best_stop(tuple(("p", answer) for answer in answers))
    assert stop.kind == ("continue" if kept else "escalate")


def test_what_was_impossible_at_the_alarm_does_not_count_in_what_an_answer_speaks_for(brute_force):
    """Where ``odd`` is possible, ``fine`` is as likely of a wrong A as of a right one; the alarm rules it out."""
    hypotheses = [
        {"name": "ok", "prior": 0.6},
        {"name": "bad", "prior": 0.2, "truth": {"b": "B"}},
        {"name": "odd", "prior": 0.2, "truth": {"b": "B"}},
    ]
    rows = {"ok": [0.6, 0.4], "bad": [0.3, 0.7], "odd": [0.9, 0.1]}
    kernels = {"p": {"outcomes": ["fine", "broken"], "likelihood": rows}}
    seen = (("p", "fine"),)
    problem = ruled(hypotheses=hypotheses, kernels=kernels, escalate=50)
    assert brute_force.Reference(problem).best_stop(seen)[0].kind == "escalate"
    problem["alarm"] = {"likelihood": {"default": 1, "odd": 0}}
    assert brute_force.Reference(problem).best_stop(seen)[0].kind == "continue"


def test_an_answer_speaks_for_one_value_and_not_for_another(brute_force):
    """After ``broken`` B may be declared and A not kept, though A is the likelier one."""
    reference = brute_force.Reference(ruled(q=0.1, escalate=50))
    broken = (("p", "broken"),)
    assert reference.marginals(broken)["b"] == pytest.approx(8 / 17)
    assert [entry["value"] for entry, _ in reference.values("b", broken)] == []
    assert reference.best_stop(broken)[0].kind == "escalate"
    more = brute_force.Reference(ruled(q=0.2, escalate=50))
    assert more.best_stop(broken)[0].declare == {"b": {"value": "B"}}


def test_what_cannot_be_wrong_needs_no_evidence(brute_force):
    for alarm, kind, loss in [({"ok": 0, "bad": 1}, "roll_back", 1), ({"ok": 1, "bad": 0}, "continue", 0)]:
        reference = brute_force.Reference(ruled(alarm={"likelihood": alarm}))
        stop, found = reference.best_stop()
        assert (stop.kind, found) == (kind, loss)


def test_a_belief_that_needs_support_is_not_kept_at_one_half(brute_force):
    claims = [{"name": "it is A", "belief": "b", "support": ["p"]}]
    kinds = {0.49: ["continue", "escalate"], 0.5: ["escalate"], 0.51: ["roll_back", "escalate"]}
    for q, expected in kinds.items():
        reference = brute_force.Reference(ruled(q=q, declarations=claims, escalate=50))
        assert [ending.kind for ending in reference.endings()] == expected


def test_only_the_newest_declaration_lends_support(brute_force):
    old = {"name": "it was A", "belief": "b", "support": ["p"]}
    new = {"name": "it is A", "belief": "b", "version": 2}
    for claims, kind in [([old], "continue"), ([new, old], "escalate"), ([old, new | {"support": ["p"]}], "continue")]:
        assert brute_force.Reference(ruled(declarations=claims, escalate=50)).best_stop()[0].kind == kind


def with_camera(*, blind=0.2, **more):
    """Add a camera that may be off, the probe's source; what was read of b is not changed by that."""
    problem = ruled(probe={"source": "camera"}, escalate=50, **more)
    problem["beliefs"].append({"name": "camera", "residual": 0, "declared": "sound"})
    problem["hypotheses"] = [
        {"name": "ok", "prior": 0.7 - blind},
        {"name": "bad", "prior": 0.3, "truth": {"b": "B"}},
        {"name": "blind", "prior": blind, "truth": {"camera": "off"}},
    ]
    problem["kernels"] = {
        "p": {"outcomes": ["fine", "broken"], "likelihood": {"default": [0.9, 0.1], "bad": [0.2, 0.8]}}
    }
    return problem


def test_evidence_is_usable_while_its_source_probably_holds(brute_force):
    claims = [{"name": "it is A", "belief": "b", "support": ["p"]}]
    fine = (("p", "fine"),)
    assert brute_force.Reference(with_camera(declarations=claims)).best_stop()[0].kind == "continue"
    assert brute_force.Reference(with_camera(declarations=claims, blind=0.5)).best_stop()[0].kind == "escalate"
    assert brute_force.Reference(with_camera()).best_stop(fine)[0].kind == "continue"
    assert brute_force.Reference(with_camera(blind=0.5)).best_stop(fine)[0].kind == "escalate"


def test_evidence_comes_from_afar_through_beliefs_only(brute_force):
    problem = ruled(escalate=50)
    problem["beliefs"].append({"name": "far", "residual": 0})
    problem["edges"] = [["p", "far", "aggregation"], ["b", "a", "belief_to_action"]]
    for edge, kind in [
        (None, "escalate"),
        (["far", "b", "inference"], "continue"),
        (["b", "far", "inference"], "escalate"),
    ]:
        edges = [*problem["edges"], edge] if edge else problem["edges"]
        assert brute_force.Reference(problem | {"edges": edges}).best_stop((("p", "fine"),))[0].kind == kind


def test_a_repair_needs_no_support_and_keeping_does(brute_force):
    problem = ruled(escalate=50)
    del problem["beliefs"][0]["declared"]
    problem["hypotheses"][1] = {"name": "bad", "prior": 0.3, "failed": ["b"]}
    reference = brute_force.Reference(problem)
    assert (reference.best_stop()[0].kind, reference.best_stop()[1]) == ("roll_back", 1)
    assert reference.best_stop((("p", "fine"),))[0].kind == "continue"


def test_declarations_in_force_say_how_likely_they_are_invalid_and_whether_they_are_usable(brute_force):
    claims = [
        {"name": "it is A", "belief": "b", "support": ["p"]},
        {"name": "it sees", "belief": "camera", "version": 2},
    ]
    expected = [
        {"name": "it is A", "belief": "b", "version": 1, "value": "A", "support": ["p"], "usable": True},
        {"name": "it sees", "belief": "camera", "version": 2, "value": "sound", "support": [], "usable": False},
    ]
    expected[0]["invalid"], expected[1]["invalid"] = pytest.approx(0.3), pytest.approx(0.2)
    assert brute_force.Reference(with_camera(declarations=claims)).in_force() == expected
    default = brute_force.Reference(one_value())
    assert [d["usable"] for seen in ((), (("p", "fine"),), (("p", "broken"),)) for d in default.in_force(seen)] == [
        False,
        True,
        False,
    ]
    assert default.power("p") == pytest.approx({"b": 0.8})


# Continuous answers.


def normal(distance, **more):
    return {"kernels": {"p": {"gaussian": {"ok": [0, 1], "bad": [distance, 1]}}}, **more}


@pytest.mark.parametrize("distance", [0.5, 2.0, 3.5])
def test_a_continuous_answer_decides_which_value_is_believed(brute_force, distance):
    """Kept up to where 10 q = 8 + 10 (1 - q), that is q = 0.9, and B from there on."""
    phi = NormalDist().cdf
    cut = (math.log(9) + distance**2 / 2) / distance
    expected = 10 * 0.5 * phi(cut - distance) + 8 * 0.5 * (phi(-cut) + phi(distance - cut)) + 10 * 0.5 * phi(-cut)
    reference = brute_force.Reference(one_value(q=0.5, undo=8, **normal(distance)))
    assert reference.probe_loss("p") == pytest.approx(0.5 + expected, abs=1e-9)


@pytest.mark.parametrize("distance", [0.5, 2.0, 3.5])
def test_between_two_readings_a_continuous_answer_speaks_for_nothing(brute_force, distance):
    """Up to ``low`` it is twice as likely of A, from ``high`` on of B; between them only escalation is left."""
    phi = NormalDist().cdf
    low, high = ((distance**2 / 2 + side * math.log(2)) / distance for side in (-1, 1))
    between = 0.5 * (phi(high) - phi(low) + phi(high - distance) - phi(low - distance))
    kept = 10 * 0.5 * phi(low - distance)
    changed = 8 * 0.5 * (phi(-high) + phi(distance - high)) + 10 * 0.5 * phi(-high)
    reference = brute_force.Reference(ruled(q=0.5, undo=8, escalate=50, **normal(distance)))
    assert reference.probe_loss("p") == pytest.approx(0.5 + kept + 50 * between + changed, abs=1e-7)


def test_an_answer_before_counts_together_with_the_next_one(brute_force):
    """A first reading at the middle between the means says nothing, and one at 0 says enough for good."""
    problem = ruled(q=0.5, undo=8, escalate=50, probe={"max_uses": 2}, **normal(2.0))
    reference = brute_force.Reference(problem)
    phi = NormalDist().cdf
    assert reference.probe_loss("p", (("p", 1.0),)) == pytest.approx(reference.probe_loss("p"))
    seen = (("p", 0.0),)
    q = 1 / (1 + math.exp(2))
    low, high = (2 + 2 - math.log(2)) / 2, (2 + 2 + math.log(2)) / 2
    between = (1 - q) * (phi(high) - phi(low)) + q * (phi(high - 2) - phi(low - 2))
    kept = 10 * q * phi(low - 2)
    changed = 8 * ((1 - q) * phi(-high) + q * phi(2 - high)) + 10 * (1 - q) * phi(-high)
    assert reference.probe_loss("p", seen) == pytest.approx(0.5 + kept + 50 * between + changed, abs=1e-7)


def test_an_integral_agrees_with_a_fine_sum(brute_force, generator):
    """The sum walks a fine grid of answers and stops at each as after any other observation."""
    checked = 0
    for seed in range(cases(6, 24)):
        problem = generator.valued_problem(random.Random(seed), gaussian=True)
        reference = brute_force.Reference(problem)
        for probe in reference.legal():
            kernel, mass = reference.kernels[probe], reference.mass(())
            if not isinstance(kernel, brute_force.Continuous):
                continue
            alive = [k for k in range(len(mass)) if mass[k] > 0]
            shapes = [NormalDist(kernel.mean[k], kernel.sd[k]) for k in alive]
            low = min(shape.mean - 6 * shape.stdev for shape in shapes)
            high = max(shape.mean + 6 * shape.stdev for shape in shapes)
            width, total = (high - low) / 600, 0.0
            for y in (low + (i + 0.5) * width for i in range(600)):
                density = sum(mass[k] * shape.pdf(y) for k, shape in zip(alive, shapes, strict=True))
                total += width * density * reference.best_stop(((probe, y),))[1]
            assert reference.probe_loss(probe) == pytest.approx(reference.cost(probe) + total, abs=0.1, rel=0.005)
            checked += 1
    assert checked >= cases(5, 20)


# What the project's own format has beyond the page.


def test_a_new_value_is_declared_only_where_undoing_succeeds(brute_force):
    """45 is wrong under ``nothing`` if undoing succeeds; what had failed stays so where it does not."""
    problem = {
        "beliefs": [{"name": "level", "residual": 40, "declared": 18}],
        "actions": [{"name": "pour", "undo": 4, "redo": 1, "status": "executed", "undo_succeeds": 0.75}],
        "edges": [["level", "pour", "belief_to_action"]],
        "hypotheses": [{"name": "nothing", "prior": 0.4}, {"name": "more", "prior": 0.6, "truth": {"level": 45}}],
    }
    stop, loss = brute_force.Reference(problem).best_stop()
    assert (stop.declare, loss) == ({"level": {"value": 45}}, pytest.approx(5 + 40 * (0.4 * 0.75 + 0.6 * 0.25)))
    assert brute_force.Reference(problem).evaluate("exact")["success"] == pytest.approx(0.4 * 0.25 + 0.6 * 0.75)


def test_an_undo_that_fails_does_so_for_every_belief_above_it(brute_force):
    problem = {
        "beliefs": [{"name": "x", "residual": 40}, {"name": "y", "residual": 40}],
        "actions": [{"name": "a", "undo": 1, "status": "executed", "undo_succeeds": 0.75}],
        "edges": [["x", "a", "belief_to_action"], ["y", "a", "belief_to_action"]],
        "hypotheses": [{"name": "both", "prior": 1, "failed": ["x", "y"]}],
    }
    reference = brute_force.Reference(problem)
    assert reference.best_stop()[1] == pytest.approx(1 + 80 * 0.25)
    assert reference.evaluate("exact")["success"] == pytest.approx(0.75)


def test_what_cannot_be_undone_may_be_made_up_for_beside_undoing(brute_force):
    problem = {
        "beliefs": [{"name": "plate", "residual": 50, "may_keep": False}, {"name": "dose", "residual": 30}],
        "actions": [
            {"name": "load", "undo": 2, "status": "executed", "undo_succeeds": 0.9},
            {"name": "pour", "reversible": False, "status": "executed"},
        ],
        "edges": [["plate", "load", "belief_to_action"], ["dose", "pour", "belief_to_action"]],
        "hypotheses": [{"name": "nothing", "prior": 0.5}, {"name": "wrong", "prior": 0.5, "failed": ["plate", "dose"]}],
        "compensations": [{"name": "top up", "cost": 4, "correct": ["dose"], "succeeds": 0.8}],
    }
    reference = brute_force.Reference(problem)
    stop, loss = reference.best_stop()
    assert (stop.correct, stop.undo) == (("plate", "dose"), ("load",))
    assert loss == pytest.approx(4 + 2 + 0.5 * (50 * 0.1 + 30 * 0.2))
    assert reference.evaluate("exact")["success"] == pytest.approx(0.5 + 0.5 * 0.9 * 0.8)


def test_without_corrections_plans_restart_and_escalation_are_left(brute_force):
    problem = one_belief(corrections=False, escalate=30, restart=20)
    assert [ending.kind for ending in brute_force.Reference(problem).endings()] == ["restart", "escalate"]
    problem["plans"] = [{"name": "by hand", "loss": {"default": 3, "bad": 13}, "correct": ["b"], "undo": ["a"]}]
    reference = brute_force.Reference(problem)
    stop, loss = reference.best_stop()
    assert (stop.plan, stop.undo, loss) == ("by hand", ("a",), pytest.approx(6))
    assert reference.evaluate("no-reprobe")["success"] == 1
    problem["plans"][0]["correct"] = []
    assert brute_force.Reference(problem).evaluate("no-reprobe")["success"] == pytest.approx(0.7)


# Random problems.


@pytest.mark.parametrize("seed", range(60))
def test_values_change_nothing_where_every_wrong_value_is_the_same_and_the_posterior_is_sure(
    brute_force, generator, seed
):
    """A repair and the declaration of the one other value cost the same where the world is known."""
    problem = generator.random_problem(random.Random(seed))
    sure = problem["hypotheses"][seed % len(problem["hypotheses"])]
    for hypothesis in problem["hypotheses"]:
        hypothesis["prior"] = float(hypothesis is sure)
    problem.pop("alarm", None)
    one = brute_force.Reference(problem)
    for belief in problem["beliefs"][::2]:
        belief["declared"] = "right"
        for hypothesis in problem["hypotheses"]:
            if belief["name"] in hypothesis["failed"]:
                hypothesis["failed"].remove(belief["name"])
                hypothesis.setdefault("truth", {})[belief["name"]] = "other"
    two = brute_force.Reference(problem)
    assert one.best_stop()[1] == pytest.approx(two.best_stop()[1])
    assert one.marginals() == two.marginals()


@pytest.mark.parametrize("make", ["valued_problem", "extra_problem"])
@pytest.mark.parametrize("seed", range(cases(40, 120)))
def test_no_policy_beats_the_optimum_of_a_problem_with_values(brute_force, generator, make, seed):
    """Also: ``exact`` attains it, and looking further ahead never hurts."""
    reference = brute_force.Reference(getattr(generator, make)(random.Random(seed)))
    optimum = reference.optimum()
    for policy in ("aquamend", "lookahead-2", "no-reprobe", "restart"):
        assert reference.evaluate(policy)["expected_loss"] >= optimum - 1e-9
    assert reference.evaluate("exact")["expected_loss"] == pytest.approx(optimum, abs=1e-7)
    deeper = [reference.value((), depth) for depth in range(4)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise([*deeper, optimum]))


@pytest.mark.parametrize("seed", range(cases(40, 200)))
def test_without_the_rule_of_support_no_answer_hurts_before_its_cost(brute_force, generator, seed):
    problem = generator.valued_problem(random.Random(seed), gaussian=seed % 3 == 0)
    for belief in problem["beliefs"]:
        belief.pop("needs_support", None)
    reference = brute_force.Reference(problem)
    for probe in reference.legal():
        assert reference.probe_loss(probe) - reference.cost(probe) <= reference.best_stop()[1] + 1e-7


@pytest.mark.parametrize("make", ["valued_problem", "extra_problem"])
def test_the_same_seed_gives_the_same_problem_with_values(generator, make):
    for seed in range(50):
        problem = getattr(generator, make)(random.Random(seed))
        assert problem == getattr(generator, make)(random.Random(seed))


def test_the_problems_with_values_reach_every_corner(brute_force, generator):
    """Values are declared, keeping is refused, nothing is admissible, a probe opens the way, and much else."""
    found = dict.fromkeys(["declared", "refused", "stuck", "opened", "edge", "spread", "effects", "lost", "of"], 0)
    for seed in range(150):
        problem = generator.valued_problem(random.Random(seed))
        reference = brute_force.Reference(problem)
        stop, loss = reference.best_stop()
        found["opened"] += stop.cut is None and reference.optimum() < loss - 0.1
        found["spread"] += len(reference.worlds) > len(problem["hypotheses"])
        found["effects"] += "effects" in problem
        found["of"] += any("of" in kernel for kernel in problem["kernels"].values())
        for seen in list(reference._endings):
            found["declared"] += bool(reference.best_stop(seen)[0].declare)
            kinds = [ending.kind for ending in reference.endings(seen)]
            found["refused"] += "continue" not in kinds
            found["stuck"] += not {"continue", "roll_back"} & set(kinds)
        for belief, world in itertools.product(problem["beliefs"], reference.worlds):
            value = world.value(belief) if "declared" in belief else 0
            found["lost"] += value is None
            if isinstance(value, float) and belief.get("tolerance"):
                found["edge"] += abs(abs(value - belief["declared"]) - belief["tolerance"]) < 1e-9
    assert min(found.values()) >= 5, found
