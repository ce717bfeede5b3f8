"""A table of cups to recover on: it knows what happened, answers probes from it, and judges what is declared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from aquamend.belief import InformationState
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
from aquamend_lab.pouring.discrete.event_model import beyond_recovery
from aquamend_lab.pouring.discrete.physical_state import Noise, Scene, read
from aquamend_lab.pouring.task import POUR, RESTART, SAFE_STOP, TARGET, PouringTask, look


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
