"""One problem: where graph and model must agree, what values mean, and what else may end the recovery."""

import math
from dataclasses import replace

import numpy as np
import pytest

from aquamend.errors import InvalidProblem, UnknownName
from aquamend.problem import Plan, Problem, Redeclared
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Declaration, Discrete, Hypothesis, JointModel
from aquamend.problem.model.spreads import differs

LOOK = Discrete(["y", "n"], {"ok": [1, 0], "bad": [0, 1]})
BELIEFS = (Belief("b", 1.0), Belief("c", 1.0))


def problem(
    *,
    action=None,
    kernel=LOOK,
    failed=("b",),
    truth=None,
    alarm=None,
    declarations=(),
    probe="look",
    beliefs=BELIEFS,
    spec=None,
    **rest,
):
    graph = RecoveryGraph(
        beliefs,
        [action or Action("a", undo=1.0, executed=True)],
        [spec or Probe("look", 0.1)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("ok", 0.5), Hypothesis("bad", 0.5, failed, truth=truth or {})]
    return Problem(graph, JointModel(hypotheses, {probe: kernel}, alarm, declarations), **rest)


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"failed": ("b", "x")}, ["hypotheses[1].failed[1]"]),
        ({"truth": {"x": "A"}}, ["hypotheses[1].truth.x"]),
        ({"truth": {"c": "A"}}, ["hypotheses[1].truth.c"]),
        ({"probe": "peek"}, ["kernels.peek", "probes[0]"]),
        ({"alarm": Alarm({"ok": 1, "bad": 1}, ["c", "x"])}, ["alarm.suspects[1]"]),
        ({"declarations": [Declaration("d", "x")]}, ["declarations[0].belief"]),
        ({"declarations": [Declaration("d", "b", support=("look", "x"))]}, ["declarations[0].support[1]"]),
        ({"sensing_budget": -1.0}, ["sensing_budget"]),
        ({"restart": math.nan}, ["restart"]),
        ({"escalate": -0.5}, ["escalate"]),
        ({"plans": [Plan("p", np.zeros(3))]}, ["plans[0].loss"]),
        ({"plans": [Plan("p", np.zeros(2)), Plan("q", np.array([0.0, -1.0]))]}, ["plans[1].loss"]),
        ({"plans": [Plan("p", np.array([0.0, math.nan]))]}, ["plans[0].loss"]),
        ({"plans": [Plan("p", np.zeros(2)), Plan("p", np.ones(2))]}, ["plans[1].name"]),
        ({"plans": [Plan("p", np.zeros(2), ("b", "x"), ("a", "y"))]}, ["plans[0].correct[1]", "plans[0].undo[1]"]),
        ({"restart": Plan("afresh", np.array([1.0, -1.0]))}, ["restart.loss"]),
    ],
)
def test_what_graph_and_model_disagree_on_is_named(changes, places):
    with pytest.raises(InvalidProblem) as error:
        problem(**changes)
    assert [fault.where for fault in error.value.faults] == places


def test_without_declarations_every_belief_declares_itself_and_rests_on_nothing_recorded():
    b, c = problem().declarations
    assert (b.name, b.belief, b.version) == ("b", "b", 1)
    assert (b.invalid_in, b.support) == (("bad",), ())
    assert (c.invalid_in, c.support) == ((), ())


def test_given_declarations_replace_the_default_ones():
    given = Declaration("least", "b", invalid_in=("bad",))
    assert problem(declarations=[given]).declarations == (given,)
    np.testing.assert_array_equal(problem(declarations=[given]).invalid, [[0], [1]])


def test_a_declaration_of_a_belief_with_a_value_says_that_value_and_is_invalid_where_it_failed():
    beliefs = (Belief("b", 1.0, declared=18.0, tolerance=3.0), BELIEFS[1])
    (level,) = problem(
        beliefs=beliefs, failed=(), truth={"b": 45.0}, declarations=[Declaration("level", "b", support=["look"])]
    ).declarations
    assert (level.value, level.invalid_in, level.support) == (18.0, ("bad",), ("look",))
    (own,) = problem(
        beliefs=beliefs, failed=(), truth={"b": 45.0}, declarations=[Declaration("level", "b", invalid_in=["ok"])]
    ).declarations
    assert own.invalid_in == ("ok",)


def test_a_declaration_is_invalid_where_its_belief_failed_unless_it_says_where():
    for given, invalid in ((None, ("bad",)), ((), ()), (("ok",), ("ok",))):
        (own,) = problem(declarations=[Declaration("least", "b", invalid_in=given)]).declarations
        assert own.invalid_in == invalid


@pytest.mark.parametrize(
    ("truth", "declared", "tolerance", "different"),
    [
        (21.0, 18.0, 3.0, False),
        (21.0001, 18.0, 3.0, True),
        (0.4, 0.1, 0.3, False),
        (15.0, 18.0, 3.0, False),
        (18, 18.0, 0.0, False),
        (18.1, 18.0, 0.0, True),
        ("B", "A", 5.0, True),
        ("A", "A", 0.0, False),
        ("18", 18.0, 100.0, True),
    ],
)
def test_numbers_differ_by_more_than_the_tolerance_and_text_by_a_letter(truth, declared, tolerance, different):
    """0.4 − 0.1 is 0.30000000000000004 in floats; an equal distance does not fail."""
    assert differs(truth, declared, tolerance) == different
    assert differs(declared, truth, tolerance) == different


def test_a_belief_with_a_value_has_failed_where_the_truth_differs():
    beliefs = (Belief("b", 1.0, declared=18.0, tolerance=3.0), Belief("c", 1.0, declared="A"))
    near = problem(beliefs=beliefs, failed=(), truth={"b": 20.0, "c": "B"})
    np.testing.assert_array_equal(near.failed, [[0, 0], [0, 1]])
    far = problem(beliefs=beliefs, failed=(), truth={"b": 45.0})
    np.testing.assert_array_equal(far.failed, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(problem().failed, [[0, 0], [1, 0]])


LOST = "lost"


def valued(belief, truths):
    """Return a problem of one belief, read by ``look``, whose truth each hypothesis gives.

    None: as declared; LOST: it has failed, and no value can be named.
    """
    graph = RecoveryGraph([belief], (), [Probe("look", 0.1)], [("look", "b", "detection")])
    names = [f"h{i}" for i in range(len(truths))]
    hypotheses = [
        Hypothesis(n, 1 / len(truths), ("b",) if t is LOST else (), truth={} if t in (None, LOST) else {"b": t})
        for n, t in zip(names, truths, strict=True)
    ]
    return Problem(graph, JointModel(hypotheses, {"look": Discrete(["y"], {n: [1.0] for n in names})}))


def said(values):
    return [value.value for value in values]


def test_a_corrected_belief_may_be_any_other_value_that_is_true_under_some_hypothesis_in_file_order():
    """20 is within tolerance of 18: it is another value all the same, right and wrong where 18 is."""
    belief = Belief("b", 1.0, declared=18.0, tolerance=3.0)
    values = valued(belief, [None, 45.0, 20.0, 46.0, 45.0]).new_values[0]
    assert said(values) == [45.0, 20.0, 46.0]
    assert [v.wrong.tolist() for v in values] == [[1, 0, 1, 0, 0], [0, 1, 0, 1, 1], [1, 0, 1, 0, 0]]
    assert all(v.if_undone.tolist() == v.wrong.tolist() for v in values)


@pytest.mark.parametrize("may_keep", [True, False])
@pytest.mark.parametrize("needs_support", [True, False])
def test_the_declared_value_is_never_declared_again(may_keep, needs_support):
    belief = Belief("b", 1.0, may_keep=may_keep, declared="A", needs_support=needs_support)
    assert said(valued(belief, [None, "B", "A"]).new_values[0]) == ["B"]
    assert said(valued(belief, [None, "A"]).new_values[0]) == []


def test_once_another_value_is_in_force_the_first_one_may_be_declared_and_that_one_no_more():
    belief = Belief("b", 1.0, declared="A")
    now = replace(valued(belief, [None, "B", "C"]), redeclared={"b": Redeclared("B")})
    assert said(now.new_values[0]) == ["A", "C"]
    np.testing.assert_array_equal(now.failed[:, 0], [1, 0, 1])


def test_what_failed_without_a_value_makes_every_value_wrong_and_names_none():
    for declared, other in (("A", "B"), (18.0, 45.0)):
        values = valued(Belief("b", 1.0, declared=declared), [None, other, LOST]).new_values[0]
        assert said(values) == [other]
        assert values[0].wrong.tolist() == [1, 0, 1]


def test_a_value_of_prior_zero_may_be_declared_too():
    given = valued(Belief("b", 1.0, declared="A"), [None, "B"])
    priors = [replace(h, prior=p) for h, p in zip(given.model.hypotheses, (1.0, 0.0), strict=True)]
    assert said(replace(given, model=replace(given.model, hypotheses=priors)).new_values[0]) == ["B"]


def test_a_belief_without_a_value_is_repaired_and_right_then():
    (repaired,) = problem().new_values[0]
    assert repaired.value is None
    assert repaired.wrong.tolist() == [0, 0]


def test_evidence_on_a_belief_is_what_its_declarations_rest_on_and_what_reaches_it():
    """aim is in no edge and still in the support; look reaches target through level once it has answered."""
    graph = RecoveryGraph(
        [Belief("level"), Belief("target")],
        (),
        [Probe("look", 0.1), Probe("aim", 0.1)],
        [("look", "level", "detection"), ("level", "target", "inference")],
    )
    kernels = {name: Discrete(["y"], {"h": [1.0]}) for name in ("look", "aim")}
    declarations = [Declaration("least", "target", support=["aim"]), Declaration("level", "level", support=["look"])]
    given = Problem(graph, JointModel([Hypothesis("h", 1.0)], kernels, declarations=declarations))
    assert given.evidence_for == ({0: True}, {0: False, 1: True})


def test_an_executed_irreversible_action_makes_restarting_infeasible():
    reversible = problem(restart=5.0).restart_plan
    np.testing.assert_array_equal(reversible.loss, [5.0, 5.0])
    assert (reversible.correct, reversible.undo) == (("b", "c"), ("a",))
    assert problem(restart=5.0, action=Action("a", executed=True, reversible=False)).restart_plan is None
    assert problem(restart=5.0, action=Action("a", reversible=False)).restart_plan.undo == ()


def test_a_restart_may_have_a_loss_of_its_own_under_every_hypothesis():
    afresh = Plan("afresh", np.array([3.0, 9.0]))
    assert problem(restart=afresh).restart_plan is afresh
    assert problem(restart=afresh, action=Action("a", executed=True, reversible=False)).restart_plan is None


def test_what_is_not_given_is_no_option_or_infinite():
    assert problem().restart_plan is None
    assert problem().escalate_loss == math.inf
    assert problem(escalate=3.0).escalate_loss == 3.0


def test_a_plan_is_found_by_name_and_an_unknown_one_lists_them():
    plans = [Plan("swap", np.zeros(2)), Plan("stop", np.ones(2))]
    assert problem(plans=plans).plan_named("stop") is plans[1]
    with pytest.raises(UnknownName, match=r"plan 'stp'.*'swap', 'stop'"):
        problem(plans=plans).plan_named("stp")
