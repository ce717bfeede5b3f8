"""The pouring table as a robot to recover with: it answers probes by measuring, and carries acts out by hand.

An act is to undo by hand, declare, do again, or finish the task. What is measured is charged as sensing, what is undone
as rollback, and what is done again or done on as continuation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import rejected
from aquamend.belief.support import evidence_on
from aquamend.errors import AquaMendError
from aquamend.problem.graph import Value
from aquamend.recovery import (
    Act,
    Charge,
    Declare,
    Ending,
    Finish,
    Follow,
    HandOver,
    Measure,
    Receipt,
    Recovery,
    Redo,
    Undo,
    Verdict,
    check_known,
    residuals,
)
from aquamend_lab.pouring.model.alarm_problem import PosteriorSetting, distorted
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import (
    NOTHING_TO_DO,
    Body,
    Skill,
    Tried,
    check_camera,
    draw_back,
    failed,
    localise,
    move,
    read_level,
    read_scale,
    tick_until_done,
)
from aquamend_lab.pouring.mujoco.episode import DOSE_G, AtTheAlarm, located_as, survey
from aquamend_lab.pouring.mujoco.judging import Quality, quality_of, truth_of
from aquamend_lab.pouring.mujoco.simulation import Watcher
from aquamend_lab.pouring.mujoco.skills import CLOSE_ENOUGH_G, fetch, pour, pour_back, put_back, safe_stop
from aquamend_lab.pouring.task import (
    BINDING_TOLERANCE_MM,
    CAMERA,
    LIFT,
    MOVE,
    POUR,
    QUANTITY_TOLERANCE_G,
    SAFE_STOP,
    SCALES,
    SOUND,
    TARGET,
    Measurement,
    Sense,
    binding,
    quantity,
)

SAME_AIM_M = 0.012
"""A cup found this near to where it was believed to stand is still within reach of the spout."""


@dataclass(eq=False, slots=True)
class RobotHands:
    """A recovery under way on the table: what is declared by now, what was poured, and where the hand waits."""

    body: Body
    said: dict[str, Value]
    """What is declared of every belief."""
    poured_g: dict[str, float] = field(default_factory=dict)
    """By cup, what the robot has read to have poured into it."""
    aimed_m: tuple[float, float] | None = None
    """Where the cup is believed to stand that the hand waits beside."""
    guard: Callable[[str], str | None] = lambda target: None
    """Says why a pour into a target must not be committed, if so."""
    surveyed: bool = False
    """Whether the target follows from looks at every cup since the alarm."""

    def of(self, body: Body, guard: Callable[[str], str | None]) -> RobotHands:
        """Return the same recovery under way on another branch of the table, under another robot's guard."""
        return replace(self, body=body, guard=guard, said=dict(self.said), poured_g=dict(self.poured_g))

    @property
    def target(self) -> str:
        """The cup to fill."""
        return str(self.said[TARGET])

    def work(self, act: Act) -> Skill:
        """Return what an act takes; it ends at the first primitive that fails."""
        match act:
            case Undo(operation):
                return {LIFT: self._unlift, MOVE: self._unmove, POUR: self._unpour}.get(operation, _nothing)()
            case Redo(action):
                return {LIFT: self._lift, MOVE: self._move, POUR: self._pour}.get(action, _nothing)()
            case Follow(plan) if plan != SAFE_STOP:
                return self._restart()
            case Follow() | HandOver():
                return safe_stop(self.body, Charge.ROLLBACK)
            case Finish():
                return self._finish()
            case Declare():
                return self._declare(act)
            case Measure():
                return _nothing()

    def _declare(self, act: Declare) -> Skill:
        """Believe something else from now on; of a cup's place, what was seen of it."""
        yield from ()
        cup = next((cup for cup in dim.CUPS if act.belief == binding(cup)), None)
        if cup is not None:
            self._place(cup, act)
        elif act.value is not None:
            self.said[act.belief] = act.value
            self.surveyed &= act.belief != TARGET
        return NOTHING_TO_DO

    def _place(self, cup: str, act: Declare) -> None:
        seen = self.body.seen_m.get(cup)
        if isinstance(act.value, float | int) and not isinstance(act.value, bool):
            near = seen is not None and abs(1000 * seen[0] - act.value) <= BINDING_TOLERANCE_MM
            self.body.believed_m[cup] = seen if near and seen is not None else (act.value / 1000, 0.0)
        elif seen is not None:
            self.body.believed_m[cup] = seen
        self.said[binding(cup)] = round(1000 * self.body.believed_m[cup][0], 1)

    def _restart(self) -> Skill:
        """Undo all the hand did, measure everything again with the camera, and do the whole task."""
        for undo in (self._unpour, self._unlift):
            finding = yield from undo()
            if not finding.succeeded:
                return finding
        fresh = yield from survey(self.body, Charge.SENSING)
        for cup, grams, mm in zip(dim.CUPS, fresh.quantity_g, fresh.position_mm, strict=True):
            self.said[quantity(cup)], self.said[binding(cup)] = grams, mm
        self.said |= {TARGET: fresh.target, CAMERA: SOUND}
        self.surveyed = True
        return (yield from self._finish())

    def _finish(self) -> Skill:
        """Do what is left of the task as it is believed now, and put everything away."""
        finding = yield from self._pour()
        if not finding.succeeded:
            return finding
        return (yield from safe_stop(self.body, Charge.CONTINUATION))

    def _pour(self) -> Skill:
        """Pour into the target what is still due, with all that takes before it, unless the guard forbids it."""
        target = self.target
        due = DOSE_G - self.poured_g.get(target, 0.0)
        if due <= CLOSE_ENOUGH_G:
            return NOTHING_TO_DO
        forbidden = self.guard(target)
        if forbidden:
            return failed(forbidden)
        finding = yield from self._move()
        if finding.succeeded:
            what = f"pour into {target}"
            finding = yield from self.body.perform(what, Charge.CONTINUATION, pour(self.body, target, due))
            self.poured_g[target] = self.poured_g.get(target, 0.0) + float(finding.value or 0.0)
        return finding

    def _move(self) -> Skill:
        """Hold the pitcher beside the target; another place of the same cup is another aim."""
        finding, target = (yield from self._lift()), self.target
        aim = self.body.believed_m[target]
        if finding.succeeded and (self.aimed_m is None or math.dist(self.aimed_m, aim) >= SAME_AIM_M):
            finding = yield from self.body.perform(f"move to {target}", Charge.CONTINUATION, move(self.body, target))
            self.aimed_m = aim if finding.succeeded else None
        return finding

    def _lift(self) -> Skill:
        if self.body.holding == dim.PITCHER:
            return NOTHING_TO_DO
        self.aimed_m = None
        return (yield from fetch(self.body, dim.PITCHER, Charge.CONTINUATION))

    def _unlift(self) -> Skill:
        if self.body.holding is None:
            return NOTHING_TO_DO
        self.aimed_m = None
        return (yield from put_back(self.body, Charge.ROLLBACK))

    def _unmove(self) -> Skill:
        if self.aimed_m is None:
            return NOTHING_TO_DO
        self.aimed_m = None
        return (yield from self.body.perform("draw back", Charge.ROLLBACK, draw_back(self.body)))

    def _unpour(self) -> Skill:
        """Pour back what was poured, out of the cups it is believed to be in."""
        for cup, grams in list(self.poured_g.items()):
            self.aimed_m = None
            finding = yield from pour_back(self.body, cup, grams, Charge.ROLLBACK)
            left_g = grams - float(finding.value or 0.0)
            if left_g <= QUANTITY_TOLERANCE_G:
                del self.poured_g[cup]
            else:
                self.poured_g[cup] = left_g
            if not finding.succeeded:
                return finding
        return NOTHING_TO_DO


def _nothing() -> Skill:
    yield from ()
    return NOTHING_TO_DO


Moment = tuple[Body, RobotHands, Tried]
"""The table, and the recovery under way on it, just after an act; and how that act ended."""

PROBE_NOISE = 911
"""Tells the noise of probes from that of the robot's own readings."""


@dataclass(eq=False)
class PouringRobot:
    """One alarm over one table. Robots of the same alarm branch from the moment it was raised, bit for bit alike."""

    alarmed: AtTheAlarm
    fitted: Fitted | None = None
    """What calibration taught; what the alarm was heard with unless another is given."""
    watcher: Watcher | None = None
    setting: PosteriorSetting = PosteriorSetting.ORIGINAL
    """How the alarm's posterior is distorted, to see what that does; evidence since then is taken as it is."""
    known: dict[tuple[Measure | Act, ...], Moment] | None = None
    """What was simulated already, by all that was asked since the alarm. Robots of one alarm under one setting may
    share it, as they go on bit for bit alike when asked alike; nobody watches a table that is taken from there."""

    def __post_init__(self) -> None:
        self.body = self.alarmed.body.branch(self.watcher)
        # Water creeps a little at rest. Until somebody touches something, probes see the table as it was at the alarm,
        # so that no answer depends on what was asked before.
        self._seen: Body = self.alarmed.body.branch()
        self._uses: dict[str, int] = {}
        self._asked: tuple[Measure | Act, ...] = ()
        heard = self.alarmed.state(self.fitted)
        self._start = self._known = distorted(heard, self.setting)
        self.task = self.alarmed.template.model({}).task
        declared, poured_g = self.alarmed.declared, self.alarmed.heard.poured_g
        executed = {action.name for action in self._start.problem.graph.executed}
        self.hands = RobotHands(
            self.body,
            self.task.values(declared),
            {declared.target: poured_g} if POUR in executed else {},
            self.body.believed_m[declared.target] if MOVE in executed else None,
            self.unsupported,
        )
        self._left: list[str] = []
        self.quality: Quality | None = None
        """How the pour turned out; None until the recovery has been judged."""

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._start

    def measure(self, step: Measure) -> Receipt:
        """Take a reading of what is there; an amount leaves out what the robot has poured itself."""
        self._asked += (step,)
        index = self._start.probe(step.probe).index
        measurement = self.task.measurements[step.probe]
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        noise = np.random.default_rng((*self.body.seed, PROBE_NOISE, index, use))
        before, start = len(self.body.leaves), self.body.simulation.time_s
        finding = tick_until_done(self.body, self._reading(measurement, noise))
        parts, end = tuple(self.body.leaves[before:]), self.body.simulation.time_s
        if not finding.succeeded:
            return step.failed(finding.note, start_s=start, end_s=end, parts=parts)
        answer = self._answer(measurement, finding)
        self._known = self._known.after(Observation(step.probe, answer))
        return step.done(answer, start_s=start, end_s=end, parts=parts)

    def _reading(self, measurement: Measurement, noise: np.random.Generator) -> Skill:
        sense, cup, seen = measurement.sense, measurement.cup or "", self._seen
        match sense:
            case Sense.LOCALISE:
                skill = localise(seen, believe=False, noise=noise)
            case Sense.CHECK_CAMERA:
                skill = check_camera(seen, noise=noise)
            case Sense.LOOK:
                skill = read_level(seen, cup, noise=noise)
            case Sense.WEIGH:  # where it was found when the alarm was raised
                skill = read_scale(seen, self.alarmed.body.seen_place(cup), noise=noise)
        return self.body.perform(measurement.name, Charge.SENSING, skill)

    def _answer(self, measurement: Measurement, finding: Tried) -> float | str:
        if measurement.sense is Sense.LOCALISE:
            self.body.seen_m = dict(self._seen.seen_m)
            return located_as(self._seen, self.alarmed.declared)
        if finding.value is None or measurement.cup is None:
            return finding.note
        return round(finding.value - self.hands.poured_g.get(measurement.cup, 0.0), 1)

    def perform(self, act: Act) -> Receipt:
        """Carry out an act by hand; every primitive that it took is part of its receipt."""
        check_known(self._start.problem, act)
        before, start = len(self.body.leaves), self.body.simulation.time_s
        finding = self._worked(act)
        end, parts = self.body.simulation.time_s, tuple(self.body.leaves[before:])
        if parts:
            self._seen = self.body
        if isinstance(act, Declare):
            return act.done(cost=0.0)
        cost = None if parts else 0.0
        if not finding.succeeded:
            return act.failed(finding.note, cost=cost, start_s=start, end_s=end, parts=parts)
        return act.done(cost=cost, start_s=start, end_s=end, parts=parts)

    def _worked(self, act: Act) -> Tried:
        """Carry an act out, or go on from where another robot of this alarm was after it."""
        self._asked += (act,)
        if self.known is not None and self._asked in self.known:
            body, hands, finding = self.known[self._asked]
            self.body = body.branch()
            self.hands = hands.of(self.body, self.unsupported)
            return finding
        try:
            finding = tick_until_done(self.body, self.hands.work(act))
        except AquaMendError as error:
            finding = Tried(False, str(error))
        if self.known is not None:
            kept = self.body.branch()
            self.known[self._asked] = kept, self.hands.of(kept, self.unsupported), finding
        return finding

    def unsupported(self, target: str) -> str | None:
        """Say why no pour may be committed on a target, if so: the guard before what cannot easily be undone.

        It must be likelier right than wrong by all that has been read, and something that is not rejected must speak
        for it. Where a restart has looked at every cup again, that is the camera.
        """
        state, problem = self._known, self._known.problem
        if state.contradiction is not None:
            return "guard: nothing explains what was read, so no pour is committed"
        if self.hands.surveyed:
            doubt = float(state.failure_probabilities[problem.graph.belief_index[CAMERA]])
            return "guard: the camera cannot be relied on, so no pour is committed" if rejected(doubt) else None
        belief = problem.graph.belief_index[TARGET]
        wrong = problem.wrong_where(belief, target)
        if rejected(float(state.posterior @ wrong)):
            return f"guard: {target} is probably not the least full, so no pour is committed"
        if not evidence_on(state, belief, wrong):
            return f"guard: nothing that can be relied on says that {target} is the least full, so no pour is committed"
        return None

    def particulars(self) -> dict[str, object]:
        """Return what a record keeps of the recovery beside its scores: every primitive, and what is not as it should.

        Of each primitive: charge, what, seconds, whether it succeeded.
        """
        since = len(self.alarmed.body.leaves)
        leaves = [[str(leaf.charge), leaf.what, leaf.cost, leaf.succeeded] for leaf in self.body.leaves[since:]]
        return {"primitives": leaves, "faults": list(self.quality.faults) if self.quality else [], "left": self._left}

    def judge(self, recovery: Recovery) -> Verdict:
        """Compare every declared value with what is true; the pour itself has to be good, too.

        What was said of the scales is no part of the work done: leaving it wrong costs nothing, and a robot that weighs
        with nothing is right to doubt them all.
        """
        said = self.hands.said
        truth = truth_of(self.body, self.alarmed.before_pouring_g, self.hands.target)
        self.quality = quality_of(self.body, {cup: float(said[binding(cup)]) for cup in dim.CUPS}, truth)
        finished = recovery.ending is Ending.FINISHED and recovery.followed != SAFE_STOP
        wrong = tuple(name for name in self.task.wrong(said, truth) if name != SCALES)
        left = wrong if finished else self.task.left_by_stopping(wrong)
        self._left = list(left)
        success = not left and finished and self.quality.good and math.isfinite(recovery.cost)
        return Verdict(left, residuals(self._start.problem, left), success)
