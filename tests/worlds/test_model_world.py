"""A world drawn from the model: it answers truly, charges once, and its mean is the exact evaluation."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

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
from aquamend.execution import Charge, Receipt, World, charged, recover
from aquamend.policies import AquaMend, LinearChain, evaluate
from aquamend.problem import Plan
from aquamend.testing import sample_problems
from aquamend.worlds import ModelWorld

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


def test_it_is_a_world():
    assert isinstance(ModelWorld(bench_top(), FINE), World)


def test_the_same_use_of_a_probe_answers_alike_whatever_was_asked_before():
    for seed in range(20):
        plain, busy = ModelWorld(bench_top(), BAD, (seed,)), ModelWorld(bench_top(), BAD, (seed,))
        first = [plain.measure(Reprobe("look")) for _ in range(3)]
        busy.measure(Reprobe("weigh"))
        assert [busy.measure(Reprobe("look")) for _ in range(3)] == first


def test_answers_follow_the_kernel_of_the_truth():
    answers = [ModelWorld(bench_top(), BAD, (seed,)).measure(Reprobe("look")).outcome for seed in range(2000)]
    assert np.mean([answer == "odd" for answer in answers]) == pytest.approx(0.7, abs=0.03)
    readings = [ModelWorld(bench_top(), FINE, (seed,)).measure(Reprobe("weigh")).outcome for seed in range(500)]
    assert np.mean(readings) == pytest.approx(100.0, abs=0.2)


def test_a_shared_operation_is_paid_once_and_planned_actions_are_free():
    outcome = ModelWorld(bench_top(), BAD).commit(RollBack(("level", "lid"), ("lift", "pour")))
    assert charged(outcome.receipts, Charge.RECOVERY) == 3.0
    assert outcome.undone == ("lift", "pour")
    assert outcome.success


def test_what_is_left_uncorrected_costs_its_residual_only_if_it_had_failed():
    for truth, residual in ((FINE, 0.0), (BAD, 16.0)):
        outcome = ModelWorld(bench_top(), truth).commit(Continue())
        assert charged(outcome.receipts) == charged(outcome.receipts, Charge.RESIDUAL) == residual
        assert outcome.success == (truth == FINE)


def test_a_belief_that_may_not_be_kept_costs_infinity():
    graph = RecoveryGraph([Belief("target", 1.0, may_keep=False)])
    state = InformationState.alarmed(Problem(graph, JointModel([Hypothesis("bad", 1.0, ("target",))])))
    assert charged(ModelWorld(state, 0).commit(Continue()).receipts) == math.inf


def test_probes_are_paid_for_even_before_an_escalation_which_is_no_success():
    world = ModelWorld(bench_top(escalate=30.0), FINE)
    world.measure(Reprobe("look"))
    outcome = world.commit(Escalate())
    assert charged(outcome.receipts, Charge.SENSING) == 0.5
    assert charged(outcome.receipts, Charge.ESCALATION) == 30.0
    assert not outcome.success


def test_a_restart_corrects_everything_and_undoes_all_that_was_executed():
    outcome = ModelWorld(bench_top(restart=20.0), BAD).commit(Restart())
    assert (charged(outcome.receipts), outcome.undone, outcome.success) == (20.0, ("lift", "pour"), True)


def test_a_restart_with_a_loss_per_hypothesis_costs_that_and_corrects_what_it_says():
    start_over = Plan("restart", np.array([3.0, 9.0]), correct=("level",), undo=("pour",))
    outcome = ModelWorld(bench_top(restart=start_over), BAD).commit(Restart())
    assert (charged(outcome.receipts), outcome.undone, outcome.uncorrected) == (9.0, ("pour",), ("lid",))


def test_a_restart_that_is_not_possible_is_infinitely_dear():
    outcome = ModelWorld(bench_top(), BAD).commit(Restart())
    assert (charged(outcome.receipts), outcome.undone, outcome.success) == (math.inf, (), False)


def values():
    return InformationState.alarmed(next(p for p in sample_problems() if p.options_follow_evidence))


def test_a_new_value_is_wrong_as_often_as_the_problem_says():
    start = values()
    graph, belief = start.problem.graph, next(b for b in start.problem.graph.beliefs if b.name == "level")
    probe = graph.detecting_probes["level"][0]
    accuracy = start.problem.accuracy[:, graph.probe_index[probe]]
    for truth, right in enumerate(accuracy):
        decision = RollBack(("level",), graph.closure(["level"]), (NewDeclaration("level", read_by=probe),))
        outcomes = [ModelWorld(start, truth, (seed,)).commit(decision) for seed in range(400)]
        wrong = [o for o in outcomes if "level" in o.uncorrected]
        assert len(wrong) / 400 == pytest.approx(1 - right, abs=0.06)
        assert all(Receipt(Charge.RESIDUAL, "level", belief.residual) in o.receipts for o in wrong)


def test_a_value_that_nobody_could_declare_is_wrong():
    decision = RollBack(("level",), values().problem.graph.closure(["level"]), (NewDeclaration("level", -1.0),))
    assert "level" in ModelWorld(values(), 0).commit(decision).uncorrected


def test_where_no_value_is_said_the_best_one_is_declared():
    start = values()
    said = correction(start, ["level"]).decision
    assert said.declare
    for truth in range(len(start.posterior)):
        unsaid = replace(said, declare=())
        told, untold = (ModelWorld(start, truth).commit(decision) for decision in (said, unsaid))
        assert (told.uncorrected, told.receipts) == (untold.uncorrected, untold.receipts)


def test_the_mean_over_worlds_with_values_is_the_exact_evaluation():
    start = values()
    exact = evaluate(AquaMend(), start)
    truths = np.random.default_rng(1).choice(len(start.posterior), p=start.posterior, size=4000)
    episodes = [recover(AquaMend(), ModelWorld(start, int(h), (7, i))) for i, h in enumerate(truths)]
    losses = [episode.loss for episode in episodes]
    error = np.std(losses) / math.sqrt(len(losses))
    assert np.mean(losses) == pytest.approx(exact.expected_loss, abs=5 * error)
    assert np.mean([episode.outcome.success for episode in episodes]) == pytest.approx(exact.success, abs=0.04)


def test_a_plan_costs_what_it_says_under_the_truth():
    state = bench_top(plans=[Plan("by hand", np.array([1.0, 5.0]), correct=("level",), undo=("lift",))])
    outcome = ModelWorld(state, BAD).commit(RollBack(("level",), ("lift",), plan="by hand"))
    assert (charged(outcome.receipts), outcome.undone, outcome.uncorrected) == (5.0, ("lift",), ("lid",))
    with pytest.raises(UnknownName, match="plan"):
        ModelWorld(state, BAD).commit(RollBack((), plan="by foot"))


def test_names_that_are_not_there_are_told():
    with pytest.raises(UnknownName, match="unknown probe 'peek'"):
        ModelWorld(bench_top(), FINE).measure(Reprobe("peek"))
    with pytest.raises(UnknownName, match="executed action"):
        ModelWorld(bench_top(), FINE).commit(RollBack(("level",), ("place",)))


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
        truths = rng.choice(len(state.posterior), p=state.posterior, size=1500)
        losses = [recover(policy, ModelWorld(state, int(h), (seed, i))).loss for i, h in enumerate(truths)]
        error = np.std(losses) / math.sqrt(len(losses))
        assert np.mean(losses) == pytest.approx(exact.expected_loss, abs=5 * error + 1e-9)
        checked += 1
        if checked == 4:
            return
    pytest.fail("too few of the random problems make the policy probe")
