"""Episodes of the discrete pouring task: a table, an event, an alarm; each a pure function of suite, seed and number.

First how one is drawn, then those of the paper's tables, then those varied on purpose: noise, stakes, a wrong prior, a
worse monitor, more cups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend_lab.benchmarks.scenario import Scenario, Truth, generator, stream
from aquamend_lab.pouring.discrete import (
    Add,
    Assumptions,
    Event,
    Noise,
    Nothing,
    Scene,
    Shares,
    TableWorld,
    fresh_task,
    problem_of,
)
from aquamend_lab.pouring.discrete.cup_table import DiscreteMonitor, attribution, prior_of
from aquamend_lab.pouring.discrete.perturbations import common_cause_events, of_size, standard_events
from aquamend_lab.pouring.task import PouringTask, Residuals, Stage

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

    budget = setting.sensing_budget
    with_restart = problem_of(task, assumed, flagged, restarts=True, sensing_budget=budget)

    def posed(problem: Problem) -> Scenario:
        start = InformationState.alarmed(problem)

        def enter() -> TableWorld:
            return TableWorld(start, task, scene, setting.noise, setting.scale_offset_g, budget, answers)

        cause, values = attribution(task, event, scene), task.values(scene.true(task))
        truth = Truth(event.name, scene.failed(task), cause, enter, values=values)
        features = {
            "event": event.name,
            "family": str(event.family),
            "graph": "chain" if task.linear_chain else "fine",
            "cups": len(task.cups),
            "budget": budget,
        }
        return Scenario(suite, seed, number, start, (truth,), group=group, features=features, budget=budget)

    usual = replace(with_restart, restart=None)
    versions = {STARTING_OVER: posed(with_restart)}
    if math.isfinite(budget):
        versions[BUDGET_IGNORED] = posed(replace(usual, sensing_budget=math.inf))
    return replace(posed(usual), versions=versions)


STRESS_FACTORS = ("common cause", "shared closures", "sensing budget", "combined")
STRESS_CUPS = (3, 5, 6)
SHARED_WORK = 4.0
SENSING_SHARE = 2 / 3
"""How many of the stress episodes have a sensing error among what happens."""


def standard(seed: int, number: int) -> Scenario:
    """Return one reversible episode; fine and chain graphs take turns."""
    return _standard("t4-v3", seed, number)


def irreversible(seed: int, number: int) -> Scenario:
    """Return one episode after a pour that cannot be taken back."""
    return _standard("t4-irreversible-v3", seed, number, pour_reversible=False)


def _standard(suite: str, seed: int, number: int, *, pour_reversible: bool = True) -> Scenario:
    rng = generator(suite, seed, number)
    task = replace(poured(declared_amounts(rng)), linear_chain=bool(number % 2), pour_reversible=pour_reversible)
    assumed = Assumptions(standard_events(task.declared.quantity_g))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def tight_budget(task: PouringTask) -> float:
    """Return the tight sensing budget: what reading one cup by both instruments costs."""
    return task.prices.look + task.prices.weigh


def stress(seed: int, number: int) -> Scenario:
    """Return one stress episode: one of the three factors, or all of them; there are no false alarms."""
    suite = "t4-stress-v3"
    rng = generator(suite, seed, number)
    factor = STRESS_FACTORS[number % 4]
    everything = factor == "combined"
    task = replace(
        poured(declared_amounts(rng, n_cups=STRESS_CUPS[number // 4 % 3])),
        linear_chain=bool(number // 12 % 2),
        shared_work=SHARED_WORK if everything or factor == "shared closures" else 0.0,
    )
    declared, physical = task.declared.quantity_g, 1 - SENSING_SHARE
    if everything or factor == "common cause":
        shares = Shares(0.0, 0.0, 0.0, 0.0, common_cause=physical, common_cause_with_camera=SENSING_SHARE)
        assumed = Assumptions(common_cause_events(declared), shares)
    else:
        shares = Shares(swap=physical / 2, add=physical / 2, drift=SENSING_SHARE, false_alarm=0.0)
        assumed = Assumptions(standard_events(declared), shares)
    limited = everything or factor == "sensing budget"
    setting = Setting(sensing_budget=tight_budget(task)) if limited else Setting()
    return episode(suite, seed, number, task=task, assumed=assumed, setting=setting, rng=rng, group={"factor": factor})


def rank_ties(seed: int, number: int) -> Scenario:
    """Return one episode with two cups 4 g apart: what crosses the boundary hides in the noise."""
    suite = "t4-ties-v3"
    rng = generator(suite, seed, number)
    first, _, *rest = declared_amounts(rng)
    task = poured((first, round(first + 4.0, 1), *rest))
    events = standard_events(task.declared.quantity_g, margin_g=2.0)
    assumed = Assumptions(events, Shares(swap=0.0, add=0.6, drift=0.4, false_alarm=0.0))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def evidence_conflict(seed: int, number: int) -> Scenario:
    """Return one episode in which a scale hides added water, or shows some that is not there.

    No hypothesis knows of a scale that is wrong.
    """
    suite = "t4-conflict-v3"
    rng = generator(suite, seed, number)
    task = poured(declared_amounts(rng))
    events = standard_events(task.declared.quantity_g)
    across = max(e.amount_g for e in events if isinstance(e, Add) and e.cup == 0)
    happened, offset = (Add(0, across), -across) if number % 2 else (Nothing(), across)
    setting = Setting(scale_offset_g=(offset, 0.0, 0.0), event=happened)
    return episode(suite, seed, number, task=task, assumed=Assumptions(events), setting=setting, rng=rng, group={})


def shared_closure(seed: int, number: int) -> Scenario:
    """Return one episode in which undoing anything takes the same costly work, so that all corrections go together."""
    suite = "t4-closure-v3"
    rng = generator(suite, seed, number)
    task = replace(poured(declared_amounts(rng)), shared_work=5 * SHARED_WORK)
    declared = task.declared.quantity_g
    shares = Shares(0.2, 0.2, 0.15, 0.15, common_cause=0.15, common_cause_with_camera=0.15)
    assumed = Assumptions((*standard_events(declared), *common_cause_events(declared)), shares)
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


@dataclass(frozen=True, slots=True)
class Variation:
    """What is different: in the task, in the world, and in what the robot assumes of it."""

    name: str
    n_cups: int = 3
    linear_chain: bool | None = None
    residual_scale: float = 1.0
    noise: Noise = field(default_factory=Noise)
    """How readings scatter in the world."""
    known_noise: bool = True
    """Whether the robot knows it."""
    monitor: DiscreteMonitor = field(default_factory=DiscreteMonitor)
    shares: Shares = field(default_factory=Shares)
    """How events share in the world."""
    assumed_shares: Shares | None = None
    """What the robot takes them to be; the truth by default."""


def varied(suite: str, seed: int, base: int, number: int, variation: Variation, *, irreversible: bool) -> Scenario:
    """Return one episode under a variation.

    The same base episode has the same table, event and noise in each, unless the number of cups or the alarms vary:
    then something else may happen.
    """
    rng = generator(suite, seed, base)
    task = replace(
        poured(declared_amounts(rng, n_cups=variation.n_cups)),
        pour_reversible=not irreversible,
        linear_chain=bool(base % 2) if variation.linear_chain is None else variation.linear_chain,
        residuals=Residuals().scaled(variation.residual_scale),
    )
    noise = variation.noise if variation.known_noise else Noise()
    shares, events = variation.assumed_shares or variation.shares, standard_events(task.declared.quantity_g)
    assumed = Assumptions(events, shares, noise, variation.monitor)
    setting = Setting(noise=variation.noise, shares=variation.shares, answers=base)
    group = {"setting": variation.name}
    return episode(suite, seed, number, task=task, assumed=assumed, setting=setting, rng=rng, group=group)


def louder(factor: float) -> Noise:
    """Return all noise multiplied; errors of the two camera routines no further than one in two."""
    plain = Noise()
    return Noise(
        plain.look_g * factor,
        plain.weigh_g * factor,
        min(0.5, plain.localise_error * factor),
        min(0.5, plain.check_error * factor),
    )


SETTINGS = (
    Variation("standard"),
    Variation("fine graph", linear_chain=False),
    Variation("chain graph", linear_chain=True),
    Variation("noisy probes", noise=louder(4.0)),
    Variation("noisy probes, unknown", noise=louder(4.0), known_noise=False),
    Variation("residuals halved", residual_scale=0.5),
    Variation("residuals doubled", residual_scale=2.0),
)

_GOOD = Shares(swap=0.36, add=0.36, drift=0.22, false_alarm=0.06)
_POOR = Shares(swap=0.2, add=0.2, drift=0.1, false_alarm=0.5)

SWEEP = (
    *(Variation(f"{n} cups", n_cups=n) for n in range(3, 9)),
    *(Variation(f"noise × {factor:g}", noise=louder(factor)) for factor in (0.5, 2.0, 4.0, 8.0)),
    Variation("good alarm", monitor=DiscreteMonitor(points_right=0.95), shares=_GOOD),
    Variation("poor alarm", monitor=DiscreteMonitor(points_right=0.4), shares=_POOR),
    Variation("prior: four times the false alarms", assumed_shares=Shares(false_alarm=0.8)),
    Variation("prior: a quarter of the false alarms", assumed_shares=Shares(false_alarm=0.05)),
    Variation("prior: no camera faults to speak of", assumed_shares=Shares(drift=0.01)),
)


def settings(seed: int, number: int) -> Scenario:
    """Return one episode of the settings suite: every base episode under every setting."""
    base, which = divmod(number, len(SETTINGS))
    return varied("t4-settings-v3", seed, base, number, SETTINGS[which], irreversible=base % 61 >= 49)


def sweep(seed: int, number: int) -> Scenario:
    """Return one episode of the sweep: every base episode under every variation."""
    base, which = divmod(number, len(SWEEP))
    return varied("t4-sweep-v3", seed, base, number, SWEEP[which], irreversible=False)


def ablation(seed: int, number: int) -> Scenario:
    """Return one episode of the ablation set: reversible and irreversible ones as 4,900 to 1,200."""
    plain = varied("t4-ablation-v3", seed, number, number, SETTINGS[0], irreversible=number % 61 >= 49)
    return replace(plain, group={})
