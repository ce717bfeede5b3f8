"""The pouring suites: pure, crossed, of the right size; what policies see, spend and may not undo."""

import math
from collections import Counter
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from tests.worlds.taking import answer, judged

from aquamend.benchmarks.catalogue import SUITES, suite_named
from aquamend.benchmarks.contestants import Oracle
from aquamend.benchmarks.scenario import Scenario
from aquamend.benchmarks.t4.scenarios import (
    STRESS_FACTORS,
    TIGHT_BUDGET,
    evidence_conflict,
    irreversible,
    rank_ties,
    shared_closure,
    standard,
    stress,
)
from aquamend.benchmarks.t4.suites import OWN, POLICIES
from aquamend.decision import Continue, Escalate
from aquamend.policies import AquaMend, NoReprobe, policy_named
from aquamend.recovery import recovered
from aquamend.worlds.cups import Add, CameraFault, CupWorld, Nothing, Scene, Swap
from aquamend.worlds.cups.events import Together

MAKERS = (standard, irreversible, stress, rank_ties, evidence_conflict, shared_closure)
WHO_SENSE = ("aquamend", "lookahead-2", "decoupled", "greedy", "troubleshooting", "blind-retry")


def policy(name):
    return OWN[name]() if name in OWN else policy_named(name)


def outcome_of(name, scenario):
    truth = scenario.truths[0]
    chosen = Oracle(truth.failed) if name == "oracle" else policy(name)
    return recovered(chosen, truth.enter())


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("t4-v1", 4900),
        ("t4-irreversible-v1", 1200),
        ("t4-stress-v1", 4600),
        ("t4-ties-v1", 400),
        ("t4-conflict-v1", 400),
        ("t4-closure-v1", 400),
        ("t4-ablation-v1", 6100),
    ],
)
def test_sizes(name, size):
    suite = suite_named(name)
    assert suite.scenarios * suite.seeds == size
    assert suite.seeds == 5
    suite.check_policies(list(suite.policies))


@pytest.mark.parametrize("name", [name for name in SUITES if name.startswith("t4-")])
def test_an_episode_is_a_pure_function_of_suite_seed_and_number(name):
    make = suite_named(name).make
    said = [_said(make(seed, number)) for seed, number in ((0, 0), (0, 5), (1, 5))]
    make(3, 77)  # what else was made does not matter
    assert [_said(make(seed, number)) for seed, number in ((0, 0), (0, 5), (1, 5))] == said
    assert len({str(one) for one in said}) == 3


def _said(scenario: Scenario):
    truth, world = scenario.truths[0], scenario.truths[0].enter()
    answers = [answer(world, probe) for probe in scenario.state.legal_probes]
    return scenario.label, scenario.features, truth.name, truth.failed, scenario.state.posterior.tolist(), answers


def test_suites_share_no_episodes():
    tables = {make(0, 0).truths[0].enter().task.declared_ml for make in (standard, irreversible, stress)}
    assert len(tables) == 3


def test_stages_and_graphs_are_crossed_in_the_standard_suite():
    seen = Counter((s.features["stage"], s.features["graph"]) for s in (standard(0, i) for i in range(60)))
    assert len(seen) == 6
    assert set(seen.values()) == {10}


def test_the_irreversible_suite_is_late_on_both_graphs():
    scenarios = [irreversible(0, i) for i in range(40)]
    seen = Counter((s.features["stage"], s.features["graph"]) for s in scenarios)
    assert seen == {("late T1", "fine"): 20, ("late T1", "chain"): 20}
    assert all(s.state.problem.graph.irreversible_executed == ("pour",) for s in scenarios)


def test_stress_factors_are_crossed_with_stages_and_graphs():
    scenarios = [stress(0, i) for i in range(48)]
    seen = Counter((s.group["factor"], s.features["stage"], s.features["graph"]) for s in scenarios)
    assert len(seen) == 4 * 3 * 2
    assert set(seen.values()) == {2}
    for scenario in scenarios:
        factor, task = scenario.group["factor"], scenario.truths[0].enter().task
        assert (task.sensing_budget == TIGHT_BUDGET) == (factor in ("sensing budget", "combined"))
        assert bool(task.shared_work) == (factor in ("shared closures", "combined"))
        together = any(": " in h.name for h in scenario.state.problem.model.hypotheses)
        assert together == (factor in ("common cause", "combined"))
    assert list(STRESS_FACTORS) == list(dict.fromkeys(s.group["factor"] for s in scenarios))


def test_every_family_occurs_and_about_a_fifth_of_alarms_are_false():
    families = Counter(standard(seed, i).features["family"] for seed in range(2) for i in range(500))
    assert set(families) == {"swap", "add water", "sensor drift", "false alarm"}
    assert families["false alarm"] / 1000 == pytest.approx(0.2, abs=0.06)


def test_ground_truth_is_what_the_event_breaks():
    for make in MAKERS:
        for number in range(12):
            truth = make(0, number).truths[0]
            world = truth.enter()
            assert truth.failed == world.event.applied(Scene.as_declared(world.task.declared_ml)).failed()
            assert judged(truth.enter(), Continue()).verdict.left == truth.failed


def test_what_happened_cannot_be_reached_from_what_a_policy_sees():
    for make in MAKERS:
        scenario = make(0, 4)
        world = scenario.truths[0].enter()
        assert world.alarm().problem is scenario.state.problem
        policy = AquaMend()
        policy.next_step(scenario.state)  # whatever is kept with the state is there now
        found = [type(x) for x in _reachable(scenario.state)]
        assert not {Add, CameraFault, CupWorld, Nothing, Scene, Scenario, Swap, Together} & set(found)


def _reachable(root):
    """Return every object that attributes, items and elements lead to."""
    seen, waiting = {}, [root]
    while waiting:
        x = waiting.pop()
        if id(x) in seen or isinstance(x, str | int | float | type) or callable(x):
            continue
        seen[id(x)] = x
        if isinstance(x, dict):
            waiting += [*x.keys(), *x.values()]
        elif isinstance(x, list | tuple | set | frozenset):
            waiting += x
        if is_dataclass(x):
            waiting += [getattr(x, f.name) for f in fields(x)]
        waiting += vars(x).values() if hasattr(x, "__dict__") else ()
    return list(seen.values())


def test_the_search_for_the_truth_does_find_it_where_it_is():
    world = standard(0, 0).truths[0].enter()
    assert {type(world.event), Scene} <= {type(x) for x in _reachable(world)}


def test_what_a_policy_sees_is_the_same_whatever_happened():
    world = standard(0, 3).truths[0].enter()
    for event in world.assumed.events:
        other = replace(world, event=event).alarm()
        assert other.problem is world.alarm().problem
        assert np.array_equal(other.posterior, world.alarm().posterior)
        assert other.evidence == ()


@pytest.mark.parametrize("name", WHO_SENSE)
def test_whoever_looks_keeps_to_the_budget(name):
    looked = 0
    for number in (n for n in range(40) if stress(0, n).group["factor"] in ("sensing budget", "combined")):
        episode = outcome_of(name, stress(0, number))
        assert episode.recovery.state.spent <= TIGHT_BUDGET + 1e-9
        looked += len(episode.recovery.evidence)
    assert looked > 0


def needs_the_pour_undone(scenario):
    return "pour" in scenario.state.problem.graph.closure(scenario.truths[0].failed)


@pytest.mark.parametrize("name", POLICIES)
def test_nobody_undoes_an_irreversible_pour(name):
    for number in range(24):
        episode = outcome_of(name, irreversible(0, number))
        assert "pour" not in episode.recovery.undone
        assert math.isfinite(episode.loss)


def test_a_correction_that_needs_the_pour_undone_escalates():
    escalated = 0
    for scenario in (irreversible(0, number) for number in range(60)):
        if not needs_the_pour_undone(scenario):
            continue
        assert outcome_of("oracle", scenario).recovery.decision == Escalate()
        if scenario.features["graph"] == "fine":
            assert AquaMend().next_step(_told(scenario)) == Escalate()
            escalated += 1
    assert escalated > 5


def _told(scenario):
    """Return the state of somebody who knows what happened."""
    names = scenario.state.problem.model.hypothesis_index
    posterior = np.zeros(len(names))
    posterior[names[scenario.truths[0].name]] = 1.0
    return replace(scenario.state, posterior=posterior)


def test_looking_again_clears_a_false_alarm_after_an_irreversible_pour():
    """Who does not look hands some false alarms over, or undoes for nothing; who looks first carries on."""
    cleared = spared = 0
    for scenario in (irreversible(0, number) for number in range(120)):
        if scenario.features["family"] != "false alarm":
            continue
        looked, blind = outcome_of("aquamend", scenario), recovered(NoReprobe(), scenario.truths[0].enter())
        right = looked.verdict.success and not looked.recovery.undone and bool(looked.recovery.evidence)
        cleared += right
        spared += right and (blind.recovery.decision == Escalate() or bool(blind.recovery.undone))
    assert cleared > 10
    assert spared > 0


def test_in_the_conflict_suite_scales_say_that_nothing_happened_and_another_sense_that_it_did():
    for number in range(40):
        scenario = evidence_conflict(0, number)
        world = scenario.truths[0].enter()
        assert "target" in scenario.truths[0].failed
        assert [answer(world, f"weigh_{x}") for x in "ABC"] == ["as declared"] * 3
    honest = [evidence_conflict(0, number).truths[0].enter() for number in range(40)]
    seen = [answer(w, "look_A" if isinstance(w.event, Add) else "localise") for w in honest]
    assert sum(answer not in ("as declared", "all in place") for answer in seen) > 30


def test_in_the_tie_suite_two_cups_are_four_millilitres_apart_and_nothing_crosses_by_more_than_two():
    for number in range(20):
        world = rank_ties(0, number).truths[0].enter()
        a, b, *_ = world.task.declared_ml
        assert b - a == pytest.approx(4.0)
        scene = world.event.applied(Scene.as_declared(world.task.declared_ml))
        if isinstance(world.event, Add | CameraFault) and world.event.cups in ((0,), (1,)):
            assert scene.amount_ml[0] - scene.amount_ml[1] <= 2.0 + 1e-9


def test_in_the_closure_suite_all_corrections_share_their_dearest_operation():
    graph = shared_closure(0, 1).state.problem.graph
    amounts = [f"amount_{x}" for x in "ABC"]
    apart = sum(graph.correction_cost([name]) for name in amounts)
    assert graph.correction_cost(amounts) < 0.5 * apart


@pytest.mark.parametrize("name", ["t4-v1", "t4-irreversible-v1", "t4-stress-v1", "t4-conflict-v1"])
def test_every_policy_plays_every_suite(name):
    suite = suite_named(name)
    for number in (1, 7):
        played = suite.play(0, number, suite.policies)
        assert [record["policy"] for record in played.records] == list(suite.policies)
        for record in played.records:
            assert "error" not in record
            parts = record["sensing"] + record["rollback"] + record["continuation"] + record["residual"]
            assert record["loss"] == pytest.approx(parts)
            assert record["false_alarm"] == (not played.annotation["truths"][0]["failed"])
        assert played.annotation["truths"][0]["minimal_reprobe"] is None, "not annotated on this task"


def test_only_the_oracle_is_always_right_where_everything_can_be_undone():
    scenarios = [standard(0, number) for number in range(60, 140)]
    assert all(outcome_of("oracle", scenario).verdict.success for scenario in scenarios)
    for name in ("aquamend", "restart", "blind-retry", "rewind", "belief-replan", "tms-revision"):
        assert not all(outcome_of(name, scenario).verdict.success for scenario in scenarios)
