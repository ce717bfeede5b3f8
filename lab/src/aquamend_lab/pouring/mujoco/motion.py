"""Moving the hand: smooth paths for the set points, and where the hand must be to hold a spout over a cup."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from aquamend.arrays import Floats
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.simulation import Simulation

SPEED_M_S = 0.125
CAREFUL_M_S = 0.058
"""Near vessels."""
ROLL_RAD_S = 0.35

TRAVEL_Z = 0.25
"""Height of the hand at which what it holds clears everything on the table."""
BACK_Y = -0.16
"""Where the hand stands free of the vessels."""
GRIP_Z = dim.SCALE_TOP_Z - 0.003 + dim.GRIP_HEIGHT
"""Height of the hand for gripping what stands on a scale."""
BESIDE_X = 0.11
"""How far beside a cup the hand waits with a vessel: half-way to the next place, so that cameras see both cups."""

LIP = (-(dim.INNER_APOTHEM + dim.WALL_THICK / 2), dim.VESSEL_HEIGHT - dim.GRIP_HEIGHT)
"""The spout's lip from the middle of the gripper, along x and z of the hand."""


def go(
    simulation: Simulation, pose: tuple[float, float, float, float], *, speed_m_s: float = SPEED_M_S
) -> Iterator[None]:
    """Move the hand's set point along a straight line, starting and ending at rest."""
    start, end = simulation.hand.copy(), np.array(pose)
    way, turn = float(np.linalg.norm((end - start)[:3])), abs(float(end[3] - start[3]))
    ticks = max(1, math.ceil(1.5 * max(way / speed_m_s, turn / ROLL_RAD_S) / dim.TICK_S))
    for i in range(1, ticks + 1):
        share = i / ticks
        simulation.hand[:] = start + (end - start) * share * share * (3 - 2 * share)
        yield


def wait(seconds: float) -> Iterator[None]:
    """Let time pass."""
    for _ in range(round(seconds / dim.TICK_S)):
        yield


def holding_lip_at(x: float, y: float, z: float, roll: float) -> tuple[float, float, float, float]:
    """Return the pose of the hand that keeps the lip of what it holds at a point while rolled."""
    cos, sin = math.cos(roll), math.sin(roll)
    return x - (LIP[0] * cos + LIP[1] * sin), y, z - (-LIP[0] * sin + LIP[1] * cos), roll


def fingers(simulation: Simulation) -> Floats:
    """Return how far the two fingers have closed, in metres; the hand feels that itself."""
    model, data = simulation.compiled.model, simulation.data
    return np.array([data.qpos[model.joint(f"finger_{side}").qposadr[0]] for side in ("left", "right")])
