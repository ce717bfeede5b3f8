"""The public model of the task: every event as a hypothesis, what it breaks, and how probes and alarm answer to it.

What an event breaks and how readings change is worked out from the scene it leaves, by the same rules as in the world.
Nothing is written down twice, so the model is right unless it is told wrong numbers on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from aquamend.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend.problem import Plan, Problem
from aquamend.worlds.cups.events import Event, Family, cause_of
from aquamend.worlds.cups.monitor import Monitor
from aquamend.worlds.cups.scene import CUPS, Scene
from aquamend.worlds.cups.sensing import Noise, outcomes, probabilities
from aquamend.worlds.cups.task import CupTask


@dataclass(frozen=True, slots=True)
class Shares:
    """How the families share the events, before the monitor has its say; equal within a family."""

    swap: float = 0.2
    add: float = 0.2
    drift: float = 0.2
    false_alarm: float = 0.8
    common_cause: float = 0.0

    def of(self, family: Family) -> float:
        """Return a family's share."""
        return {
            Family.SWAP: self.swap,
            Family.ADD: self.add,
            Family.DRIFT: self.drift,
            Family.FALSE_ALARM: self.false_alarm,
            Family.COMMON_CAUSE: self.common_cause,
        }[family]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the robot takes for granted about its world; a world may differ."""

    events: tuple[Event, ...]
    shares: Shares = field(default_factory=Shares)
    noise: Noise = field(default_factory=Noise)
    monitor: Monitor = field(default_factory=Monitor)


@lru_cache(maxsize=256)
def problem_of(task: CupTask, assumed: Assumptions, flagged: int) -> Problem:
    """Return the recovery problem after an alarm that points at a cup; compiled once for all episodes alike."""
    graph = task.graph()
    before = Scene.as_declared(task.declared_ml)
    scenes = [event.applied(before) for event in assumed.events]
    prior = prior_of(assumed)
    hypotheses = [
        Hypothesis(event.name, float(p), scene.failed(), attribution(event, scene))
        for event, p, scene in zip(assumed.events, prior, scenes, strict=True)
    ]
    kernels = {
        probe.name: Discrete(
            outcomes(probe.name, task.n_cups),
            np.array([probabilities(probe.name, scene, assumed.noise) for scene in scenes]),
        )
        for probe in graph.probes
    }
    heard = {event.name: likelihood(event, flagged, task.n_cups, assumed.monitor) for event in assumed.events}
    suspects = [f"amount_{CUPS[flagged]}", f"place_{CUPS[flagged]}", "target"]
    return Problem(
        graph,
        JointModel(hypotheses, kernels, Alarm(heard, suspects)),
        sensing_budget=task.sensing_budget,
        escalate=task.costs.escalate,
        restart=Plan("restart", restart_losses(task, scenes), undo=task.arm_actions_done),
        name="pour into the least full cup",
    )


def attribution(event: Event, scene: Scene) -> Cause:
    """Return what an alarm is rightly attributed to: to nothing, where nothing that matters has failed."""
    return cause_of(event) if scene.failed() else Cause.FALSE_ALARM


def prior_of(assumed: Assumptions) -> np.ndarray:
    """Return the prior of every event: its family's share, equally within the family."""
    counts = {family: sum(e.family is family for e in assumed.events) for family in Family}
    prior = np.array([assumed.shares.of(e.family) / counts[e.family] for e in assumed.events])
    return np.asarray(prior / prior.sum())


def likelihood(event: Event, flagged: int, n_cups: int, monitor: Monitor) -> float:
    """Return how likely an event raises an alarm that points at this cup."""
    return monitor.raises(event) * monitor.points_at(flagged, event, n_cups)


def restart_losses(task: CupTask, scenes: Sequence[Scene]) -> np.ndarray:
    """Return what starting over costs in every scene: everything undone, all looked at again by the same camera."""
    graph = task.graph()
    cost = graph.rollback_cost(task.arm_actions_done) + task.n_cups * task.costs.look
    residual = {belief.name: belief.residual for belief in graph.beliefs}
    return np.array([cost + math.fsum(residual[name] for name in scene.failed_after_restart()) for scene in scenes])
