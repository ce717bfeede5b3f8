"""Skills made of primitives: pour a dose, fetch a vessel, put it back, pour back, stop safely.

To pour, the hand tilts until water comes, tilts back, feels what is gone, and again; it stops where the sensors
disagree. It feels what has left it, so a dose can be poured where no scale stands; where one does, it must see the
water come. Every primitive of the other skills has its own receipt, and a skill ends at the first one that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import (
    BESIDE_X,
    CAREFUL_M_S,
    NOTHING_TO_DO,
    TRAVEL_Z,
    Body,
    Skill,
    Tried,
    failed,
    go,
    grasp,
    holding_lip_at,
    lift,
    localise,
    move,
    put_down,
    retreat,
    wait,
)
from aquamend_lab.pouring.mujoco.sensors import VESSEL_G, lifted_g, scale_g
from aquamend_lab.pouring.task import QUANTITY_TOLERANCE_G

LIP_BESIDE_M = 0.014
"""How far before the middle of the cup the lip is held: water leaves it with some speed."""
LIP_Z = 0.190
TILT_BEFORE = -0.8
"""Roll at which no vessel on this table pours yet."""
TILT_FREELY = -1.15
TILT_FULLY = -1.75
"""Roll at which all water that can flow has flowed; to tilt on would only free what has jammed, all at once."""
FREE_RAD_S, BULK_RAD_S, FINE_RAD_S = 0.2, 0.07, 0.03
FINE_BELOW_G = 14.0
BEFORE_FLOW_RAD = 0.05
"""Roll short of where water last came, from which on the hand turns finely."""
RESTLESS_G = 1.2
"""Two halves of a rest that differ by more were none: to the hand, water that still sloshes is heavier than it is."""
BACK_RAD = 0.12
BACK_TICKS = 5
SETTLE_S = 0.36
MOST_SETTLINGS = 4
CLOSE_ENOUGH_G = 2.2
"""Water comes in spurts of one to five grams, so a little less than the dose is as near as one more would get."""
ASTRAY_G = 6.0
"""Water that has left the hand and that the scale does not see, at rest: it has gone somewhere else."""
DOSE_SD_G = 0.5
"""Of the dose as it is read in the end: the drift of the hand's own weight over a pour."""
STEADY_TICKS = 20
FELT_FINE_G, FELT_BULK_G = 0.6, 2.0
"""How much lighter the hand must become, once it turns evenly, to feel that water has left it."""
MOST_JAMS = 4
MOST_PULSES = 40


Rest = Generator[None, None, float]


@dataclass(eq=False, slots=True)
class _Pour:
    """A pour under way."""

    body: Body
    rng: np.random.Generator
    scale_at: int | None
    """The place whose scale must see the water come; None where there is none."""
    x: float
    y: float
    roll: float = TILT_BEFORE
    full_g: float = 0.0
    """What hung on the hand at first."""
    poured_g: float = 0.0
    scale_before_g: float = 0.0
    flowed_at: float = TILT_FREELY
    """Roll at which water last came."""
    stopped: str = ""
    """Why it ended before the dose was reached."""
    rate: float = FREE_RAD_S
    felt: list[float] = field(default_factory=list)
    """What has hung on the hand since it turns at this rate, tick by tick, in grams."""

    def feel(self) -> float:
        return lifted_g(self.body.simulation, rng=self.rng)

    def scale(self) -> float:
        """Return what the scale reads, averaged over a rest; where there is none, nothing."""
        if self.scale_at is None:
            return 0.0
        return scale_g(self.body.simulation, self.scale_at, faults=self.body.faults, rng=self.rng, sd_g=0.2)

    def hold(self) -> None:
        self.body.simulation.hand[:] = holding_lip_at(self.x + LIP_BESIDE_M, self.y, LIP_Z, self.roll)

    def turn(self, by: float, ticks: int) -> Iterator[None]:
        for _ in range(ticks):
            self.roll += by / ticks
            self.hold()
            yield

    def rest(self) -> Rest:
        """Wait until the water rests, and return what hangs on the hand then."""
        for _ in range(MOST_SETTLINGS):
            felt = []
            for _ in wait(SETTLE_S):
                felt.append(self.feel())
                yield
            third = len(felt) // 3
            early, late = np.mean(felt[third : 2 * third]), np.mean(felt[2 * third :])
            if abs(early - late) < RESTLESS_G:
                break
        return float(late)

    def begin(self) -> Iterator[None]:
        self.full_g = yield from self.rest()
        self.scale_before_g = self.scale()

    def until(self, dose_g: float) -> Iterator[None]:
        jams = pulses = 0
        while self.poured_g < dose_g - CLOSE_ENOUGH_G and not self.stopped:
            self._set_rate(dose_g)
            yield from self.turn(-self.rate * dim.TICK_S, 1)
            jammed, flows = self.roll < TILT_FULLY, self._felt_leaving()
            if jammed:
                jams += 1
                yield from self.turn(-1.0 - self.roll, 20)
            elif flows:
                pulses += 1
                self.flowed_at = self.roll
                yield from self.turn(BACK_RAD, BACK_TICKS)
            else:
                continue
            self.felt = []
            left_g = yield from self.rest()
            self._judge(left_g, jams, pulses)

    def _set_rate(self, dose_g: float) -> None:
        """Choose how fast to tilt: finely where water is about to come and little is wanted."""
        near = dose_g - self.poured_g <= FINE_BELOW_G and self.roll < self.flowed_at + BEFORE_FLOW_RAD
        rate = FREE_RAD_S if self.roll > TILT_FREELY else FINE_RAD_S if near else BULK_RAD_S
        if rate != self.rate:
            self.rate, self.felt = rate, []

    def _felt_leaving(self) -> bool:
        """Return whether the hand feels water leave, a tenth of a second before a scale could see it come."""
        self.felt.append(self.feel())
        if len(self.felt) < STEADY_TICKS or self.rate == FREE_RAD_S:
            return False
        lighter = sum(self.felt[-13:-3]) / 10 - sum(self.felt[-3:]) / 3
        return lighter > (FELT_FINE_G if self.rate == FINE_RAD_S else FELT_BULK_G)

    def _judge(self, left_g: float, jams: int, pulses: int) -> None:
        """Take in what is gone, at rest, and stop where going on would be wrong."""
        self.poured_g = self.full_g - left_g
        came_g = self.poured_g if self.scale_at is None else self.scale() - self.scale_before_g
        if self.poured_g > came_g + ASTRAY_G:
            self.stopped = f"{self.poured_g:.0f} g left the hand but the scale saw {came_g:.0f} g"
        elif left_g - VESSEL_G < 1.5:
            self.stopped = f"{self.body.holding} is empty"
        elif jams >= MOST_JAMS or pulses >= MOST_PULSES:
            self.stopped = "no more water comes"


def pour(body: Body, vessel: str, dose_g: float) -> Skill:
    """Pour a dose into a vessel beside the hand, and read how much it was once the hand is upright again.

    Guarded: it stops when water leaves the hand that the scale there does not see, when nothing more comes, and when
    the hand feels empty.
    """
    simulation, (x, y) = body.simulation, body.believed_m[vessel]
    if body.holding is None:
        return failed("the hand is empty")
    place, rng = body.place_of(vessel), body.noise("pour")
    yield from go(simulation, holding_lip_at(x + 0.10, y, 0.23, TILT_BEFORE))
    yield from go(simulation, holding_lip_at(x + LIP_BESIDE_M, y, LIP_Z, TILT_BEFORE), speed_m_s=CAREFUL_M_S)
    work = _Pour(body, rng, place if body.has_scale(place) else None, x, y)
    yield from work.begin()
    yield from work.until(dose_g)
    yield from work.turn(TILT_BEFORE - work.roll, 40)
    left_g = yield from work.rest()
    poured_g = round(work.full_g - left_g + float(rng.normal(0.0, DOSE_SD_G)), 1)
    yield from go(simulation, holding_lip_at(x + 0.10, y, 0.23, TILT_BEFORE))
    yield from go(simulation, (x + BESIDE_X, y, TRAVEL_Z, 0.0))
    yield from wait(0.2)
    if work.stopped:
        return failed(work.stopped, poured_g)
    off_g = poured_g - dose_g
    good = abs(off_g) <= QUANTITY_TOLERANCE_G
    return Tried(good, f"{poured_g:.1f} g poured" + ("" if good else f", {off_g:+.1f} g off"), poured_g)


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
