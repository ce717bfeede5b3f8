"""Sizes, masses and solver settings of the pouring table, in metres, kilograms and seconds.

Found by trial on the physics, not on any recovery: vessels that hold beads without loss, a grip that holds by friction
alone, and the largest time step that does both.
"""

from __future__ import annotations

TIMESTEP_S = 1 / 150
STEPS_PER_TICK = 3
TICKS_PER_S = 50
"""The controller acts this often."""
TICK_S = 1 / TICKS_PER_S

CUPS = ("A", "B", "C")
PITCHER = "pitcher"
VESSELS = (*CUPS, PITCHER)
CUP_PLACES_X = (-0.22, 0.0, 0.22)
PITCHER_PLACE_X = 0.46
PLACES_X = (*CUP_PLACES_X, PITCHER_PLACE_X)
"""Every place has a scale; all stand in a row at y = 0."""
SCALE_TOP_Z = 0.030
SCALE_HALF_WIDTH = 0.046
SCALE_STIFFNESS = 400.0
PAN_MASS = 0.030

INNER_APOTHEM = 0.032
"""From the axis of a vessel to its walls."""
WALL_HEIGHT = 0.100
WALL_THICK = 0.004
FLOOR_THICK = 0.012
FLOOR_BELOW = 0.012
SPOUT_TAB = 0.016
"""How far the rim beside the spout rises above the rest."""
SPOUT_GAP = 0.018
HULL_HALF_WIDTH = INNER_APOTHEM + WALL_THICK
VESSEL_HEIGHT = FLOOR_THICK + WALL_HEIGHT
VESSEL_MASS = 0.080

BEAD_RADIUS = 0.0065
BEAD_MASS = 0.001
"""A bead is a gram of water."""
BEAD_DAMPING = 0.008

GRAVITY = 9.81

PAD_HALF = (0.004, 0.014, 0.020)
FINGER_OPEN = 0.056
"""From the middle of the gripper to the inner face of an open pad."""
FINGER_SQUEEZE = 0.018
"""How far beyond contact the fingers try to close, which makes the grip force."""
FINGER_STIFFNESS = 600.0
GRIP_HEIGHT = 0.056
"""Of the pads' middle above a vessel's foot."""
PALM_BACK = 0.085
"""From the middle of the gripper back to the palm."""

HOME = (0.28, -0.16, 0.20, 0.0)
"""Where the hand waits: x, y, z of the middle of the gripper, and its roll."""
