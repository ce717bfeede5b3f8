"""The pouring table as a robot to recover with: it answers probes by measuring, and carries acts out by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aquamend.errors import AquaMendError
from aquamend.inference import InformationState
from aquamend.recovery import (
    Act,
    Charge,
    Ending,
    Follow,
    HandOver,
    Measure,
    Receipt,
    Recovery,
    Verdict,
    check_known,
    residuals,
)
from aquamend.recovery.acts import RESTART
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Alarmed
from aquamend.worlds.pouring.faults import SOUND
from aquamend.worlds.pouring.fitted import Fitted, load_fitted
from aquamend.worlds.pouring.looking import localise, look, read_stamp, weigh
from aquamend.worlds.pouring.model import AlarmModel, alarm_model
from aquamend.worlds.pouring.pricing import SAFE_STOP_LOSS
from aquamend.worlds.pouring.probing import localised_as, offsets_mm
from aquamend.worlds.pouring.quality import Quality, quality_of
from aquamend.worlds.pouring.recovering import Recovering
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.simulation import Watcher
from aquamend.worlds.pouring.skill import Finding, Skill
from aquamend.worlds.pouring.truth import really_failed

PROBE_NOISE = 911
"""Tells the noise of probes from that of the robot's own readings."""


@dataclass(eq=False)
class PouringWorld:
    """One alarm over one table. Worlds of the same alarm branch from the moment it was raised, bit for bit alike."""

    alarmed: Alarmed
    fitted: Fitted | None = None
    """What calibration taught; what ships with the project unless another is given."""
    linear_chain: bool = False
    """Whether the graph knows only the order of the actions, not their causes."""
    watcher: Watcher | None = None

    def __post_init__(self) -> None:
        self.robot = self.alarmed.robot.branch(self.watcher)
        # Water creeps a little at rest. Until somebody touches something, probes see the table as it was at the alarm,
        # so that no answer depends on what was asked before.
        self._seen: Robot = self.alarmed.robot.branch()
        self._uses: dict[str, int] = {}
        self.model: AlarmModel = alarm_model(
            self.alarmed.declared,
            self.alarmed.stage,
            self.alarmed.report,
            self.fitted or load_fitted(),
            offsets_mm=offsets_mm(self.robot, self.alarmed.declared),
            linear_chain=self.linear_chain,
        )
        self._start = InformationState.alarmed(self.model.problem)
        self._recovering = Recovering(self.robot, self.alarmed.declared, self.alarmed.stage)
        self.quality: Quality | None = None
        """How the pour turned out; None until the recovery has been judged."""

    @property
    def declared(self) -> Declared:
        """What the robot declares by now."""
        return self._recovering.declared

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._start

    def measure(self, step: Measure) -> Receipt:
        """Take a reading of what is there."""
        index = self._start.probe(step.probe).index
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        noise = np.random.default_rng((*self.robot.seed, PROBE_NOISE, index, use))
        what = step.probe.replace("_", " ")
        finding = drive(self.robot, self.robot.perform(what, Charge.SENSING, self._reading(step.probe, noise)))
        done = self.robot.leaves[-1]
        if not finding.succeeded:
            return step.failed(finding.told, cost=done.cost, start_s=done.start_s, end_s=done.end_s)
        answer = self._answer(step.probe, finding)
        return step.done(answer, cost=done.cost, start_s=done.start_s, end_s=done.end_s)

    def _reading(self, probe: str, noise: np.random.Generator) -> Skill:
        kind, _, cup = probe.partition("_")
        match kind:
            case "localise":
                return localise(self._seen, believe=False, noise=noise)
            case "stamp":
                return read_stamp(self._seen, noise=noise)
            case "look":
                return look(self._seen, cup, noise=noise)
            case _:
                return weigh(self._seen, self.declared.place[cup], noise=noise)

    def _answer(self, probe: str, finding: Finding) -> float | str:
        if probe == "localise":
            return localised_as(self._seen, self.declared)
        return finding.told if finding.value is None else round(finding.value, 1)

    def perform(self, act: Act) -> Receipt:
        """Carry out an act by hand; every primitive that it took is part of its receipt."""
        if isinstance(act, Follow) and act.plan != RESTART:
            return act.failed("nobody here knows this plan", cost=0.0)
        check_known(self.model.problem, act)
        before, start = len(self.robot.leaves), self.robot.simulation.time_s
        try:
            finding = drive(self.robot, self._recovering.work(act))
        except AquaMendError as error:
            finding = Finding(False, str(error))
        end, parts = self.robot.simulation.time_s, tuple(self.robot.leaves[before:])
        if parts:
            self._seen = self.robot
        if isinstance(act, HandOver):  # its flat loss covers all of a safe stop
            return act.done(cost=SAFE_STOP_LOSS, start_s=start, end_s=end)
        if not finding.succeeded:
            return act.failed(finding.told, cost=None if parts else 0.0, start_s=start, end_s=end, parts=parts)
        return act.done(cost=None if parts else 0.0, start_s=start, end_s=end, parts=parts)

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong; the pour itself has to be good, too."""
        self.quality = quality_of(self.robot, self.declared, self.alarmed.before_pouring_g)
        if recovery.ending is not Ending.FINISHED:
            return Verdict(self._wrong(trusted=True), (), success=False)
        left = self._wrong(trusted=not self._recovering.distrusts_camera)
        success = not left and self.quality.good and math.isfinite(recovery.cost)
        return Verdict(left, residuals(self.model.problem, left), success)

    def _wrong(self, *, trusted: bool) -> tuple[str, ...]:
        faults, before_g = self.robot.faults if trusted else SOUND, self.alarmed.before_pouring_g
        wrong = really_failed(self.robot.simulation, self.declared, faults, before_g)
        # A target chosen again has other rivals than the graph knows; that the choice is wrong is told by the target.
        return tuple(name for name in wrong if name in self.model.problem.graph.belief_index)
