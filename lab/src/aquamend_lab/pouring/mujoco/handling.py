"""Primitives of the hand: grasp, lift, move, place, retreat. Each checks by feel whether it did what it should."""

from __future__ import annotations

from collections.abc import Generator

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body, Skill, Tried, failed
from aquamend_lab.pouring.mujoco.motion import BACK_Y, BESIDE_X, CAREFUL_M_S, GRIP_Z, TRAVEL_Z, fingers, go, wait
from aquamend_lab.pouring.mujoco.sensors import VESSEL_G, lifted_g, scale_g

LEAST_GRIPPED_M = 0.008
"""A finger that closed less than this was stopped too early, one that is nearly closed found nothing."""
MOST_GRIPPED_M = 0.034
FEELING_S = 0.2
HAND_SD_G = 0.5
"""Of what the hand weighs: the drift of its own weight."""


def grasp(body: Body, vessel: str) -> Skill:
    """Close the fingers around a vessel from the side, where it is believed to stand."""
    simulation, (x, y) = body.simulation, body.believed_m[vessel]
    if body.holding is not None:
        return failed(f"the hand already holds {body.holding}")
    simulation.grip = 0.0  # what slipped away leaves the fingers closed
    yield from go(simulation, (x, BACK_Y, TRAVEL_Z, 0.0))
    yield from go(simulation, (x, BACK_Y, GRIP_Z, 0.0))
    yield from go(simulation, (x, y, GRIP_Z, 0.0), speed_m_s=CAREFUL_M_S)
    simulation.grip = dim.FINGER_OPEN - dim.HULL_HALF_WIDTH + dim.FINGER_SQUEEZE
    yield from wait(0.6)
    closed = fingers(simulation)
    if closed.min() < LEAST_GRIPPED_M or closed.max() > MOST_GRIPPED_M:
        yield from _let_go(body, y)
        return failed(f"nothing between the pads at {1000 * x:.0f} mm")
    body.holding = vessel
    return Tried(True, f"{vessel} gripped")


def lift(body: Body) -> Skill:
    """Raise what the hand holds above everything on the table, and feel what it weighs there."""
    simulation, held = body.simulation, body.holding
    x, y, _, roll = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, y, TRAVEL_Z, roll), speed_m_s=CAREFUL_M_S)
    yield from wait(0.4)
    gross = yield from felt_g(body)
    if held is None or gross < VESSEL_G / 2:
        body.holding = None
        return failed(f"only {gross:.0f} g hang on the hand: it slipped", gross)
    return Tried(True, f"{held} lifted, it feels like {gross - VESSEL_G:.0f} g", gross - VESSEL_G)


def felt_g(body: Body) -> Generator[None, None, float]:
    """Return what hangs on a hand at rest, averaged over a moment."""
    rng, felt = body.noise("hand"), []
    for _ in wait(FEELING_S):
        felt.append(lifted_g(body.simulation, rng=rng))
        yield
    return round(sum(felt) / len(felt) + float(rng.normal(0.0, HAND_SD_G)), 1)


def draw_back(body: Body) -> Skill:
    """Undo a move: carry what the hand holds back above where the pitcher belongs."""
    simulation = body.simulation
    if body.holding is None:
        return failed("the hand is empty")
    yield from go(simulation, (dim.PITCHER_PLACE_X, 0.0, TRAVEL_Z, 0.0))
    return Tried(True, f"{body.holding} is above its own place")


def move(body: Body, vessel: str) -> Skill:
    """Carry what the hand holds beside a vessel, ready to pour into it."""
    simulation, (x, y) = body.simulation, body.believed_m[vessel]
    if body.holding is None:
        return failed("the hand is empty")
    now_x, now_y, now_z, _ = (float(v) for v in simulation.hand)
    if now_z < TRAVEL_Z - 0.01:
        yield from go(simulation, (now_x, now_y, TRAVEL_Z, 0.0), speed_m_s=CAREFUL_M_S)
    yield from go(simulation, (x + BESIDE_X, y, TRAVEL_Z, 0.0))
    yield from wait(0.2)
    if lifted_g(simulation, rng=body.noise("hand")) < VESSEL_G / 2:
        dropped, body.holding = body.holding, None
        return failed(f"{dropped} was dropped on the way")
    return Tried(True, f"beside {vessel}")


def put_down(body: Body, at: int) -> Skill:
    """Set what the hand holds down on a place, and check that it stands there, where there is a scale to tell."""
    simulation, held = body.simulation, body.holding
    if held is None:
        return failed("the hand is empty")
    x = dim.PLACES_X[at]
    now_x, now_y, now_z, _ = (float(v) for v in simulation.hand)
    if now_z < TRAVEL_Z - 0.01:
        yield from go(simulation, (now_x, now_y, TRAVEL_Z, 0.0), speed_m_s=CAREFUL_M_S)
    yield from go(simulation, (x, 0.0, TRAVEL_Z, 0.0))
    yield from go(simulation, (x, 0.0, GRIP_Z + 0.003, 0.0), speed_m_s=CAREFUL_M_S)
    yield from wait(0.2)
    body.holding = None
    body.believed_m[held] = (x, 0.0)
    yield from _let_go(body, 0.0)
    yield from wait(0.3)
    if not body.has_scale(at):
        return Tried(True, f"{held} is set down on place {at + 1}")
    net = scale_g(simulation, at, faults=body.faults, rng=body.noise(f"scale {at}"))
    if net < -VESSEL_G / 2:
        return failed(f"the scale of place {at + 1} does not feel {held}", net)
    return Tried(True, f"{held} stands on place {at + 1}")


def retreat(body: Body) -> Skill:
    """Take the empty hand home, open."""
    simulation = body.simulation
    if body.holding is not None:
        return failed(f"the hand holds {body.holding}")
    if simulation.grip > 0 or fingers(simulation).max() > LEAST_GRIPPED_M:
        # A grasp was given up half-way: what may be between the pads must not come along.
        yield from _let_go(body, float(simulation.hand[1]))
    x, y, _, _ = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, min(y, BACK_Y), TRAVEL_Z, 0.0))
    yield from go(simulation, dim.HOME)
    return Tried(True, "the hand is home")


def _let_go(body: Body, y: float) -> Skill:
    """Open the fingers and back away."""
    simulation = body.simulation
    simulation.grip = 0.0
    yield from wait(0.4)
    x, _, z, roll = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, min(y, 0.0) + BACK_Y, z, roll), speed_m_s=CAREFUL_M_S)
    return Tried(True, "let go")
