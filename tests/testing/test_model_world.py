"""A world drawn from the model: it answers truly, charges once, and its mean is the exact evaluation."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.lab.taking import answer, judged
from tests.tiers import cases

from aquamend import (
    Action,
    Belief,
    Discrete,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Operation,
    Probe,
    Problem,
    RecoveryGraph,
)
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack, correction
from aquamend.errors import UnknownName
from aquamend.policies import AquaMend, LinearChain, RollbackOnly, evaluate
from aquamend.problem import Plan
from aquamend.recovery import Charge, Judge, Receipt, Robot, charged, recovered
from aquamend.testing import sample_problems
from aquamend.testing.model_world import ModelWorld

FINE, BAD = 0, 1


def bench_top(**options):
    graph = RecoveryGraph(
        [Belief("level", 10.0), Belief("lid", 6.0)],
        [
            Action("lift", executed=True, operations=("lower", "open")),
            Action("pour", executed=True, operations=("lower",)),
            Action("place", undo=9.0),
        ],
        [Probe("look", 0.5, max_uses=3), Probe("weigh", 0.7)],
        [
            ("look", "level", "detection"),
            ("level", "lift", "belief_to_action"),
            ("lid", "pour", "belief_to_action"),
            ("lid", "place", "belief_to_action"),
        ],
        [Operation("lower", 2.0), Operation("open", 1.0)],
    )
    model = JointModel(
        [Hypothesis("fine", 0.6), Hypothesis("bad", 0.4, ("level", "lid"))],
        {
            "look": Discrete(["ok", "odd"], {"fine": [0.8, 0.2], "bad": [0.3, 0.7]}),
            "weigh": Gaussian({"fine": (100.0, 1.0), "bad": (200.0, 1.0)}),
        },
    )
    return InformationState.alarmed(Problem(graph, model, **options))


def test_it_is_a_robot_that_knows_the_truth():
    assert isinstance(ModelWorld(bench_top(), FINE), Robot)
    assert isinstance(ModelWorld(bench_top(), FINE), Judge)


def test_the_same_use_of_a_probe_answers_alike_whatever_was_asked_before():
    for seed in range(20):
        plain, busy = ModelWorld(bench_top(), BAD, (seed,)), ModelWorld(bench_top(), BAD, (seed,))
        first = [answer(plain, "look") for _ in range(3)]
        answer(busy, "weigh")
        assert [answer(busy, "look") for _ in range(3)] == first


def test_answers_follow_the_kernel_of_the_truth():
    answers = [answer(ModelWorld(bench_top(), BAD, (seed,)), "look") for seed in range(2000)]
    assert np.mean([said == "odd" for said in answers]) == pytest.approx(0.7, abs=0.03)
    readings = [answer(ModelWorld(bench_top(), FINE, (seed,)), "weigh") for seed in range(500)]
    assert np.mean(readings) == pytest.approx(100.0, abs=0.2)


def test_a_shared_operation_is_paid_once_and_planned_actions_are_free():
    found = judged(ModelWorld(bench_top(), BAD), RollBack(("level", "lid"), ("lift", "pour", "place")))
    assert charged(found.receipts, Charge.ROLLBACK) == found.loss == 3.0
    assert set(found.recovery.undone) == {"lift", "pour"}
    assert found.verdict.success


def test_what_is_left_uncorrected_costs_its_residual_only_if_it_had_failed():
    for truth, residual in ((FINE, 0.0), (BAD, 16.0)):
        found = judged(ModelWorld(bench_top(), truth), Continue())
        assert found.loss == charged(found.receipts, Charge.RESIDUAL) == residual
        assert found.verdict.success == (truth == FINE)


def test_a_belief_that_may_not_be_kept_costs_infinity():
    graph = RecoveryGraph([Belief("target", 1.0, may_keep=False)])
    state = InformationState.alarmed(Problem(graph, JointModel([Hypothesis("bad", 1.0, ("target",))])))
    assert judged(ModelWorld(state, 0), Continue()).loss == math.inf


def test_probes_are_paid_for_even_before_an_escalation_which_is_no_success():
    found = judged(ModelWorld(bench_top(escalate=30.0), BAD), Reprobe("look"), Escalate())
    assert charged(found.receipts, Charge.SENSING) == 0.5
    assert charged(found.receipts, Charge.CONTINUATION) == 30.0
    assert found.loss == 30.5, "the person puts right what had failed"
    assert not found.verdict.success


def test_a_restart_corrects_everything_and_undoes_all_that_was_executed():
    found = judged(ModelWorld(bench_top(restart=20.0), BAD), Restart())
    assert (found.loss, found.recovery.undone, found.verdict.success) == (20.0, ("lift", "pour"), True)


def test_a_restart_with_a_loss_per_hypothesis_costs_that_and_corrects_what_it_says():
    start_over = Plan("restart", np.array([3.0, 9.0]), correct=("level",), undo=("pour",))
    found = judged(ModelWorld(bench_top(restart=start_over), BAD), Restart())
    assert (found.loss, found.recovery.undone, found.verdict.left) == (9.0, ("pour",), ("lid",))


def test_a_restart_that_is_not_possible_is_infinitely_dear():
    found = judged(ModelWorld(bench_top(), BAD), Restart())
    assert (found.loss, found.recovery.undone, found.verdict.success) == (math.inf, (), False)


def values():
    *_, values = sample_problems()
    return InformationState.alarmed(values)


def test_a_new_value_is_wrong_where_it_is_not_true():
    start = values()
    graph, belief = start.problem.graph, next(b for b in start.problem.graph.beliefs if b.name == "level")
    said = {new.value for new in start.problem.new_values[graph.belief_index["level"]]}
    assert len(said) > 1
    for value in said:
        decision = RollBack(("level",), graph.closure(["level"]), (NewDeclaration("level", value),))
        for truth, hypothesis in enumerate(start.problem.model.hypotheses):
            found = judged(ModelWorld(start, truth), decision)
            wrong = abs(hypothesis.true_of(belief) - value) > belief.tolerance
            assert ("level" in found.verdict.left) == wrong
            assert (Receipt(Charge.RESIDUAL, "level", belief.residual) in found.receipts) == wrong


def test_a_value_that_nobody_could_declare_is_wrong():
    decision = RollBack(("level",), values().problem.graph.closure(["level"]), (NewDeclaration("level", -1.0),))
    assert "level" in judged(ModelWorld(values(), 0), decision).verdict.left


def test_where_no_value_is_said_the_best_one_is_declared():
    start = values()
    said = correction(start, ["level"]).decision
    assert said.declare
    for truth in range(len(start.posterior)):
        unsaid = replace(said, declare=())
        declaring, untold = (judged(ModelWorld(start, truth), decision) for decision in (said, unsaid))
        assert (declaring.verdict, declaring.receipts) == (untold.verdict, untold.receipts)


def test_the_mean_over_worlds_with_values_is_the_exact_evaluation():
    start = values()
    exact = evaluate(AquaMend(), start)
    truths = np.random.default_rng(1).choice(len(start.posterior), p=start.posterior, size=cases(1200, 4000))
    episodes = [recovered(AquaMend(), ModelWorld(start, int(h), (7, i))) for i, h in enumerate(truths)]
    losses = [episode.loss for episode in episodes]
    error = np.std(losses) / math.sqrt(len(losses))
    assert np.mean(losses) == pytest.approx(exact.expected_loss, abs=5 * error)
    assert np.mean([episode.verdict.success for episode in episodes]) == pytest.approx(exact.success, abs=0.06)


def test_a_plan_costs_what_it_says_under_the_truth():
    state = bench_top(plans=[Plan("by hand", np.array([1.0, 5.0]), correct=("level",), undo=("lift",))])
    found = judged(ModelWorld(state, BAD), RollBack(("level",), ("lift",), plan="by hand"))
    assert (found.loss, found.recovery.undone, found.verdict.left) == (5.0, ("lift",), ("lid",))
    assert [(receipt.charge, receipt.cost) for receipt in found.receipts] == [
        (Charge.ROLLBACK, 1.0),
        (Charge.RESIDUAL, 4.0),
    ]
    assert judged(ModelWorld(state, BAD), RollBack((), plan="by foot")).loss == math.inf


@pytest.mark.parametrize(
    ("edges", "left"), [((), ("level",)), ([("lid", "lift", "belief_to_action")], ("level", "lid"))]
)
def test_undoing_leaves_what_was_wrong_as_often_as_the_problem_says(edges, left):
    """As ``evaluate`` prices it: nobody sees that it failed, and all that rested on it is as wrong as it had been."""
    start = bench_top()
    graph = start.problem.graph
    actions = [replace(graph.actions[0], undo_succeeds=0.6), *graph.actions[1:]]
    graph = replace(graph, actions=actions, edges=[*graph.edges, *edges])
    start = InformationState.alarmed(replace(start.problem, graph=graph))
    exact = evaluate(RollbackOnly(), start)
    truths = np.random.default_rng(2).choice(2, p=start.posterior, size=2000)
    episodes = [recovered(RollbackOnly(), ModelWorld(start, int(h), (3, i))) for i, h in enumerate(truths)]
    losses = [episode.loss for episode in episodes]
    assert {episode.verdict.left for episode in episodes} == {(), left}
    assert np.mean(losses) == pytest.approx(exact.expected_loss, abs=5 * np.std(losses) / math.sqrt(len(losses)))
    assert np.mean([episode.verdict.success for episode in episodes]) == pytest.approx(exact.success, abs=0.05)


def test_names_that_are_not_there_are_reported():
    with pytest.raises(UnknownName, match="unknown probe 'peek'"):
        judged(ModelWorld(bench_top(), FINE), Reprobe("peek"))
    with pytest.raises(UnknownName, match="unknown action 'fly'"):
        judged(ModelWorld(bench_top(), FINE), RollBack(("level",), ("fly",)))


@pytest.mark.parametrize("policy", [AquaMend(), LinearChain()])
def test_the_mean_over_worlds_is_the_exact_evaluation(policy, random_problem):
    """Playing out every hypothesis many times must average to what is computed over all outcomes."""
    checked = 0
    for seed in range(40):
        state = InformationState.alarmed(random_problem(random.Random(seed)))
        exact = evaluate(policy, state)
        if not 0 < exact.expected_loss < math.inf or exact.expected_probes == 0:
            continue
        rng = np.random.default_rng(seed)
        truths = rng.choice(len(state.posterior), p=state.posterior, size=cases(500, 1500))
        losses = [recovered(policy, ModelWorld(state, int(h), (seed, i))).loss for i, h in enumerate(truths)]
        error = np.std(losses) / math.sqrt(len(losses))
        assert np.mean(losses) == pytest.approx(exact.expected_loss, abs=5 * error + 1e-9)
        checked += 1
        if checked == 4:
            return
    pytest.fail("too few of the random problems make the policy probe")
