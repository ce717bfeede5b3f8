"""Robots that retry, rewind, replan or revise: what each asks of a world, and how it fares there."""

from dataclasses import replace

import numpy as np
import pytest

from aquamend.decision import Continue, Reprobe, Restart, RollBack
from aquamend.inference import InformationState, Observation
from aquamend.recovery import recovered
from aquamend.testing import PolicyFault, check_policy
from aquamend.worlds.cups import Add, CameraFault, CupTask, CupWorld, Nothing, Stage, Swap
from aquamend.worlds.cups.baselines import (
    BeliefReplan,
    BlindRetry,
    ExecutedRestart,
    Rewind,
    TmsRevision,
    justifications,
)
from aquamend.worlds.cups.events import standard_events
from aquamend.worlds.cups.model import Assumptions, problem_of

TABLE = (100.0, 130.0, 170.0)
ASSUMED = Assumptions(standard_events(TABLE))
ARM = ("decide", "grasp", "move")
MEASURED = ("measure_A", "measure_B", "measure_C")


def entered(event, flagged=0, **options):
    return CupWorld(CupTask(TABLE, **options), event, flagged, ASSUMED)


def alarmed(flagged=0, **options):
    return InformationState.alarmed(problem_of(CupTask(TABLE, **options), ASSUMED, flagged))


def likeliest(event):
    """Return the state in which one event is all but certain."""
    state = alarmed()
    posterior = np.full(len(ASSUMED.events), 1e-6)
    posterior[ASSUMED.events.index(event)] = 1.0
    return replace(state, posterior=posterior / posterior.sum())


@pytest.mark.parametrize("event", [Nothing(), Add(0, 45.0), Swap(0, 1)])
def test_a_blind_retry_looks_twice_and_goes_on_whatever_it_saw(event):
    episode = recovered(BlindRetry(), entered(event))
    assert [o.probe for o in episode.recovery.evidence] == ["look_A", "localise"]
    assert episode.recovery.decision == Continue()
    assert episode.verdict.success == isinstance(event, Nothing)


def test_a_blind_retry_keeps_to_the_budget():
    episode = recovered(BlindRetry(), entered(Nothing(), sensing_budget=1.5))
    assert [o.probe for o in episode.recovery.evidence] == ["look_A"]


def test_rewinding_undoes_everything_suspected_and_corrects_nothing():
    for event in (Nothing(), Add(0, 45.0), CameraFault("bias", 0, 45.0)):
        episode = recovered(Rewind(), entered(event))
        assert episode.recovery.decision == RollBack((), MEASURED + ARM)
        assert set(episode.recovery.undone) == {*MEASURED, *ARM}
        assert episode.verdict.success == isinstance(event, Nothing)


def test_rewinding_leaves_what_cannot_be_undone():
    state = alarmed(stage=Stage.POURED, pour_reversible=False)
    assert "pour" not in Rewind().next_step(state).undo


def test_a_replan_takes_the_likeliest_for_true():
    assert BeliefReplan().next_step(likeliest(Nothing())) == Continue()
    assert BeliefReplan().next_step(likeliest(Swap(1, 2))) == RollBack(("place_B", "place_C"), ())
    across = next(e for e in ASSUMED.events if isinstance(e, Add) and e.amount_ml == 45.0)
    assert BeliefReplan().next_step(likeliest(across)) == RollBack(
        ("amount_A", "rank_B", "target"), ("measure_A", *ARM)
    )


def test_a_replan_never_looks_and_fails_where_something_else_happened():
    state = alarmed()
    mass = {}
    for hypothesis, p in zip(state.problem.model.hypotheses, state.posterior, strict=True):
        mass[hypothesis.failed] = mass.get(hypothesis.failed, 0.0) + p
    expected = max(mass, key=mass.get)
    for event, hypothesis in zip(ASSUMED.events, state.problem.model.hypotheses, strict=True):
        episode = recovered(BeliefReplan(), entered(event))
        assert episode.recovery.evidence == ()
        assert episode.verdict.success == set(hypothesis.failed).issubset(expected)


def test_a_replan_goes_on_where_its_plan_is_infeasible():
    state = replace(alarmed(stage=Stage.POURED, pour_reversible=False), posterior=likeliest(Swap(0, 1)).posterior)
    assert BeliefReplan().next_step(state) == Continue()


@pytest.mark.parametrize(("flagged", "cup", "target"), [(0, "A", "B"), (1, "B", "A"), (2, "C", "A")])
def test_revision_retracts_the_cup_that_the_alarm_points_at_and_derives_the_target_anew(flagged, cup, target):
    decision = TmsRevision().next_step(alarmed(flagged))
    assert decision == RollBack((f"amount_{cup}",), plan=f"revise {cup}, target {target}")


def test_revision_undoes_nothing_and_looks_at_nothing():
    for event in ASSUMED.events:
        episode = recovered(TmsRevision(), entered(event, 1))
        assert (episode.recovery.evidence, episode.recovery.undone) == ((), ())


def test_the_robots_reasons_by_hand():
    network = justifications(("A", "B", "C"))
    assert {"amount B", "A before B", "B before C", "target A"} <= network.believed()
    assert "target B" not in network.believed(), "A comes before it"
    left = network.without(["measured C"]).believed()
    assert {"A before B", "target A"} <= left, "before all that is known of"
    assert left.isdisjoint({"amount C", "A before C", "B before C"})
    assert "target B" in network.without(["measured A"]).believed()
    assert "target C" in network.without(["measured A", "measured B"]).believed()


def test_an_executed_restart_pays_what_the_problem_says():
    state = alarmed()
    assert ExecutedRestart().next_step(state) == Restart()
    assert state.problem.restart_plan.undo == ARM
    losses = state.problem.restart_plan.loss
    for event, loss in zip(ASSUMED.events, losses, strict=True):
        assert recovered(ExecutedRestart(), entered(event)).loss == pytest.approx(loss)


def test_an_executed_restart_goes_on_where_something_cannot_be_undone():
    assert ExecutedRestart().next_step(alarmed(stage=Stage.POURED, pour_reversible=False)) == Continue()


@pytest.mark.parametrize("policy", [BlindRetry(), BeliefReplan(), ExecutedRestart()], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("stage", Stage)
def test_those_that_decide_within_the_problem_keep_the_contract_of_policies(policy, stage):
    options = {"stage": stage, "pour_reversible": stage is not Stage.POURED}
    problems = [alarmed(flagged, **options).problem for flagged in range(3)]
    assert check_policy(policy, problems).states >= 3


@pytest.mark.parametrize(
    ("policy", "told"),
    [(Rewind(), "name at least one belief"), (TmsRevision(), "plan 'revise A, target B', which this problem")],
)
def test_those_that_ask_more_of_a_world_than_the_problem_knows_are_told_so(policy, told):
    with pytest.raises(PolicyFault, match=told):
        check_policy(policy, [alarmed().problem])


def test_all_of_them_carry_on_after_a_contradiction():
    """Evidence that no hypothesis allows leaves a posterior that means nothing; a step has to come all the same."""
    state = replace(alarmed(), contradiction=Observation("look_A", "lower"))
    for policy in (BlindRetry(), Rewind(), BeliefReplan(), TmsRevision(), ExecutedRestart()):
        assert not isinstance(policy.next_step(state), Reprobe)


def test_without_looking_none_of_them_recovers_from_everything():
    for policy in (BlindRetry(), Rewind(), BeliefReplan(), TmsRevision(), ExecutedRestart()):
        episodes = [recovered(policy, entered(event)) for event in ASSUMED.events]
        assert not all(episode.verdict.success for episode in episodes)
        assert all(episode.loss < np.inf for episode in episodes)
