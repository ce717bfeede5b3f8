"""The monitor: it watches where cups seem to stand, how full they look and what the scales carry, and raises alarms.

It sees public signals only, through the same sensors as the robot, and more coarsely than a probe does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.perturbations import FalseAlarm
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.sensors import level_g, positions_m, scale_g

POSITION, LEVEL, LOAD = "position", "level", "load"
SIGNALS = (POSITION, LEVEL, LOAD)
TOLERATED = {POSITION: 25.0, LEVEL: 5.0, LOAD: 7.0}
"""Millimetres and grams beyond which the monitor speaks up."""
LOAD_SD_G = 3.0
"""The scales' raw signal, unfiltered."""
CHECK_S = 0.2
MOST_CHECKS = 8
ROUTINE = "routine check"


@dataclass(frozen=True, slots=True)
class Report:
    """What the monitor says when it raises the alarm: the signal furthest beyond what it tolerates."""

    signal: str
    """One of ``SIGNALS``, or the routine check that comes due when nothing else speaks up."""
    cup: str = ""
    excess: float = 0.0
    """Deviation from what is declared, with its sign; millimetres for a position."""

    @property
    def sign(self) -> str:
        """Whether there is more or less than declared; a displacement has no sign."""
        return "+" if self.excess >= 0 else "-"

    def __str__(self) -> str:
        if self.signal == ROUTINE:
            return "routine check: nothing conspicuous"
        amount = f"{abs(self.excess):.0f}"
        where = {
            POSITION: f"{self.cup} seems to stand {amount} mm off",
            LEVEL: f"{self.cup} looks {amount} g {'fuller' if self.excess > 0 else 'emptier'} than declared",
            LOAD: f"the scale of {self.cup} carries {amount} g {'more' if self.excess > 0 else 'less'} than declared",
        }
        return where[self.signal]


def check(robot: Robot, declared: Declared, blink: FalseAlarm | None = None) -> Report:
    """Return the most conspicuous signal at this moment; a blink is added to the signal it disturbs."""
    deviations: list[Report] = []
    noise = robot.noise("monitor")
    seen = positions_m(robot.simulation, faults=robot.faults, rng=noise)
    for cup in dim.CUPS:
        if cup in seen:
            x, y = robot.believed_m[cup]
            off = 1000 * math.hypot(seen[cup][0] - x, seen[cup][1] - y)
            deviations.append(Report(POSITION, cup, off))
        level = level_g(robot.simulation, cup, faults=robot.faults, rng=noise)
        if level is not None:
            deviations.append(Report(LEVEL, cup, level - declared.quantity_g[cup]))
        load = scale_g(robot.simulation, declared.place[cup], rng=noise, sd_g=LOAD_SD_G)
        deviations.append(Report(LOAD, cup, load - declared.quantity_g[cup]))
    if blink is not None:
        deviations = [_jumped(deviation, blink) for deviation in deviations]
    return max(deviations, key=lambda report: abs(report.excess) / TOLERATED[report.signal])


def conspicuous(report: Report) -> bool:
    """Whether a report is worth an alarm."""
    return abs(report.excess) > TOLERATED[report.signal]


def _jumped(report: Report, blink: FalseAlarm) -> Report:
    if (report.signal, report.cup) != (blink.signal, blink.cup):
        return report
    return Report(report.signal, report.cup, report.excess + blink.jump * TOLERATED[report.signal])
