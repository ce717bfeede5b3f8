"""The pouring suites: pure, crossed, of the right size; what policies see, spend and may not undo."""

import math
from collections import Counter
from dataclasses import fields, is_dataclass
from functools import cache

import pytest
from tests.tiers import cases

from aquamend.decision import Continue
from aquamend.policies import AquaMend, policy_named
from aquamend.problem.model import Cause
from aquamend.recovery import Measure, recovered
from aquamend_lab.benchmarks import t4_episodes as made
from aquamend_lab.benchmarks.catalogue import SUITES, suite_named
from aquamend_lab.benchmarks.play import Oracle
from aquamend_lab.benchmarks.scenario import Scenario
from aquamend_lab.benchmarks.t4_episodes import (
    BUDGET_IGNORED,
    STARTING_OVER,
    STRESS_FACTORS,
    evidence_conflict,
    rank_ties,
    shared_closure,
    tight_budget,
)
from aquamend_lab.benchmarks.t4_suites import BUDGET_IGNORING, FACES, OWN, POLICIES
from aquamend_lab.pouring.discrete import Add, CameraFault, Nothing, Scene, Swap, TableWorld, Together
from aquamend_lab.pouring.discrete.perturbations import EventFamily
from aquamend_lab.pouring.task import SAFE_STOP

standard, irreversible, stress = map(cache, (made.standard, made.irreversible, made.stress))
"""Scenarios are values, so what several tests look at is made once."""
MAKERS = (standard, irreversible, stress, rank_ties, evidence_conflict, shared_closure)


def outcome_of(name, scenario):
    posed = scenario.versions.get(FACES.get(name, ""), scenario)
    truth = posed.truths[0]
    own = OWN[name]() if name in OWN else None
    oracle = Oracle(truth.failed, truth.values) if name == "oracle" else None
    return recovered(oracle or own or policy_named(name), truth.enter())


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("t4-v3", 4900),
        ("t4-irreversible-v3", 1200),
        ("t4-stress-v3", 4600),
        ("t4-ties-v3", 400),
        ("t4-conflict-v3", 400),
        ("t4-closure-v3", 400),
        ("t4-ablation-v3", 6100),
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
    answers = [world.measure(Measure(probe)).finding for probe in scenario.state.legal_probes]
    return scenario.label, scenario.features, truth.name, truth.failed, scenario.state.posterior.tolist(), answers


def test_suites_share_no_episodes():
    tables = {make(0, 0).truths[0].enter().task.declared for make in (standard, irreversible, stress)}
    assert len(tables) == 3


def test_both_graphs_are_played_after_three_executed_actions():
    for make, reversible in ((standard, True), (irreversible, False)):
        scenarios = [make(0, i) for i in range(20)]
        assert Counter(s.features["graph"] for s in scenarios) == {"fine": 10, "chain": 10}
        for scenario in scenarios:
            graph = scenario.state.problem.graph
            assert [action.name for action in graph.executed] == ["lift", "move", "pour"]
            assert graph.irreversible_executed == (() if reversible else ("pour",))


def test_stress_factors_are_crossed_with_cups_and_graphs():
    scenarios = [stress(0, i) for i in range(24)]
    seen = Counter((s.group["factor"], s.features["cups"], s.features["graph"]) for s in scenarios)
    assert len(seen) == 4 * 3 * 2
    for scenario in scenarios:
        factor, task = scenario.group["factor"], scenario.truths[0].enter().task
        limited = factor in ("sensing budget", "combined")
        assert scenario.budget == scenario.state.problem.sensing_budget == (tight_budget(task) if limited else math.inf)
        assert (BUDGET_IGNORED in scenario.versions) == limited
        assert bool(task.shared_work) == (factor in ("shared closures", "combined"))
        together = all(": " in h.name for h in scenario.state.problem.model.hypotheses)
        assert together == (factor in ("common cause", "combined"))
    assert list(STRESS_FACTORS) == list(dict.fromkeys(s.group["factor"] for s in scenarios))


def test_starting_over_is_an_ending_for_the_policy_restart_alone():
    scenario = standard(0, 0)
    assert scenario.state.problem.restart_plan is None
    assert scenario.versions[STARTING_OVER].state.problem.restart_plan is not None
    assert [name for name, version in FACES.items() if version == STARTING_OVER] == ["restart"]


def test_a_fifth_of_the_standard_alarms_are_false_and_a_fifth_are_drift():
    families = Counter(standard(0, i).features["family"] for i in range(150))
    assert set(families) == {"swap", "add water", "sensor drift", "false alarm"}
    for family in ("false alarm", "sensor drift"):
        assert families[family] / 150 == pytest.approx(0.2, abs=0.07)


def test_under_stress_nothing_is_a_false_alarm_and_two_thirds_have_a_sensing_error():
    failed = [stress(1, i).truths[0].failed for i in range(96)]
    assert all(failed)
    assert sum("camera" in names for names in failed) / 96 == pytest.approx(2 / 3, abs=0.1)


def test_ground_truth_is_what_the_event_breaks():
    for make in MAKERS:
        for number in range(8):
            truth = make(0, number).truths[0]
            world = truth.enter()
            assert truth.failed == world.scene.failed(world.task)
            assert recovered(_GoOn(), truth.enter()).verdict.left == truth.failed


class _GoOn:
    def next_step(self, state):
        return Continue()


def test_what_happened_cannot_be_reached_from_what_a_policy_sees():
    for make in MAKERS:
        scenario = make(0, 4)
        world = scenario.truths[0].enter()
        assert world.alarm() is scenario.state
        AquaMend().next_step(scenario.state)  # whatever is kept with the state is there now
        found = {type(x) for x in _reachable(scenario.state)}
        assert not {Add, CameraFault, TableWorld, Nothing, Scene, Scenario, Swap, Together} & found


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
    assert Scene in {type(x) for x in _reachable(standard(0, 0).truths[0].enter())}


LIMITED = tuple(n for n in range(24) if n % 4 in (2, 3))
"""Stress episodes with a sensing budget."""


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("restart", "blind-retry", "lookahead-2")])
def test_everybody_is_told_the_budget_and_keeps_to_it(name):
    looked = 0
    for number in LIMITED[: cases(4, 12)]:
        scenario = stress(0, number)
        episode = outcome_of(name, scenario)
        assert not episode.verdict.over_budget
        assert episode.recovery.state.spent <= scenario.budget + 1e-9
        looked += len(episode.recovery.evidence)
    assert looked > 0 or name in ("oracle", "veritrace", "belief-replan", "tms-revision", "rollback-only", "no-reprobe")


@pytest.mark.slow
@pytest.mark.parametrize("row", ["greedy-no-budget", "aquamend-two-step-no-budget"])
def test_who_is_not_told_the_budget_may_go_over_it_and_gets_nothing_for_it(row):
    over = 0
    for number in LIMITED:
        scenario = stress(0, number)
        episode = outcome_of(row, scenario)
        spent = episode.recovery.state.spent
        assert episode.verdict.over_budget == (spent > scenario.budget + 1e-9)
        if episode.verdict.over_budget:
            over += 1
            assert not episode.verdict.success
            assert episode.verdict.left == scenario.truths[0].failed
    assert over >= 2


def test_rows_that_ignore_the_budget_are_the_policies_they_are_named_after_under_another_title():
    assert set(BUDGET_IGNORING) <= set(suite_named("t4-stress-v3").policies)
    for row, name in BUDGET_IGNORING.items():
        theirs, ours = OWN[row](), policy_named(name)
        assert theirs.description.title == f"{ours.description.title}, budget ignored"
        state = stress(0, 2).versions[BUDGET_IGNORED].state
        assert theirs.next_step(state) == ours.next_step(state)


@pytest.mark.parametrize("name", POLICIES)
def test_nobody_undoes_an_irreversible_pour(name):
    for number in range(4 if name == "lookahead-2" else 12):  # which takes a second for each
        episode = outcome_of(name, irreversible(0, number))
        assert "pour" not in episode.recovery.undone
        assert math.isfinite(episode.loss)


def test_a_correction_that_needs_the_pour_undone_is_handed_over():
    stopped = 0
    for scenario in (irreversible(0, number) for number in range(40)):
        graph = scenario.state.problem.graph
        if "pour" in graph.closure(scenario.truths[0].failed):
            stopped += 1
            assert outcome_of("oracle", scenario).recovery.followed == SAFE_STOP
            assert AquaMend().next_step(_heard(scenario)).plan == SAFE_STOP
    assert stopped > 5


def _heard(scenario):
    """Return the state of somebody who knows what happened."""
    truth = scenario.truths[0]
    return Oracle(truth.failed, truth.values).informed(scenario.state)


def test_in_the_conflict_suite_a_scale_hides_water_or_shows_some_that_is_not_there():
    answers = {EventFamily.ADD: [], EventFamily.FALSE_ALARM: []}
    for number in range(24):
        scenario = evidence_conflict(0, number)
        world = scenario.truths[0].enter()
        said = tuple(_grams(world.measure(Measure(probe)).finding) for probe in ("weigh_A", "look_A"))
        answers[EventFamily(scenario.features["family"])].append(said)
    hidden, invented = answers[EventFamily.ADD], answers[EventFamily.FALSE_ALARM]
    assert all(abs(weighed) <= 6.0 for weighed, _ in hidden)
    assert sum(looked > 12.0 for _, looked in hidden) > 8
    assert all(weighed > 12.0 for weighed, _ in invented)
    assert sum(abs(looked) <= 8.0 for _, looked in invented) > 8


def _grams(heard):
    """Return how much more than declared a reading says there is."""
    return 0.0 if heard == "as declared" else float(heard.split()[0])


def test_in_the_tie_suite_two_cups_are_four_grams_apart_and_nothing_crosses_by_more_than_four():
    for number in range(20):
        world = rank_ties(0, number).truths[0].enter()
        a, b, *_ = world.task.declared.quantity_g
        assert b - a == pytest.approx(4.0)
        assert world.scene.amount_g[0] - world.scene.amount_g[1] <= 4.0 + 1e-9


def test_in_the_closure_suite_undoing_anything_takes_the_same_dear_work():
    graph = shared_closure(0, 2).state.problem.graph
    apart = sum(graph.rollback_cost([name]) for name in ("lift", "move"))
    assert graph.rollback_cost(["lift", "move"]) < 0.6 * apart


@pytest.mark.parametrize("name", ["t4-v3", "t4-irreversible-v3", "t4-stress-v3", "t4-conflict-v3"])
def test_every_policy_plays_every_suite(name):
    suite = suite_named(name)
    for number in (1, 6):
        played = suite.play(0, number, suite.policies)
        assert [record["policy"] for record in played.records] == list(suite.policies)
        for record in played.records:
            assert "error" not in record
            parts = record["sensing"] + record["rollback"] + record["continuation"] + record["residual"]
            assert record["loss"] == pytest.approx(parts)
            assert record["false_alarm"] == (not played.annotation["truths"][0]["failed"])
        assert played.annotation["truths"][0]["minimal_reprobe"] is None, "not annotated on this task"


def test_records_count_what_was_measured_since_the_alarm_and_say_what_was_answered():
    suite = suite_named("t4-v3")
    for number in range(4):
        records = {r["policy"]: r for r in suite.play(0, number, ("restart", "blind-retry", "no-reprobe")).records}
        assert (records["restart"]["probes"], records["no-reprobe"]["probes"]) == (3.0, 0.0)
        assert [text.split(":")[0] for text in records["blind-retry"]["steps"]] == ["look_A", "localise", "continue"]


def test_only_the_oracle_is_always_right_where_everything_can_be_undone():
    scenarios = [standard(0, number) for number in range(60, 100)]
    assert all(outcome_of("oracle", scenario).verdict.success for scenario in scenarios)
    assert not all(outcome_of("restart", scenario).verdict.success for scenario in scenarios)


def test_the_oracle_declares_the_nearest_value_there_is_and_not_the_first_within_tolerance():
    for seed, number in ((2, 19), (3, 31), (2, 40), (0, 19), (3, 39)):
        assert outcome_of("oracle", stress(seed, number)).verdict.success


@pytest.mark.parametrize("name", ["veritrace", "belief-replan", "tms-revision", "no-reprobe", "rollback-only"])
def test_whoever_does_not_measure_succeeds_on_false_alarms_and_nowhere_else(name):
    for scenario in (standard(0, number) for number in range(cases(20, 60))):
        failed = scenario.truths[0].failed
        assert outcome_of(name, scenario).verdict.success == (not failed)


def test_whoever_looks_in_two_steps_recovers_almost_always():
    done = [outcome_of("aquamend-two-step", standard(0, number)).verdict.success for number in range(cases(40, 120))]
    assert sum(done) >= 0.95 * len(done)


def test_one_observation_at_most_is_one():
    for number in range(20):
        assert len(outcome_of("troubleshooting-1", standard(0, number)).recovery.evidence) <= 1


def test_whoever_restarts_fails_where_the_camera_is_wrong_and_only_there():
    for scenario in (standard(0, number) for number in range(60)):
        episode = outcome_of("restart", scenario)
        assert episode.verdict.success == (scenario.truths[0].cause is not Cause.SELF_ERROR)
        assert set(episode.recovery.undone) == {"lift", "move", "pour"}
