"""Pouring a dose: tilt until water comes, tilt back, weigh, and again; stop where the sensors disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.motion import BESIDE_X, TRAVEL_Z, go, holding_lip_at, wait
from aquamend.worlds.pouring.robot import Robot, failed
from aquamend.worlds.pouring.sensors import VESSEL_G, lifted_g, scale_g
from aquamend.worlds.pouring.skill import Finding, Skill

TOLERANCE_G = 3.0
LIP_BESIDE_M = 0.014
"""How far before the middle of the cup the lip is held: water leaves it with some speed."""
LIP_Z = 0.190
TILT_BEFORE = -0.8
"""Roll at which no vessel on this table pours yet."""
TILT_FREELY = -1.15
TILT_FULLY = -1.75
"""Roll at which all water that can flow has flowed; to tilt on would only free what has jammed, all at once."""
FREE_RAD_S, BULK_RAD_S, FINE_RAD_S = 0.5, 0.16, 0.07
FINE_BELOW_G = 14.0
BEFORE_FLOW_RAD = 0.05
"""Roll short of where water last came, from which on the hand turns finely."""
FLOW_G = 0.6
"""Rise of the scale that says that water is coming."""
BACK_RAD = 0.12
BACK_TICKS = 5
SETTLE_S = 0.36
MOST_SETTLINGS = 4
CLOSE_ENOUGH_G = 2.2
"""Water comes in spurts of one to five grams, so a little less than the dose is as near as one more would get."""
ASTRAY_G = 8.0
"""Water that has left the hand and that the scale does not see: it is going somewhere else."""
UNSEEN_TICKS = 15
LOST_G = 5.0
"""The same at rest, when no water is on its way any more."""
STEADY_TICKS = 20
FELT_FINE_G, FELT_BULK_G = 0.6, 2.0
"""How much lighter the hand must become, once it turns evenly, to feel that water has left it."""
MOST_JAMS = 4
MOST_PULSES = 40


@dataclass(eq=False, slots=True)
class _Pour:
    """A pour under way."""

    robot: Robot
    at: int
    x: float
    y: float
    roll: float = TILT_BEFORE
    poured_g: float = 0.0
    flowed_at: float = TILT_FREELY
    """Roll at which water last came."""
    stopped: str = ""
    """Why it ended before the dose was reached."""
    unseen_ticks: int = 0
    """For how long the hand has felt more water leave than the scale has seen come."""
    rate: float = FREE_RAD_S
    felt: list[float] = field(default_factory=list)
    """What has hung on the hand since it turns at this rate, tick by tick, in grams."""

    def scale(self) -> float:
        # The control loop averages many raw readings of the scale, so it is good to a tenth of a gram.
        return scale_g(self.robot.simulation, self.at, rng=None)

    def hold(self) -> None:
        self.robot.simulation.hand[:] = holding_lip_at(self.x + LIP_BESIDE_M, self.y, LIP_Z, self.roll)

    def turn(self, by: float, ticks: int) -> Iterator[None]:
        for _ in range(ticks):
            self.roll += by / ticks
            self.hold()
            yield

    def settle(self) -> Iterator[None]:
        """Wait until the scale rests: to it, a bead that still bounces is heavier than it is."""
        for _ in range(MOST_SETTLINGS):
            readings = []
            for _ in wait(SETTLE_S):
                readings.append(self.scale())
                yield
            late = readings[len(readings) // 2 :]
            if max(late) - min(late) < FLOW_G:
                return

    def until(self, dose_g: float) -> Iterator[None]:
        before, weight = self.scale(), lifted_g(self.robot.simulation)
        jams = pulses = 0
        while self.poured_g < dose_g - CLOSE_ENOUGH_G and not self.stopped:
            self._set_rate(dose_g)
            yield from self.turn(-self.rate * dim.TICK_S, 1)
            if self.roll < TILT_FULLY:
                jams += 1
                yield from self.turn(-1.0 - self.roll, 20)
                yield from self.settle()
                self._judge(before, weight, jams, pulses)
            seen = self.scale() - before > self.poured_g + FLOW_G
            if self._felt_leaving() or seen or self._astray(before, weight):
                pulses += 1
                self.felt = []
                self.flowed_at = self.roll
                yield from self.turn(BACK_RAD, BACK_TICKS)
                yield from self.settle()
                self._judge(before, weight, jams, pulses)

    def _set_rate(self, dose_g: float) -> None:
        """Choose how fast to tilt: finely where water is about to come and little is wanted."""
        near = dose_g - self.poured_g <= FINE_BELOW_G and self.roll < self.flowed_at + BEFORE_FLOW_RAD
        rate = FREE_RAD_S if self.roll > TILT_FREELY else FINE_RAD_S if near else BULK_RAD_S
        if rate != self.rate:
            self.rate, self.felt = rate, []

    def _felt_leaving(self) -> bool:
        """Return whether the hand feels water leave, a tenth of a second before the scale can see it come."""
        self.felt.append(lifted_g(self.robot.simulation))
        if len(self.felt) < STEADY_TICKS or self.rate == FREE_RAD_S:
            return False
        lighter = sum(self.felt[-13:-3]) / 10 - sum(self.felt[-3:]) / 3
        return lighter > (FELT_FINE_G if self.rate == FINE_RAD_S else FELT_BULK_G)

    def _astray(self, before: float, weight: float) -> bool:
        unseen = weight - lifted_g(self.robot.simulation) > self.scale() - before + ASTRAY_G
        # A turning hand feels its own inertia, and falling water is nowhere for a moment: only what lasts counts.
        self.unseen_ticks = self.unseen_ticks + 1 if unseen and self.roll < TILT_FREELY else 0
        return self.unseen_ticks > UNSEEN_TICKS

    def _judge(self, before: float, weight: float, jams: int, pulses: int) -> None:
        """Weigh what has come, at rest, and stop where going on would be wrong."""
        self.poured_g = self.scale() - before
        left = lifted_g(self.robot.simulation) - VESSEL_G
        gone = weight - VESSEL_G - left
        if gone > self.poured_g + LOST_G:
            self.stopped = f"{gone:.0f} g left the hand but the scale saw {self.poured_g:.0f} g"
        elif left < 1.5:
            self.stopped = f"{self.robot.holding} is empty"
        elif jams >= MOST_JAMS or pulses >= MOST_PULSES:
            self.stopped = "no more water comes"


def pour(robot: Robot, vessel: str, dose_g: float, *, watching: int | None = None) -> Skill:
    """Pour a dose into a vessel beside the hand, watching the scale it is believed to stand on.

    Guarded: it stops when water leaves the hand that the scale does not see, when nothing more comes, and when the
    hand feels empty.
    """
    simulation, (x, y) = robot.simulation, robot.believed_m[vessel]
    if robot.holding is None:
        return failed("the hand is empty")
    yield from go(simulation, holding_lip_at(x + 0.10, y, 0.23, TILT_BEFORE))
    yield from go(simulation, holding_lip_at(x + LIP_BESIDE_M, y, LIP_Z, TILT_BEFORE), speed_m_s=0.15)
    yield from wait(0.2)
    work = _Pour(robot, robot.place_of(vessel) if watching is None else watching, x, y)
    yield from work.until(dose_g)
    yield from work.turn(TILT_BEFORE - work.roll, 40)
    yield from go(simulation, holding_lip_at(x + 0.10, y, 0.23, TILT_BEFORE))
    yield from go(simulation, (x + BESIDE_X, y, TRAVEL_Z, 0.0))
    yield from wait(0.2)
    if work.stopped:
        return failed(work.stopped, work.poured_g)
    off = work.poured_g - dose_g
    told = f"{work.poured_g:.1f} g poured into {vessel}"
    return Finding(
        abs(off) <= TOLERANCE_G, told if abs(off) <= TOLERANCE_G else f"{told}, {off:+.1f} g off", work.poured_g
    )
