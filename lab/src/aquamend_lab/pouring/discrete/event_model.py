"""The public model of the task: every event as a hypothesis, what would be true, and how probes and monitor answer.

An event whose size nobody knows is one hypothesis for each step of it. What it changes and how readings follow is
worked out from the scene it leaves, by the same rules as in the world. Nothing is written down twice, so the model is
right unless it is given wrong numbers on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aquamend.problem import Plan, Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend_lab.pouring.discrete.perturbations import (
    Event,
    EventFamily,
    cause_of,
    involves_camera,
    with_sizes_as_steps,
)
from aquamend_lab.pouring.discrete.physical_state import Noise, Scene, answer_probabilities, outcomes
from aquamend_lab.pouring.task import (
    CUPS,
    RESTART,
    SAFE_STOP,
    TARGET,
    PouringTask,
    binding,
    quantity,
)


@dataclass(frozen=True, slots=True)
class DiscreteMonitor:
    """How well an alarm points at where something happened. Only what raises an alarm ever becomes an episode."""

    points_right: float = 0.8
    """Where certain cups are concerned, the alarm points at one of them; at any cup alike otherwise."""

    def points_at(self, cup: int, event: Event, n_cups: int) -> float:
        """Return how likely an alarm raised by the event points at a cup."""
        if not event.cups:
            return 1.0 / n_cups
        own = 1.0 / len(event.cups) if cup in event.cups else 0.0
        return self.points_right * own + (1.0 - self.points_right) / n_cups


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
            case EventFamily.SWAP:
                return self.swap
            case EventFamily.ADD:
                return self.add
            case EventFamily.DRIFT:
                return self.drift
            case EventFamily.FALSE_ALARM:
                return self.false_alarm
            case EventFamily.COMMON_CAUSE:
                return self.common_cause_with_camera if involves_camera(event) else self.common_cause


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the robot takes for granted about its world; a world may differ."""

    events: tuple[Event, ...]
    shares: Shares = field(default_factory=Shares)
    noise: Noise = field(default_factory=Noise)
    monitor: DiscreteMonitor = field(default_factory=DiscreteMonitor)

    def possible(self) -> Assumptions:
        """Return the same without the events that never happen."""
        return replace(self, events=tuple(event for event in self.events if self.shares.of(event) > 0.0))


def prior_of(assumed: Assumptions) -> np.ndarray:
    """Return the share of every event: its family's, equally within the family."""
    kinds = [(event.family, involves_camera(event)) for event in assumed.events]
    prior = np.array([assumed.shares.of(e) / kinds.count(k) for e, k in zip(assumed.events, kinds, strict=True)])
    return np.asarray(prior / prior.sum())


def problem_of(
    task: PouringTask, assumed: Assumptions, flagged: int, *, restarts: bool = False, sensing_budget: float = math.inf
) -> Problem:
    """Return the recovery problem of an alarm that points at a cup; starting over is an ending where it is said so."""
    before = Scene.as_declared(task.declared.quantity_g)
    n = len(task.cups)
    declared = task.values(task.declared)
    hypotheses, scenes, heard = [], [], {}
    for event, share in zip(assumed.events, prior_of(assumed).tolist(), strict=True):
        steps = with_sizes_as_steps(event)
        for step in steps:
            scene = step.applied(before)
            true = task.values(scene.true(task))
            changed = {belief: value for belief, value in true.items() if value != declared[belief]}
            cause, part_of = attribution(task, event, scene), event.name if len(steps) > 1 else ""
            hypotheses.append(Hypothesis(step.name, share / len(steps), (), cause, changed, part_of))
            scenes.append(scene)
            heard[step.name] = assumed.monitor.points_at(flagged, event, n)
    kernels = {
        name: Discrete(outcomes(m, n), np.array([answer_probabilities(m, scene, assumed.noise) for scene in scenes]))
        for name, m in task.measurements.items()
    }
    suspects = [quantity(CUPS[flagged]), binding(CUPS[flagged]), TARGET]
    return Problem(
        task.graph(),
        JointModel(hypotheses, kernels, Alarm(heard, suspects), task.declarations()),
        restart=Plan(RESTART, restart_losses(task, scenes), undo=task.stage.executed) if restarts else None,
        plans=(Plan(SAFE_STOP, safe_stop_losses(task, scenes), last_resort=True),),
        sensing_budget=sensing_budget,
        name="pour into the least full cup",
    )


def attribution(task: PouringTask, event: Event, scene: Scene) -> Cause:
    """Return what an alarm is rightly attributed to: to nothing, where nothing that matters has failed."""
    return cause_of(event) if scene.failed(task) else Cause.FALSE_ALARM


def restart_losses(task: PouringTask, scenes: Sequence[Scene]) -> np.ndarray:
    """Return what starting over loses in every scene: its cost, and what the same camera leaves wrong."""
    cost = task.restart_cost
    return np.array([cost + task.left_wrong(scene.left_by_restart(task)) for scene in scenes])


def safe_stop_losses(task: PouringTask, scenes: Sequence[Scene]) -> np.ndarray:
    """Return what stopping safely loses in every scene: all that is wrong, unless undoing it is impossible.

    Handing over what nobody could correct is not charged, as in the paper's irreversible episodes.
    """
    graph, failed = task.graph(), [scene.failed(task) for scene in scenes]
    return np.array([0.0 if beyond_recovery(graph, names) else task.left_wrong(names) for names in failed])


def beyond_recovery(graph: RecoveryGraph, failed: Sequence[str]) -> bool:
    """Return whether correcting these beliefs would take undoing what cannot be undone."""
    stuck = graph.irreversible_executed
    return bool(stuck) and not set(stuck).isdisjoint(graph.closure(failed))
