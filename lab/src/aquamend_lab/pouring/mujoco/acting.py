"""Acts carried out on the table: undo by hand, declare, do again, and finish the task.

What is measured is charged as sensing, what is undone as rollback, and what is done again or done on as continuation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from aquamend.problem.graph import Value
from aquamend.recovery import Act, Charge, Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import NOTHING_TO_DO, Body, Skill, failed
from aquamend_lab.pouring.mujoco.episode import DOSE_G, survey
from aquamend_lab.pouring.mujoco.primitives import draw_back, move
from aquamend_lab.pouring.mujoco.skills import CLOSE_ENOUGH_G, fetch, pour, pour_back, put_back, safe_stop
from aquamend_lab.pouring.task import (
    BINDING_TOLERANCE_MM,
    CAMERA,
    LIFT,
    MOVE,
    POUR,
    QUANTITY_TOLERANCE_G,
    SAFE_STOP,
    SOUND,
    TARGET,
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
