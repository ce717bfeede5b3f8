"""The table of cups as the robot models it, as it really is, and what simple robots do about it.

The public model has every event as a hypothesis, what would be true, and how probes and monitor answer. An event whose
size nobody knows is one hypothesis for each step of it. What it changes and how readings follow is worked out from the
scene it leaves, by the same rules as in the world. Nothing is written down twice, so the model is right unless it is
given wrong numbers on purpose.

The world knows what happened, answers probes from it, and judges what is declared.

The simple recoveries (the paper's baselines) retry, replan or revise, without the joint posterior. They see the
information state like every policy; what sets them apart is what they ask a world to do. One of them revises beliefs by
a justification-based truth-maintenance system (Doyle 1979).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import permutations
from typing import ClassVar

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.steps import Continue, Reprobe, RollBack, Step
from aquamend.policies import Description
from aquamend.policies.baselines import undoing
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend.recovery import (
    Act,
    Charge,
    Declare,
    Ending,
    Follow,
    Measure,
    Receipt,
    Recovery,
    Verdict,
    check_known,
    residuals,
)
from aquamend_lab.pouring.discrete.perturbations import (
    Event,
    EventFamily,
    cause_of,
    involves_camera,
    with_sizes_as_steps,
)
from aquamend_lab.pouring.discrete.physical_state import Noise, Scene, answer_probabilities, outcomes, read
from aquamend_lab.pouring.task import (
    CUPS,
    LOCALISE,
    POUR,
    RESTART,
    SAFE_STOP,
    TARGET,
    PouringTask,
    binding,
    cups_of,
    look,
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
    graph, failed = task.graph(), [scene.failed(task) for scene in scenes]
    # Handing over what nobody could correct is not charged, as in the paper's irreversible episodes.
    stopped = [0.0 if beyond_recovery(graph, names) else task.left_wrong(names) for names in failed]
    cost = task.restart_cost  # beside it, what the same camera leaves wrong
    again = np.array([cost + task.left_wrong(scene.left_by_restart(task)) for scene in scenes])
    return Problem(
        graph,
        JointModel(hypotheses, kernels, Alarm(heard, suspects), task.declarations()),
        restart=Plan(RESTART, again, undo=task.stage.executed) if restarts else None,
        plans=(Plan(SAFE_STOP, np.array(stopped), last_resort=True),),
        sensing_budget=sensing_budget,
        name="pour into the least full cup",
    )


def attribution(task: PouringTask, event: Event, scene: Scene) -> Cause:
    """Return what an alarm is rightly attributed to: to nothing, where nothing that matters has failed."""
    return cause_of(event) if scene.failed(task) else Cause.FALSE_ALARM


def beyond_recovery(graph: RecoveryGraph, failed: Sequence[str]) -> bool:
    """Return whether correcting these beliefs would take undoing what cannot be undone."""
    stuck = graph.irreversible_executed
    return bool(stuck) and not set(stuck).isdisjoint(graph.closure(failed))


def revisions(cups: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Return the plans of logical revision: what was measured of the first cup is retracted, the second is aimed at."""
    return {(cup, target): f"revise {cup}, target {target}" for cup, target in permutations(cups, 2)}


@dataclass(eq=False)
class TableWorld:
    """One episode: something has happened, and the monitor has pointed at a cup."""

    start: InformationState
    """Public evidence at the alarm."""
    task: PouringTask
    scene: Scene
    """What is so. For the world alone."""
    noise: Noise = field(default_factory=Noise)
    """How readings really scatter."""
    scale_offset_g: tuple[float, ...] = ()
    """What the scales read too much, place by place: a fault that no hypothesis knows of."""
    sensing_budget: float = math.inf
    """Who spends more on what is measured after the alarm, gets nothing for it: the episode is void."""
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._said = self.task.values(self.task.declared)
        self._spent = 0.0

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Measure) -> Receipt:
        """Take a reading of what is there, with noise."""
        probe = self.start.probe(step.probe)
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        rng = np.random.default_rng((*self.seed, probe.index, use))
        measurement = self.task.measurements[step.probe]
        self._spent += probe.cost
        return step.done(read(measurement, self.scene, self.noise, rng, self.scale_offset_g))

    def perform(self, act: Act) -> Receipt:
        """Do one thing at its price; what nobody has cannot be done."""
        if isinstance(act, Follow):
            return self._followed(act, act.plan)
        check_known(self.start.problem, act)
        if isinstance(act, Declare) and act.value is not None:
            self._said[act.belief] = act.value
        return act.done()

    def _followed(self, act: Follow, plan: str) -> Receipt:
        aims = {name: target for (_, target), name in revisions(self.task.cups).items()}
        if plan not in aims:
            check_known(self.start.problem, act)
        if plan == RESTART:
            if self.start.problem.restart_plan is None:
                return act.failed("the pour cannot be undone", cost=0.0)
            self._said = self.task.values(self.scene.after_restart(self.task))
            return act.done(parts=tuple(self._restarting()))
        if plan != SAFE_STOP and POUR not in self.task.stage.executed:  # a pour that was made stays where it was made
            self._said[TARGET] = aims[plan]
        return act.done(parts=(Receipt(Charge.CONTINUATION, plan, 0.0),))  # nothing is undone, and nothing corrected

    def _restarting(self) -> Iterator[Receipt]:
        """Yield what starting over takes: all that the arm did is undone, and every cup looked at again."""
        graph = self.start.problem.graph
        for charge in dict.fromkeys(c for paid in graph.action_charges for c in paid):
            kind = Charge.ROLLBACK if charge < graph.n_operations else Charge.CONTINUATION
            yield Receipt(kind, f"undo: {graph.charges[charge].name}", graph.charges[charge].cost)
        for cup in self.task.cups:
            yield Receipt(Charge.SENSING, look(cup), self.task.prices.look)

    def judge(self, recovery: Recovery) -> Verdict:
        """Say what of the failures at the alarm is still wrong; of a void episode nothing counts."""
        void = self._spent > self.sensing_budget + 1e-9
        said = self.task.values(self.task.declared) if void else self._said
        left = self.scene.left_wrong(self.task, said)
        stopped = recovery.followed == SAFE_STOP
        right = not left and recovery.ending is Ending.FINISHED and not stopped and not void
        failed = self.scene.failed(self.task)
        unpriced = stopped and not void and beyond_recovery(self.start.problem.graph, failed)
        costs = () if unpriced else residuals(self.start.problem, left)
        return Verdict(left, costs, success=right and math.isfinite(recovery.cost), over_budget=void)


@dataclass(frozen=True, slots=True)
class BlindRetry:
    """Look at the target and at where the cups stand once more, then go on as before whatever they answered."""

    description: ClassVar[Description] = Description(
        "Blind retry",
        "Look once more, then go on as before whatever was seen.",
        "#b8860b",
        "v",
        "the paper's Blind retry",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the next of the two looks, then carry on."""
        again = [o.probe for o in state.evidence]
        left = [name for name in (look("A"), LOCALISE) if name in state.legal_probes and name not in again]
        return Reprobe(left[0]) if left else Continue()


@dataclass(frozen=True, slots=True)
class BeliefReplan:
    """Take the likeliest set of failures for true and plan again from there, without looking.

    What rests on it is undone and done again. Nothing was measured, so nothing is corrected, and what had failed fails
    again.
    """

    description: ClassVar[Description] = Description(
        "Belief-space replan",
        "Take the likeliest set of failures for true, undo what rests on it and go on.",
        "#56a0d3",
        "D",
        "the paper's Belief-space replan",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the undoing of all below what has most likely failed; what breaks the same counts together."""
        sets, which = np.unique(state.problem.failed, axis=0, return_inverse=True)
        likeliest = sets[int(np.bincount(which.ravel(), state.posterior).argmax())]
        graph = state.problem.graph
        failed = [b.name for b, wrong in zip(graph.beliefs, likeliest, strict=True) if wrong]
        return undoing(state, failed)


@dataclass(frozen=True, slots=True)
class TmsRevision:
    """Retract what was measured of the suspected cup, and re-derive the target from what still has support."""

    description: ClassVar[Description] = Description(
        "TMS revision",
        "Retract the suspected amount and derive the target from what still has support.",
        "#3d7a5c",
        "s",
        "Doyle, Artificial Intelligence 12(3), 1979",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the logical revision: the cup no longer believed in, and the target that then follows."""
        cups = cups_of(state.problem.graph)
        flagged = next((cup for cup in cups if quantity(cup) in state.triggers), cups[0])
        believed = justifications(cups).without([f"measured {flagged}"]).believed()
        target = next(cup for cup in cups if f"target {cup}" in believed)
        return RollBack((quantity(flagged),), plan=revisions(cups)[flagged, target])


@lru_cache(maxsize=16)
def justifications(cups: tuple[str, ...]) -> TruthMaintenance:
    """Return why the robot believes what it does: amounts by measuring, ranks by amounts, the target by ranks.

    A cup is the target if it comes before every other one whose amount is believed at all.
    """
    rules = [Justification(f"amount {x}", (f"measured {x}",)) for x in cups]
    rules += [
        Justification(f"{x} before {y}", (f"amount {x}", f"amount {y}")) for x, y in itertools.combinations(cups, 2)
    ]
    for x in cups:
        others = [y for y in cups if y != x]
        for n in range(len(others) + 1):
            for unknown in itertools.combinations(others, n):
                before = tuple(f"{x} before {y}" for y in others if y not in unknown)
                reasons = (f"amount {x}", *before)
                rules.append(Justification(f"target {x}", reasons, tuple(f"amount {y}" for y in unknown)))
    return TruthMaintenance(frozenset(f"measured {x}" for x in cups), tuple(rules))


@dataclass(frozen=True, slots=True)
class Justification:
    """A conclusion holds if all its reasons are believed and nothing it is to hold without is (a support list)."""

    conclusion: str
    reasons: tuple[str, ...]
    unless: tuple[str, ...] = ()
    """May only name what follows by rules without exceptions of their own."""


@dataclass(frozen=True, slots=True)
class TruthMaintenance:
    """Premises that are taken for granted until retracted, and what follows from them."""

    premises: frozenset[str]
    justifications: tuple[Justification, ...]

    def without(self, premises: Iterable[str]) -> TruthMaintenance:
        """Return the network with these premises retracted."""
        return TruthMaintenance(self.premises - frozenset(premises), self.justifications)

    def believed(self) -> frozenset[str]:
        """Return all that has support: the premises, what follows from them, and what holds as others do not."""
        certain = self._closed(self.premises, [rule for rule in self.justifications if not rule.unless])
        usable = [rule for rule in self.justifications if certain.isdisjoint(rule.unless)]
        return self._closed(certain, usable)

    @staticmethod
    def _closed(held: frozenset[str], rules: Iterable[Justification]) -> frozenset[str]:
        while new := {rule.conclusion for rule in rules if held.issuperset(rule.reasons)} - held:
            held |= new
        return held
