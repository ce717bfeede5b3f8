"""Beyond the model: what differs from world to world, and what does not."""

from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation, surprises
from aquamend.decision.steps import Escalate
from aquamend.errors import InvalidRun
from aquamend.recovery import Measure, recovered
from aquamend_lab.benchmarks.problem_files import (
    BEYOND,
    DEAD_PROBE,
    FAILURES,
    FALSE_ALARMS,
    FILES,
    NOBODY,
    RIGHT_ODDS,
    UNLISTED,
    WORLDS,
    CallAPerson,
    Surprised,
    beyond_suite,
    causes_of,
)

BY_WORLD = {world: number for number, world in enumerate(WORLDS)}


def scenario(world, seed=0, file=0):
    return BEYOND.make(seed, file * len(WORLDS) + BY_WORLD[world])


def posterior(state):
    return {h.name: p for h, p in zip(state.problem.model.hypotheses, state.posterior, strict=True)}


@pytest.mark.parametrize("file", range(len(FILES)))
def test_a_cause_on_no_list_is_what_happened_and_is_taken_for_impossible(file):
    for seed in range(5):
        listed, unlisted = scenario(FAILURES, seed, file), scenario(UNLISTED, seed, file)
        happened = unlisted.truths[0].name
        assert happened == listed.truths[0].name, "the same failure, listed or not"
        assert posterior(listed.state)[happened] > 0.0 == posterior(unlisted.state)[happened]
        assert sum(unlisted.state.posterior) == pytest.approx(1.0)


def test_leaving_out_a_cause_leaves_out_all_that_it_takes_part_in():
    state = scenario(UNLISTED, 0).state
    names = {cause for h in state.problem.model.hypotheses for cause in causes_of(h)}
    left = {c for h, p in zip(state.problem.model.hypotheses, state.posterior, strict=True) if p for c in causes_of(h)}
    assert len(names - left) == 1


def test_a_dead_probe_tells_of_the_world_in_which_nothing_is_wrong_and_the_others_of_the_real_one():
    known = {"dead": [], "other": []}
    for seed in range(20):
        one = scenario(DEAD_PROBE, seed, FILES.index("pouring"))
        world = one.truths[0].enter()
        for probe in one.state.problem.graph.probes:
            reading, (real, fine) = (
                world.measure(Measure(probe.name)).finding,
                (replace(w).measure(Measure(probe.name)).finding for w in (world.real, world.fine)),
            )
            assert reading == (fine if probe.name == one.features["dead"] else real)
            known["dead" if probe.name == one.features["dead"] else "other"].append(real != fine)
    assert any(known["dead"])
    assert any(known["other"])


@pytest.mark.parametrize("world", [*FALSE_ALARMS])
def test_false_alarms_are_as_often_as_the_world_says_and_nobody_is_reported(world):
    file = FILES.index("stale_map")
    state = scenario(world, 0, file).state
    assert state.posterior == pytest.approx(BEYOND.make(0, file * len(WORLDS)).state.posterior)
    nothing = float(state.posterior[~state.problem.failed.any(axis=1)].sum())
    odds = FALSE_ALARMS[world] * nothing / (1 - nothing)
    share = np.mean([not scenario(world, seed, file).truths[0].failed for seed in range(400)])
    assert share == pytest.approx(odds / (1 + odds), abs=0.1)


def test_who_is_given_the_right_odds_believes_what_the_world_draws_from():
    file = FILES.index("stale_map")
    for world in WORLDS:
        informed = scenario(world, 0, file).versions[RIGHT_ODDS].state
        drawn = [scenario(world, seed, file).truths[0].name for seed in range(300)]
        for name, probability in posterior(informed).items():
            assert np.mean([truth == name for truth in drawn]) == pytest.approx(probability, abs=0.1)


def test_a_person_costs_what_the_file_says_and_sets_everything_right():
    for world in WORLDS:
        one = scenario(world)
        episode = recovered(CallAPerson(), one.truths[0].enter())
        assert episode.loss == one.state.problem.escalate == 140.0
        assert not episode.verdict.success
        assert one.versions[NOBODY].state.problem.escalate is None


def test_a_person_is_called_after_a_surprise_and_not_before():
    state = scenario(FAILURES, 0, FILES.index("pouring")).state
    policy = Surprised("aquamend", 0.05)
    assert policy.next_step(state) != Escalate()
    odd = state.after(Observation("weigh_A", 1e3))
    assert surprises(odd, below=0.05)
    assert policy.next_step(odd) == Escalate()


def test_a_state_without_a_cause_still_knows_how_surprising_answers_are():
    state = scenario(UNLISTED, 0, FILES.index("pouring")).state
    assert isinstance(state, InformationState)
    assert surprises(state.after(Observation("weigh_A", 1e3)), below=0.001)


def test_files_that_are_not_there_are_said_to_be_missing(tmp_path):
    with pytest.raises(InvalidRun, match="run this suite in a checkout"):
        beyond_suite("mine", [tmp_path / "none.yaml"]).make(0, 0)
