"""The pouring table as a world to recover in: it answers probes by measuring, and carries decisions out by hand."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError, UnknownName
from aquamend.execution import Charge, Ledger, Outcome
from aquamend.inference import InformationState, Observation
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Alarmed
from aquamend.worlds.pouring.faults import SOUND
from aquamend.worlds.pouring.fitted import Fitted, load_fitted
from aquamend.worlds.pouring.leaf import Leaf
from aquamend.worlds.pouring.looking import localise, look, read_stamp, weigh
from aquamend.worlds.pouring.model import AlarmModel, alarm_model
from aquamend.worlds.pouring.pricing import SAFE_STOP_LOSS
from aquamend.worlds.pouring.probing import localised_as, offsets_mm
from aquamend.worlds.pouring.quality import Quality, quality_of
from aquamend.worlds.pouring.recovering import Recovery
from aquamend.worlds.pouring.recovery_graph import EXECUTED
from aquamend.worlds.pouring.robot import drive
from aquamend.worlds.pouring.simulation import Watcher
from aquamend.worlds.pouring.truth import really_failed
from aquamend.worlds.pouring.undoing import safe_stop

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
        # Water creeps a little at rest. Probes see the table as it was at the alarm, so that no answer depends on what
        # was asked before; nobody touches anything until the decision.
        self._at_the_alarm = self.alarmed.robot.branch()
        self._before_the_alarm = len(self.robot.leaves)
        self.model: AlarmModel = alarm_model(
            self.alarmed.declared,
            self.alarmed.stage,
            self.alarmed.report,
            self.fitted or load_fitted(),
            offsets_mm=offsets_mm(self.robot, self.alarmed.declared),
            linear_chain=self.linear_chain,
        )
        self._start = InformationState.alarmed(self.model.problem)
        self._ledger = Ledger(self.model.problem.graph)
        self.declared: Declared = self.alarmed.declared
        self.quality: Quality | None = None
        """How the pour turned out; None until the recovery has ended."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """What was done since the alarm."""
        return tuple(self.robot.leaves[self._before_the_alarm :])

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._start

    def measure(self, step: Reprobe) -> Observation:
        """Take a reading of what is there, and pay for it."""
        index, use = self._ledger.run_probe(step.probe)
        noise = np.random.default_rng((*self.robot.seed, PROBE_NOISE, index, use))
        return Observation(step.probe, drive(self.robot, self._probe(step.probe, noise)))

    def _probe(self, probe: str, noise: np.random.Generator) -> Generator[None, None, float | str]:
        robot, seen, charge = self.robot, self._at_the_alarm, Charge.SENSING
        kind, _, cup = probe.partition("_")
        if kind == "localise":
            yield from robot.perform(probe, charge, localise(seen, believe=False, noise=noise))
            return localised_as(seen, self.declared)
        if kind == "stamp":
            return (yield from robot.perform(probe, charge, read_stamp(seen, noise=noise))).told
        skill = look(seen, cup, noise=noise) if kind == "look" else weigh(seen, self.declared.place[cup], noise=noise)
        finding = yield from robot.perform(f"{kind} {cup}", charge, skill)
        if finding.value is None:
            raise AquaMendError(f"probe {probe!r} has no answer: {finding.told}; weigh the cup instead")
        return round(finding.value, 1)

    def commit(self, decision: Decision) -> Outcome:
        """Carry out the decision by hand, pay for what was really done, and own up to what was left wrong."""
        if isinstance(decision, Escalate):
            drive(self.robot, safe_stop(self.robot, Charge.ESCALATION))
            return self._ledger.handed_over(SAFE_STOP_LOSS, self._wrong(trusted=True))
        recovery = Recovery(self.robot, self.declared, self.alarmed.stage)
        undone: tuple[str, ...] = ()
        match decision:
            case Continue():
                work = recovery.finish()
            case RollBack(plan=None):
                wanted = {*self._ledger.graph.closure(decision.correct), *decision.undo}
                undone = tuple(action.name for action in self._ledger.graph.executed if action.name in wanted)
                work = recovery.roll_back(undone)
            case RollBack():
                raise UnknownName("plan", str(decision.plan), [])
            case Restart():
                undone, work = EXECUTED[self.alarmed.stage], recovery.restart()
            case _:
                assert_never(decision)
        drive(self.robot, work)
        return self._settled(recovery, undone)

    def _settled(self, recovery: Recovery, undone: tuple[str, ...]) -> Outcome:
        """Write receipts for what was done, and say how it ended."""
        self.declared = recovery.declared
        for number, leaf in enumerate(self.leaves, start=1):
            if leaf.charge is not Charge.SENSING:
                self._ledger.pay(leaf.charge, f"{number}: {leaf.what}", leaf.seconds)
        left = self._wrong(trusted=not recovery.distrusts_camera)
        self.quality = quality_of(self.robot, self.declared, self.alarmed.before_pouring_g)
        outcome = self._ledger.ended(undone, left)
        return replace(outcome, success=outcome.success and self.quality.good)

    def _wrong(self, *, trusted: bool) -> tuple[str, ...]:
        faults, before_g = self.robot.faults if trusted else SOUND, self.alarmed.before_pouring_g
        wrong = really_failed(self.robot.simulation, self.declared, faults, before_g)
        # A target chosen anew has other rivals than the graph knows; that the choice is wrong is told by the target.
        return tuple(name for name in wrong if name in self._ledger.graph.belief_index)
