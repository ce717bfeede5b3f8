"""The world pays out what is asked of it, and judges by what is declared in the end."""

import math

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.decision import Continue, Reprobe, RollBack
from aquamend.decision.steps import NewDeclaration
from aquamend.policies import policy_named
from aquamend.recovery import Charge, Declare, Measure, charged, recovered
from aquamend_lab.pouring.discrete import Add, CameraFault, Nothing, Swap, TableWorld
from aquamend_lab.pouring.task import SAFE_STOP, Stage

from .tables import AS_DECLARED, EVENTS, STEPS, entered


class Then:
    """A policy that takes these steps one after another."""

    def __init__(self, *steps):
        self.steps = steps

    def next_step(self, state):
        return self.steps[len(state.evidence)]


def test_the_same_use_of_a_probe_reads_the_same_whoever_asks_and_in_whatever_order():
    one, other = entered(Add(0, 45.0)), entered(Add(0, 45.0))
    forward = {p: one.measure(Measure(p)).finding for p in ("look_A", "weigh_A", "localise", "check_camera")}
    backward = {p: other.measure(Measure(p)).finding for p in reversed(forward)}
    assert forward == backward


def test_going_on_costs_nothing_where_nothing_is_wrong():
    episode = recovered(Then(Continue()), entered(Nothing()))
    assert (episode.loss, episode.verdict.success) == (0.0, True)


@pytest.mark.parametrize("said", [143.0, 147.0, 149.0])
def test_what_is_declared_is_the_value_itself_and_right_within_the_tolerance(said):
    world = entered(Add(0, 45.0))
    new = NewDeclaration("quantity_A", said), NewDeclaration("target", "B")
    episode = recovered(Then(RollBack(("quantity_A", "target"), ("move",), new)), world)
    assert episode.verdict.success == (abs(said - 145.0) <= 3.0)
    assert charged(episode.receipts, Charge.ROLLBACK) == 2.5


def test_what_was_wrong_at_the_alarm_and_still_is_counts_and_what_was_got_wrong_since_does_not():
    world = entered(CameraFault("bias", 0, 45.0))
    step = RollBack(("quantity_A",), ("move",), (NewDeclaration("quantity_A", 145.0),))
    episode = recovered(Then(Reprobe("look_A"), step), world)
    assert world.scene.failed(world.task) == episode.verdict.left == ("camera",)
    assert charged(episode.receipts, Charge.RESIDUAL) == 40.0
    right = RollBack(("quantity_A", "camera"), ("move",), (*step.declare, NewDeclaration("camera", "faulty")))
    assert recovered(Then(right), entered(CameraFault("bias", 0, 45.0))).verdict.success


def test_handing_over_what_nobody_could_undo_is_no_success_and_costs_nothing():
    stop = RollBack((), plan=SAFE_STOP)
    for event, reversible, loss in ((Add(0, 45.0), False, 0.0), (Add(0, 45.0), True, 90.0), (Swap(1, 2), False, 40.0)):
        world = entered(event, stage=Stage.POURED, pour_reversible=reversible)
        episode = recovered(Then(stop), world)
        assert (episode.loss, episode.verdict.success) == (loss, False)


def test_swapped_cups_are_declared_to_stand_in_each_others_place():
    world = entered(Swap(0, 1))
    said = NewDeclaration("binding_A", 150.0), NewDeclaration("binding_B", 0.0)
    assert recovered(Then(RollBack(("binding_A", "binding_B"), ("move",), said)), world).verdict.success


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_declaring_what_is_true_is_a_success_and_leaving_anything_wrong_is_none(event):
    world = entered(event, stage=Stage.LIFTED)
    true = world.task.values(world.scene.true(world.task))
    failed = world.scene.failed(world.task)
    for name in failed:
        assert not world.judge(_finished(world)).success
        world.perform(Declare(name, true[name]))
    verdict = world.judge(_finished(world))
    assert (verdict.left, verdict.success) == ((), True)


def _finished(world):
    return recovered(Then(Continue()), entered(Nothing())).recovery


def test_undoing_alone_corrects_nothing():
    episode = recovered(Then(RollBack((), ("lift", "move"))), entered(Add(0, 45.0)))
    assert episode.verdict.left == ("quantity_A", "target")
    assert episode.recovery.undone == ("move", "lift")
    assert charged(episode.receipts, Charge.ROLLBACK) == 5.5


def test_going_over_the_budget_voids_all_that_was_done():
    steps = (Reprobe("weigh_A"), Reprobe("weigh_B"), RollBack(
        ("quantity_A", "target"), ("move",), (NewDeclaration("quantity_A", 145.0), NewDeclaration("target", "B"))
    ))  # fmt: skip
    within = recovered(Then(*steps), entered(Add(0, 45.0), budget=3.0))
    beyond = recovered(Then(*steps), entered(Add(0, 45.0), budget=2.9))
    assert within.verdict.success
    assert not within.verdict.over_budget
    assert beyond.verdict.over_budget
    assert not beyond.verdict.success
    assert beyond.loss == pytest.approx(within.loss + 90.0), "what was spent, and what had failed"


@pytest.mark.parametrize(
    "name", ["aquamend", "aquamend-two-step", "decoupled", "troubleshooting", "restart", "no-reprobe"]
)
@pytest.mark.parametrize("stage", [Stage.LIFTED, Stage.POURED])
def test_a_loss_is_what_the_receipts_say(name, stage):
    for seed, event in list(enumerate(EVENTS))[:: cases(3, 1)]:
        episode = recovered(policy_named(name), entered(event, stage=stage, seed=(seed,), restarts=name == "restart"))
        assert math.isfinite(episode.loss)
        assert episode.loss == pytest.approx(sum(charged(episode.receipts, charge) for charge in Charge))
        assert charged(episode.receipts, Charge.CONTINUATION) == 0.0, "doing again costs nothing on this task"
        assert (not episode.verdict.left) == (charged(episode.receipts, Charge.RESIDUAL) == 0.0)


def test_whoever_follows_the_posterior_is_right_about_as_often_as_it_says():
    """The model is right about the world: episodes drawn from the posterior succeed as often as is expected."""
    policy, world = policy_named("aquamend"), entered(Nothing())
    start = world.alarm()
    rng = np.random.default_rng(3)
    expected, came = [], []
    for seed in range(60):
        event = STEPS[int(rng.choice(len(STEPS), p=start.posterior))]
        episode = recovered(policy, TableWorld(start, world.task, event.applied(AS_DECLARED), seed=(seed, 5)))
        wrong = episode.recovery.decided_at.posterior @ start.problem.failed
        kept = [i for i, b in enumerate(start.problem.graph.beliefs) if b.name not in episode.recovery.corrected]
        if episode.recovery.followed is None:
            expected.append(wrong[kept].sum())
            failed = start.problem.failed[STEPS.index(event)]
            came.append(failed[kept].sum())
    assert len(came) > 30
    assert np.mean(came) == pytest.approx(np.mean(expected), abs=4 * np.std(came) / math.sqrt(len(came)) + 0.02)
