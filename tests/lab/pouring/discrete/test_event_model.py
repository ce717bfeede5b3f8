"""The public model: its hypotheses say what the scenes say, and its plans cost what following them costs."""

import math

import numpy as np
import pytest

from aquamend.belief import Observation
from aquamend.decision import Restart, RollBack
from aquamend.decision.terminal import best_terminal, best_value, may_be_kept
from aquamend.recovery import Measure, recovered
from aquamend_lab.pouring.discrete import Add, Assumptions, CameraFault, Shares, TableWorld
from aquamend_lab.pouring.discrete.cup_table import prior_of
from aquamend_lab.pouring.discrete.perturbations import EventFamily
from aquamend_lab.pouring.task import SAFE_STOP, Stage

from .tables import AS_DECLARED, ASSUMED, EVENTS, EVERYTHING, STEPS, entered, middle, state_of, table

REVERSIBLE = [(Stage.DECIDED, False), (Stage.LIFTED, True), (Stage.BESIDE, False), (Stage.POURED, True)]


class Always:
    """A policy that ends at once in a given way."""

    def __init__(self, decision):
        self.decision = decision

    def next_step(self, state):
        return self.decision


def test_a_belief_has_failed_under_a_hypothesis_where_its_declared_value_is_wrong_in_the_scene():
    task = table()
    problem = state_of(task).problem
    names = [belief.name for belief in problem.graph.beliefs]
    for event, failed in zip(STEPS, problem.failed, strict=True):
        wrong = event.applied(AS_DECLARED).failed(task)
        assert tuple(name for name, z in zip(names, failed, strict=True) if z) == wrong


def test_shares_are_kept_and_equal_within_a_family():
    prior = prior_of(EVERYTHING)
    assert prior.sum() == pytest.approx(1.0)
    by_family = {f: [p for e, p in zip(EVENTS, prior, strict=True) if e.family is f] for f in EventFamily}
    assert sum(by_family[EventFamily.SWAP]) == pytest.approx(0.3 / 1.2)
    assert len({round(p, 12) for p in by_family[EventFamily.ADD]}) == 1


def test_a_size_that_nobody_knows_is_one_hypothesis_for_each_step_of_it():
    problem = state_of(table(), assumed=ASSUMED).problem
    index = problem.graph.belief_index["quantity_B"]
    added = [h for h in problem.model.hypotheses if h.part_of == "+40 g in B"]
    assert [h.truth["quantity_B"] for h in added] == [130.0 + 21.0 + 2.0 * k for k in range(20)]
    assert math.fsum(h.prior for h in added) == pytest.approx(0.3 / 4), "a quarter of what adds water"
    assert [new.value for new in problem.new_values[index]] == [h.truth["quantity_B"] for h in added]


def test_what_two_readings_say_is_in_a_cup_is_right_as_often_as_the_posterior_says():
    start, rng = state_of(table(), assumed=ASSUMED), np.random.default_rng(5)
    index = start.problem.graph.belief_index["quantity_B"]
    promised, right = [], []
    for seed in range(200):
        scene = Add(1, float(rng.uniform(20.0, 60.0))).applied(AS_DECLARED)
        state, world = start, TableWorld(start, table(), scene, seed=(seed,))
        for probe in ("look_B", "weigh_B"):
            state = state.after(Observation(probe, world.measure(Measure(probe)).finding))
        best = min(state.problem.new_values[index], key=lambda value: state.posterior @ value.wrong)
        promised.append(1.0 - state.posterior @ best.wrong)
        right.append(abs(best.value - scene.amount_g[1]) <= 3.0)
    assert np.mean(promised) > 0.88
    assert np.mean(right) == pytest.approx(np.mean(promised), abs=0.05)


def test_what_never_happens_is_no_hypothesis():
    assumed = Assumptions(EVENTS, Shares(drift=0.0)).possible()
    assert not any(isinstance(event, CameraFault) for event in assumed.events)


def test_an_alarm_tells_no_more_than_which_cup_it_points_at():
    state = state_of(table(), assumed=ASSUMED)
    assert (state.evidence, state.spent) == ((), 0.0)
    q = dict(zip((b.name for b in state.problem.graph.beliefs), state.failure_probabilities.tolist(), strict=True))
    assert q["quantity_A"] > 2 * q["quantity_B"]
    assert 0.1 < q["binding_A"] < 0.5


def test_without_measuring_nothing_can_be_declared():
    """What may have failed has no value that could be declared: every one needs evidence, and there is none."""
    state = state_of(table(), assumed=ASSUMED)
    for i, belief in enumerate(state.problem.graph.beliefs):
        assert best_value(state, i) is None, belief.name


def test_amounts_lose_their_support_with_the_camera_and_get_it_back_from_the_scales():
    state = state_of(table(), assumed=ASSUMED).after(Observation("check_camera", "faulty"))
    index = state.problem.graph.belief_index
    amounts = [index[f"quantity_{x}"] for x in "ABC"]
    assert not any(may_be_kept(state, i) for i in amounts)
    for x in "ABC":
        state = state.after(Observation(f"weigh_{x}", "as declared"))
    assert all(may_be_kept(state, i) for i in (*amounts, index["target"]))


def test_starting_over_is_an_ending_only_where_that_is_said():
    assert state_of(table()).problem.restart_plan is None
    assert state_of(table(), restarts=True).problem.restart_plan is not None


@pytest.mark.parametrize(("stage", "chain"), REVERSIBLE)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_restart_costs_what_the_problem_says(event, stage, chain):
    world = entered(middle(event), stage=stage, linear_chain=chain, restarts=True)
    losses = world.alarm().problem.restart_plan.loss
    episode = recovered(Always(Restart()), world)
    assert episode.loss - world.alarm().spent == pytest.approx(losses[STEPS.index(middle(event))])
    assert set(episode.recovery.undone) == set(stage.executed)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
@pytest.mark.parametrize("stage", [Stage.DECIDED, Stage.POURED])
def test_a_safe_stop_costs_what_the_problem_says_and_is_no_success(event, stage):
    world = entered(middle(event), stage=stage)
    state = world.alarm()
    plan = state.problem.plan_named(SAFE_STOP)
    episode = recovered(Always(RollBack((), plan=SAFE_STOP)), world)
    assert episode.loss - state.spent == pytest.approx(plan.loss[STEPS.index(middle(event))])
    assert not episode.verdict.success


def test_handing_over_costs_nothing_where_nobody_could_undo_what_has_to_be_undone_and_all_that_is_wrong_elsewhere():
    for reversible in (True, False):
        task = table(stage=Stage.POURED, pour_reversible=reversible)
        losses = state_of(task).problem.plan_named(SAFE_STOP).loss
        for event, loss in zip(STEPS, losses, strict=True):
            failed = event.applied(AS_DECLARED).failed(task)
            stuck = not reversible and "pour" in task.graph().closure(failed)
            assert loss == (0.0 if stuck else task.left_wrong(failed))


def test_it_is_handed_over_only_where_nothing_else_is_admissible():
    """After a pour for good, a water level known to be wrong can be neither kept nor corrected."""
    for reversible in (True, False):
        state = state_of(table(stage=Stage.POURED, pour_reversible=reversible))
        index = state.problem.model.hypothesis_index
        for event in map(middle, EVENTS):
            certain = np.zeros(len(index))
            certain[index[event.name]] = 1.0
            read = type(state)(state.problem, certain, state.evidence)
            stop = best_terminal(read)
            needs_pour = "pour" in state.problem.graph.closure(event.applied(AS_DECLARED).failed(table()))
            stopped = getattr(stop.decision, "plan", None) == SAFE_STOP
            assert stopped == (needs_pour and not reversible)
