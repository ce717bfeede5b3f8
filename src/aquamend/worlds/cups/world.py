"""A table of cups to recover on: it knows what happened, answers probes from it, and writes receipts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import UnknownName
from aquamend.execution import Ledger, Outcome
from aquamend.inference import InformationState, Observation
from aquamend.worlds.cups.events import Event
from aquamend.worlds.cups.model import Assumptions, problem_of
from aquamend.worlds.cups.scene import CUPS, Scene
from aquamend.worlds.cups.sensing import Noise, answer
from aquamend.worlds.cups.task import CupTask, Stage

REVISE = "revise"
"""Plan of logical revision: no longer believe what was measured of a cup, and decide again from the rest."""


@dataclass(eq=False)
class CupWorld:
    """One episode: an event has happened, the monitor has pointed at a cup."""

    task: CupTask
    event: Event
    """What happened. For the world alone."""
    flagged: int
    assumed: Assumptions
    """What the robot takes for granted."""
    noise: Noise = field(default_factory=Noise)
    """How readings really scatter."""
    scale_offset_ml: tuple[float, ...] = ()
    """What the scales read too much, place by place: a fault that no hypothesis knows of."""
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        self._scene = self.event.applied(Scene.as_declared(self.task.declared_ml))
        self._start = InformationState.alarmed(problem_of(self.task, self.assumed, self.flagged))
        self._ledger = Ledger(self._start.problem.graph)

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._start

    def measure(self, step: Reprobe) -> Observation:
        """Take a reading of what is there, with noise, and pay for it."""
        rng = np.random.default_rng((*self.seed, *self._ledger.run_probe(step.probe)))
        return Observation(step.probe, answer(step.probe, self._scene, self.noise, rng, self.scale_offset_ml))

    def commit(self, decision: Decision) -> Outcome:
        """Carry out the decision, pay for it, and own up to what was left wrong."""
        failed, ledger = self._scene.failed(), self._ledger
        match decision:
            case Escalate():
                return ledger.handed_over(self.task.costs.escalate, failed)
            case Continue():
                return ledger.ended((), failed)
            case Restart():
                return self._restart()
            case RollBack(plan=None):
                undone = ledger.undo({*ledger.graph.closure(decision.correct), *decision.undo})
                return ledger.ended(undone, [name for name in failed if name not in decision.correct])
            case RollBack():
                return self._follow(str(decision.plan))
            case _:
                assert_never(decision)

    def _follow(self, plan: str) -> Outcome:
        cups = CUPS[: self.task.n_cups]
        revisions = {f"{REVISE} {x}, target {y}": (cups.index(x), cups.index(y)) for x in cups for y in cups if x != y}
        if plan in revisions:
            return self._revise(*revisions[plan])
        raise UnknownName("plan", plan, revisions)

    def _restart(self) -> Outcome:
        """Undo what the arm did, look at every cup again with the same camera, and decide anew."""
        undone = self._ledger.undo(self.task.arm_actions_done)
        for cup in CUPS[: self.task.n_cups]:
            self._ledger.run_probe(f"look_{cup}")
        return self._ledger.ended(undone, self._scene.failed_after_restart())

    def _revise(self, cup: int, target: int) -> Outcome:
        """Drop what was measured of a cup and all that rests on it, and aim at a target that follows from the rest.

        Nothing is undone and nothing measured. What is dropped is no longer believed, so it is not wrong any more. A
        pour that was made stays where it was made.
        """
        dropped = {"target", f"amount_{CUPS[cup]}", f"rank_{CUPS[cup]}"}
        if cup == 0:
            dropped |= {f"rank_{x}" for x in CUPS[: self.task.n_cups]}
        left = [name for name in self._scene.failed() if name not in dropped]
        aimed = 0 if self.task.stage is Stage.POURED else target
        if self._scene.amount_ml[aimed] > min(self._scene.amount_ml) or self._scene.cup_at(aimed) != aimed:
            left.append("target")
        return self._ledger.ended((), left)
