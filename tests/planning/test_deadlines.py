"""Work ends when its time is up, whatever it is about to do; no test measures time.

The clock here goes on by one second whenever it is read. Whatever takes long reads it every few milliseconds, so a
deadline of some seconds is some readings, and soon after them all work has to end.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pytest

from aquamend import InformationState, deadline
from aquamend.deadline import OutOfTime, check_deadline, ends_at, seconds_left
from aquamend.errors import TooLarge
from aquamend.files import parse_problem
from aquamend.planning.limits import Limits
from aquamend.planning.search import search
from aquamend.policies import AquaMend, Best, Certified, Exact, NoReprobe, evaluate
from aquamend.policies.evaluation import sampled_value
from tests.reference.generator import random_problem, valued_problem
from tests.tiers import cases

A_FEW = 40
"""Readings after the deadline: by those who tell how long something took, and in a grace of some."""


class Readings:
    """A clock that counts how often it is read."""

    def __init__(self) -> None:
        self.ticks = itertools.count()
        self.last = 0

    def __call__(self) -> float:
        self.last = next(self.ticks)
        return float(self.last)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readings]:
    counting = Readings()
    monkeypatch.setattr(deadline, "clock", counting)
    return counting


def state_of(seed: int, *, gaussian: bool) -> InformationState:
    make = random_problem if seed % 2 else valued_problem
    return InformationState.alarmed(parse_problem(make(random.Random(seed), gaussian=gaussian)))


def given_up(work: Callable[[], object]) -> None:
    """Do what may be given up."""
    with suppress(TooLarge):
        work()


WORK: dict[str, Callable[[InformationState, float], object]] = {
    "search": lambda state, s: search(state, Limits(gap=0.0, deadline_s=s)),
    "best": lambda state, s: Best(deadline_s=s).next_step(state),
    "exact": lambda state, s: Exact(gap=0.0, deadline_s=s).next_step(state),
    "sample": lambda state, s: given_up(lambda: sampled_value(AquaMend(), state, seconds=s)),
    "sample certified": lambda state, s: given_up(lambda: sampled_value(Certified(gap=0.0), state, seconds=s)),
}
EVALUATED: dict[str, Callable[[], object]] = {"one step": AquaMend, "best": Best, "certified": Certified}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("work", WORK)
def test_work_ends_soon_after_its_deadline(clock: Readings, work: str, *, gaussian: bool) -> None:
    for seed in range(cases(6, 120)):
        state = state_of(seed, gaussian=gaussian)
        began, seconds = clock.last, 5.0 + 10.0 * (seed % 7)
        WORK[work](state, seconds)
        assert clock.last - began <= seconds + A_FEW, seed


@pytest.mark.parametrize("policy", EVALUATED)
def test_an_evaluation_ends_soon_after_its_deadline(clock: Readings, policy: str) -> None:
    stopped = 0
    for seed in range(cases(10, 200)):
        state = state_of(seed, gaussian=False)
        began, seconds = clock.last, 5.0 + 10.0 * (seed % 7)
        try:
            evaluate(EVALUATED[policy](), state, deadline_s=seconds)
        except TooLarge as error:
            stopped += "not finished" in str(error)
        assert clock.last - began <= seconds + A_FEW, seed
    assert stopped


def test_what_is_reached_by_a_deadline_is_true(clock: Readings) -> None:
    """Bounds at a deadline hold the optimum between them, wherever it fell."""
    for seed in range(cases(10, 200)):
        state, whole = (state_of(seed, gaussian=False) for _ in range(2))
        optimum = search(whole, Limits(gap=0.0)).bounds
        found = search(state, Limits(gap=0.0, deadline_s=float(1 + seed % 40))).bounds
        slack = 1e-7 * (1.0 + abs(optimum.upper)) if math.isfinite(optimum.upper) else 0.0
        assert found.lower <= optimum.upper + slack, seed
        assert found.upper >= optimum.lower - slack, seed


def test_a_search_without_any_time_says_what_stopping_costs(clock: Readings) -> None:
    state = state_of(1, gaussian=True)
    plan = search(state, Limits(deadline_s=0.0))
    assert plan.probe is None
    assert plan.bounds.lower == 0.0
    assert plan.bounds.upper == evaluate(NoReprobe(), state_of(1, gaussian=True)).expected_loss


def test_the_sooner_of_two_deadlines_counts(clock: Readings) -> None:
    with ends_at(100.0):
        with ends_at(1000.0):
            assert seconds_left() <= 100.0
        with ends_at(20.0):
            assert seconds_left() <= 20.0
        assert 20.0 < seconds_left() < 100.0
    assert seconds_left() == math.inf


def test_a_search_leaves_somebody_elses_deadline_to_them(clock: Readings) -> None:
    with pytest.raises(OutOfTime), ends_at(3.0):
        search(state_of(1, gaussian=True), Limits(gap=0.0))


def test_without_a_deadline_nothing_asks_for_the_time(clock: Readings) -> None:
    before = clock.last
    for _ in range(1000):
        check_deadline()
    assert clock.last == before


def test_running_out_of_time_leaves_nothing_half_finished_behind(clock: Readings) -> None:
    for seed in range(cases(5, 50)):
        state, fresh = (state_of(seed, gaussian=True) for _ in range(2))
        Best(deadline_s=float(seed + 1)).next_step(state)
        search(state, Limits(deadline_s=float(seed + 1)))
        assert AquaMend().next_step(state) == AquaMend().next_step(fresh)
        assert np.array_equal(state.posterior, fresh.posterior)
