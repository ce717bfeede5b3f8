"""Acts carried out on the table: measure again by what can be trusted, undo by hand, do again, and finish the task."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from aquamend.recovery import Act, Charge, Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared, ordered
from aquamend.worlds.pouring.episode import Stage, measure, pour_dose
from aquamend.worlds.pouring.handling import move
from aquamend.worlds.pouring.looking import calibrate, localise_carefully, weigh_carefully
from aquamend.worlds.pouring.recovery_graph import EXECUTED
from aquamend.worlds.pouring.robot import Robot, failed
from aquamend.worlds.pouring.skill import NOTHING_TO_DO, Skill
from aquamend.worlds.pouring.undoing import fetch, pour_back, put_back, safe_stop

SAME_AIM_M = 0.012
"""A cup found this near to where it was believed to stand is still within reach of the spout."""
WEIGHING = {f"weigh {cup} anew": cup for cup in dim.CUPS}


@dataclass(eq=False, slots=True)
class Recovering:
    """A recovery under way on the table: what is declared by now, and where the hand waits.

    What is measured is charged as sensing, what is undone by hand as rollback, and what is done again or done on as
    continuation.
    """

    robot: Robot
    declared: Declared
    stage: Stage
    distrusts_camera: bool = False
    aimed_m: tuple[float, float] | None = field(default=None, init=False)
    """Where the cup is believed to stand that the hand waits beside."""

    def __post_init__(self) -> None:
        moved = "move" in EXECUTED[self.stage]
        self.aimed_m = self.robot.believed_m[self.declared.target] if moved else None

    def work(self, act: Act) -> Skill:
        """Return what an act takes; it ends at the first primitive that fails."""
        match act:
            case Undo(operation):
                return self._undo(operation)
            case Redo(action):
                return self._redo(action)
            case Follow():
                return self._restart()
            case HandOver():
                return safe_stop(self.robot, Charge.CONTINUATION)
            case Finish():
                return self._finish()
            case Declare() | Measure():
                return _nothing()

    def _undo(self, operation: str) -> Skill:
        """Perform a recovery operation; what it says will be done again comes when its action is done again."""
        if operation in WEIGHING:
            return self._weigh(WEIGHING[operation])
        skills = {
            "find the cups anew": self._find,
            "calibrate the camera": self._recalibrate,
            "put the pitcher back": self._put_back,
            "pour back": self._unpour,
        }
        return skills.get(operation, _nothing)()

    def _redo(self, action: str) -> Skill:
        skills = {"decide": self._decide, "fetch": self._fetch, "move": self._aim, "pour": self._pour}
        return skills.get(action, _nothing)()

    def _restart(self) -> Skill:
        """Undo all the hand did, measure everything again with the camera, and do the whole task."""
        finding = yield from self._unpour() if self.declared.poured_g > 0 else self._put_back()
        if not finding.succeeded:
            return finding
        old = self.declared
        fresh = yield from measure(self.robot, Charge.SENSING, carefully=True)
        versions = {name: old.version(name) + 1 for name in fresh.support}
        self.declared = replace(fresh, versions=versions, poured_g=old.poured_g, poured_at=old.poured_at)
        return (yield from self._finish())

    def _finish(self) -> Skill:
        """Do what is left of the task as it is believed now, and put everything away."""
        finding = yield from self._pour()
        if not finding.succeeded:
            return finding
        return (yield from safe_stop(self.robot, Charge.CONTINUATION))

    def _pour(self) -> Skill:
        """Pour into the target, with all that takes before it; once is enough."""
        if self.declared.poured_g > 0.0:  # a scale may read a little less where nothing came
            return NOTHING_TO_DO
        finding = yield from self._aim()
        if finding.succeeded:
            self.declared, finding = yield from pour_dose(self.robot, self.declared, Charge.CONTINUATION)
        return finding

    def _aim(self) -> Skill:
        """Hold the pitcher beside the target; another place of the same cup is another aim."""
        finding, target = (yield from self._fetch()), self.declared.target
        aim = self.robot.believed_m[target]
        if finding.succeeded and (self.aimed_m is None or math.dist(self.aimed_m, aim) >= SAME_AIM_M):
            finding = yield from self.robot.perform(f"move to {target}", Charge.CONTINUATION, move(self.robot, target))
            self.aimed_m = aim if finding.succeeded else None
        return finding

    def _fetch(self) -> Skill:
        if self.robot.holding == dim.PITCHER:
            return NOTHING_TO_DO
        self.aimed_m = None
        return (yield from fetch(self.robot, dim.PITCHER, Charge.CONTINUATION))

    def _find(self) -> Skill:
        """See where the cups stand, and believe it."""
        finding = yield from self.robot.perform("localise carefully", Charge.SENSING, localise_carefully(self.robot))
        for cup in dim.CUPS:
            self.declared = self.declared.with_place(cup, self.robot.place_of(cup))
        return finding

    def _recalibrate(self) -> Skill:
        """Hold the camera against the scales, which know nothing of it, and rest nothing on it any more."""
        finding = yield from self.robot.perform("calibrate camera", Charge.SENSING, calibrate(self.robot))
        self.declared = self.declared.refreshed("camera", tuple(f"weigh_{cup}" for cup in dim.CUPS))
        self.distrusts_camera = True
        return finding

    def _weigh(self, cup: str) -> Skill:
        """Weigh a cup where it is believed to stand."""
        place = self.declared.place[cup]
        finding = yield from self.robot.perform(f"weigh {cup}", Charge.SENSING, weigh_carefully(self.robot, place))
        self.declared = self.declared.with_quantity(cup, round(float(finding.value or 0.0), 1))
        return finding

    def _decide(self) -> Skill:
        """Choose the target again, from what the cups hold without what was poured."""
        held = dict(self.declared.quantity_g)
        for cup in dim.CUPS:
            if self.declared.place[cup] == self.declared.poured_at:
                held[cup] -= self.declared.poured_g
        self.declared = self.declared.with_order(ordered(held))
        return (yield from _nothing())

    def _put_back(self) -> Skill:
        if self.robot.holding is None:
            return NOTHING_TO_DO
        self.aimed_m = None
        return (yield from put_back(self.robot, Charge.ROLLBACK))

    def _unpour(self) -> Skill:
        """Pour back what was poured, out of the cup that is believed to stand where it was poured."""
        if self.declared.poured_g <= 0:
            return NOTHING_TO_DO
        self.aimed_m = None
        cup = next((cup for cup in dim.CUPS if self.robot.place_of(cup) == self.declared.poured_at), None)
        if cup is None:
            return failed("no cup is believed to stand where it was poured")
        finding = yield from pour_back(self.robot, cup, self.declared.poured_g, Charge.ROLLBACK)
        yield from self._weigh(cup)
        if finding.succeeded:
            self.declared = replace(self.declared, poured_g=0.0, poured_at=None)
        return finding


def _nothing() -> Skill:
    yield from ()
    return NOTHING_TO_DO
