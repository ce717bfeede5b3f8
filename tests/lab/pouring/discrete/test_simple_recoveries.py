"""Robots that retry, undo, replan or revise: what each asks of a world, and how it fares there."""

import math
from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import Observation
from aquamend.decision import Continue, RollBack
from aquamend.policies import VeriTrace
from aquamend.recovery import recovered
from aquamend.recovery.acts import acts_of
from aquamend_lab.pouring.discrete import Add, CameraFault, Nothing, Swap
from aquamend_lab.pouring.discrete.cup_table import BeliefReplan, BlindRetry, TmsRevision, justifications
from aquamend_lab.pouring.task import Stage

from .tables import EVENTS, STEPS, entered, state_of, table

ALL = (BlindRetry(), VeriTrace(), BeliefReplan(), TmsRevision())


def likeliest(event, **options):
    """Return the state in which one event is all but certain."""
    state = state_of(table(**options))
    posterior = np.full(len(STEPS), 1e-6)
    posterior[[step.name for step in STEPS].index(event.name)] = 1.0
    return replace(state, posterior=posterior / posterior.sum(), origin=None)


@pytest.mark.parametrize("event", [Nothing(), Add(0, 45.0), Swap(0, 1)])
def test_a_blind_retry_looks_twice_and_goes_on_whatever_it_saw(event):
    episode = recovered(BlindRetry(), entered(event))
    assert [o.probe for o in episode.recovery.evidence] == ["look_A", "localise"]
    assert episode.recovery.decision == Continue()
    assert episode.verdict.success == isinstance(event, Nothing)


def test_veritrace_undoes_all_that_rests_on_the_triggers_and_corrects_no_value():
    for event in (Nothing(), Add(0, 45.0), CameraFault("bias", 0, 45.0)):
        episode = recovered(VeriTrace(), entered(event))
        assert episode.recovery.decision == RollBack((), ("move",))
        assert episode.verdict.success == isinstance(event, Nothing)


def test_veritrace_leaves_what_cannot_be_undone():
    state = state_of(table(stage=Stage.POURED, pour_reversible=False))
    assert VeriTrace().next_step(state).undo == ("move",)


def test_a_replan_takes_the_likeliest_for_true_and_corrects_nothing_since_it_has_measured_nothing():
    assert BeliefReplan().next_step(likeliest(Nothing("occlusion"))) == Continue()
    assert BeliefReplan().next_step(likeliest(Add(0, 45.0))) == RollBack((), ("move",))
    assert BeliefReplan().next_step(likeliest(CameraFault("stale"))) == Continue(), "nothing rests on it"
    for event in (Nothing(), Add(0, 45.0), Swap(0, 1)):
        assert recovered(BeliefReplan(), entered(event)).verdict.success == isinstance(event, Nothing)


def test_a_replan_leaves_what_cannot_be_undone():
    state = likeliest(Add(0, 45.0), stage=Stage.POURED, pour_reversible=False)
    assert BeliefReplan().next_step(state) == RollBack((), ("move",))


@pytest.mark.parametrize(("flagged", "cup", "target"), [(0, "A", "B"), (1, "B", "A"), (2, "C", "A")])
def test_revision_retracts_the_cup_that_the_alarm_points_at_and_derives_the_target_again(flagged, cup, target):
    decision = TmsRevision().next_step(state_of(table(), flagged=flagged))
    assert decision == RollBack((f"quantity_{cup}",), plan=f"revise {cup}, target {target}")


def test_dropping_a_wrong_belief_is_no_correction_even_where_the_new_target_is_right():
    episode = recovered(TmsRevision(), entered(Add(0, 45.0)))
    assert episode.verdict.left == ("quantity_A",)
    assert not episode.verdict.success
    assert (episode.recovery.evidence, episode.recovery.undone) == ((), ())


def test_revision_aims_at_another_target_until_the_pour_is_made():
    for stage, target in ((Stage.BESIDE, "B"), (Stage.POURED, "A")):
        world = entered(Nothing(), stage=stage)
        assert recovered(TmsRevision(), world).verdict.success, "what is got wrong since the alarm is not charged"
        assert world._said["target"] == target


def test_the_robots_reasons_by_hand():
    network = justifications(("A", "B", "C"))
    assert {"amount B", "A before B", "B before C", "target A"} <= network.believed()
    assert "target B" not in network.believed(), "A comes before it"
    left = network.without(["measured C"]).believed()
    assert {"A before B", "target A"} <= left, "before all that is known of"
    assert left.isdisjoint({"amount C", "A before C", "B before C"})
    assert "target B" in network.without(["measured A"]).believed()
    assert "target C" in network.without(["measured A", "measured B"]).believed()


@pytest.mark.parametrize("policy", ALL, ids=lambda policy: type(policy).__name__)
def test_a_step_comes_after_a_contradiction_too(policy):
    state = replace(state_of(table()), contradiction=Observation("look_A", "lower"))
    acts = acts_of(state, policy.next_step(state))
    assert acts
    assert all(math.isfinite(act.cost) for act in acts)


@pytest.mark.parametrize("policy", ALL, ids=lambda policy: type(policy).__name__)
def test_without_looking_and_thinking_nobody_recovers_from_everything(policy):
    episodes = [recovered(policy, entered(event)) for event in EVENTS]
    assert not all(episode.verdict.success for episode in episodes)
    assert all(episode.loss < np.inf for episode in episodes)
