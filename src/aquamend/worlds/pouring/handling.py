"""Primitives of the hand: grasp, lift, move, place, retreat. Each checks by feel whether it did what it should."""

from __future__ import annotations

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.motion import BACK_Y, BESIDE_X, CAREFUL_M_S, GRIP_Z, TRAVEL_Z, fingers, go, wait
from aquamend.worlds.pouring.robot import Robot, failed
from aquamend.worlds.pouring.sensors import VESSEL_G, lifted_g, scale_g
from aquamend.worlds.pouring.skill import Finding, Skill

LEAST_GRIPPED_M = 0.008
"""A finger that closed less than this was stopped too early, one that is nearly closed found nothing."""
MOST_GRIPPED_M = 0.034


def grasp(robot: Robot, vessel: str) -> Skill:
    """Close the fingers around a vessel from the side, where it is believed to stand."""
    simulation, (x, y) = robot.simulation, robot.believed_m[vessel]
    if robot.holding is not None:
        return failed(f"the hand already holds {robot.holding}")
    simulation.grip = 0.0  # what slipped away leaves the fingers closed
    yield from go(simulation, (x, BACK_Y, TRAVEL_Z, 0.0))
    yield from go(simulation, (x, BACK_Y, GRIP_Z, 0.0))
    yield from go(simulation, (x, y, GRIP_Z, 0.0), speed_m_s=CAREFUL_M_S)
    simulation.grip = dim.FINGER_OPEN - dim.HULL_HALF_WIDTH + dim.FINGER_SQUEEZE
    yield from wait(0.6)
    closed = fingers(simulation)
    if closed.min() < LEAST_GRIPPED_M or closed.max() > MOST_GRIPPED_M:
        yield from _let_go(robot, y)
        return failed(f"nothing between the pads at {1000 * x:.0f} mm")
    robot.holding = vessel
    return Finding(True, f"{vessel} gripped")


def lift(robot: Robot) -> Skill:
    """Raise what the hand holds above everything on the table, and weigh it there."""
    simulation, held = robot.simulation, robot.holding
    x, y, _, roll = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, y, TRAVEL_Z, roll), speed_m_s=CAREFUL_M_S)
    yield from wait(0.4)
    gross = lifted_g(simulation)
    if held is None or gross < VESSEL_G / 2:
        robot.holding = None
        return failed(f"only {gross:.0f} g hang on the hand: it slipped", gross)
    return Finding(True, f"{held} lifted, {gross - VESSEL_G:.0f} g of water in it", gross - VESSEL_G)


def move(robot: Robot, vessel: str) -> Skill:
    """Carry what the hand holds beside a vessel, ready to pour into it."""
    simulation, (x, y) = robot.simulation, robot.believed_m[vessel]
    if robot.holding is None:
        return failed("the hand is empty")
    now_x, now_y, now_z, _ = (float(v) for v in simulation.hand)
    if now_z < TRAVEL_Z - 0.01:
        yield from go(simulation, (now_x, now_y, TRAVEL_Z, 0.0), speed_m_s=CAREFUL_M_S)
    yield from go(simulation, (x + BESIDE_X, y, TRAVEL_Z, 0.0))
    yield from wait(0.2)
    if lifted_g(simulation) < VESSEL_G / 2:
        dropped, robot.holding = robot.holding, None
        return failed(f"{dropped} was dropped on the way")
    return Finding(True, f"beside {vessel}")


def place(robot: Robot, at: int) -> Skill:
    """Set what the hand holds down on a place, and check with its scale that it stands there."""
    simulation, held = robot.simulation, robot.holding
    if held is None:
        return failed("the hand is empty")
    x = dim.PLACES_X[at]
    now_x, now_y, now_z, _ = (float(v) for v in simulation.hand)
    if now_z < TRAVEL_Z - 0.01:
        yield from go(simulation, (now_x, now_y, TRAVEL_Z, 0.0), speed_m_s=CAREFUL_M_S)
    yield from go(simulation, (x, 0.0, TRAVEL_Z, 0.0))
    yield from go(simulation, (x, 0.0, GRIP_Z + 0.003, 0.0), speed_m_s=CAREFUL_M_S)
    yield from wait(0.2)
    robot.holding = None
    robot.believed_m[held] = (x, 0.0)
    yield from _let_go(robot, 0.0)
    yield from wait(0.3)
    net = scale_g(simulation, at, rng=robot.noise(f"scale {at}"))
    if net < -VESSEL_G / 2:
        return failed(f"the scale of place {at + 1} does not feel {held}", net)
    return Finding(True, f"{held} stands on place {at + 1} with {net:.0f} g", net)


def retreat(robot: Robot) -> Skill:
    """Take the empty hand home, open."""
    simulation = robot.simulation
    if robot.holding is not None:
        return failed(f"the hand holds {robot.holding}")
    if simulation.grip > 0 or fingers(simulation).max() > LEAST_GRIPPED_M:
        # A grasp was given up half-way: what may be between the pads must not come along.
        yield from _let_go(robot, float(simulation.hand[1]))
    x, y, _, _ = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, min(y, BACK_Y), TRAVEL_Z, 0.0))
    yield from go(simulation, dim.HOME)
    return Finding(True, "the hand is home")


def _let_go(robot: Robot, y: float) -> Skill:
    """Open the fingers and back away."""
    simulation = robot.simulation
    simulation.grip = 0.0
    yield from wait(0.4)
    x, _, z, roll = (float(v) for v in simulation.hand)
    yield from go(simulation, (x, min(y, 0.0) + BACK_Y, z, roll), speed_m_s=CAREFUL_M_S)
    return Finding(True, "let go")
