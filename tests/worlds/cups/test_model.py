"""The public model: priors by family, an alarm likelihood, and a posterior that is right about the world."""

import math
from collections import Counter

import numpy as np
import pytest
from tests.worlds.taking import answer, judged

from aquamend.benchmarks.t4.episodes import Setting, draw_event
from aquamend.decision import Restart
from aquamend.inference import InformationState, Observation
from aquamend.worlds.cups import CupTask, CupWorld, Scene, Stage
from aquamend.worlds.cups.events import Family, common_cause_events, standard_events
from aquamend.worlds.cups.model import Assumptions, Shares, likelihood, prior_of, problem_of
from aquamend.worlds.cups.monitor import Monitor

TABLE = (100.0, 130.0, 170.0)
TASK = CupTask(TABLE)
STANDARD = Assumptions(standard_events(TABLE))
STRESSED = Assumptions((*standard_events(TABLE), *common_cause_events(TABLE)), Shares(common_cause=0.4))


@pytest.mark.parametrize("assumed", [STANDARD, STRESSED], ids=["standard", "stressed"])
def test_priors_sum_to_one_and_families_have_their_shares_equally_within(assumed):
    prior = prior_of(assumed)
    assert prior.sum() == pytest.approx(1.0)
    total = sum(assumed.shares.of(family) for family in Family)
    for family in Family:
        own = [p for event, p in zip(assumed.events, prior, strict=True) if event.family is family]
        assert sum(own) == pytest.approx(assumed.shares.of(family) / total if own else 0.0)
        assert not own or max(own) == pytest.approx(min(own))


def test_alarms_of_an_event_sum_to_how_often_it_raises_one():
    monitor = Monitor()
    for event in STRESSED.events:
        heard = [likelihood(event, cup, 3, monitor) for cup in range(3)]
        assert sum(heard) == pytest.approx(monitor.raises(event))


@pytest.mark.parametrize("flagged", [0, 1, 2])
def test_the_alarm_is_heard_as_the_monitor_would_raise_it(flagged):
    state = InformationState.alarmed(problem_of(TASK, STANDARD, flagged))
    mass = prior_of(STANDARD) * [likelihood(event, flagged, 3, STANDARD.monitor) for event in STANDARD.events]
    assert state.posterior == pytest.approx(mass / mass.sum())


def test_hypotheses_say_of_every_event_what_it_breaks():
    problem = problem_of(TASK, STRESSED, 0)
    for event, hypothesis in zip(STRESSED.events, problem.model.hypotheses, strict=True):
        assert hypothesis.name == event.name
        assert tuple(hypothesis.failed) == event.applied(Scene.as_declared(TABLE)).failed()


def test_the_alarm_flags_the_cup_it_points_at():
    assert problem_of(TASK, STANDARD, 1).model.alarm.suspects == ["amount_B", "place_B", "target"]


def test_the_same_task_is_compiled_once():
    again = Assumptions(standard_events(TABLE))
    assert problem_of(CupTask(TABLE), again, 0) is problem_of(TASK, STANDARD, 0)
    assert problem_of(TASK, STANDARD, 1) is not problem_of(TASK, STANDARD, 0)


@pytest.mark.parametrize("assumed", [STANDARD, STRESSED], ids=["standard", "stressed"])
def test_what_happened_is_distributed_as_the_posterior_says(assumed):
    """Given where the alarm points, each event happened as often as its posterior, within five standard errors."""
    rng = np.random.default_rng(11)
    drawn = Counter(draw_event(rng, TASK, assumed, Setting()) for _ in range(4000))
    for flagged in range(3):
        posterior = InformationState.alarmed(problem_of(TASK, assumed, flagged)).posterior
        n = sum(count for (_, cup), count in drawn.items() if cup == flagged)
        assert n > 800
        for event, p in zip(assumed.events, posterior, strict=True):
            assert drawn[event, flagged] / n == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1 / n)


@pytest.mark.parametrize("probes", [("weigh_A",), ("look_A", "localise"), ("check_camera", "weigh_B", "look_B")])
def test_beliefs_fail_as_often_as_the_posterior_says_after_looking(probes):
    rng = np.random.default_rng(5)
    believed, happened, variance = (np.zeros(len(TASK.graph().beliefs)) for _ in range(3))
    for i in range(800):
        event, flagged = draw_event(rng, TASK, STANDARD, Setting())
        world = CupWorld(TASK, event, flagged, STANDARD, seed=(5, i))
        state = world.alarm()
        for probe in probes:
            state = state.after(Observation(probe, answer(world, probe)))
        q = state.failure_probabilities
        believed += q
        variance += q * (1 - q)
        truth = event.applied(Scene.as_declared(TABLE)).failed()
        happened += [belief.name in truth for belief in state.problem.graph.beliefs]
    assert np.all(np.abs(believed - happened) <= 5 * np.sqrt(variance) + 1e-6)


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("options", [{}, {"linear_chain": True}, {"shared_work": 4.0}])
def test_the_restart_plan_costs_what_the_world_charges_whatever_happened(stage, options):
    task = CupTask(TABLE, stage=stage, **options)
    plan = problem_of(task, STRESSED, 0).restart_plan
    for event, loss in zip(STRESSED.events, plan.loss, strict=True):
        found = judged(CupWorld(task, event, 0, STRESSED), Restart())
        assert found.loss == pytest.approx(loss)
        assert found.recovery.undone == plan.undo


def test_starting_over_is_infeasible_after_a_pour_that_cannot_be_taken_back():
    task = CupTask(TABLE, stage=Stage.POURED, pour_reversible=False)
    assert problem_of(task, STANDARD, 0).restart_plan is None


def test_a_sensing_budget_and_an_escalation_are_passed_on():
    problem = problem_of(CupTask(TABLE, sensing_budget=2.5), STANDARD, 0)
    assert (problem.sensing_budget, problem.escalate_loss) == (2.5, 30.0)
