"""Skills made of primitives: fetch a vessel, put it back, pour back, grip anew, stop safely.

Every primitive in them has its own receipt, and a skill ends at the first one that fails.
"""

from __future__ import annotations

from collections.abc import Callable

from aquamend.recovery import Charge
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.handling import grasp, lift, move, place, retreat
from aquamend.worlds.pouring.looking import localise
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.skill import NOTHING_TO_DO, Skill

PITCHER_PLACE = len(dim.CUPS)

Part = tuple[str, Callable[[], Skill]]
"""A primitive's name, and how to begin it once its turn has come."""


def in_turn(robot: Robot, charge: Charge, *parts: Part) -> Skill:
    """Run primitives one after another, as long as they succeed; return what the last one found."""
    finding = NOTHING_TO_DO
    for what, begin in parts:
        finding = yield from robot.perform(what, charge, begin())
        if not finding.succeeded:
            break
    return finding


def fetch(robot: Robot, vessel: str, charge: Charge) -> Skill:
    """Grasp a vessel and lift it; look where it stands and grip anew, once, if that fails."""
    finding = yield from _grip(robot, vessel, charge)
    if finding.succeeded:
        return finding
    return (yield from regrasp(robot, vessel, charge))


def regrasp(robot: Robot, vessel: str, charge: Charge) -> Skill:
    """Let go where the hand holds something, look where the vessel stands, and grip it anew."""
    if robot.holding is not None:
        yield from put_back(robot, charge)
    yield from robot.perform("localise", charge, localise(robot, believe=False))
    if vessel in robot.seen_m:  # what is seen of the others is no part of this
        robot.believed_m[vessel] = robot.seen_m[vessel]
    return (yield from _grip(robot, vessel, charge))


def _grip(robot: Robot, vessel: str, charge: Charge) -> Skill:
    grip: Part = (f"grasp {vessel}", lambda: grasp(robot, vessel))
    return (yield from in_turn(robot, charge, grip, (f"lift {vessel}", lambda: lift(robot))))


def put_back(robot: Robot, charge: Charge, at: int | None = None) -> Skill:
    """Set down what the hand holds where it came from, unless another place is named, and take the hand home."""
    held = robot.holding or "nothing"
    own = robot.place_of(held) if held in dim.CUPS else PITCHER_PLACE
    placed = yield from robot.perform(f"place {held}", charge, place(robot, own if at is None else at))
    retreated = yield from robot.perform("retreat", charge, retreat(robot))
    return retreated if placed.succeeded else placed


def pour_back(robot: Robot, cup: str, dose_g: float, charge: Charge) -> Skill:
    """Undo a pour: set the pitcher down, fetch the cup, pour the dose back, and return the cup to its place."""
    if robot.holding is not None:
        finding = yield from put_back(robot, charge)
        if not finding.succeeded:
            return finding
    home = robot.place_of(cup)
    finding = yield from fetch(robot, cup, charge)
    if not finding.succeeded:
        return finding
    returned = yield from in_turn(
        robot, charge,
        (f"move {cup} to {dim.PITCHER}", lambda: move(robot, dim.PITCHER)),
        (f"pour {dose_g:.0f} g back", lambda: pour(robot, dim.PITCHER, dose_g)),
    )  # fmt: skip
    finding = yield from put_back(robot, charge, home)
    return finding if not finding.succeeded else returned


def safe_stop(robot: Robot, charge: Charge) -> Skill:
    """End where nothing can go wrong any more: what the hand holds is set down, and the hand is home."""
    if robot.holding is None:
        return (yield from in_turn(robot, charge, ("retreat", lambda: retreat(robot))))
    return (yield from put_back(robot, charge))
