"""The robot's body: a hand over a table, where it believes that things stand, a receipt for all it did; and primitives.

They are those of hand and senses: grasp, lift, move, place, retreat; look, weigh, localise, test the camera. First
smooth paths for the set points of the hand, and where it must be to hold a spout over a cup. Each primitive of the hand
checks by feel whether it did what it should.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from aquamend.arrays import Floats
from aquamend.recovery import Charge, Receipt
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.sensors import VESSEL_G, SensorFaults, level_g, lifted_g, positions_m, scale_g
from aquamend_lab.pouring.mujoco.simulation import Simulation, Watcher
from aquamend_lab.pouring.task import FAULTY, SOUND

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Tried:
    """How a primitive ended, as its own sensing tells."""

    succeeded: bool
    note: str
    """What was found, for a person."""
    value: float | None = None
    """What was measured or moved, in grams, where there is such a thing."""


Skill = Generator[None, None, Tried]
"""A primitive, or several of them one after another: it waits for the table's next tick wherever it yields."""

NOTHING_TO_DO = Tried(True, "nothing was to be done")


def failed(note: str, value: float | None = None) -> Tried:
    """Return an honest failure."""
    return Tried(False, note, value)


@dataclass(eq=False, slots=True)
class Body:
    """Everything the robot has and knows of where things are. It reaches the world by its hand and its sensors only."""

    simulation: Simulation
    faults: SensorFaults = field(default_factory=SensorFaults)
    """What is wrong with its instruments, which it does not know."""
    seed: tuple[int, ...] = (0,)
    """Of the noise in its readings."""
    believed_m: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {dim.PITCHER: (dim.PITCHER_PLACE_X, 0.0)}
    )
    """Where it believes that every vessel stands; before it has looked, it knows the place of the pitcher."""
    seen_m: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Where it last saw every vessel, which it need not believe."""
    holding: str | None = None
    leaves: list[Receipt] = field(default_factory=list)
    """A receipt for every primitive; composite skills have none of their own, so no interval is charged twice."""
    uses: dict[str, int] = field(default_factory=dict)
    """How often each sensor has been read: the next reading's noise depends on nothing else."""
    listener: Callable[[Receipt], None] | None = None
    """Hears of every primitive that ends."""

    def perform(self, what: str, charge: Charge, skill: Skill) -> Skill:
        """Run a primitive, and write its receipt."""
        start = self.simulation.time_s
        finding = yield from skill
        end = self.simulation.time_s
        whole_ticks = round(end - start, 2)
        self.leaves.append(Receipt(charge, what, whole_ticks, start, end, finding.succeeded, finding.note))
        if self.listener is not None:
            self.listener(self.leaves[-1])
        return finding

    def noise(self, sensor: str) -> np.random.Generator:
        """Return the noise of the next reading of a sensor."""
        self.uses[sensor] = self.uses.get(sensor, 0) + 1
        return np.random.default_rng((*self.seed, zlib.crc32(sensor.encode()), self.uses[sensor]))

    def place_of(self, vessel: str) -> int:
        """Return the place that a vessel is believed to stand on."""
        return nearest_place(self.believed_m[vessel][0])

    def seen_place(self, vessel: str) -> int:
        """Return the place that a vessel was last seen on; where it is believed to stand, if it was not seen."""
        return nearest_place(self.seen_m.get(vessel, self.believed_m[vessel])[0])

    def has_scale(self, place: int) -> bool:
        """Whether a place has a scale; everybody knows that."""
        return self.simulation.compiled.scene.scales[place]

    def branch(self, watcher: Watcher | None = None) -> Body:
        """Return a copy that goes on from here as this one would; nobody listens to it yet."""
        return Body(
            self.simulation.branch(watcher), self.faults, self.seed, dict(self.believed_m), dict(self.seen_m),
            self.holding, list(self.leaves), dict(self.uses),
        )  # fmt: skip


def nearest_place(x: float) -> int:
    """Return the place nearest to a position along the row."""
    return int(np.argmin([abs(x - place) for place in dim.PLACES_X]))


def tick_until_done(body: Body, work: Generator[None, None, _Found]) -> _Found:
    """Tick the table until some work is done, and return what it found."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            found: _Found = done.value
            return found
        body.simulation.tick()


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


PROBE_S = 0.2
"""How long a measurement takes; the paper's unit probe."""
SELF_TEST_ERR = 0.03
"""How often the camera's self test says the opposite of what it found."""


def read_level(body: Body, cup: str, *, noise: np.random.Generator | None = None) -> Skill:
    """Read how full a cup is from above; the camera finds it by its colour wherever it stands."""
    yield from wait(PROBE_S)
    level = level_g(body.simulation, cup, faults=body.faults, rng=noise or body.noise(f"look {cup}"))
    return failed(f"{cup} cannot be seen") if level is None else Tried(True, f"{cup} looks like {level:.1f} g", level)


def read_scale(body: Body, place: int, *, noise: np.random.Generator | None = None) -> Skill:
    """Read how much water stands on a place, whichever cup it is in."""
    yield from wait(PROBE_S)
    if not body.has_scale(place):
        return failed(f"place {place + 1} has no scale")
    grams = scale_g(body.simulation, place, faults=body.faults, rng=noise or body.noise(f"scale {place}"))
    return Tried(True, f"the scale of place {place + 1} reads {grams:.1f} g", grams)


def check_camera(body: Body, *, noise: np.random.Generator | None = None) -> Skill:
    """Let the camera test itself: whether its frames are fresh, and every crop shows the colour it is named after.

    That is all it can know by itself. A level that it reads too high or too low, it reads so in the test as well.
    """
    yield from wait(PROBE_S)
    wrong = body.faults.frozen is not None or body.faults.exchanged is not None
    err = (noise or body.noise("self test")).random() < SELF_TEST_ERR
    return Tried(True, FAULTY if wrong != err else SOUND)


def localise(body: Body, *, believe: bool = True, noise: np.random.Generator | None = None) -> Skill:
    """Find every vessel by its colour, and believe that the cups stand there unless it is only a check.

    Where the pitcher stands, the hand knows better: it put it there.
    """
    yield from wait(PROBE_S)
    found = positions_m(body.simulation, faults=body.faults, rng=noise or body.noise("localise"))
    body.seen_m = {vessel: xy for vessel, xy in found.items() if vessel != body.holding}
    if believe:
        body.believed_m.update({cup: xy for cup, xy in body.seen_m.items() if cup in dim.CUPS})
    return Tried(True, f"{len(found)} vessels found")
