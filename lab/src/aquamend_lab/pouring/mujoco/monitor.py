"""The monitor: it watches where cups seem to stand, how full they look and what the scales carry, and raises alarms.

It sees public signals only, through the same sensors as the robot, and more coarsely than a probe does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.sensors import SensorFaults, level_g, positions_m, scale_g
from aquamend_lab.pouring.mujoco.trouble import Occlusion, Spike, Trouble
from aquamend_lab.pouring.reports import Report, Signal

TOLERATED = {Signal.POSITION: 25.0, Signal.LEVEL: 5.0, Signal.LOAD: 7.0, Signal.SIGHT: 1.0, Signal.STAMP: 0.5}
"""Millimetres, grams and seconds beyond which the monitor speaks up; out of sight is out of sight."""
LOAD_SD_G = 2.0
"""The scales' raw signal, unfiltered."""
STAMP_SD_S = 0.1
CHECK_S = 0.2
MOST_CHECKS = 8


@dataclass(frozen=True, eq=False, slots=True)
class RobotMonitor:
    """What was there when everything was declared: deviations from it are conspicuous."""

    quantity_g: Mapping[str, float]
    """By cup, what was declared."""
    place: Mapping[str, int]
    load_g: Mapping[int, float]
    """By place, what its scale carried then, right or wrong."""

    @classmethod
    def at_rest(cls, body: Body, quantity_g: Mapping[str, float]) -> RobotMonitor:
        """Return the monitor of what has just been declared."""
        noise, faults = body.noise("monitor"), body.faults
        place = {cup: body.place_of(cup) for cup in dim.CUPS}
        weighed = [at for at in place.values() if body.has_scale(at)]
        load = {at: scale_g(body.simulation, at, rng=noise, faults=faults) for at in weighed}
        return cls(dict(quantity_g), place, load)

    def after_pouring(self, cup: str, grams: float) -> RobotMonitor:
        """Return the monitor that expects what the robot has poured itself."""
        load, at = dict(self.load_g), self.place[cup]
        if at in load:
            load[at] += grams
        return replace(self, quantity_g={**self.quantity_g, cup: self.quantity_g[cup] + grams}, load_g=load)

    def check(self, body: Body, trouble: Trouble | None = None) -> Report:
        """Return the most conspicuous signal at this moment; what passes in a moment disturbs one of them."""
        faults = replace(body.faults, hidden=(trouble.cup,)) if isinstance(trouble, Occlusion) else body.faults
        deviations = self._deviations(body, faults)
        found = [_jumped(r, trouble) if isinstance(trouble, Spike) else r for r in deviations]
        return max(found, key=lambda report: abs(report.excess) / TOLERATED[report.signal])

    def _deviations(self, body: Body, faults: SensorFaults) -> Iterator[Report]:
        noise, simulation = body.noise("monitor"), body.simulation
        seen = positions_m(simulation, faults=faults, rng=noise)
        for cup in dim.CUPS:
            if cup in seen:
                (x, y), (at_x, at_y) = body.believed_m[cup], seen[cup]
                yield Report(Signal.POSITION, cup, 1000 * math.hypot(at_x - x, at_y - y))
            else:
                yield Report(Signal.SIGHT, cup, 1.5)
            level = level_g(simulation, cup, faults=faults, rng=noise)
            if level is not None:
                yield Report(Signal.LEVEL, cup, level - self.quantity_g[cup])
            if self.place[cup] in self.load_g:
                load = scale_g(simulation, self.place[cup], faults=faults, rng=noise, sd_g=LOAD_SD_G)
                yield Report(Signal.LOAD, cup, load - self.load_g[self.place[cup]])
        age_s = 0.0 if faults.frozen is None else simulation.time_s - faults.frozen.time_s
        yield Report(Signal.STAMP, "", age_s + abs(float(noise.normal(0.0, STAMP_SD_S))))


def conspicuous(report: Report) -> bool:
    """Whether a report is worth an alarm."""
    return abs(report.excess) > TOLERATED[report.signal]


def _jumped(report: Report, spike: Spike) -> Report:
    if (report.signal, report.cup) != (spike.signal, spike.cup):
        return report
    return replace(report, excess=report.excess + spike.jump * TOLERATED[report.signal])
