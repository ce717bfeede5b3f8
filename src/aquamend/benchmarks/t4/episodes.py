"""Drawing episodes of the pouring task: a table, an event, an alarm; each a pure function of suite, seed and number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.benchmarks.random_source import stream
from aquamend.benchmarks.scenario import Scenario, Truth
from aquamend.inference import InformationState
from aquamend.worlds.cups import CupTask, CupWorld, Event, Scene
from aquamend.worlds.cups.model import Assumptions, Shares, attribution, likelihood, prior_of, problem_of
from aquamend.worlds.cups.sensing import Noise

NEXT_GAP_ML = (20.0, 60.0)
OTHER_GAP_ML = (15.0, 60.0)
LEAST_ML = (60.0, 120.0)


@dataclass(frozen=True, slots=True)
class Setting:
    """How an episode is played, beyond its table: what the world does otherwise than the robot assumes."""

    noise: Noise = field(default_factory=Noise)
    scale_offset_ml: tuple[float, ...] = ()
    shares: Shares | None = None
    """How events really share; as assumed by default."""
    events: tuple[Event, ...] = ()
    """What happens, all equally likely, instead of what is assumed to."""
    answers: int | None = None
    """Number of the episode whose noise this one shares; its own by default."""


def table_of(rng: np.random.Generator, *, n_cups: int = 3) -> tuple[float, ...]:
    """Return declared amounts, least first: the second 20 to 60 ml fuller, the others 15 to 60 ml each."""
    gaps = [rng.uniform(*NEXT_GAP_ML), *rng.uniform(*OTHER_GAP_ML, n_cups - 2)]
    return tuple(float(x) for x in np.round(rng.uniform(*LEAST_ML) + np.cumsum([0.0, *gaps]), 1))


def draw_event(rng: np.random.Generator, task: CupTask, assumed: Assumptions, setting: Setting) -> tuple[Event, int]:
    """Return what happened and which cup the alarm points at, given that an alarm was raised."""
    events = setting.events or assumed.events
    true = assumed if setting.shares is None else replace(assumed, shares=setting.shares)
    prior = np.full(len(events), 1 / len(events)) if setting.events else prior_of(true)
    heard = np.array([[likelihood(e, k, task.n_cups, assumed.monitor) for k in range(task.n_cups)] for e in events])
    mass = (prior[:, None] * heard).ravel()
    event, cup = divmod(int(rng.choice(len(mass), p=mass / mass.sum())), task.n_cups)
    return events[event], cup


def episode(
    suite: str,
    seed: int,
    number: int,
    *,
    task: CupTask,
    assumed: Assumptions,
    setting: Setting,
    rng: np.random.Generator,
    group: dict[str, Any],
) -> Scenario:
    """Return the scenario of one table, after an alarm."""
    event, flagged = draw_event(rng, task, assumed, setting)
    scene = event.applied(Scene.as_declared(task.declared_ml))
    answers = stream(suite, seed, number if setting.answers is None else setting.answers)

    def enter() -> CupWorld:
        return CupWorld(task, event, flagged, assumed, setting.noise, setting.scale_offset_ml, answers)

    return Scenario(
        suite=suite,
        seed=seed,
        number=number,
        state=InformationState.alarmed(problem_of(task, assumed, flagged)),
        truths=(Truth(event.name, scene.failed(), attribution(event, scene), enter),),
        group=group,
        features={
            "event": event.name,
            "family": str(event.family),
            "stage": str(task.stage),
            "graph": "chain" if task.linear_chain else "fine",
            "cups": task.n_cups,
            "budget": task.sensing_budget,
        },
    )
