"""The default policy: never above one step ahead, optimal where the problem is small, one plan for each alarm."""

import itertools
import math
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.reference.brute_force import Reference
from tests.reference.generator import extra_problem, random_problem, valued_problem
from tests.tiers import cases

from aquamend import (
    Action,
    Belief,
    Discrete,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
    Reprobe,
    load_problem,
)
from aquamend.files import parse_problem
from aquamend.planning.kept_plan import WORK, KeptPlan, planned
from aquamend.planning.limits import Limits
from aquamend.policies import DEFAULT, AquaMend, Best, Exact, Policy, evaluate, policy_named
from aquamend.policies.evaluation import paired_difference, sampled_value
from aquamend.recovery import Session

LITTLE = (0.0, 1e6, 1e7)
"""Work with which no table is made: at the alarm alone, for a search of one round, and for some."""


def problem_of(seed: int) -> Problem:
    """Return a random problem: plain ones, ones with values and support, and ones with all that a file may say."""
    rng = random.Random(seed)
    data = (random_problem, valued_problem, extra_problem)[seed % 3](rng)
    if seed % 4 == 0:  # then plans may be made at any state
        for probe in data["probes"]:
            probe["max_uses"] = 1
    return parse_problem(data)


def losses_of(policies: list[Policy], seed: int) -> list[float]:
    """Return what each policy costs in a problem."""
    return [evaluate(policy, problem_of(seed)).expected_loss for policy in policies]


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aquamend.planning.kept_plan.cell_work", lambda endings, n_probes: math.inf)


def test_it_is_the_default() -> None:
    assert policy_named(DEFAULT) == Best()


@pytest.mark.parametrize("part", range(cases(2, 8)))
def test_it_costs_no_more_than_one_step_ahead_and_is_optimal_where_the_problem_is_small(part: int) -> None:
    improved = 0
    for seed in range(1000 * part, 1000 * part + cases(150, 250)):
        one_step, best, optimal = losses_of([AquaMend(), Best(), Exact()], seed)
        assert best <= one_step + 1e-7 * (1.0 + abs(one_step)), seed
        assert best == pytest.approx(optimal, rel=1e-7, abs=1e-7), seed
        improved += best < one_step - 1e-6
    assert improved


def test_it_costs_what_brute_force_finds_to_be_the_optimum() -> None:
    for seed in range(cases(40, 400)):
        rng = random.Random(seed)
        data = random_problem(rng, max_total_uses=4) if seed % 2 else valued_problem(rng, max_total_uses=4)
        loss, optimum = evaluate(Best(), parse_problem(data)).expected_loss, Reference(data).optimum()
        assert loss == pytest.approx(optimum, rel=1e-7, abs=1e-7), seed


@pytest.mark.parametrize("work", LITTLE)
@pytest.mark.usefixtures("no_tables")
def test_it_costs_no_more_than_one_step_ahead_however_little_it_may_work(work: float) -> None:
    improved = 0
    for seed in range(cases(600, 2500)):
        one_step, best = losses_of([AquaMend(), Best(work)], seed)
        assert best <= one_step + 1e-7 * (1.0 + abs(one_step)), seed
        improved += best < one_step - 1e-6
    assert improved or not work


@pytest.mark.usefixtures("no_tables")
def test_following_it_costs_at_most_its_upper_bound_and_at_least_its_lower_one() -> None:
    for seed in range(cases(60, 600)):
        state = InformationState.alarmed(problem_of(seed))
        policy = Best(LITTLE[seed % 3])
        loss, bounds = evaluate(policy, state).expected_loss, policy.bounds(state)
        slack = 1e-7 * (1.0 + loss) if math.isfinite(loss) else 0.0
        assert bounds.lower - slack <= loss <= bounds.upper + slack, seed


@pytest.mark.usefixtures("no_tables")
def test_it_costs_no_more_from_any_state_on_that_answers_asked_in_any_order_led_to() -> None:
    for seed in range(0, cases(240, 2400), 4):  # with single uses, a plan is made at every state that no plan knows
        state, rng = InformationState.alarmed(problem_of(seed)), np.random.default_rng(seed)
        while state.legal and rng.random() < 0.7:
            view = state.legal[int(rng.integers(len(state.legal)))]
            state = state.after(Observation(view.name, view.channel.sample(_possible(state, rng), rng)))
        one_step = evaluate(AquaMend(), state).expected_loss
        best = evaluate(Best(LITTLE[seed // 4 % 3]), state).expected_loss
        assert best <= one_step + 1e-7 * (1.0 + abs(one_step)), seed


def _possible(state: InformationState, rng: np.random.Generator) -> int:
    return int(rng.choice(len(state.posterior), p=state.posterior))


@pytest.mark.parametrize("seed", range(cases(6, 40)))
def test_with_readings_it_costs_no_more_than_one_step_ahead_up_to_what_sampling_shows(seed: int) -> None:
    data = (random_problem, valued_problem)[seed % 2](random.Random(seed), gaussian=True)
    state = InformationState.alarmed(parse_problem(data))
    best, one_step = (sampled_value(policy, state, episodes=cases(150, 800)) for policy in (Best(), AquaMend()))
    difference, half_width = paired_difference(best, one_step)
    assert difference <= 2.0 * half_width + 1e-6


def two_looks(*, reads_numbers: bool = False) -> InformationState:
    """Two parts of a code, each as likely as not: to know both is worth everything, to know one nothing."""
    names = ["00", "01", "10", "11"]
    answer = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    kernels = {
        f"read {k}": Gaussian(np.column_stack([10.0 * answer[k], np.ones(4)]))
        if reads_numbers
        else Discrete(["0", "1"], np.eye(2)[answer[k]])
        for k in range(2)
    }
    graph = RecoveryGraph(
        beliefs=[Belief("code", residual=30.0)],
        actions=[Action("open", undo=14.0, executed=True)],
        probes=[Probe(f"read {k}", cost=1.0) for k in range(2)],
        edges=[("code", "open", "belief_to_action"), *((f"read {k}", "code", "detection") for k in range(2))],
    )
    odd = [Hypothesis(name, 0.25, ("code",) if name in ("01", "10") else ()) for name in names]
    return InformationState.alarmed(Problem(graph, JointModel(odd, kernels)))


@pytest.mark.parametrize("reads_numbers", [False, True])
def test_it_looks_twice_where_one_look_tells_nothing_and_says_why(reads_numbers: bool) -> None:
    state, policy = two_looks(reads_numbers=reads_numbers), Best()
    assert not isinstance(AquaMend().next_step(state), Reprobe)
    assert policy.next_step(state) == Reprobe("read 0")
    assert policy.note(state) == "Two looks together pay; one alone does not."
    after = state.after(Observation("read 0", 0.3 if reads_numbers else "0"))
    assert policy.next_step(after) == Reprobe("read 1")
    assert policy.bounds(state).upper == pytest.approx(9.0, abs=1e-3)


def test_it_says_which_probe_seemed_best_one_step_ahead(examples: Callable[[str], InformationState]) -> None:
    note = Best().note(examples("pipettor.yaml"))
    assert note == (
        "Looking one probe ahead, dye_camera seems best; with what is asked after it, weigh_plate is better."
    )


def test_it_says_nothing_where_it_takes_the_step_that_is_best_one_step_ahead(
    examples: Callable[[str], InformationState],
) -> None:
    assert Best().note(examples("structured.yaml")) == ""


@pytest.fixture
def examples() -> Callable[[str], InformationState]:
    folder = Path(__file__).parents[2] / "examples"
    return lambda name: InformationState.alarmed(load_problem(folder / name))


def tiger(listens: float = 40) -> Problem:
    """Two doors, a tiger behind one: listening costs 1 and is right with 85 %; the wrong door costs 110 more."""
    hear = Discrete(["left", "right"], np.array([[0.85, 0.15], [0.15, 0.85]]))
    graph = RecoveryGraph(
        beliefs=[Belief("left is safe", residual=110.0, declared="safe")],
        probes=[Probe("listen", cost=1.0, max_uses=listens)],
        edges=[("listen", "left is safe", "detection")],
    )
    model = JointModel(
        [Hypothesis("right", 0.5), Hypothesis("left", 0.5, truth={"left is safe": "tiger"})], {"listen": hear}
    )
    return Problem(graph, model)


def test_tiger_is_played_optimally() -> None:
    assert evaluate(Best(), tiger()).expected_loss == pytest.approx(4.8401, abs=5e-5)
    assert evaluate(AquaMend(), tiger()).expected_loss == pytest.approx(17.5, abs=5e-5)


def test_tiger_is_played_as_well_with_listens_without_end() -> None:
    assert evaluate(Best(), tiger(math.inf)).expected_loss == pytest.approx(4.8401, abs=5e-4)


def test_the_same_state_has_the_same_step_whatever_was_asked_before() -> None:
    """A state that was written and read again has no plan kept with it."""
    for seed in range(cases(20, 200)):
        policy, state = Best(LITTLE[2]), InformationState.alarmed(problem_of(seed))
        while isinstance(step := policy.next_step(state), Reprobe):
            copied = pickle.loads(pickle.dumps(state))
            assert policy.next_step(copied) == step
            assert policy.next_step(InformationState.from_data(state.problem, state.to_data())) == step
            channel = state.probe(step.probe).channel
            state = state.after(
                Observation(step.probe, channel.sample(int(state.posterior.argmax()), np.random.default_rng(seed)))
            )
            if state.contradiction is not None:
                break


def test_an_answer_that_came_by_itself_starts_a_plan_of_its_own() -> None:
    state = two_looks()
    heard = state.after(Observation("read 1", "1", unasked=True))
    assert Best().next_step(heard) == Reprobe("read 0")


def test_no_plan_is_made_among_answers_that_were_there_before_a_policy_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned_at = list[int]()

    def listening(state: InformationState, limits: Limits, *, stops: bool, work: float) -> KeptPlan | None:
        planned_at.append(len(state.evidence))
        return planned(state, limits, stops=stops, work=work)

    monkeypatch.setattr("aquamend.policies.best.planned", listening)
    before = two_looks(reads_numbers=True).after(Observation("read 1", 0.3))
    begun = before.deciding_from_here()
    written = InformationState.from_data(begun.problem, begun.to_data())
    for state, places in ((before, [0, 1]), (pickle.loads(pickle.dumps(begun)), [1]), (written, [1])):
        planned_at.clear()
        assert Best().next_step(state) == Reprobe("read 0")
        assert planned_at == places


def test_a_recovery_begins_its_plans_where_it_begins() -> None:
    state = two_looks().after(Observation("read 1", "1"))
    assert Session.begin(state).recovery.state.decided_from == 1


def test_a_deadline_of_nothing_leaves_one_step_ahead_and_says_so() -> None:
    state = InformationState.alarmed(replace(tiger(math.inf), restart=200.0))
    policy = Best(deadline_s=0.0)
    assert policy.next_step(state) == AquaMend().next_step(state)
    assert policy.note(state) == "The search for a plan was cut short."


def test_its_work_is_counted_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With clocks that go a thousand times as fast, the plan is the same."""
    state = InformationState.alarmed(tiger(math.inf))
    usual = Best().bounds(state)
    ticks = itertools.count(0, 1000.0)
    monkeypatch.setattr("aquamend.deadline.clock", lambda: next(ticks))
    assert Best().bounds(InformationState.alarmed(tiger(math.inf))) == usual
    assert Best().work == WORK


def test_a_contradicted_model_is_not_searched() -> None:
    state = two_looks().after(Observation("read 0", "0")).contradicted_by(Observation("read 1", "?"))
    assert Best().next_step(state) == AquaMend().next_step(state)
