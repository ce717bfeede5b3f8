"""The pouring table as a robot to recover with: it answers probes by measuring, and carries acts out by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import rejected
from aquamend.belief.support import evidence_on
from aquamend.errors import AquaMendError
from aquamend.recovery import (
    Act,
    Charge,
    Declare,
    Ending,
    Measure,
    Receipt,
    Recovery,
    Verdict,
    check_known,
    residuals,
)
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.acting import RobotHands
from aquamend_lab.pouring.mujoco.body import Body, Skill, Tried, tick_until_done
from aquamend_lab.pouring.mujoco.episode import AtTheAlarm, located_as
from aquamend_lab.pouring.mujoco.judging import Quality, quality_of, truth_of
from aquamend_lab.pouring.mujoco.primitives import check_camera, localise, read_level, read_scale
from aquamend_lab.pouring.mujoco.simulation import Watcher
from aquamend_lab.pouring.posterior_settings import PosteriorSetting, distorted
from aquamend_lab.pouring.task import CAMERA, MOVE, POUR, SAFE_STOP, SCALES, TARGET, Measurement, Sense, binding

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
