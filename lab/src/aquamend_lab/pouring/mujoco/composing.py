"""Skills made of primitives: fetch a vessel, put it back, pour back, stop safely.

Every primitive in them has its own receipt, and a skill ends at the first one that fails.
"""

from __future__ import annotations

from collections.abc import Callable

from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import NOTHING_TO_DO, Body, Skill, failed
from aquamend_lab.pouring.mujoco.dosing import pour
from aquamend_lab.pouring.mujoco.primitives import grasp, lift, localise, move, put_down, retreat

PITCHER_PLACE = len(dim.CUPS)

Part = tuple[str, Callable[[], Skill]]
"""A primitive's name, and how to begin it once its turn has come."""


def in_turn(body: Body, charge: Charge, *parts: Part) -> Skill:
    """Run primitives one after another, as long as they succeed; return what the last one found."""
    finding = NOTHING_TO_DO
    for what, begin in parts:
        finding = yield from body.perform(what, charge, begin())
        if not finding.succeeded:
            break
    return finding


def fetch(body: Body, vessel: str, charge: Charge) -> Skill:
    """Grasp a vessel and lift it; look where it stands and grip again, once, if that fails."""
    finding = yield from _grip(body, vessel, charge)
    if finding.succeeded:
        return finding
    return (yield from regrasp(body, vessel, charge))


def regrasp(body: Body, vessel: str, charge: Charge) -> Skill:
    """Let go where the hand holds something, look where the vessel stands, and grip it again."""
    if body.holding is not None:
        yield from put_back(body, charge)
    yield from body.perform("localise", Charge.SENSING, localise(body, believe=False))
    if vessel in body.seen_m:  # what is seen of the others is no part of this
        body.believed_m[vessel] = body.seen_m[vessel]
    return (yield from _grip(body, vessel, charge))


def _grip(body: Body, vessel: str, charge: Charge) -> Skill:
    grip: Part = (f"grasp {vessel}", lambda: grasp(body, vessel))
    return (yield from in_turn(body, charge, grip, (f"lift {vessel}", lambda: lift(body))))


def put_back(body: Body, charge: Charge, at: int | None = None) -> Skill:
    """Set down what the hand holds where it came from, unless another place is named, and take the hand home."""
    held = body.holding or "nothing"
    own = body.place_of(held) if held in dim.CUPS else PITCHER_PLACE
    placed = yield from body.perform(f"place {held}", charge, put_down(body, own if at is None else at))
    retreated = yield from body.perform("retreat", charge, retreat(body))
    return retreated if placed.succeeded else placed


def pour_back(body: Body, cup: str, dose_g: float, charge: Charge) -> Skill:
    """Undo a pour: set the pitcher down, pour the dose back out of the cup, and take the pitcher up again.

    How much has come back is reported in any case.
    """
    if body.holding is not None:
        finding = yield from put_back(body, charge)
        if not finding.succeeded:
            return finding
    home = body.place_of(cup)
    finding = yield from fetch(body, cup, charge)
    if not finding.succeeded:
        return finding
    returned = yield from in_turn(
        body, charge,
        (f"move {cup} to {dim.PITCHER}", lambda: move(body, dim.PITCHER)),
        (f"pour {dose_g:.0f} g back", lambda: pour(body, dim.PITCHER, dose_g)),
    )  # fmt: skip
    finding = yield from put_back(body, charge, home)
    if finding.succeeded and returned.succeeded:
        finding = yield from fetch(body, dim.PITCHER, charge)
    return returned if finding.succeeded else failed(finding.note, returned.value)


def safe_stop(body: Body, charge: Charge) -> Skill:
    """End where nothing can go wrong any more: what the hand holds is set down, and the hand is home."""
    if body.holding is None:
        return (yield from in_turn(body, charge, ("retreat", lambda: retreat(body))))
    return (yield from put_back(body, charge))
