"""Drawing episodes of the pouring task: a table, an event, an alarm; each a pure function of suite, seed and number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend_lab.benchmarks.scenario import Scenario, Truth, stream
from aquamend_lab.pouring.discrete import (
    Assumptions,
    Event,
    Noise,
    Scene,
    Shares,
    TableWorld,
    fresh_task,
    problem_of,
)
from aquamend_lab.pouring.discrete.event_model import attribution, prior_of
from aquamend_lab.pouring.discrete.perturbations import of_size
from aquamend_lab.pouring.task import PouringTask, Stage

STARTING_OVER, BUDGET_IGNORED = "starting over is an ending", "the sensing budget is not known"
"""Versions of an episode that some policies face."""
NEXT_GAP_G = (20.0, 60.0)
OTHER_GAP_G = (15.0, 60.0)
LEAST_G = (60.0, 120.0)


@dataclass(frozen=True, slots=True)
class Setting:
    """How an episode is played, beyond its table: what the world does otherwise than the robot assumes."""

    noise: Noise = field(default_factory=Noise)
    scale_offset_g: tuple[float, ...] = ()
    shares: Shares | None = None
    """How events really share; as assumed by default."""
    event: Event | None = None
    """What happens, instead of something drawn from what is assumed."""
    answers: int | None = None
    """Number of the episode whose noise this one shares; its own by default."""
    sensing_budget: float = math.inf


def declared_amounts(rng: np.random.Generator, *, n_cups: int = 3) -> tuple[float, ...]:
    """Return declared amounts, least first: the second 20 to 60 g fuller, the others 15 to 60 g each."""
    gaps = [rng.uniform(*NEXT_GAP_G), *rng.uniform(*OTHER_GAP_G, n_cups - 2)]
    return tuple(float(x) for x in np.round(rng.uniform(*LEAST_G) + np.cumsum([0.0, *gaps]), 1))


def poured(declared_g: tuple[float, ...]) -> PouringTask:
    """Return the task of every episode: all is declared and the pour is made, so three actions are executed."""
    return replace(fresh_task(declared_g), stage=Stage.POURED)


def draw_event(
    rng: np.random.Generator, task: PouringTask, assumed: Assumptions, setting: Setting
) -> tuple[Event, int]:
    """Return what happened and which cup the alarm points at."""
    n_cups = len(task.cups)
    true = assumed if setting.shares is None else replace(assumed, shares=setting.shares)
    events, prior = (true.events, prior_of(true)) if setting.event is None else ((setting.event,), np.ones(1))
    heard = np.array([[assumed.monitor.points_at(k, event, n_cups) for k in range(n_cups)] for event in events])
    mass = (prior[:, None] * heard).ravel()
    event, cup = divmod(int(rng.choice(len(mass), p=mass / mass.sum())), n_cups)
    return events[event], cup


def episode(
    suite: str,
    seed: int,
    number: int,
    *,
    task: PouringTask,
    assumed: Assumptions,
    setting: Setting,
    rng: np.random.Generator,
    group: dict[str, Any],
) -> Scenario:
    """Return the scenario of one table after an alarm, and the versions of it that some policies face."""
    assumed = assumed.possible()
    event, flagged = draw_event(rng, task, assumed, setting)
    scene = of_size(event, rng.random()).applied(Scene.as_declared(task.declared.quantity_g))
    answers = stream(suite, seed, number if setting.answers is None else setting.answers)

    with_restart = problem_of(task, assumed, flagged, restarts=True, sensing_budget=setting.sensing_budget)

    def posed(problem: Problem) -> Scenario:
        start = InformationState.alarmed(problem)

        def enter() -> TableWorld:
            return TableWorld(
                start, task, scene, setting.noise, setting.scale_offset_g, setting.sensing_budget, answers
            )

        return Scenario(
            suite=suite,
            seed=seed,
            number=number,
            state=start,
            truths=(
                Truth(
                    event.name,
                    scene.failed(task),
                    attribution(task, event, scene),
                    enter,
                    values=task.values(scene.true(task)),
                ),
            ),
            group=group,
            features={
                "event": event.name,
                "family": str(event.family),
                "graph": "chain" if task.linear_chain else "fine",
                "cups": len(task.cups),
                "budget": setting.sensing_budget,
            },
            budget=setting.sensing_budget,
        )

    usual = replace(with_restart, restart=None)
    versions = {STARTING_OVER: posed(with_restart)}
    if math.isfinite(setting.sensing_budget):
        versions[BUDGET_IGNORED] = posed(replace(usual, sensing_budget=math.inf))
    return replace(posed(usual), versions=versions)
