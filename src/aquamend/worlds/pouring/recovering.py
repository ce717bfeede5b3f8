"""Carrying a decision out: measure anew by what can be trusted, undo by hand, and finish the task."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator
from dataclasses import dataclass, replace

from aquamend.execution import Charge
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared, ordered
from aquamend.worlds.pouring.episode import Stage, measure, pour_dose
from aquamend.worlds.pouring.handling import move
from aquamend.worlds.pouring.leaf import Finding
from aquamend.worlds.pouring.looking import calibrate, localise_carefully, weigh_carefully
from aquamend.worlds.pouring.recovery_graph import EXECUTED
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.undoing import fetch, pour_back, put_back, safe_stop

Work = Generator[None, None, None]

SAME_AIM_M = 0.012
"""A cup found this near to where it was believed to stand is still within reach of the spout."""


@dataclass(eq=False, slots=True)
class Recovery:
    """One recovery under way; what is done again after it was undone counts as recovery, not as continuation."""

    robot: Robot
    declared: Declared
    stage: Stage
    distrusts_camera: bool = False
    aimed_m: tuple[float, float] | None = None
    """Where the cup is believed to stand that the hand waits beside."""
    redone: frozenset[str] = frozenset()
    stuck: bool = False
    """Whether undoing has failed, so that going on would pour on top of what should not be there."""

    def __post_init__(self) -> None:
        moved = "move" in EXECUTED[self.stage]
        self.aimed_m = self.robot.believed_m[self.declared.target] if moved else None

    def finish(self) -> Work:
        """Do what is left of the task as it is believed now; stop safely at the first primitive that fails."""
        robot, target = self.robot, self.declared.target
        if self.declared.poured_g <= 0.0 and not self.stuck:  # a scale may read a little less where nothing came
            finding = Finding(True, "")
            if robot.holding is None:
                finding = yield from fetch(robot, dim.PITCHER, self._charge("fetch"))
            if finding.succeeded and not self._aims_at(target):
                finding = yield from robot.perform(f"move to {target}", self._charge("move"), move(robot, target))
            if finding.succeeded:
                self.declared = yield from pour_dose(robot, self.declared, self._charge("pour"))
        yield from safe_stop(robot, self._charge("place"))

    def roll_back(self, undo: Collection[str]) -> Work:
        """Do anew what was measured and decided among the undone actions, undo the rest by hand, and finish."""
        self.redone = frozenset(undo)
        if "locate" in undo or "decide" in undo:
            yield from self._find()
        if "trust" in undo:
            yield from self._recalibrate()
        for cup in dim.CUPS:
            if f"measure_{cup}" in undo or "decide" in undo:
                yield from self._weigh(cup)
        if "decide" in undo:
            self._decide()
        if "pour" in undo and self.declared.poured_g > 0:
            yield from self._unpour()
        elif "fetch" in undo and self.robot.holding is not None:
            yield from put_back(self.robot, Charge.RECOVERY)
            self.aimed_m = None
        yield from self.finish()

    def restart(self) -> Work:
        """Undo all the hand did, measure everything anew with the camera, and do the whole task."""
        self.redone = frozenset(EXECUTED[self.stage])
        if self.declared.poured_g > 0:
            yield from self._unpour()
        elif self.robot.holding is not None:
            yield from put_back(self.robot, Charge.RECOVERY)
        old = self.declared
        fresh = yield from measure(self.robot, Charge.RECOVERY, carefully=True)
        versions = {name: old.version(name) + 1 for name in fresh.support}
        self.declared = replace(fresh, versions=versions, poured_g=old.poured_g, poured_at=old.poured_at)
        self.aimed_m = None
        yield from self.finish()

    def _aims_at(self, cup: str) -> bool:
        """Return whether the hand waits beside a cup; another place of the same cup is another aim."""
        return self.aimed_m is not None and math.dist(self.aimed_m, self.robot.believed_m[cup]) < SAME_AIM_M

    def _charge(self, action: str) -> Charge:
        return Charge.RECOVERY if action in self.redone else Charge.CONTINUATION

    def _find(self) -> Work:
        """See where the cups stand, and believe it."""
        yield from self.robot.perform("localise carefully", Charge.RECOVERY, localise_carefully(self.robot))
        for cup in dim.CUPS:
            self.declared = self.declared.with_place(cup, self.robot.place_of(cup))

    def _recalibrate(self) -> Work:
        """Hold the camera against the scales, which know nothing of it, and rest nothing on it any more."""
        yield from self.robot.perform("calibrate camera", Charge.RECOVERY, calibrate(self.robot))
        self.declared = self.declared.refreshed("camera", tuple(f"weigh_{cup}" for cup in dim.CUPS))
        self.distrusts_camera = True

    def _weigh(self, cup: str) -> Work:
        """Weigh a cup where it is believed to stand."""
        place = self.declared.place[cup]
        found = yield from self.robot.perform(f"weigh {cup}", Charge.RECOVERY, weigh_carefully(self.robot, place))
        self.declared = self.declared.with_quantity(cup, round(float(found.value or 0.0), 1))

    def _decide(self) -> None:
        """Choose the target anew, from what the cups hold without what was poured."""
        held = dict(self.declared.quantity_g)
        for cup in dim.CUPS:
            if self.declared.place[cup] == self.declared.poured_at:
                held[cup] -= self.declared.poured_g
        self.declared = self.declared.with_order(ordered(held))

    def _unpour(self) -> Work:
        """Pour back what was poured, out of the cup that is believed to stand where it was poured."""
        self.redone |= {"fetch", "move", "pour"}
        self.aimed_m = None
        cup = next((cup for cup in dim.CUPS if self.robot.place_of(cup) == self.declared.poured_at), None)
        if cup is None:  # nobody is believed to stand there, so nothing can be poured back
            self.stuck = True
            return
        finding = yield from pour_back(self.robot, cup, self.declared.poured_g, Charge.RECOVERY)
        self.stuck = not finding.succeeded
        yield from self._weigh(cup)
        if finding.succeeded:
            self.declared = replace(self.declared, poured_g=0.0, poured_at=None)
