"""Carrying a decision out: measure anew by what can be trusted, undo by hand, and finish the task."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping
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
    before_pouring_g: Mapping[str, float]
    """What every cup really held before the last pour. For the judge alone."""
    distrusts_camera: bool = False
    aimed_m: tuple[float, float] | None = None
    """Where the cup is believed to stand that the hand waits beside."""
    redone: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        moved = "move" in EXECUTED[self.stage]
        self.aimed_m = self.robot.believed_m[self.declared.target] if moved else None

    def finish(self) -> Work:
        """Do what is left of the task as it is believed now; stop safely at the first primitive that fails."""
        robot, target = self.robot, self.declared.target
        if self.declared.poured_g <= 0.0:  # a scale may read a little less than before where nothing came
            finding = Finding(True, "")
            if robot.holding is None:
                finding = yield from fetch(robot, dim.PITCHER, self._charge("fetch"))
            if finding.succeeded and not self._aims_at(target):
                finding = yield from robot.perform(f"move to {target}", self._charge("move"), move(robot, target))
            if finding.succeeded:
                self.before_pouring_g = {cup: robot.simulation.grams(cup) for cup in dim.CUPS}
                self.declared = yield from pour_dose(robot, self.declared, self._charge("pour"))
        yield from safe_stop(robot, self._charge("place"))

    def roll_back(self, correct: Collection[str], undo: Collection[str]) -> Work:
        """Measure anew what is to be corrected, undo what rests on it, and finish from there."""
        self.redone = frozenset(undo)
        poured_at = self.declared.place[self.declared.target]
        anew = "target" in correct or any(name.startswith("rank") for name in correct)
        if anew or any(name.startswith("binding") for name in correct):
            yield from self._find(correct, everything=anew)
        yield from self._weigh(correct, everything=anew or "camera" in correct)
        if anew:
            self._decide(poured_at)
        if "pour" in undo and self.declared.poured_g > 0:
            yield from self._unpour(poured_at)
        elif "fetch" in undo and self.robot.holding is not None:
            yield from put_back(self.robot, Charge.RECOVERY)
            self.aimed_m = None
        yield from self.finish()

    def restart(self) -> Work:
        """Undo all the hand did, measure everything anew as in the beginning, and do the whole task."""
        self.redone = frozenset(EXECUTED[self.stage])
        if self.declared.poured_g > 0:
            yield from self._unpour(self.declared.place[self.declared.target])
        elif self.robot.holding is not None:
            yield from put_back(self.robot, Charge.RECOVERY)
        old = self.declared
        fresh = yield from measure(self.robot, Charge.RECOVERY)
        self.declared = replace(fresh, versions={name: old.version(name) + 1 for name in fresh.support})
        self.aimed_m = None
        yield from self.finish()

    def _aims_at(self, cup: str) -> bool:
        """Return whether the hand waits beside a cup; another place of the same cup is another aim."""
        return self.aimed_m is not None and math.dist(self.aimed_m, self.robot.believed_m[cup]) < SAME_AIM_M

    def _charge(self, action: str) -> Charge:
        return Charge.RECOVERY if action in self.redone else Charge.CONTINUATION

    def _find(self, correct: Collection[str], *, everything: bool) -> Work:
        """See where the cups stand, and believe it of those in question."""
        robot, old = self.robot, dict(self.robot.believed_m)
        yield from robot.perform("localise carefully", Charge.RECOVERY, localise_carefully(robot))
        for cup in dim.CUPS:
            if everything or f"binding_{cup}" in correct:
                self.declared = self.declared.with_place(cup, robot.place_of(cup))
            else:
                robot.believed_m[cup] = old[cup]

    def _weigh(self, correct: Collection[str], *, everything: bool) -> Work:
        """Weigh the cups in question where they are believed to stand; the scales know nothing of the camera."""
        if "camera" in correct:
            yield from self.robot.perform("calibrate camera", Charge.RECOVERY, calibrate(self.robot))
            self.distrusts_camera = True
        for cup in dim.CUPS:
            if everything or f"quantity_{cup}" in correct:
                yield from self._weigh_one(cup)

    def _weigh_one(self, cup: str) -> Work:
        place = self.declared.place[cup]
        found = yield from self.robot.perform(f"weigh {cup}", Charge.RECOVERY, weigh_carefully(self.robot, place))
        self.declared = self.declared.with_quantity(cup, round(float(found.value or 0.0), 1))

    def _decide(self, poured_at: int) -> None:
        """Choose the target anew, from what the cups hold without what was poured."""
        held = dict(self.declared.quantity_g)
        for cup in dim.CUPS:
            if self.declared.place[cup] == poured_at:
                held[cup] -= self.declared.poured_g
        self.declared = self.declared.with_order(ordered(held))

    def _unpour(self, poured_at: int) -> Work:
        """Pour back what was poured, out of the cup that stands where it was poured."""
        cup = next((cup for cup in dim.CUPS if self.declared.place[cup] == poured_at), self.declared.target)
        yield from pour_back(self.robot, cup, self.declared.poured_g, Charge.RECOVERY)
        yield from self._weigh_one(cup)
        self.declared = replace(self.declared, poured_g=0.0)
        self.aimed_m = None
