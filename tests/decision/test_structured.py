"""Proposition 1: its three-way rule, and each assumption broken one at a time."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.belief import InformationState, Observation
from aquamend.decision import best_terminal, price
from aquamend.decision.steps import Continue
from aquamend.decision.structured import LocalCosts, local_costs, violations
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Declaration, Discrete, Gaussian, Hypothesis, JointModel

FAILED = {"neither": (), "x": ("x",), "y": ("y",), "both": ("x", "y")}


def tells(belief, sharpness=1.0):
    """Return a kernel that answers "bad" with this probability where the belief failed, "good" likewise where not."""
    rows = {name: [1 - sharpness, sharpness] if belief in failed else [sharpness, 1 - sharpness]
            for name, failed in FAILED.items()}  # fmt: skip
    return Discrete(["good", "bad"], rows)


def state(
    *,
    prior=(0.56, 0.14, 0.24, 0.06),
    kernels=None,
    actions=None,
    edges=(),
    probes=None,
    operations=(),
    suspects=(),
    **rest,
):
    """Return two beliefs that fail independently (q = 0.2 and 0.3), each with an action and a resolving probe."""
    graph = RecoveryGraph(
        [Belief("x", 10.0), Belief("y", 10.0)],
        actions or [Action("ax", undo=2.0, executed=True), Action("ay", undo=4.0, executed=True)],
        probes or [Probe("px", 0.5), Probe("py", 0.5)],
        [
            ("px", "x", "detection"),
            ("py", "y", "detection"),
            ("x", "ax", "belief_to_action"),
            ("y", "ay", "belief_to_action"),
            *edges,
        ],
        operations,
    )
    hypotheses = [Hypothesis(name, p, failed) for (name, failed), p in zip(FAILED.items(), prior, strict=True)]
    alarm = Alarm(dict.fromkeys(FAILED, 1.0), suspects) if suspects else None
    model = JointModel(hypotheses, kernels or {"px": tells("x"), "py": tells("y")}, alarm)
    return InformationState.alarmed(Problem(graph, model, **rest))


def test_the_plain_problem_is_structured():
    assert violations(state()) == []


def test_the_local_costs_are_those_of_the_proposition():
    x, y = local_costs(state())
    assert (x.belief, x.probe, x.probe_cost, x.rollback, x.keep_loss) == ("x", "px", 0.5, 2.0, 10.0)
    assert x.failure_probability == pytest.approx(0.2)
    assert (x.keep, x.reprobe) == (pytest.approx(2.0), pytest.approx(0.5 + 0.2 * 2))
    assert y.reprobe == pytest.approx(0.5 + 0.3 * 4)
    assert y.best == pytest.approx(1.7)
    assert LocalCosts("z", 0.9, 4.0, 10.0, "p", 2.0).best == 4.0


@pytest.mark.parametrize(("q", "b", "r"), [*product([0.1, 0.5, 0.9], [1.0, 8.0], [0.2, 0.45, 1.0])])
def test_re_probing_beats_rolling_back_exactly_below_the_threshold(q, b, r):
    local = LocalCosts("x", q, b, math.inf, "p", r)
    if abs(r - (1 - q) * b) > 1e-12:
        assert (local.reprobe < local.rollback) == (r < (1 - q) * b)
    else:
        assert local.reprobe == pytest.approx(local.rollback)


def test_keeping_an_inadmissible_failure_costs_infinity_unless_it_is_impossible():
    assert LocalCosts("x", 0.1, 2.0, math.inf, None, math.inf).keep == math.inf
    assert LocalCosts("x", 0.0, 2.0, math.inf, None, math.inf).keep == 0.0
    assert LocalCosts("x", 0.0, math.inf, math.inf, "p", 1.0).reprobe == 1.0


def test_probing_cannot_beat_keeping_where_correction_costs_more_than_the_residual():
    local = LocalCosts("x", 0.3, 50.0, 10.0, "p", 0.01)
    assert local.reprobe == pytest.approx(0.01 + 3.0)
    assert local.best == local.keep == pytest.approx(3.0)


def test_the_cheapest_resolving_probe_is_designated():
    kernels = {"px": tells("x"), "py": tells("y"), "px2": tells("x")}
    two = state(kernels=kernels, probes=[Probe("px", 0.5), Probe("py", 0.5), Probe("px2", 0.3)],
                edges=[("px2", "x", "detection")])  # fmt: skip
    assert local_costs(two)[0].probe == "px2"
    after = two.after(Observation("px2", "good"))
    assert [local.belief for local in local_costs(after)] == ["y"]


# One assumption broken at a time.


def only(found, *parts):
    (violation,) = found
    assert all(part in violation for part in parts), violation


def test_dependent_failures_are_named():
    only(violations(state(prior=(0.6, 0.1, 0.1, 0.2))), "Assumption 1", "independent failures", "'x' and 'y'")


@pytest.mark.parametrize("parity", [1.0, 0.75])
def test_pairwise_but_not_jointly_independent_failures_are_named(parity):
    """Fair failures, an even number of them with probability ``parity``; at one half they would be independent."""
    names = "xyz"
    graph = RecoveryGraph(
        [Belief(n, 10.0) for n in names],
        [Action(f"a{n}", undo=2.0, executed=True) for n in names],
        [Probe(f"p{n}", 0.5) for n in names],
        [e for n in names for e in ((f"p{n}", n, "detection"), (n, f"a{n}", "belief_to_action"))],
    )
    patterns = {"h0": "", "h1": "xz", "h2": "yz", "h3": "xy", "h4": "x", "h5": "y", "h6": "z", "h7": "xyz"}
    prior = {h: (parity if len(f) % 2 == 0 else 1 - parity) / 4 for h, f in patterns.items()}
    kernels = {
        f"p{n}": Discrete(["good", "bad"], {h: [1 - (n in f), n in f] for h, f in patterns.items()}) for n in names
    }
    model = JointModel([Hypothesis(h, prior[h], tuple(f)) for h, f in patterns.items()], kernels)
    found = violations(InformationState.alarmed(Problem(graph, model)))
    dependent = [v for v in found if "independent failures" in v]
    only(dependent, "'x', 'y', 'z'", "pairwise but not jointly")


def test_a_shared_downstream_action_is_named():
    only(violations(state(edges=[("x", "ay", "belief_to_action")])), "disjoint downstreams", "'x' and 'y'", "'ay'")


def test_a_shared_operation_is_named():
    actions = [Action("ax", operations=("arm",), executed=True), Action("ay", operations=("arm",), executed=True)]
    found = violations(state(actions=actions, operations=[Operation("arm", 2.0)]))
    only(found, "disjoint downstreams", "'x' and 'y'", "'arm'")


def test_a_noisy_probe_is_named_with_its_belief():
    found = violations(state(kernels={"px": tells("x", 0.99), "py": tells("y")}))
    only(found, "Assumption 3", "fully resolving", "'x'")


def test_a_gaussian_probe_resolves_nothing():
    normal = Gaussian({name: (10.0 * ("x" in failed), 1.0) for name, failed in FAILED.items()})
    assert any("Assumption 3" in v and "'x'" in v for v in violations(state(kernels={"px": normal, "py": tells("y")})))


def test_a_probe_that_tells_of_another_belief_through_its_answer_is_named():
    rows = {"neither": [1, 0, 0], "y": [0, 1, 0], "x": [0, 0, 1], "both": [0, 0, 1]}
    found = violations(state(kernels={"px": Discrete(["none", "other", "own"], rows), "py": tells("y")}))
    only(found, "belief-local probes", "'x'", "'px'", "tells of")


def test_a_binding_budget_is_named_with_what_is_left():
    only(violations(state(sensing_budget=0.9)), "no binding budget", "costs 1", "0.9 left")
    assert violations(state(sensing_budget=1.0)) == []


@pytest.mark.parametrize("terminal", ["restart", "escalate"])
def test_a_terminal_decision_cheaper_than_all_corrections_together_is_named(terminal):
    only(violations(state(**{terminal: 5.9})), "separable terminal decisions", terminal, "5.9", "6")
    assert violations(state(**{terminal: 6.0})) == []


def test_a_correction_of_infinite_cost_is_named():
    actions = [Action("ax", executed=True, reversible=False), Action("ay", undo=4.0, executed=True)]
    only(violations(state(actions=actions)), "finite rollback cost", "'x'")


def test_a_contradicted_model_is_named():
    graph = RecoveryGraph([Belief("x", 1.0)], (), [Probe("p", 0.1)], [("p", "x", "detection")])
    kernel = Discrete(["y", "never"], {"ok": [1, 0]})
    start = InformationState.alarmed(Problem(graph, JointModel([Hypothesis("ok", 1.0)], {"p": kernel})))
    only(violations(start.after(Observation("p", "never"))), "p = never", "impossible")


def test_beliefs_beyond_suspicion_break_nothing():
    """x and y share an action, but y cannot have failed and is not flagged."""
    certain = state(prior=(0.8, 0.2, 0.0, 0.0), edges=[("x", "ay", "belief_to_action")])
    assert violations(certain) == []
    flagged = state(prior=(0.8, 0.2, 0.0, 0.0), edges=[("x", "ay", "belief_to_action")], suspects=("y",))
    assert violations(flagged) != []


@pytest.mark.parametrize("tiny", [1e-10, 1e-30, 1e-176])
def test_a_failure_of_tiny_probability_is_possible(tiny):
    """It may not be kept, so that the exact price of continuing is infinite, and only a probe or a rollback is left."""
    graph = RecoveryGraph(
        [Belief("x", 10.0, may_keep=False)],
        [Action("ax", undo=2.0, executed=True)],
        [Probe("px", 0.5)],
        [("px", "x", "detection"), ("x", "ax", "belief_to_action")],
    )
    kernels = {"px": Discrete(["good", "bad"], {"ok": [1, 0], "x": [0, 1]})}
    start = InformationState.start(
        Problem(graph, JointModel([Hypothesis("ok", 0.5), Hypothesis("x", 0.5, ["x"])], kernels))
    )
    rare = replace(start, posterior=np.array([1.0 - tiny, tiny]))
    assert math.isinf(price(rare, Continue()).loss)
    (local,) = local_costs(rare)
    assert (local.keep, local.rollback, local.probe) == (math.inf, 2.0, "px")
    assert local.best == pytest.approx(0.5)
    blind = replace(rare, problem=replace(rare.problem, sensing_budget=0.0))
    only(violations(blind), "Assumption 3", "'x'")


def test_failures_that_come_together_however_rarely_are_dependent():
    """A probe of one settles the other, so that deciding them one by one would pay twice."""
    rare = 1e-12
    only(violations(state(prior=(1 - rare, 0.0, 0.0, rare))), "independent failures", "'x' and 'y'")


def test_a_plan_is_named_and_a_last_resort_is_no_obstacle():
    four = np.full(4, 1.0)
    only(violations(state(plans=[Plan("tidy up", four)])), "separable terminal decisions", "'tidy up'")
    assert violations(state(plans=[Plan("stop safely", four, last_resort=True)])) == []


# Corrections that declare another value, and beliefs that need support.


def valued(
    *, q=0.3, sharp=True, values=("high",), needs_support=False, support=(),
    undo=2.0, residual=10.0, cost=0.5, budget=math.inf,
):  # fmt: skip
    """Return one belief with a declared value, wrong with probability q, and a probe that settles that or reads it."""
    names = ["low", *values]
    graph = RecoveryGraph(
        [Belief("level", residual, declared="low", needs_support=needs_support)],
        [Action("pour", undo=undo, executed=True)],
        [Probe("weigh", cost)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    hypotheses = [Hypothesis("low", 1 - q), *(Hypothesis(v, q / len(values), truth={"level": v}) for v in values)]
    answers = ["fine", *names[1:]] if sharp else ["fine", "off"]
    rows = {n: [float(k == (i if sharp else min(i, 1))) for k in range(len(answers))] for i, n in enumerate(names)}
    declarations = [Declaration("the level", "level", support=list(support))]
    model = JointModel(hypotheses, {"weigh": Discrete(answers, rows)}, declarations=declarations)
    return InformationState.alarmed(Problem(graph, model, sensing_budget=budget))


def optimum(here):
    """Return the least expected loss of any policy, by trying everything."""
    least = best_terminal(here).loss
    for view in here.legal:
        expected = view.cost
        for answer, column in zip(view.channel.outcomes, view.channel.table.T, strict=True):
            weight = float(here.posterior @ column)
            if weight > 0:
                expected += weight * optimum(here.after(Observation(view.name, answer)))
        least = min(least, expected)
    return least


def test_rolling_back_at_once_leaves_the_chance_that_the_new_value_is_wrong():
    here = valued(q=0.9)
    (local,) = local_costs(here)
    assert violations(here) == []
    assert local.rollback == pytest.approx(2.0 + 10 * 0.1)
    assert local.reprobe == pytest.approx(0.5 + 0.9 * 2.0)
    assert local.best == pytest.approx(optimum(here))


def test_a_resolved_failure_whose_correction_may_be_wrong_is_named():
    """Neither of two values is certain once the probe says "off"."""
    found = violations(valued(values=("high", "higher"), sharp=False))
    only(found, "Assumption 2", "removes the failure", "'level'", "'weigh' answers off")
    assert violations(valued(values=("high",), sharp=False)) == []
    assert violations(valued(values=("high", "higher"))) == []


def test_an_answer_less_probable_than_any_number_may_come():
    """Where it does, either of two values may be true."""
    here = valued(q=1e-200, values=("high", "higher"))
    rows = {"low": [1, 0, 0, 0], "high": [0, 1, 0, 1e-200], "higher": [0, 0, 1, 1e-200]}
    kernel = Discrete(["fine", "high", "higher", "off"], rows)
    problem = replace(here.problem, model=replace(here.problem.model, kernels={"weigh": kernel}))
    only(violations(InformationState.alarmed(problem)), "Assumption 2", "'weigh' answers off")


def test_a_belief_without_support_may_not_be_kept_before_its_probe_answers():
    bare, backed = valued(q=0.3, needs_support=True), valued(q=0.3, needs_support=True, support=["weigh"])
    assert (violations(bare), violations(backed)) == ([], [])
    assert local_costs(bare)[0].keep == math.inf
    assert local_costs(backed)[0].keep == pytest.approx(3.0)
    for here in (bare, backed):
        assert local_costs(here)[0].best == pytest.approx(optimum(here))


def test_a_failure_that_is_certain_has_no_support_to_be_kept():
    """Undoing costs more than the residual, but what surely failed may not be kept."""
    here = valued(q=0.3, undo=20.0, needs_support=True, support=["weigh"])
    (local,) = local_costs(here)
    assert local.reprobe == pytest.approx(0.5 + 0.3 * 20.0)
    assert local.best == pytest.approx(optimum(here))


def test_a_belief_that_surely_holds_needs_no_support():
    here = replace(valued(needs_support=True, budget=0.0), posterior=np.array([1.0, 0.0]))
    assert violations(here) == []
    assert local_costs(here) == []
    assert best_terminal(here).loss == 0.0


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_where_nothing_is_violated_the_three_way_rule_is_optimal(seed):
    """Two independent beliefs with values, needs and probes drawn at random, against trying everything."""
    rng = np.random.default_rng(seed)
    beliefs = [
        Belief(name, float(rng.uniform(2, 12)), may_keep=bool(rng.random() < 0.7), declared="old",
               needs_support=bool(need))
        for name, need in zip("xy", rng.random(2) < 0.4, strict=True)
    ]  # fmt: skip
    probes = [Probe(f"p{n}", float(rng.uniform(0.1, 2))) for n in "xy"]
    probes += [Probe("extra", float(rng.uniform(0.1, 2)))] if rng.random() < 0.3 else []
    edges = [e for n in "xy" for e in ((f"p{n}", n, "detection"), (n, f"a{n}", "belief_to_action"))]
    edges += [("extra", str(rng.choice(["x", "y"])), "detection")] if len(probes) == 3 else []
    actions = [Action(f"a{n}", undo=float(rng.uniform(0.5, 6)), executed=True) for n in "xy"]
    values = [["old", *(f"new{k}" for k in range(rng.integers(1, 3)))] for _ in "xy"]
    odds = [rng.dirichlet(np.ones(len(v))) for v in values]
    worlds = list(product(*(range(len(v)) for v in values)))
    hypotheses = [
        Hypothesis(f"{a}{b}", float(odds[0][a] * odds[1][b]), truth={"x": values[0][a], "y": values[1][b]})
        for a, b in worlds
    ]
    tells_value = rng.random(2) < 0.5
    kernels = {}
    for i, n in enumerate("xy"):
        shown = [w[i] if tells_value[i] else min(w[i], 1) for w in worlds]
        rows = {h.name: [float(k == s) for k in range(3)] for h, s in zip(hypotheses, shown, strict=True)}
        kernels[f"p{n}"] = Discrete([f"y{k}" for k in range(3)], rows)
    if len(probes) == 3:
        kernels["extra"] = Discrete(["nothing", "else"], {h.name: [0.5, 0.5] for h in hypotheses})
    support = [["px"] if rng.random() < 0.5 else [] for _ in "xy"]
    declarations = [Declaration(n, n, support=s) for n, s in zip("xy", support, strict=True)]
    graph = RecoveryGraph(beliefs, actions, probes, edges)
    here = InformationState.start(Problem(graph, JointModel(hypotheses, kernels, declarations=declarations)))
    if not violations(here):
        assert sum(local.best for local in local_costs(here)) == pytest.approx(optimum(here), abs=1e-9)
