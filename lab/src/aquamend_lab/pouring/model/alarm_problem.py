"""The public model of an alarm: 72 configurations, what each breaks and shows, and what every way out costs.

Where water was added, a configuration is one hypothesis for each amount that the cup may hold. Last the five settings
of the paper's sensitivity study (Q1), which distort the posterior of any alarm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product

import numpy as np

from aquamend.belief import Observation
from aquamend.belief.state import InformationState, normalised
from aquamend.problem import Plan, Problem
from aquamend.problem.building import CauseState, RootCause, generated
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model import (
    Alarm,
    Cause,
    Coverage,
    Discrete,
    FitGroup,
    Hypothesis,
    JointModel,
    Kernel,
    Mixture,
)
from aquamend.problem.model.spreads import differs
from aquamend.text import named as in_words
from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    AS_BELIEVED,
    CONFIGURATIONS,
    ROLES,
    CameraState,
    Configuration,
    CupsByRole,
    Happening,
    Scales,
    Supposed,
    camera_kind,
    share_of_change,
    share_of_fault,
)
from aquamend_lab.pouring.model.fitted import Fitted, alarm_likelihood
from aquamend_lab.pouring.task import (
    CAMERA,
    CHECK_CAMERA,
    FAULTY,
    IN_PLACE,
    LIFT,
    LOCALISE,
    MOVE,
    OF_A_CUP,
    PLACE,
    POUR,
    RESTART,
    ROUTINE,
    SAFE_STOP,
    SCALES,
    SOUND,
    TARGET,
    CupValues,
    Instruments,
    Measurement,
    PouringTask,
    Prices,
    Report,
    Sense,
    Stage,
    arrangements,
    binding,
    look,
    quantity,
)

CHANGE, FAULT = "change", "camera fault"
"""The causes of trouble beside a scale that is off; each may be present in one of several ways."""
OUTLIERS = 1e-3
"""Share of readings that are taken for glitches, so that one that fits nothing does not decide everything."""
PROBE_S = 0.2
"""What the robot expects a measurement to take; the paper's unit probe."""


@dataclass(frozen=True, slots=True)
class AtAlarm:
    """What else is public when an alarm comes, beside what was declared and done."""

    stage: Stage = Stage.DECIDED
    report: Report = ROUTINE
    """What the monitor said."""
    located: str = IN_PLACE
    """What the localisation said that belongs to every alarm."""
    scale_at: Mapping[str, bool] = field(default_factory=dict)
    """By cup, whether the place that it was declared to stand on has a scale; True where not said."""
    poured_g: float = 0.0
    """What the robot has read to have poured."""
    offset_mm: Mapping[str, float] = field(default_factory=dict)
    """By cup, how far from the middle of its place it was found when it was declared to be there."""
    looked: Mapping[str, float] = field(default_factory=dict)
    """By cup, what the look that belongs to the alarm read, less what the robot has poured; empty where it saw none."""

    @property
    def measured(self) -> tuple[Observation, ...]:
        """What was measured for the alarm itself, before any policy was asked."""
        return Observation(LOCALISE, self.located), *(Observation(look(cup), g) for cup, g in self.looked.items())


def prices(fitted: Fitted) -> Prices:
    """Return what measuring, undoing and doing again takes, in simulated seconds."""
    s = fitted.seconds
    return Prices(
        look=PROBE_S,
        weigh=PROBE_S,
        localise=PROBE_S,
        check_camera=PROBE_S,
        undo={LIFT: s("put back"), MOVE: s("draw back"), POUR: s("pour back"), PLACE: s("fetch")},
        redo={LIFT: s("fetch"), MOVE: s("move"), POUR: s("pour"), PLACE: s("put back")},
        put_down=s("put back"),
    )


def task_of(declared: CupValues, heard: AtAlarm, fitted: Fitted, *, linear_chain: bool = False) -> PouringTask:
    """Return the task as it stands: what can be weighed in place follows from where the cups were located."""
    cups = PouringTask(declared).cups
    pair = arrangements(cups)[heard.located]
    at = {cup: cup for cup in cups} | ({} if pair is None else {pair[0]: pair[1], pair[1]: pair[0]})
    weighable = tuple(cup for cup in cups if heard.scale_at.get(at[cup], True))
    return PouringTask(
        declared,
        heard.stage,
        linear_chain=linear_chain,
        instruments=Instruments(weighable, scales_may_be_off=True),
        prices=prices(fitted),
    )


@dataclass(frozen=True, eq=False)
class AlarmModel:
    """The recovery problem after an alarm, from public things only.

    Its losses are what comes on top of finishing the task, which is due after every decision but a safe stop.
    """

    declared: CupValues
    heard: AtAlarm
    fitted: Fitted
    restarts: bool = False
    """Whether starting over is a way to end; it is for who does nothing else."""
    linear_chain: bool = False
    """Whether the graph knows only the order of things, as that of the task does."""

    def __post_init__(self) -> None:
        task = task_of(self.declared, self.heard, self.fitted, linear_chain=self.linear_chain)
        order = self.declared.by_amount()
        pair = arrangements(task.cups)[self.heard.located]
        located = list(AS_BELIEVED)
        if pair is not None:
            one, other = (order.index(cup) for cup in pair)
            located[one], located[other] = other, one
        amounts = dict(zip(task.cups, self.declared.quantity_g, strict=True))
        table = CupsByRole(
            tuple(amounts[cup] for cup in order),
            tuple(located),
            tuple(self.heard.scale_at.get(cup, True) for cup in order),
            self.heard.poured_g,
        )
        steps = [Supposed(c, table, self.fitted.shifts).in_steps() for c in CONFIGURATIONS]
        shares, supposed = (tuple(each) for each in zip(*(pair for own in steps for pair in own), strict=True))
        found = {"task": task, "order": order, "table": table, "supposed": supposed, "shares": shares}
        for name, value in found.items():
            object.__setattr__(self, name, value)

    task: PouringTask = field(init=False)
    order: tuple[str, ...] = field(init=False)
    """The cups by what was declared, least full first."""
    table: CupsByRole = field(init=False)
    supposed: tuple[Supposed, ...] = field(init=False)
    """One for every hypothesis."""
    shares: tuple[float, ...] = field(init=False)
    """How likely each is, given its configuration."""

    def problem(self) -> Problem:
        """Return it as a problem."""
        task, graph = self.task, self.task.graph()
        hypotheses = self._hypotheses(graph.beliefs)
        names = [h.name for h in hypotheses]
        pair, alarms = self.table.exchanged, self.fitted.alarms
        heard = {c: alarm_likelihood(self.heard.report, self.order, c, pair, alarms) for c in CONFIGURATIONS}
        likely = (heard[s.configuration] for s in self.supposed)
        alarm = Alarm(dict(zip(names, likely, strict=True)), self.suspects())
        again = task.restart_cost + PROBE_S
        restart = np.array([again + self._left_by_restart(s) for s in self.supposed]) if self.restarts else None
        stopped = np.array([task.safe_stop_cost + self.left_by_stopping(graph.beliefs, h) for h in hypotheses])
        return Problem(
            graph,
            JointModel(hypotheses, self._kernels(names), alarm, task.declarations()),
            restart=None if restart is None else Plan(RESTART, restart, undo=task.stage.executed),
            plans=(Plan(SAFE_STOP, stopped, last_resort=True),),
            coverage=self.coverage(),
            name="pour into the least full cup",
            unit="s",
        )

    def named(self, configuration: Configuration) -> str:
        """Return what a configuration says is the matter, with the cups' own names in it."""
        happened, camera, scales = configuration
        one, other = (self.order[role] for role in self.table.exchanged)
        words = f"{one} and {other} swapped" if happened is Happening.SWAPPED else happened.value
        parts = [] if happened is Happening.NOTHING else [words]
        parts += [] if camera is CameraState.SOUND else [camera.value]
        parts += [] if scales is Scales.SOUND else [scales.value]
        text = " + ".join(parts or [words])
        for role, cup in zip(ROLES, self.order, strict=True):
            text = text.replace(role, cup)
        return text

    def suspects(self) -> tuple[str, ...]:
        """Return the beliefs that the report points at."""
        report = self.heard.report
        if report.signal not in OF_A_CUP:
            return TARGET, CAMERA
        return quantity(report.cup), binding(report.cup), TARGET

    def causes(self) -> tuple[RootCause, ...]:
        """Return what may be the matter, each with its probability; what a change makes true follows from its size."""
        changes = {
            happened.value: CauseState(share_of_change(happened))
            for happened in Happening
            if happened is not Happening.NOTHING
        }
        faults = {
            camera.value: CauseState(
                {"default": share_of_fault(camera, changed=False), CHANGE: share_of_fault(camera, changed=True)},
                truth={CAMERA: FAULTY},
            )
            for camera in CameraState
            if camera is not CameraState.SOUND
        }
        # A scale that is off was so before anything was declared: no alarm is about it.
        often = self.fitted.readings.scale_off
        off = RootCause.single(Scales.OFF.value, often, truth={SCALES: FAULTY}, kind=Cause.FALSE_ALARM)
        return RootCause(CHANGE, changes, Cause.EXTERNAL), RootCause(FAULT, faults, Cause.SELF_ERROR), off

    def changed(self, supposed: Supposed) -> dict[str, Value]:
        """Return what would be true of amounts, places and the target, where that is not what is declared."""
        position = dict(zip(self.task.cups, self.declared.position_mm, strict=True))
        truth: dict[str, Value] = {}
        for role, place in enumerate(supposed.stands_at):
            held, cup = supposed.holds(role).g, self.order[role]
            truth |= {} if held == self.table.declared_g[role] else {quantity(cup): held}
            truth |= {} if role == place else {binding(cup): position[self.order[place]]}
        least = self.order[supposed.least]
        return truth | ({} if least == self.declared.target else {TARGET: least})

    def _hypotheses(self, beliefs: Sequence[Belief]) -> list[Hypothesis]:
        """Return the joint hypotheses of the causes, one for each configuration and each amount that was told apart."""
        found = generated(self.causes(), beliefs)
        in_order = np.lexsort(found.present.T[::-1]).tolist()
        of = dict(zip(CONFIGURATIONS, (found.hypotheses[i] for i in in_order), strict=True))
        hypotheses = []
        for share, supposed in zip(self.shares, self.supposed, strict=True):
            h, name, truth = of[supposed.configuration], self.named(supposed.configuration), self.changed(supposed)
            if supposed.filled is not None:
                cup = self.order[ADDED_TO[supposed.configuration.happened]]
                name = f"{name} ({quantity(cup)}={in_words(truth[quantity(cup)])})"
            part_of = "" if supposed.filled is None else self.named(supposed.configuration)
            hypotheses.append(Hypothesis(name, h.prior * share, (), h.cause, {**h.truth, **truth}, part_of))
        return hypotheses

    def nearest(self, configuration: Configuration, held_g: Mapping[str, float]) -> int:
        """Return the position of the hypothesis that is nearest to a configuration with what each cup really held."""

        def off(supposed: Supposed) -> float:
            return math.fsum(abs(supposed.holds(role).g - held_g[cup]) for role, cup in enumerate(self.order))

        return min((off(s), i) for i, s in enumerate(self.supposed) if s.configuration == configuration)[1]

    def _sd_g(self, m: Measurement, supposed: Supposed, role: int) -> float:
        return self.fitted.readings.sd_g(m.sense, disturbed=supposed.disturbed(m.sense, role))

    def _kernels(self, names: Sequence[str]) -> dict[str, Kernel]:
        kernels: dict[str, Kernel] = {}
        for name, m in self.task.measurements.items():
            if m.cup is not None:
                role = self.order.index(m.cup)
                parts = [s.reading(m.sense, role, self._sd_g(m, s, role)) for s in self.supposed]
                kernels[name] = Mixture(dict(zip(names, parts, strict=True)), OUTLIERS)
        words, right = list(arrangements(self.task.cups)), self.fitted.readings.localise_right
        rows = np.array([self._located_row(s, words, right) for s in self.supposed])
        kernels[LOCALISE] = Discrete(words, rows)
        faulty = [self.finds_faulty(s.configuration) for s in self.supposed]
        kernels[CHECK_CAMERA] = Discrete((SOUND, FAULTY), np.array([(1 - p, p) for p in faulty]))
        return kernels

    def _located_row(self, supposed: Supposed, words: Sequence[str], right: float) -> list[float]:
        """Return how likely each arrangement is reported; which two were swapped is not known before they are seen."""
        n = len(words) - 1
        if supposed.seen_at == AS_BELIEVED:
            return [right, *[(1.0 - right) / n] * n]
        return [1.0 - right, *[right / n] * n]

    def finds_faulty(self, configuration: Configuration) -> float:
        """Return how likely the camera's self test calls it faulty."""
        return self.fitted.readings.finds_faulty[camera_kind(configuration.camera)]

    def _left_by_restart(self, supposed: Supposed) -> float:
        """Return what starting over leaves wrong on average: everything is looked at again, by the same camera.

        What was poured has been poured back by then.
        """
        left, kind = 0.0, self.task.residuals
        poured_back = replace(supposed, table=replace(supposed.table, poured_g=0.0))
        views = [poured_back.reading(Sense.LOOK, role, 0.0) for role in AS_BELIEVED]
        for seen in product(*views):
            weight = math.prod(part[0] for part in seen)
            chosen = min(AS_BELIEVED, key=lambda role: seen[role][1])
            left += weight * kind.target * float(chosen != supposed.least)
        look = Measurement(Sense.LOOK, "")
        for role in AS_BELIEVED:
            left += kind.quantity * poured_back.misread(role, self._sd_g(look, supposed, role))
        left += kind.binding * sum(a != b for a, b in zip(supposed.seen_at, supposed.stands_at, strict=True))
        return left + kind.camera * float(supposed.configuration.camera is not CameraState.SOUND)

    def left_by_stopping(self, beliefs: Sequence[Belief], hypothesis: Hypothesis) -> float:
        """Return what stopping safely leaves wrong or without support."""
        wrong = {b.name for b in beliefs if differs(hypothesis.true_of(b), b.declared, b.tolerance)}
        return self.task.left_wrong(self.task.left_by_stopping(wrong))

    def coverage(self) -> Coverage:
        """Return whether calibration supports screening here, as the paper asks: early, and near enough records."""
        by_role = {f"_{role}": f"_{cup}" for role, cup in zip(ROLES, self.order, strict=True)}

        def named(probe: str) -> str:
            return next((probe.removesuffix(r) + c for r, c in by_role.items() if probe.endswith(r)), probe)

        declared = self.table.declared_g
        return Coverage(
            stage=self.heard.stage.value,
            covered_stages=(Stage.LIFTED.value,),
            groups=tuple(
                FitGroup(g.name, tuple(named(p) for p in g.probes), g.gaps_g, g.offsets_mm) for g in self.fitted.groups
            ),
            quantities_g=tuple(g - declared[0] for g in declared[1:]),
            offsets_mm=tuple(self.heard.offset_mm.get(cup, 0.0) for cup in self.order),
        )


@dataclass(eq=False, slots=True)
class Template:
    """The problem of this task for whatever values are declared: what a tracker asks for.

    What is heard is written down when the alarm comes.
    """

    start: CupValues
    """What is assumed before anything is declared."""
    fitted: Fitted
    heard: AtAlarm = field(default_factory=AtAlarm)
    restarts: bool = False
    linear_chain: bool = False
    _made: dict[tuple[tuple[str, Value], ...], tuple[AtAlarm, Problem]] = field(default_factory=dict, init=False)
    """By the values declared: the problem that was made for them, and what had been heard by then."""

    def model(self, values: Mapping[str, Value]) -> AlarmModel:
        """Return the model for these values."""
        return AlarmModel(self.statement(values), self.heard, self.fitted, self.restarts, self.linear_chain)

    def statement(self, values: Mapping[str, Value]) -> CupValues:
        """Return what is declared, with what is assumed where nothing is yet."""
        task = PouringTask(self.start, instruments=Instruments(scales_may_be_off=True))
        said = task.values(self.start) | dict(values)
        grams = tuple(float(said[quantity(cup)]) for cup in task.cups)
        at = tuple(float(said[binding(cup)]) for cup in task.cups)
        return CupValues(grams, at, str(said[TARGET]), str(said[CAMERA]), str(said[SCALES]))

    def __call__(self, values: Mapping[str, Value]) -> Problem:
        """Return the problem for these values."""
        key = tuple(sorted(values.items()))
        heard, made = self._made.get(key, (None, None))
        if made is None or heard is not self.heard:
            made = self.model(values).problem()
            self._made[key] = self.heard, made
        return made


class PosteriorSetting(StrEnum):
    """A deliberate distortion of the alarm posterior, to see whether the decision survives it."""

    ORIGINAL = "original"
    CONCENTRATED = "concentrated"
    DISPERSED = "dispersed"
    NEGATIVE_BIAS = "negative"
    POSITIVE_BIAS = "positive"


def distorted(state: InformationState, setting: PosteriorSetting) -> InformationState:
    """Return the state with its posterior distorted once; later evidence updates it with the ordinary kernels.

    ``p``, ``∝ p²``, ``∝ √p``, ``∝ p·4^∓B(s)``, with ``B(s)`` one where any declaration in force is invalid under ``s``.
    Hypotheses of probability zero stay at zero, so this cannot test a missing hypothesis.
    """
    p = state.posterior
    match setting:
        case PosteriorSetting.ORIGINAL:
            return state
        case PosteriorSetting.CONCENTRATED:
            mass = p**2
        case PosteriorSetting.DISPERSED:
            mass = np.sqrt(p)
        case PosteriorSetting.NEGATIVE_BIAS | PosteriorSetting.POSITIVE_BIAS:
            invalid = state.problem.invalid.max(axis=1, initial=0.0)
            sign = 1.0 if setting is PosteriorSetting.POSITIVE_BIAS else -1.0
            mass = p * np.exp(sign * math.log(4.0) * invalid)
    return replace(state, posterior=normalised(mass), origin=None)
