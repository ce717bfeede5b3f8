"""The public model of the task: every event as a hypothesis, what would be true, and how probes and alarm answer.

An event whose size nobody knows is one hypothesis for each step of it. What it changes and how readings follow is
worked out from the scene it leaves, by the same rules as in the world. Nothing is written down twice, so the model is
right unless it is told wrong numbers on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aquamend.inference import InformationState, Observation
from aquamend.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend.problem import Plan, Problem
from aquamend.worlds.pouring.discrete.events import Event, Family, cause_of, involves_camera, steps_of
from aquamend.worlds.pouring.discrete.monitor import Monitor
from aquamend.worlds.pouring.discrete.scene import Scene
from aquamend.worlds.pouring.discrete.sensing import Noise, arrangements, outcomes, probabilities
from aquamend.worlds.pouring.task import (
    CUPS,
    LOCALISE,
    RESTART,
    SAFE_STOP,
    SURVEY,
    TARGET,
    PouringTask,
    binding,
    quantity,
)


@dataclass(frozen=True, slots=True)
class Shares:
    """How the families share the alarms; equal within a family."""

    swap: float = 0.3
    add: float = 0.3
    drift: float = 0.2
    false_alarm: float = 0.2
    common_cause: float = 0.0
    """Several things at once, the camera not among them."""
    common_cause_with_camera: float = 0.0

    def of(self, event: Event) -> float:
        """Return the share of an event's family."""
        match event.family:
            case Family.SWAP:
                return self.swap
            case Family.ADD:
                return self.add
            case Family.DRIFT:
                return self.drift
            case Family.FALSE_ALARM:
                return self.false_alarm
            case Family.COMMON_CAUSE:
                return self.common_cause_with_camera if involves_camera(event) else self.common_cause


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the robot takes for granted about its world; a world may differ."""

    events: tuple[Event, ...]
    shares: Shares = field(default_factory=Shares)
    noise: Noise = field(default_factory=Noise)
    monitor: Monitor = field(default_factory=Monitor)

    def possible(self) -> Assumptions:
        """Return the same without the events that never happen."""
        return replace(self, events=tuple(event for event in self.events if self.shares.of(event) > 0.0))


def prior_of(assumed: Assumptions) -> np.ndarray:
    """Return the share of every event: its family's, equally within the family."""
    kinds = [(event.family, involves_camera(event)) for event in assumed.events]
    prior = np.array([assumed.shares.of(e) / kinds.count(k) for e, k in zip(assumed.events, kinds, strict=True)])
    return np.asarray(prior / prior.sum())


def alarmed(problem: Problem, located: str) -> InformationState:
    """Return what is known after an alarm: where the cups stand was looked at as a part of it."""
    return InformationState.alarmed(problem).after(Observation(LOCALISE, located))


def within_budget(problem: Problem, sensing_budget: float) -> Problem:
    """Return the problem with a budget for what is measured beyond the localisation that belongs to the alarm."""
    localise = problem.graph.probes[problem.graph.probe_index[LOCALISE]]
    return replace(problem, sensing_budget=sensing_budget + localise.cost)


def problem_of(task: PouringTask, assumed: Assumptions, flagged: int, located: str) -> Problem:
    """Return the recovery problem after an alarm that points at a cup; cups are weighed where they were located."""
    before = Scene.as_declared(task.declared.quantity_g)
    n, seen = len(task.cups), arrangements(len(task.cups))[located]
    declared = task.values(task.declared)
    hypotheses, scenes, heard = [], [], {}
    for event, share in zip(assumed.events, prior_of(assumed).tolist(), strict=True):
        steps = steps_of(event)
        for step in steps:
            scene = step.applied(before)
            true = task.values(scene.true(task))
            changed = {belief: value for belief, value in true.items() if value != declared[belief]}
            cause, part_of = attribution(task, event, scene), event.name if len(steps) > 1 else ""
            hypotheses.append(Hypothesis(step.name, share / len(steps), (), cause, changed, part_of))
            scenes.append(scene)
            heard[step.name] = assumed.monitor.points_at(flagged, event, n)
    kernels = {
        name: Discrete(outcomes(m, n), np.array([probabilities(m, scene, seen, assumed.noise) for scene in scenes]))
        for name, m in task.measurements.items()
    }
    if task.camera_was_sound:
        kernels[SURVEY] = Discrete(("as declared",), np.ones((len(scenes), 1)))
    suspects = [quantity(CUPS[flagged]), binding(CUPS[flagged]), TARGET]
    return Problem(
        task.graph(),
        JointModel(hypotheses, kernels, Alarm(heard, suspects), task.declarations()),
        restart=Plan(RESTART, restart_losses(task, scenes), undo=task.stage.executed),
        plans=(Plan(SAFE_STOP, safe_stop_losses(task, scenes), last_resort=True),),
        name="pour into the least full cup",
    )


def attribution(task: PouringTask, event: Event, scene: Scene) -> Cause:
    """Return what an alarm is rightly attributed to: to nothing, where nothing that matters has failed."""
    return cause_of(event) if scene.failed(task) else Cause.FALSE_ALARM


def restart_losses(task: PouringTask, scenes: Sequence[Scene]) -> np.ndarray:
    """Return what starting over loses in every scene: its cost, and what the same camera leaves wrong."""
    cost = task.restart_cost
    return np.array([cost + task.left_wrong(scene.failed_after_restart(task)) for scene in scenes])


def safe_stop_losses(task: PouringTask, scenes: Sequence[Scene]) -> np.ndarray:
    """Return what stopping safely loses in every scene: the pitcher put down, and all that is wrong left wrong."""
    return np.array([task.safe_stop_cost + task.left_wrong(scene.failed(task)) for scene in scenes])
