"""Proposition 1: its three-way rule, and each assumption broken one at a time."""

import math
from itertools import product

import pytest

from aquamend.decision.structured import LocalCosts, local_costs, violations
from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Alarm, Discrete, Gaussian, Hypothesis, JointModel
from aquamend.problem import Problem

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
