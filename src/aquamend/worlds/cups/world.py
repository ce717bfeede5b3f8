"""A table of cups to recover on: it knows what happened, answers probes from it, and owns up to it in the end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from aquamend.inference import InformationState
from aquamend.recovery import (
    Act,
    Charge,
    Ending,
    Follow,
    Measure,
    Receipt,
    Recovery,
    Verdict,
    check_known,
    residuals,
)
from aquamend.recovery.acts import RESTART
from aquamend.worlds.cups.events import Event
from aquamend.worlds.cups.model import Assumptions, problem_of
from aquamend.worlds.cups.scene import CUPS, Scene
from aquamend.worlds.cups.sensing import Noise, answer
from aquamend.worlds.cups.task import CupTask, Stage

REVISE = "revise"
"""Plan of logical revision: no longer believe what was measured of a cup, and decide again from the rest."""


@dataclass(eq=False)
class CupWorld:
    """One episode: an event has happened, the monitor has pointed at a cup. Every act succeeds, at its price."""

    task: CupTask
    event: Event
    """What happened. For the judge alone."""
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
        self._uses: dict[str, int] = {}

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self._start

    def measure(self, step: Measure) -> Receipt:
        """Take a reading of what is there, with noise."""
        index = self._start.probe(step.probe).index
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        rng = np.random.default_rng((*self.seed, index, use))
        return step.done(answer(step.probe, self._scene, self.noise, rng, self.scale_offset_ml))

    def perform(self, act: Act) -> Receipt:
        """Do one thing at its price; a plan that nobody knows is infinitely dear."""
        if not isinstance(act, Follow):
            check_known(self._start.problem, act)
            return act.done()
        if act.plan == RESTART:
            return act.done(parts=tuple(self._restarting()))
        return act.done(cost=0.0 if act.plan in self._revisions else math.inf)

    def _restarting(self) -> Iterator[Receipt]:
        """Undo what the arm did, look at every cup again with the same camera, and decide again."""
        graph, undo = self._start.problem.graph, set(self.task.arm_actions_done)
        paid = dict.fromkeys(
            charge
            for action, charges in zip(graph.executed, graph.action_charges, strict=True)
            if action.name in undo
            for charge in charges
        )
        for charge in paid:
            yield Receipt(Charge.ROLLBACK, f"undo: {graph.charges[charge].name}", graph.charges[charge].cost)
        for cup in CUPS[: self.task.n_cups]:
            yield Receipt(Charge.SENSING, f"look_{cup}", self.task.costs.look)

    @property
    def _revisions(self) -> dict[str, tuple[int, int]]:
        """The cup that each plan of revision drops, and the target it then aims at."""
        cups = range(self.task.n_cups)
        return {f"{REVISE} {CUPS[x]}, target {CUPS[y]}": (x, y) for x in cups for y in cups if x != y}

    def judge(self, recovery: Recovery) -> Verdict:
        """Own up to what was left wrong."""
        if recovery.ending is not Ending.FINISHED:
            return Verdict(self._scene.failed(), (), success=False)
        left = self._left(recovery)
        costs = residuals(self._start.problem, left)
        return Verdict(left, costs, success=not left and math.isfinite(recovery.cost))

    def _left(self, recovery: Recovery) -> tuple[str, ...]:
        if recovery.followed == RESTART:
            return self._scene.failed_after_restart()
        if recovery.followed in self._revisions:
            return self._left_by_revising(*self._revisions[recovery.followed])
        return tuple(name for name in self._scene.failed() if name not in recovery.corrected)

    def _left_by_revising(self, cup: int, target: int) -> tuple[str, ...]:
        """Return what is wrong once a cup and all that rests on it is dropped, and the target follows from the rest.

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
        return tuple(left)
